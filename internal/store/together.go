package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
)

// togetherMost is how many transactions share one commit at most. The writer of a [Chain] waits for them.
const togetherMost = 8

// queued are the transactions that wait to write to a file. Waiting for the disk takes most of the time of a commit, so
// those that wait at the same moment share one. For its caller each is a transaction of its own: it is on disk or has
// changed nothing, whatever the others do.
type queued struct {
	mu  sync.Mutex
	all []*transaction
}

type transaction struct {
	ctx  context.Context // ends the wait
	do   func(ctx context.Context, tx *sql.Tx) error
	done chan struct{} // closed when err is the result
	err  error
}

// together runs f in a transaction on the file, which may be part of a larger one.
func (d *DB) together(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	t := &transaction{ctx: ctx, do: f, done: make(chan struct{})}
	q := &d.queued
	q.add(t)
	leave, err := d.line.enter(ctx, t.done)
	if err != nil {
		if q.remove(t) {
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
	written, err := d.writeSoon(ctx)
	if err != nil {
		q.remove(t)
		return err
	}
	defer written()
	d.commit(q.take(t))
	return t.err
}

func (q *queued) add(t *transaction) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all = append(q.all, t)
}

// remove reports false if the transaction was taken.
func (q *queued) remove(t *transaction) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.all)
	q.all = slices.DeleteFunc(q.all, func(x *transaction) bool { return x == t })
	return len(q.all) < n
}

// take takes a transaction, and others that wait.
func (q *queued) take(t *transaction) []*transaction {
	q.remove(t)
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.all), togetherMost-1)
	taken := append([]*transaction{t}, q.all[:n]...)
	q.all = slices.Delete(q.all, 0, n)
	return taken
}

// commit runs transactions in one, and tells their callers.
func (d *DB) commit(all []*transaction) {
	ctx, err := d.stall.begin() // it ends when the database is closed
	if err == nil {
		err = d.conns.inTransaction(ctx, func(ctx context.Context, tx *sql.Tx) error {
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
