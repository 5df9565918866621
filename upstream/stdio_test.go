package upstream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// TestAFrameIsWrittenAsAWhole: whoever gives up while the server does not read leaves no half
// of a frame in front of the next one.
func TestAFrameIsWrittenAsAWhole(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &stdioConn{child: &child{stdin: w}, turn: make(chan struct{}, 1), closed: make(chan struct{}), asked: make(chan struct{}, 1)}
	message := func(method string, size int) *jsonrpc.Request {
		params, _ := json.Marshal([]string{strings.Repeat("x", size)})
		return &jsonrpc.Request{Method: method, Params: params}
	}
	brief, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	long := make(chan error, 1)
	go func() { long <- s.Write(brief, message("long", 1<<20)) }()
	lines := bufio.NewReaderSize(r, 64<<10)
	if _, err := lines.Peek(1); err != nil { // when its beginning is there, the rest has to follow
		t.Fatal(err)
	}
	giveUp()
	if err := <-long; !errors.Is(err, context.Canceled) {
		t.Errorf("a long one that nobody reads: got %v", err)
	}
	if err := s.Write(brief, message("never", 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("one behind it: got %v", err)
	}
	last := make(chan error, 1)
	go func() { last <- s.Write(t.Context(), message("short", 1)) }()
	for _, want := range []string{"long", "short"} {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var m struct{ Method string }
		if err := json.Unmarshal(line, &m); err != nil || m.Method != want {
			t.Errorf("got %q, %v; want %q", m.Method, err, want)
		}
	}
	if err := <-last; err != nil {
		t.Errorf("the last one: %v", err)
	}

	stuck := make(chan error, 1)
	go func() { stuck <- s.Write(t.Context(), message("stuck", 1<<20)) }()
	time.Sleep(10 * time.Millisecond)
	close(s.closed)
	if err := <-stuck; !errors.Is(err, io.EOF) {
		t.Errorf("when the connection is closed: got %v", err)
	}
	if err := errors.Join(r.Close(), w.Close()); err != nil {
		t.Error(err)
	}
}

// hearing is a listener that waits for progress of "mine".
type hearing struct{}

func (hearing) heard()                          {}
func (hearing) toolsChanged()                   {}
func (hearing) progress(p json.RawMessage) bool { return strings.Contains(string(p), "mine") }

// TestWhatAMessageCosts its server: nothing, if it is an answer that somebody waits for.
func TestWhatAMessageCosts(t *testing.T) {
	for _, row := range []struct {
		what, line string
		points     int
	}{
		{"an answer", `{"jsonrpc":"2.0","id":7,"result":{}}`, 0},
		{"an error", `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}`, 0},
		{"an answer to nothing", `{"jsonrpc":"2.0","id":8,"result":{}}`, unasked},
		{"a long answer to nothing", `{"jsonrpc":"2.0","id":8,"result":{"x":"` + strings.Repeat("x", 10<<10) + `"}}`, unasked + 10},
		{"an error to nothing", `{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":"no"}}`, unasked},
		{"progress of a call", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":1}}`, awaited},
		{"progress of nothing", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}`, unasked},
		{"progress as a request", `{"jsonrpc":"2.0","id":9,"method":"notifications/progress","params":{"progressToken":"mine","progress":1}}`, unasked},
		{"other tools", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, unasked},
		{"a log line", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`, unasked},
		{"what is no message", `hello`, unasked},
	} {
		t.Run(row.what, func(t *testing.T) {
			s := &stdioConn{frames: newFrameReader(strings.NewReader(row.line+"\n"), 1<<20), on: hearing{}, asked: make(chan struct{}, 1)}
			id, err := jsonrpc.MakeID(7.)
			if err != nil {
				t.Fatal(err)
			}
			s.waiting.add(new(capture).with(t.Context()), id)
			for err == nil {
				_, err = s.Read(t.Context())
			}
			if !errors.Is(err, io.EOF) || s.frames.pace.spent != row.points {
				t.Errorf("it costs %d points (%v), want %d", s.frames.pace.spent, err, row.points)
			}
		})
	}
}
