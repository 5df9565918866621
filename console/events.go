package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	// beatEvery is how often a stream says that it lives; browsers and what stands between notice by it that it does not.
	beatEvery = 15 * time.Second
	// takeWait is how long whoever reads a stream may take to take something in.
	takeWait = 10 * time.Second
)

// apiEvents is the list of questions, again and again. While it is read somebody is there.
func (c *Console) apiEvents(w http.ResponseWriter, r *http.Request, s *session) {
	seat, left := c.rooms.sit(s)
	if seat == nil {
		c.fail(w, r, http.StatusTooManyRequests, "this session has too many pages open")
		return
	}
	defer left()
	stream := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // for nginx
	send := func(text []byte) bool {
		_ = stream.SetWriteDeadline(time.Now().Add(takeWait))
		if _, err := w.Write(text); err != nil {
			return false
		}
		return stream.Flush() == nil
	}
	_ = stream.SetReadDeadline(time.Time{})
	if !send([]byte("retry: 1000\n\n")) {
		return
	}
	var before []byte
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		select {
		case <-seat.News():
			if !c.still(r, s) {
				return
			}
			list, err := json.Marshal(c.listing(s))
			if err != nil {
				c.log.Error("the questions cannot be written as JSON", "error", err)
				return
			}
			if bytes.Equal(list, before) {
				continue
			}
			before = list
			if !send(fmt.Appendf(nil, "event: pending\ndata: %s\n\n", list)) {
				return
			}
		case <-beat.C:
			now := c.rooms.now()
			s.touch(now) // an open page is no idle session
			if !c.still(r, s) {
				return
			}
			if !s.token && c.rooms.over(s, now) {
				c.rooms.end(s)
			}
			if !send([]byte(": \n\n")) {
				return
			}
		case <-s.ended:
			send([]byte("event: end\ndata: {}\n\n"))
			return
		case <-r.Context().Done():
			return
		case <-c.done:
			return
		}
	}
}
