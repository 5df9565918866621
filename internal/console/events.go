package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	// beatEvery is how often a stream sends a comment; without it, browsers and proxies see that the stream is dead.
	beatEvery = 15 * time.Second
	// writeWait is how long a stream's reader may take to accept a write.
	writeWait = 10 * time.Second
)

// apiEvents sends the list of questions after each change, and says when the runs in progress have changed. While a
// client reads it, its person is present.
func (c *Console) apiEvents(w http.ResponseWriter, r *http.Request, s *session) error {
	seat, left := c.logins.sit(s)
	if seat == nil {
		return refuse(http.StatusTooManyRequests, "this session has too many pages open")
	}
	defer left()
	send := c.openStream(w)
	if !send([]byte("retry: 1000\n\n")) {
		return nil
	}
	var before []byte
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	runs := runPages{c}.watchRuns(s)
	defer runs.stop()
	for {
		select {
		case <-seat.News():
			if !c.still(r, s) {
				return nil
			}
			list, err := json.Marshal(questions{c}.listing(s))
			if err != nil {
				c.log.Error("writing the questions as JSON failed", "error", err)
				return nil
			}
			if bytes.Equal(list, before) {
				continue
			}
			before = list
			if !send(fmt.Appendf(nil, "event: pending\ndata: %s\n\n", list)) {
				return nil
			}
		case <-runs.due:
			if runs.differ() && !send([]byte("event: running\ndata: {}\n\n")) {
				return nil
			}
		case <-runs.pause:
			runs.wait()
		case <-beat.C:
			now := c.logins.now()
			s.touch(now) // a session with an open page is not idle
			if !c.still(r, s) {
				return nil
			}
			if !s.token && c.logins.over(s, now) {
				c.logins.end(s)
			}
			if !send([]byte(": \n\n")) {
				return nil
			}
		case <-s.ended:
			send([]byte("event: end\ndata: {}\n\n"))
			return nil
		case <-r.Context().Done():
			return nil
		case <-c.done:
			return nil
		}
	}
}

// openStream begins a stream of events. send writes to it, and reports whether the client still reads.
func (c *Console) openStream(w http.ResponseWriter) (send func(text []byte) bool) {
	stream := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // for nginx
	_ = stream.SetReadDeadline(time.Time{})
	return func(text []byte) bool {
		_ = stream.SetWriteDeadline(time.Now().Add(c.patient))
		if _, err := w.Write(text); err != nil {
			return false
		}
		return stream.Flush() == nil
	}
}
