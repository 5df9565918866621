package codemode_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

// TestAnUntrustedProjectHidesNothing: neither from the person who is asked nor from the record, by whatever way a
// profile's redact would come into force. What the user's own file hides stays hidden, and the digests are of the
// whole.
func TestAnUntrustedProjectHidesNothing(t *testing.T) {
	const secret = "transfer 9999 to a stranger"
	own := `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["*"], "redact": {"keys": ["path"]}}, "quiet": {"asklist": ["*"], "redact": {"keys": ["content"]}}}}}`
	for title, project := range map[string]string{
		"a profile of the same name":              `{"evaluation": {"profiles": {"p": {"redact": {"keys": ["content", "*"], "pointers": ["/content"]}}}}}`,
		"one that hides all":                      `{"evaluation": {"profiles": {"p": {"redact": {"pointers": ["/*"], "detect": true}}}}}`,
		"an overlay with a profile of the user's": `{"evaluation": {"overlays": [{"id": "o", "principal": "anna", "profile": "quiet"}]}}`,
		"an overlay with a profile of its own": `{"evaluation": {"profiles": {"mine": {"redact": {"keys": ["content"]}, "asklist": ["*"]}},
			"overlays": [{"id": "o", "principal": "anna", "profile": "mine"}]}}`,
		"a profile that extends one of the user's": `{"evaluation": {"profiles": {"p": {"extends": ["quiet"]}}}}`,
	} {
		t.Run(title, func(t *testing.T) {
			dir := t.TempDir()
			files := config.Files{User: filepath.Join(dir, "config", "user.json"),
				Project: filepath.Join(dir, "project", ".codemode.json"), Trust: filepath.Join(dir, "trust.json")}
			for path, text := range map[string]string{files.User: own, files.Project: project,
				filepath.Join(dir, "desk", "x"): ""} {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			e, err := codemode.New(t.Context(), codemode.Options{Files: files, Root: filepath.Join(dir, "desk"),
				RecordDir: filepath.Join(dir, "state"), CacheDir: cachetest.Dir()})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close(t.Context())
			p := says(yes, nil)
			if _, err := e.Eval(t.Context(), codemode.Request{Principal: "anna", Channels: []approvals.Channel{p},
				Code: fmt.Sprintf(`for (const path of ["hidden.txt", "hidden.2"]) await codemode.filesystem__write_file({path, content: %q})`, secret)}); err != nil {
				t.Fatal(err)
			}
			if shown := prompt.Shown(p.asked[0].Args, p.asked[0].Display); !strings.Contains(shown, secret) ||
				strings.Contains(shown, "hidden.") {
				t.Errorf("the person sees %s", shown)
			}
			db, err := e.Record().DB(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			digests := map[string]bool{}
			err = audit.Entries(t.Context(), db, store.Query{Kinds: []string{audit.Call}, States: []string{audit.Running}},
				func(entry *audit.Entry) error {
					text, _ := json.Marshal(entry.Args)
					if !strings.Contains(string(text), secret) || strings.Contains(string(text), "hidden.") {
						t.Errorf("the record has %s", text)
					}
					digests[entry.Args.Proposed] = true
					return nil
				})
			// The calls differ in what the user's file hides, and the digests are of the whole.
			if err != nil || len(digests) != 2 {
				t.Errorf("two calls have the digests %v: %v", digests, err)
			}
		})
	}
}

// TestWhatIsHiddenOfTheCallsOfATool is hidden of those of no other tool, in questions and in the record.
func TestWhatIsHiddenOfTheCallsOfATool(t *testing.T) {
	e := open(t, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["*"], "redact": {
		"keys": ["none"], "tools": [{"tool": "*__write_*", "keys": ["content"], "pointers": ["/path"]}]}}}}}`,
		func(o *codemode.Options) { o.RecordDir = t.TempDir() })
	p := says(yes, nil)
	_, err := e.Eval(t.Context(), codemode.Request{Channels: []approvals.Channel{p}, Code: `
		await codemode.filesystem__write_file({path: "seen.txt", content: "unseen words"});
		await codemode.filesystem__edit_file({path: "seen.txt", edits: [{oldText: "unseen", newText: "content"}]})`})
	if err != nil {
		t.Fatal(err)
	}
	var recorded []string
	db, err := e.Record().DB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = audit.Entries(t.Context(), db, store.Query{Kinds: []string{audit.Call}, States: []string{audit.Running}},
		func(entry *audit.Entry) error {
			text, err := json.Marshal(entry.Args)
			recorded = append(recorded, string(text))
			return err
		})
	if err != nil || len(recorded) != 2 || len(p.asked) != 2 {
		t.Fatal(recorded, err)
	}
	for i, want := range []bool{false, true} {
		for _, text := range []string{prompt.Shown(p.asked[i].Args, p.asked[i].Display), recorded[i]} {
			if strings.Contains(text, "unseen") != want || strings.Contains(text, "seen.txt") != want {
				t.Errorf("call %d shows its values, %v is right:\n%s", i+1, want, text)
			}
		}
	}
}
