package main

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
	"github.com/codemode-project/codemode/config"
)

const responderHelp = `When a question comes and no "codemode approvals" is running, "codemode serve" can open
one by itself. The key "responder" of the configuration file, or the variable
CODEMODE_RESPONDER, says how:

  hint       say once in the log that "codemode approvals" answers (if nothing is said)
  off        say nothing
  auto       the first of the following that works here
  tmux       a new window of the tmux that codemode serve runs in, or else of a tmux
             session of its own, which "tmux attach -t codemode" shows
  terminal   a new window of a terminal emulator ($TERMINAL, or a usual one)

or {"start": "auto", "command": ["kitty", "-e"]}: a command of yours that opens a
terminal for the words that are put behind it; CODEMODE_RESPONDER_COMMAND is that
command as a variable, with spaces between its words. A variable counts more than the file.`

// Ways in which a responder is opened.
const (
	startHint     = "hint"
	startOff      = "off"
	startAuto     = "auto"
	startTmux     = "tmux"
	startTerminal = "terminal"
)

const (
	// summonWait is how long a question waits for a responder that is being opened, and summonAgain how long it is before
	// another one is, should that one not come.
	summonWait, summonAgain = 10 * time.Second, time.Minute
	// openWait bounds how long tmux may take.
	openWait = 5 * time.Second
	// tmuxSession is the session that is made where there is none.
	tmuxSession = "codemode"
)

// A summoner opens a terminal where a person can answer, when a question comes and nobody is there.
type summoner struct {
	state string // folder
	env   func(string) string
	log   *slog.Logger

	mu        sync.Mutex
	evaluator *codemode.Evaluator // nil until there is one
	opened    time.Time
	said      map[string]bool
}

func newSummoner(state string, log *slog.Logger) *summoner {
	return &summoner{state: state, env: os.Getenv, log: log, said: map[string]bool{}}
}

// follow lets the configuration of e say what is opened.
func (s *summoner) follow(e *codemode.Evaluator) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evaluator = e
}

// written is what the file says; nil says nothing. The caller holds s.mu.
func (s *summoner) written() *config.Responder {
	if s.evaluator == nil || s.evaluator.Config() == nil {
		return nil
	}
	return s.evaluator.Config().Responder
}

// setting is what the variables say, and else the file. The caller holds s.mu.
func (s *summoner) setting() (config.Responder, error) {
	var set config.Responder
	if written := s.written(); written != nil {
		set = *written
	}
	if way := s.env("CODEMODE_RESPONDER"); way != "" {
		set.Start = way
	}
	if words := strings.Fields(s.env("CODEMODE_RESPONDER_COMMAND")); len(words) > 0 {
		set.Command = words
		if s.env("CODEMODE_RESPONDER") == "" {
			set.Start = startAuto
		}
	}
	if set.Start == "" && len(set.Command) > 0 {
		set.Start = startAuto
	}
	switch set.Start = cmp.Or(set.Start, startHint); set.Start {
	case startHint, startOff, startAuto, startTmux, startTerminal:
		return set, nil
	}
	return set, fmt.Errorf("the responder is started as %q, and that is none of off, hint, auto, tmux and terminal", set.Start)
}

// expects reports whether the file or a variable says that people answer in terminals. Without a word about it nobody is expected.
func (s *summoner) expects() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := s.env("CODEMODE_RESPONDER") != "" || s.env("CODEMODE_RESPONDER_COMMAND") != "" || s.written() != nil
	set, err := s.setting()
	return said && err == nil && set.Start != startOff
}

// summon opens a terminal, if it is to and can. It returns how long that may take; 0 is for ever.
func (s *summoner) summon() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	set, err := s.setting()
	if err != nil {
		s.once("no terminal is opened for answers", "because", err.Error())
	}
	switch {
	case err == nil && set.Start == startOff:
		return 0
	case err != nil || set.Start == startHint:
		s.once("a program asks, and nobody is there to see it: codemode approvals, in another terminal, shows what is asked and takes answers", "state", s.state)
		return 0
	}
	if since := time.Since(s.opened); !s.opened.IsZero() && since < summonAgain {
		return max(summonWait-since, 0)
	}
	where, err := s.open(set)
	if err != nil {
		s.once("a program asks, and no terminal could be opened for the answer: codemode approvals, in another terminal, shows what is asked", "because", err.Error())
		return 0
	}
	s.opened = time.Now()
	s.log.Info("a program asks; a terminal was opened for the answer", "where", where)
	return summonWait
}

// once logs a sentence the first time.
func (s *summoner) once(text string, args ...any) {
	if !s.said[text] {
		s.said[text] = true
		s.log.Warn(text, args...)
	}
}

// open opens a terminal with a responder in it, and says where.
func (s *summoner) open(set config.Responder) (where string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	words := []string{self, "approvals", "--leave", "--state", s.state}
	if len(set.Command) > 0 {
		return strings.Join(set.Command, " "), s.emulator(append(set.Command, words...))
	}
	var failed []error
	if set.Start != startTerminal {
		where, err := s.tmux(words)
		if err == nil {
			return where, nil
		}
		failed = append(failed, err)
	}
	if set.Start != startTmux {
		where, err := s.window(words)
		if err == nil {
			return where, nil
		}
		failed = append(failed, err)
	}
	return "", errors.Join(failed...)
}

// tmux opens a window, without taking anybody's keys there: what is typed at the moment is meant for something else.
func (s *summoner) tmux(words []string) (where string, err error) {
	run := func(args ...string) error {
		ctx, cancel := context.WithTimeout(context.Background(), openWait)
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
	if s.env("TMUX") != "" {
		return "window approvals of this tmux", run(append([]string{"new-window", "-d", "-n", name, "--"}, words...)...)
	}
	hint := "tmux attach -t " + tmuxSession
	err = run(append([]string{"new-session", "-d", "-s", tmuxSession, "-n", name, "--"}, words...)...)
	if err != nil && run("has-session", "-t", "="+tmuxSession) == nil {
		err = run(append([]string{"new-window", "-d", "-t", tmuxSession + ":", "-n", name, "--"}, words...)...)
	}
	return hint, err
}

// emulators are terminal emulators, with what stands before the words that they run.
var emulators = [][]string{
	{"x-terminal-emulator", "-e"}, {"gnome-terminal", "--"}, {"konsole", "-e"}, {"xfce4-terminal", "-x"}, {"kitty"}, {"alacritty", "-e"},
	{"foot"}, {"wezterm", "start", "--"}, {"xterm", "-e"},
}

// window opens a terminal emulator.
func (s *summoner) window(words []string) (where string, err error) {
	if s.env("DISPLAY") == "" && s.env("WAYLAND_DISPLAY") == "" {
		return "", errors.New("there is no display for a terminal emulator")
	}
	all := emulators
	if own := strings.Fields(s.env("TERMINAL")); len(own) > 0 {
		all = append([][]string{append(own, "-e")}, all...)
	}
	for _, e := range all {
		if _, err := exec.LookPath(e[0]); err == nil {
			return e[0], s.emulator(append(e[:len(e):len(e)], words...))
		}
	}
	return "", errors.New("no terminal emulator was found")
}

// emulator starts a process that outlives this one and has none of its streams: standard output belongs to MCP.
func (s *summoner) emulator(words []string) error {
	cmd := exec.Command(words[0], words[1:]...)
	apart(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // so that it leaves no trace
	return nil
}
