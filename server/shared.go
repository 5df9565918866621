package server

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/server/limits"
)

// Options are the settings of a Server. The zero value offers what the
// configuration exposes.
type Options struct {
	// Profile offers one way to run programs, codemode_eval_<Profile>, and none
	// of the others; "" offers all that the configuration exposes.
	Profile string
	// Surface is what clients see of a profile, as the key evaluation.surface has it; "" leaves it to that.
	Surface string
	// Principal and Session apply to clients without a token or a protocol session: over stdio. Overlays match runs by
	// them. A session made for a role applies to clients over HTTP too, unless they name another one.
	Principal string
	Session   string
	// Local says that clients are on this machine, so that links may name its files.
	Local bool
	// StateKey seals what clients on MCP 2026-07-28 carry from one request of a call to the next: 32 bytes. Processes
	// with the same key accept each other's states. Nil is a random key.
	StateKey []byte
	// Reattach waits for runs that another process began; nil knows none.
	Reattach Reattacher
	// Trace puts the trace context of a caller (traceparent and tracestate; may be nil) into the context of its run. Nil
	// leaves the context as it is.
	Trace   func(ctx context.Context, meta map[string]any) context.Context
	Version string       // told to clients; "" is "dev"
	Log     *slog.Logger // nil discards
}

// A Reattacher reattaches to a run that another process began, or this one before a restart: the run that a
// requestState names, with the questions that the client answers. Use it like [codemode.Evaluator.Eval]. It asks the
// channels of r the questions again, and the answer waits there. [ErrNotHere] says that there is no such run to take
// over.
type Reattacher func(ctx context.Context, run string, questions []string, r codemode.Request) (*codemode.Response,
	error)

// ErrNotHere says that this process does not find a run.
var ErrNotHere = errors.New("the run that it belongs to is not here any more; call the tool again")

// A toolList says what the SDK's server offers now. Whoever changes that holds mu until both agree.
type toolList struct {
	mu      sync.Mutex
	tools   map[string]string // by name, a digest of what each stands for
	retired map[string]bool   // tools that only serve calls in progress
	types   string            // the names of the declarations
	single  string            // what clients have seen that call tools one by one; "" is nothing
	takes   bool              // calls of such tools
	prompts string            // what profiles offer beside tools, see calling.offerOthers
	others  string            // likewise, of resources
	closed  bool              // nothing changes any more
}

// replace takes the tools of this moment, and returns those that are gone. A tool that calls wait for is retired
// instead. The caller holds mu.
func (l *toolList) replace(want map[string]string, waited map[string]bool) (gone []string) {
	for _, name := range slices.Concat(slices.Collect(maps.Keys(l.tools)), slices.Collect(maps.Keys(l.retired))) {
		_, stays := want[name]
		if delete(l.retired, name); stays {
			continue
		}
		if waited[name] {
			l.retired[name] = true
		} else {
			gone = append(gone, name)
		}
	}
	l.tools = want
	return gone
}

func (l *toolList) has(tool string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.tools[tool]
	return ok
}

// hasRetired reports whether a tool only serves calls in progress.
func (l *toolList) hasRetired(tool string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.retired[tool]
}

// shared is what the parts of a [Server] have in common.
type shared struct {
	evaluator *codemode.Evaluator
	options   Options
	log       *slog.Logger
	mcp       *mcp.Server
	exposed   *exposure
	access    *limits.AccessLog

	calls   activeCalls
	work    work     // over HTTP
	replies sync.Map // what clients replied to open questions: *mcp.ElicitParams to *mcp.ElicitResult, see keepReplies

	list   toolList  // of the SDK's server
	local  sync.Map  // the sessions that are not over HTTP: *mcp.ServerSession to true
	warned sync.Once // of a weak secret for pre-flight tokens
}
