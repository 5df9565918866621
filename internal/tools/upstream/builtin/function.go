package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Function is a Go function as a tool, for programs that embed codemode. [NewFunction] makes it, with the schemas of
// the Go types of its arguments and result. [OfFunctions] makes a server of functions.
type Function struct {
	tool Tool
	err  error // why it cannot be a tool
}

// A Hint is one member of a tool's MCP annotations, as JSON, such as `"readOnlyHint":true`. Rules may rely on hints.
// What no hint denies is assumed, as MCP has it: a function changes things, destroys some, and reaches the outside
// world.
type Hint string

// The hints of MCP.
const (
	ReadOnly    Hint = `"readOnlyHint":true`     // it changes nothing
	Destructive Hint = `"destructiveHint":true`  // it may overwrite or remove something
	Additive    Hint = `"destructiveHint":false` // it only adds
	Idempotent  Hint = `"idempotentHint":true`   // a repetition with the same arguments changes nothing more
	OpenWorld   Hint = `"openWorldHint":true`    // it reaches things outside of the service
	ClosedWorld Hint = `"openWorldHint":false`   // it does not
)

// Title is the hint with a name for people.
func Title(text string) Hint {
	quoted, _ := json.Marshal(text) // a string always encodes
	return Hint(`"title":` + string(quoted))
}

// maxResult bounds a result as JSON, in bytes, like a message from any other server.
const maxResult = 64 << 20

// NewFunction makes a tool of f. What is wrong with it is an error of [OfFunctions].
func NewFunction[In, Out any](name, doc string, f func(context.Context, In) (Out, error), hints ...Hint) Function {
	t := Tool{Name: name, Description: doc}
	fail := func(err error) Function { return Function{t, fmt.Errorf("the function %q: %w", name, err)} }
	if err := checkFunctionName(name); err != nil {
		return fail(err)
	}
	if f == nil {
		return fail(errors.New("it is nil"))
	}
	var err error
	if t.Input, err = inputSchema(reflect.TypeFor[In]()); err != nil {
		return fail(err)
	}
	if t.Output, err = outputSchema(reflect.TypeFor[Out]()); err != nil {
		return fail(err)
	}
	if t.Annotations, t.Title, err = annotations(hints); err != nil {
		return fail(err)
	}
	t.Call = func(ctx context.Context, args json.RawMessage) (any, error) {
		var in In
		if err := strictjson.Unmarshal(args, &in); err != nil {
			return nil, fmt.Errorf("the arguments do not fit: %w", err)
		}
		out, err := f(ctx, in)
		if err != nil {
			return nil, err
		}
		result, err := strictjson.Marshal(&out)
		if err == nil && len(result) > maxResult {
			err = fmt.Errorf("it has %d bytes as JSON, the limit is %d", len(result), maxResult)
		}
		if err != nil {
			return nil, fmt.Errorf("the function has run, but the program cannot get its result: %w", err)
		}
		return json.RawMessage(result), nil
	}
	return Function{tool: t}
}

// longestName is the longest name of a tool that MCP recommends.
const longestName = 128

func checkFunctionName(name string) error {
	switch {
	case name == "":
		return errors.New("it needs a name")
	case len(name) > longestName:
		return fmt.Errorf("its name has more than %d bytes", longestName)
	case strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}):
		return errors.New("its name must have only letters, digits and _-. of ASCII")
	}
	return nil
}

// annotations joins hints to an object, nil for none.
func annotations(hints []Hint) (all json.RawMessage, title string, err error) {
	if len(hints) == 0 {
		return nil, "", nil
	}
	members := map[string]json.RawMessage{}
	for _, h := range hints {
		var one map[string]json.RawMessage
		if json.Unmarshal([]byte("{"+string(h)+"}"), &one) != nil || len(one) != 1 {
			return nil, "", fmt.Errorf("the hint %q is no member of a JSON object", string(h))
		}
		for key, value := range one {
			if _, twice := members[key]; twice {
				return nil, "", fmt.Errorf("two hints say %q: remove one", key)
			}
			members[key] = value
		}
	}
	_ = json.Unmarshal(members["title"], &title) // "" if there is none
	all, err = json.Marshal(members)
	return all, title, err
}

// OfFunctions makes a server of functions. The error says what is wrong with the server and its functions, and how to
// correct it.
func OfFunctions(name, instructions string, all []Function) (Server, error) {
	b := Server{Name: name, Instructions: instructions, Loose: true}
	if hint, message := servers.CheckName(name); message != "" {
		return b, fmt.Errorf("%s: %s", message, hint)
	}
	if len(all) == 0 {
		return b, fmt.Errorf("the server %q has no functions", name)
	}
	names := map[string]string{}
	var wrong []error
	for _, f := range all {
		if f.tool.Call == nil && f.err == nil {
			f.err = errors.New("a function is empty: make it with Func")
		}
		part := call.Part(f.tool.Name)
		if other, taken := names[part]; taken && f.err == nil {
			f.err = fmt.Errorf("the functions %q and %q have the same name for programs: rename one of them", other,
				f.tool.Name)
		}
		names[part] = f.tool.Name
		if f.err != nil {
			wrong = append(wrong, fmt.Errorf("the server %q: %w", name, f.err))
		}
		b.Tools = append(b.Tools, f.tool)
	}
	return b, errors.Join(wrong...)
}
