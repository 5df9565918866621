package codemode

import (
	"context"
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/tools/upstream/functions"
)

// A Server is a set of Go functions, for [Options.Servers]. Programs call them as codemode.<Name>.<function>(args), and
// rules know them as <Name>__<function>.
type Server struct {
	// Name must differ from the names of configured servers, and from time and filesystem.
	Name string
	// Instructions say how to use the functions, for models; "" says nothing.
	Instructions string
	// Functions are made by [Func].
	Functions []Function
	// Untrusted says that results may be anybody's words, such as web pages or mail. Then codemode treats them like the
	// answers of an untrusted server: they taint a run, and allow rules do not rely on hints. Otherwise it trusts the
	// server like the embedding program itself.
	Untrusted bool
}

type (
	// A Function is a Go function as a tool. [Func] makes it.
	Function = functions.Function
	// A Hint says what a function does. Rules can rely on it, as on the annotations of MCP tools. Without hints a
	// function counts as one that changes things, destroys some, and reaches the outside world.
	Hint = functions.Hint
)

// The hints of MCP. [Title] is one too.
const (
	ReadOnly    = functions.ReadOnly    // it changes nothing
	Destructive = functions.Destructive // it may overwrite or remove something
	Additive    = functions.Additive    // it only adds
	Idempotent  = functions.Idempotent  // a repetition with the same arguments changes nothing more
	OpenWorld   = functions.OpenWorld   // it reaches things outside of the service
	ClosedWorld = functions.ClosedWorld // it does not
)

// Title is the hint with a name for people.
func Title(text string) Hint { return functions.Title(text) }

// Func makes a tool of a Go function, for a [Server]. doc tells models what the function does.
//
// In is a struct, or a map with string keys: the object that the program passes. struct{} takes no arguments. The JSON
// Schema of arguments and result comes from the types, as encoding/json writes them:
//
//	type Order struct {
//		Article string    `json:"article" jsonschema:"its number, such as A-17"`
//		Count   int       `json:"count"`
//		By      time.Time `json:"by,omitzero"` // omitzero and omitempty make a property optional, a pointer takes null
//	}
//
// A type can give its own schema, such as the values of an enum, with a method:
//
//	func (Size) JSONSchema() string { return `{"type": "string", "enum": ["small", "large"]}` }
//
// A nil slice becomes [], a nil map {}. Integers keep all digits.
//
// A call passes the gate like a call of any MCP server: the profile decides, a person is asked if it says so, arguments
// that do not fit the schema are refused, and the call is recorded before f runs. Many goroutines may call f at once.
//
// The gate guards f, and the sandbox confines programs, not f: it runs in the service, with all its powers. Its
// arguments are the words of a program, to be judged like a request from outside.
//
// The context of f has the values of the context given to [Evaluator.Eval], such as the user for whom the program runs.
// It has none if another process resumed the run. It ends with the run and with the time limit of the call; then the
// program no longer waits for f, and the outcome counts as unknown. [Evaluator.Close] waits for f.
//
// The text of an error of f reaches the program, as a ToolError: it must hold no secret. A panic reaches the log, with
// its stack, and the program gets an UpstreamError without its text. Func itself never panics: [New] returns what is
// wrong with the function.
func Func[In, Out any](name, doc string, f func(ctx context.Context, in In) (Out, error), hints ...Hint) Function {
	return functions.New(name, doc, f, hints...)
}

// ownServers makes upstreams of Go functions. The error has everything that is wrong.
func ownServers(servers []Server) ([]upstream.Server, error) {
	var all []upstream.Server
	var wrong []error
	names := map[string]string{"time": "time, which is built in", "filesystem": "filesystem, which is built in"}
	for _, s := range servers {
		b, err := functions.BuiltIn(s.Name, s.Instructions, s.Functions)
		part := call.Part(s.Name)
		if other, taken := names[part]; taken {
			err = errors.Join(err, fmt.Errorf("the server %q has the name of the server %s: rename it", s.Name, other))
		}
		names[part] = fmt.Sprintf("%q", s.Name)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("Options.Servers: %w", err))
			continue
		}
		own := upstream.BuiltIn(b)
		own.TrustAnnotations = !s.Untrusted
		all = append(all, own)
	}
	return all, errors.Join(wrong...)
}
