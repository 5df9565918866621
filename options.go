package codemode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/loader"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/tools/upstream/builtin"
)

// Options are the powers of an [Evaluator]. The zero value runs programs that
// can compute and call nothing.
type Options struct {
	// ConfigPath names a configuration file. New reads and watches it: a change reaches the next call of every run.
	// While the file is broken, the rules of its last good version stay in force. "" reads no file.
	ConfigPath string
	// Config is the configuration if there is no file. With neither, every call is denied.
	Config *config.Config

	// Servers are Go functions of the embedding program, as tools: see [Func]. The profiles of the configuration decide
	// about their calls like about any other. They stay when the configuration changes.
	Servers []Server

	// Root is the directory of the built-in filesystem server; "" leaves it to
	// the configuration. New refuses a directory that contains one of [Powers], or lies in one.
	Root string
	// Env looks up the variables that a configuration refers to, such as os.LookupEnv; nil knows none.
	Env func(name string) (string, bool)

	// CacheDir caches the guest's compiled code, so that the first run of the next process starts in milliseconds.
	// Nobody but its owner may have permission to write there. "" caches nothing.
	CacheDir string
	// StateDir holds state that outlives the process: the accepted definitions of tools, and logins at upstreams.
	// Nobody but its owner may have permission to write there. With "" the definitions stay in memory, and there are no
	// logins.
	StateDir string
	// Engine runs the programs; nil makes one for this Evaluator alone. Close closes only that one.
	Engine runs.Engine
	// Worker is a program and its arguments that reads programs for this Evaluator: its main calls [analysis.Work].
	// Then no submitted text can use more of the machine than a worker may. Nil reads programs in this process, within
	// the bound of [analysis.Compile]. A text beyond that bound runs unread, or not at all.
	Worker []string
	// GuestMemory bounds the memory of all programs together, in bytes; zero is a quarter of what the machine or its
	// container has, and 512 MiB at most. One principal gets three quarters of it. It overrides capacity.guestMemory of
	// the configuration. It has no effect if Engine is given.
	GuestMemory int64

	// Channels reach people for every run, beside the channels of its Request. [approvals.Approver] makes one of a
	// function.
	Channels []approvals.Channel

	// Recorder records calls. A call that it cannot record does not happen. With nil, codemode records in RecordDir, or
	// keeps the latest entries in memory; see [recorder.Recorder.Journal].
	Recorder hostfns.Recorder
	// RecordDir is the folder of the record and of all other stored data, unless the configuration names another place.
	// Nobody but its owner may have permission to write there. A program that sets it imports package store/sqlite, or
	// store/postgres if the configuration names such a database. "" keeps no record but Recorder's.
	RecordDir string
	// GoOn lets this Evaluator take over the runs of processes that died: it resumes those that waited for a person, once
	// somebody has answered, and ends those with an idempotency key. Without it, a repeated request for such a run waits
	// until another process does that.
	GoOn bool
	// Log receives what operators need to know; nil discards it.
	Log *slog.Logger

	ServiceOptions
}

// ServiceOptions are those of a process that serves others, such as codemode serve. An embedding program seldom needs
// them.
type ServiceOptions struct {
	// Files are more configuration files: those of the machine's administrator, of a project, of an admin page. New
	// reads and watches all of them.
	Files config.Files
	// Protected are more files and folders that the built-in filesystem must not reach. The key is a path, the value
	// describes it. Everything below a protected folder is protected too.
	Protected map[string]string
	// PreflightSecret signs the tokens of checked programs, so that they are valid in other processes too. "" takes it
	// from CODEMODE_PREFLIGHT_SECRET of Env, or makes one for this Evaluator alone. New refuses less than 32 bytes.
	PreflightSecret string
	// Tenant is the name of this Evaluator among those that share Engine, a [*sandbox.Engine]: see
	// [sandbox.Engine.Tenant]. "" is the only user of Engine.
	Tenant string
	// Confine takes rights from the process of a server before it starts, see [upstream.Options]. Nil takes none.
	Confine func(*config.Config, *servers.Server, upstream.Command) (upstream.Command, error)
	// Observer sees the entries of the record, with or without one: for figures and traces.
	Observer recorder.Observer
	// Trace returns what servers get in _meta about the trace of a call, such as traceparent. Nil passes on what the
	// caller of the run sent.
	Trace func(c *call.Call) map[string]any
	// PagePath is the path of the page below console.origin of the configuration, for links in notifications; "" is
	// [config.ConsolePath].
	PagePath string
	Version  string // the version to tell upstreams; "" is "dev"
}

// Powers lists the files and folders that give power over an Evaluator with these options and its configuration; see
// [loader.Powers].
func Powers(o Options, cfg *config.Config) ([]loader.Place, error) {
	return loader.Powers(o.loading(), cfg)
}

// loading returns the options of the loader.
func (o *Options) loading() loader.Options {
	files := o.Files
	files.User = cmp.Or(o.ConfigPath, files.User)
	return loader.Options{
		Files: files, Config: o.Config, Env: o.Env, Log: o.Log, Root: o.Root, Protected: o.Protected,
		StateDir: o.StateDir, RecordDir: o.RecordDir, CacheDir: o.CacheDir,
	}
}

type (
	// A Request is one program to run; [runs.Request] has its fields.
	Request = runs.Request
	// A Response is the outcome of its run; [runs.Response] has its fields and methods.
	Response = runs.Response
	// A Prepared is a program that was read once and runs many times; see [Evaluator.Prepare]
	// and [runs.Prepared].
	Prepared = runs.Prepared
	// A ValueError says that a program returned something else than a Go type takes; see [Eval].
	ValueError = runs.ValueError
	// Deterministic makes a run repeatable; [runs.Deterministic] has its fields.
	Deterministic = runs.Deterministic
	// Kept is what a response says of a result that is kept; [runs.Kept] has its fields.
	Kept = runs.Kept
	// SessionEnd is what became of the session of a request; [runs.SessionEnd] has its fields.
	SessionEnd = runs.SessionEnd
	// A Query says who looks for tools, and for which; [registry.Query] has its fields.
	Query = registry.Query
)

// The calls that an embedding program executes itself; see [Evaluator.Gate].
type (
	// A Gate decides, asks about and records the calls of one run; [runs.Gate] has its methods.
	Gate        = runs.Gate
	GateOptions = runs.GateOptions
	// A GateTool is what the Gate knows of a tool; [runs.GateTool] has its fields.
	GateTool = runs.GateTool
	// A GateCall is one call; [runs.GateCall] has its fields.
	GateCall = runs.GateCall
	// A DeniedError says that the embedding program must not execute a call, and why.
	DeniedError = runs.DeniedError
)

// An Event is something that happened in a run, for [Request.Observe].
type (
	Event     = runs.Event
	EventKind = runs.EventKind
)

// The kinds of an [Event].
const (
	CallStarted = runs.CallStarted
	CallAsked   = runs.CallAsked
	CallEnded   = runs.CallEnded
	Printed     = runs.Printed
	RunParked   = runs.RunParked
	RunResumed  = runs.RunResumed
	RunEnded    = runs.RunEnded
	EventsLost  = runs.EventsLost
)

// Errors of [Evaluator.Eval], and of clients that come back for a run.
var (
	ErrNoRun     = runs.ErrNoRun     // there is no such run, or its result has expired
	ErrClosed    = runs.ErrClosed    // the Evaluator has been closed
	ErrKeyReused = runs.ErrKeyReused // another request has the same idempotency key

	// ErrNoProfile says that a request names no profile where no default applies, and does not say Unrestricted.
	ErrNoProfile = inforce.ErrNoProfile
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
	Function = builtin.Function
	// A Hint says what a function does. Rules can rely on it, as on the annotations of MCP tools. Without hints a
	// function counts as one that changes things, destroys some, and reaches the outside world.
	Hint = builtin.Hint
)

// The hints of MCP. [Title] is one too.
const (
	ReadOnly    = builtin.ReadOnly    // it changes nothing
	Destructive = builtin.Destructive // it may overwrite or remove something
	Additive    = builtin.Additive    // it only adds
	Idempotent  = builtin.Idempotent  // a repetition with the same arguments changes nothing more
	OpenWorld   = builtin.OpenWorld   // it reaches things outside of the service
	ClosedWorld = builtin.ClosedWorld // it does not
)

// Title is the hint with a name for people.
func Title(text string) Hint { return builtin.Title(text) }

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
	return builtin.NewFunction(name, doc, f, hints...)
}

// ownServers makes upstreams of Go functions. The error has everything that is wrong.
func ownServers(servers []Server) ([]upstream.Server, error) {
	var all []upstream.Server
	var wrong []error
	names := map[string]string{"time": "time, which is built in", "filesystem": "filesystem, which is built in"}
	for _, s := range servers {
		b, err := builtin.OfFunctions(s.Name, s.Instructions, s.Functions)
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
