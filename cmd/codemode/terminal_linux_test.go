package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// openTerminal makes a pseudo terminal: what is written to keys is typed on it.
func openTerminal(t *testing.T) (keys, terminal *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { keys.Close() })
	checktest.OK(t, unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	checktest.OK(t, err)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	checktest.OK(t, err)
	t.Cleanup(func() { terminal.Close() })
	return keys, terminal
}

// The first command of the README, with a person at the terminal.
func TestFirstProgramAsksOnTheTerminal(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", cachetest.Dir())
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
			checktest.OK(t, os.CopyFS(root, os.DirFS("../../testdata/programs/desk")))
			// From an earlier run of the README's command, perhaps.
			checktest.OK(t, os.RemoveAll(filepath.Join(root, "open.md")))
			keys, terminal := openTerminal(t)
			var out, err screen
			done := make(chan int, 1)
			go func() {
				done <- runMain(t, cli.Streams{In: terminal, Out: &out, Err: &err}, "run", "--root", root,
					"--config", "../../testdata/programs/codemode.json", "../../testdata/programs/first.ts")
			}()
			// What is typed before the question is shown is thrown away.
			keys.WriteString("yes\n")
			if !testwait.Holds(func() bool { return strings.Contains(err.String(), "write_file") }) {
				t.Fatalf("nothing was asked:\n%s%s", out.String(), err.String())
			}
			if _, missing := os.Stat(filepath.Join(root, "open.md")); missing == nil {
				t.Error("the file was written before anybody said yes")
			}
			code := -1
			for i := 0; code < 0 && i < 100; i++ {
				time.Sleep(100 * time.Millisecond) // the kernel throws away what is typed too early
				keys.WriteString(tt.typed)
				select {
				case code = <-done:
				default:
				}
			}
			if code != cli.ExitOK || !strings.Contains(out.String(), tt.saved) {
				t.Errorf("exit code %d\n%s\n%s", code, out.String(), err.String())
			}
			if _, missing := os.Stat(filepath.Join(root, "open.md")); (missing == nil) != tt.written {
				t.Errorf("the file is there: %v, want %v", missing == nil, tt.written)
			}
		})
	}
}

// What a person allows with codemode check --ask is good for one codemode run of that program, where nobody can be
// asked.
func TestAPlanIsAllowedWithACheck(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", cachetest.Dir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	config := filepath.Join(t.TempDir(), "codemode.json")
	rules := `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__*"], "remember": {"scopes": ["run"]}}}}}`
	checktest.Write(t, config, rules)
	const program = `for (const i of [1, 2]) await codemode.filesystem__write_file({path: i + ".md", content: "x"}); return "all"`
	root := t.TempDir()
	args := []string{"--config", config, "--profile", "p", "--root", root, "-e", program}
	keys, terminal := openTerminal(t)
	var out, err screen
	done := make(chan int, 1)
	go func() {
		done <- runMain(t, cli.Streams{In: terminal, Out: &out, Err: &err}, append([]string{"check", "--ask"}, args...)...)
	}()
	code := -1
	for code < 0 { // what is typed before the question is shown is thrown away
		select {
		case code = <-done:
		case <-time.After(100 * time.Millisecond):
			if strings.Contains(err.String(), "Type yes to allow") {
				keys.WriteString("yes\n")
			}
		}
	}
	if code != cli.ExitOK || !strings.Contains(out.String(), "A person allowed these calls for one run of this program") ||
		!strings.Contains(err.String(), "1. filesystem.write_file, further calls of line 1 (50 at most), with") {
		t.Fatalf("exit code %d\n%s\n%s", code, out.String(), err.String())
	}
	if _, missing := os.Stat(filepath.Join(root, "1.md")); missing == nil {
		t.Fatal("the check has run the program")
	}
	for _, want := range []int{cli.ExitOK, cli.ExitProgram} { // the second run is not allowed any more
		var out, err bytes.Buffer
		code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err}, append([]string{"run"}, args...)...)
		if (code == cli.ExitOK) != (want == cli.ExitOK) {
			t.Errorf("exit code %d\n%s\n%s", code, out.String(), err.String())
		}
	}
}

// Ctrl-C ends a command that waits for a key: nothing is changed, and no folder is left.
func TestCtrlCAtAQuestion(t *testing.T) {
	t.Parallel()
	endToEnd(t)
	for command, asks := range map[string]string{"demo": "(press Enter)", "init --install": "Go on? [y/N]"} {
		t.Run(command, func(t *testing.T) {
			const client = `{"mcpServers": {"gone": {"command": "/not/there"}}}`
			home := newNewcomer(t, map[string]string{".cursor/mcp.json": client})
			keys, terminal := openTerminal(t)
			cmd := home.command("mkdir tmp; TMPDIR=$HOME/tmp exec codemode " + command)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
			checktest.OK(t, cmd.Start())
			terminal.Close()
			var shown screen
			go func() { _, _ = io.Copy(&shown, keys) }() // ends with an error when nobody has the terminal open
			if !testwait.Holds(func() bool { return strings.Contains(shown.String(), asks) }) {
				t.Fatalf("nothing is asked:\n%s", shown.String())
			}
			checktest.OK(t, cmd.Process.Signal(os.Interrupt)) // as the terminal does for Ctrl-C
			if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != cli.ExitInterrupted {
				t.Errorf("%v, want exit code %d:\n%s", cmd.ProcessState, cli.ExitInterrupted, shown.String())
			}
			if now := readText(t, filepath.Join(home.folder, ".cursor", "mcp.json")); now != client {
				t.Errorf("it was changed: %s", now)
			}
			left, err := os.ReadDir(filepath.Join(home.folder, "tmp"))
			checktest.OK(t, err)
			if len(left) > 0 {
				t.Errorf("%s is left", left[0].Name())
			}
		})
	}
}
