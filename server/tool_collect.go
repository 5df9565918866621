package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
)

// A client ends a call that takes longer than it waits, and its model never learns what became of the program. So
// "returnAfter" answers a call in time, with the name of the run, which goes on. The model collects the result with
// codemode_collect, which answers no question.

const collectToolName = "codemode_collect"

var collectSchema = newSchema(`{"type":"object","properties":{"run":{"type":"string"},` +
	`"wait":{"type":"integer","description":"seconds"}},"required":["run"],"additionalProperties":false}`)

const (
	// leastWait is long enough to look a run up.
	leastWait = time.Second
	// collectable is how many runs of one principal go on without their calls, and collectKept how long their results stay.
	collectable = 100
	collectKept = resultKept
)

// returnAfter is how long the call of a tool that runs programs takes at most; 0 is as long as the program runs.
func (e *exposure) returnAfter() time.Duration {
	if cfg := e.evaluator.Config(); cfg != nil {
		return cfg.ReturnAfter
	}
	return 0
}

// collectTool gives the results of runs that outlasted their calls.
func (s *toolset) collectTool() *tool {
	return &tool{
		Tool: mcp.Tool{
			Name: collectToolName, Title: "Collect the result of a program",
			Description: "Waits for the result of a run that was not over.", Annotations: readOnly(),
		},
		schema: collectSchema, serve: s.collect,
	}
}

// A detached is a run that goes on without its call.
type detached struct {
	owner  string
	talk   *conversation
	end    context.CancelCauseFunc
	done   chan struct{}
	result *mcp.CallToolResult // once done is closed
}

// detachedRuns are those of this process.
type detachedRuns struct {
	mu   sync.Mutex
	runs map[string]*detached
}

// add reports false if the principal has as many as it may.
func (d *detachedRuns) add(run string, one *detached) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, other := range d.runs {
		if other.owner == one.owner {
			n++
		}
	}
	if n >= collectable {
		return false
	}
	if d.runs == nil {
		d.runs = map[string]*detached{}
	}
	d.runs[run] = one
	return true
}

func (d *detachedRuns) of(run, owner string) *detached {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one := d.runs[run]; one != nil && one.owner == owner {
		return one
	}
	return nil
}

// drop forgets a run that has ended, when its result has been kept long enough.
func (d *detachedRuns) drop(run string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.runs, run)
}

// close ends all runs.
func (d *detachedRuns) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.runs {
		one.end(codemode.ErrClosed)
	}
}

// runWithin runs a program for a client that waits so long and no longer.
func (s *toolset) runWithin(ctx context.Context, wait time.Duration, c *conversation, r codemode.Request) *mcp.CallToolResult {
	running, end := context.WithCancelCause(context.WithoutCancel(ctx))
	one := &detached{owner: r.Principal, talk: c, end: end, done: make(chan struct{})}
	began := make(chan string, 1)
	r.Caller.Began = func(run string) { began <- run }
	s.work.begin()
	go func() {
		defer s.work.end()
		defer close(one.done)
		defer end(nil)
		one.result = s.surviving(func(ctx context.Context, c *conversation) *mcp.CallToolResult {
			response, err := c.evaluate(ctx, r)
			return s.answer(c, response, err)
		})(running, c)
	}()
	late := time.NewTimer(wait)
	defer late.Stop()
	for {
		select {
		case <-one.done:
			return one.result
		case <-ctx.Done():
			end(context.Cause(ctx))
			<-one.done
			return one.result
		case <-late.C:
		}
		run := ""
		if c.waiting.Load() == nil { // while its form is open, the client waits for its person
			select {
			case run = <-began:
			default:
			}
		}
		if run != "" && s.detached.add(run, one) {
			go func() {
				<-one.done
				time.AfterFunc(collectKept, func() { s.detached.drop(run) })
			}()
			return textOf(fmt.Sprintf("Not over yet: run %s is %s. Do not run the program again: %s {\"run\": %q} waits for its result.",
				run, one.state(), collectToolName, run))
		}
		late.Reset(time.Second)
		if run != "" {
			began <- run
		}
	}
}

// state says in a few words what a run does.
func (d *detached) state() string { return cmp.Or(d.talk.awaits(), "still running") }

// collect waits for the result of a run. It answers no question: whoever collects has no channel.
func (s *toolset) collect(ctx context.Context, c *conversation, a *arguments) (*mcp.CallToolResult, error) {
	wait := max(leastWait, s.exposed.returnAfter())
	if a.Wait != nil {
		wait = max(leastWait, min(wait, time.Duration(*a.Wait)*time.Second))
	}
	if h := httpRequestOf(c.request); h != nil {
		h.endTurn()
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	again := textOf(a.Run + ": not over. Collect again.")
	if one := s.detached.of(a.Run, c.from.principal); one != nil {
		select {
		case <-one.done:
			return one.result, nil
		case <-ctx.Done():
			return again, nil
		}
	}
	response, err := s.evaluator.Runs().Reattach(ctx, a.Run, codemode.Request{Principal: c.from.principal})
	switch {
	case errors.Is(err, codemode.ErrNoRun):
		return nil, fmt.Errorf("%.80q: %w", a.Run, err)
	case response == nil && ctx.Err() != nil:
		return again, nil
	case response == nil:
		return nil, err
	}
	return s.answer(c, response, err), nil
}
