package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/store"
)

// Options say where and how to keep a [Record].
type Options struct {
	// Open opens the database. The record calls it while the first entries wait, and retries while it fails.
	Open func(ctx context.Context) (*store.DB, error)
	// Key signs checkpoints and makes the digests of values that the record leaves out; required.
	Key *Key

	// Redact says what is secret under a profile in the calls of a tool, in addition to what is always secret; nil adds
	// nothing.
	Redact func(profile, tool string) Redaction
	// Secrets returns values that must not be in the record, in any text; nil returns none. The record calls it for
	// each entry, so it should be fast.
	Secrets func() []string
	// Word reports whether a text is part of the configuration or of the name of a tool. Such a text is no secret that the
	// record learns from a value, because to mask it would hide something else. Nil knows no words.
	Word func(text string) bool

	// Share is how many bytes the record takes of one owner in an hour, see [call.Entry.Owner]. Beyond half of it, entries
	// are lean; beyond it, calls and runs are refused. Zero is [DefaultShare].
	Share int64

	// Publish lists where checkpoints go. Without any, nobody can prove that the end of the record was cut off or that
	// all of it was rewritten.
	Publish []Publisher
	// Export receives each entry after it is on disk, in order; it must not wait. It may be nil.
	Export func(e *Entry)

	// Restored says that the database was filled from the backup of that moment; nil if it was not. The record begins a
	// chain with that, signed by RestoredBy, and never writes to the chains before it. Its Chains are filled in from the
	// database and from Published, the checkpoints that were published before.
	Restored   *Restoration
	RestoredBy *call.DecidedBy
	Published  []Checkpoint

	Now func() time.Time // nil is time.Now
	Log *slog.Logger     // nil discards
}

const (
	// maxBatch bounds how many entries one sync writes to disk.
	maxBatch = 512
	// maxQueue bounds how many entries wait; the caller with one more waits too.
	maxQueue = 8192
	// maxQueueBytes and maxBatchBytes bound the same by size, because one entry may have sealed megabytes.
	maxQueueBytes = 64 << 20
	maxBatchBytes = 16 << 20
	// writeWait bounds one attempt to write. A database that takes longer counts as unavailable.
	writeWait = 10 * time.Second
	// writtenWithin bounds how long a caller waits for its entry. It is shorter than one attempt: the caller refuses
	// the call, and the attempt continues, because its end shows when the database is back.
	writtenWithin = 4 * time.Second
	// undoWait bounds the attempt to record that a call was not made because its entry could not be written.
	undoWait = 500 * time.Millisecond
	// slowAfter is how long an attempt may take before later callers are refused at once. It is shorter than
	// writtenWithin, and than the limit of any other use of the store: a caller that was refused once does not wait
	// again with its next entry.
	slowAfter = 2500 * time.Millisecond
	// firstRetry is the wait before the first retry of a batch. Each failure doubles it, up to retryAfter.
	firstRetry = 10 * time.Millisecond
	retryAfter = 200 * time.Millisecond
	// downAfter is how many attempts in a row must fail before callers are refused without waiting for the next one.
	downAfter = 3
)

// errSlow is the error of an entry that the database did not accept in time.
var errSlow error = slow{}

type slow struct{}

func (slow) Error() string  { return "the database of the record does not answer" }
func (slow) Reason() string { return "the record did not answer in time" }

// errClosed is the error of a closed [Record].
var errClosed = errors.New("the record is closed")

// An item is an entry in the queue.
type item struct {
	entry *Entry
	draft *draft
	since time.Time  // when it entered the queue
	done  chan error // receives once; nil if nobody waits
	gone  bool       // the caller has stopped waiting; guarded by Record.mu
	stays bool       // it is about a past event: the record keeps it, whatever the caller's result
}

// later returns the item without a waiting caller.
func (it *item) later() *item { return &item{entry: it.entry, draft: it.draft, since: it.since} }

// size is about how many bytes the item takes.
func (it *item) size() int {
	if it.entry == nil {
		return 0
	}
	return len(it.draft.text) + len(it.entry.sealed)
}

// full reports whether a queue has no room.
func full(queue []*item) bool {
	bytes := 0
	for _, it := range queue {
		bytes += it.size()
	}
	return len(queue) >= maxQueue || bytes >= maxQueueBytes
}

// A Record writes entries. Many goroutines may call its methods.
type Record struct {
	options recordOptions
	log     *slog.Logger
	flood   flood
	share   share
	learned secrets.Learned

	ctx    context.Context // ends when Close gives up waiting
	cancel context.CancelFunc
	ended  chan struct{} // the writer has returned
	wake   chan struct{}
	space  chan struct{} // receives when the queue has become shorter

	mu     sync.Mutex
	queue  []*item
	closed bool
	lost   int            // entries without room until the database came back
	left   map[string]int // the same, by kind and state, until the record reports it
	down   error          // why the latest attempts failed; nil if the record can write
	began  time.Time      // of the attempt in progress; zero if there is none

	writer writer // used only by the writer's goroutine
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
	r := &Record{options: recordOptions{Options: o}, log: o.Log, left: map[string]int{}, ended: make(chan struct{}),
		wake: make(chan struct{}, 1), space: make(chan struct{}, 1)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.flood.runs = map[string]*floodRun{}
	r.share.most, r.share.owners = float64(cmp.Or(o.Share, DefaultShare)), map[string]*shareUse{}
	r.pub = newPublishing(o)
	r.writer.r = r
	go r.writer.run()
	return r
}

// recordOptions are Options, with the secrets prepared once.
type recordOptions struct {
	Options
	mu      sync.Mutex
	secrets []string
	values  *secrets.Values
}

func (o *recordOptions) redaction(profile, tool string) Redaction {
	if o.Redact == nil {
		return Redaction{}
	}
	return o.Redact(profile, tool)
}

// known returns the current secrets.
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

// Write records an entry and returns when it is on disk. After an error, the announced action must not happen: whether
// or not the entry reached the disk, the record then says that it did not happen.
//
// It returns within a few seconds, and at once while the record knows that the database is unavailable.
func (r *Record) Write(ctx context.Context, e call.Entry) error {
	return r.synced(ctx, e, &item{done: make(chan error, 1)})
}

// AddSynced records an entry about a past event and returns when it is on disk. It fails as soon as [Record.Write]
// does. Then the entry waits for the database like one of [Record.Add].
func (r *Record) AddSynced(ctx context.Context, e call.Entry) error {
	return r.synced(ctx, e, &item{done: make(chan error, 1), stays: true})
}

// synced puts an item into the queue and waits until it is on disk, or until that takes too long.
func (r *Record) synced(ctx context.Context, e call.Entry, entered *item) error {
	ctx, cancel := context.WithTimeoutCause(ctx, writtenWithin, errSlow)
	defer cancel()
	it, err := r.put(ctx, e, entered)
	if err != nil && asked(&e) {
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

// notMade is an item for a call without a running entry in the record: it says that the call was not made.
func (r *Record) notMade(e *Entry) *item {
	end := r.prepare(e.notMade(), false)
	return &item{entry: end, draft: end.draft()}
}

// undo records that a call was not made, if there is room for it.
func (r *Record) undo(e call.Entry) {
	ctx, cancel := context.WithTimeout(context.Background(), undoWait)
	defer cancel()
	if err := r.enqueue(ctx, r.notMade(&Entry{Entry: e})); err != nil {
		r.log.Warn("cannot record that a call was not made", "run", e.Run, "call", e.Call, "error", err)
	}
}

// Add records an entry about a past event. It does not wait for the disk; see [Record.Flush]. While the database is
// unavailable the entry waits. If too many wait, the record later says how many it does not have.
func (r *Record) Add(ctx context.Context, e call.Entry) error {
	_, err := r.put(ctx, e, &item{})
	return err
}

// put prepares an entry and queues it as item it. A nil result means that the entry was only counted.
func (r *Record) put(ctx context.Context, e call.Entry, it *item) (*item, error) {
	if e.Kind == Run && e.State != Running && e.State != Parked {
		for _, counted := range r.flood.rest(e.Run) {
			if _, err := r.put(ctx, counted, &item{}); err != nil {
				return nil, err
			}
		}
	}
	now := r.options.Now()
	fits, lean, err := r.share.admit(&e, now)
	if err != nil || !fits || !r.flood.admit(&e) {
		return nil, err
	}
	if e.Time.IsZero() {
		e.Time = now
	}
	it.entry = r.prepare(e, lean)
	it.draft = it.entry.draft()
	if alarm := r.share.spend(it.entry, it.size(), now); alarm != nil {
		r.log.Warn("the record grows: " + alarm.Detail)
		_, _ = r.put(ctx, *alarm, &item{})
	}
	return it, r.enqueue(ctx, it)
}

// Away says why the record cannot write at this moment; nil if it can, as far as it knows. Nothing waits.
func (r *Record) Away() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.away()
}

// away says why the database is unavailable, as far as the record knows; nil if it is available. The caller holds mu.
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
			return errClosed
		}
		full := full(r.queue)
		if away := r.away(); away != nil && (it.done != nil || full) {
			switch {
			case it.done != nil && !it.stays:
			case it.entry != nil && !full:
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
		if n := len(r.queue) + 1; !full {
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
		case <-time.After(spaceAgain): // nothing notifies of a database that becomes unavailable
		case <-r.ended:
			return errClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// spaceAgain is how often a caller that waits for room in the queue checks whether waiting is still useful.
const spaceAgain = 100 * time.Millisecond

// lose counts an entry that has no room. The caller holds mu.
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

// Flush returns when every earlier entry is on disk, or an attempt to write one failed.
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

// DB returns the database once it is open; only the Record may close it. DB returns within a few seconds, and at once
// while the record knows that the database is unavailable.
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

// Close writes the queue, publishes the end of the chain and closes the database. It may be called twice. When ctx ends
// first, or the database is unavailable, the rest of the queue is lost, and the error says so.
func (r *Record) Close(ctx context.Context) error {
	for _, e := range append(r.flood.rest(""), r.share.rest(r.options.Now, true)...) {
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
		case <-watch.C: // a process that ends does not wait for a database that is unavailable
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
		return fmt.Errorf("the record lost %d entries: %w", lost, r.db.err())
	}
	return nil
}

// A dbHolder shares the writer's database with other users.
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
		return errClosed
	}
	return h.last
}

// get returns the database if it is open.
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
			return nil, errClosed
		}
		return h.db, nil
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), h.err())
	}
}
