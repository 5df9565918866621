package approvals

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// Follow joins the queue to those of its name in other processes, until ctx ends: while somebody has a seat here, it
// shows what they ask too, and while somebody has one there, there is somebody for what is asked here. The store of d
// has to be a [SharedStore]; with another there is nothing to follow. edit says what is wrong with other arguments for
// a call; nil lets nobody change arguments of another process's call.
func (q *Queue) Follow(ctx context.Context, d *Desk, edit func(r *prompt.Request, args json.RawMessage) error) {
	store, ok := d.store().(SharedStore)
	if !ok {
		return
	}
	for ctx.Err() == nil {
		q.watch(ctx, d, store, edit)
		q.others(nil)
		q.elsewhere(false)
		select {
		case <-ctx.Done():
		case <-time.After(watchAgain):
		}
	}
}

// watchAgain is how long after a failure the store is looked at again, and lookAgain how often what is over is looked
// for.
const watchAgain, lookAgain = 2 * time.Second, 5 * time.Second

// watch keeps the queue up to date until the store can no longer be read.
func (q *Queue) watch(ctx context.Context, d *Desk, store SharedStore, edit func(r *prompt.Request, args json.RawMessage) error) {
	news, stop, err := store.Watch(ctx)
	if err != nil {
		return
	}
	defer stop()
	leave := func() {} // of the seat that others see
	defer func() { leave() }()
	tick := time.NewTicker(lookAgain)
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
			q.others(nil)
		}
		switch {
		case somebody:
			if open, err := store.Open(ctx); err == nil {
				q.others(q.strangers(d, open, edit))
			}
		default:
			there, err := store.Seated(ctx, q.name)
			q.elsewhere(err == nil && there)
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

// elsewhere notes whether somebody has a seat in another process.
func (q *Queue) elsewhere(there bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.far != there {
		q.far = there
		q.presence()
	}
}

// strangers are the questions of other processes that may be answered over this queue.
func (q *Queue) strangers(d *Desk, open []*Pending, edit func(r *prompt.Request, args json.RawMessage) error) []*item {
	var all []*item
	from := sourceOf(0, q)
	for _, p := range open {
		w, err := readStored(p)
		if err != nil || d.asks(p.ID) || !slices.Contains(w.Channels, from.name) || !from.mayAnswer(w.Request.Risk) {
			continue
		}
		r := w.Request
		r.MinHuman = w.MinHuman
		if edit != nil && w.Edits {
			r.Edit = func(args json.RawMessage) error { return edit(r, args) }
		}
		all = append(all, &item{request: r, since: p.Created, shown: p.Created, far: func(given call.Answer) error {
			ctx, cancel := context.WithTimeout(context.Background(), storeWait)
			defer cancel()
			return d.answerFar(ctx, w, from, given)
		}})
	}
	return all
}

// answerFar answers a question of another process, by the store.
func (d *Desk) answerFar(ctx context.Context, w *storedQuestion, from source, given call.Answer) error {
	r := w.Request
	a := &ask{desk: d, request: r, digest: r.Digest, expires: r.Expires, options: Options{OtherOnly: r.OtherOnly, MinHuman: w.MinHuman}}
	got := reply{Answer: given, source: from}
	if !given.Allowed {
		return a.keep(ctx, r.ID, r.Digest, got.toStore(false, ""))
	}
	if err := a.unwanted(&got); err != nil {
		return err
	}
	_, err := a.allow(ctx, got)
	return err
}

// others puts what other processes ask into the queue, in the place of what was there of them.
func (q *Queue) others(now []*item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []*item
	same := true
	for _, it := range q.items {
		if it.far == nil {
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
