package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A responder is codemode approvals on a terminal of its own.
type responderProcess struct {
	t    *testing.T
	keys *os.File
	out  *screen
	cmd  *exec.Cmd
	done chan error
	read int // bytes of out that were looked at
}

func startResponder(t *testing.T, environment []string) *responderProcess {
	t.Helper()
	keys, terminal := openTerminal(t)
	checktest.OK(t, unix.IoctlSetWinsize(int(keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 100}))
	r := &responderProcess{t: t, keys: keys, out: &screen{}, cmd: exec.Command(os.Args[0], "approvals"),
		done: make(chan error, 1)}
	r.cmd.Env = append(environment, "TERM=xterm-256color")
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = terminal, terminal, terminal
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	checktest.OK(t, r.cmd.Start())
	terminal.Close()
	go func() { r.done <- r.cmd.Wait() }()
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := keys.Read(b)
			if n > 0 {
				r.out.Write(b[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { r.cmd.Process.Kill() })
	return r
}

// see waits until something is shown, after what was seen before. Of what stands on the screen already only the
// differences are written, so a test looks for titles, which are always written whole.
func (r *responderProcess) see(what string) {
	r.t.Helper()
	at := -1
	if !testwait.Holds(func() bool { at = strings.Index(r.out.String()[r.read:], what); return at >= 0 }) {
		r.t.Fatalf("%q was not shown:\n%q", what, r.out.String()[r.read:])
	}
	r.read += at + len(what)
}

// press presses keys with the pauses of a person.
func (r *responderProcess) press(keys ...string) {
	for _, k := range keys {
		time.Sleep(2 * settling) // the process takes no key sooner
		r.keys.WriteString(k)
	}
}

const (
	noneTitle = "codemode: 0 questions\a"
	oneTitle  = "codemode: 1 question\a"

	// Of the line above it, "1 process connected", one digit is written if it said 0 before; and this one begins as what
	// stood there.
	connectedText = "waits. Questions of programs appear here."

	downKey  = "\x1b[B"
	enterKey = "\r"
)

// S3.7, C5: a question of a client that cannot ask is answered on a second terminal; when that is killed, no person is
// connected.
func TestApprovalsOnASecondTerminal(t *testing.T) {
	t.Parallel() // it waits for a person's pauses and for a time-out
	endToEnd(t)
	home, err := os.MkdirTemp("", "cm") // sockets have short paths
	checktest.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	files := t.TempDir()
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"), `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__*"], "ask": {"timeout": "1m"}},
		"soon": {"asklist": ["filesystem__*"], "ask": {"timeout": "6s"}}}, "expose": ["p", "soon"]}}`)
	environment := append(os.Environ(), asCommand+"=codemode", "HOME="+home, "XDG_CONFIG_HOME="+home,
		"XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+cachetest.Dir(), "CODEMODE_CONFIG=")
	serve := exec.Command(os.Args[0], "serve", "--config", config, "--root", files)
	serve.Env = environment
	client := mcptest.Connect(t, &mcp.CommandTransport{Command: serve})
	run := func(profile, file string) string {
		res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "codemode_eval_" + profile,
			Arguments: map[string]any{
				"code": `try { await codemode.filesystem__write_file({path: "` + file +
					`", content: "x"}); return "written" } catch (e) { return e.reason + ": " + e.detail }`,
			}})
		if err != nil {
			return err.Error()
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	if got := run("p", "nobody.md"); !strings.HasPrefix(belowSummary(got), `"elicitation_unsupported: `) {
		t.Errorf("with no responder: %s", got)
	}

	r := startResponder(t, environment)
	r.see(connectedText)
	answers := make(chan string, 1)
	go func() { answers <- run("p", "yes.md") }()
	r.see(oneTitle)
	r.see("filesystem.write_file")
	r.press(enterKey, downKey, downKey, enterKey)
	if got := <-answers; !strings.HasPrefix(belowSummary(got), `"written"`) || !strings.Contains(got, "approved (person, terminal)") {
		t.Errorf("allowed: %s", got)
	}
	r.see(noneTitle)
	go func() { answers <- run("p", "no.md") }()
	r.see(oneTitle)
	r.press(enterKey, downKey, enterKey, "not there", enterKey)
	if got := <-answers; !strings.HasPrefix(belowSummary(got), `"elicitation_declined: `) || !strings.Contains(got, "not there") {
		t.Errorf("refused: %s", got)
	}

	// F47: resized and killed in the middle of an answer, it says yes to nothing.
	r.see(noneTitle)
	go func() { answers <- run("soon", "killed.md") }()
	r.see(oneTitle)
	r.press(enterKey, downKey)
	if err := unix.IoctlSetWinsize(int(r.keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 10, Col: 40}); err != nil {
		t.Error(err)
	}
	checktest.OK(t, r.cmd.Process.Kill())
	if got := <-answers; !strings.HasPrefix(belowSummary(got), `"timeout: `) { // that somebody left decides nothing
		t.Errorf("killed: %s", got)
	}
	for name, want := range map[string]bool{"yes.md": true, "no.md": false, "killed.md": false, "nobody.md": false} {
		if _, err := os.Stat(filepath.Join(files, name)); (err == nil) != want {
			t.Errorf("%s is there: %v", name, err == nil)
		}
	}

	r = startResponder(t, environment)
	r.see(connectedText)
	r.press("q")
	select {
	case err := <-r.done:
		if err != nil {
			t.Errorf("q: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("q does not quit")
	}
}

// F47: without a terminal there is no responder.
func TestApprovalsNeedATerminal(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var out, errs screen
	if code := runMain(t, cli.Streams{In: strings.NewReader("y\ny\n"), Out: &out, Err: &errs},
		"approvals"); code != cli.ExitUsage || !strings.Contains(errs.String(), "terminal") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}
