package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

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
	// retryAfter is when entries that nobody waits for are tried again.
	retryAfter = 500 * time.Millisecond
)

// ErrClosed is the error of a [Record] that was closed.
var ErrClosed = errors.New("the record is closed")

// An item is an entry in the queue.
type item struct {
	entry *Entry
	draft *draft
	since time.Time  // when it came into the queue
	done  chan error // receives once; nil when nobody waits
	gone  bool       // whoever waited does not any more; guarded by Record.mu
}

// A Record writes entries. Its methods may be called from many goroutines.
type Record struct {
	options recordOptions
	log     *slog.Logger
	flood   flood
	learned learned

	ctx    context.Context // ends when Close gives up waiting
	cancel context.CancelFunc
	ended  chan struct{} // the writer has returned
	wake   chan struct{}
	space  chan struct{} // receives when the queue has become shorter

	mu     sync.Mutex
	queue  []*item
	closed bool
	lost   int // entries that could not be kept until the database came back

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
	r := &Record{options: recordOptions{Options: o}, log: o.Log, ended: make(chan struct{}), wake: make(chan struct{}, 1), space: make(chan struct{}, 1)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.flood.runs = map[string]*floodRun{}
	r.learned.runs = map[string]*learnedRun{}
	r.pub = newPublishing(o)
	r.writer.r = r
	go r.writer.run()
	return r
}

// recordOptions keep what is worked out once of Options.
type recordOptions struct {
	Options
	mu       sync.Mutex
	secrets  []string
	replacer *strings.Replacer
	names    *memo[string] // for these secrets
	judged   memo[bool]
}

func (o *recordOptions) redaction(profile string) Redaction {
	if o.Redact == nil {
		return Redaction{}
	}
	return o.Redact(profile)
}

// redactor masks what is secret under a profile now.
func (o *recordOptions) redactor(profile string) *redactor {
	known, names := o.known()
	d := newRedactor(o.redaction(profile), known)
	d.names, d.judged = names, &o.judged
	return d
}

// known gives what replaces the secrets of now, and a memo of what became of names by that.
func (o *recordOptions) known() (*strings.Replacer, *memo[string]) {
	var now []string
	if o.Secrets != nil {
		now = o.Secrets()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.names == nil || len(now) != len(o.secrets) || len(now) > 0 && &now[0] != &o.secrets[0] {
		o.secrets, o.replacer, o.names = now, knownSecrets(append([]string(nil), now...)), &memo[string]{}
	}
	return o.replacer, o.names
}

// Write keeps an entry and returns when it is on the disk. An error means that what the entry
// announces must not happen: whether or not it got to the disk, the record then says that it did not.
func (r *Record) Write(ctx context.Context, e Entry) error {
	it, err := r.put(ctx, e, true)
	if err != nil || it == nil {
		return err
	}
	select {
	case err := <-it.done:
		return err
	case <-ctx.Done():
	}
	r.mu.Lock()
	select {
	case err := <-it.done: // it was faster after all
		r.mu.Unlock()
		return err
	default:
		it.gone = true
	}
	r.mu.Unlock()
	return context.Cause(ctx)
}

// Add keeps an entry about something that has happened. It does not wait for the disk; see [Record.Flush].
// While the database cannot be written the entry waits.
func (r *Record) Add(ctx context.Context, e Entry) error {
	_, err := r.put(ctx, e, false)
	return err
}

// put prepares an entry and puts it into the queue; nil means that it was counted instead.
func (r *Record) put(ctx context.Context, e Entry, wait bool) (*item, error) {
	if e.Kind == Run && e.State != Running && e.State != Parked {
		for _, counted := range r.flood.rest(e.Run) {
			if _, err := r.put(ctx, counted, false); err != nil {
				return nil, err
			}
		}
	}
	if !r.flood.admit(&e) {
		return nil, nil
	}
	prepared := r.prepare(e)
	it := &item{entry: prepared, draft: prepared.draft()}
	if wait {
		it.done = make(chan error, 1)
	}
	return it, r.enqueue(ctx, it)
}

func (r *Record) enqueue(ctx context.Context, it *item) error {
	for {
		r.mu.Lock()
		if r.closed {
			r.mu.Unlock()
			return ErrClosed
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
		case <-r.ended:
			return ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func notify(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Flush returns when every entry that was added before is on the disk, or the attempt to put it there failed.
func (r *Record) Flush(ctx context.Context) error {
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

// DB gives the database once it is open; it may be closed with the Record only.
func (r *Record) DB(ctx context.Context) (*store.DB, error) {
	return r.db.wait(ctx)
}

// Close writes what is queued, publishes the end of the chain and closes the database. It may be called
// twice. When ctx ends first, what was not written is lost, which the error says.
func (r *Record) Close(ctx context.Context) error {
	for _, e := range r.flood.rest("") {
		_ = r.Add(ctx, e)
	}
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	notify(r.wake)
	stop := context.AfterFunc(ctx, r.cancel)
	defer stop()
	<-r.ended
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
