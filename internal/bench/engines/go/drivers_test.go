// Package engines tests the drivers of this module as the harness would use them: as processes.
package engines

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// margin is how late after its limit of time an outcome may come.
const margin = 250 * time.Millisecond

func TestDrivers(t *testing.T) {
	for _, driver := range []string{"goja", "modernc"} {
		t.Run(driver, func(t *testing.T) {
			e := start(t, driver)
			for _, c := range []struct {
				what, program string
				outcome, want string // the value, or a part of the message
			}{
				{"a value", "return 1 + 1", "value", "2"},
				{"nothing", "", "value", "null"},
				{"a function is no JSON", "return () => 1", "value", "null"},
				{"a surrogate", `return '\ud800'`, "value", `"\ud800"`},
				{"a call", "return await codemode.echo({text: 'hi'})", "value", `{"text":"hi"}`},
				{"a call without an argument", "return await codemode.echo()", "value", "{}"},
				{"a call with text of every kind", `return await codemode.echo('\0 <ö> \ud800 💡')`, "value",
					`"\u0000 <ö> \ud800 💡"`},
				{"a caught failure", "try { await codemode.fail() } catch (e) { return e.message }", "value", `"it fails"`},
				{"an error of a call", "await codemode.fail()", "error", "it fails"},
				{"calls side by side", "return await Promise.all([codemode.slow({ms: 50}), codemode.echo(1)])", "value",
					`["done",1]`},
				{"an error", "throw new TypeError('no')", "error", "no"},
				{"an error without text", "throw {toString() { throw 1 }}", "error", "no text"},
				{"a syntax error", "return )", "error", ""},
				{"an end of the function", "}, globalThis.out = 1, async function () {", "error", ""},
				{"another program", "})(); globalThis.out = 1; (async function () {", "error", ""},
				{"what can never come", "await new Promise(() => {})", "error", "never"},
				{"a recursion", "const f = () => f() + 1; f()", "error", ""},
				{"a loop", "for (;;);", "timeout", ""},
				{"a loop in a job", "await null; for (;;);", "timeout", ""},
				{"a loop that catches", "for (;;) try { for (;;); } catch {} finally { for (;;); }", "timeout", ""},
				{"a loop after the end", "Promise.resolve().then(() => {}).then(() => { for (;;); }); return 1", "value", "1"},
				{"jobs without end", "const f = () => Promise.resolve().then(f); await f()", "timeout", ""},
				{"a loop after a call", "await codemode.echo(1); for (;;);", "timeout", ""},
				{"a wait", "await codemode.slow({ms: 60000})", "timeout", ""},
				{"a loop in the result", "return {toJSON() { for (;;); }}", "timeout", ""},
				{"tampering", "JSON.stringify = JSON.parse = Promise.prototype.then = () => { throw 1 }; globalThis.Promise = 1;" +
					"return await codemode.echo(1)", "value", "1"},
				{"a plant", "globalThis.planted = 1; Object.prototype.planted = 1; codemode.planted = 1; return 1", "value", "1"},
				{"nothing is left", "return [typeof planted, typeof codemode.planted, typeof out]", "value",
					`["undefined","undefined","undefined"]`},
				{"the functions of the half are hidden", "return [typeof call, typeof end, typeof half]", "value",
					`["undefined","undefined","undefined"]`},
				{"nothing of the machine",
					"return ['require', 'process', 'std', 'os', 'fetch', 'print'].filter((n) => n in globalThis)", "value", "[]"},
				{"no modules", "return (await import('/etc/hostname')).default", "error", ""},
			} {
				const wall = 500 * time.Millisecond
				got, took := e.run(t, c.program, wall)
				text, ok := got.Message, strings.Contains(got.Message, c.want)
				if got.Outcome == "value" {
					text, ok = string(got.Value), equal(t, string(got.Value), c.want)
				}
				if got.Outcome != c.outcome || !ok {
					t.Errorf("%s: got %s %s, want %s %s", c.what, got.Outcome, text, c.outcome, c.want)
				}
				if took > wall+margin || c.outcome == "timeout" && took < wall {
					t.Errorf("%s: it took %v with a limit of %v", c.what, took, wall)
				}
			}
			// What is deeper than the host takes; engines need time for it.
			for _, use := range []string{"await codemode.echo(a)", "return a"} {
				got, _ := e.run(t, "let a = []; for (let i = 0; i < 10001; i++) a = [a]; "+use, 10*time.Second)
				if got.Outcome != "error" {
					t.Errorf("%s of something deep: got %s %s", use, got.Outcome, got.Message)
				}
			}
			if e.claims["memory"] {
				got, _ := e.run(t, "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))", 10*time.Second)
				if got.Outcome != "error" {
					t.Errorf("a program without end of memory: got %s %s", got.Outcome, got.Message)
				}
			}
		})
	}
}

// equal compares JSON.
func equal(t *testing.T, got, want string) bool {
	t.Helper()
	var g, w any
	if err := errors.Join(json.Unmarshal([]byte(got), &g), json.Unmarshal([]byte(want), &w)); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(g, w)
}

// An engine is a driver that runs.
type engine struct {
	in     io.WriteCloser
	lines  chan string
	runs   int
	claims map[string]bool
}

type message struct {
	Type, Name, Outcome, Message string
	Run, Call                    int
	Args, Value                  json.RawMessage
}

// start builds and starts a driver, and checks its hello. The test fails if the driver does not end with its input.
func start(t *testing.T, driver string) *engine {
	t.Helper()
	binary := filepath.Join(t.TempDir(), driver)
	build, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./"+driver).CombinedOutput()
	if err != nil {
		t.Fatalf("building the driver: %v\n%s", err, build)
	}
	cmd := exec.Command(binary)
	cmd.Dir, cmd.Env, cmd.Stderr = t.TempDir(), []string{}, t.Output()
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
	e := &engine{in: in, lines: make(chan string)}
	go func() {
		defer close(e.lines)
		for lines := bufio.NewReader(out); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			e.lines <- line
		}
	}()
	t.Cleanup(func() {
		in.Close()
		for range e.lines { // until the driver has ended
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the driver ended with: %v", err)
		}
	})
	var hello struct {
		Type, Name, Version, Language, Note string
		Protocol                            int
		Claims                              []string
	}
	if err := json.Unmarshal([]byte(<-e.lines), &hello); err != nil {
		t.Fatal(err)
	}
	if hello.Type != "hello" || hello.Protocol != 1 || hello.Language != "javascript" || hello.Name == "" ||
		!strings.HasPrefix(hello.Version, "v") || !strings.HasPrefix(hello.Note, "https://") {
		t.Errorf("got hello %+v", hello)
	}
	e.claims = map[string]bool{}
	for _, c := range hello.Claims {
		e.claims[c] = true
	}
	return e
}

// run runs a program, and is the tools that it calls.
func (e *engine) run(t *testing.T, program string, wall time.Duration) (message, time.Duration) {
	t.Helper()
	e.runs++
	run := e.runs
	started := time.Now()
	e.say(t, map[string]any{
		"type": "run", "run": run, "name": "test.js", "program": program, "allow": []string{"echo", "slow", "fail"},
		"limits": map[string]int64{
			"wall_ms": wall.Milliseconds(), "cpu_ms": wall.Milliseconds(), "memory_bytes": 64 << 20, "calls": 2000,
			"in_flight": 16, "argument_bytes": 8 << 20, "result_bytes": 1 << 20,
		},
	})
	for {
		select {
		case line, ok := <-e.lines:
			var m message
			if !ok {
				t.Fatal("the driver has ended")
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.Run != run {
				t.Fatalf("got %s in run %d: %v", line, run, err)
			}
			if m.Type == "outcome" {
				return m, time.Since(started)
			}
			answer := map[string]any{"type": "answer", "run": run, "call": m.Call}
			switch m.Name {
			case "echo":
				answer["value"] = m.Args
			case "fail":
				answer["error"] = map[string]string{"code": "failed", "message": "it fails"}
			case "slow":
				var args struct{ MS int }
				if err := json.Unmarshal(m.Args, &args); err != nil {
					t.Fatal(err)
				}
				answer["value"] = "done"
				time.AfterFunc(time.Duration(args.MS)*time.Millisecond, func() {
					if line, err := json.Marshal(answer); err == nil {
						fmt.Fprintf(e.in, "%s\n", line) // which fails if the driver has ended
					}
				})
				continue
			}
			e.say(t, answer)
		case <-time.After(wall + 10*time.Second):
			t.Fatalf("no outcome came of %s", program)
		}
	}
}

func (e *engine) say(t *testing.T, m any) {
	t.Helper()
	line, err := json.Marshal(m)
	if err == nil {
		_, err = fmt.Fprintf(e.in, "%s\n", line)
	}
	if err != nil {
		t.Fatal(err)
	}
}
