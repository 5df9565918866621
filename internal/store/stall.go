package store

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	// answerWait bounds one use of the database, or the wait for the next row of a query.
	answerWait = 3 * time.Second
	// parkWait is the same for a parked run and for an outcome, which may have many megabytes.
	parkWait = 10 * time.Second
	// probeEvery is the time between two probes whether a stalled database answers again.
	probeEvery = 100 * time.Millisecond
)

// errStalled is the error of a use that the database did not answer in time.
var errStalled = &failure{reason: reasonStalled}

// A stall begins when the database has answered nothing for [answerWait]. During a stall every use fails at once, so
// that a caller with several uses waits once, and one goroutine probes whether it is over. A locked row does not cause
// a stall, because other uses get answers. The appends of a [Chain] do not fail at once: their writer has its own
// timeouts.
type stall struct {
	log        *slog.Logger
	ping       func(context.Context) error // asks the database for an answer; nil for a file, which never stalls
	background func(func())

	mu   sync.Mutex
	now  bool
	over bool            // the database is closed
	last time.Time       // when the database answered last
	uses context.Context // ends when a stall begins, and when the database is closed
	cut  context.CancelCauseFunc
}

// A use is one use of the database, and the context of its operations.
type use struct {
	context.Context
	stall  *stall
	limit  time.Duration
	cancel context.CancelCauseFunc
	leave  func() bool // detaches it from the common end
	timer  *time.Timer // nil without a limit
	begun  time.Time   // the current step
	freed  func()      // lets the next caller have the connection
}

// begin returns the context of the uses of this moment, or why there may be none.
func (s *stall) begin() (context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return nil, errClosed
	case s.now:
		return nil, errStalled
	case s.uses == nil:
		s.uses, s.cut = context.WithCancelCause(context.Background())
	}
	return s.uses, nil
}

// step runs an operation that waits for the database, with its own limit.
func (u *use) step(do func() bool) bool {
	if u.timer == nil {
		return do()
	}
	u.begun = time.Now()
	u.timer.Reset(u.limit)
	defer u.timer.Stop()
	return do()
}

// end ends the use, and returns the error to report for it.
func (u *use) end(err error) error {
	u.freed()
	cause := context.Cause(u)
	if u.timer != nil {
		u.timer.Stop()
	}
	u.leave()
	u.cancel(nil)
	switch {
	case err == nil || cause == nil: // an unreachable database reports that itself, and is not stalled
		u.stall.heard()
	case cause == errStalled:
		u.stall.unheard(u.begun)
		return &failure{reason: reasonStalled, Err: err}
	case errors.Is(cause, errClosed):
		return errClosed
	}
	return explain(err)
}

// heard records that the database answers.
func (s *stall) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now {
		s.log.Info("the database answers again")
	}
	s.now, s.last = false, time.Now()
}

// unheard records that a use that began at begun got no answer. If no other use has got one since then, a stall begins.
func (s *stall) unheard(begun time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ping == nil || s.now || s.over || s.last.After(begun) {
		return
	}
	s.log.Warn("the database does not answer; codemode refuses what needs it until it does")
	s.now = true
	if s.cut != nil {
		s.cut(errStalled)
	}
	s.uses, s.cut = context.WithCancelCause(context.Background())
	uses := s.uses
	s.background(func() { s.probe(uses) })
}

// probe waits until the database answers again.
func (s *stall) probe(ctx context.Context) {
	for {
		if _, err := s.begin(); err == nil {
			return // a use got an answer
		}
		if s.ping(ctx) == nil {
			s.heard()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(probeEvery):
		}
	}
}

// close ends every wait for the database. Close calls it before it closes the connections.
func (s *stall) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.cut != nil {
		s.cut(errClosed)
	}
}
