package codemode_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A session for a role that no overlay names would restrict nothing: it is not made, and one whose overlay has gone runs
// nothing.
func TestASessionForARoleThatNoOverlayNames(t *testing.T) {
	const interns = `{"evaluation": {"profiles": {"p": {}}, "overlays": [
		{"id": "interns", "role": "intern", "denylist": ["filesystem__*"]}, {"id": "guests", "role": "guest", "denylist": ["*"]}]}}`
	path := filepath.Join(t.TempDir(), "codemode.json")
	put := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(interns)
	e := open(t, "", func(o *codemode.Options) { o.ConfigPath, o.RecordDir = path, t.TempDir() })
	for role, says := range map[string]string{"inern": `did you mean "intern"? There are guest, intern`,
		"Intern": `did you mean "intern"?`, "administrator": "there are guest, intern", "intern ": `did you mean "intern"?`} {
		if _, err := e.Rules().NewSession(t.Context(), role, time.Hour); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", role, err, says)
		}
	}
	made, err := e.Rules().NewSession(t.Context(), "intern", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Rules().Restricts("intern"); !strings.Contains(got, "interns") || strings.Contains(got, "guests") {
		t.Errorf("it restricts: %s", got)
	}
	run := func() error {
		_, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: "return 1", ClientSession: made.ID})
		return err
	}
	if err := run(); err != nil {
		t.Errorf("in the session: %v", err)
	}
	before := e.Config()
	put(strings.Replace(interns, `"intern"`, `"trainee"`, 1))
	if !testwait.Holds(func() bool { return e.Config() != before }) {
		t.Fatal("the edit was not noticed")
	}
	if err := run(); err == nil || !strings.Contains(err.Error(), "would restrict nothing") {
		t.Errorf("when its overlay has gone: %v", err)
	}
	db, err := e.Record().DB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := inforce.SessionsMade(t.Context(), db)
	if err != nil || len(all) != 1 || all[0].Role != "intern" || strings.Contains(all[0].ID, made.ID) {
		t.Fatalf("listed: %+v, %v", all, err)
	}
	if _, err := inforce.EndSessionMade(t.Context(), db, "nothing"); err == nil {
		t.Error("a session that there is not was ended")
	}
	if _, err := inforce.EndSessionMade(t.Context(), db, all[0].ID[:20]); err != nil {
		t.Error(err)
	}
	put(interns)
	if !testwait.Holds(func() bool { return strings.Contains(e.Rules().Restricts("intern"), "interns") }) {
		t.Fatal("the edit was not noticed")
	}
	if err := run(); err == nil {
		t.Error("a session that was ended runs programs")
	}
}

// People see the sessions for roles, by fingerprints that open nothing, and end one: with a store and in memory.
func TestTheSessionsForRolesAreListedAndEnded(t *testing.T) {
	const interns = `{"evaluation": {"profiles": {"p": {}}, "overlays": [
		{"id": "interns", "role": "intern", "denylist": ["filesystem__*"]}]}}`
	for name, more := range map[string]func(*codemode.Options){
		"memory": func(*codemode.Options) {}, "store": func(o *codemode.Options) { o.RecordDir = t.TempDir() },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "codemode.json")
			if err := os.WriteFile(path, []byte(interns), 0o600); err != nil {
				t.Fatal(err)
			}
			e := open(t, "", func(o *codemode.Options) { o.ConfigPath = path }, more)
			var ids []string
			for _, life := range []time.Duration{time.Hour, 10 * time.Minute} {
				made, err := e.Rules().NewSession(t.Context(), "intern", life)
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, made.ID)
			}
			run := func(id string) error {
				_, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: "return 1", ClientSession: id})
				return err
			}
			all, err := e.Rules().Made(t.Context())
			if err != nil || len(all) != 2 || all[0].ID != inforce.Fingerprint(ids[1]) || all[0].Role != "intern" ||
				all[1].ID != inforce.Fingerprint(ids[0]) {
				t.Fatalf("listed %+v, %v", all, err)
			}
			for _, id := range []string{"", "sha256:", all[0].ID[:20], ids[0]} {
				if _, err := e.Rules().EndMade(t.Context(), id); err == nil {
					t.Errorf("%q ended a session", id)
				}
			}
			if ended, err := e.Rules().EndMade(t.Context(), all[0].ID); err != nil || ended.Role != "intern" {
				t.Errorf("ended %+v, %v", ended, err)
			}
			if err := run(ids[1]); err == nil {
				t.Error("the ended session runs programs")
			}
			if err := run(ids[0]); err != nil {
				t.Errorf("the other one does not: %v", err)
			}
			if all, err := e.Rules().Made(t.Context()); err != nil || len(all) != 1 {
				t.Errorf("then it lists %+v, %v", all, err)
			}
		})
	}
}
