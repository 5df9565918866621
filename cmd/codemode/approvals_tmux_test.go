//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/store/storetest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A multiplexer is a tmux of its own, that knows nothing of the one the tests may run in.
type multiplexer struct {
	t           *testing.T
	socket      string
	environment []string
}

func startMultiplexer(t *testing.T, columns, rows int) *multiplexer {
	t.Helper()
	endToEnd(t)
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed (the Debian package is called tmux); .ci/run installs it")
	}
	home, err := os.MkdirTemp("", "cm") // sockets have short paths
	checktest.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	state, err := os.MkdirTemp(storetest.Memory(), "cm")
	checktest.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(state) })
	m := &multiplexer{t: t, socket: filepath.Join(home, "tmux")}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TMUX") && !strings.HasPrefix(v, "CODEMODE_") && !strings.HasPrefix(v, "DISPLAY=") &&
			!strings.HasPrefix(v, "WAYLAND_DISPLAY=") {
			m.environment = append(m.environment, v)
		}
	}
	m.environment = append(m.environment, asCommand+"=codemode", "HOME="+home, "XDG_CONFIG_HOME="+home,
		"XDG_STATE_HOME="+state, "XDG_CACHE_HOME="+cachetest.Dir(), "CODEMODE_CONFIG=", "LC_ALL=C.UTF-8")
	m.run("new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), "-s", "main", "-n", "work", "--",
		"sleep", "600")
	t.Cleanup(func() { _ = m.command("kill-server").Run() })
	m.run("set-option", "-g", "default-terminal", "screen-256color")
	return m
}

func (m *multiplexer) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-S", m.socket, "-f", os.DevNull}, args...)...)
	cmd.Env = m.environment
	return cmd
}

func (m *multiplexer) run(args ...string) string {
	m.t.Helper()
	out, err := m.command(args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// within is the environment of a process that runs in this tmux.
func (m *multiplexer) within(more ...string) []string {
	return append(append(m.environment, "TMUX="+m.socket+","+strings.TrimSpace(m.run("display-message", "-p",
		"#{pid}"))+",0"), more...)
}

// A pane is a window of a tmux, as a person sees it.
type pane struct {
	*multiplexer
	target string
}

// see waits until all of parts stand on the screen.
func (p *pane) see(parts ...string) string {
	p.t.Helper()
	var text string
	var err error
	if !testwait.Holds(func() bool {
		var out []byte
		out, err = p.command("capture-pane", "-p", "-t", p.target).CombinedOutput()
		text = string(out)
		return err == nil && !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
	}) {
		p.t.Fatalf("not all of %q was shown: %v\n%s", parts, err, text)
	}
	return text
}

// press presses keys as tmux calls them, like a person who sees what a key has done before pressing the next one; what
// begins with a quotation mark is typed.
func (p *pane) press(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		time.Sleep(settling + 200*time.Millisecond) // the process takes no key sooner
		before := p.timeless()
		if text, ok := strings.CutPrefix(k, `"`); ok {
			p.run("send-keys", "-t", p.target, "-l", text)
		} else {
			p.run("send-keys", "-t", p.target, k)
		}
		for range testwait.Polls(20 * time.Second) { // a key that changes nothing is no failure here
			if p.timeless() != before {
				break
			}
		}
	}
}

var ages = regexp.MustCompile(`( \d+m)?\s*\d+s `)

// timeless is what is on the screen, but for how long it is there.
func (p *pane) timeless() string {
	out, err := p.command("capture-pane", "-p", "-t", p.target).CombinedOutput()
	if err != nil {
		return err.Error()
	}
	return ages.ReplaceAllString(string(out), "")
}

// keep leaves what is on the screen for people to look at, in the folder CODEMODE_SCREENSHOTS.
func (p *pane) keep(name string) {
	p.t.Helper()
	dir := os.Getenv("CODEMODE_SCREENSHOTS")
	if dir == "" {
		return
	}
	checktest.OK(p.t, os.MkdirAll(dir, 0o700))
	for suffix, flags := range map[string][]string{".txt": nil, ".ansi": {"-e"}} {
		out := p.run(append([]string{"capture-pane", "-p", "-t", p.target}, flags...)...)
		if err := os.WriteFile(filepath.Join(dir, name+suffix), []byte(out), 0o600); err != nil {
			p.t.Error(err)
		}
	}
}

// A served is codemode serve with a client that cannot ask.
type servedHere struct {
	t       *testing.T
	session *mcp.ClientSession
	log     *screen
	files   string
}

const tmuxConfig = `{"evaluation": {"profiles": {"p": {
	"asklist": [
		{"id": "delete", "tool": "filesystem__delete_*", "risk": "high", "reason": "cannot be undone"},
		{"id": "write", "tool": "filesystem__write_file", "reason": "changes files"}
	],
	"allowlist": ["filesystem__*"],
	"remember": {"scopes": ["run", "time"]},
	"ask": {"edit": true}}}, "expose": ["p"]}%s}`

func serveIn(t *testing.T, environment []string, more string) *servedHere {
	t.Helper()
	return serveWith(t, environment, fmt.Sprintf(tmuxConfig, more))
}

func serveWith(t *testing.T, environment []string, text string) *servedHere {
	t.Helper()
	s := &servedHere{t: t, log: &screen{}, files: t.TempDir()}
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"), text)
	cmd := exec.Command(os.Args[0], "serve", "--config", config, "--root", s.files)
	cmd.Env, cmd.Stderr = environment, s.log
	var err error
	s.session, err = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: cmd}, nil)
	checktest.OK(t, err)
	t.Cleanup(func() { s.session.Close() })
	return s
}

// run runs a program in the background.
func (s *servedHere) run(code string) <-chan string { return runs(s.t, s.session, code) }

func (s *servedHere) holds(name string) bool {
	_, err := os.Stat(filepath.Join(s.files, name))
	return err == nil
}

// S3.7, S3.6: in a real terminal, at 80 and 120 columns: the queue, a question with the plan, a high risk with its
// code, a reason, and questions of a program, all with keys alone.
func TestResponderInTmux(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{80, 120} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel() // it is mostly a person's pauses
			m := startMultiplexer(t, columns, 32)
			s := serveIn(t, m.environment, "")
			m.run("new-window", "-d", "-t", "main:", "-n", "approvals", "--", os.Args[0], "approvals")
			p := &pane{m, "main:approvals"}
			p.see("1 process connected", "No question waits.")
			shot := func(name string) { p.keep(fmt.Sprintf("responder-%d-%s", columns, name)) }
			shot("1-nothing")

			done := s.run(`
				await codemode.filesystem__write_file({path: "today.md", content: "# Today\n\n- buy milk\n- call Tom\n"});
				for (const n of [1, 2]) await codemode.filesystem__write_file({path: "log.md", content: "line " + n});
				return "written"`)
			p.see("1 question", "filesystem.write_file", `path: "today.md"`, "You can allow these calls with it",
				`/path "log.md"`)
			shot("2-question")
			p.press("Enter")
			p.see("Refuse, and say why", "Allow this call", "Change the arguments",
				"Allow this and the plan for this run: the further calls")
			shot("3-answers")
			p.press("Down", "Down", "Down", "Down", "Down")
			p.see("> Allow this and the plan")
			p.press("Enter")
			if got := answerOf(t, done); !strings.HasPrefix(got, `"written"`) ||
				!strings.Contains(got, "approved (person, terminal)") {
				t.Errorf("with the plan: %s", got)
			}

			checktest.Write(t, filepath.Join(s.files, "old.md"), "x")
			both := s.run(`return (await Promise.all([
				codemode.filesystem__delete_file({path: "old.md"}).then(() => "deleted", e => e.reason),
				codemode.filesystem__write_file({path: "new.md", content: "x"}).then(() => "written", e => e.reason + ": " + e.detail),
			])).join(", ")`)
			p.see("2 questions", "filesystem.delete_file", "filesystem.write_file")
			p.press("Down")
			shot("4-queue")
			p.press("Enter", "Down", "Enter")
			p.see("Why? The program is told:")
			p.press(`"not on a Saturday`, "Enter")
			p.see("1 question", "cannot be undone")
			p.press("Enter", "Down", "Down", "Enter")
			code := codeIn(t, p.see("Type the code of this question"))
			shot("5-code")
			p.press(`"wrong`, "Enter")
			p.see("That is not the code of this question.")
			p.press(`"`+code, "Enter")
			if got := answerOf(t, both); !strings.Contains(got,
				`"deleted, elicitation_declined: a person refused this call and wrote: \"not on a Saturday\""`) {
				t.Errorf("two questions: %s", got)
			}

			asked := s.run(`
				const a = await codemode.ask_user({header: "Deploy", question: "Where should version 1.4 go?", options: [{label: "staging", description: "the test machines"}, "production"]});
				const b = await codemode.ask_user({question: "Which checks are to run first?", options: ["unit", "race", "fuzz"], multiple: true, freeText: true});
				return a.answer + "; " + b.answer`)
			p.see("Question of a program", `question: "Where should version 1.4 go?"`, `2. "production"`)
			shot("6-ask-user")
			p.press("Enter", "Down", "Down")
			p.see(`> "production"`)
			p.press("Enter")
			p.see("Which checks are to run first?")
			p.press("Enter", "Down", "Space", "Down", "Down", "Space")
			p.see(`[x] "unit"`, `[ ] "race"`, `[x] "fuzz"`)
			shot("7-ask-user-several")
			p.press("Down", "Enter")
			p.see("Your answer, in your own words, with the ticked options.")
			p.press(`"and lint`)
			p.see("> and lint_")
			shot("8-ask-user-words")
			p.press("Enter")
			if got := answerOf(t, asked); !strings.HasPrefix(got, `"production; unit, fuzz, and lint"`) {
				t.Errorf("ask_user: %s", got)
			}
			p.see("No question waits.")
			if s.holds("new.md") || s.holds("old.md") || !s.holds("today.md") {
				t.Error("what was refused happened, or what was allowed did not")
			}
			p.press("q")
		})
	}
}

// codeIn finds the code that has to be typed.
func codeIn(t *testing.T, screen string) string {
	t.Helper()
	for line := range strings.Lines(screen) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "code" {
			return f[1]
		}
	}
	t.Fatalf("there is no code:\n%s", screen)
	return ""
}

// S3.8, S3.9: a responder opens by itself when a question comes: as a window of the tmux that codemode serve runs in,
// without taking its keys; set by a variable or in the file, with a command of one's own or not at all.
func TestResponderStartsByItself(t *testing.T) {
	t.Parallel()
	const program = `try { await codemode.filesystem__write_file({path: "a.md", content: "x"}); return "written" } catch (e) { return e.reason }`
	allow := func(p *pane) {
		p.see("1 question", "filesystem.write_file")
		p.press("Enter", "Down", "Down", "Enter")
	}
	for _, tt := range []struct {
		why, file string
		variables []string
	}{
		{"by a variable", "", []string{"CODEMODE_RESPONDER=tmux"}},
		{"in the file", `, "responder": "auto"`, nil},
		{"the variable counts more", `, "responder": {"start": "off"}`, []string{"CODEMODE_RESPONDER=auto"}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			m := startMultiplexer(t, 100, 30)
			s := serveIn(t, m.within(tt.variables...), tt.file)
			done := s.run(program)
			p := &pane{m, "main:approvals"}
			allow(p)
			if got := answerOf(t, done); !strings.HasPrefix(got, `"written"`) {
				t.Errorf("got %s", got)
			}
			if active := m.run("list-windows", "-t", "main", "-F", "#{window_name} #{window_active}"); !strings.Contains(active,
				"work 1") {
				t.Errorf("the keys go somewhere else now:\n%s", active)
			}
			if s.session.Close(); tt.file == "" { // when nobody asks any more the window goes away
				if !testwait.Holds(func() bool { return !strings.Contains(m.run("list-windows", "-t", "main"), "approvals") }) {
					t.Fatal("the window stays")
				}
			}
		})
	}

	t.Run("in a session of its own", func(t *testing.T) {
		t.Parallel()
		m := startMultiplexer(t, 100, 30)
		s := serveIn(t, append(m.environment, "CODEMODE_RESPONDER=auto", "TMUX_TMPDIR="+filepath.Dir(m.socket)), "")
		done := s.run(program)
		var other string
		if !testwait.Holds(func() bool {
			all, _ := filepath.Glob(filepath.Join(filepath.Dir(m.socket), "tmux-*", "default"))
			other = strings.Join(all, "")
			return len(all) == 1
		}) {
			t.Fatalf("no tmux was started:\n%s", s.log.String())
		}
		own := &multiplexer{t: t, socket: other, environment: m.environment}
		t.Cleanup(func() { _ = own.command("kill-server").Run() })
		allow(&pane{own, "codemode:approvals"})
		if got := answerOf(t, done); !strings.HasPrefix(got, `"written"`) {
			t.Errorf("got %s", got)
		}
		if log := s.log.String(); !strings.Contains(log, "tmux attach -t codemode") {
			t.Errorf("the log does not say where:\n%s", log)
		}
	})

	t.Run("with a command of one's own", func(t *testing.T) {
		t.Parallel()
		m := startMultiplexer(t, 100, 30)
		s := serveIn(t, append(m.environment, "CODEMODE_RESPONDER_COMMAND=tmux -S "+m.socket+" new-window -d -n mine --"), "")
		done := s.run(program)
		allow(&pane{m, "main:mine"})
		if got := answerOf(t, done); !strings.HasPrefix(got, `"written"`) {
			t.Errorf("got %s", got)
		}
	})

	for _, tt := range []struct {
		why       string
		reason    string
		variables []string
		log       string // once
	}{
		{"a hint if nothing is said", `"elicitation_unsupported"`, nil,
			"codemode approvals is not open: run it in another terminal to answer there"},
		{"off", `"elicitation_unsupported"`, []string{"CODEMODE_RESPONDER=off"}, ""},
		{"no terminal emulator", `"timeout"`, []string{"CODEMODE_RESPONDER=terminal"},
			"no terminal could be opened for the answer"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			m := startMultiplexer(t, 100, 30)
			soon := strings.Replace(fmt.Sprintf(tmuxConfig, ""), `"edit": true`, `"edit": true, "timeout": "3s"`, 1)
			s := serveWith(t, m.within(tt.variables...), soon)
			for range 2 {
				if got := answerOf(t, s.run(program)); !strings.HasPrefix(belowSummary(got), tt.reason) {
					t.Errorf("got %s", got)
				}
			}
			log := s.log.String()
			if n := strings.Count(log, tt.log); tt.log != "" && n != 1 {
				t.Errorf("it is logged %d times:\n%s", n, log)
			}
			if tt.log == "" && (strings.Contains(log, "terminal") || strings.Contains(log, "approvals")) {
				t.Errorf("it was switched off:\n%s", log)
			}
			if windows := m.run("list-windows", "-t", "main"); strings.Contains(windows, "approvals") {
				t.Errorf("a window was opened:\n%s", windows)
			}
		})
	}
}
