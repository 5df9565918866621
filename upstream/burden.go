package upstream

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// muchProcessor is how much of one a server may take while nobody waits for it, before a person is told, and before it
// has to give way to others.
const muchProcessor = 0.5

// lookPause is how long it is at least from one look at all processes to the next, each of which takes a millisecond or two.
const lookPause = 5 * time.Second

// load is what a look needs to know of a server.
type load struct {
	group   int  // of its processes, 0 if there are none of ours
	awaited bool // somebody waits for an answer of it
}

// burden is what is known of the processor time that servers take.
type burden struct {
	looked atomic.Int64 // when, in Unix nanoseconds

	mu     sync.Mutex
	last   look
	behind map[int]bool // the process groups that give way
}

// A look is at all servers, and at the processor time that each process group has used so far.
type look struct {
	at   time.Time
	all  []Status
	used map[int]time.Duration
}

func (m *Manager) look() look { return look{all: m.Status(), used: processorTimes(), at: time.Now()} }

// compare finds for [Status.Processor] what each server's processes took of a processor since an earlier look, if nobody
// waited for the server at either.
func (l look) compare(before look) {
	for i := range l.all {
		s := &l.all[i]
		idle := load{group: s.load.group}
		if s.load.group != 0 && s.load == idle && slices.ContainsFunc(before.all, func(b Status) bool { return b.load == idle }) {
			s.Processor = max(0, float64(l.used[s.load.group]-before.used[s.load.group])/float64(l.at.Sub(before.at)))
		}
	}
}

// due reports, to one of all who ask at the same time, whether it is time for a look.
func (b *burden) due() bool {
	last, now := b.looked.Load(), time.Now().UnixNano()
	return now-last >= int64(lookPause) && b.looked.CompareAndSwap(last, now)
}

// relieve has servers give way to all others that took much of a processor since the last look and were not asked for anything,
// and takes that back from those that no longer do. It does something while calls are made only: else nobody is disturbed.
func (m *Manager) relieve() {
	b := &m.burden
	b.mu.Lock()
	defer b.mu.Unlock()
	now, behind := m.look(), map[int]bool{}
	now.compare(b.last)
	for _, s := range now.all {
		switch group := s.load.group; {
		case s.Processor >= muchProcessor:
			if behind[group] = true; !b.behind[group] {
				giveWay(group, true)
			}
		case b.behind[group]:
			giveWay(group, false)
		}
	}
	b.last, b.behind = now, behind
}

// Observe is [Manager.Status] after a look at what the servers compute while nobody waits for them, for
// [Status.Processor]. The look takes a tenth of a second, and a whole one more if a server computes then; it ends
// with ctx. Systems other than Linux tell nothing, nor do servers over HTTP.
func (m *Manager) Observe(ctx context.Context) []Status {
	all := m.observe(ctx, time.Second/10)
	if slices.ContainsFunc(all, func(s Status) bool { return s.Processor >= muchProcessor }) {
		all = m.observe(ctx, time.Second)
	}
	return all
}

func (m *Manager) observe(ctx context.Context, d time.Duration) []Status {
	before := m.look()
	if len(before.used) == 0 || !slices.ContainsFunc(before.all, func(s Status) bool { return s.load.group != 0 }) {
		return before.all
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return before.all
	}
	after := m.look()
	after.compare(before)
	return after.all
}
