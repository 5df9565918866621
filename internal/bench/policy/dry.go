package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/sandbox"
)

// A dry runner runs programs as an Evaluator does, except that no call reaches a server.
type dry struct {
	engine   *sandbox.Engine
	reader   *analysis.Reader
	rules    *inforce.Rules
	catalog  *catalog.Catalog
	registry *registry.Registry
	people   *asking.People
	log      *slog.Logger

	mu   sync.Mutex
	runs int
}

// Find finds a tool for the Gate, without waiting for servers.
func (d *dry) Find(_ context.Context, name string) (*call.Tool, error) {
	t, err := d.catalog.Find(name)
	if err != nil {
		return nil, d.registry.Missing(name, err)
	}
	return d.registry.Describe(t), nil
}

// A trace is what a program did.
type trace struct {
	mu   sync.Mutex
	by   map[int]string // what allowed a call, by its number: see [call.DecidedBy]
	sent []sentCall
}

// A sentCall is a call that would have reached its server.
type sentCall struct {
	tool string
	args json.RawMessage
	by   string
}

// byRules reports whether nobody was asked about the call.
func (c sentCall) byRules() bool { return c.by == "rule" || c.by == "floor" || c.by == "default" }

// sentTo returns the calls of one tool.
func (t *trace) sentTo(tool string) (all []sentCall) {
	for _, s := range t.sent {
		if s.tool == tool {
			all = append(all, s)
		}
	}
	return all
}

// Record keeps what allowed the calls.
func (t *trace) Record(_ context.Context, e call.Entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.State == call.Running {
		t.by[e.Call] = e.DecidedBy.How
	}
	return nil
}

// mostSent bounds the calls that a trace keeps.
const mostSent = 10_000

// A double answers the calls of a run in place of their servers.
type double struct {
	trace   *trace
	catalog *catalog.Catalog
}

func (d double) Send(_ context.Context, c *call.Call, _ func() func()) (*hostfns.Reply, error) {
	d.trace.mu.Lock()
	if len(d.trace.sent) < mostSent {
		d.trace.sent = append(d.trace.sent, sentCall{c.Tool.Name, c.Args.JSON(), d.trace.by[c.Number]})
	}
	d.trace.mu.Unlock()
	t, err := d.catalog.Find(c.Tool.Name)
	if err != nil {
		return nil, err
	}
	value, structured := answer(t)
	return &hostfns.Reply{Value: value, Structured: structured}, nil
}

// run runs a program under a profile. person answers what is asked; with nil, nobody does.
func (d *dry) run(ctx context.Context, profile, code string, person approvals.Channel) (*trace, error) {
	policy, err := d.rules.Bind(profile, nobodyInParticular)
	if err != nil {
		return nil, err
	}
	program, problems, err := d.reader.Compile(ctx, programName, code)
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("a program of the suite is wrong: %v\n%s", problems[0], code)
	}
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.runs++
	policy.Owner = fmt.Sprintf("bench:%d", d.runs) // no run uses up the questions of another
	d.mu.Unlock()
	t := &trace{by: map[int]string{}}
	gate := hostfns.NewGate(hostfns.Deps{Tools: d, Recorder: t, Sender: double{t, d.catalog}})
	limits, _ := d.rules.Limits(policy.Profile(), "")
	info := hostfns.RunInfo{
		ID: hostfns.NewRunID(), Profile: policy.ProfileName(), Principal: policy.Owner, Owner: policy.Owner, Policy: policy,
		Prompter:      nobody{},
		Budgets:       &inforce.Budgets{Config: d.rules.Config, Log: d.log}, // of this run alone
		Written:       preflight.Written(program, policy.Profile()),
		ArgumentBytes: limits.ArgumentBytes,
	}
	if person != nil {
		info.Prompter = d.people.Prompter(&asking.Client{Principal: policy.Owner, Channels: []approvals.Channel{person},
			Code: code}, policy, program)
	}
	run := gate.Run(info)
	defer run.End()
	limits.ProgramBytes = max(limits.ProgramBytes, len(program.JS))
	_, err = d.engine.Run(ctx, sandbox.Program{Source: program.JS, Name: programName, Limits: limits,
		Lookup: program.Lookup}, hostOf(run))
	if _, ended := errors.AsType[*sandbox.Error](err); err != nil && !ended {
		return nil, err
	}
	return t, ctx.Err() // a program that was refused threw, or ran into a limit
}

const programName = "attack.js"

// hostOf passes the calls of a program to the Gate.
func hostOf(run *hostfns.Run) sandbox.Host {
	return func(ctx context.Context, c *sandbox.Call) (json.RawMessage, error) {
		value, err := run.Call(ctx, hostfns.Invocation{ID: c.ID, Name: c.Name, Args: c.Args, Pause: c.Pause,
			Progress: c.Progress})
		if x, ok := errors.AsType[*hostfns.Exception](err); ok {
			return nil, &sandbox.Throw{Class: x.Class, Message: x.Message, Props: x.Props}
		}
		return value, err
	}
}

// nobody is there to answer. What the profile allows then happens.
type nobody struct{}

func (nobody) Ask(_ context.Context, qs []*hostfns.Question, answered func(int, call.Answer, hostfns.Use)) {
	for i, q := range qs {
		if q.Decision.Fallback {
			answered(i, call.Answer{Allowed: true, How: call.ByFallback}, nil)
		} else {
			answered(i, call.Answer{How: call.ByNobody, Code: call.CodeNoApprover}, nil)
		}
	}
}

func (nobody) Together() bool { return false }

func (nobody) Remembered(context.Context, *hostfns.Question) (call.Answer, bool) {
	return call.Answer{}, false
}

func (nobody) AskUser(context.Context, *hostfns.Question) (json.RawMessage, error) {
	return nil, errors.New("nobody can be asked here")
}

func (nobody) Connect(context.Context, *hostfns.Question) call.Answer { return call.Answer{} }

// scopes of a yes, the widest first.
var scopes = []call.Scope{call.ForTime, call.ForSession, call.ForRun, call.ForCount}

// generous is a person who says yes once, for as much as the profile offers, and then is gone. The channel has a name
// that the profile permits.
func generous(channel string) approvals.Channel {
	var once sync.Once
	return approvals.Approver(channel, func(ctx context.Context, r *prompt.Request) (call.Answer, error) {
		a := call.Answer{}
		once.Do(func() {
			a = call.Answer{Allowed: true, By: "bench:somebody-else"}
			if i := slices.IndexFunc(scopes, func(s call.Scope) bool { return slices.Contains(r.Terms.Scopes, s) }); i >= 0 {
				a.Scope = scopes[i]
			}
		})
		return a, nil
	})
}
