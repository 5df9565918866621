package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/catalog"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/upstream"
)

// finder lets the Gate look into the catalogue.
type finder struct{ e *Evaluator }

// startWait is how long a call waits for its server's first start, and
// startPoll how often it looks.
const (
	startWait = 20 * time.Second
	startPoll = 20 * time.Millisecond
)

// Find waits while the server that the name points at is starting: programs
// may come before the upstreams are ready.
func (f finder) Find(ctx context.Context, name string) (*hostfns.Tool, error) {
	t, err := f.e.catalog.Find(name)
	for deadline := time.Now().Add(startWait); err != nil; {
		// Asked before the catalogue is: a list that comes in between is then found.
		wait := f.e.starting(name) && ctx.Err() == nil && time.Now().Before(deadline)
		if f.e.catalog.Has(name) || !wait {
			t, err = f.e.catalog.Find(name)
			break
		}
		select {
		case <-time.After(startPoll):
		case <-ctx.Done():
		}
	}
	if err == nil {
		return f.e.tool(t), nil
	}
	if _, ok := errors.AsType[*catalog.NotFoundError](err); ok {
		if t := f.e.resource(name); t != nil {
			return t, nil
		}
	}
	return nil, f.e.missing(name, err)
}

// starting reports whether the server of a canonical name has not said yet what it offers.
func (e *Evaluator) starting(name string) bool {
	s, ok := e.serverOf(name)
	return ok && (s.State == upstream.Starting || s.State == upstream.Stopped || s.State == upstream.Ready)
}

// serverOf finds the server that a canonical name points at, if its tools are not known.
func (e *Evaluator) serverOf(name string) (upstream.Status, bool) {
	for _, s := range e.manager.Status() {
		if strings.HasPrefix(name, call.Name(s.Name, "")) {
			e.mu.Lock()
			_, listed := e.listed[s.Name]
			e.mu.Unlock()
			return s, !listed
		}
	}
	return upstream.Status{}, false
}

// missing says why a name has no tool, as programs are told.
func (e *Evaluator) missing(name string, err error) error {
	if collision, ok := errors.AsType[*catalog.CollisionError](err); ok {
		return &hostfns.NotFoundError{Name: name, Reason: "name_collision", Detail: collision.Error()}
	}
	n := &hostfns.NotFoundError{Name: name}
	if missing, ok := errors.AsType[*catalog.NotFoundError](err); ok {
		n.Nearest = missing.Nearest
	}
	if s, ok := e.serverOf(name); ok {
		n.Detail = fmt.Sprintf("there is no tool %q: the server %q is %s", name, s.Name, s.State)
		if s.Error != "" {
			n.Detail += ": " + s.Error
		}
	}
	return n
}

// tool describes a tool of the catalogue to the Gate.
func (e *Evaluator) tool(t *catalog.Tool) *hostfns.Tool {
	tool := &hostfns.Tool{
		Server: t.Server, Raw: t.Raw, Name: t.Name, Title: t.Title, Description: t.Description,
		Input: t.Input, Annotations: annotations(t), Digest: t.Digest, Trusted: e.rules.server(t.Server).trusted, Timeout: e.rules.server(t.Server).timeout,
		Validate: func(ctx context.Context, args json.RawMessage) error {
			return argumentError(t.Validate(ctx, args))
		},
	}
	e.checkOutput(t, tool)
	return tool
}

func annotations(t *catalog.Tool) map[string]any {
	var hints map[string]any
	if json.Unmarshal(t.Annotations, &hints) != nil {
		return nil // what is no object says nothing
	}
	return hints
}

// Search, Tools and Declarations make the finder the Gate's Library.
func (f finder) Search(ctx context.Context, query string, limit int, visible func(*hostfns.Tool) bool) []*hostfns.Tool {
	f.e.ready(ctx, checkWait)
	var found []*hostfns.Tool
	for _, m := range f.e.catalog.Search(query, limit, func(t *catalog.Tool) bool { return visible(f.e.tool(t)) }) {
		found = append(found, f.e.tool(m.Tool))
	}
	return found
}

func (f finder) Tools(ctx context.Context) []*hostfns.Tool {
	f.e.ready(ctx, checkWait)
	var tools []*hostfns.Tool
	for _, t := range f.e.catalog.Tools() {
		tools = append(tools, f.e.tool(t))
	}
	return tools
}

func (f finder) Declarations(names []string) string {
	var tools []*catalog.Tool
	for _, name := range names {
		if t, err := f.e.catalog.Find(name); err == nil {
			tools = append(tools, t)
		}
	}
	return catalog.Declarations(tools)
}

// policy decides the calls of one run by the profile of that name in the
// configuration of each moment.
type policy struct {
	e       *Evaluator
	name    string
	subject profiles.Subject                 // whom overlays know it by
	owner   string                           // whose share of the questions it uses
	within  profiles.Limits                  // of a saved program, beside those of its profile
	began   uint64                           // when it was bound, as pins count
	last    atomic.Pointer[profiles.Profile] // the profile as it was last seen
	now     func() time.Time
	shadows shadows
}

// bind returns the policy of a profile that exists now, for runs of subject.
func (e *Evaluator) bind(name string, subject profiles.Subject) (*policy, error) {
	p := &policy{e: e, name: name, subject: subject, began: e.rules.pins.now(), now: func() time.Time { return e.rules.clock.At(time.Now()) }}
	if e.rules.config() == nil && name == "" {
		return p, nil // nothing is configured, and nothing is allowed
	}
	if p.profile() == nil {
		return nil, &UnknownProfileError{Name: name, Names: e.Profiles()}
	}
	return p, nil
}

// profile is the profile as it is now, with the overlays that are in force, or as it was last: see current.
func (p *policy) profile() *profiles.Profile {
	profile, _ := p.current()
	return profile
}

// current is the profile as it is now, with the overlays that are in force. When the configuration does not have
// it any more it is the last one, whose limits and masks hold for the runs that began under it, and removed is true:
// then it allows nothing.
func (p *policy) current() (profile *profiles.Profile, removed bool) {
	cfg := p.e.rules.config()
	if cfg == nil {
		return p.last.Load(), false
	}
	if now := cfg.Narrowed(p.name, p.subject, p.now()); now != nil {
		p.last.Store(now.Within(p.within))
		return p.last.Load(), false
	}
	return p.last.Load(), true
}

// digest changes when the profile or what narrows it does.
func (p *policy) digest() string {
	if profile := p.profile(); profile != nil {
		return profile.Digest()
	}
	return ""
}

func (p *policy) call(t *hostfns.Tool, args json.RawMessage, n hostfns.Counters) profiles.Call {
	lastMinute, pending := p.e.rules.asks.count(p.now(), p.owner)
	if n.Asked { // what people are asked from now on is not this call's business
		n.Asks, lastMinute, pending = 0, 0, 0
	}
	return profiles.Call{
		Server: t.Server, Tool: t.Raw, Name: t.Name, Args: args, Annotations: t.Annotations, Time: p.now(),
		Tainted: n.Tainted, Taint: n.Taint, DefinitionChanged: p.e.rules.pins.changed(t.Name, t.Digest, p.began),
		Counters: profiles.Counters{
			Calls: n.Calls, Repeat: n.Repeat, Asks: n.Asks, Refusals: n.Refusals,
			AsksLastMinute: lastMinute, Pending: pending,
		},
	}
}

// Decide decides by the profile of this moment.
func (p *policy) Decide(t *hostfns.Tool, args json.RawMessage, n hostfns.Counters) call.Decision {
	profile, removed := p.current()
	switch {
	case profile == nil:
		return denial("nothing is configured, so nothing is allowed")
	case removed: // without a digest: what was approved before was approved under other rules
		return denial(fmt.Sprintf("the profile %s was removed from the configuration while this program ran under it, "+
			"so nothing is allowed any more", p.name))
	}
	c := p.call(t, args, n)
	d := profile.Decide(c)
	p.shadows.compare(p.e, profile, c, d)
	return d
}

// denial is a decision that rests on no profile.
func denial(why string) call.Decision {
	return call.Decision{Reasons: []call.Reason{{List: "configuration", Text: why}}}
}

func (p *policy) Hidden(t *hostfns.Tool) bool {
	profile, removed := p.current()
	return profile == nil || removed || !profile.Visible(p.call(t, nil, hostfns.Counters{}))
}

// askCounter knows which questions of whom are open, and when the latest were
// put. Questions that were put together count as one.
type askCounter struct {
	mu sync.Mutex
	of map[string]*asksOf
}

type asksOf struct {
	pending int
	times   []time.Time // of the last minute, oldest first
}

func (a *askCounter) begin(now time.Time, owner string) (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[string]*asksOf{}
	}
	one := a.of[owner]
	if one == nil {
		one = &asksOf{}
		a.of[owner] = one
	}
	one.pending++
	one.times = append(one.times, now)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		one.pending--
	}
}

func (a *askCounter) count(now time.Time, owner string) (lastMinute, pending int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.of[owner]
	if one == nil {
		return 0, 0
	}
	for len(one.times) > 0 && now.Sub(one.times[0]) >= time.Minute {
		one.times = one.times[1:]
	}
	if len(one.times) == 0 && one.pending == 0 {
		delete(a.of, owner)
	}
	return len(one.times), one.pending
}

// sender lets the Gate send.
type sender struct{ e *Evaluator }

func (s sender) Send(ctx context.Context, t *hostfns.Tool, args json.RawMessage) (*hostfns.Reply, error) {
	r, err := s.perform(ctx, t, args)
	if err == nil {
		s.e.catalog.Learn(t.Name, t.Digest, r.Value)
		return &hostfns.Reply{Value: r.Value, Structured: r.Structured, Blocks: r.Blocks}, nil
	}
	if failed, ok := errors.AsType[*upstream.ToolError](err); ok {
		f := &hostfns.ToolFailure{Message: failed.Message}
		if failed.Result != nil {
			f.Content = failed.Result.Value
		}
		return nil, f
	}
	if lost, ok := errors.AsType[*upstream.Error](err); ok {
		return nil, &hostfns.SendError{Message: lost.Error(), Unknown: lost.Unknown, Err: err}
	}
	return nil, err
}
