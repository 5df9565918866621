package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"
)

// togetherMost is how many transactions share one commit at most. The writer of a [Chain] waits for them.
const togetherMost = 8

// A writer lets one goroutine of this process after the other write to a file: the library would let one of them win
// and make all others retry later, and some of many would never succeed.
//
// Waiting for the disk takes most of the time of a commit, so transactions that wait at the same moment share one. For
// its caller each is a transaction of its own: it is on disk or has changed nothing, whatever the others do.
type writer struct {
	conns *connections
	stall *stall
	line  *line
	busy  chan struct{} // holds one while somebody writes

	mu  sync.Mutex
	all []*transaction // wait for a turn
}

// begin waits until nobody else writes.
func (w *writer) begin(ctx context.Context) (done func(), err error) {
	select {
	case w.busy <- struct{}{}:
		return func() { <-w.busy }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// turn is begin for callers that do not wait longer than [answerWait] while nobody gets on. They wait in line, so that
// the writer of a [Chain], which does not, comes next or after one of them: calls wait for it.
func (w *writer) turn(ctx context.Context) (done func(), err error) {
	leave, err := w.line.enter(ctx, nil)
	if err != nil {
		return nil, err
	}
	written, err := w.beginSoon(ctx)
	if err != nil {
		leave()
		return nil, err
	}
	return func() { written(); leave() }, nil
}

// beginSoon is begin for the first in the line.
func (w *writer) beginSoon(ctx context.Context) (done func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWait, errStalled)
	defer cancel()
	return w.begin(ctx)
}

type transaction struct {
	ctx  context.Context // ends the wait
	do   func(ctx context.Context, tx *sql.Tx) error
	done chan struct{} // closed when err is the result
	err  error
}

// together runs f in a transaction on the file, which may be part of a larger one.
func (w *writer) together(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	t := &transaction{ctx: ctx, do: f, done: make(chan struct{})}
	w.add(t)
	leave, err := w.line.enter(ctx, t.done)
	if err != nil {
		if w.remove(t) {
			return err
		}
		<-t.done // somebody writes it already
		return t.err
	}
	defer leave()
	select {
	case <-t.done:
		return t.err
	default: // and nobody takes it, who is not the first in the line
	}
	written, err := w.beginSoon(ctx)
	if err != nil {
		w.remove(t)
		return err
	}
	defer written()
	w.commit(w.take(t))
	return t.err
}

func (w *writer) add(t *transaction) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, t)
}

// remove reports false if the transaction was taken.
func (w *writer) remove(t *transaction) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.all)
	w.all = slices.DeleteFunc(w.all, func(x *transaction) bool { return x == t })
	return len(w.all) < n
}

// take takes a transaction, and others that wait.
func (w *writer) take(t *transaction) []*transaction {
	w.remove(t)
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.all), togetherMost-1)
	taken := append([]*transaction{t}, w.all[:n]...)
	w.all = slices.Delete(w.all, 0, n)
	return taken
}

// commit runs transactions in one, and tells their callers.
func (w *writer) commit(all []*transaction) {
	ctx, err := w.stall.begin() // it ends when the database is closed
	if err == nil {
		err = w.conns.inTransaction(ctx, func(ctx context.Context, tx *sql.Tx) error {
			for _, t := range all {
				if t.err = context.Cause(t.ctx); t.err != nil {
					continue
				}
				if _, err := tx.ExecContext(ctx, `SAVEPOINT one`); err != nil {
					return err
				}
				if t.err = t.do(ctx, tx); t.err != nil {
					if _, err := tx.ExecContext(ctx, `ROLLBACK TO one`); err != nil {
						return errors.Join(t.err, err) // a full disk, for example, ends the whole transaction
					}
				}
				if _, err := tx.ExecContext(ctx, `RELEASE one`); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, t := range all {
		if err != nil && t.err == nil {
			t.err = err
		}
		close(t.done)
	}
}

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
