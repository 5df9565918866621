package server

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// entriesAMinute is how many entries of one caller about who was let in and who was not are recorded one by one in a minute; the
	// rest are counted.
	entriesAMinute = 20
	// newcomersAnHour is how many clients of one share are recorded one by one in an hour; the rest are counted.
	newcomersAnHour = 50
	// admittedAgain is how long it takes until the same client is recorded once more.
	admittedAgain = time.Hour
	// maxAdmitted bounds how many clients are remembered for that, of all principals together.
	maxAdmitted = 1000
	// maxCallers bounds how many callers are told apart in a minute. Those beyond it are counted together.
	maxCallers = 200
)

// An accessLog records who was let in and who was not, without letting anybody fill the record, or use up what is for others.
// What a profile decides is recorded elsewhere, and always.
type accessLog struct {
	record func(ctx context.Context, principal, client, state, detail string)

	mu        sync.Mutex
	admitted  map[string]time.Time
	newcomers map[string]int // in the hour that began at since, by share
	since     time.Time
	callers   map[string]*entries // in the minute that the timer ends
	timer     *time.Timer
}

// entries are those about one caller in a minute.
type entries struct {
	principal, address string
	n, uncounted       int
}

func newAccessLog(record func(ctx context.Context, principal, client, state, detail string)) *accessLog {
	return &accessLog{record: record, admitted: map[string]time.Time{}, newcomers: map[string]int{}, callers: map[string]*entries{}}
}

// admit records that a client was let in, once in a while. share is whose newcomers are counted with it.
func (l *accessLog) admit(ctx context.Context, share, principal, client, address string) {
	key := fmt.Sprintf("%q", []string{principal, client, address})
	now := time.Now()
	l.mu.Lock()
	last, known := l.admitted[key]
	fresh := !known || now.Sub(last) >= admittedAgain
	alone := false
	if fresh {
		if now.Sub(l.since) >= admittedAgain {
			clear(l.newcomers)
			l.since = now
		}
		l.newcomers[share]++ // shares are bounded by the configuration's tokens
		alone = l.newcomers[share] <= newcomersAnHour
		if len(l.admitted) >= maxAdmitted {
			clear(l.admitted)
		}
		if alone {
			l.admitted[key] = now
		} else {
			l.count(share, address).uncounted++
		}
	}
	l.mu.Unlock()
	if alone {
		l.record(ctx, principal, client, "admitted", "over HTTP from "+address)
	}
}

// refused records that a request was turned away.
func (l *accessLog) refused(ctx context.Context, principal, address, state string) {
	l.mu.Lock()
	e := l.count(principal, address)
	e.n++
	alone := e.n <= entriesAMinute
	if !alone {
		e.uncounted++
	}
	l.mu.Unlock()
	if alone {
		l.record(ctx, principal, "", state, "over HTTP from "+address)
	}
}

// count gives the entries about a caller: a principal, or an address of which nobody knows more. The caller holds mu.
func (l *accessLog) count(principal, address string) *entries {
	if l.timer == nil {
		l.timer = time.AfterFunc(time.Minute, l.flush)
	}
	key := cmp.Or(principal, "from "+address)
	if l.callers[key] == nil {
		if len(l.callers) >= maxCallers {
			key, principal, address = "others", "", "several addresses"
		}
		if l.callers[key] == nil {
			l.callers[key] = &entries{principal: principal, address: address}
		}
	}
	return l.callers[key]
}

// flush ends the minute: it records how many entries were not.
func (l *accessLog) flush() {
	l.mu.Lock()
	ended := l.callers
	l.callers = map[string]*entries{}
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	l.mu.Unlock()
	for _, e := range ended {
		if e.uncounted > 0 {
			l.record(context.Background(), e.principal, "", "counted", fmt.Sprintf("%d more times within a minute somebody was let in or turned away over HTTP from %s", e.uncounted, e.address))
		}
	}
}
