package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/call"
)

// saved is the stored form of a run: its history, and the calls that wait for a person. Package runs manages its
// version.
type saved struct {
	Calls    []savedCall           `json:"calls"`
	Seen     map[string]int        `json:"seen"`
	Refused  map[string]*Exception `json:"refused"`
	Asks     int                   `json:"asks"`
	Invoked  int                   `json:"invoked"`
	Refusals int                   `json:"refusals"`
	Tainted  bool                  `json:"tainted"`
	Taint    string                `json:"taint,omitempty"`
	Blocks   []Block               `json:"blocks"`
	Emitted  []string              `json:"emitted"`
}

type savedCall struct {
	Report Report      `json:"report"`
	Before Counters    `json:"before"`
	Sent   bool        `json:"sent"`
	Asking *savedAsked `json:"asking,omitempty"` // nil: it is over
}

// savedAsked is a call that waits for a person. Restore decides it again.
type savedAsked struct {
	Server string          `json:"server"`
	Raw    string          `json:"raw"`
	Name   string          `json:"name"`
	Digest string          `json:"digest"`
	Args   json.RawMessage `json:"args"`
	// Connects is the number of the call under which the principal was asked to connect its account; 0 if the call does
	// not wait for that.
	Connects int `json:"connects,omitempty"`
}

// errBusy says that a run cannot be saved: a call is neither over nor waiting for a person.
var errBusy = errors.New("a call of the run is under way")

// Save returns what [Gate.Restore] needs, in this process or another. It does not change the run: the caller makes sure
// that only one of the two continues.
func (r *Run) Save() (json.RawMessage, error) {
	r.calls.mu.Lock()
	defer r.calls.mu.Unlock()
	s := saved{Seen: r.calls.seen, Asks: r.calls.asks, Invoked: r.calls.invoked, Taint: r.taint.source()}
	s.Refused, s.Refusals = r.refusals.saved()
	s.Tainted = s.Taint != ""
	s.Blocks, s.Emitted = r.blocks.saved()
	for _, c := range r.calls.all {
		one := savedCall{Report: c.Report, Before: c.before, Sent: c.sent}
		switch {
		case c.over:
		case !c.asking:
			return nil, fmt.Errorf("call %d, %s: %w", c.Call, c.Tool, errBusy)
		default:
			one.Asking = &savedAsked{Server: c.tool.Server, Raw: c.tool.Raw, Name: c.tool.Name,
				Digest: c.tool.Digest, Args: c.args.JSON(), Connects: c.connects}
		}
		s.Calls = append(s.Calls, one)
	}
	return json.Marshal(s)
}

// Restore makes a run from what [Run.Save] returned. [Run.Resume] continues its waiting calls.
func (g *Gate) Restore(info RunInfo, state json.RawMessage) (*Run, error) {
	var s saved
	if err := json.Unmarshal(state, &s); err != nil {
		return nil, fmt.Errorf("reading a saved run: %w", err)
	}
	r := g.Run(info)
	for _, one := range s.Calls {
		c := &callState{Report: one.Report, list: &r.calls, before: one.Before, sent: one.Sent, over: one.Asking == nil}
		if a := one.Asking; a != nil {
			c.tool = &call.Tool{Server: a.Server, Raw: a.Raw, Name: a.Name, Digest: a.Digest}
			var err error
			if c.args, err = call.Freeze(a.Args, len(a.Args)); err != nil {
				return nil, fmt.Errorf("reading a saved run: call %d: %w", c.Call, err)
			}
			c.asking, c.connects = true, a.Connects
			if c.connects == 0 {
				c.undecided = true // all of them belong to one round again
				r.calls.undecided++
			}
		}
		r.calls.all = append(r.calls.all, c)
	}
	if s.Seen != nil {
		r.calls.seen = s.Seen
	}
	if s.Refused != nil {
		r.refusals.of = s.Refused
	}
	r.calls.asks, r.calls.invoked, r.refusals.people = s.Asks, s.Invoked, s.Refusals
	if s.Tainted && s.Taint == "" {
		s.Taint = "what an untrusted server answered"
	}
	r.taint.readBefore(s.Taint)
	r.blocks.restore(s.Blocks, s.Emitted)
	return r, nil
}

// Resume continues a call that was waiting for a person when its run was saved, as [Run.Call] would have. It ignores
// the name and the arguments of the invocation.
func (r *Run) Resume(ctx context.Context, in Invocation) (json.RawMessage, error) {
	c := r.calls.asking(in.ID)
	if c == nil {
		return nil, &Exception{Class: "Error", Message: "an internal error ended this call"}
	}
	c.in = in
	if in.Put {
		c.nowPut()
	}
	return r.perform(c, func() (context.Context, error) {
		if c.connects > 0 {
			return r.resumeConnecting(ctx, c)
		}
		return r.approve(ctx, c, true)
	})
}

// Waiting lists the calls of a saved run that wait for a person.
func Waiting(state json.RawMessage) ([]int, error) {
	var s saved
	if err := json.Unmarshal(state, &s); err != nil {
		return nil, fmt.Errorf("reading a saved run: %w", err)
	}
	var calls []int
	for _, c := range s.Calls {
		if c.Asking != nil {
			calls = append(calls, c.Report.Call)
		}
	}
	return calls, nil
}
