package server

import (
	"net/http"
	"sync"
	"time"
)

const (
	// writeWait is how long a client may take to accept what is written to it. One that does not read is cut off, so that
	// nothing waits for it.
	writeWait = 30 * time.Second
	// quietAtFirst and quietLater are how long a stream stays silent: clients, and what stands between us and them, give up on
	// silent ones, the strictest after 60 seconds without a first byte.
	quietAtFirst = 5 * time.Second
	quietLater   = 15 * time.Second
)

// A stream is the response to one request, which may go on for as long as people think.
type stream struct {
	http.ResponseWriter
	control *http.ResponseController

	mu    sync.Mutex
	timer *time.Timer // nil unless the stream is kept from falling silent
	began bool        // something was written
	over  bool
}

func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = true
	s.ResponseWriter.WriteHeader(status)
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(p)
}

func (s *stream) write(p []byte) (int, error) {
	if s.over {
		return 0, http.ErrHandlerTimeout
	}
	s.began = true
	if s.timer != nil {
		s.timer.Reset(quietLater)
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(writeWait)) // what cannot have one is no connection
	return s.ResponseWriter.Write(p)
}

// FlushError is what [http.ResponseController.Flush] calls.
func (s *stream) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return http.ErrHandlerTimeout
	}
	return s.control.Flush()
}

// keepAlive keeps an event stream from falling silent from now on. It is for the handlers of calls: by then the kind of the response
// is settled, and they have nothing to say that would need another status.
func (s *stream) keepAlive() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.timer != nil {
		return
	}
	wait := quietAtFirst
	if s.began {
		wait = quietLater
	}
	s.timer = time.AfterFunc(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, err := s.write([]byte(": waiting\n\n")); err == nil {
			_ = s.control.Flush()
		}
	})
}

// end lets go of the response: nothing is written to it any more.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.began {
		_ = s.control.Flush()
	}
	_ = s.control.SetWriteDeadline(time.Time{}) // the connection may be used again
}
