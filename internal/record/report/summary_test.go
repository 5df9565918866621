package report

import (
	"context"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"path/filepath"
	"testing"

	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

func TestSummary(t *testing.T) {
	check := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := audit.NewKey(make([]byte, 32))
	check(t, err)
	path := filepath.Join(t.TempDir(), "codemode.db")
	r := audit.New(audit.Options{Key: key, Open: func(ctx context.Context) (*store.DB,
		error) {
		return store.Open(ctx, store.Options{Path: path})
	}})
	answer := func(rule, state, how string, seconds int) {
		check(t, r.Add(t.Context(), call.Entry{Kind: audit.Approval, State: state, Profile: "p",
			Rules:     []call.EntryRule{{ID: rule, At: "f:1"}},
			DecidedBy: &call.DecidedBy{How: how, LatencyMS: int64(seconds) * 1000}}))
	}
	for i := range 40 {
		answer("always", call.Allowed, "person", i)
		state := call.Allowed
		if i == 7 {
			state = "elicitation_declined"
		}
		answer("mostly", state, "person", 2)
	}
	answer("nobody", "no_approver", "none", 0)
	db, err := r.DB(t.Context())
	check(t, err)
	check(t, r.Flush(t.Context()))
	s, err := Summarise(t.Context(), db, store.Query{})
	check(t, err)
	check(t, r.Close(t.Context()))
	got := ""
	for _, f := range s.Rules {
		got += fmt.Sprintf("%s %d/%d/%d/%d %.1f %v; ", f.Rule, f.Asks, f.Approved, f.Refused, f.Unanswered, f.MedianSeconds,
			f.AlwaysYes)
	}
	if want := "always 40/40/0/0 19.5 true; mostly 40/39/1/0 2.0 false; nobody 1/0/0/1 0.0 false; "; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
