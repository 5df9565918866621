package store

import (
	"context"
	"sync"
	"time"
)

// A line is where callers wait for one of a few places: for the turn to write to a file, or for a connection to
// PostgreSQL. However many they are, a caller waits as long as those before it get on; a database that answers nobody
// ends the wait after [answerWait]. Places go to callers in the order in which they came. A nil line has room for all.
type line struct {
	places chan struct{}

	mu    sync.Mutex
	moved time.Time // when a place was taken or left last
}

func newLine(places int) *line { return &line{places: make(chan struct{}, places)} }

// enter waits for a place. The error is errStalled or the cause of ctx. The caller gets no place, and needs none, if
// done is closed.
func (l *line) enter(ctx context.Context, done <-chan struct{}) (leave func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	leave = func() {
		l.move()
		<-l.places
	}
	for {
		still := time.NewTimer(answerWait)
		select {
		case l.places <- struct{}{}:
			still.Stop()
			l.move()
			return leave, nil
		case <-done:
			still.Stop()
			return func() {}, nil
		case <-ctx.Done():
			still.Stop()
			return nil, context.Cause(ctx)
		case <-still.C:
			if l.stands() {
				return nil, errStalled
			}
		}
	}
}

func (l *line) move() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moved = time.Now()
}

// stands reports whether nobody has got on for [answerWait].
func (l *line) stands() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.moved) >= answerWait
}
