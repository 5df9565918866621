package asking

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/store"
)

// answersWait bounds one query of stored answers.
const answersWait = 10 * time.Second

// ErrStoreClosed says that no answer will come.
var ErrStoreClosed = errors.New("the approval store is closed")

// answeredAgain is how often all stored answers are read, whatever changes the database reports.
const answeredAgain = 5 * time.Second

// waiters wait for the answers to stored questions. A change of the database costs the same however many waiters there
// are: only the questions that have changed are read. The zero value has none.
type waiters struct {
	mu     sync.Mutex
	by     map[string][]chan reply // by question
	unread []string                // new questions of by
	added  chan struct{}           // receives when there is a new question; nil while look does not run
}

// A reply is the answer to a question, or the reason why there will be none.
type reply struct {
	yes    bool
	answer json.RawMessage
	err    error
}

// wait waits for the answer to a question until stop is called. The channel receives once.
func (w *waiters) wait(db *store.DB, id string) (got <-chan reply, stop func()) {
	ch := make(chan reply, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[string][]chan reply{}
	}
	w.by[id], w.unread = append(w.by[id], ch), append(w.unread, id)
	if w.added == nil {
		w.added = make(chan struct{}, 1)
		go w.look(db, w.added)
	}
	w.wake()
	return ch, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.by[id] = slices.DeleteFunc(w.by[id], func(c chan reply) bool { return c == ch })
		if len(w.by[id]) == 0 {
			delete(w.by, id)
		}
		if len(w.by) == 0 {
			w.wake() // so that look can end
		}
	}
}

// wake must be called with the lock held.
func (w *waiters) wake() {
	select {
	case w.added <- struct{}{}:
	default: // look has not read since the last one, or does not run
	}
}

// look reads answers after each change of the database, until no waiter is left.
func (w *waiters) look(db *store.DB, added <-chan struct{}) {
	changed, stop := db.Watch(store.Approvals)
	defer stop()
	again := time.NewTicker(answeredAgain)
	defer again.Stop()
	for since := int64(0); w.any(); {
		since = w.read(db, since)
		select {
		case <-added:
		case <-again.C:
			since = 0
		case _, open := <-changed:
			if !open {
				w.close()
				return
			}
		}
	}
}

// any reports whether somebody waits. If not, it ends the goroutine of look.
func (w *waiters) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.by) == 0 {
		w.added, w.unread = nil, nil
		return false
	}
	return true
}

// read tells the waiters of the answers since a mark of [store.ApprovalTable.ChangedSince], and returns the next mark.
// After the mark 0 it reads the answers to all their questions.
func (w *waiters) read(db *store.DB, since int64) (next int64) {
	ctx, cancel := context.WithTimeout(context.Background(), answersWait)
	defer cancel()
	changed, next, err := db.Approvals.ChangedSince(ctx, since)
	if err != nil {
		return 0 // the database is away, and may come back
	}
	ids := w.due(changed, since == 0 || next < since)
	all, err := db.Approvals.Answers(ctx, ids) // after next was read, so that no answer comes between the two
	if err != nil {
		return 0
	}
	for _, id := range ids {
		w.tell(id, all)
	}
	return next
}

// due lists the questions to read: of those that have waiters, the changed and the new ones, or all.
func (w *waiters) due(changed []string, all bool) (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids, w.unread = w.unread, nil
	if all {
		return slices.Collect(maps.Keys(w.by))
	}
	for _, id := range changed {
		if w.by[id] != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// tell sends the answer to a question to its waiters, if there is one.
func (w *waiters) tell(id string, all map[string]*store.Approval) {
	a, there := all[id]
	var is reply
	switch {
	case !there:
		is.err = fmt.Errorf("question %s: %w", id, store.ErrNotFound)
	case a.Validated != nil:
		is.yes, is.answer = *a.Validated, a.Answer
	case !a.Withdrawn.IsZero():
		is.err = approvals.ErrTaken
	default:
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.send(id, is)
}

// send must be called with the lock held.
func (w *waiters) send(id string, is reply) {
	for _, ch := range w.by[id] {
		ch <- is
	}
	delete(w.by, id)
}

// close tells all waiters that no answer will come.
func (w *waiters) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.by {
		w.send(id, reply{err: ErrStoreClosed})
	}
	w.added = nil
}
