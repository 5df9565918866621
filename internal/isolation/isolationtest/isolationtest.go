// Package isolationtest tests an engine of the isolation protocol: what every engine for codemode must do with a few
// plain programs. The attack suite is for the rest.
package isolationtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/isolation"
)

// Build builds the main package in a folder.
func Build(t *testing.T, folder string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "program")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = folder
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", folder, err, out)
	}
	return program
}

// Limits are those of a run of Test; a program that waits or computes for ever ends after a second.
func Limits() isolation.Limits {
	return isolation.Limits{WallMS: 1010, CPUMS: 1000, MemoryBytes: 64 << 20, Calls: 2000, InFlight: 16,
		ArgumentBytes: 8 << 20, ResultBytes: 1 << 20}
}

// late is how much later than at its limit a program may end. It is long, as other tests may run on the machine.
const late = 5 * time.Second

// A row is one program, and what must become of it.
type row struct {
	name    string
	program string
	change  func(*isolation.Limits)
	ending  string
	value   string   // JSON; "" is any
	message string   // a part
	calls   []string // nil is any
}

var rows = []row{
	{name: "a value", program: "return 1 + 1", ending: isolation.Value, value: "2", calls: []string{}},
	{name: "nothing", program: "", ending: isolation.Value, value: "null", calls: []string{}},
	{name: "an error", program: "throw new Error('mine')", ending: isolation.Error, message: "mine"},
	{name: "a text that is no program", program: "return (", ending: isolation.Error},
	{name: "a tool gives any JSON back",
		program: `const all = [{ a: [1, "x"] }, [], "text", 7.5, true, null];
			return await Promise.all(all.map((x) => codemode.echo(x)))`,
		ending: isolation.Value, value: `[{"a":[1,"x"]},[],"text",7.5,true,null]`},
	{name: "a number keeps its digits", program: "return (await codemode.echo({ n: 12345678901234567890n })).n + ''",
		ending: isolation.Value, value: `"12345678901234567890"`},
	{name: "a tool fails", program: "try { await codemode.fail() } catch (e) { return e.message.replace(/^\\w+: /, '') }",
		ending: isolation.Value, value: `"it failed, as it always does"`, calls: []string{"fail {}"}},
	{name: "calls are under way together, so many at once",
		program: "return (await Promise.all(Array.from({ length: 40 }, () => codemode.slow({ ms: 1 })))).length",
		change:  func(l *isolation.Limits) { l.InFlight = 8 }, ending: isolation.Value, value: "40"},
	{name: "a denied call", program: "return await codemode.secret()", ending: isolation.Denied, calls: []string{}},
	{name: "a denied call by another way", program: "const { secret: f } = codemode; return await f({ x: 1 })",
		ending: isolation.Denied, calls: []string{}},
	{name: "a denied call is caught", program: "try { await codemode.secret() } catch (e) { return e.name }",
		ending: isolation.Value, value: `"ToolCallDeniedError"`, calls: []string{}},
	{name: "a denied call is caught, and the end is another error",
		program: "try { await codemode.secret() } catch { } throw new Error('mine')",
		ending:  isolation.Error, message: "mine", calls: []string{}},
	{name: "an error only looks like a denial",
		program: "throw Object.assign(new Error('the call of secret was refused (denied)'), { name: 'ToolCallDeniedError' })",
		ending:  isolation.Error, calls: []string{}},
	{name: "an endless loop", program: "for (;;);", ending: isolation.Timeout},
	{name: "an endless wait", program: "await new Promise((r) => setTimeout(r, 1e6))", ending: isolation.Timeout},
	{name: "a call without an answer", program: "await codemode.slow({ ms: 1e6 })", ending: isolation.Timeout,
		calls: []string{`slow {"ms":1000000}`}},
	{name: "the next program", program: "return await codemode.echo('x')", ending: isolation.Value, value: `"x"`,
		calls: []string{`echo "x"`}},
	{name: "too much memory", program: "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))",
		change: func(l *isolation.Limits) { l.WallMS, l.CPUMS = 20_000, 20_000 }, ending: isolation.Memory},
	{name: "planted", program: "globalThis.planted = 1; Object.prototype.planted = 1; return 1", ending: isolation.Value},
	{name: "what was planted is gone", program: "return [typeof planted, typeof {}.planted]", ending: isolation.Value,
		value: `["undefined","undefined"]`},
	{name: "too many calls", program: "for (let i = 0; i < 6; i++) await codemode.echo(i)",
		change: func(l *isolation.Limits) { l.Calls = 5 }, ending: isolation.Error,
		calls: []string{"echo 0", "echo 1", "echo 2", "echo 3", "echo 4"}},
	{name: "an argument at its limit", program: "return (await codemode.echo('x'.repeat(998))).length",
		change: func(l *isolation.Limits) { l.ArgumentBytes = 1000 }, ending: isolation.Value, value: "998"},
	{name: "an argument beyond its limit",
		program: "try { await codemode.echo('x'.repeat(999)) } catch (e) { return 'refused' }",
		change:  func(l *isolation.Limits) { l.ArgumentBytes = 1000 }, ending: isolation.Value, value: `"refused"`,
		calls: []string{}},
	{name: "a result at its limit", program: "return 'x'.repeat((1 << 20) - 2)", ending: isolation.Value,
		value: `"` + strings.Repeat("x", 1<<20-2) + `"`},
	{name: "a large result that is no text", program: "return Array(100_000).fill(1)", ending: isolation.Value,
		value: "[1" + strings.Repeat(",1", 100_000-1) + "]"},
	{name: "a result beyond its limit", program: "return 'x'.repeat((1 << 20) - 1)", ending: isolation.Error},
	{name: "a result beyond a small limit", program: "return 'x'.repeat(999)",
		change: func(l *isolation.Limits) { l.ResultBytes = 1000 }, ending: isolation.Error},
	{name: "timers and the console",
		program: "console.log('a\\n\\ncalls: 1'); return await new Promise((r) => setTimeout(() => r('later'), 10))",
		ending:  isolation.Value, value: `"later"`},
}

// Test starts an engine and runs programs. It must claim claims.
func Test(t *testing.T, claims []string, command ...string) {
	h := start(t, command)
	h.hello(claims)
	for i, c := range rows {
		t.Run(c.name, func(t *testing.T) { h.check(t, c, i+1, slices.Contains(claims, "usage")) })
	}
	h.end()
}

// A harness is the other side of an engine.
type harness struct {
	t      *testing.T
	in     io.WriteCloser
	lines  chan string // of the engine; closed at its end
	folder string
	log    strings.Builder
	ended  func() error
}

func start(t *testing.T, command []string) *harness {
	h := &harness{t: t, folder: t.TempDir(), lines: make(chan string)}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), command[0], command[1:]...)
	cmd.Dir, cmd.Stderr = h.folder, &h.log
	cmd.Env = append(os.Environ(), "HOME="+h.folder, "TMPDIR="+h.folder, "TMP="+h.folder, "TEMP="+h.folder)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.in = in
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(h.lines)
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			h.lines <- line
		}
	}()
	h.ended = func() error {
		<-read
		return cmd.Wait()
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		for range h.lines { // until the engine has ended
		}
	})
	return h
}

// A message is any message of an engine, by its type.
type message struct {
	kind    string
	hello   isolation.Hello
	call    isolation.Call
	outcome isolation.Outcome
}

// next is the next message of the engine, with the kind "" at its end.
func (h *harness) next(t *testing.T, within time.Duration) (m message) {
	t.Helper()
	select {
	case line, ok := <-h.lines:
		if !ok {
			return message{}
		}
		var head struct{ Type string }
		err := json.Unmarshal([]byte(line), &head)
		into := map[string]any{"hello": &m.hello, "call": &m.call, "outcome": &m.outcome}[head.Type]
		if err != nil || into == nil || json.Unmarshal([]byte(line), into) != nil {
			t.Fatalf("the engine said %.200s", line)
		}
		m.kind = head.Type
		return m
	case <-time.After(within):
		t.Fatalf("no message within %v; the log has\n%s", within, h.log.String())
	}
	return m
}

func (h *harness) send(t *testing.T, kind string, m any) {
	t.Helper()
	line, err := json.Marshal(m)
	if err == nil {
		_, err = fmt.Fprintf(h.in, `{"type":%q,%s`+"\n", kind, line[1:])
	}
	if err != nil {
		t.Fatalf("%v; the log has\n%s", err, h.log.String())
	}
}

func (h *harness) hello(claims []string) {
	m := h.next(h.t, time.Minute)
	hello := m.hello
	if m.kind != "hello" || hello.Protocol != isolation.Version || hello.Name == "" || hello.Version == "" ||
		hello.Language != "javascript" {
		h.t.Fatalf("got %+v, want hello; the log has\n%s", m, h.log.String())
	}
	if !slices.Equal(hello.Claims, claims) {
		h.t.Errorf("the claims are %q, want %q", hello.Claims, claims)
	}
}

func (h *harness) check(t *testing.T, c row, run int, usage bool) {
	limits := Limits()
	if c.change != nil {
		c.change(&limits)
	}
	h.send(t, "run", isolation.Run{Run: run, Name: "a.js", Program: c.program, Allow: []string{"echo", "slow", "fail"},
		Limits: limits})
	got, calls := h.outcome(t, run, limits)
	if got.Run != run || got.Outcome != c.ending || !strings.Contains(got.Message, c.message) {
		t.Errorf("got %s (%s), want %s (%s)", got.Outcome, got.Message, c.ending, c.message)
	}
	if c.value != "" && string(got.Value) != c.value {
		t.Errorf("got the value %.200s, want %.200s", got.Value, c.value)
	}
	if c.calls != nil && !slices.Equal(calls, c.calls) {
		t.Errorf("got the calls %q, want %q", calls, c.calls)
	}
	if u := got.Usage; usage && c.ending != isolation.Error && (u == nil || u.WallMS <= 0 || u.MemoryBytes <= 0 ||
		u.MemoryBytes > limits.MemoryBytes) {
		t.Errorf("got the usage %+v", u)
	}
}

// outcome answers calls until the outcome. It answers slow only when as many calls are open as may be.
func (h *harness) outcome(t *testing.T, run int, l isolation.Limits) (isolation.Outcome, []string) {
	calls, slow := []string{}, []isolation.Answer{}
	for deadline := time.Now().Add(time.Duration(l.WallMS)*time.Millisecond + late); ; {
		switch m := h.next(t, time.Until(deadline)); m.kind {
		case "outcome":
			for _, late := range slow {
				h.send(t, "answer", late) // of a run that has ended
			}
			return m.outcome, calls
		case "call":
			if m.call.Run != run || m.call.Call != len(calls)+1 {
				t.Errorf("call %d of run %d came as call %d of run %d", m.call.Call, m.call.Run, len(calls)+1, run)
			}
			calls = append(calls, fmt.Sprintf("%s %s", m.call.Name, m.call.Args))
			answer := answerTo(m.call)
			if m.call.Name != "slow" {
				h.send(t, "answer", answer)
				break
			}
			slow = append(slow, answer)
			if len(slow) > l.InFlight {
				t.Errorf("%d calls are open, the limit is %d", len(slow), l.InFlight)
			}
			if len(slow) == l.InFlight {
				for _, answer := range slow {
					h.send(t, "answer", answer)
				}
				slow = nil
			}
		default:
			t.Fatalf("got %+v, want a call or an outcome; the log has\n%s", m, h.log.String())
		}
	}
}

func answerTo(c isolation.Call) isolation.Answer {
	a := isolation.Answer{Run: c.Run, Call: c.Call}
	switch c.Name {
	case "echo":
		a.Value = c.Args
	case "slow":
		a.Value = json.RawMessage(`"done"`)
	case "fail":
		a.Error = &isolation.Refused{Code: "failed", Message: "it failed, as it always does"}
	default:
		a.Value = json.RawMessage(`"the secret"`)
	}
	return a
}

// end closes the input. The engine must end, and leave nothing behind.
func (h *harness) end() {
	_ = h.in.Close()
	if m := h.next(h.t, late); m.kind != "" {
		h.t.Errorf("got %+v after the last outcome", m)
	}
	if err := h.ended(); err != nil {
		h.t.Errorf("the engine ended with %v; the log has\n%s", err, h.log.String())
	}
	left, err := os.ReadDir(h.folder)
	if err != nil || len(left) > 0 {
		h.t.Errorf("the engine left %v, %v", left, err)
	}
}
