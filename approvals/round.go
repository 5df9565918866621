package approvals

import (
	"context"
	"sync"
)

// A round is the questions that are asked at the same moment. Approvals take effect before refusals that come later or
// in the same form: a refusal may end the program that asked.
type round struct {
	asks []*ask

	mu   sync.Mutex
	open int           // yeses that were given and not yet delivered
	none chan struct{} // closed when open is 0
}

func newRound() *round {
	r := &round{none: make(chan struct{})}
	close(r.none)
	return r
}

// allowed counts a yes. Call told when the asker has received it, or when it does not count.
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

// afterYeses waits until every yes given so far is delivered, here or through a shared store. A yes that a no overrules
// is not delivered.
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
				case <-other.no:
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
