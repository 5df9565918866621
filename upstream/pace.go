package upstream

import (
	"io"
	"time"
)

// What a server sends costs it points: one for each kilobyte and, for each message, how much work it makes.
// It has paceBurst of them, and earns paceRate in a second. More has to wait in its pipe, so that a
// server that floods us takes about a percent of a processor and the time of no other server.
const (
	paceBurst = 10_000
	paceRate  = 1_000

	unasked = 5 // a message that nobody asked for
	awaited = 1 // a message for somebody who waits, such as the progress of a call; what is written to stderr
)

// paceNap is the least that is slept: less would cost more than it saves.
const paceNap = 100 * time.Millisecond

// A pacedReader reads from one server, and lets it wait when it has sent too much. It does so before it
// reads, so that what was read together is dealt with together: each message by itself would cost us, and the server,
// twenty times as much.
type pacedReader struct {
	from  io.Reader
	spent int // of paceBurst
	since time.Time
	sleep func(time.Duration) // nil is time.Sleep
}

// spend notes a message of so many bytes.
func (p *pacedReader) spend(points, bytes int) {
	if p.spent == 0 {
		p.since = time.Now()
	}
	p.spent += points + bytes/1024
}

// Read implements [io.Reader].
func (p *pacedReader) Read(b []byte) (int, error) {
	p.rest()
	return p.from.Read(b)
}

func (p *pacedReader) rest() {
	if p.spent < paceBurst {
		return
	}
	now := time.Now()
	if earned := int(min(now.Sub(p.since), time.Hour) * paceRate / time.Second); earned > 0 {
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
