//go:build unix

package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
)

const canary = "c4n4ry-s3cr3t"

func lookup(t *testing.T, s *Sources, name string) string {
	t.Helper()
	v, ok := s.Lookup(name)
	if !ok {
		t.Fatalf("%s: %s", name, v)
	}
	return v
}

func noVariables(string) (string, bool) { return "", false }

// secretFile makes a file that its owner alone may read.
func secretFile(t *testing.T, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	checktest.OK(t, os.WriteFile(path, []byte(content), mode))
	checktest.OK(t, os.Chmod(path, mode))
	return path
}

func TestWhatCommandsAndFilesGive(t *testing.T) {
	s := NewSources(func(name string) (string, bool) { return "of " + name, true })
	home := t.TempDir()
	t.Setenv("HOME", home)
	checktest.OK(t, os.WriteFile(filepath.Join(home, "token"), []byte("below home\n"), 0o600))
	for _, row := range [][2]string{
		{"NAME", "of NAME"},
		{"cmd:echo a b", "a b"},
		{"cmd:echo 'a  b' \"c d\"", "a  b c d"},
		{`cmd:printf 'a\r\n'`, "a"},
		{`cmd:printf 'a\n\n'`, "a\n"}, // one end of a line is not part of the value, the rest is
		{"cmd:echo $HOME `id` $(id) *", "$HOME `id` $(id) *"},
		{"cmd:pwd", home}, // a file in a project's folder changes nothing
		{"cmd:cat", ""},   // it has no input, so it ends
		{"file:" + secretFile(t, "from a file\n", 0o600), "from a file"},
		{"file:" + secretFile(t, "from a file", 0o440), "from a file"}, // as Kubernetes mounts it with fsGroup
		{"file:~/token", "below home"},
	} {
		if v, ok := s.Lookup(row[0]); row[1] != "" && (!ok || v != row[1]) {
			t.Errorf("%s: got %q, %v; want %q", row[0], v, ok, row[1])
		} else if row[1] == "" && (ok || !strings.Contains(v, "gives nothing")) {
			t.Errorf("%s: got %q, %v", row[0], v, ok)
		}
	}
}

// TestFailuresSayNoValue: what is told about a failure has the errors of the command, and never what it printed.
func TestFailuresSayNoValue(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	checktest.OK(t, syscall.Mkfifo(fifo, 0o600))
	link := filepath.Join(t.TempDir(), "link")
	checktest.OK(t, os.Symlink(secretFile(t, canary, 0o644), link))
	s := NewSources(noVariables)
	s.time = 300 * time.Millisecond
	for _, row := range []struct{ name, want string }{
		{"cmd:sh -c 'echo " + canary + "; echo locked >&2; exit 3'", "failed (exit status 3): locked"},
		{"cmd:sh -c 'echo " + canary + "; kill -9 $$'", "signal: killed"},
		{"cmd:sh -c 'echo " + canary + "; echo slow >&2; sleep 60'", "did not end within 300ms: slow"},
		{"cmd:sh -c 'yes " + canary + "'", "did not end within"},
		{"cmd:sh -c 'yes " + canary + " | head -c 70000'", "more than 64 KiB"},
		{"cmd:sh -c 'printf \"" + canary + "\\000\"'", "not text"},
		{"cmd:sh -c 'printf \"" + canary + "\\377\"'", "not text"},
		{"cmd:sh -c 'printf \"\\033[31m\\342\\200\\256red\" >&2; exit 1'", `failed (exit status 1): \u{1b}[31m\u{202e}red`},
		{"cmd:no-such-program-here " + canary, "was not found in PATH"},
		{"cmd:/dev/null " + canary, "could not run"},
		{"cmd:true " + canary, "gives nothing"},
		{"file:/no/such/file", "cannot be read: no such file"},
		{"file:" + t.TempDir(), "not a plain file"},
		{"file:" + fifo, "not a plain file"},
		{"file:/dev/zero", "not a plain file"},
		{"file:" + secretFile(t, canary, 0o644), "chmod o-rwx"},
		{"file:" + secretFile(t, canary, 0o602), "chmod o-rwx"},
		{"file:" + secretFile(t, canary, 0o660), "chmod g-w"},
		{"file:" + link, "chmod o-rwx"},
		{"file:" + secretFile(t, "", 0o600), "gives nothing"},
		{"file:" + secretFile(t, strings.Repeat(canary, 6000), 0o600), "more than 64 KiB"},
		{"file:" + secretFile(t, canary+"\x00", 0o600), "not text"},
	} {
		start := time.Now()
		why, ok := s.Lookup(row.name)
		if ok || !strings.Contains(why, row.want) || strings.Contains(why, canary) {
			t.Errorf("%.80s: got %v, %q; want %q", row.name, ok, why, row.want)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%.80s took %v", row.name, took)
		}
	}
}

// TestAKilledCommandLeavesNothing: a command that takes too long ends with all that it started.
func TestAKilledCommandLeavesNothing(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	s := NewSources(noVariables)
	s.time = 500 * time.Millisecond
	if _, ok := s.Lookup(fmt.Sprintf("cmd:sh -c 'sleep 600 & echo $! > %s; wait'", pid)); ok {
		t.Fatal("it ended in time")
	}
	text, err := os.ReadFile(pid)
	checktest.OK(t, err)
	var child int
	if _, err := fmt.Sscan(string(text), &child); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) { // the kernel ends it
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		if syscall.Kill(child, 0) != nil || err == nil && strings.Contains(string(state), ") Z ") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %d still runs", child)
		}
	}
}

// TestValuesAreKeptForAWhile: a command runs once for many readers, and again after the lifetime of its value.
func TestValuesAreKeptForAWhile(t *testing.T) {
	counted := filepath.Join(t.TempDir(), "runs")
	name := fmt.Sprintf("cmd:sh -c 'echo x >> %[1]s; wc -l < %[1]s | tr -d \" \"'", counted)
	s := NewSources(noVariables)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got, ok := s.Lookup(name); !ok || got != "1" {
				t.Errorf("got %q, want 1", got)
			}
		})
	}
	all.Wait()
	s.known[name].until = time.Now() // as if its lifetime were over
	if got := lookup(t, s, name); got != "2" {
		t.Errorf("after its lifetime: got %q", got)
	}
}

// TestASlowCommandDelaysNoReload: while a value is looked up anew, the one before it counts for those who would wait long.
func TestASlowCommandDelaysNoReload(t *testing.T) {
	slow := filepath.Join(t.TempDir(), "slow")
	name := fmt.Sprintf("cmd:sh -c 'if [ -e %[1]s ]; then sleep 3; echo second; else echo first; fi'", slow)
	s := NewSources(noVariables)
	if got := lookup(t, s, name); got != "first" {
		t.Fatalf("got %q", got)
	}
	checktest.OK(t, os.WriteFile(slow, nil, 0o600))
	s.known[name].until = time.Now()
	start := time.Now()
	if got := lookup(t, s, name); got != "first" || time.Since(start) > 2*time.Second {
		t.Errorf("got %q after %v", got, time.Since(start))
	}
	for end := time.Now().Add(20 * time.Second); lookup(t, s, name) != "second"; {
		if time.Now().After(end) {
			t.Fatal("the new value never came")
		}
	}
}

// TestLifetimes: a value counts for its lifetime, and a failure for a few seconds.
func TestLifetimes(t *testing.T) {
	path := secretFile(t, "first", 0o600)
	synctest.Test(t, func(t *testing.T) {
		s := NewSources(noVariables)
		write := func(text string, mode os.FileMode) {
			checktest.OK(t, os.WriteFile(path, []byte(text), 0o600))
			checktest.OK(t, os.Chmod(path, mode))
		}
		is := func(want string) {
			t.Helper()
			if got, ok := s.Lookup("file:" + path); !strings.Contains(got, want) || ok == (want == "chmod") {
				t.Errorf("got %q, %v; want %q", got, ok, want)
			}
		}
		is("first")
		write("second", 0o600)
		time.Sleep(Lifetime - time.Second)
		is("first")
		time.Sleep(time.Second)
		is("second")
		write("third", 0o644)
		time.Sleep(Lifetime)
		is("chmod")
		write("third", 0o600)
		is("chmod")
		time.Sleep(failureLifetime)
		is("third")
	})
}
