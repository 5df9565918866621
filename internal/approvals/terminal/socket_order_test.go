package terminal

import (
	"context"
	"encoding/json"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
)

// lastLine keeps the last line that was written to a responder.
type lastLine struct {
	net.Conn
	line []byte
}

func (l *lastLine) SetWriteDeadline(time.Time) error { return nil }

func (l *lastLine) Write(p []byte) (int, error) {
	l.line = append(l.line[:0], p...)
	return len(p), nil
}

// What a responder is told last is what waits: that the width of its terminal is known and that a question comes are
// told by two goroutines, and the older list must not be written after the newer one.
func TestWhatIsToldLastIsWhatWaits(t *testing.T) {
	for round := range 2000 {
		q := approvals.NewQueue("terminal")
		conn, seat := &lastLine{}, q.Sit("anna")
		s := &served{conn: conn, seat: seat, width: 80}
		ctx, cancel := context.WithCancel(t.Context())
		var all, asking sync.WaitGroup
		all.Go(func() { // the width is told again and again
			for range 4 {
				_ = s.pending()
			}
		})
		asking.Go(func() {
			_, _ = q.Ask(ctx, &approvals.Showing{Request: &prompt.Request{ID: "q1", Name: "a__b", Args: json.RawMessage(`{}`)}})
		})
		all.Go(func() { // the news of the question
			for len(seat.Pending()) == 0 {
				<-seat.News()
			}
			_ = s.pending()
		})
		all.Wait()
		cancel()
		asking.Wait()
		var told Told
		if err := json.Unmarshal(conn.line, &told); err != nil {
			t.Fatal(err)
		}
		if len(told.Calls) != 1 {
			t.Fatalf("round %d: it was told of %d questions last, want 1", round, len(told.Calls))
		}
	}
}
