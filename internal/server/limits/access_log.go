package limits

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// entriesAMinute is how many refusals of one caller the log records one by one in a minute; it counts the rest.
	entriesAMinute = 20
	// newcomersAnHour is how many clients of one owner the log records one by one in an hour; it counts the rest.
	newcomersAnHour = 50
	// admittedAgain is the time until the log records the same client again.
	admittedAgain = time.Hour
	// maxAdmitted bounds how many clients the log remembers for that.
	maxAdmitted = 1000
	// maxCallers bounds how many callers the log counts separately in a minute. It counts the others together.
	maxCallers = 200
)

// An AccessLog records which clients were admitted and which were refused. No caller can fill the record, or use up the
// share of others. Other code records the decisions of profiles, without exception.
type AccessLog struct {
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

// NewAccessLog makes an AccessLog that records with a function. Many goroutines may call the function.
func NewAccessLog(record func(ctx context.Context, principal, client, state, detail string)) *AccessLog {
	return &AccessLog{
		record: record, admitted: map[string]time.Time{}, newcomers: map[string]int{}, callers: map[string]*entries{},
	}
}

// Admit records that a client was admitted, once an hour for each client. The client counts among the newcomers of
// owner.
func (l *AccessLog) Admit(ctx context.Context, owner, principal, client, address string) {
	if l.newcomer(owner, fmt.Sprintf("%q", []string{principal, client, address}), address) {
		l.record(ctx, principal, client, "admitted", "over HTTP from "+address)
	}
}

// newcomer reports whether to record a client by itself. If its owner has too many, newcomer only counts it.
func (l *AccessLog) newcomer(owner, key, address string) bool {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, known := l.admitted[key]; known && now.Sub(last) < admittedAgain {
		return false
	}
	if now.Sub(l.since) >= admittedAgain {
		clear(l.newcomers)
		l.since = now
	}
	if len(l.admitted) >= maxAdmitted {
		clear(l.admitted)
	}
	if l.newcomers[owner]++; l.newcomers[owner] > newcomersAnHour { // the configuration's tokens bound the owners
		l.count(owner, address).uncounted++
		return false
	}
	l.admitted[key] = now
	return true
}

// Refused records a refused request.
func (l *AccessLog) Refused(ctx context.Context, principal, address, state string) {
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
func (l *AccessLog) count(principal, address string) *entries {
	if l.timer == nil {
		l.timer = time.AfterFunc(time.Minute, l.Flush)
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

// Flush ends the minute: it records the number of entries that were only counted.
func (l *AccessLog) Flush() {
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
			l.record(context.Background(), e.principal, "", "counted",
				fmt.Sprintf("%d more times within a minute somebody was let in or turned away over HTTP from %s", e.uncounted,
					e.address))
		}
	}
}
