package console

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/sandbox"
)

// A RunningCall is one of its calls. An empty State is under way.
type RunningCall struct {
	Number int    `json:"number"`
	Tool   string `json:"tool"`
	State  string `json:"state,omitempty"`
	Asked  bool   `json:"asked,omitempty"` // it waits for a person
	Ended  bool   `json:"ended,omitempty"` // it has an outcome
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

// The most that the page shows: runs, the latest calls of each, bytes of one line, and bytes of all lines.
const (
	mostRunning      = 100
	mostRunningCalls = 50
	mostLine         = 1000
	mostConsole      = 256 << 10
)

type runningView struct {
	frame
	runningList
}

// A runningList is the response to GET /api/running. Texts of programs are not escaped.
type runningList struct {
	Runs      []runningRun   `json:"runs"`           // the latest first
	More      int            `json:"more,omitempty"` // runs that are not shown
	Elsewhere []runs.Running `json:"elsewhere"`
	Unread    bool           `json:"unread,omitempty"` // the store cannot be read, so Elsewhere is unknown
}

type runningRun struct {
	runs.Running
	Calls  []RunningCall `json:"calls,omitempty"`
	Before int           `json:"before,omitempty"` // calls before these

	Lines       []sandbox.Line `json:"lines,omitempty"`
	LinesBefore int            `json:"linesBefore,omitempty"`
	NoRoom      bool           `json:"noRoom,omitempty"` // there is no room for its console
}

// Class is the color of its outcome.
func (r runningRun) Class() string {
	if r.Outcome == "finished" {
		return "good"
	}
	return "bad"
}

// visibleRuns are the runs whose principal the person sees.
func (c runPages) visibleRuns(s *session, all []runs.Running) []runs.Running {
	sees := c.sees(s.person)
	return slices.DeleteFunc(all, func(x runs.Running) bool {
		return !slices.Contains(sees, "") && !slices.Contains(sees, x.Principal)
	})
}

// running lists the runs in progress that the person may see, the latest first.
func (c runPages) running(r *http.Request, s *session) (*runningList, error) {
	if c.options.Runs == nil {
		return nil, refuse(http.StatusNotFound, "the runs in progress are not shown here")
	}
	all := c.visibleRuns(s, c.options.Runs.Running())
	slices.SortFunc(all, func(a, b runs.Running) int {
		return cmp.Or(b.Began.Compare(a.Began), cmp.Compare(a.Run, b.Run))
	})
	v := &runningList{Runs: []runningRun{}, More: max(0, len(all)-mostRunning), Elsewhere: []runs.Running{}}
	room := mostConsole
	for _, x := range all[:min(len(all), mostRunning)] {
		calls := x.Calls()
		one := runningRun{Running: x, Before: max(0, len(calls)-mostRunningCalls)}
		for _, c := range calls[one.Before:] {
			asked := c.State == hostfns.Asking
			one.Calls = append(one.Calls, RunningCall{Number: c.Call, Tool: c.Tool, State: string(c.State), Asked: asked,
				Ended: c.State != "" && !asked})
		}
		if one.NoRoom = room == 0; !one.NoRoom {
			one.Lines, one.LinesBefore = latestLines(&x, &room)
		}
		v.Runs = append(v.Runs, one)
	}
	elsewhere, err := c.options.Runs.Elsewhere(r.Context())
	if err != nil {
		c.log.Warn("the runs of other processes cannot be listed", "error", err)
	}
	v.Elsewhere, v.Unread = append(v.Elsewhere, c.visibleRuns(s, elsewhere)...), err != nil
	return v, nil
}

func (c runPages) showRunning(w http.ResponseWriter, r *http.Request, s *session) error {
	list, err := c.running(r, s)
	if err != nil {
		return err
	}
	return c.render(w, "running", &runningView{c.frame(r, s, "running", "Running"), *list})
}

// latestLines are the latest lines of a run for which there is room on the page. They are cut after their secrets are
// masked: half of a secret is not recognised.
func latestLines(x *runs.Running, room *int) (lines []sandbox.Line, before int) {
	lines, before = x.Console()
	first := len(lines)
	for first > 0 {
		l := &lines[first-1]
		if len(l.Text) > mostLine {
			l.Text = strings.ToValidUTF8(l.Text[:mostLine], "") + "…"
		}
		if *room -= len(l.Text); *room < 0 {
			*room = 0
			break
		}
		first--
	}
	return lines[first:], before + first
}

// liveEvery is the shortest time between two events about the runs in progress.
const liveEvery = 250 * time.Millisecond

// A runsWatch says when the runs that a person may see have changed. It is for one goroutine, which calls differ when
// due receives, and wait when pause does.
type runsWatch struct {
	due     <-chan struct{}
	pause   <-chan time.Time
	stop    func()
	changed <-chan struct{}
	sum     uint64
	of      func() []runs.Running
	seed    maphash.Seed
}

// watchRuns begins to watch. Tokens have no page of runs.
func (c runPages) watchRuns(s *session) *runsWatch {
	if c.options.Runs == nil || s.token {
		return &runsWatch{stop: func() {}}
	}
	w := &runsWatch{seed: maphash.MakeSeed()}
	w.of = func() []runs.Running { return c.visibleRuns(s, c.options.Runs.Running()) }
	w.changed, w.stop = c.options.Runs.Watch()
	first := make(chan struct{}) // the page is older than its stream
	close(first)
	w.due, w.sum = first, ^w.sum
	return w
}

// differ reports whether the runs have changed since the last time.
func (w *runsWatch) differ() bool {
	w.due, w.pause = nil, time.After(liveEvery)
	before := w.sum
	w.sum = 0
	for _, x := range w.of() { // in any order
		w.sum += maphash.Bytes(w.seed, binary.LittleEndian.AppendUint64([]byte(x.Run), x.Steps))
	}
	return w.sum != before
}

func (w *runsWatch) wait() { w.due, w.pause = w.changed, nil }
