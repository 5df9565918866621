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
	"github.com/codemode-project/codemode/store"
)

// answersWait bounds one query of stored answers.
const answersWait = 10 * time.Second

// ErrStoreClosed says that no answer will come.
var ErrStoreClosed = errors.New("the approval store is closed")

// answeredAgain is how often stored answers are read when the database reports no change.
const answeredAgain = 5 * time.Second

// waiters wait for the answers to stored questions. Each change of the database costs one query, however many waiters
// there are. The zero value has none.
type waiters struct {
	mu    sync.Mutex
	by    map[string][]chan reply // by question
	added chan struct{}           // receives when there is a new question; nil while look does not run
}

// A reply is the answer to a question, or the reason why there will be none.
type reply struct {
	yes    bool
	answer json.RawMessage
	err    error
}

// Answered waits for the answer to a question.
func (s *ApprovalStore) Answered(ctx context.Context, id string) (yes bool, answer json.RawMessage, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return false, nil, err
	}
	got, stop := s.waiters.wait(db, id)
	defer stop()
	select {
	case a := <-got:
		return a.yes, a.answer, a.err
	case <-ctx.Done():
		return false, nil, context.Cause(ctx)
	}
}

// wait waits for the answer to a question until stop is called. The channel receives once.
func (w *waiters) wait(db *store.DB, id string) (got <-chan reply, stop func()) {
	ch := make(chan reply, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[string][]chan reply{}
	}
	w.by[id] = append(w.by[id], ch)
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

// look reads the answers after each change of the database, until no waiter is left.
func (w *waiters) look(db *store.DB, added <-chan struct{}) {
	changed, stop := db.Watch(store.Approvals)
	defer stop()
	again := time.NewTicker(answeredAgain)
	defer again.Stop()
	for {
		ids := w.ids()
		if ids == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), answersWait)
		all, err := db.Answers(ctx, ids)
		cancel()
		if err == nil { // else the database is away, and may come back
			for _, id := range ids {
				w.tell(id, all)
			}
		}
		select {
		case <-added:
		case <-again.C:
		case _, open := <-changed:
			if !open {
				w.close()
				return
			}
		}
	}
}

// ids lists the questions that have waiters. Nil ends the goroutine of look.
func (w *waiters) ids() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.by) == 0 {
		w.added = nil
		return nil
	}
	return slices.Collect(maps.Keys(w.by))
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
