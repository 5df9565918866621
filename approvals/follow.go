package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// An editCheck returns an error if changed arguments do not fit a call of another process.
type editCheck = func(r *prompt.Request, args json.RawMessage) error

// Follow connects the queue with the queues of the same name in other processes, until ctx ends. While somebody has a
// seat here, the queue also shows the questions of other processes. While somebody has a seat in another process,
// questions of this process wait for them. Without a [SharedStore], Follow does nothing. edit checks changed arguments
// for a call of another process; nil lets nobody change them.
func (q *Queue) Follow(ctx context.Context, d *Desk, edit editCheck) {
	store, ok := d.store().(SharedStore)
	if !ok {
		return
	}
	for ctx.Err() == nil {
		q.watch(ctx, d, store, edit)
		q.setRemote(q.remoteIDs(), nil)
		q.seatedElsewhere(false)
		select {
		case <-ctx.Done():
		case <-time.After(rewatchAfter):
		}
	}
}

const (
	rewatchAfter = 2 * time.Second // delay before watching the store again after a failure
	rescanEvery  = 5 * time.Second // how often to read the whole store, whatever the news: expiry sends none
)

// watch keeps the queue current until reading the store fails.
func (q *Queue) watch(ctx context.Context, d *Desk, store SharedStore, edit editCheck) {
	news, stop, err := store.Watch(ctx)
	if err != nil {
		return
	}
	defer stop()
	leave := func() {} // gives up the seat that other processes see
	defer func() { leave() }()
	tick := time.NewTicker(rescanEvery)
	defer tick.Stop()
	for seated, since := false, int64(0); ; {
		q.mu.Lock()
		somebody, changed := len(q.seats) > 0, q.changed
		q.mu.Unlock()
		if somebody && !seated {
			if off, err := store.Sit(ctx, q.name); err == nil {
				leave, seated = off, true
			}
		}
		if !somebody && seated {
			leave()
			leave, seated = func() {}, false
			q.setRemote(q.remoteIDs(), nil)
		}
		switch {
		case somebody:
			since = q.readRemote(ctx, d, store, since, edit)
		default:
			since = 0
			there, err := store.Seated(ctx, q.name)
			q.seatedElsewhere(err == nil && there)
		}
		select {
		case <-ctx.Done():
			return
		case _, ok := <-news:
			if !ok {
				return
			}
		case <-tick.C:
			since = 0
		case <-changed:
		}
	}
}

// seatedElsewhere records whether somebody has a seat in another process.
func (q *Queue) seatedElsewhere(there bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.remoteSeat != there {
		q.remoteSeat = there
		q.presence()
	}
}

// readRemote brings the questions of other processes up to date with the changes since a mark, and returns the next
// mark. After the mark 0 it reads all questions.
func (q *Queue) readRemote(ctx context.Context, d *Desk, store SharedStore, since int64, edit editCheck) (next int64) {
	changed, next, err := store.ChangedSince(ctx, since)
	if err != nil {
		return 0
	}
	var open []*Pending
	if since == 0 || next < since {
		changed = q.remoteIDs()
		open, err = store.Open(ctx)
	} else if changed = q.ofOthers(d, changed); len(changed) > 0 {
		open, err = store.OpenOf(ctx, changed)
	}
	if err != nil {
		return 0
	}
	q.setRemote(changed, q.remoteItems(d, open, edit))
	return next
}

// ofOthers lists, of the questions with these IDs, those of other processes and those that were.
func (q *Queue) ofOthers(d *Desk, ids []string) []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.DeleteFunc(ids, func(id string) bool { return d.asksHere(id) && q.remoteItem(id) == nil })
}

// remoteIDs lists the questions of other processes in the queue.
func (q *Queue) remoteIDs() (ids []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for it := range q.all() {
		if it.remote != nil {
			ids = append(ids, it.request.ID)
		}
	}
	return ids
}

// remoteItem returns the item of a question of another process; nil if the queue has none. The caller holds q.mu.
func (q *Queue) remoteItem(id string) *item {
	for _, it := range q.byID[id] {
		if it.remote != nil {
			return it
		}
	}
	return nil
}

// remoteItems makes items of the open questions of other processes that people may answer over this queue, and keeps
// those that the queue has.
func (q *Queue) remoteItems(d *Desk, open []*Pending, edit editCheck) []*item {
	var all []*item
	from := sourceOf(0, q)
	for _, p := range open {
		if d.asksHere(p.ID) {
			continue
		}
		q.mu.Lock()
		has := q.remoteItem(p.ID)
		q.mu.Unlock()
		if has != nil {
			all = append(all, has)
			continue
		}
		w, err := readStored(p)
		if err != nil {
			continue
		}
		may := slices.Contains(w.Channels, from.name) && from.mayAnswer(w.Request.Risk)
		if !may && !slices.Contains(w.Notices, from.name) {
			continue
		}
		r := w.Request
		r.MinHuman = w.MinHuman
		if edit != nil && w.Edits {
			r.Edit = func(args json.RawMessage) error { return edit(r, args) }
		}
		all = append(all, &item{request: r, since: p.Created, shown: p.Created, notice: !may, remote: func(given call.Answer) error {
			ctx, cancel := context.WithTimeout(context.Background(), storeWait)
			defer cancel()
			return d.answerRemote(ctx, w, from, given)
		}})
	}
	return all
}

// answerRemote answers a question of another process, through the store.
func (d *Desk) answerRemote(ctx context.Context, w *storedQuestion, from source, given call.Answer) error {
	r := w.Request
	a := &ask{store: d.store(), lateTo: d.Late, request: r, digest: r.Digest, expires: r.Expires,
		options: Options{OtherOnly: r.OtherOnly, MinHuman: w.MinHuman}}
	got := reply{Answer: given, source: from}
	if !given.Allowed {
		return a.keep(ctx, r.ID, r.Digest, got.toStore(false, ""))
	}
	if err := a.notOffered(&got); err != nil {
		return err
	}
	_, err := a.allow(ctx, got)
	return err
}

// setRemote replaces, of the queue's questions of other processes, those with the IDs was by now.
func (q *Queue) setRemote(was []string, now []*item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	stays := map[string]bool{}
	same := true
	for _, it := range now {
		stays[it.request.ID] = true
		if it.place == nil {
			q.add(it)
			same = false
		}
	}
	for _, id := range was {
		if it := q.remoteItem(id); it != nil && !stays[id] {
			q.drop(it)
			same = false
		}
	}
	if !same {
		q.tell()
	}
}

// WithdrawUnanswered closes a question of another process when its call needs no answer any more. It reports false if
// the question has an answer, or if that is unknown.
func (d *Desk) WithdrawUnanswered(ctx context.Context, id string) bool {
	store, ok := d.store().(SharedStore)
	if !ok {
		return false
	}
	err := store.Withdraw(ctx, id)
	if !errors.Is(err, ErrTaken) {
		return err == nil
	}
	_, _, err = store.Answered(ctx, id)
	return err != nil && ctx.Err() == nil // it was closed before
}
