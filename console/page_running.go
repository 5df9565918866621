package console

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

// A Running is a run in progress, as the page shows it. Console lines are not shown: the record masks secrets, and
// nothing masks them there.
type Running struct {
	Run, Principal, Client, Profile string
	Began                           time.Time
	Parked                          bool // it waits for a person
	Calls                           []RunningCall
}

// A RunningCall is one of its calls. An empty State is under way.
type RunningCall struct {
	Number       int
	Tool, State  string
	Asked, Ended bool // it waits for a person; it has an outcome
}

// Class is the color of the state.
func (c RunningCall) Class() string {
	switch {
	case !c.Ended:
		return "open"
	case c.State == "done":
		return "good"
	}
	return "bad"
}

// The most that the page shows: runs, and the latest calls of each.
const (
	mostRunning      = 100
	mostRunningCalls = 50
)

type runningView struct {
	frame
	Runs []runningRun
	More int // runs that are not shown
}

type runningRun struct {
	Running
	Latest []RunningCall
	Before int // calls before these
}

// showRunning lists the runs in progress that the person may see, the latest first.
func (c *Console) showRunning(w http.ResponseWriter, r *http.Request, s *session) error {
	if c.options.Running == nil {
		return refuse(http.StatusNotFound, "the runs in progress are not shown here")
	}
	sees := c.sees(s.person)
	runs := slices.DeleteFunc(c.options.Running(), func(x Running) bool {
		return !slices.Contains(sees, "") && !slices.Contains(sees, x.Principal)
	})
	slices.SortFunc(runs, func(a, b Running) int {
		return cmp.Or(b.Began.Compare(a.Began), cmp.Compare(a.Run, b.Run))
	})
	v := &runningView{frame: c.frame(r, s, "running", "Running"), More: max(0, len(runs)-mostRunning)}
	for _, x := range runs[:min(len(runs), mostRunning)] {
		before := max(0, len(x.Calls)-mostRunningCalls)
		v.Runs = append(v.Runs, runningRun{x, x.Calls[before:], before})
	}
	return c.render(w, "running", v)
}
