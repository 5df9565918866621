package server

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// refusalsAMinute is how many refusals are recorded one by one in a minute; the rest are counted.
	refusalsAMinute = 20
	// admittedAgain is how long it takes until the same client is recorded once more.
	admittedAgain = time.Hour
	// maxAdmitted bounds how many clients are remembered for that.
	maxAdmitted = 1000
)

// An accessLog records who was let in and who was not, without letting anybody fill the record.
type accessLog struct {
	record func(ctx context.Context, principal, client, state, detail string)

	mu        sync.Mutex
	admitted  map[string]time.Time
	refusals  int // in the minute that the timer ends
	uncounted int
	timer     *time.Timer
}

func newAccessLog(record func(ctx context.Context, principal, client, state, detail string)) *accessLog {
	return &accessLog{record: record, admitted: map[string]time.Time{}}
}

// admit records that a client was let in, once in a while.
func (l *accessLog) admit(ctx context.Context, principal, client, address string) {
	key := fmt.Sprintf("%q", []string{principal, client, address})
	now := time.Now()
	l.mu.Lock()
	last, known := l.admitted[key]
	fresh := !known || now.Sub(last) >= admittedAgain
	if fresh {
		if len(l.admitted) >= maxAdmitted {
			clear(l.admitted)
		}
		l.admitted[key] = now
	}
	l.mu.Unlock()
	if fresh {
		l.record(ctx, principal, client, "admitted", "over HTTP from "+address)
	}
}

// refused records that a request was turned away.
func (l *accessLog) refused(ctx context.Context, principal, address, state string) {
	l.mu.Lock()
	if l.timer == nil {
		l.timer = time.AfterFunc(time.Minute, l.flush)
	}
	l.refusals++
	alone := l.refusals <= refusalsAMinute
	if !alone {
		l.uncounted++
	}
	l.mu.Unlock()
	if alone {
		l.record(ctx, principal, "", state, "over HTTP from "+address)
	}
}

// flush ends the minute: it records how many refusals were not.
func (l *accessLog) flush() {
	l.mu.Lock()
	n := l.uncounted
	l.refusals, l.uncounted = 0, 0
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	l.mu.Unlock()
	if n > 0 {
		l.record(context.Background(), "", "", "refused", fmt.Sprintf("%d more requests within a minute were turned away", n))
	}
}
