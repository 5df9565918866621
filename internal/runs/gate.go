package runs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/profiles"
)

// A Gate puts a Go program's own tools behind the rules, the people and the record of an Evaluator. The Go program
// executes the calls itself; the Gate decides whether, and with which arguments:
//
//	g, err := e.Gate(runs.GateOptions{Profile: "careful", Channels: people})
//	defer g.Close()
//	out, err := g.Execute(ctx, runs.GateCall{Server: "mail", Tool: "send", Args: args}, send)
//
// A call passes the same [hostfns.Gate] as the calls of programs: the current profile decides it, a person answers if
// the profile says so, the Gate decides again and records the call. Only then does the Go program execute it, with the
// arguments of that decision. All calls of a Gate are one run. Many goroutines may use it. [NewGate] makes it.
type Gate struct {
	e       *Executor
	run     *hostfns.Run
	id      string
	tools   *catalog.Catalog
	display map[string]prompt.Display
	calls   atomic.Int64
	sending sync.Map // of *pendingCall, by number: the calls in progress

	ctx    context.Context // of the run; ends with too many refusals, and with Close
	cancel context.CancelCauseFunc
	once   sync.Once
	done   []hostfns.Report
}

// GateOptions say for whom a Gate decides calls, and by which profile. The zero value takes the default profile, and
// asks people only over the Evaluator's own channels.
type GateOptions struct {
	Profile      string
	Unrestricted bool                // without a profile, as in [Request]
	Channels     []approvals.Channel // see [approvals.Approver] for a function as channel
	// Tools describes tools for people and for the rules. The rules also decide calls of tools that are not in it.
	Tools []GateTool

	Principal, ClientSession, Client, Role string // for the record and for grants
}

// A GateTool describes one tool. The Gate checks arguments against Input, if there is one.
type GateTool struct {
	Server, Tool       string
	Title, Description string
	Input              json.RawMessage // JSON Schema
	Annotations        json.RawMessage // hints, as MCP has them
	// Display hides arguments from people, besides those that the profile masks.
	Display prompt.Display
}

// A GateCall is one use of a tool. Rules know it as server__tool.
type GateCall struct {
	Server, Tool string
	Args         json.RawMessage // an object; nil is {}
}

// Do executes a call with the allowed arguments. A person may have changed them.
type Do func(ctx context.Context, args json.RawMessage) (json.RawMessage, error)

// A DeniedError says why the Gate did not execute a call.
type DeniedError struct {
	Tool   string // server__tool
	Reason string // denied, elicitation_declined, no_approver, timeout, invalid_decision ...
	Detail string // a sentence; it marks a person's words as such
	Rule   string // the deciding rule; "" for none
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("the call of %s was refused (%s): %s", e.Tool, e.Reason, e.Detail)
}

// ErrInvalidDecision is the error of a call when an approver returns no valid decision.
var ErrInvalidDecision = errors.New("invalid decision")

// Is makes a DeniedError match ErrInvalidDecision if its code says so.
func (e *DeniedError) Is(target error) bool {
	return target == ErrInvalidDecision && e.Reason == call.CodeInvalid
}

// NewGate begins a run of tools that the embedding program executes itself.
func NewGate(e *Executor, o GateOptions) (*Gate, error) {
	r := Request{
		Profile: o.Profile, Unrestricted: o.Unrestricted, Channels: o.Channels,
		Principal: o.Principal, ClientSession: o.ClientSession, Client: o.Client, Role: o.Role,
	}
	policy, _, err := Prepare(e.life.Ctx, e.rules, &r)
	if err != nil {
		return nil, err
	}
	g := &Gate{e: e, id: hostfns.NewRunID(), tools: catalog.New(), display: map[string]prompt.Display{}}
	if err := g.describe(o.Tools); err != nil {
		return nil, err
	}
	g.ctx, g.cancel = context.WithCancelCause(e.life.Ctx)
	prompter := e.people.Prompter(ClientOf(&r), policy, nil)
	prompter.Display = g.display
	limits, _ := e.rules.Limits(policy.Profile(), "")
	gate := hostfns.NewGate(hostfns.Deps{
		Tools: noTools{}, Recorder: e.record.To, Sender: sender{g}, Log: e.log,
	})
	g.run = gate.Run(hostfns.RunInfo{
		ID: g.id, Profile: cmp.Or(r.Profile, policy.ProfileName()),
		Principal: r.Principal, Owner: r.Owner(), Client: r.Client, Session: r.ClientSession, Role: r.Role, Policy: policy,
		Prompter:    prompter,
		Budgets:     e.CallBudgets,
		CallTimeout: e.rules.CallTimeout(policy.Profile()), ArgumentBytes: limits.ArgumentBytes,
		Refused: func(n int) {
			if p := policy.Profile(); p != nil && n >= p.Bounded(profiles.Limits{Refusals: DefaultRefusals}).Refusals {
				g.cancel(ErrRefusals)
			}
		},
	})
	return g, nil
}

// describe adds the tools to the catalogue of the run.
func (g *Gate) describe(tools []GateTool) error {
	of := map[string][]catalog.Tool{}
	for _, t := range tools {
		of[t.Server] = append(of[t.Server], catalog.Tool{
			Server: t.Server, Raw: t.Tool, Title: t.Title, Description: t.Description,
			Input: t.Input, Annotations: t.Annotations,
		})
		g.display[call.Name(t.Server, t.Tool)] = t.Display
	}
	for server, list := range of {
		for _, p := range g.tools.Replace(server, list) {
			return fmt.Errorf("the tools of %q: %s", server, p.String())
		}
	}
	return nil
}

// Run names the run in the record.
func (g *Gate) Run() string { return g.id }

// Execute calls do if the rules or a person allow the call, and returns its result. The error is [*DeniedError] for a
// refused call, [*hostfns.ArgumentError] if its arguments do not match the tool, else the error of do.
func (g *Gate) Execute(ctx context.Context, tc GateCall, do Do) (json.RawMessage, error) {
	if do == nil {
		panic("runs: Execute needs a function that makes the call")
	}
	if err := g.e.life.Enter(); err != nil {
		return nil, err
	}
	defer g.e.life.Running.Done()
	name := call.Name(tc.Server, tc.Tool)
	if cause := context.Cause(g.ctx); cause != nil {
		return nil, g.over(name, cause)
	}
	tc.Args = bytes.Clone(tc.Args) // the caller may change its bytes while the call waits
	if len(tc.Args) == 0 {
		tc.Args = json.RawMessage("{}")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(g.ctx, func() { cancel(context.Cause(g.ctx)) })()
	c, n := &pendingCall{do: do}, int(g.calls.Add(1))
	g.sending.Store(n, c)
	defer g.sending.Delete(n)
	value, err := g.run.Call(ctx, hostfns.Invocation{ID: n, Name: name, Args: tc.Args, Tool: g.tool(&tc, name)})
	x, refused := errors.AsType[*hostfns.Exception](err)
	switch {
	case err == nil:
		return value, nil
	case c.err != nil:
		return nil, c.err
	case !refused:
		return nil, err
	}
	text := func(name string) string { s, _ := x.Props[name].(string); return s }
	switch x.Class {
	case hostfns.ToolCallDenied, hostfns.LimitClass:
		denied := &DeniedError{Tool: name, Reason: text("reason"), Detail: text("detail"), Rule: text("rule")}
		shown := prompt.Shown(tc.Args, g.display[name])
		g.e.log.Info("a call was refused", "run", g.id, "tool", name, "arguments", shown, "reason", denied.Reason)
		return nil, denied
	case hostfns.InvalidArguments:
		return nil, &hostfns.ArgumentError{Path: text("path"), Expected: text("expected"), Got: text("got")}
	}
	return nil, x
}

// over is the error of a call after the end of the run.
func (g *Gate) over(name string, cause error) error {
	if cause == ErrRefusals {
		return &DeniedError{
			Tool: name, Reason: "too_many_refusals", Detail: "people refused so many calls that the run was ended",
		}
	}
	return &DeniedError{Tool: name, Reason: hostfns.ReasonCanceled, Detail: "the run is over"}
}

// Close ends the run: it revokes the grants for the run and cancels the calls in progress. It returns a report of each
// call. Callers may call it twice.
func (g *Gate) Close() []hostfns.Report {
	g.once.Do(func() {
		g.cancel(ErrClosed)
		g.done = g.run.End()
		if err := g.e.people.Grants.EndRun(context.WithoutCancel(g.ctx), g.id, false); err != nil {
			g.e.log.Error("the grants for a run could not be revoked", "run", g.id, "error", err)
		}
	})
	return g.done
}

// tool describes the tool of a call to the Gate.
func (g *Gate) tool(tc *GateCall, name string) *call.Tool {
	if t, err := g.tools.Find(name); err == nil {
		return g.e.tools.Describe(t)
	}
	return &call.Tool{Server: tc.Server, Raw: tc.Tool, Name: name}
}

// A pendingCall is one Execute in progress.
type pendingCall struct {
	do  Do
	err error // of do
}

// noTools finds no tools: each call brings its own.
type noTools struct{}

func (noTools) Find(_ context.Context, name string) (*call.Tool, error) {
	return nil, &hostfns.NotFoundError{Name: name}
}

// A sender executes the calls that the Gate admits.
type sender struct{ g *Gate }

func (s sender) Send(ctx context.Context, c *call.Call, _ func() func()) (*hostfns.Reply, error) {
	found, _ := s.g.sending.Load(c.Number)
	pending, ok := found.(*pendingCall)
	if !ok {
		return nil, &hostfns.SendError{Message: "no Execute waits for this call"}
	}
	value, err := pending.do(ctx, c.Args.JSON())
	if err != nil {
		pending.err = err
		return nil, &hostfns.ToolFailure{Message: err.Error()}
	}
	return &hostfns.Reply{Value: value}, nil
}
