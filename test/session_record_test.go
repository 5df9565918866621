package codemode_test

import (
	"strings"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/store"
)

// What anybody forbids stays forbidden: the configuration, a profile, its floor, what it extends.
func TestSessionsAreSwitchedOff(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ rules, want string }{
		"by the configuration": {`{"sessions": false, "evaluation": {"profiles": {"p": {"sessions": true}}}}`,
			`the configuration has no sessions ("sessions": false)`},
		"by the profile": {`{"evaluation": {"profiles": {"p": {"sessions": false}}}}`,
			`the profile "p" has no sessions ("sessions": false): use another profile`},
		"by the floor": {`{"evaluation": {"floor": "f", "profiles": {"f": {"sessions": false}, "p": {"sessions": true}}}}`,
			`the profile "p" has no sessions`},
		"by what it extends": {`{"evaluation": {"profiles": {"f": {"sessions": false}, "p": {"extends": ["f"], "sessions": true}}}}`,
			`the profile "p" has no sessions`},
	} {
		e := open(t, row.rules)
		s := talk(t, e, "anna", "a")
		if r := s.fails(`return 1`, row.want); r.Run != "" || r.Session != nil {
			t.Errorf("%s: it ran: %+v", name, r)
		}
		s.request.Session = ""
		s.says(`return 1`, `1`)
	}
	e := open(t, `{"evaluation": {"profiles": {"p": {"sessions": true}, "q": {"sessions": false}}}}`)
	talk(t, e, "anna", "a").says(`return 1`, `1`)
}

// The record says in which session a program ran, which version it left, and who changed a session.
func TestTheRecordKnowsSessions(t *testing.T) {
	t.Parallel()
	e := open(t, sessionRules, withRecord(t))
	s := talk(t, e, "anna", "a")
	s.says(`globalThis.n = 1; return n`, `1`)
	s.fails(`for (;;) {}`, "timed out")
	for _, c := range []runs.SessionChange{
		{Action: runs.Fork, Name: "a", As: "b"},
		{Action: runs.Rollback, Name: "a", Version: 1, By: &audit.DecidedBy{How: "person", Principal: "carl"}},
		{Action: runs.Delete, Name: "b"},
	} {
		if _, err := e.Runs().ChangeSession(t.Context(), &codemode.Request{Principal: "anna"}, c); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Record().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := e.Record().DB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = audit.Entries(t.Context(), db, store.Query{Kinds: []string{audit.Run, audit.Session}}, func(e *audit.Entry) error {
		if e.State != audit.Running {
			line := e.Kind + " " + e.State + " " + string(e.Data) + " " + e.Principal
			if e.DecidedBy != nil {
				line += " by " + e.DecidedBy.Principal
			}
			got = append(got, line)
		}
		return nil
	})
	want := []string{
		`run ok {"session":{"name":"a","version":1}} anna`,
		`run error {"session":{"name":"a"}} anna`,
		`session forked {"session":{"as":"b","name":"a"}} anna`,
		`session rolled_back {"session":{"name":"a","version":1}} anna by carl`,
		`session deleted {"session":{"name":"b"}} anna`,
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); err != nil || a != b {
		t.Errorf("got (%v)\n%s\nwant\n%s", err, a, b)
	}
}
