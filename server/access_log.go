package server

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// entriesAMinute is how many refusals of one caller are recorded one by one in a minute; the rest are counted.
	entriesAMinute = 20
	// newcomersAnHour is how many clients of one owner are recorded one by one in an hour; the rest are counted.
	newcomersAnHour = 50
	// admittedAgain is how long until the same client is recorded again.
	admittedAgain = time.Hour
	// maxAdmitted bounds how many clients are remembered for that.
	maxAdmitted = 1000
	// maxCallers bounds how many callers are counted apart in a minute. The others are counted together.
	maxCallers = 200
)

// An accessLog records which clients were let in and which were refused, so that no caller can fill the record or use up
// what is for others. Decisions of profiles are recorded elsewhere, and always.
type accessLog struct {
	record func(ctx context.Context, principal, client, state, detail string)

	mu        sync.Mutex
	admitted  map[string]time.Time
	newcomers map[string]int // in the hour that began at since, by owner
	since     time.Time
	callers   map[string]*entries // in the minute that ends with the timer
	timer     *time.Timer
}

// entries counts those about one caller in a minute.
type entries struct {
	principal, address string
	n, uncounted       int
}

func newAccessLog(record func(ctx context.Context, principal, client, state, detail string)) *accessLog {
	return &accessLog{record: record, admitted: map[string]time.Time{}, newcomers: map[string]int{}, callers: map[string]*entries{}}
}

// admit records that a client was let in, once an hour for each client. owner is whose newcomers it counts with.
func (l *accessLog) admit(ctx context.Context, owner, principal, client, address string) {
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
		l.newcomers[owner]++ // owners are bounded by the configuration's tokens
		alone = l.newcomers[owner] <= newcomersAnHour
		if len(l.admitted) >= maxAdmitted {
			clear(l.admitted)
		}
		if alone {
			l.admitted[key] = now
		} else {
			l.count(owner, address).uncounted++
		}
	}
	l.mu.Unlock()
	if alone {
		l.record(ctx, principal, client, "admitted", "over HTTP from "+address)
	}
}

// refused records that a request was refused.
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

// count finds the entries about a caller: a principal, or an address without one. The caller of count holds mu.
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

// flush ends the minute: it records how many entries were only counted.
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
