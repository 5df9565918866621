package approvals

import (
	"context"
	"time"
)

// bring passes a reply to decide. A reply after the end is late.
func (a *ask) bring(got reply) {
	if got.Err == nil && got.Allowed {
		got.told = a.round.allowed()
	}
	a.mu.Lock()
	late := a.ended
	if !late {
		a.replies <- got
	}
	a.mu.Unlock()
	if late {
		got.decidesNothing()
		a.late(got)
	}
}

// late reports an answer as late, unless another process has already reported or counted it.
func (a *ask) late(got reply) {
	if got.stored == nil && got.Err == nil && !a.keepForSuccessor(got) {
		a.reportLate(got)
	}
}

// keepForSuccessor stores an answer that arrives while this process hands over its run, for the process that takes the
// run over. It reports whether the answer is stored.
func (a *ask) keepForSuccessor(got reply) bool {
	if _, shared := a.store.(SharedStore); !shared || !a.leaving() {
		return false
	}
	ctx := context.Background()
	switch a.judge(&got) {
	case saidYes:
		_, err := a.allow(ctx, got)
		return err == nil
	case saidNo:
		return a.keep(ctx, a.request.ID, a.digest, got.toStore(false, "")) == nil
	}
	return false
}

// reportLate passes on an answer that decides nothing, so that it is recorded.
func (a *ask) reportLate(got reply) {
	if a.lateTo != nil {
		got.Channel, got.Took = got.name, time.Since(a.start)
		a.lateTo(a.request, got.Answer)
	}
}

// closeReplies makes every further reply a late one.
func (a *ask) closeReplies() {
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	for {
		select {
		case got := <-a.replies:
			got.decidesNothing()
			a.late(got)
		default:
			return
		}
	}
}

// afterYeses waits until every yes given so far is delivered, here or through a shared store. A yes that a no overrules
// is not delivered.
func (a *ask) afterYeses(ctx context.Context) {
	if store, ok := a.store.(SharedStore); ok {
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
