package storetest

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/store"
)

// clockMoved stores what ends in half an hour, moves the clock by an hour, and looks whether it is there.
func clockMoved(t *testing.T, open opener) {
	at := newClock()
	d, e := open(at.Now), open(at.Now)
	ends := at.Now().Add(30 * time.Minute)
	propose(t, d, "q_1", ends)
	give(t, d, "g_1", ends, nil)
	must(t, d.Overlays.Put(t.Context(), &store.Overlay{ID: "o_1", Holder: "s_1", Body: json.RawMessage(`{}`),
		Expires: ends}))
	_, err := d.Results.Keep(t.Context(), &store.Result{Handle: "H1", Principal: "anna", Owner: "anna", Run: "r_9",
		Profile: "safe", Bytes: 1, About: json.RawMessage(`{}`), Expires: ends}, [][]byte{{'1'}}, 10, 1000)
	must(t, err)
	s := newSession("s_1", "anna", "work")
	s.Expires = ends
	must(t, d.Sessions.Put(t.Context(), s, nil, nil, roomy))
	park(t, d, ends, func(p *store.ParkedRun) { p.Holder = "me/1" })
	there := func() (names []string) {
		t.Helper()
		add := func(name string, n int, err error) {
			t.Helper()
			if must(t, err); n > 0 {
				names = append(names, name)
			}
		}
		questions, err := d.Approvals.Pending(t.Context(), "")
		add("question", len(questions), err)
		grants, err := d.Grants.Of(t.Context(), "", "sha256:k")
		add("grant", len(grants), err)
		overlays, err := d.Overlays.Of(t.Context(), "s_1")
		add("overlay", len(overlays), err)
		results, err := d.Results.Of(t.Context(), &store.Result{Handle: "H1", Principal: "anna"})
		add("result", len(results), err)
		sessions, err := d.Sessions.Of(t.Context(), &store.Session{Principal: "anna", Name: "work"})
		add("session", len(sessions), err)
		return names
	}
	every := []string{"question", "grant", "overlay", "result", "session"}
	for _, step := range []struct {
		why  string
		move time.Duration
		want []string
	}{
		{"before", 0, every},
		{"an hour forward", time.Hour, nil},
		{"and back", -time.Hour, every},
		{"an hour back", -time.Hour, every},
		{"and the half hour is over, as time has passed", 31 * time.Minute, every},
		{"and an hour more", time.Hour, nil},
	} {
		at.forward(step.move)
		if got := there(); !slices.Equal(got, step.want) {
			t.Errorf("%s: there are %v, want %v", step.why, got, step.want)
		}
		// The process that has the run lives, whatever the clock says.
		for who, d := range map[string]*store.DB{"itself": d, "another process": e} {
			if _, orphans, err := d.Runs.List(t.Context()); err != nil || len(orphans) > 0 {
				t.Errorf("%s: to %s its run is an orphan: %+v, %v", step.why, who, orphans, err)
			}
		}
	}
}
