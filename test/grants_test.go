package codemode_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/store"
)

// A Keeper in a database behaves like the one in memory.
func TestKeepers(t *testing.T) {
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "codemode.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, k := range map[string]approvals.GrantStore{"memory": approvals.NewGrantStore(time.Now),
		"database": asking.GrantsIn(db)} {
		t.Run(name, func(t *testing.T) {
			r := &prompt.Request{
				Server: "fs", Tool: "write", Name: "fs__write", Profile: "p", ProfileDigest: "d", Rule: "r", Principal: "anna",
				Run: "r1", Risk: call.Medium,
				Args:  json.RawMessage(`{"path":"/a"}`),
				Terms: prompt.Terms{Scopes: []call.Scope{call.ForTime, call.ForCount}, Pointers: []string{"/path"}},
			}
			draft := func(scope call.Scope, uses int) *prompt.Grant {
				g, err := r.Draft(call.Answer{Scope: scope}, time.Now())
				if err != nil {
					t.Fatal(err)
				}
				g.Uses = uses
				if err := k.Give(t.Context(), g); err != nil {
					t.Fatal(err)
				}
				return g
			}
			list := func() int {
				t.Helper()
				all, err := k.All(t.Context(), "anna")
				if err != nil {
					t.Fatal(err)
				}
				return len(all)
			}
			twice := draft(call.ForCount, 2)
			if found, err := k.For(t.Context(), r.Key()); err != nil || len(found) != 1 || found[0].Text() != twice.Text() ||
				!found[0].Covers(r, time.Now()) {
				t.Fatalf("got %+v, %v", found, err)
			}
			for i, want := range []error{nil, nil, approvals.ErrTaken, approvals.ErrTaken} {
				if err := k.Spend(t.Context(), twice.ID); !errors.Is(err, want) {
					t.Errorf("use %d: %v, want %v", i+1, err, want)
				}
			}
			always := draft(call.ForTime, 0)
			for range 5 {
				if err := k.Spend(t.Context(), always.ID); err != nil {
					t.Error(err)
				}
			}
			if n := list(); n != 1 {
				t.Errorf("%d are listed, want the one that is not used up", n)
			}
			other := *r
			other.Principal = "ben"
			if found, err := k.For(t.Context(), other.Key()); err != nil || len(found) != 0 {
				t.Errorf("for somebody else: %+v, %v", found, err)
			}
			if err := k.Revoke(t.Context(), always.ID); err != nil {
				t.Error(err)
			}
			for what, err := range map[string]error{
				"spent after it was revoked": k.Spend(t.Context(), always.ID), "revoked twice": k.Revoke(t.Context(), always.ID),
				"no such grant": k.Spend(t.Context(), "g_none"),
			} {
				if !errors.Is(err, approvals.ErrTaken) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if n := list(); n != 0 {
				t.Errorf("%d are listed", n)
			}
		})
	}
}

// A grant for a time is good in the next process too, and ends there when it is revoked anywhere.
func TestGrantsForATimeOutliveTheProcess(t *testing.T) {
	const config = `{"evaluation": {"profiles": {"p": {"asklist": [{"id": "w", "tool": "filesystem__write_file", "when": {"/path": {"exists": true}}}], "remember": {"scopes": ["time"]}}}}}`
	dir := t.TempDir()
	start := func() *codemode.Evaluator { return open(t, config, func(o *codemode.Options) { o.RecordDir = dir }) }
	asked := func(e *codemode.Evaluator) int {
		t.Helper()
		d := &desk{answer: remembering(call.ForTime)}
		if _, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: attempts(false, "a.md"),
			Channels: []approvals.Channel{d}, Principal: "anna"}); err != nil {
			t.Fatal(err)
		}
		return len(d.forms)
	}
	first, second := start(), start()
	if asked(first) != 1 || asked(first) != 0 || asked(second) != 0 {
		t.Error("what was allowed for a time is asked again")
	}
	for _, g := range checktest.Must(second.People().Grants.All(t.Context(), "anna")) {
		if err := second.People().Grants.Revoke(t.Context(), g.ID); err != nil {
			t.Error(err)
		}
	}
	if asked(first) != 1 {
		t.Error("it was revoked in the other process, and answers on")
	}
}
