package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/internal/config/servers"
)

// How long [Child.Stop] waits between two of its steps.
const (
	politeTime = 2 * time.Second // from the end of the input to SIGTERM
	firmTime   = 2 * time.Second // from SIGTERM to SIGKILL
)

// drainTime is how long to read the output of a dead process. Its own output is available at once, but a descendant may
// hold the pipe open for ever.
const drainTime = 250 * time.Millisecond

// A Starter starts processes.
type Starter struct {
	thread *thread
	guard  *guard
}

// NewStarter returns a Starter.
func NewStarter() *Starter { return &Starter{newThread(), newGuard()} }

// Call Close only after the last process has ended.
func (s *Starter) Close() {
	s.thread.close()
	s.guard.close()
}

// A Command describes a process to start.
type Command struct {
	Name string // a path, or a name for [LookPath]
	Args []string
	Dir  string            // "" is our working directory
	Env  map[string]string // the whole environment

	// Refused explains the errors of a process that may do less than this one: it is added to the reason of its end if
	// the process says that the system refused something. "" adds nothing.
	Refused string
	// Hide masks secrets in a text of the process; nil masks none.
	Hide func(text string) string
}

// A Child is a child process that ends together with all that it started, whatever ends this process. It has pipes for
// its input, output and errors, a process group and a session of its own. Three things end what it leaves behind: the
// kernel, when the thread that started it ends; a guard process that survives this one; and a mark in the environment
// that all descendants inherit.
type Child struct {
	cmd     *exec.Cmd
	mark    string // see killStrays; may be ""
	guard   *guard
	refused string // see Command
	hide    func(string) string
	stdin   *os.File
	stdout  *os.File
	stderr  tail

	turn   chan struct{} // capacity 1; full while Send writes
	closed chan struct{} // closed by Close
	exited chan struct{} // closed after waiting for the end of the process
	gone   chan struct{} // closed when the rest of its group is dead, too
	hard   chan struct{} // closed to skip the polite steps

	stdoutDone chan struct{} // closed by Read at the end of the output

	onceClosed, onceHard, onceStop, onceDone sync.Once

	mu    sync.Mutex
	cause error // why it ended; the first reason wins
}

// Start starts a process.
func (s *Starter) Start(c Command) (*Child, error) {
	path, err := LookPath(c.Name, c.Dir, c.Env)
	if err != nil {
		return nil, err
	}
	p := &Child{
		guard: s.guard, mark: s.guard.newMark(), refused: c.Refused, hide: c.Hide,
		turn: make(chan struct{}, 1), closed: make(chan struct{}), exited: make(chan struct{}),
		gone: make(chan struct{}), hard: make(chan struct{}), stdoutDone: make(chan struct{}),
	}
	env := []string{servers.ChildVariable + "=" + cmp.Or(p.mark, "1")}
	for name, value := range c.Env {
		if !strings.EqualFold(name, servers.ChildVariable) { // no configuration removes it, also if case is insignificant
			env = append(env, name+"="+value)
		}
	}
	slices.Sort(env)
	p.cmd = &exec.Cmd{Path: path, Args: append([]string{c.Name}, c.Args...), Dir: c.Dir, Env: env}
	ownGroup(p.cmd)

	// Files, not the pipes of exec: its Wait would wait for every process that holds them, and closing them must stop a
	// read or write in progress.
	var pipes [6]*os.File
	for i := 0; i < 6; i += 2 {
		if pipes[i], pipes[i+1], err = os.Pipe(); err != nil {
			closeAll(pipes[:])
			return nil, fmt.Errorf("making a pipe: %w", err)
		}
	}
	p.cmd.Stdin, p.stdin = pipes[0], pipes[1]
	p.stdout, p.cmd.Stdout = pipes[2], pipes[3]
	stderr := pipes[4]
	p.cmd.Stderr = pipes[5]
	if err := s.thread.do(p.cmd.Start); err != nil {
		closeAll(pipes[:])
		return nil, fmt.Errorf("starting %q: %w", c.Name, err)
	}
	closeAll([]*os.File{pipes[0], pipes[3], pipes[5]})
	p.guard.add(p.cmd.Process.Pid)

	stderrDone := make(chan struct{})
	go func() {
		defer close(stderrDone)
		_, _ = io.Copy(&p.stderr, stderr) // until either side closes the pipe
	}()
	go p.wait(stderr, stderrDone)
	return p, nil
}

// wait waits for the end of the process and cleans up after it.
func (p *Child) wait(stderr *os.File, stderrDone chan struct{}) {
	if err := p.cmd.Wait(); err == nil {
		p.Fail(errors.New("its process ended by itself with status 0"))
	} else {
		p.Fail(fmt.Errorf("its process ended: %w", err))
	}
	close(p.exited)
	killGroup(p.cmd.Process.Pid) // the rest of the group has no purpose any more
	for end := time.Now().Add(drainTime); groupLives(p.cmd.Process.Pid) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	killStrays(p.mark)
	p.guard.remove(p.cmd.Process.Pid)
	// The pipes hold the output of the dead processes; read it now.
	select {
	case <-stderrDone:
	case <-time.After(drainTime):
	}
	_ = stderr.Close()
	_ = p.stdin.Close()
	<-stderrDone
	close(p.gone)
	select {
	case <-p.stdoutDone:
	case <-time.After(drainTime):
	}
	_ = p.stdout.Close()
}

// PID is the number of the process.
func (p *Child) PID() int { return p.cmd.Process.Pid }

// Started reports whether a process of this machine is p or began as a descendant of it, by the mark in its
// environment. It is false on systems other than Linux, and for a process that has cleared its environment.
func (p *Child) Started(pid int) bool { return p.mark != "" && hasMark(pid, p.mark) }

// Read reads the standard output.
func (p *Child) Read(b []byte) (int, error) {
	n, err := p.stdout.Read(b)
	if err != nil {
		p.onceDone.Do(func() { close(p.stdoutDone) })
	}
	return n, err
}

// Send writes data to the standard input, separate from other callers' data. It calls begin before the first byte. It
// returns early when ctx ends or the process closes; if it has written a part by then, it still writes the rest.
func (p *Child) Send(ctx context.Context, data []byte, begin func()) error {
	select {
	case p.turn <- struct{}{}:
	case <-p.closed:
		return io.EOF
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		<-p.turn
		return err
	}
	begin()
	n, err := writeSome(p.stdin, data)
	if err != nil || n == len(data) { // nearly always: it fits into the pipe
		<-p.turn
		return err
	}
	done := make(chan error, 1)
	go func() { // ends with the process at the latest
		_, err := p.stdin.Write(data[n:])
		<-p.turn
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-p.closed:
		return io.EOF
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Fail sets why the process ended, or must end. The first reason wins.
func (p *Child) Fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cause == nil {
		p.cause = err
	}
}

var errOutputClosed = errors.New("it closed its standard output")

// errConnectionClosed is why a process ended that lived, and whose output was open, when it was closed.
var errConnectionClosed = errors.New("its connection was closed")

// Cause returns why the process ended, or must end; nil if there is no reason.
func (p *Child) Cause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cause
}

// Hide masks secrets, see [Command].
func (p *Child) Hide(text string) string {
	if p.hide == nil {
		return text
	}
	return p.hide(text)
}

// Why returns why the process ended, with the line of its standard error that says why.
// It waits briefly for a process that is about to end.
func (p *Child) Why() error {
	select {
	case <-p.gone:
	case <-time.After(3 * drainTime):
	}
	return p.WithTellingLine(cmp.Or(p.Cause(), errOutputClosed))
}

// tellingMax is the length of a line of the standard error in an error, in bytes.
const tellingMax = 300

// WithTellingLine adds the line of the standard error that says why the process ended to an error.
func (p *Child) WithTellingLine(err error) error {
	end, _ := p.stderr.end()
	line, isLast := telling(p.Hide(end))
	if line == "" {
		return err
	}
	if len(line) > tellingMax {
		line = strings.ToValidUTF8(line[:tellingMax], "") + "…"
	}
	if isLast {
		err = fmt.Errorf("%w; it last wrote: %s", err, line)
	} else {
		err = fmt.Errorf("%w; it wrote: %s", err, line)
	}
	if p.refused != "" && saysRefused(end) {
		err = fmt.Errorf("%w (%s)", err, p.refused)
	}
	return err
}

// saysRefused reports whether a text of a program says that the system refused it something.
func saysRefused(text string) bool {
	text = strings.ToLower(text)
	for _, words := range []string{"permission denied", "operation not permitted", "eacces", "eperm"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// Refused is the explanation of [Command].
func (p *Child) Refused() string { return p.refused }

// Stderr returns the end of the standard error, and the length of all of it.
func (p *Child) Stderr() (end string, bytes int64) { return p.stderr.end() }

// [Child.Close] closes Closed.
func (p *Child) Closed() <-chan struct{} { return p.closed }

// Close is [Child.Stop] after the end of the output. A process that is about to end has a moment to do so: its status
// is a better reason than ours.
func (p *Child) Close() {
	p.onceClosed.Do(func() { close(p.closed) })
	select {
	case <-p.exited:
	case <-time.After(drainTime):
		select {
		case <-p.stdoutDone:
			p.Fail(errOutputClosed)
		default:
			p.Fail(errConnectionClosed)
		}
	}
	p.Stop()
}

// Stop ends the process and its group and returns after their end. Callers may call it more than once. The steps are
// those of the specification: "First, closing the input stream to the child process"; "waiting for the server to exit,
// or sending SIGTERM if the server does not exit within a reasonable time"; "sending SIGKILL if the server does not
// exit within a reasonable time after SIGTERM".
func (p *Child) Stop() {
	p.onceStop.Do(func() {
		_ = p.stdin.Close()
		pid := p.cmd.Process.Pid
		go func() {
			for _, step := range []struct {
				wait time.Duration
				next func(pid int)
			}{{politeTime, terminateGroup}, {firmTime, killGroup}} {
				select {
				case <-p.exited:
					return
				case <-p.hard:
					killGroup(pid)
					return
				case <-time.After(step.wait):
					step.next(pid)
				}
			}
		}()
	})
	<-p.gone
}

// Kill is Stop without the polite steps.
func (p *Child) Kill() {
	p.onceHard.Do(func() { close(p.hard) })
	p.Stop()
}

// inherited are the variables of our own environment that a child gets. It must not see the others.
var inherited = append([]string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}, neededBySystem...)

// Inherited returns the variables that a child gets of our own environment, which env looks up.
func Inherited(env func(string) (string, bool)) map[string]string {
	vars := map[string]string{}
	for _, name := range inherited {
		if v, ok := env(name); ok {
			vars[name] = v
		}
	}
	return vars
}

// LookPath finds a command as the child itself would: in the PATH of its own environment vars.
func LookPath(command, dir string, vars map[string]string) (string, error) {
	if filepath.IsAbs(command) {
		return command, nil
	}
	if strings.ContainsAny(command, `/`+string(filepath.Separator)) {
		return filepath.Abs(filepath.Join(dir, command))
	}
	for _, folder := range filepath.SplitList(vars["PATH"]) {
		if !filepath.IsAbs(folder) { // as exec does: a bare name never means a program of the working directory
			continue
		}
		if path, ok := executable(filepath.Join(folder, command)); ok {
			return path, nil
		}
	}
	return "", fmt.Errorf("command %q was not found in PATH (%s)", command, vars["PATH"])
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
