package approvals

import (
	"encoding/json"
	"net"
	"sync"
	"testing"
	"time"
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

// What a responder is told last is what waits: that the width of its terminal is known and that a question comes are told
// by two goroutines, and the older list must not be written after the newer one.
func TestWhatIsToldLastIsWhatWaits(t *testing.T) {
	for round := range 2000 {
		q := NewQueue("terminal")
		conn := &lastLine{}
		s := &served{conn: conn, seat: q.Sit("anna"), width: 80}
		var all sync.WaitGroup
		all.Go(func() { // the width is told again and again
			for range 4 {
				_ = s.pending()
			}
		})
		q.mu.Lock()
		q.items = append(q.items, &item{request: &Request{ID: "q1", Name: "a__b", Args: json.RawMessage(`{}`)}})
		q.mu.Unlock()
		all.Go(func() { _ = s.pending() }) // the news of the question
		all.Wait()
		var told Told
		if err := json.Unmarshal(conn.line, &told); err != nil {
			t.Fatal(err)
		}
		if len(told.Calls) != 1 {
			t.Fatalf("round %d: it was told of %d questions last, want 1", round, len(told.Calls))
		}
	}
}
