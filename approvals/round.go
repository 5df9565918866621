package approvals

import (
	"context"
	"sync"
)

// A round is the questions that are put at the same moment. What people allow of them takes effect before what they
// refuse later, or with the same form: a refusal may end the program that asked.
type round struct {
	asks []*ask

	mu   sync.Mutex
	open int           // yeses that were given, and not told yet
	none chan struct{} // closed when open is 0
}

func newRound() *round {
	r := &round{none: make(chan struct{})}
	close(r.none)
	return r
}

// allowed counts a yes; told says that whoever asked has been told of it, or that it does not count.
func (r *round) allowed() (told func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open++; r.open == 1 {
		r.none = make(chan struct{})
	}
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.open--; r.open == 0 {
			close(r.none)
		}
	})
}

// afterYeses waits until every yes that was given so far has been told, here or over a store that others share.
func (a *ask) afterYeses(ctx context.Context) {
	if store, ok := a.desk.store().(SharedStore); ok {
		reading, cancel := context.WithTimeout(ctx, storeWait)
		defer cancel()
		for _, other := range a.round.asks {
			if other == a || other.failed != nil || other.isOver() {
				continue
			}
			if p, err := store.Find(reading, other.request.ID); err == nil && p.Allowed {
				select {
				case <-other.told:
				case <-reading.Done():
				}
			}
		}
	}
	a.round.mu.Lock()
	none := a.round.none
	a.round.mu.Unlock()
	select {
	case <-none:
	case <-ctx.Done():
	}
}

func (a *ask) isOver() bool {
	select {
	case <-a.told:
		return true
	default:
		return false
	}
}
