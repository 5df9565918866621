package runs

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/codemode-project/codemode/hostfns"
)

// A Running is a run in progress in this process.
type Running struct {
	Run, Principal, Client, Profile string
	Began                           time.Time
	Parked                          bool             // it waits for people, and has no guest
	Calls                           []hostfns.Report // see [hostfns.Run.Now]
}

// Running lists the runs in progress, in no order.
func (e *Executor) Running() []Running {
	e.mu.Lock()
	executions := slices.Collect(maps.Keys(e.executions))
	e.mu.Unlock()
	var all []Running
	for _, x := range executions {
		if run := x.begun.Load(); run != nil {
			x.mu.Lock()
			all = append(all, Running{Run: x.resp.Run, Principal: x.request.Principal, Client: x.request.Client,
				Profile: cmp.Or(x.request.Profile, x.policy.ProfileName()), Began: x.started, Parked: x.image != nil,
				Calls: run.Now()})
			x.mu.Unlock()
		}
	}
	return all
}
