package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/store"
)

// Options say where and how a [Record] is kept.
type Options struct {
	// Open opens the database. It is called beside the first entries, and again as long as it fails.
	Open func(ctx context.Context) (*store.DB, error)
	// Key signs checkpoints and makes the digests of values that are left out; required.
	Key *Key

	// Redact says what is secret under a profile, beside what always is; nil adds nothing.
	Redact func(profile string) Redaction
	// Secrets are values that must not be in the record, wherever they come from; nil knows none.
	// It is called for each entry and should be fast.
	Secrets func() []string

	// Publish is where checkpoints go. With none, nothing shows that the end of the record was cut off,
	// or all of it was rewritten.
	Publish []Publisher
	// Export is given each entry after it was stored, in order; it must not wait. Nil is nobody.
	Export func(e *Entry)

	Now func() time.Time // nil is time.Now
	Log *slog.Logger     // nil discards
}

const (
	// maxBatch bounds how many entries one sync puts on the disk.
	maxBatch = 512
	// maxQueue bounds how many entries wait; whoever brings more waits too.
	maxQueue = 8192
	// writeWait bounds one attempt to write. A database that takes longer counts as one that cannot be written.
	writeWait = 10 * time.Second
	// writtenWithin bounds how long whoever brings an entry waits for it. It is shorter than one attempt: a call is refused,
	// and the attempt goes on, since its end tells when the database is back.
	writtenWithin = 4 * time.Second
	// undoWait bounds how long it is tried to say that a call was not made which could not be recorded.
	undoWait = 500 * time.Millisecond
	// slowAfter is how long an attempt takes before who comes meanwhile is refused at once. It is shorter than
	// writtenWithin, and than what the store gives each other use: who was refused once does not wait again with the
	// next entry.
	slowAfter = 2500 * time.Millisecond
	// firstRetry is when a batch that could not be written is tried again. Each failure doubles it, up to retryAfter.
	firstRetry = 10 * time.Millisecond
	retryAfter = 200 * time.Millisecond
	// downAfter is how many attempts in a row fail before entries are refused without waiting for the next one.
	downAfter = 3
)

// errSlow refuses an entry that the database takes too long for.
var errSlow error = slow{}

type slow struct{}

func (slow) Error() string  { return "the database of the record does not answer" }
func (slow) Reason() string { return "the record did not answer in time" }

// ErrClosed is the error of a [Record] that was closed.
var ErrClosed = errors.New("the record is closed")

// An item is an entry in the queue.
type item struct {
	entry *Entry
	draft *draft
	since time.Time  // when it came into the queue
	done  chan error // receives once; nil when nobody waits
	gone  bool       // whoever waited does not any more; guarded by Record.mu
	stays bool       // what it is about has happened: it is kept, whatever whoever waits is told
}

// later is the item without whoever waits for it.
func (it *item) later() *item { return &item{entry: it.entry, draft: it.draft, since: it.since} }

// A Record writes entries. Its methods may be called from many goroutines.
type Record struct {
	options recordOptions
	log     *slog.Logger
	flood   flood
	learned secrets.Learned

	ctx    context.Context // ends when Close gives up waiting
	cancel context.CancelFunc
	ended  chan struct{} // the writer has returned
	wake   chan struct{}
	space  chan struct{} // receives when the queue has become shorter

	mu     sync.Mutex
	queue  []*item
	closed bool
	lost   int            // entries that could not be kept until the database came back
	left   map[string]int // the same, by kind and state, as long as the record does not say so
	down   error          // the latest attempts failed with this; nil if the database can be written
	began  time.Time      // of the attempt that is under way; zero if there is none

	writer writer // touched by the writer's goroutine only
	db     dbHolder
	pub    *publishing
}

// New makes a Record and begins to open its database.
func New(o Options) *Record {
	if o.Open == nil || o.Key == nil {
		panic("audit: a Record needs Open and a Key")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r := &Record{options: recordOptions{Options: o}, log: o.Log, left: map[string]int{}, ended: make(chan struct{}), wake: make(chan struct{}, 1), space: make(chan struct{}, 1)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.flood.runs = map[string]*floodRun{}
	r.pub = newPublishing(o)
	r.writer.r = r
	go r.writer.run()
	return r
}

// recordOptions keep what is worked out once of Options.
type recordOptions struct {
	Options
	mu      sync.Mutex
	secrets []string
	values  *secrets.Values
}

func (o *recordOptions) redaction(profile string) Redaction {
	if o.Redact == nil {
		return Redaction{}
	}
	return o.Redact(profile)
}

// known gives the secrets of now.
func (o *recordOptions) known() *secrets.Values {
	if o.Secrets == nil {
		return nil
	}
	now := o.Secrets()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(now) != len(o.secrets) || len(now) > 0 && &now[0] != &o.secrets[0] {
		o.secrets, o.values = now, secrets.Known(now, secrets.Mask)
	}
	return o.values
}

// Write keeps an entry and returns when it is on the disk. An error means that what the entry
// announces must not happen: whether or not it got to the disk, the record then says that it did not.
//
// It returns within a few seconds, and at once while the database is known to be away.
func (r *Record) Write(ctx context.Context, e Entry) error {
	return r.synced(ctx, e, &item{done: make(chan error, 1)})
}

// AddSynced keeps an entry about something that has happened and returns when it is on the disk. After an error, which
// comes as soon as that of [Record.Write], the entry waits for the database like one of [Record.Add].
func (r *Record) AddSynced(ctx context.Context, e Entry) error {
	return r.synced(ctx, e, &item{done: make(chan error, 1), stays: true})
}

// synced enters an item and waits until it is on the disk, or until it took too long.
func (r *Record) synced(ctx context.Context, e Entry, entered *item) error {
	ctx, cancel := context.WithTimeoutCause(ctx, writtenWithin, errSlow)
	defer cancel()
	it, err := r.put(ctx, e, entered)
	if err != nil && e.asked() {
		r.undo(e)
	}
	if err != nil || it == nil {
		return err
	}
	select {
	case err := <-it.done:
		return err
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case err := <-it.done: // it was faster after all
		return err
	default:
		it.gone = !it.stays
		return context.Cause(ctx)
	}
}

// notMade is an item that says that a call was not made whose running entry could not be kept.
func (r *Record) notMade(e *Entry) *item {
	end := r.prepare(e.notMade())
	return &item{entry: end, draft: end.draft()}
}

// undo enters that a call was not made, if there is room for it.
func (r *Record) undo(e Entry) {
	ctx, cancel := context.WithTimeout(context.Background(), undoWait)
	defer cancel()
	if err := r.enqueue(ctx, r.notMade(&e)); err != nil {
		r.log.Warn("the record does not say that a call was not made", "run", e.Run, "call", e.Call, "error", err)
	}
}

// Add keeps an entry about something that has happened. It does not wait for the disk; see [Record.Flush].
// While the database cannot be written the entry waits. If too many do, the record says later how many it does not have.
func (r *Record) Add(ctx context.Context, e Entry) error {
	_, err := r.put(ctx, e, &item{})
	return err
}

// put prepares an entry and puts it into the queue as it; nil means that it was counted instead.
func (r *Record) put(ctx context.Context, e Entry, it *item) (*item, error) {
	if e.Kind == Run && e.State != Running && e.State != Parked {
		for _, counted := range r.flood.rest(e.Run) {
			if _, err := r.put(ctx, counted, &item{}); err != nil {
				return nil, err
			}
		}
	}
	if !r.flood.admit(&e) {
		return nil, nil
	}
	it.entry = r.prepare(e)
	it.draft = it.entry.draft()
	return it, r.enqueue(ctx, it)
}

// away says why the database cannot be written at the moment, as far as that is known; nil if it can. The caller holds mu.
func (r *Record) away() error {
	if r.down == nil && !r.began.IsZero() && time.Since(r.began) > slowAfter {
		return errSlow
	}
	return r.down
}

func (r *Record) enqueue(ctx context.Context, it *item) error {
	for {
		r.mu.Lock()
		if r.closed {
			r.mu.Unlock()
			return ErrClosed
		}
		if away := r.away(); away != nil && (it.done != nil || len(r.queue) >= maxQueue) {
			switch {
			case it.done != nil && !it.stays:
			case it.entry != nil && len(r.queue) < maxQueue:
				it.since = time.Now()
				r.queue = append(r.queue, it.later())
			case it.entry != nil:
				r.lose(it)
			}
			r.mu.Unlock()
			if it.done == nil {
				return nil
			}
			return away
		}
		if n := len(r.queue) + 1; n <= maxQueue {
			it.since = time.Now()
			r.queue = append(r.queue, it)
			more := n < maxQueue
			r.mu.Unlock()
			if it.done != nil || n == 1 || n >= maxBatch {
				notify(r.wake)
			}
			if more {
				notify(r.space)
			}
			return nil
		}
		r.mu.Unlock()
		select {
		case <-r.space:
		case <-time.After(spaceAgain): // that the database is away is no news
		case <-r.ended:
			return ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// spaceAgain is how often who waits for room in the queue looks whether there is any sense in it.
const spaceAgain = 100 * time.Millisecond

// lose counts an entry for which there is no room. The caller holds mu.
func (r *Record) lose(it *item) {
	r.left[it.entry.Kind+" "+it.entry.State]++
	r.lost++
}

func notify(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Flush returns when every entry that was added before is on the disk, or the attempt to put it there failed.
func (r *Record) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, writtenWithin, errSlow)
	defer cancel()
	it := &item{done: make(chan error, 1)} // an empty item: it passes when its turn comes
	if err := r.enqueue(ctx, it); err != nil {
		return err
	}
	select {
	case err := <-it.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// DB gives the database once it is open; it may be closed with the Record only. It returns within a few seconds, and at
// once while the database is known to be away.
func (r *Record) DB(ctx context.Context) (*store.DB, error) {
	if db := r.db.get(); db != nil {
		return db, nil
	}
	r.mu.Lock()
	away := r.away()
	r.mu.Unlock()
	if away != nil {
		return nil, away
	}
	ctx, cancel := context.WithTimeoutCause(ctx, writtenWithin, errSlow)
	defer cancel()
	return r.db.wait(ctx)
}

// Close writes what is queued, publishes the end of the chain and closes the database. It may be called
// twice. When ctx ends first, or the database is away, what was not written is lost, which the error says.
func (r *Record) Close(ctx context.Context) error {
	for _, e := range r.flood.rest("") {
		_ = r.Add(ctx, e)
	}
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	notify(r.wake)
	defer context.AfterFunc(ctx, r.cancel)()
	watch := time.NewTicker(firstRetry)
	defer watch.Stop()
	for open := true; open; {
		select {
		case <-r.ended:
			open = false
		case <-watch.C: // whoever ends does not wait for a database that is away
			r.mu.Lock()
			wait := writtenWithin
			if r.down != nil {
				wait = lastWait
			}
			if !r.began.IsZero() && time.Since(r.began) > wait {
				r.cancel()
			}
			r.mu.Unlock()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	lost := r.lost
	r.lost = 0
	if lost > 0 {
		return fmt.Errorf("%d entries of the record could not be written: %w", lost, r.db.err())
	}
	return nil
}

// A dbHolder hands the database from the writer to everybody else.
type dbHolder struct {
	mu    sync.Mutex
	db    *store.DB
	last  error
	ready chan struct{} // closed when db is set
	over  bool
}

func (h *dbHolder) channel() chan struct{} {
	if h.ready == nil {
		h.ready = make(chan struct{})
	}
	return h.ready
}

func (h *dbHolder) set(db *store.DB) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.db, h.last = db, nil
	close(h.channel())
}

func (h *dbHolder) failed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = err
}

func (h *dbHolder) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil {
		return ErrClosed
	}
	return h.last
}

// get gives the database if it is open.
func (h *dbHolder) get() *store.DB {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return nil
	}
	return h.db
}

func (h *dbHolder) wait(ctx context.Context) (*store.DB, error) {
	h.mu.Lock()
	ready := h.channel()
	h.mu.Unlock()
	select {
	case <-ready:
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.over {
			return nil, ErrClosed
		}
		return h.db, nil
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), h.err())
	}
}
