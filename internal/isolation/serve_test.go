package isolation

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

// A harness talks to Serve over pipes.
type harness struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	done chan error
}

func start(t *testing.T, run RunFunc) *harness {
	in, toEngine := io.Pipe()
	fromEngine, out := io.Pipe()
	h := &harness{t: t, in: toEngine, out: bufio.NewReader(fromEngine), done: make(chan error, 1)}
	go func() {
		h.done <- Serve(in, out, Hello{Name: "test", Version: "1", Language: "javascript", Claims: []string{"calls"}}, run)
		_ = in.Close()
	}()
	if hello, ok := h.next().(Hello); !ok || hello.Protocol != 1 || hello.Name != "test" {
		t.Fatalf("got %+v, want hello", hello)
	}
	return h
}

func (h *harness) send(line string) {
	h.t.Helper()
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) next() Message {
	h.t.Helper()
	line, err := h.out.ReadBytes('\n')
	if err != nil {
		h.t.Fatal(err)
	}
	m, err := Read(line)
	if err != nil {
		h.t.Fatal(err)
	}
	return m
}

func (h *harness) expect(want string) {
	h.t.Helper()
	got := h.next()
	text, err := json.Marshal(got)
	if err != nil {
		h.t.Fatal(err)
	}
	if got := got.kind() + " " + string(text); got != want {
		h.t.Errorf("got  %s\nwant %s", got, want)
	}
}

// calling makes the calls that the words of the program name, one after the other, and returns what they gave.
func calling(ctx context.Context, run Run, call CallFunc) Outcome {
	var got []string
	for name := range strings.FieldsSeq(run.Program) {
		value, err := call(ctx, name, json.RawMessage(`{"n":1}`))
		if refused, ok := errors.AsType[*Refused](err); ok {
			return Outcome{Outcome: Error, Message: refused.Code + ": " + refused.Message}
		}
		if err != nil {
			return Outcome{Outcome: Error, Message: err.Error()}
		}
		got = append(got, string(value))
	}
	value, _ := json.Marshal(got)
	return Outcome{Outcome: Value, Value: value}
}

func TestServeAnswersEachCallAndEndsWithItsInput(t *testing.T) {
	h := start(t, calling)
	h.send(`{"type":"run","run":7,"program":"echo slow","limits":{"wall_ms":10},"new":"ignored"}`)
	h.expect(`call {"run":7,"call":1,"name":"echo","args":{"n":1}}`)
	h.send(`{"type":"answer","run":6,"call":1,"value":"of an earlier run"}`)
	h.send(`{"type":"answer","run":7,"call":1,"value":{"n":1}}`)
	h.send(`{"type":"answer","run":7,"call":1,"value":"again"}`)
	h.expect(`call {"run":7,"call":2,"name":"slow","args":{"n":1}}`)
	h.send(`{"type":"answer","run":7,"call":2,"value":null}`)
	h.expect(`outcome {"run":7,"outcome":"value","value":["{\"n\":1}","null"]}`)

	h.send(`{"type":"run","run":8,"program":"fail"}`)
	h.expect(`call {"run":8,"call":1,"name":"fail","args":{"n":1}}`)
	h.send(`{"type":"answer","run":8,"call":1,"error":{"code":"failed","message":"it failed"}}`)
	h.expect(`outcome {"run":8,"outcome":"error","message":"failed: it failed"}`)

	_ = h.in.Close()
	if err := <-h.done; err != nil {
		t.Error(err)
	}
}

func TestServeEndsARunWhoseHarnessIsGone(t *testing.T) {
	h := start(t, calling)
	h.send(`{"type":"run","run":1,"program":"echo"}`)
	h.expect(`call {"run":1,"call":1,"name":"echo","args":{"n":1}}`)
	_ = h.in.Close()
	h.expect(`outcome {"run":1,"outcome":"error","message":"the harness went away"}`)
	if err := <-h.done; err != nil {
		t.Error(err)
	}
}

func TestServeRefusesASecondRun(t *testing.T) {
	h := start(t, func(ctx context.Context, _ Run, _ CallFunc) Outcome {
		<-ctx.Done()
		return Outcome{Outcome: Error}
	})
	h.send(`{"type":"run","run":1}`)
	h.send(`{"type":"run","run":2}`)
	h.expect(`outcome {"run":1,"outcome":"error"}`)
	if err := <-h.done; err == nil || err.Error() != "the harness sent run 2 before the outcome of run 1" {
		t.Error(err)
	}
}

func TestServeKeepsCallsOfARunBeforeItsOutcome(t *testing.T) {
	late := make(chan error)
	h := start(t, func(ctx context.Context, _ Run, call CallFunc) Outcome {
		go func() {
			<-ctx.Done()
			_, err := call(context.Background(), "echo", nil)
			late <- err
		}()
		return Outcome{Outcome: Value, Value: json.RawMessage(`1`)}
	})
	h.send(`{"type":"run","run":1}`)
	h.expect(`outcome {"run":1,"outcome":"value","value":1}`)
	if err := <-late; !errors.Is(err, errEnded) {
		t.Error(err)
	}
}

func TestServeSendsAnErrorForAValueThatIsNoJSON(t *testing.T) {
	h := start(t, func(context.Context, Run, CallFunc) Outcome {
		return Outcome{Outcome: Value, Value: json.RawMessage(`{`)}
	})
	h.send(`{"type":"run","run":1}`)
	if o, ok := h.next().(Outcome); !ok || o.Outcome != Error || o.Message == "" {
		t.Errorf("got %+v", o)
	}
}

func TestMessagesRoundTrip(t *testing.T) {
	for _, m := range []Message{
		Hello{Protocol: 1, Name: "n", Version: "v", Language: "python", Claims: []string{"time"}, Note: "https://x"},
		Run{Run: 1, Name: "a.js", Program: "return '<'\n", Allow: []string{"echo"}, Limits: Limits{WallMS: 3010}},
		Call{Run: 1, Call: 2, Name: "\x00 \u2028", Args: json.RawMessage(`null`)},
		Answer{Run: 1, Call: 2, Value: json.RawMessage(`null`)},
		Answer{Run: 1, Call: 2, Error: &Refused{Code: CodeDenied, Message: "no"}},
		Outcome{Run: 1, Outcome: Timeout, Usage: &Usage{WallMS: 1.5}},
	} {
		var line strings.Builder
		if err := Write(&line, m); err != nil {
			t.Fatal(err)
		}
		if strings.Count(line.String(), "\n") != 1 {
			t.Errorf("%q is not one line", line.String())
		}
		got, err := Read([]byte(line.String()))
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%s: got %+v, %v", line.String(), got, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for line, want := range map[string]string{
		`{"type":"bye"}`:           `reading a message: "bye" is no type of one`,
		`{}`:                       `reading a message: "" is no type of one`,
		`{"type":"run","run":"1"}`: "reading the message run: ",
		`no`:                       "reading a message: ",
	} {
		if _, err := Read([]byte(line)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
}
