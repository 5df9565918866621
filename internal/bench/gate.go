package bench

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/isolation"
	"github.com/codemode-project/codemode/sandbox"
)

// tools are the functions that the programs of an attack suite can call, behind a real Gate: echo(x), slow({ms}), fail()
// and secret(). The harness answers them, and says which ones the profile allows: all but secret.
type tools struct {
	harness isolation.Caller
	allow   []string
}

func (tools) Find(_ context.Context, name string) (*call.Tool, error) {
	switch name {
	case "echo", "slow", "fail", "secret":
		return &call.Tool{Server: "bench", Raw: name, Name: name, Digest: "1", Validate: anything}, nil
	}
	return nil, &hostfns.NotFoundError{Name: name, Nearest: []string{"echo"}}
}

// anything accepts arguments that are no object too: the functions of an engine are no MCP tools.
func anything(context.Context, call.Arguments) error { return nil }

func (t tools) Decide(of *call.Tool, _ call.Arguments, _ hostfns.Counters) call.Decision {
	if t.Hidden(of) {
		return call.Decision{Reasons: []call.Reason{{Rule: of.Name, Text: "the profile denies it"}}}
	}
	return call.Decision{Verdict: call.Allow}
}

func (t tools) Hidden(of *call.Tool) bool { return !slices.Contains(t.allow, of.Name) }

func (tools) Record(context.Context, call.Entry) error { return nil }

func (t tools) Send(ctx context.Context, c *call.Call, _ func() func()) (*hostfns.Reply, error) {
	value, err := t.harness(ctx, c.Tool.Name, c.Args.JSON())
	if refused, ok := errors.AsType[*isolation.Refused](err); ok {
		return nil, &hostfns.ToolFailure{Message: refused.Message}
	}
	if err != nil {
		return nil, &hostfns.SendError{Message: "canceled", Unknown: true, Err: err}
	}
	return &hostfns.Reply{Value: value}, nil
}

// admission is one run as its Gate sees it. It records its denials.
type admission struct {
	run *hostfns.Run

	mu      sync.Mutex
	denials map[int]bool // calls
}

func admit(t tools, limits sandbox.Limits) *admission {
	gate := hostfns.NewGate(hostfns.Deps{Tools: t, Recorder: t, Sender: t})
	return &admission{
		run:     gate.Run(hostfns.RunInfo{ID: "bench", Profile: "bench", Policy: t, ArgumentBytes: limits.ArgumentBytes}),
		denials: map[int]bool{},
	}
}

// call is the sandbox.Host of the run.
func (a *admission) call(ctx context.Context, c *sandbox.Call) (json.RawMessage, error) {
	value, err := a.run.Call(ctx, hostfns.Invocation{ID: c.ID, Name: c.Name, Args: c.Args, Pause: c.Pause})
	x, ok := errors.AsType[*hostfns.Exception](err)
	if !ok && c.Name == "echo" && string(c.Args) == "null" {
		return c.Args, err // the Gate converts it to {}, because upstreams require objects
	}
	if !ok {
		return value, err
	}
	if x.Class == hostfns.ToolCallDenied && x.Props["reason"] == call.CodeDenied {
		a.mu.Lock()
		a.denials[c.ID] = true
		a.mu.Unlock()
	}
	return nil, &sandbox.Throw{Class: x.Class, Message: x.Message, Props: x.Props}
}

// ended reports whether a run ended by a denial of this Gate. An exception that only looks like a denial does not
// count, whatever the program was denied before.
func (a *admission) ended(by *sandbox.Error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return by.Kind == sandbox.Threw && a.denials[by.Call]
}
