package upstream

import "time"

// How much unasked traffic of one server is dealt with at once, and how much
// in a second after that. More has to wait in its pipe, so that a server that
// floods us takes about a percent of a processor and the time of no other server.
const (
	paceBurst = 5_000 // messages, or kilobytes of them
	paceRate  = 1_000
)

// paceNap is the least that is slept: less would cost more than it saves.
const paceNap = 100 * time.Millisecond

// A pace slows down whoever reads from one server.
type pace struct {
	spent int // of paceBurst
	since time.Time
	sleep func(time.Duration) // nil is time.Sleep
}

// spend notes a message of so many bytes, and waits if there were too many.
func (p *pace) spend(bytes int) {
	if p.since.IsZero() {
		p.since = time.Now()
	}
	if p.spent += 1 + bytes/1024; p.spent < paceBurst {
		return
	}
	now := time.Now()
	earned := int(min(now.Sub(p.since), time.Hour) * paceRate / time.Second)
	if earned > 0 {
		p.spent, p.since = max(p.spent-earned, 0), now
	}
	over := time.Duration(p.spent-paceBurst) * time.Second / paceRate
	switch {
	case over < paceNap:
	case p.sleep != nil:
		p.sleep(over)
	default:
		time.Sleep(over)
	}
}

// sleepUntil sleeps for a time, or until the end.
func sleepUntil(d time.Duration, end <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-end:
	}
}
