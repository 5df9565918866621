package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/isolation"
	"github.com/codemode-project/codemode/upstream/child"
)

const (
	helloWait = time.Minute
	// lineMax bounds one message of an engine, in bytes: the largest arguments and results of the suite are smaller.
	lineMax = 64 << 20
)

// A process is one start of an engine.
type process struct {
	child *child.Process
	hello isolation.Hello
	lines chan line // its messages; closed at the end of its output
	home  string    // its HOME and TMPDIR
	at    level     // after the start
	files []string  // in home, after the start
	runs  int
}

// A line is a message as it came.
type line struct {
	text []byte
	at   time.Time // the engine is not late because we read large messages before this one
}

// start starts an engine and waits for its hello.
func start(ctx context.Context, starter *child.Starter, e Engine) (*process, error) {
	home, err := os.MkdirTemp("", "codemode-engine-")
	if err != nil {
		return nil, err
	}
	env := map[string]string{"HOME": home, "TMPDIR": home, "TEMP": home, "TMP": home}
	for name, value := range child.Inherited(os.LookupEnv) {
		if _, ours := env[name]; !ours {
			env[name] = value
		}
	}
	c, err := starter.Start(child.Command{Name: e.Command[0], Args: e.Command[1:], Dir: e.Dir, Env: env})
	if err != nil {
		_ = os.RemoveAll(home)
		return nil, err
	}
	p := &process{child: c, lines: make(chan line, 64), home: home}
	go p.read()
	if err := p.sayHello(ctx); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

func (p *process) sayHello(ctx context.Context) error {
	var first []byte
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(helloWait):
		return fmt.Errorf("it said no hello within %v", helloWait)
	case l, ok := <-p.lines:
		if !ok {
			return fmt.Errorf("before it said hello, %w", p.child.Why())
		}
		first = l.text
	}
	var hello struct {
		Type string `json:"type"`
		isolation.Hello
	}
	if err := json.Unmarshal(first, &hello); err != nil {
		return fmt.Errorf("its first line is no hello: %.200q", first)
	}
	switch {
	case hello.Type != "hello":
		return fmt.Errorf("its first line is no hello: %.200q", first)
	case hello.Protocol != isolation.Version:
		return fmt.Errorf("it speaks version %d of the isolation protocol, this build speaks %d", hello.Protocol,
			isolation.Version)
	case hello.Name == "":
		return errors.New("its hello has no name")
	case !slices.Contains([]string{"javascript", "python"}, hello.Language):
		return fmt.Errorf("its language is %q; it can be javascript or python", hello.Language)
	}
	for _, claim := range hello.Claims {
		if !slices.Contains(isolation.Claims, claim) {
			return fmt.Errorf("it claims %q; it can claim %s", claim, strings.Join(isolation.Claims, ", "))
		}
	}
	p.hello = hello.Hello
	return nil
}

// read passes lines on until the output ends, or a line is too long.
func (p *process) read() {
	defer close(p.lines)
	in := bufio.NewReaderSize(p.child, 64<<10)
	for {
		var text []byte
		for {
			part, err := in.ReadSlice('\n')
			text = append(text, part...)
			if err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return
			}
			if len(text) > lineMax {
				p.child.Fail(fmt.Errorf("it wrote a line of more than %d bytes", lineMax))
				_, _ = io.Copy(io.Discard, p.child) // so that it does not wait for us
				return
			}
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			p.lines <- line{text, time.Now()}
		}
	}
}

// send writes one message, unless ctx ends before. An engine that does not take it is one that says no outcome.
func (p *process) send(ctx context.Context, message any) {
	if line, err := json.Marshal(message); err == nil {
		p.sendLine(ctx, append(line, '\n'))
	}
}

func (p *process) sendLine(ctx context.Context, line []byte) {
	if ctx.Err() == nil {
		_ = p.child.Send(ctx, line, func() {})
	}
}

// claims reports whether the engine promises something.
func (p *process) claims(what string) bool { return slices.Contains(p.hello.Claims, what) }

// started remembers what the engine holds before its first case.
func (p *process) started() {
	p.at = measure(p.child.PID())
	p.files = filesIn(p.home)
}

// left says what the engine holds more than before its first case: processes, files, connections.
func (p *process) left() []string {
	if !p.at.Known {
		return nil
	}
	var left []string
	for end := time.Now().Add(settleWait); ; time.Sleep(settleWait / 10) {
		now := measure(p.child.PID())
		left = nil
		for _, l := range []struct {
			what               string
			before, now, spare int
		}{
			{"processes", p.at.Processes, now.Processes, spareProcesses},
			{"open files", p.at.Files, now.Files, spareFiles},
			{"connections to other machines", p.at.Connections, now.Connections, 0},
		} {
			if l.now > l.before+l.spare {
				left = append(left, fmt.Sprintf("%d %s, %d before the first case", l.now, l.what, l.before))
			}
		}
		if len(left) == 0 || time.Now().After(end) {
			break
		}
	}
	for _, f := range filesIn(p.home) {
		if !slices.Contains(p.files, f) {
			left = append(left, "the file "+f)
			break
		}
	}
	return left
}

const (
	settleWait     = time.Second
	spareProcesses = 1 // an engine may keep one ready
	spareFiles     = 32
)

// filesIn lists the files below a folder, at most some hundred.
func filesIn(dir string) (files []string) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && len(files) < 500 {
			if rel, err := filepath.Rel(dir, path); err == nil {
				files = append(files, rel)
			}
		}
		return nil
	})
	return files
}

// stop ends the input of the engine, waits, and ends it.
func (p *process) stop() {
	go p.drain()
	p.child.Stop()
	_ = os.RemoveAll(p.home)
}

// kill ends the engine at once.
func (p *process) kill() {
	go p.drain()
	p.child.Kill()
	_ = os.RemoveAll(p.home)
}

func (p *process) drain() {
	for range p.lines { // the reader must not wait
	}
}
