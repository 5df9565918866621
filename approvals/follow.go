package approvals

import (
	"context"
	"encoding/json"
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
		q.setRemote(nil)
		q.seatedElsewhere(false)
		select {
		case <-ctx.Done():
		case <-time.After(rewatchAfter):
		}
	}
}

const (
	rewatchAfter = 2 * time.Second // delay before watching the store again after a failure
	rescanEvery  = 5 * time.Second // how often to read the store without news: expiry sends no news
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
	for seated := false; ; {
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
			q.setRemote(nil)
		}
		switch {
		case somebody:
			if open, err := store.Open(ctx); err == nil {
				q.setRemote(q.remoteItems(d, open, edit))
			}
		default:
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

// remoteItems returns the questions of other processes that people may answer over this queue.
func (q *Queue) remoteItems(d *Desk, open []*Pending, edit editCheck) []*item {
	var all []*item
	from := sourceOf(0, q)
	for _, p := range open {
		w, err := readStored(p)
		if err != nil || d.asksHere(p.ID) || !slices.Contains(w.Channels, from.name) || !from.mayAnswer(w.Request.Risk) {
			continue
		}
		r := w.Request
		r.MinHuman = w.MinHuman
		if edit != nil && w.Edits {
			r.Edit = func(args json.RawMessage) error { return edit(r, args) }
		}
		all = append(all, &item{request: r, since: p.Created, shown: p.Created, remote: func(given call.Answer) error {
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
	a := &ask{desk: d, request: r, digest: r.Digest, expires: r.Expires,
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

// setRemote replaces the queue's questions of other processes.
func (q *Queue) setRemote(now []*item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []*item
	same := true
	for _, it := range q.items {
		if it.remote == nil {
			all = append(all, it)
			continue
		}
		at := slices.IndexFunc(now, func(x *item) bool { return x.request.ID == it.request.ID })
		if at < 0 {
			same = false
			continue
		}
		now = slices.Delete(now, at, at+1)
		all = append(all, it)
	}
	q.items = append(all, now...)
	if !same || len(now) > 0 {
		q.tell()
	}
}
