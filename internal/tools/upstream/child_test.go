package upstream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
)

// TestAFrameIsWrittenAsAWhole: whoever gives up while the server does not read leaves no half
// of a frame in front of the next one.
func TestAFrameIsWrittenAsAWhole(t *testing.T) {
	r, w, err := os.Pipe()
	checktest.OK(t, err)
	p := &Child{stdin: w, turn: make(chan struct{}, 1), closed: make(chan struct{})}
	send := func(ctx context.Context, method string, size int) error {
		return p.Send(ctx, fmt.Appendf(nil, "{\"method\":%q,\"params\":%q}\n", method, strings.Repeat("x", size)), func() {})
	}
	brief, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	long := make(chan error, 1)
	go func() { long <- send(brief, "long", 1<<20) }()
	lines := bufio.NewReaderSize(r, 64<<10)
	if _, err := lines.Peek(1); err != nil { // when its beginning is there, the rest has to follow
		t.Fatal(err)
	}
	giveUp()
	if err := <-long; !errors.Is(err, context.Canceled) {
		t.Errorf("a long one that nobody reads: got %v", err)
	}
	if err := send(brief, "never", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("one behind it: got %v", err)
	}
	last := make(chan error, 1)
	go func() { last <- send(t.Context(), "short", 1) }()
	for _, want := range []string{"long", "short"} {
		line, err := lines.ReadBytes('\n')
		checktest.OK(t, err)
		var m struct{ Method string }
		if err := json.Unmarshal(line, &m); err != nil || m.Method != want {
			t.Errorf("got %q, %v; want %q", m.Method, err, want)
		}
	}
	if err := <-last; err != nil {
		t.Errorf("the last one: %v", err)
	}

	stuck := make(chan error, 1)
	go func() { stuck <- send(t.Context(), "stuck", 1<<20) }()
	time.Sleep(10 * time.Millisecond) // until the kernel has filled the pipe
	close(p.closed)
	if err := <-stuck; !errors.Is(err, io.EOF) {
		t.Errorf("when the connection is closed: got %v", err)
	}
	if err := errors.Join(r.Close(), w.Close()); err != nil {
		t.Error(err)
	}
}
