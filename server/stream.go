package server

import (
	"net/http"
	"sync"
	"time"
)

const (
	// writeWait is how long a client may take to read what the server writes. A client that does not read is
	// disconnected, so that nothing waits for it.
	writeWait = 30 * time.Second
	// quietAtFirst and quietLater are how long a stream stays silent: clients and proxies give up on silent ones, the
	// strictest after 60 seconds without a first byte.
	quietAtFirst = 5 * time.Second
	quietLater   = 15 * time.Second
)

// A stream is the response to one request, which may last as long as people think.
type stream struct {
	http.ResponseWriter
	control *http.ResponseController

	mu    sync.Mutex
	timer *time.Timer // nil without keepAlive
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
	_ = s.control.SetWriteDeadline(time.Now().Add(writeWait)) // tests have responses without one
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

// keepAlive writes comments into an event stream that is silent for too long, from now on. It is for the handlers of
// calls: by then the response is an event stream with its final status.
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

// end stops all writing to the response.
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
