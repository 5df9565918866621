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
	time.Sleep(10 * time.Millisecond) // until the kernel has filled the pipe
	close(s.closed)
	if err := <-stuck; !errors.Is(err, io.EOF) {
		t.Errorf("when the connection is closed: got %v", err)
	}
	if err := errors.Join(r.Close(), w.Close()); err != nil {
		t.Error(err)
	}
}
