package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/profiles"
)

// folderOf makes a folder with files, and gives the configuration that they are.
func filesIn(t testing.TB, contents map[string]string) Files {
	t.Helper()
	dir := t.TempDir()
	f := Files{Trust: filepath.Join(dir, "state", "trust.json")}
	for name, to := range map[string]*string{"managed.json": &f.Managed, "codemode.json": &f.User,
		".codemode.json": &f.Project, "overlays.json": &f.Overlays} {
		if content, ok := contents[name]; ok {
			*to = filepath.Join(dir, name)
			write(t, *to, content)
		}
	}
	return f
}

const theirs = `{"evaluation": {"profiles": {"work": {"allowlist": ["http__post"], "denylist": ["git__push"]}}}}`

// TestTrust is POLICY.md A11: trust holds for a file as it was.
func TestTrust(t *testing.T) {
	f := filesIn(t, map[string]string{"codemode.json": mine, ".codemode.json": theirs})
	verdict := func() call.Verdict {
		t.Helper()
		c, err := f.Load()
		must(t, err)
		return c.Profile("work").Decide(callOf("http post", "")).Verdict
	}
	if got := verdict(); got != call.Deny {
		t.Errorf("before: got %s", got)
	}
	if _, err := TrustFile(f.Trust, f.Project, "sha256:00", time.Now()); err == nil || !contains(err.Error(),
		"not the file you read") {
		t.Errorf("another digest: got %v", err)
	}
	trust, err := TrustFile(f.Trust, f.Project, profiles.Digest([]byte(theirs)), time.Now())
	must(t, err)
	if got := verdict(); got != call.Allow || trust.Digest != profiles.Digest([]byte(theirs)) {
		t.Errorf("trusted: got %s, %+v", got, trust)
	}
	if info, err := os.Stat(f.Trust); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the list of trusted files: got %v, %v", info.Mode(), err)
	}
	write(t, f.Project, theirs+" ")
	if got := verdict(); got != call.Deny {
		t.Errorf("changed by a space: got %s", got)
	}
	write(t, f.Project, theirs)
	other := filepath.Join(t.TempDir(), ".codemode.json")
	write(t, other, theirs)
	if ok, err := isTrusted(f.Trust, other, []byte(theirs)); ok || err != nil {
		t.Errorf("the same content in another folder is trusted: %v", err)
	}
	all, err := TrustedFiles(f.Trust)
	if err != nil || len(all) != 1 || all[0].File != f.Project {
		t.Errorf("got %v, %v", all, err)
	}
	if was, err := Distrust(f.Trust, f.Project); !was || err != nil {
		t.Errorf("got %t, %v", was, err)
	}
	if was, err := Distrust(f.Trust, f.Project); was || err != nil {
		t.Errorf("again: got %t, %v", was, err)
	}
	if got := verdict(); got != call.Deny {
		t.Errorf("not trusted any more: got %s", got)
	}
}

func TestAListOfTrustThatOthersMayHaveWritten(t *testing.T) {
	f := filesIn(t, map[string]string{"codemode.json": mine, ".codemode.json": theirs})
	_, err := TrustFile(f.Trust, f.Project, "", time.Now())
	must(t, err)
	must(t, os.Chmod(f.Trust, 0o622))
	if _, err := f.Load(); err == nil || !contains(err.Error(), "not believed") || !contains(err.Error(), "remove it") {
		t.Errorf("others may write to it: got %v", err)
	}
	must(t, os.Chmod(f.Trust, 0o600))
	for _, content := range []string{"", "{", `{"version": 2, "files": {}}`, `{"version": 1, "files": null}`} {
		write(t, f.Trust, content)
		if _, err := f.Load(); err == nil || !contains(err.Error(), "cannot be read") {
			t.Errorf("%q: got %v", content, err)
		}
	}
}

func TestFilesHaveToBeThere(t *testing.T) {
	f := filesIn(t, map[string]string{"codemode.json": mine})
	f.Overlays = f.User + ".overlays" // the one that may be missing
	if _, err := f.Load(); err != nil {
		t.Error(err)
	}
	for _, path := range []*string{&f.Managed, &f.Project} {
		*path = f.User + ".missing"
		if _, err := f.Load(); err == nil || !contains(err.Error(), ".missing") {
			t.Errorf("a missing file: got %v", err)
		}
		*path = ""
	}
	if !(Files{Trust: "x"}).None() || f.None() {
		t.Error("None is wrong")
	}
	if _, err := (Files{}).Load(); err == nil {
		t.Error("nothing loads")
	}
}

// TestWatchFollowsAllFiles: each of the files, and trust in one of them, comes into force
// while programs run.
func TestWatchFollowsAllFiles(t *testing.T) {
	f := filesIn(t, map[string]string{"managed.json": `{}`, "codemode.json": mine, ".codemode.json": `{}`,
		"overlays.json": `{}`})
	w, err := WatchFiles(t.Context(), f, WatchOptions{Settle: 10 * time.Millisecond, Poll: 100 * time.Millisecond},
		func(*Config, error) {})
	must(t, err)
	defer w.Close()
	until := func(what string, holds func(c *Config) bool) {
		t.Helper()
		if !testwait.Holds(func() bool { c := w.Config(); return c != nil && w.Stale() == nil && holds(c) }) {
			t.Fatalf("%s is not in force; stale: %v", what, w.Stale())
		}
	}
	is := func(tool string, want call.Verdict) func(*Config) bool {
		return func(c *Config) bool {
			return c.Narrowed("work", Subject{Session: "s"}, time.Time{}).Decide(c.Call(tool, nil)).Verdict == want
		}
	}
	until("the start", is("git__push", call.Allow))
	write(t, f.Project, theirs)
	until("a project's rule", is("git__push", call.Deny))
	until("no allow rule of it", is("http__post", call.Deny))
	_, err = TrustFile(f.Trust, f.Project, "", time.Now())
	must(t, err)
	until("trust", is("http__post", call.Allow))
	write(t, f.Managed, `{"evaluation": {"floor": "f", "profiles": {"f": {"denylist": ["http__post"]}}}}`)
	until("the managed floor", is("http__post", call.Deny))
	write(t, f.Overlays, `{"overlays": [{"id": "o", "session": "s", "denylist": ["git__log"]}]}`)
	until("an overlay", is("git__log", call.Deny))
	must(t, os.Remove(f.Overlays))
	until("no overlay", is("git__log", call.Allow))

	// One broken file keeps the last good state of all of them.
	write(t, f.Project, `{`)
	testwait.Holds(func() bool { return w.Stale() != nil })
	if err := w.Stale(); err == nil || !strings.Contains(err.Error(), ".codemode.json:1:") ||
		!is("git__push", call.Deny)(w.Config()) {
		t.Errorf("a broken project file: stale %v", err)
	}
	write(t, f.Project, theirs)
	until("the mended file", is("git__push", call.Deny))
}

// A project's file that is broken or removed keeps what it forbade, and does not keep the user's own change away.
func TestABrokenProjectFileHoldsNothingUp(t *testing.T) {
	f := filesIn(t, map[string]string{"codemode.json": mine, ".codemode.json": theirs})
	first, err := f.Load()
	must(t, err)
	w, err := WatchFiles(t.Context(), f, WatchOptions{Last: first, Settle: 5 * time.Millisecond,
		Poll: 20 * time.Millisecond}, func(*Config, error) {})
	must(t, err)
	defer w.Close()
	verdict := func(tool string) call.Verdict {
		c := w.Config()
		return c.Narrowed("work", Subject{}, time.Time{}).Decide(c.Call(tool, nil)).Verdict
	}
	until := func(what string, holds func() bool) {
		t.Helper()
		if !testwait.Holds(holds) {
			t.Fatalf("%s: not so; stale: %v", what, w.Stale())
		}
	}
	stricter := strings.Replace(mine, `"allowlist"`, `"denylist": ["git__log"], "allowlist"`, 1)
	if stricter == mine {
		t.Fatal("the user's file has no allowlist")
	}
	for _, tt := range []struct {
		name  string
		spoil func()
	}{
		{"it is no JSON", func() { write(t, f.Project, `{`) }},
		{"it has a key that does not exist", func() { write(t, f.Project, `{"evaluations": {}}`) }},
		{"it is removed", func() { must(t, os.Remove(f.Project)) }},
		{"it is a folder", func() { must(t, os.Remove(f.Project)); must(t, os.Mkdir(f.Project, 0o700)) }},
	} {
		must(t, os.RemoveAll(f.Project))
		write(t, f.Project, theirs)
		write(t, f.User, mine)
		until(tt.name+": before", func() bool {
			return w.Stale() == nil && verdict("git__log") == call.Allow && verdict("git__push") == call.Deny
		})
		tt.spoil()
		until(tt.name+": it is told", func() bool { return w.Stale() != nil })
		write(t, f.User, stricter)
		until(tt.name+": the user's change", func() bool { return verdict("git__log") == call.Deny && w.Stale() != nil })
		if got := verdict("git__push"); got != call.Deny {
			t.Errorf("%s: what the project forbids is %s", tt.name, got)
		}
		write(t, f.User, "{")
		until(tt.name+": a broken file of the user", func() bool {
			return w.Stale() != nil &&
				contains(w.Stale().Error(), "codemode.json")
		})
		if verdict("git__push") != call.Deny || verdict("git__log") != call.Deny {
			t.Errorf("%s: a broken file of the user changes what holds", tt.name)
		}
	}
}
