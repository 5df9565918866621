package protocol

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A harness is the other side of Serve.
type harness struct {
	t   *testing.T
	in  *io.PipeWriter
	out *bufio.Reader
}

func serve(t *testing.T, run func(*Run) Outcome) *harness {
	inRead, in := io.Pipe()
	out, outWrite := io.Pipe()
	h := &harness{t: t, in: in, out: bufio.NewReader(out)}
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(inRead, outWrite, Hello{Name: "test", Version: "v1", Claims: []string{"calls"}, Note: "page"}, run)
	}()
	t.Cleanup(func() {
		in.Close()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	h.hears(`{"type":"hello","protocol":1,"language":"javascript",` +
		`"name":"test","version":"v1","claims":["calls"],"note":"page"}`)
	return h
}

func (h *harness) says(format string, args ...any) {
	h.t.Helper()
	if _, err := fmt.Fprintf(h.in, format+"\n", args...); err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) line() string {
	h.t.Helper()
	line, err := h.out.ReadString('\n')
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (h *harness) hears(want string) {
	h.t.Helper()
	if got := h.line(); got != want {
		h.t.Errorf("got  %s\nwant %s", got, want)
	}
}

// deep is JSON that is deeper than Go takes.
var deep = strings.Repeat("[", 20000) + strings.Repeat("]", 20000)

// TestConversation is one engine with several programs: a program is what the engine shall do.
func TestConversation(t *testing.T) {
	h := serve(t, func(r *Run) Outcome {
		return r.Drive(func() error {
			switch r.Program {
			case "call":
				_, err1 := r.Call("a", `{"x":1}`)
				_, err2 := r.Call("b", `"b"`)
				return errors.Join(err1, err2)
			case "return":
				r.End("value", "[1, 2]")
			case "throw":
				r.End("error", "thrown")
			case "fail":
				return errors.New("failed")
			case "compute":
				time.Sleep(time.Until(r.Deadline)) // as an engine that was interrupted
				return errors.New("interrupted")
			case "wait":
				_, err := r.Call("a", "0")
				return err
			case "deep argument":
				_, err := r.Call("a", deep)
				return err
			case "deep value":
				r.End("value", deep)
			}
			return nil
		}, func(a Answer) error {
			if a.Error != nil {
				r.End("error", fmt.Sprintf("%d %s %s", a.Call, a.Error.Code, a.Error.Message))
			} else if a.Call == 1 {
				r.End("value", string(a.Value))
			}
			return nil
		})
	})
	run := 0
	program := func(name string) {
		run++
		h.says(`{"type":"run","run":%d,"name":"x","program":%q,"unknown":1,"limits":{"wall_ms":100}}`, run, name)
	}
	outcome := func(rest string) { t.Helper(); h.hears(fmt.Sprintf(`{"type":"outcome","run":%d,%s}`, run, rest)) }

	program("return")
	outcome(`"outcome":"value","value":[1,2]`)
	program("throw")
	outcome(`"outcome":"error","message":"thrown"`)
	program("fail")
	outcome(`"outcome":"error","message":"failed"`)
	program("nothing")
	outcome(`"outcome":"error","message":"the program waits for what can never come"`)
	program("compute")
	outcome(`"outcome":"timeout"`)

	program("deep argument")
	outcome(`"outcome":"error","message":"the value has no JSON that the host takes"`)
	program("deep value")
	outcome(`"outcome":"error","message":"the value has no JSON that the host takes"`)

	program("wait")
	h.hears(`{"type":"call","run":8,"call":1,"name":"a","args":0}`)
	outcome(`"outcome":"timeout"`)
	h.says(`{"type":"answer","run":8,"call":1,"value":1}`) // which is too late

	program("call")
	h.hears(`{"type":"call","run":9,"call":1,"name":"a","args":{"x":1}}`)
	h.hears(`{"type":"call","run":9,"call":2,"name":"b","args":"b"}`)
	h.says(`{"type":"answer","run":8,"call":1,"value":"of another run"}`)
	h.says(`{"type":"answer","run":9,"call":3,"value":"of no call"}`)
	h.says(`{"type":"answer","run":9,"call":2,"value":"does not end it"}`)
	h.says(`{"type":"answer","run":9,"call":2,"error":{"code":"failed","message":"twice"}}`)
	h.says(`{"type":"something","run":9}`)
	h.says(`{"type":"answer","run":9,"call":1,"value":null}`)
	outcome(`"outcome":"value","value":null`)

	program("call")
	h.line()
	h.line()
	h.says(`{"type":"answer","run":10,"call":2,"error":{"code":"denied","message":"no"}}`)
	outcome(`"outcome":"error","message":"2 denied no"`)
}

// TestCallsOfManyGoroutines: each gets the number of its own call, and each answer arrives once.
func TestCallsOfManyGoroutines(t *testing.T) {
	const n = 100
	h := serve(t, func(r *Run) Outcome {
		args := make([]string, n+1) // by number
		var calls sync.WaitGroup
		for i := range n {
			calls.Go(func() {
				arg := fmt.Sprint(i)
				call, err := r.Call("echo", arg)
				if err != nil {
					t.Error(err)
				}
				args[call] = arg
			})
		}
		answers := 0
		return r.Drive(func() error { calls.Wait(); return nil }, func(a Answer) error {
			if string(a.Value) != args[a.Call] {
				return fmt.Errorf("call %d of %s got %s", a.Call, args[a.Call], a.Value)
			}
			if answers++; answers == n {
				r.End("value", "true")
			}
			return nil
		})
	})
	h.says(`{"type":"run","run":1,"program":"","limits":{"wall_ms":60000}}`)
	type call struct {
		Call int
		Args json.RawMessage
	}
	var calls []call
	for range n {
		var c call
		if err := json.Unmarshal([]byte(h.line()), &c); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, c)
	}
	for _, c := range slices.Backward(calls) {
		h.says(`{"type":"answer","run":1,"call":%d,"value":%s}`, c.Call, c.Args)
	}
	h.hears(`{"type":"outcome","run":1,"outcome":"value","value":true}`)
}

func TestServeEnds(t *testing.T) {
	run := func(*Run) Outcome { return Outcome{Outcome: "value"} }
	if err := Serve(strings.NewReader("{\n"), io.Discard, Hello{}, run); err == nil {
		t.Error("a line that is no JSON: got no error")
	}
	out, in := io.Pipe()
	defer in.Close() // so the input does not end
	if err := Serve(out, broken{}, Hello{}, run); err == nil || !strings.Contains(err.Error(), "nobody listens") {
		t.Errorf("a harness that is gone: got %v", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("nobody listens") }
