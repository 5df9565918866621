package isolation

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// A harness talks to Serve over pipes.
type harness struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	done chan error
}

func start(t *testing.T, run func(context.Context, Run, Caller) Outcome) *harness {
	in, toEngine := io.Pipe()
	fromEngine, out := io.Pipe()
	h := &harness{t: t, in: toEngine, out: bufio.NewReader(fromEngine), done: make(chan error, 1)}
	go func() { h.done <- Serve(in, out, Hello{Name: "test", Version: "1", Language: "javascript"}, run) }()
	h.expect(`{"type":"hello","protocol":1,"name":"test","version":"1","language":"javascript","claims":null}`)
	return h
}

func (h *harness) send(line string) {
	h.t.Helper()
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) next() string {
	h.t.Helper()
	line, err := h.out.ReadString('\n')
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (h *harness) expect(want string) {
	h.t.Helper()
	if got := h.next(); got != want {
		h.t.Errorf("got  %s\nwant %s", got, want)
	}
}

func (h *harness) end() {
	h.t.Helper()
	_ = h.in.Close()
	if err := <-h.done; err != nil {
		h.t.Error(err)
	}
}

// calling makes the calls that the words of the program name, one after the other, and returns what they gave.
func calling(ctx context.Context, run Run, call Caller) Outcome {
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
	h.expect(`{"type":"call","run":7,"call":1,"name":"echo","args":{"n":1}}`)
	h.send(`{"type":"answer","run":6,"call":1,"value":"of an earlier run"}`)
	h.send(`{"type":"answer","run":7,"call":1,"value":{"n":1}}`)
	h.send(`{"type":"answer","run":7,"call":1,"value":"again"}`)
	h.expect(`{"type":"call","run":7,"call":2,"name":"slow","args":{"n":1}}`)
	h.send(`{"type":"answer","run":7,"call":2,"value":null}`)
	h.expect(`{"type":"outcome","run":7,"outcome":"value","value":["{\"n\":1}","null"]}`)

	h.send(`{"type":"run","run":8,"program":"fail"}`)
	h.expect(`{"type":"call","run":8,"call":1,"name":"fail","args":{"n":1}}`)
	h.send(`{"type":"answer","run":8,"call":1,"error":{"code":"failed","message":"it failed"}}`)
	h.expect(`{"type":"outcome","run":8,"outcome":"error","message":"failed: it failed"}`)

	h.end()
}

func TestServeEndsARunWhoseHarnessIsGone(t *testing.T) {
	h := start(t, calling)
	h.send(`{"type":"run","run":1,"program":"echo"}`)
	h.expect(`{"type":"call","run":1,"call":1,"name":"echo","args":{"n":1}}`)
	_ = h.in.Close()
	h.expect(`{"type":"outcome","run":1,"outcome":"error","message":"context canceled"}`)
	h.end()
}

func TestServeKeepsCallsOfARunBeforeItsOutcome(t *testing.T) {
	late := make(chan error)
	h := start(t, func(ctx context.Context, _ Run, call Caller) Outcome {
		go func() {
			<-ctx.Done()
			_, err := call(context.Background(), "echo", nil)
			late <- err
		}()
		return Outcome{Outcome: Value, Value: json.RawMessage(`1`)}
	})
	h.send(`{"type":"run","run":1}`)
	h.expect(`{"type":"outcome","run":1,"outcome":"value","value":1}`)
	if err := <-late; !errors.Is(err, errEnded) {
		t.Error(err)
	}
}

// json.Marshal refuses what nests deeper, and a harness would wait for ever.
func TestServeSaysWhatItCannotWrite(t *testing.T) {
	deep := json.RawMessage(strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000))
	h := start(t, func(ctx context.Context, _ Run, call Caller) Outcome {
		if _, err := call(ctx, "echo", deep); err == nil {
			t.Error("a call was made")
		}
		return Outcome{Outcome: Value, Value: deep}
	})
	h.send(`{"type":"run","run":1}`)
	if got := h.next(); !strings.HasPrefix(got, `{"type":"outcome","run":1,"outcome":"error","message":`) {
		t.Errorf("got %.200s", got)
	}
	h.end()
}

func TestServeNumbersCallsInTheirOrder(t *testing.T) {
	const n = 50
	h := start(t, func(ctx context.Context, _ Run, call Caller) Outcome {
		var all sync.WaitGroup
		for range n {
			all.Go(func() { _, _ = call(ctx, "echo", json.RawMessage("1")) })
		}
		all.Wait()
		return Outcome{Outcome: Value}
	})
	h.send(`{"type":"run","run":1}`)
	for i := range n {
		h.expect(fmt.Sprintf(`{"type":"call","run":1,"call":%d,"name":"echo","args":1}`, i+1))
	}
	for i := range n {
		h.send(fmt.Sprintf(`{"type":"answer","run":1,"call":%d,"value":1}`, i+1))
	}
	h.expect(`{"type":"outcome","run":1,"outcome":"value","value":null}`)
	h.end()
}
