package responder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/config"
)

const responderHelp = `When a question comes and no "codemode approvals" is running, "codemode serve" can open
one. The key "responder" of the configuration file, or the variable CODEMODE_RESPONDER,
says how:

  hint       log once that "codemode approvals" answers (the default)
  off        do nothing
  auto       the first of the following that works here
  tmux       a new window of the tmux that codemode serve runs in, or else of a tmux
             session of its own, which "tmux attach -t codemode" shows
  terminal   a new window of a terminal emulator ($TERMINAL, or a usual one)

or {"start": "auto", "command": ["kitty", "-e"]}: your own command that opens a terminal
and runs the words that are appended to it; CODEMODE_RESPONDER_COMMAND is that command as a
variable, with spaces between its words. A variable overrides the file.`

// The values of "responder".
const (
	wayHint     = "hint"
	wayOff      = "off"
	wayAuto     = "auto"
	wayTmux     = "tmux"
	wayTerminal = "terminal"
)

const (
	// openWait is how long a question waits for a responder in an opening terminal, and openAgain the time until the
	// opener opens another terminal if no responder comes.
	openWait, openAgain = 10 * time.Second, time.Minute
	// tmuxWait bounds one command of tmux.
	tmuxWait = 5 * time.Second
	// tmuxSession is the name of the session that is created if there is none.
	tmuxSession = "codemode"
)

// An opener opens a terminal where a person can answer, when a question comes and no responder is connected.
type opener struct {
	state   string // folder
	command string // that a person runs in another terminal
	env     func(string) string
	log     *slog.Logger

	mu        sync.Mutex
	evaluator *codemode.Evaluator // nil until there is one
	opened    time.Time
	logged    map[string]bool
}

func newOpener(state, command string, log *slog.Logger) *opener {
	return &opener{state: state, command: command, env: os.Getenv, log: log, logged: map[string]bool{}}
}

// follow lets the configuration of e say how a terminal is opened.
func (o *opener) follow(e *codemode.Evaluator) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.evaluator = e
}

// outcome waits until the record says how an allowed call ended, and returns that in a few words.
func (o *opener) outcome(ctx context.Context, r *prompt.Request) string {
	o.mu.Lock()
	e := o.evaluator
	o.mu.Unlock()
	if e == nil {
		return ""
	}
	return e.Record().Outcome(ctx, r)
}

// configured is the key "responder" of the file; nil without one. The caller holds o.mu.
func (o *opener) configured() *config.Responder {
	if o.evaluator == nil || o.evaluator.Config() == nil {
		return nil
	}
	return o.evaluator.Config().Responder
}

// config combines the variables and the file. The caller holds o.mu.
func (o *opener) config() (config.Responder, error) {
	var c config.Responder
	if written := o.configured(); written != nil {
		c = *written
	}
	way := o.env("CODEMODE_RESPONDER")
	if words := strings.Fields(o.env("CODEMODE_RESPONDER_COMMAND")); len(words) > 0 {
		c.Command = words
		way = cmp.Or(way, wayAuto)
	}
	c.Start = cmp.Or(way, c.Start)
	if c.Start == "" && len(c.Command) > 0 {
		c.Start = wayAuto
	}
	switch c.Start = cmp.Or(c.Start, wayHint); c.Start {
	case wayHint, wayOff, wayAuto, wayTmux, wayTerminal:
		return c, nil
	}
	return c, fmt.Errorf("the responder setting is %q; it can be off, hint, auto, tmux or terminal", c.Start)
}

// expects reports whether the file or a variable says that people answer in terminals. Without either nobody is
// expected.
func (o *opener) expects() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	said := o.env("CODEMODE_RESPONDER") != "" || o.env("CODEMODE_RESPONDER_COMMAND") != "" || o.configured() != nil
	c, err := o.config()
	return said && err == nil && c.Start != wayOff
}

// summon opens a terminal, if the configuration wants one. It returns how long that may take; 0 means that it opens
// none.
func (o *opener) summon() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, err := o.config()
	if err != nil {
		o.logOnce("no terminal is opened for answers", "error", err.Error())
	}
	switch {
	case err == nil && c.Start == wayOff:
		return 0
	case err != nil || c.Start == wayHint:
		o.logOnce("a program asks, and codemode approvals is not open: run it in another terminal to answer there",
			"command", o.command)
		return 0
	}
	if since := time.Since(o.opened); !o.opened.IsZero() && since < openAgain {
		return max(openWait-since, 0)
	}
	where, err := o.open(c)
	if err != nil {
		o.logOnce("a program asks, and no terminal could be opened for the answer: run codemode approvals in another terminal",
			"command", o.command, "error", err.Error())
		return 0
	}
	o.opened = time.Now()
	o.log.Info("a program asks; a terminal was opened for the answer", "where", where)
	return openWait
}

// logOnce logs a sentence the first time.
func (o *opener) logOnce(text string, args ...any) {
	if !o.logged[text] {
		o.logged[text] = true
		o.log.Warn(text, args...)
	}
}

// open opens a terminal with a responder in it, and says where.
func (o *opener) open(c config.Responder) (where string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	words := []string{self, "approvals", "--leave", "--state", o.state}
	if len(c.Command) > 0 {
		return strings.Join(c.Command, " "), o.emulator(append(c.Command, words...))
	}
	var failed []error
	if c.Start != wayTerminal {
		if where, err = o.tmux(words); err == nil {
			return where, nil
		}
		failed = append(failed, err)
	}
	if c.Start != wayTmux {
		if where, err = o.window(words); err == nil {
			return where, nil
		}
		failed = append(failed, err)
	}
	return "", errors.Join(failed...)
}

// tmux opens a window in the background: what a person types at the moment is meant for something else.
func (o *opener) tmux(words []string) (where string, err error) {
	run := func(args ...string) error {
		ctx, cancel := context.WithTimeout(context.Background(), tmuxWait)
		defer cancel()
		out, err := exec.CommandContext(ctx, "tmux", args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("tmux %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
		}
		return nil
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		return "", err
	}
	const name = "approvals"
	if o.env("TMUX") != "" {
		return "window approvals of this tmux", run(append([]string{"new-window", "-d", "-n", name, "--"}, words...)...)
	}
	hint := "tmux attach -t " + tmuxSession
	err = run(append([]string{"new-session", "-d", "-s", tmuxSession, "-n", name, "--"}, words...)...)
	if err != nil && run("has-session", "-t", "="+tmuxSession) == nil {
		err = run(append([]string{"new-window", "-d", "-t", tmuxSession + ":", "-n", name, "--"}, words...)...)
	}
	return hint, err
}

// emulators are terminal emulators, each with the arguments before the words that it runs.
var emulators = [][]string{
	{"x-terminal-emulator", "-e"}, {"gnome-terminal", "--"}, {"konsole", "-e"}, {"xfce4-terminal", "-x"}, {"kitty"},
	{"alacritty", "-e"},
	{"foot"}, {"wezterm", "start", "--"}, {"xterm", "-e"},
}

// window opens a terminal emulator.
func (o *opener) window(words []string) (where string, err error) {
	if o.env("DISPLAY") == "" && o.env("WAYLAND_DISPLAY") == "" {
		return "", errors.New("there is no display for a terminal emulator")
	}
	all := emulators
	if own := strings.Fields(o.env("TERMINAL")); len(own) > 0 {
		all = append([][]string{append(own, "-e")}, all...)
	}
	for _, e := range all {
		if _, err := exec.LookPath(e[0]); err == nil {
			return e[0], o.emulator(append(e[:len(e):len(e)], words...))
		}
	}
	return "", errors.New("no terminal emulator was found")
}

// emulator starts a process that outlives this one and has none of its streams: standard output belongs to MCP.
func (o *opener) emulator(words []string) error {
	cmd := exec.Command(words[0], words[1:]...)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // so that no zombie remains
	return nil
}
