package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/store"
)

// sweepEvery is how often the writer looks for open calls of processes that died.
const sweepEvery = 15 * time.Second

// A writer is the only goroutine that appends. It takes the entries that gathered in the queue during the last sync,
// and writes all of them with the next one.
type writer struct {
	r     *Record
	db    *store.DB
	chain *store.Chain
	seal  *sealer // of the chain
	note  string  // the latest checkpoint of this process

	closed int64 // the last chain that a restoration closed; 0 is none

	open  map[openKey]int64 // the running entries of calls and runs without an end
	order []opened          // the same, oldest first, with some that have ended

	unsure []*item     // a batch that may or may not be on disk
	rows   []store.Row // the same

	told  int       // how many callers waited for the last batch
	fails int       // attempts in a row that failed
	last  bool      // the writer has made its last attempt before the end
	retry time.Time // when to try again; zero after a success
	sweep time.Time // when to check for open calls of others
}

type openKey struct {
	kind string
	run  string
	call int
}

type opened struct {
	key openKey
	seq int64
}

func (w *writer) run() {
	r := w.r
	defer close(r.ended)
	w.open = map[openKey]int64{}
	w.sweep = time.Now().Add(sweepEvery / 10) // not in the way of the first program
	w.start()
	for {
		for _, e := range r.share.rest(r.options.Now, false) {
			w.later(e)
		}
		w.gather()
		batch, closing := w.take()
		if len(batch) > 0 {
			w.write(batch)
			continue
		}
		if closing {
			break
		}
		w.idle()
	}
	w.end()
}

// start opens the database. This includes the time to create the tables; meanwhile calls are refused.
func (w *writer) start() {
	defer w.begin()()
	if err := w.ensure(w.r.ctx); err != nil {
		w.failed(err)
	}
}

// gather yields to callers that have just learned that their last entry is on disk and are about to bring the next one:
// one sync for all is cheaper than one for the first and one for the others.
func (w *writer) gather() {
	for range gatherTurns {
		w.r.mu.Lock()
		n := len(w.r.queue)
		w.r.mu.Unlock()
		if n == 0 || n >= w.told {
			return
		}
		runtime.Gosched()
	}
}

// gatherTurns is how often gather yields. If nobody else runs, a yield takes less than a microsecond.
const gatherTurns = 20

// restWait is how long an entry without a waiting caller waits for one with a caller, to share its sync.
const restWait = 3 * time.Millisecond

// take waits for entries, or until other work is due. Then it returns none.
func (w *writer) take() (batch []*item, closing bool) {
	r := w.r
	for {
		r.mu.Lock()
		due := w.due(r.queue)
		if n := len(r.queue); n > 0 && (r.closed || !time.Now().Before(due)) {
			if r.closed && w.tried() {
				r.lost += n
				for _, it := range r.queue {
					it.tell(r.db.err())
				}
				r.queue = nil
				r.mu.Unlock()
				return nil, true
			}
			if n > maxBatch {
				r.queue = waitedFirst(r.queue)
			}
			n = together(r.queue[:min(n, maxBatch)])
			batch = r.queue[:n:n]
			if r.queue = r.queue[len(batch):]; len(r.queue) == 0 {
				r.queue = nil
			}
			r.mu.Unlock()
			notify(r.space)
			return batch, false
		}
		closed := r.closed && len(r.queue) == 0
		r.mu.Unlock()
		if closed {
			return nil, true
		}
		wait := time.Until(w.sweep)
		if !due.IsZero() {
			wait = min(wait, time.Until(due))
		}
		if !w.retry.IsZero() {
			wait = min(wait, time.Until(w.retry))
		}
		wait = min(wait, r.pub.due(), w.seal.due())
		if wait <= 0 {
			return nil, false
		}
		timer := time.NewTimer(wait)
		select {
		case <-r.wake:
			timer.Stop()
		case <-timer.C:
		case <-r.ctx.Done():
			timer.Stop()
			r.mu.Lock()
			r.closed = true
			r.mu.Unlock()
		}
	}
}

// together is how many of the first entries one sync may write.
func together(queue []*item) int {
	bytes := 0
	for i, it := range queue {
		if bytes += it.size(); bytes > maxBatchBytes && i > 0 {
			return i
		}
	}
	return len(queue)
}

// waitedFirst moves the entries of runs with a waiting caller to the front. The entries of one run keep their order.
// After an outage thousands of entries may be in the queue, and new calls would wait for all of them.
func waitedFirst(queue []*item) []*item {
	waited := map[string]bool{}
	for _, it := range queue {
		if it.done != nil && it.entry != nil && it.entry.Run != "" {
			waited[it.entry.Run] = true
		}
	}
	sorted := make([]*item, 0, len(queue))
	var rest []*item
	for _, it := range queue {
		if it.entry != nil && waited[it.entry.Run] {
			sorted = append(sorted, it)
		} else {
			rest = append(rest, it)
		}
	}
	return append(sorted, rest...)
}

// tried reports whether another attempt at the end is pointless: the time is over, or the last attempt failed.
func (w *writer) tried() bool {
	tried := w.r.ctx.Err() != nil || w.fails > 0 && w.last
	w.last = true
	return tried
}

// due returns when to write the queue: at once if a caller waits for an entry in it, or it fills a batch, but after a
// failure not before the next retry. For an empty queue it is zero.
func (w *writer) due(queue []*item) time.Time {
	if len(queue) == 0 || !w.retry.IsZero() {
		return w.retry
	}
	for _, it := range queue {
		if it.done != nil {
			return time.Time{}
		}
	}
	if len(queue) < maxBatch {
		return queue[0].since.Add(restWait)
	}
	return time.Time{}
}

func (it *item) tell(err error) {
	if it.done != nil {
		it.done <- err
	}
}

// write writes a batch to disk. If that fails, it refuses the entries with a waiting caller, and puts the others back
// into the queue.
func (w *writer) write(batch []*item) (ok bool) {
	defer w.begin()()
	unsure, err := w.try(batch)
	if errors.Is(err, store.ErrFenced) { // begin another chain, once
		w.drop()
		unsure, err = w.try(batch)
	}
	if err == nil {
		return true
	}
	w.failed(err)
	if unsure {
		for i, it := range w.unsure {
			if it.tell(err); it.stays {
				w.unsure[i] = it.later()
			}
		}
		batch = withoutEntries(batch)
	}
	w.giveBack(batch, err)
	return false
}

// giveBack refuses the entries with a waiting caller, anywhere in the queue, and keeps the rest for later.
func (w *writer) giveBack(batch []*item, err error) {
	r := w.r
	r.mu.Lock()
	defer r.mu.Unlock()
	var keep []*item
	bytes := 0
	for _, it := range slices.Concat(batch, r.queue) {
		if it.done != nil {
			it.tell(err)
			switch {
			case it.stays:
				it = it.later()
			case it.entry != nil && asked(&it.entry.Entry):
				it = r.notMade(it.entry)
			default:
				continue
			}
		}
		switch {
		case it.entry == nil:
		case len(keep) >= maxQueue, bytes >= maxQueueBytes:
			r.lose(it)
		default:
			keep, bytes = append(keep, it), bytes+it.size()
		}
	}
	r.queue = keep
	notify(r.space)
}

// tellLost records how many entries had no room while the database was unavailable.
func (w *writer) tellLost() {
	r := w.r
	r.mu.Lock()
	left, n := r.left, 0
	for _, k := range left {
		n += k
	}
	r.left, r.lost = map[string]int{}, r.lost-n
	r.mu.Unlock()
	if n > 0 {
		w.later(call.Entry{Kind: Notice, State: "lost", Count: n, Tools: left,
			Detail: "codemode could not write the record, and had no room for these entries about what had happened"})
	}
}

// later queues an entry of the writer itself. The queue may be full.
func (w *writer) later(e call.Entry) {
	p := w.r.prepare(e, false)
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	w.r.queue = append(w.r.queue, &item{entry: p, draft: p.draft()})
}

func (w *writer) failed(err error) {
	if w.fails == 0 && w.r.ctx.Err() == nil {
		w.r.log.Error("cannot write the record; codemode refuses calls until it can", "error", err)
	}
	w.r.db.failed(err)
	w.retry = time.Now().Add(min(firstRetry<<w.fails, retryAfter))
	if errors.Is(err, context.DeadlineExceeded) { // no other caller has to wait that long again
		w.fails = downAfter
	}
	if w.fails++; w.fails < downAfter {
		return
	}
	w.fails = downAfter + 2 // where the wait is longest
	w.r.mu.Lock()
	first := w.r.down == nil
	w.r.down = err
	w.r.mu.Unlock()
	if first { // the writer retries this entry until the database is back
		w.later(call.Entry{Kind: Notice, State: "interrupted",
			Detail: "from here on codemode could not write the record, and refused calls"})
	}
}

// wrote records a successful write.
func (w *writer) wrote() {
	if w.fails == 0 {
		return
	}
	w.fails, w.retry = 0, time.Time{}
	w.r.mu.Lock()
	w.r.down = nil
	w.r.mu.Unlock()
	w.r.log.Info("codemode can write the record again")
	w.tellLost()
}

// begin records when an attempt begins, for callers that come meanwhile. Call end when its outcome is known. An attempt
// that is part of another one ends with that one.
func (w *writer) begin() (end func()) {
	r := w.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.began.IsZero() {
		return func() {}
	}
	r.began = time.Now()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.began = time.Time{}
	}
}

// try writes a batch. unsure says that nobody knows whether the batch is on disk, and that the writer remembers the
// batch.
func (w *writer) try(batch []*item) (unsure bool, err error) {
	ctx, cancel := context.WithTimeout(w.r.ctx, writeWait)
	defer cancel()
	if err := w.ensure(ctx); err != nil {
		return false, err
	}
	rows, kept := w.place(batch)
	if len(rows) == 0 {
		w.acknowledge(batch)
		return false, nil
	}
	err = w.chain.Append(ctx, rows, w.openFrom(rows, kept))
	if err == nil {
		w.committed(rows, kept)
		w.acknowledge(batch)
		return false, nil
	}
	if errors.Is(err, store.ErrFenced) {
		return false, err
	}
	asking, cancel := context.WithTimeout(w.r.ctx, writeWait)
	defer cancel()
	there, doubt := w.chain.Check(asking, rows)
	switch {
	case there:
		w.committed(rows, kept)
		w.acknowledge(batch)
		return false, nil
	case doubt == nil, errors.Is(doubt, store.ErrFenced):
		return false, err
	}
	w.unsure, w.rows = kept, rows
	return true, err
}

// place assigns the entries of a batch their places after the head. It leaves out those that their callers gave up.
func (w *writer) place(batch []*item) (rows []store.Row, kept []*item) {
	head := w.chain.Head()
	w.r.mu.Lock()
	for _, it := range batch {
		if it.entry != nil && !it.gone {
			kept = append(kept, it)
		}
	}
	w.r.mu.Unlock()
	rows = make([]store.Row, len(kept))
	for i, it := range kept {
		body, hash := it.draft.place(head)
		it.entry.Chain, it.entry.Seq = head.Chain, head.Seq+1
		if w.r.options.Export != nil {
			it.entry.Prev, it.entry.Hash = hashText(head.Hash), hashText(hash)
		}
		rows[i] = it.entry.row()
		rows[i].Body, rows[i].Hash = body, hash
		head.Seq, head.Hash = head.Seq+1, hash
	}
	return rows, kept
}

func (e *Entry) openKey() (k openKey, begins, ends bool) {
	if e.Kind != Call && e.Kind != Run {
		return k, false, false
	}
	return openKey{e.Kind, e.Run, e.Call}, e.State == Running, e.State != Running && e.State != Pending
}

// openFrom returns the first entry with a call that is still open when rows are on disk.
func (w *writer) openFrom(rows []store.Row, kept []*item) int64 {
	ended := map[openKey]bool{}
	next := rows[len(rows)-1].Seq + 1
	first := next
	for i := len(kept) - 1; i >= 0; i-- {
		k, begins, ends := kept[i].entry.openKey()
		if ends {
			ended[k] = true
		}
		if begins {
			if !ended[k] {
				first = rows[i].Seq
			}
			delete(ended, k)
		}
	}
	for _, o := range w.order {
		if seq, ok := w.open[o.key]; ok && seq == o.seq && !ended[o.key] {
			return min(first, o.seq)
		}
	}
	return first
}

// committed records that rows are on disk.
func (w *writer) committed(rows []store.Row, kept []*item) {
	for i, it := range kept {
		k, begins, ends := it.entry.openKey()
		if ends {
			delete(w.open, k)
		}
		if begins {
			w.open[k] = rows[i].Seq
			w.order = append(w.order, opened{k, rows[i].Seq})
		}
		if w.r.options.Export != nil {
			it.entry.sealed = "" // the digest of it goes out
			w.r.options.Export(it.entry)
		}
	}
	for len(w.order) > 0 && w.open[w.order[0].key] != w.order[0].seq {
		w.order = w.order[1:]
	}
	w.wrote()
	w.seal.wrote()
	w.note = w.seal.note
	if w.r.pub.moved(len(rows)) {
		ctx, cancel := context.WithTimeout(w.r.ctx, writeWait)
		defer cancel()
		w.publish(ctx)
	}
}

// acknowledge notifies the waiting callers. If a caller gave up while its entry was being written, the record then says
// that the announced action did not happen.
func (w *writer) acknowledge(batch []*item) {
	var late []*item
	w.told = 0
	w.r.mu.Lock()
	for _, it := range batch {
		if it.done != nil {
			w.told++
		}
		if it.gone && (it.entry.Seq != 0 || asked(&it.entry.Entry)) {
			late = append(late, it)
			continue
		}
		it.tell(nil)
	}
	w.r.mu.Unlock()
	w.undo(late)
}

// undo records that calls were not made, for running entries that are on disk or that people were asked about.
func (w *writer) undo(items []*item) {
	for _, it := range items {
		if e := it.entry; e.State == Running {
			w.later(e.notMade())
		}
	}
}

// asked reports whether e begins a call that people were asked about. The record has the question, so it must also say
// how the call ended, even if e itself could not be recorded.
func asked(e *call.Entry) bool { return e.Kind == Call && e.State == Running && e.Verdict == "ask" }

// notMade makes the entry that closes a running entry that came too late.
func (e *Entry) notMade() call.Entry {
	return e.end(NotSent, "not_recorded_in_time", "the record did not take it in time, and it was not made")
}

// end makes the entry that closes e.
func (e *Entry) end(state, reason, detail string) call.Entry {
	var of json.RawMessage
	if e.Seq > 0 {
		// Integers always encode.
		of, _ = json.Marshal(map[string]any{"of": map[string]any{"chain": e.Chain, "seq": e.Seq}})
	}
	return call.Entry{
		Kind: e.Kind, State: state, Run: e.Run, Call: e.Call, Principal: e.Principal, Client: e.Client, Session: e.Session,
		Profile: e.Profile, Server: e.Server, Tool: e.Tool, Reason: reason, Detail: detail, Data: of,
	}
}

// ensure makes sure that there is a database and a chain to write to, and that the fate of the last batch is known.
func (w *writer) ensure(ctx context.Context) error {
	if w.db == nil {
		db, err := w.r.options.Open(ctx)
		if err != nil {
			return err
		}
		if err := w.meet(ctx, db); err != nil {
			return errors.Join(err, db.Close())
		}
		w.db = db
		w.r.db.set(db)
	}
	if w.unsure != nil {
		if err := w.resolve(ctx); err != nil {
			return err
		}
	}
	if w.chain == nil {
		key := w.r.options.Key
		chain, err := w.db.Entries.Claim(ctx, key.fits(w.db.ID(), w.closed))
		if err != nil {
			return err
		}
		w.chain = chain
		if w.seal, err = newSealer(ctx, key, w.db, chain); err != nil {
			w.drop()
			return err
		}
		chain.SignWith(w.seal.rows)
		if err := w.restored(ctx); err != nil {
			w.drop()
			return err
		}
		if err := chain.Settle(ctx, w.settle); err != nil {
			w.drop()
			return err
		}
	}
	return nil
}

// meet checks that a database is the one in the checkpoints. A restoration then is the first entry of the writer.
func (w *writer) meet(ctx context.Context, db *store.DB) (err error) {
	key, r := w.r.options.Key, w.r.options.Restored
	if w.closed, err = closedChains(ctx, db, key); err != nil {
		return err
	}
	if r != nil {
		if err := r.complete(ctx, db, w.r.options.Published); err != nil {
			return err
		}
		w.closed = r.last()
	}
	return w.r.pub.guard(ctx, db, w.closed)
}

// restored writes the restoration, if there is one, as the first entry of the chain.
func (w *writer) restored(ctx context.Context) error {
	o := &w.r.options
	if o.Restored == nil {
		return nil
	}
	e := w.r.prepare(o.Restored.entry(o.Key, w.db.ID(), w.chain.Head().Chain, o.RestoredBy), false)
	rows, kept := w.place([]*item{{entry: e, draft: e.draft()}})
	if err := w.chain.Append(ctx, rows, rows[0].Seq+1); err != nil {
		return fmt.Errorf("recording that a backup was restored: %w", err)
	}
	o.Restored = nil
	w.committed(rows, kept)
	return nil
}

// resolve determines whether the unsure batch was written.
func (w *writer) resolve(ctx context.Context) error {
	there, err := w.chain.Check(ctx, w.rows)
	fenced := errors.Is(err, store.ErrFenced)
	if err != nil && !fenced {
		return err
	}
	items, rows := w.unsure, w.rows
	w.unsure, w.rows = nil, nil
	var refused []*item
	for _, it := range items {
		if it.done != nil && (there || asked(&it.entry.Entry)) {
			refused = append(refused, it)
		}
	}
	if there {
		w.committed(rows, items)
	} else {
		w.keep(withoutWaiters(items))
	}
	w.undo(refused)
	if fenced {
		w.drop()
	}
	return nil
}

// keep puts entries back at the front of the queue.
func (w *writer) keep(items []*item) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	w.r.queue = append(items, w.r.queue...)
}

// withoutEntries drops the items with an entry: nobody knows whether the database has those.
func withoutEntries(items []*item) (rest []*item) {
	for _, it := range items {
		if it.entry == nil {
			rest = append(rest, it)
		}
	}
	return rest
}

func withoutWaiters(items []*item) (rest []*item) {
	for _, it := range items {
		if it.done == nil {
			rest = append(rest, it)
		}
	}
	return rest
}

// lastWait bounds the last attempt if the ones before it failed. It also bounds releasing a chain when the time for
// everything else is over: if that fails, others take the chain a little later.
const lastWait = time.Second

// drop releases a chain that others write to or that is unusable. A later check finds its open calls like those of a
// dead process, unless the next chain has their ends by then.
func (w *writer) drop() {
	if w.chain == nil {
		return
	}
	wait := writeWait
	if w.r.ctx.Err() != nil {
		wait = lastWait
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.r.ctx), wait)
	defer cancel()
	if err := w.chain.Release(ctx); err != nil {
		w.r.log.Debug("releasing a chain of the record failed", "error", err)
	}
	w.chain, w.seal = nil, nil
	w.open, w.order = map[openKey]int64{}, nil
}

// settle writes the ends of calls that a dead process left open.
func (w *writer) settle(rows []*store.Row) error {
	var batch []*item
	for _, row := range rows {
		e, err := decodeBody([]byte(row.Body))
		if err != nil {
			w.r.log.Error("cannot read an open call of the record; run: codemode audit verify", "chain", row.Chain, "entry",
				row.Seq, "error", err)
			continue
		}
		if live := w.open[openKey{e.Kind, e.Run, e.Call}]; live != 0 {
			continue // a run that this process has resumed
		}
		ends := []call.Entry{e.end(Unknown, "abandoned", "codemode ended before the answer came; it may have happened")}
		if e.Kind == Run {
			ends[0].Detail = "codemode ended before the run did"
			waited, err := w.waited(e.Run)
			if err != nil {
				return fmt.Errorf("looking for calls that waited for a person: %w", err)
			}
			ends = append(waited, ends...)
		}
		for _, end := range ends {
			p := w.r.prepare(end, false)
			batch = append(batch, &item{entry: p, draft: p.draft()})
		}
	}
	for len(batch) > 0 {
		some := batch[:min(len(batch), maxBatch)]
		placed, kept := w.place(some)
		ctx, cancel := context.WithTimeout(w.r.ctx, writeWait)
		err := w.chain.Append(ctx, placed, w.openFrom(placed, kept))
		cancel()
		if err != nil {
			return fmt.Errorf("closing calls that were left open: %w", err)
		}
		w.committed(placed, kept)
		batch = batch[len(some):]
	}
	return nil
}

// waited closes the questions that a dead process left open in a run, and returns the ends of their calls.
func (w *writer) waited(run string) (ends []call.Entry, err error) {
	ctx, cancel := context.WithTimeout(w.r.ctx, writeWait)
	defer cancel()
	last := map[int]*Entry{}
	if err := Entries(ctx, w.db, store.Query{Run: run, Kinds: []string{Call}}, func(e *Entry) error {
		if before := last[e.Call]; before == nil || e.State != Pending {
			last[e.Call] = e
		}
		return nil
	}); err != nil {
		return nil, err
	}
	for _, n := range slices.Sorted(maps.Keys(last)) {
		if e := last[n]; e.State == Pending {
			ends = append(ends, e.end(Refused, "canceled", "codemode ended before a person answered"))
		}
	}
	return ends, w.db.Approvals.WithdrawRun(ctx, run)
}

// idle does work that can wait until there is nothing to write.
func (w *writer) idle() {
	defer w.begin()()
	ctx, cancel := context.WithTimeout(w.r.ctx, writeWait)
	defer cancel()
	if !w.retry.IsZero() && !time.Now().Before(w.retry) {
		w.retry = time.Time{} // the next batch tries again
		if (w.chain == nil || w.unsure != nil) && w.write([]*item{{}}) {
			w.wrote()
		}
	}
	if w.seal.due() <= 0 {
		w.sign(ctx)
	}
	if w.r.pub.due() <= 0 {
		w.publish(ctx)
	}
	if time.Now().Before(w.sweep) {
		return
	}
	w.sweep = time.Now().Add(sweepEvery)
	if w.chain == nil || w.unsure != nil {
		return
	}
	if err := w.db.Entries.Abandoned(ctx, w.settle); err != nil && ctx.Err() == nil {
		w.r.log.Warn("cannot close the calls of ended processes in the record", "error", err)
		if errors.Is(err, store.ErrFenced) {
			w.drop()
		}
	}
}

// sign stores a checkpoint of the end of the chain in the database, if the latest one does not cover all of it.
func (w *writer) sign(ctx context.Context) {
	s := w.seal
	if s == nil || s.size == s.tree.size || w.unsure != nil {
		return
	}
	signed, err := s.sign(&s.tree)
	if err == nil {
		err = w.chain.Seal(ctx, *signed)
	}
	if err != nil {
		s.since = time.Now() // the next attempt is as far away as if the first entry came now
		w.r.log.Warn("signing the end of the record failed", "error", err)
		return
	}
	s.sealed(signed)
	w.note = s.note
}

// publish sends the checkpoint of the chain's end. First it syncs the entries that the checkpoint covers. If a power
// cut left a record that ends before its checkpoint, it would look as if somebody had cut it.
func (w *writer) publish(ctx context.Context) {
	w.sign(ctx)
	if w.db != nil {
		if err := w.db.Harden(ctx); err != nil {
			w.r.log.Warn("a checkpoint of the record waits, because the entries that it covers may not be on the disk", "error",
				err)
			w.r.pub.later()
			return
		}
	}
	w.r.pub.send(w.note)
}

// end publishes the end of the chain and releases everything.
func (w *writer) end() {
	defer w.begin()()
	if w.r.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(w.r.ctx, writeWait)
		w.publish(ctx)
		cancel()
	}
	w.r.pub.close()
	w.drop()
	if w.db != nil {
		if err := w.db.Close(); err != nil {
			w.r.log.Warn("closing the database of the record failed", "error", err)
		}
	}
	w.r.db.mu.Lock()
	defer w.r.db.mu.Unlock()
	w.r.db.over = true
	if w.db == nil {
		close(w.r.db.channel())
	}
}
