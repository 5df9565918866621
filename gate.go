package codemode

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/catalog"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/runs"
)

// A Gate puts tools of a Go program's own behind the rules, the people and the
// record of an [Evaluator], whoever executes them. It is made by [Evaluator.Gate],
// stands for one run, and may be used by many goroutines:
//
//	g, err := e.Gate(codemode.GateOptions{Profile: "careful", Channels: people})
//	defer g.Close()
//	out, err := g.Execute(ctx, codemode.ToolCall{Server: "mail", Tool: "send", Args: args}, send)
//
// Every call takes the way of a program's calls, through the same [hostfns.Gate]:
// it is decided by the profile of that moment, put to a person if the profile says
// so, decided again, recorded, and only then executed, with the arguments that were
// decided on.
type Gate struct {
	e       *Evaluator
	run     *hostfns.Run
	id      string
	tools   *catalog.Catalog
	display map[string]prompt.Display
	calls   atomic.Int64
	sending sync.Map // of *ownCall, by number: the calls that are on their way

	ctx    context.Context // of the run; ends with too many refusals, and with Close
	cancel context.CancelCauseFunc
	once   sync.Once
	done   []hostfns.Report
}

// GateOptions say for whom a Gate is and who decides. The zero value is for the
// profile of the base tool, and reaches nobody but the Evaluator's own channels.
type GateOptions struct {
	Profile  string
	Channels []approvals.Channel // see [approvals.Approver] for one that is a function
	// Tools describes tools, for people and for the rules; calls of others are let
	// to the rules all the same.
	Tools []GateTool

	Principal, Session, Client, Role string // for the record and for grants
}

// A GateTool describes a tool. Its arguments are held against Input, where there is one.
type GateTool struct {
	Server, Tool       string
	Title, Description string
	Input              json.RawMessage // JSON Schema
	Annotations        json.RawMessage // hints, as MCP has them
	// Display narrows what is shown of the arguments, beside what the profile masks.
	Display prompt.Display
}

// A ToolCall is one use of a tool. Rules know it as server__tool.
type ToolCall struct {
	Server, Tool string
	Args         json.RawMessage // an object; nothing is {}
}

// Do executes a call with the arguments that were allowed, which may be others than those of the call.
type Do func(ctx context.Context, args json.RawMessage) (json.RawMessage, error)

// A DeniedError says why a call was not made. Nothing was executed.
type DeniedError struct {
	Tool   string // server__tool
	Reason string // denied, elicitation_declined, no_approver, timeout, invalid_decision ...
	Detail string // a sentence; a person's words are marked as such
	Rule   string // that decided; "" if none did
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("the call of %s was refused (%s): %s", e.Tool, e.Reason, e.Detail)
}

// ErrInvalidDecision is the error of a call about which an approver decided
// something that is no decision.
var ErrInvalidDecision = errors.New("invalid decision")

// Is makes a DeniedError an ErrInvalidDecision where it is one.
func (e *DeniedError) Is(target error) bool {
	return target == ErrInvalidDecision && e.Reason == call.CodeInvalid
}

// Gate begins a run of tools of one's own.
func (e *Evaluator) Gate(o GateOptions) (*Gate, error) {
	r := Request{Profile: o.Profile, Channels: o.Channels, Principal: o.Principal, Session: o.Session, Client: o.Client, Role: o.Role}
	policy, _, err := runs.Prepare(e.life.Ctx, e.rules, &r)
	if err != nil {
		return nil, err
	}
	g := &Gate{e: e, id: hostfns.NewRunID(), tools: catalog.New(), display: map[string]prompt.Display{}}
	if err := g.describe(o.Tools); err != nil {
		return nil, err
	}
	g.ctx, g.cancel = context.WithCancelCause(e.life.Ctx)
	asking := e.people.Prompter(runs.ClientOf(&r), policy, nil)
	asking.Display = g.display
	limits, _ := e.rules.Limits(policy.Profile())
	passage := hostfns.NewGate(hostfns.Deps{Tools: ownTools{}, Recorder: e.record.To, Sender: ownSender{g}, Log: e.log})
	g.run = passage.Run(hostfns.RunInfo{
		ID: g.id, Profile: cmp.Or(r.Profile, policy.ProfileName()), Principal: r.Principal, Client: r.Client, Session: r.Session, Role: r.Role,
		Policy: policy, Asker: asking, CallTimeout: e.rules.CallTimeout(policy.Profile()), ArgumentBytes: limits.ArgumentBytes,
		Refused: func(n int) {
			if p := policy.Profile(); p != nil && n >= p.Bounded(profiles.Limits{Refusals: runs.DefaultRefusals}).Refusals {
				g.cancel(runs.ErrRefusals)
			}
		},
	})
	return g, nil
}

// describe takes in what is known of tools.
func (g *Gate) describe(tools []GateTool) error {
	of := map[string][]catalog.Tool{}
	for _, t := range tools {
		of[t.Server] = append(of[t.Server], catalog.Tool{
			Server: t.Server, Raw: t.Tool, Title: t.Title, Description: t.Description, Input: t.Input, Annotations: t.Annotations,
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

// Execute has do make a call, if it may be made, and returns what do does. An
// error is [*DeniedError] if the call was refused, [*hostfns.ArgumentError] if its
// arguments do not fit the tool, else that of do.
func (g *Gate) Execute(ctx context.Context, tc ToolCall, do Do) (json.RawMessage, error) {
	if do == nil {
		panic("codemode: Execute needs a function that makes the call")
	}
	if err := g.e.life.Enter(); err != nil {
		return nil, err
	}
	defer g.e.life.Running.Done()
	name := call.Name(tc.Server, tc.Tool)
	if cause := context.Cause(g.ctx); cause != nil {
		return nil, g.over(name, cause)
	}
	if len(tc.Args) == 0 {
		tc.Args = json.RawMessage("{}")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(g.ctx, func() { cancel(context.Cause(g.ctx)) })()
	c, n := &ownCall{do: do}, int(g.calls.Add(1))
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
	case hostfns.ToolCallDenied:
		denied := &DeniedError{Tool: name, Reason: text("reason"), Detail: text("detail"), Rule: text("rule")}
		g.e.log.Info("a call was refused", "run", g.id, "tool", name, "arguments", slog.StringValue(prompt.Shown(tc.Args, g.display[name])), "reason", denied.Reason)
		return nil, denied
	case hostfns.InvalidArguments:
		return nil, &hostfns.ArgumentError{Path: text("path"), Expected: text("expected"), Got: text("got")}
	}
	return nil, x
}

// over is why nothing is executed any more.
func (g *Gate) over(name string, cause error) error {
	if cause == runs.ErrRefusals {
		return &DeniedError{Tool: name, Reason: "too_many_refusals", Detail: "people refused so many calls that the run was ended"}
	}
	return &DeniedError{Tool: name, Reason: hostfns.ReasonCanceled, Detail: "the run is over"}
}

// Close ends the run: what was granted for it ends, and calls that are under way are canceled. It returns the
// calls that were made. It may be called twice.
func (g *Gate) Close() []hostfns.Report {
	g.once.Do(func() {
		g.cancel(ErrClosed)
		g.done = g.run.End()
		if err := g.e.people.Grants.EndRun(context.WithoutCancel(g.ctx), g.id, false); err != nil {
			g.e.log.Error("what was granted for a run could not be taken back", "run", g.id, "error", err)
		}
	})
	return g.done
}

// tool is what is known of the tool of a call.
func (g *Gate) tool(tc *ToolCall, name string) *hostfns.Tool {
	if t, err := g.tools.Find(name); err == nil {
		return g.e.tools.Describe(t)
	}
	return &hostfns.Tool{Server: tc.Server, Raw: tc.Tool, Name: name}
}

// An ownCall is one Execute on its way through the Gate.
type ownCall struct {
	do  Do
	err error // of do
}

// ownTools has no tools: each call of a Gate brings its own.
type ownTools struct{}

func (ownTools) Find(_ context.Context, name string) (*hostfns.Tool, error) {
	return nil, &hostfns.NotFoundError{Name: name}
}

// An ownSender has the calls of a Gate made.
type ownSender struct{ g *Gate }

func (s ownSender) Send(ctx context.Context, sending *hostfns.Sending) (*hostfns.Reply, error) {
	c, _ := s.g.sending.Load(sending.Call)
	own, ok := c.(*ownCall)
	if !ok {
		return nil, &hostfns.SendError{Message: "nobody makes this call"}
	}
	value, err := own.do(ctx, sending.Args)
	if err != nil {
		own.err = err
		return nil, &hostfns.ToolFailure{Message: err.Error()}
	}
	return &hostfns.Reply{Value: value}, nil
}
