package server

import (
	"cmp"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// writeWait is how long a client may take to read what the server writes. The server disconnects a client that does
	// not read, so that nothing waits for it.
	writeWait = 30 * time.Second
	// quietAtFirst and quietLater are how long a stream may stay silent: clients and proxies give up on silent streams,
	// the strictest after 60 seconds without a first byte.
	quietAtFirst = 5 * time.Second
	quietLater   = 15 * time.Second
)

// A stream is the response to one request. It may last as long as a person takes to answer.
type stream struct {
	http.ResponseWriter
	control *http.ResponseController

	mu     sync.Mutex
	timer  *time.Timer // nil without keepAlive
	status int         // 0 until something was written
	over   bool
}

func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = cmp.Or(s.status, status)
	s.ResponseWriter.WriteHeader(status)
}

// has reports whether the answer has this status.
func (s *stream) has(status int) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status == status
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
	s.status = cmp.Or(s.status, http.StatusOK)
	if s.timer != nil {
		s.timer.Reset(quietLater)
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(writeWait)) // tests have responses without one
	return s.ResponseWriter.Write(p)
}

// WriteLast writes the end of a response, see [direct.Response].
func (s *stream) WriteLast(status int, kind string, all, event []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != 0 || s.over {
		all = event
	} else {
		s.Header().Set("Content-Type", kind)
		s.Header().Set("Content-Length", strconv.Itoa(len(all)))
		s.ResponseWriter.WriteHeader(status)
	}
	if _, err := s.write(all); err != nil {
		return err
	}
	return s.control.Flush()
}

// [http.ResponseController.Flush] calls FlushError.
func (s *stream) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return http.ErrHandlerTimeout
	}
	return s.control.Flush()
}

// keepAlive starts writing comments into an event stream whenever it is silent for too long. Only call handlers use it:
// by then the response is an event stream with its final status.
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
	if s.status != 0 {
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

// end stops all writes to the response.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.status != 0 {
		_ = s.control.Flush()
	}
	_ = s.control.SetWriteDeadline(time.Time{}) // the connection may be used again
}
