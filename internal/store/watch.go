package store

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"time"
)

const (
	Approvals = "approvals"
	Parked    = "parked"
	Outcomes  = "outcomes"
	Seats     = "seats"

	grantsTable   = "grants"
	overlaysTable = "overlays"
	keysTable     = "keys" // is not watched, like those that follow
	resultsTable  = "results"
	chunksTable   = "result_chunks"
	sessionsTable = "sessions"
	versionsTable = "session_versions"
)

// pollEvery is how often a process checks an SQLite file for changes of others.
const pollEvery = 200 * time.Millisecond

// watchers learn that something changed. They read themselves what it was, so one notice covers any number of changes,
// and none is lost.
type watchers struct {
	mu     sync.Mutex
	all    map[chan struct{}][]string
	first  chan struct{} // receives when somebody begins to watch
	closed bool
}

func (w *watchers) began() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first == nil {
		w.first = make(chan struct{}, 1)
	}
	return w.first
}

func (w *watchers) add(tables []string) (changed <-chan struct{}, stop func()) {
	ch := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		close(ch)
		return ch, func() {}
	}
	if w.all == nil {
		w.all = map[chan struct{}][]string{}
	}
	w.all[ch] = tables
	select {
	case w.first <- struct{}{}:
	default: // nobody waits for that, or it is there already
	}
	return ch, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if _, there := w.all[ch]; there {
			delete(w.all, ch)
			close(ch)
		}
	}
}

// tell notifies those that watch t; "" notifies all.
func (w *watchers) tell(t string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch, tables := range w.all {
		for _, of := range tables {
			if t == "" || of == t {
				select {
				case ch <- struct{}{}:
				default: // it has not looked since the last notice
				}
				break
			}
		}
	}
}

// watches reports whether somebody watches t; "" is any table.
func (w *watchers) watches(t string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, tables := range w.all {
		if t == "" || slices.Contains(tables, t) {
			return true
		}
	}
	return false
}

func (w *watchers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for ch := range w.all {
		close(ch)
	}
	w.all = nil
}

// A poller queries one connection repeatedly: values of data_version are comparable on one connection only.
type poller struct {
	conns *connections
	watch *watchers
	conn  *sql.Conn // written under connections.gate
	of    *sql.DB
	last  int64
}

// run detects changes of the file by other processes, and checks its health.
func (p *poller) run(ctx context.Context) {
	defer p.drop()
	looked := time.Now()
	for {
		began := p.watch.began() // before the check whether anybody watches
		wait, watched := healthEvery, p.watch.watches("")
		if watched {
			wait = pollEvery
		}
		select {
		case <-ctx.Done():
			return
		case <-began:
			continue
		case <-time.After(wait):
		}
		if !watched || p.poll(ctx) != nil {
			p.drop()
		}
		if time.Since(looked) >= healthEvery && p.conns.used.Swap(false) && !p.conns.options.ReadOnly {
			looked = time.Now()
			p.conns.look(ctx)
		}
	}
}

func (p *poller) poll(ctx context.Context) error {
	pool, done, err := p.conns.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	if pool != p.of {
		p.close()
		if p.conn, err = pool.Conn(ctx); err != nil {
			p.conn = nil
			return err
		}
		p.of, p.last = pool, -1
		p.conns.keep(p, p.close)
	}
	var version int64
	if err := p.conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
		return err
	}
	if version != p.last {
		p.last = version
		p.watch.tell("")
	}
	return nil
}

func (p *poller) drop() {
	p.conns.keep(p, nil)
	p.close()
}

func (p *poller) close() {
	if p.conn != nil {
		p.conn.Close()
	}
	p.conn, p.of = nil, nil
}
