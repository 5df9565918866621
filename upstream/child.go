package upstream

import (
	"cmp"
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
)

// The steps of ending a child: its input is closed, then it is asked, then it
// is killed, with this long between one and the next.
const (
	politely = 2 * time.Second
	firmly   = 2 * time.Second
)

// drainTime is how long a dead child's output is still read: what it wrote
// before its end is there at once, but a grandchild may hold the pipe open for ever.
const drainTime = 250 * time.Millisecond

// inherited are the variables of our own environment that a child gets; what
// else we know is none of its business.
var inherited = []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}

// ChildVariable is in the environment of every process that a server is started as, and of what it starts in turn. It
// tells them from other processes: those that are left behind are ended by it, and a codemode that finds it does not start.
const ChildVariable = "CODEMODE_CHILD"

// A child is a server's process, with everything it started in one process group.
type child struct {
	cmd    *exec.Cmd
	mark   string // see [killStrays]; may be ""
	stdin  *os.File
	stdout *os.File
	stderr *tail
	guard  *guard // kills the group if we die without a chance to; may be nil

	exited chan struct{} // closed when the process has ended and was waited for
	gone   chan struct{} // closed when the rest of its group has been killed, too

	stdoutDone chan struct{} // closed by [child.Read] when there is no more
	readOnce   sync.Once

	once sync.Once
	hard chan struct{} // closed to skip the polite steps
	soft sync.Once

	mu    sync.Mutex
	cause error // why it ended, the first reason wins
}

// startChild starts the server's command.
func startChild(s *Server, env func(string) (string, bool), sp *spawner, g *guard) (*child, error) {
	vars, err := childEnv(s, env)
	if err != nil {
		return nil, err
	}
	path, err := lookPath(s.Command, s.Dir, vars)
	if err != nil {
		return nil, err
	}
	c := &child{
		stderr: new(tail), guard: g,
		exited: make(chan struct{}), gone: make(chan struct{}), hard: make(chan struct{}), stdoutDone: make(chan struct{}),
	}
	c.mark = g.newMark()
	for name := range vars {
		if strings.EqualFold(name, ChildVariable) { // no entry of a configuration takes it away, where case makes no difference either
			delete(vars, name)
		}
	}
	vars[ChildVariable] = cmp.Or(c.mark, "1")
	c.cmd = &exec.Cmd{Path: path, Args: append([]string{s.Command}, s.Args...), Dir: s.Dir, Env: environ(vars)}
	ownGroup(c.cmd)

	// Files, not the pipes of exec: its Wait would otherwise wait for whoever
	// else holds them, and closing them must stop a read or write under way.
	var pipes [6]*os.File
	for i := 0; i < 6; i += 2 {
		if pipes[i], pipes[i+1], err = os.Pipe(); err != nil {
			closeAll(pipes[:])
			return nil, fmt.Errorf("making a pipe: %w", err)
		}
	}
	c.cmd.Stdin, c.stdin = pipes[0], pipes[1]
	c.stdout, c.cmd.Stdout = pipes[2], pipes[3]
	stderr := pipes[4]
	c.cmd.Stderr = pipes[5]
	if err := sp.do(c.cmd.Start); err != nil {
		closeAll(pipes[:])
		return nil, fmt.Errorf("starting %q: %w", s.Command, err)
	}
	closeAll([]*os.File{pipes[0], pipes[3], pipes[5]})
	g.add(c.cmd.Process.Pid)

	stderrDone := make(chan struct{})
	go func() {
		defer close(stderrDone)
		_, _ = io.Copy(c.stderr, stderr) // until the pipe is closed on either side
	}()
	go c.wait(stderr, stderrDone)
	return c, nil
}

// wait reaps the process and cleans up after it, whatever ended it.
func (c *child) wait(stderr *os.File, stderrDone chan struct{}) {
	if err := c.cmd.Wait(); err == nil {
		c.fail(errors.New("its process ended by itself with status 0"))
	} else {
		c.fail(fmt.Errorf("its process ended: %w", err))
	}
	close(c.exited)
	killGroup(c.cmd.Process.Pid) // the rest of the group lost its reason to live
	for end := time.Now().Add(drainTime); groupLives(c.cmd.Process.Pid) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	killStrays(c.mark)
	c.guard.remove(c.cmd.Process.Pid)
	// What the dead have written is in the pipes, and is read now.
	drained := time.After(drainTime)
	select {
	case <-stderrDone:
	case <-drained:
	}
	_ = stderr.Close()
	_ = c.stdin.Close()
	<-stderrDone
	close(c.gone)
	select {
	case <-c.stdoutDone:
	case <-time.After(drainTime):
	}
	_ = c.stdout.Close()
}

// Read reads the standard output, until the first error.
func (c *child) Read(p []byte) (int, error) {
	n, err := c.stdout.Read(p)
	if err != nil {
		c.readOnce.Do(func() { close(c.stdoutDone) })
	}
	return n, err
}

// fail notes why the child ended, or why it has to.
func (c *child) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = err
	}
}

// why returns the reason of the end, with the last words of the process.
func (c *child) why() error {
	c.mu.Lock()
	err := c.cause
	c.mu.Unlock()
	if err == nil {
		err = errors.New("it closed its standard output")
	}
	if last := c.stderr.last(); last != "" {
		if len(last) > 300 {
			last = strings.ToValidUTF8(last[:300], "") + "…"
		}
		return fmt.Errorf("%w; it last wrote: %s", err, last)
	}
	return err
}

// stop ends the process and its group and returns when they are gone. It may
// be called more than once. The steps are those of the specification: "First,
// closing the input stream to the child process"; "waiting for the server to
// exit, or sending SIGTERM if the server does not exit within a reasonable
// time"; "sending SIGKILL if the server does not exit within a reasonable time
// after SIGTERM".
func (c *child) stop() {
	c.once.Do(func() {
		go func() {
			_ = c.stdin.Close()
			for _, step := range []struct {
				wait time.Duration
				next func(pid int)
			}{{politely, terminateGroup}, {firmly, killGroup}} {
				select {
				case <-c.exited:
					<-c.gone
					return
				case <-c.hard:
					killGroup(c.cmd.Process.Pid)
					<-c.gone
					return
				case <-time.After(step.wait):
					step.next(c.cmd.Process.Pid)
				}
			}
			<-c.gone
		}()
	})
	<-c.gone
}

// kill is stop without the polite steps.
func (c *child) kill() {
	c.soft.Do(func() { close(c.hard) })
	c.stop()
}

// childEnv is the whole environment of the server's process.
func childEnv(s *Server, env func(string) (string, bool)) (map[string]string, error) {
	vars := map[string]string{}
	for _, name := range append(slices.Clone(inherited), neededBySystem...) {
		if v, ok := env(name); ok {
			vars[name] = v
		}
	}
	if s.EnvFile != "" {
		more, err := readEnvFile(s.EnvFile)
		if err != nil {
			return nil, err
		}
		for k, v := range more {
			vars[k] = v
		}
	}
	for k, v := range s.Env {
		vars[k] = v
	}
	return vars, nil
}

func environ(vars map[string]string) []string {
	out := make([]string, 0, len(vars))
	for k, v := range vars {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// lookPath finds the command the way the child itself would: in the PATH of its
// environment, which need not be ours.
func lookPath(command, dir string, vars map[string]string) (string, error) {
	if filepath.IsAbs(command) {
		return command, nil
	}
	if strings.ContainsAny(command, `/`+string(filepath.Separator)) {
		return filepath.Abs(filepath.Join(dir, command))
	}
	for _, folder := range filepath.SplitList(vars["PATH"]) {
		if !filepath.IsAbs(folder) { // as exec does: a program of the working directory is never meant by its bare name
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
