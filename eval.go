package codemode

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/sandbox"
)

// A Request is one program to run.
type Request struct {
	// Profile names what the program may do; "" is the profile of the base
	// tool: defaultProfile, or none at all when the configuration names none.
	Profile string
	Code    string          // JavaScript or TypeScript
	Input   json.RawMessage // what the program sees as `input`; nil is undefined
	Name    string          // shown in problems and stacks; "" is program.ts

	// Channels reach the people who may approve calls of this run; with none,
	// nobody can be asked.
	Channels []approvals.Channel

	Principal string // who asks for the run, for the record
	Client    string // through which program, for the record
}

// A Response is what a run leaves behind, however it ended.
type Response struct {
	Run            string
	Value          json.RawMessage // nil is undefined
	Console        []sandbox.Line
	ConsoleDropped int // bytes
	Calls          []hostfns.Report
	Queued         int             // calls that the run's end kept from even reaching the Gate
	Blocks         []hostfns.Block // content on the host whose handles are in Value
	Usage          sandbox.Usage

	source string // the program's text, for excerpts
	name   string
	limit  int // bytes of Text
}

// Problems says why a program was not started.
type Problems []analysis.Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// An UnknownProfileError says that the configuration has no such profile.
type UnknownProfileError struct {
	Name  string
	Names []string // those it has
}

func (e *UnknownProfileError) Error() string {
	if len(e.Names) == 0 {
		return fmt.Sprintf("there is no profile %q; the configuration has none", e.Name)
	}
	return fmt.Sprintf("there is no profile %q; there are %s", e.Name, strings.Join(e.Names, ", "))
}

// errRefusals ends a run whose calls people have refused too often.
var errRefusals = errors.New("too_many_refusals: people refused so many calls that the run was ended")

// Eval runs a program. An error that is [Problems] means that it was not
// started, a [*sandbox.Error] how it ended; with both there is a Response,
// with any other error there is none.
func (e *Evaluator) Eval(ctx context.Context, r Request) (*Response, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.running.Done()
	policy, err := e.bind(r.Profile)
	if err != nil {
		return nil, err
	}
	resp := &Response{Run: newRunID(), name: cmp.Or(r.Name, "program.ts"), source: r.Code}
	limits, reply := e.limits(policy.profile())
	resp.limit = reply
	if len(r.Code) > limits.ProgramBytes {
		return resp, &sandbox.Error{Kind: sandbox.Refused, Message: fmt.Sprintf("the program has %d bytes, the limit is %d", len(r.Code), limits.ProgramBytes)}
	}
	if e.own.Load() == nil {
		e.background(func() { _, _ = e.engine() }) // the first time takes as long as reading the program
	}
	program, problems := e.programs.Compile(resp.name, r.Code)
	if len(problems) > 0 {
		return resp, Problems(problems)
	}
	limits.ProgramBytes = max(limits.ProgramBytes, len(program.JS)) // the limit is on what was sent
	engine, err := e.engine()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(e.ctx, func() { cancel(context.Cause(e.ctx)) })()
	e.background(func() { e.manager.Ready(e.ctx) }) // starts what has not been started

	run := e.gate.Run(hostfns.RunInfo{
		ID: resp.Run, Profile: cmp.Or(r.Profile, profileName(policy)), Principal: r.Principal, Client: r.Client,
		Policy: policy, Asker: &asker{e: e, policy: policy, channels: r.Channels, preview: preview(program)},
		CallTimeout: e.callTimeout(policy.profile()), ArgumentBytes: limits.ArgumentBytes,
		Refused: func(n int) {
			if p := policy.profile(); p != nil && p.Limits().Refusals > 0 && n >= p.Limits().Refusals {
				cancel(errRefusals)
			}
		},
	})
	result, err := engine.Run(ctx, sandbox.Program{
		Source: program.JS, Name: resp.name, Input: r.Input, Limits: limits, Lookup: program.Lookup,
	}, e.host(run))
	resp.Calls = run.End()
	resp.Queued = queued(run, result)
	if result != nil {
		resp.Value, resp.Console, resp.ConsoleDropped, resp.Usage = result.Value, result.Console, result.ConsoleDropped, result.Usage
	}
	resp.Blocks = run.Blocks(resp.Value)
	if ended, ok := errors.AsType[*sandbox.Error](err); ok && ctx.Err() != nil {
		err = canceled(ended, context.Cause(ctx))
	}
	return resp, err
}

// canceled describes the end of a run whose context ended: an exception that
// came of it, because calls failed, is not the program's.
func canceled(ended *sandbox.Error, cause error) error {
	if ended.Kind != sandbox.Canceled && ended.Kind != sandbox.Threw {
		return ended
	}
	message := "the run was canceled"
	if cause == errRefusals || cause == ErrClosed {
		message = cause.Error()
	}
	return &sandbox.Error{Kind: sandbox.Canceled, Message: message, Err: cause}
}

// queued counts the calls that still waited for their turn when the run ended.
func queued(run *hostfns.Run, result *sandbox.Result) int {
	if result == nil {
		return 0
	}
	return max(result.Usage.Calls-run.Seen(), 0)
}

// host joins the sandbox to the Gate. A call that outlives its run is waited
// for by Close, so that what became of it is recorded.
func (e *Evaluator) host(run *hostfns.Run) sandbox.Host {
	return func(ctx context.Context, c *sandbox.Call) (json.RawMessage, error) {
		if err := e.enter(); err != nil {
			return nil, err
		}
		defer e.running.Done()
		value, err := run.Call(ctx, hostfns.Invocation{ID: c.ID, Name: c.Name, Args: c.Args, Pause: c.Pause})
		if x, ok := errors.AsType[*hostfns.Exception](err); ok {
			return nil, &sandbox.Throw{Class: x.Class, Message: x.Message, Props: x.Props}
		}
		return value, err
	}
}

// limits are those of the profile, else of the configuration, else the
// defaults. reply bounds the text that Response.Text gives.
func (e *Evaluator) limits(p *profiles.Profile) (l sandbox.Limits, reply int) {
	l = sandbox.DefaultLimits()
	reply = DefaultTextBytes
	apply := func(from profiles.Limits) {
		l.CPU, l.Wall = cmp.Or(from.CPU, l.CPU), cmp.Or(from.Wall, l.Wall)
		l.Memory = cmp.Or(from.Memory, l.Memory)
		l.Calls, l.InFlight = cmp.Or(from.Calls, l.Calls), cmp.Or(from.InFlight, l.InFlight)
		l.ArgumentBytes = cmp.Or(from.ArgumentBytes, l.ArgumentBytes)
		l.ConsoleBytes, l.ProgramBytes = cmp.Or(from.ConsoleBytes, l.ConsoleBytes), cmp.Or(from.ProgramBytes, l.ProgramBytes)
		reply = cmp.Or(from.ResultBytes, reply)
	}
	if cfg := e.config.Load(); cfg != nil {
		apply(cfg.Limits)
	}
	if p != nil {
		apply(p.Limits())
	}
	l.ResultBytes = max(l.ResultBytes, reply)
	return l, reply
}

func (e *Evaluator) callTimeout(p *profiles.Profile) time.Duration {
	var timeout time.Duration
	if cfg := e.config.Load(); cfg != nil {
		timeout = cfg.Limits.Call
	}
	if p != nil {
		timeout = cmp.Or(p.Limits().Call, timeout)
	}
	return cmp.Or(timeout, hostfns.DefaultCallTimeout)
}

func profileName(p *policy) string {
	if profile := p.profile(); profile != nil {
		return profile.Name()
	}
	return ""
}

// newRunID names a run in the record. It is no credential.
func newRunID() string { return "r_" + strings.ToLower(rand.Text()[:10]) }
