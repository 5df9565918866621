package server

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
)

// A client ends a call that takes longer than it waits, and its model never learns what became of the program. So
// "returnAfter" answers a call in time, with the name of the run, which goes on. The model collects the result with
// codemode_collect, which answers no question.

const (
	// collectable is how many runs of one principal go on without their calls; collectKept is how long results stay.
	collectable = 100
	collectKept = resultKept
)

// A detached is a run that goes on without its call.
type detached struct {
	owner  string
	talk   *conversation
	end    context.CancelCauseFunc
	done   chan struct{}
	result *mcp.CallToolResult // once done is closed
	began  time.Time
	ended  time.Time // likewise

	cancelled atomic.Bool // by its client, as a task
}

func newDetached(owner string, talk *conversation, end context.CancelCauseFunc) *detached {
	return &detached{owner: owner, talk: talk, end: end, done: make(chan struct{}), began: time.Now()}
}

// finish notes the result of the run.
func (d *detached) finish(result *mcp.CallToolResult) {
	d.result, d.ended = result, time.Now()
	close(d.done)
	d.end(nil)
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
	if n < collectable {
		d.put(run, one)
	}
	return n < collectable
}

// put adds a run. The caller holds mu.
func (d *detachedRuns) put(run string, one *detached) {
	if d.runs == nil {
		d.runs = map[string]*detached{}
	}
	d.runs[run] = one
}

func (d *detachedRuns) of(run, owner string) *detached {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one := d.runs[run]; one != nil && one.owner == owner {
		return one
	}
	return nil
}

// join adds a run that goes on without its call unless it is there, and returns it. mine says that it was added.
func (d *detachedRuns) join(run string, one *detached) (joined *detached, mine bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if other := d.runs[run]; other != nil && other.owner == one.owner {
		return other, false
	}
	d.put(run, one)
	return one, true
}

// dropLater forgets a run when it has ended and its result was kept long enough.
func (d *detachedRuns) dropLater(run string, one *detached) {
	<-one.done
	time.AfterFunc(collectKept, func() { d.drop(run) })
}

// drop forgets a run that has ended, when its result has been kept long enough.
func (d *detachedRuns) drop(run string) {
	d.mu.Lock()
	delete(d.runs, run)
	d.mu.Unlock()
}

// close ends all runs.
func (d *detachedRuns) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.runs {
		one.end(codemode.ErrClosed)
	}
}

// state says in a few words what a run does.
func (d *detached) state() string { return cmp.Or(d.talk.awaits(), "still running") }
