package bench

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/sandbox"
)

// tools are the functions that the programs of an attack suite can call: echo(x), which returns x, slow({ms}), fail(),
// and secret(), which the profile denies. They are behind a real Gate.
type tools struct{}

const secretValue = `"the secret value"` // no program may ever see it

func (tools) Find(_ context.Context, name string) (*call.Tool, error) {
	switch name {
	case "echo", "slow", "fail", "secret":
		return &call.Tool{Server: "bench", Raw: name, Name: name, Digest: "1", Validate: anything}, nil
	}
	return nil, &hostfns.NotFoundError{Name: name, Nearest: []string{"echo"}}
}

// anything accepts arguments that are no object too: the functions of an engine are no MCP tools.
func anything(context.Context, call.Arguments) error { return nil }

func (tools) Decide(t *call.Tool, _ call.Arguments, _ hostfns.Counters) call.Decision {
	if t.Name == "secret" {
		return call.Decision{Reasons: []call.Reason{{Rule: "secret", Text: "the profile denies it"}}}
	}
	return call.Decision{Verdict: call.Allow}
}

func (tools) Hidden(t *call.Tool) bool { return t.Name == "secret" }

func (tools) Record(context.Context, hostfns.Entry) error { return nil }

func (tools) Send(ctx context.Context, c *call.Call, _ func() func()) (*hostfns.Reply, error) {
	switch c.Tool.Name {
	case "echo":
		return &hostfns.Reply{Value: c.Args.JSON()}, nil
	case "slow":
		var a struct {
			MS float64 `json:"ms"`
		}
		_ = json.Unmarshal(c.Args.JSON(), &a) // anything else is a wait of zero
		select {
		case <-time.After(time.Duration(min(max(a.MS, 0), maxSlow) * float64(time.Millisecond))):
			return &hostfns.Reply{Value: json.RawMessage(`"done"`)}, nil
		case <-ctx.Done():
			return nil, &hostfns.SendError{Message: "canceled", Unknown: true, Err: ctx.Err()}
		}
	case "fail":
		return nil, &hostfns.ToolFailure{Message: "it failed, as it always does"}
	case "secret":
		return &hostfns.Reply{Value: json.RawMessage(secretValue)}, nil
	}
	return nil, errors.New("no such tool")
}

// maxSlow keeps an absurd wait from overflowing to a negative one.
const maxSlow = 24 * 60 * 60 * 1000

// admission is one run as its Gate sees it. It records its denials.
type admission struct {
	run *hostfns.Run

	mu      sync.Mutex
	denials map[int]bool // calls
}

func admit(gate *hostfns.Gate, limits sandbox.Limits) *admission {
	return &admission{
		run: gate.Run(hostfns.RunInfo{ID: "bench", Profile: "bench", Policy: tools{},
			ArgumentBytes: limits.ArgumentBytes}),
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
