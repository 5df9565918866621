package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal makes a pseudo terminal: what is written to keys is typed on it.
func openTerminal(t *testing.T) (keys, terminal *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { keys.Close() })
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return keys, terminal
}

// A screen is what a command prints, read while it is printed.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// The first command of the README, with a person at the terminal.
func TestFirstProgramAsksOnTheTerminal(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", testCache())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	tests := []struct {
		name, typed, saved string
		written            bool
	}{
		{"yes", "yes\n", `"saved": "open.md"`, true},
		{"no", "no\n", `"saved": "nowhere: elicitation_declined"`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.CopyFS(root, os.DirFS("../../testdata/programs/desk")); err != nil {
				t.Fatal(err)
			}
			// From an earlier run of the README's command, perhaps.
			if err := os.RemoveAll(filepath.Join(root, "open.md")); err != nil {
				t.Fatal(err)
			}
			keys, terminal := openTerminal(t)
			var out, err screen
			done := make(chan int, 1)
			go func() {
				done <- runMain(t, streams{in: terminal, out: &out, err: &err}, "run", "--root", root,
					"--config", "../../testdata/programs/codemode.json", "../../testdata/programs/first.ts")
			}()
			// What is typed before the question is shown is thrown away.
			keys.WriteString("yes\n")
			for deadline := time.Now().Add(20 * time.Second); !strings.Contains(err.String(), "write_file"); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("nothing was asked:\n%s%s", out.String(), err.String())
				}
			}
			if _, missing := os.Stat(filepath.Join(root, "open.md")); missing == nil {
				t.Error("the file was written before anybody said yes")
			}
			code := -1
			for i := 0; code < 0 && i < 100; i++ {
				time.Sleep(100 * time.Millisecond)
				keys.WriteString(tt.typed)
				select {
				case code = <-done:
				default:
				}
			}
			if code != exitOK || !strings.Contains(out.String(), tt.saved) {
				t.Errorf("exit code %d\n%s\n%s", code, out.String(), err.String())
			}
			if _, missing := os.Stat(filepath.Join(root, "open.md")); (missing == nil) != tt.written {
				t.Errorf("the file is there: %v, want %v", missing == nil, tt.written)
			}
		})
	}
}
