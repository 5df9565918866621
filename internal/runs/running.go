package runs

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/sandbox"
)

// UnderWay lists the runs in progress.
type UnderWay struct {
	record  *recorder.Recorder
	viewers viewers

	mu         sync.Mutex
	executions map[*execution]bool
	ended      []endedRun // the latest, while somebody watches
}

func (u *UnderWay) add(x *execution) {
	u.mu.Lock()
	u.executions[x] = true
	u.mu.Unlock()
}

func (u *UnderWay) remove(x *execution) {
	u.mu.Lock()
	delete(u.executions, x)
	u.mu.Unlock()
}

// A Running is a run in progress.
type Running struct {
	Run       string    `json:"run"`
	Principal string    `json:"principal"`
	Client    string    `json:"client,omitempty"`
	Profile   string    `json:"profile"`
	Began     time.Time `json:"began"`
	Parked    bool      `json:"parked,omitempty"`  // it waits for people, and has no guest
	Outcome   string    `json:"outcome,omitempty"` // "" until it has ended; see [UnderWay.Running]
	Steps     uint64    `json:"steps"`             // grows with each change
	Holder    string    `json:"holder,omitempty"`  // HOST/PROCESS-ID, of [UnderWay.Elsewhere]; "" if no process has it

	// Calls lists the calls that the program has made by now; see [hostfns.Run.Now]. Console returns the latest lines
	// that it has printed, at most 100 with 8 KiB, and how many it printed before these. Secrets are masked as in the
	// record. Without a record nothing masks them, and there are no lines. Of a run elsewhere, both know nothing.
	Calls   func() []hostfns.Report      `json:"-"`
	Console func() ([]sandbox.Line, int) `json:"-"`
}

// A run that has ended stays listed for viewers, who want to see its last lines.
const (
	endedStays = 30 * time.Second
	endedMost  = 32
)

// endedRun is a run that has ended.
type endedRun struct {
	Running
	at time.Time
}

// Running lists the runs in progress in this process, in no order. While somebody watches ([UnderWay.Watch]), it also
// has the latest 32 that ended in the last 30 seconds, with their Outcome.
func (u *UnderWay) Running() []Running {
	var all []Running
	u.mu.Lock()
	executions := slices.Collect(maps.Keys(u.executions))
	u.dropEnded(time.Now())
	for _, r := range u.ended {
		all = append(all, r.Running)
	}
	u.mu.Unlock()
	for _, x := range executions {
		if run := x.begun.Load(); run != nil {
			all = append(all, x.running(run))
		}
	}
	return all
}

func (x *execution) running(run *hostfns.Run) Running {
	x.seat.mu.Lock()
	defer x.seat.mu.Unlock()
	return Running{Run: x.resp.Run, Principal: x.request.Principal, Client: x.request.Client,
		Profile: cmp.Or(x.request.Profile, x.policy.ProfileName()), Began: x.started, Parked: x.seat.image != nil,
		Steps: x.events.Steps(), Calls: run.Now, Console: x.masked}
}

// masked returns the latest lines without secrets.
func (x *execution) masked() (lines []sandbox.Line, before int) {
	lines, before = x.events.Tail()
	mask := x.e.record.Mask(cmp.Or(x.request.Profile, x.policy.ProfileName()), x.resp.Run)
	if mask == nil {
		return nil, 0
	}
	for i := range lines {
		lines[i].Text = mask(lines[i].Text)
	}
	return lines, before
}

// linger keeps a run that ends for those who watch. The record forgets the secrets of a run at its end.
func (x *execution) linger(outcome string) {
	u := &x.e.UnderWay
	if x.begun.Swap(nil) == nil || !u.viewers.Any() {
		return
	}
	r := x.running(x.run)
	calls := r.Calls()
	lines, before := r.Console()
	r.Outcome, r.Parked, r.Steps = outcome, false, r.Steps+1
	r.Calls = func() []hostfns.Report { return calls }
	r.Console = func() ([]sandbox.Line, int) { return slices.Clone(lines), before }
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	u.ended = append(u.ended, endedRun{r, now})
	u.dropEnded(now)
	x.events.Happened()
}

// dropEnded drops runs that have been listed long enough. The caller holds u.mu.
func (u *UnderWay) dropEnded(now time.Time) {
	old := max(0, len(u.ended)-endedMost)
	for old < len(u.ended) && now.Sub(u.ended[old].at) > endedStays {
		old++
	}
	u.ended = slices.Delete(u.ended, 0, old)
}

// Watch notifies a viewer of [UnderWay.Running] after each change: a run begins, makes a call, prints, waits or ends.
// Changes that come while a notification is unread are one with it. Call stop at the end.
func (u *UnderWay) Watch() (changed <-chan struct{}, stop func()) { return u.viewers.Watch() }

// Elsewhere lists the runs that the store has and this process does not, the latest first, at most 100: runs that wait
// for people, in another process or in none, and runs with an idempotency key. Began is when the run was stored. The
// store does not know the other runs of other processes.
func (u *UnderWay) Elsewhere(ctx context.Context) ([]Running, error) {
	if !u.record.Keeps() {
		return nil, nil
	}
	db, err := u.record.DB(ctx)
	if err != nil {
		return nil, err
	}
	here := map[string]bool{}
	u.mu.Lock()
	for x := range u.executions {
		here[x.resp.Run] = true
	}
	u.mu.Unlock()
	rows, err := db.Runs.Stored(ctx, 100+len(here))
	if err != nil {
		return nil, err
	}
	var all []Running
	for _, row := range rows {
		if !here[row.Run] {
			all = append(all, Running{Run: row.Run, Principal: row.Principal, Profile: row.Profile, Began: row.Created,
				Parked: row.Phase != store.Going, Holder: row.Holder, Calls: func() []hostfns.Report { return nil },
				Console: func() ([]sandbox.Line, int) { return nil, 0 }})
		}
	}
	return all[:min(len(all), 100)], nil
}
