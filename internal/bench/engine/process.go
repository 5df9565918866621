package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/codemode-project/codemode/internal/isolation"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

const (
	helloWait = time.Minute
	// lineMax bounds one message of an engine, in bytes: the largest arguments and results of the suite are smaller.
	lineMax = 64 << 20
	// unreadMax bounds the messages that wait to be read, in bytes.
	unreadMax = 4 * lineMax
)

// A process is one start of an engine.
type process struct {
	child *upstream.Child
	hello isolation.Hello
	lines chan line      // its messages; closed at the end of its output
	home  string         // its HOME and TMPDIR
	at    level          // after the start
	files []string       // in home, after the start
	holds map[string]int // what it says it holds after the start; nil if it is not this build
	runs  int

	unread *semaphore.Weighted // bytes of lines that nobody has taken
	out    *outbox
}

// A line is a message as it came.
type line struct {
	text []byte
	at   time.Time // the engine is not late because we read large messages before this one
}

// room is what a line takes of [unreadMax].
func (l line) room() int64 { return min(int64(len(l.text)), unreadMax) }

// start starts an engine and waits for its hello.
func start(ctx context.Context, starter *upstream.Starter, e Engine) (*process, error) {
	home, err := os.MkdirTemp("", "codemode-engine-")
	if err != nil {
		return nil, err
	}
	env := map[string]string{"HOME": home, "TMPDIR": home, "TEMP": home, "TMP": home}
	for name, value := range upstream.Inherited(os.LookupEnv) {
		if _, ours := env[name]; !ours {
			env[name] = value
		}
	}
	if e.own {
		for _, variable := range os.Environ() {
			name, value, _ := strings.Cut(variable, "=")
			env[name] = value
		}
	}
	c, err := starter.Start(upstream.Command{Name: e.Command[0], Args: e.Command[1:], Dir: e.Dir, Env: env})
	if err != nil {
		_ = os.RemoveAll(home)
		return nil, err
	}
	p := &process{child: c, lines: make(chan line, 64), home: home, unread: semaphore.NewWeighted(unreadMax),
		out: newOutbox()}
	go p.read()
	go p.write()
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
		p.unread.Release(l.room())
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
				p.child.Kill()
				return
			}
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			l := line{text, time.Now()}
			_ = p.unread.Acquire(context.Background(), l.room()) // who ends the engine takes the rest
			p.lines <- l
		}
	}
}

// send sends one message, unless ctx ends before. It does not wait for the engine to read, which may wait for us to
// read. An engine that does not take a message is one that says no outcome.
func (p *process) send(ctx context.Context, message any) {
	if text, err := json.Marshal(message); err == nil {
		p.out.put(outgoing{ctx, append(text, '\n')})
	}
}

// write passes messages on until the outbox is closed.
func (p *process) write() {
	for {
		m, ok := p.out.take()
		if !ok {
			return
		}
		if m.ctx.Err() == nil {
			_ = p.child.Send(m.ctx, m.text, func() {})
		}
		p.out.sent(m)
	}
}

// claims reports whether the engine promises something.
func (p *process) claims(what string) bool { return slices.Contains(p.hello.Claims, what) }

// started remembers what the engine holds before its first case.
func (p *process) started(holds map[string]int) {
	p.at, p.holds = p.measure(), holds
	p.files = filesIn(p.home)
}

// left says what the engine holds more than before its first case: processes, files, connections.
func (p *process) left() []string {
	if !p.at.Known {
		return nil
	}
	var left []string
	for end := time.Now().Add(settleWait); ; time.Sleep(settleWait / 10) {
		now := p.measure()
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
		for _, f := range filesIn(p.home) {
			if !slices.Contains(p.files, f) {
				left = append(left, "the file "+f)
				break
			}
		}
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
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
	p.out.close()
	go p.drain()
	p.child.Stop()
	_ = os.RemoveAll(p.home)
}

// kill ends the engine at once.
func (p *process) kill() {
	p.out.close()
	go p.drain()
	p.child.Kill()
	_ = os.RemoveAll(p.home)
}

func (p *process) drain() {
	for l := range p.lines { // the reader must not wait
		p.unread.Release(l.room())
	}
}
