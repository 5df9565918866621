package audit

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode/internal/store"
)

// The shortest and longest pause between two reads of the record of a run with open calls.
const shortestLook, longestLook = 50 * time.Millisecond, 250 * time.Millisecond

// Ends waits for the ends of calls, which it reads from the record. One reader serves all calls of a run. Many
// goroutines may call its methods.
type Ends struct {
	// Entries reads the record, see [Entries]. Set it before the first use.
	Entries func(ctx context.Context, q store.Query, f func(*Entry) error) error

	mu   sync.Mutex
	runs map[string]*endsOf
}

// An endsOf is the awaited calls of one run.
type endsOf struct {
	calls map[int][]waiting
	added chan struct{} // receives after each added call
	stop  func()        // ends the reader
}

// A waiting is a caller of Wait.
type waiting struct {
	ended chan end
	asked time.Time
}

type end struct {
	entry *Entry
	err   error
}

// Wait returns the entry that says how a call ended: its State is OK, Failed, Refused, Unknown or NotSent. It also
// returns the entry that says that people are asked again, State Pending, if that is later than asked, when the caller's
// question arose. The error comes from the context, or from reading the record.
func (e *Ends) Wait(ctx context.Context, run string, call int, asked time.Time) (*Entry, error) {
	w := waiting{make(chan end, 1), asked}
	defer e.add(run, call, w)()
	select {
	case got := <-w.ended:
		return got.entry, got.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// add makes the reader search for a call until the caller calls remove.
func (e *Ends) add(run string, call int, w waiting) (remove func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.runs == nil {
		e.runs = map[string]*endsOf{}
	}
	of := e.runs[run]
	if of == nil {
		ctx, stop := context.WithCancel(context.Background())
		of = &endsOf{calls: map[int][]waiting{}, added: make(chan struct{}, 1), stop: stop}
		e.runs[run] = of
		go e.look(ctx, run, of)
	}
	of.calls[call] = append(of.calls[call], w)
	select {
	case of.added <- struct{}{}:
	default: // the reader has not looked since the last one
	}
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		of.calls[call] = slices.DeleteFunc(of.calls[call], func(x waiting) bool { return x == w })
		if len(of.calls[call]) == 0 {
			delete(of.calls, call)
		}
		if len(of.calls) == 0 && e.runs[run] == of {
			of.stop()
			delete(e.runs, run)
		}
	}
}

// look reads the entries of a run until nobody waits for its calls.
func (e *Ends) look(ctx context.Context, run string, of *endsOf) {
	for pause := shortestLook; ; pause = min(2*pause, longestLook) {
		err := e.Entries(ctx, store.Query{Run: run, Kinds: []string{Call}}, func(entry *Entry) error {
			if Ended(entry.State) || entry.State == Pending && entry.Reason != "" {
				e.tell(of, entry.Call, end{entry: entry})
			}
			return nil
		})
		if err != nil {
			e.fail(run, of, err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-of.added:
			pause = shortestLook / 2 // doubled before the next look
			continue
		case <-time.After(pause):
		}
	}
}

// Ended reports whether a call in that state has ended: the record gets no further entry about it.
func Ended(state string) bool {
	return slices.Contains([]string{OK, Failed, Refused, Unknown, NotSent}, state)
}

func (e *Ends) tell(of *endsOf, call int, got end) {
	e.mu.Lock()
	defer e.mu.Unlock()
	of.tell(call, got)
}

// tell must be called with the lock held.
func (of *endsOf) tell(call int, got end) {
	var left []waiting
	for _, w := range of.calls[call] {
		if got.err == nil && got.entry.State == Pending && !got.entry.Time.After(w.asked) {
			left = append(left, w) // it waits for the outcome of this very question
			continue
		}
		w.ended <- got
	}
	if of.calls[call] = left; len(left) == 0 {
		delete(of.calls, call)
	}
}

// fail reports an unreadable record to all waiting callers. The next call of Wait begins again.
func (e *Ends) fail(run string, of *endsOf, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for call := range of.calls {
		of.tell(call, end{err: err})
	}
	if e.runs[run] == of {
		of.stop()
		delete(e.runs, run)
	}
}
