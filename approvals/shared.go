package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
)

// Questions in a [SharedStore] can be seen and answered in another process than the one that asks, also when that one is gone.

// written is a question as the store has it.
type written struct {
	V        int             `json:"v"`
	Request  *prompt.Request `json:"request"`
	Channels []string        `json:"channels"` // that it may be answered over
	MinHuman time.Duration   `json:"minHuman,omitempty"`
	Edits    bool            `json:"edits,omitempty"` // the arguments may be changed
}

const writtenVersion = 1

// propose enters a question into the store.
func (d *Desk) propose(ctx context.Context, r *prompt.Request, channels []Channel, o Options) error {
	p, err := pendingOf(r, channels, o)
	if err != nil {
		return err
	}
	return d.store().Propose(ctx, p)
}

// pendingOf is a question for the store.
func pendingOf(r *prompt.Request, channels []Channel, o Options) (*Pending, error) {
	w := written{V: writtenVersion, Request: r, Channels: []string{}, MinHuman: o.MinHuman, Edits: r.Edit != nil}
	for _, c := range channels {
		if mayAnswer(c, r.Risk) && mayCarry(c, r) {
			w.Channels = append(w.Channels, nameOf(c))
		}
	}
	question, err := json.Marshal(w)
	return &Pending{ID: r.ID, Run: r.Run, Call: r.Call, Principal: r.Principal, Digest: r.Digest, Question: question,
		Expires: r.Expires}, err
}

// ReadPending returns the question in a store as it was asked. The bytes must be of this user's own store: they are believed.
func ReadPending(p *Pending) (*prompt.Request, error) {
	w, err := readWritten(p)
	if err != nil {
		return nil, err
	}
	return w.Request, nil
}

func readWritten(p *Pending) (*written, error) {
	w := &written{}
	if err := json.Unmarshal(p.Question, w); err != nil {
		return nil, fmt.Errorf("question %s cannot be read: %w", p.ID, err)
	}
	switch r := w.Request; {
	case w.V != writtenVersion || r == nil:
		return nil, fmt.Errorf("question %s was written by another version", p.ID)
	case r.ID != p.ID || r.Run != p.Run || r.Call != p.Call || r.Principal != p.Principal || r.Digest != p.Digest:
		return nil, fmt.Errorf("question %s is not the one that the store says it is", p.ID)
	}
	if r := w.Request; !r.Expires.Equal(p.Expires) {
		return nil, fmt.Errorf("question %s does not end when the store says", p.ID)
	}
	return w, nil
}

// mine notes which questions are asked here.
func (d *Desk) mine(id string, open bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.here == nil {
		d.here = map[string]bool{}
	}
	if open {
		d.here[id] = true
	} else {
		delete(d.here, id)
	}
}

func (d *Desk) asks(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.here[id]
}

// ErrLeaving is the cause of a context that ends because this process gives the run up, for another one to go on with it.
var ErrLeaving = errors.New("another process goes on with the run")

// withdraw closes a question that ended without an answer, for those who look at it elsewhere. If somebody has answered it there
// since, that counts while the run lives: they were told that their answer is taken.
func (a *ask) withdraw(ctx context.Context, answer Answer) Answer {
	store, ok := a.desk.store().(SharedStore)
	stays := a.options.Borrowed || a.leaving()
	if !ok || a.failed != nil || stays || answer.How != ByNobody {
		return answer
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), farWait)
	defer cancel()
	if !errors.Is(store.Withdraw(closing, a.request.ID), ErrTaken) {
		return answer // closed, or it ends by itself
	}
	got, err := a.inStore(closing, store)
	switch {
	case err != nil: // it was closed before
		return answer
	case ctx.Err() != nil:
		a.tooLate(got)
		return answer
	}
	return a.elsewhere(ctx, got)
}

// WithdrawUnanswered closes a question that another process has put, because its call needs no answer any more. It reports false
// if the question has an answer, or if nobody can tell.
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

// follow brings the answer that is in the store, whoever gave it.
func (a *ask) follow(store SharedStore) {
	got, err := a.inStore(a.inner, store)
	if err != nil {
		return // the question is over, or the store cannot be read, which whoever answers here finds out
	}
	a.bring(got)
}

// inStore waits for the answer that is in the store.
func (a *ask) inStore(ctx context.Context, store SharedStore) (reply, error) {
	yes, answer, err := store.Answered(ctx, a.request.ID)
	if err != nil {
		return reply{}, err
	}
	var k kept
	if json.Unmarshal(answer, &k) != nil {
		k = kept{Channel: "unknown"}
	}
	yes = yes && k.Yes
	got := reply{source: source{n: -1, name: k.Channel}, kept: &k, Reply: prompt.Reply{Reason: k.Reason, Scope: k.Scope, Length: k.Length, Uses: k.Uses, By: k.By, Selected: k.Selected, Text: k.Text}}
	if yes || k.Edited != "" {
		got.Decision = prompt.AllowOnce
	}
	return got, nil
}

// elsewhere is the answer that was given in another process.
func (a *ask) elsewhere(ctx context.Context, got reply) (answer Answer) {
	defer func() {
		if given := got.kept.Given; !given.IsZero() {
			answer.Took = max(0, given.Sub(a.asked)) // clocks of two machines may differ
		}
	}()
	a.tried = append(a.tried, Try{Channel: got.name, Outcome: saidNo, Took: time.Since(a.start)})
	if got.Decision != prompt.AllowOnce {
		a.shut()
		a.afterYeses(ctx)
		return declined(got)
	}
	a.tried[len(a.tried)-1].Outcome = saidYes
	fail := func(err error) Answer {
		return Answer{How: ByNobody, Code: CodeNoApprover, Detail: "a person's yes could not be read: " + said(err)}
	}
	if a.inquires() {
		if err := a.request.Inquiry.CheckReply(&got.Reply); err != nil {
			return fail(err)
		}
	}
	if got.Scope != "" && got.Scope != prompt.Once {
		var err error
		if got.grant, err = a.request.Draft(got.Wish(), time.Now()); err != nil {
			return fail(err)
		}
	}
	answer = a.yes(got)
	answer.Ticket = &Ticket{id: a.request.ID, digest: a.digest, args: a.request.Args, expires: a.expires}
	if got.kept.Edited == "" {
		return answer
	}
	store, ok := a.desk.store().(SharedStore)
	if !ok {
		return fail(errors.New("there is no shared store"))
	}
	p, err := store.Find(ctx, got.kept.Edited)
	if err != nil {
		return fail(err)
	}
	other, err := ReadPending(p)
	switch {
	case err != nil:
		return fail(err)
	case a.request.Edit == nil || other.Run != a.request.Run || other.Call != a.request.Call:
		return fail(errors.New("other arguments were not asked for"))
	}
	if err := a.request.Edit(other.Args); err != nil {
		return fail(err)
	}
	answer.Args = other.Args
	answer.Ticket = &Ticket{id: other.ID, digest: p.Digest, args: other.Args, expires: a.expires}
	return answer
}

// Follow joins the queue to those of its name in other processes, until ctx ends: while somebody has a seat here, it shows what
// they ask too, and while somebody has one there, there is somebody for what is asked here. The store of d has to be a
// [SharedStore]; with another there is nothing to follow. edit says what is wrong with other arguments for a call; nil
// lets nobody change arguments of another process's call.
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

// watchAgain is how long after a failure the store is looked at again, and lookAgain how often what is over is looked for.
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
	for _, p := range open {
		w, err := readWritten(p)
		if err != nil || d.asks(p.ID) || !slices.Contains(w.Channels, q.name) || !mayAnswer(q, w.Request.Risk) {
			continue
		}
		r := w.Request
		r.MinHuman = w.MinHuman
		if edit != nil && w.Edits {
			r.Edit = func(args json.RawMessage) error { return edit(r, args) }
		}
		all = append(all, &item{request: r, since: p.Created, shown: p.Created, far: func(reply prompt.Reply) error {
			ctx, cancel := context.WithTimeout(context.Background(), farWait)
			defer cancel()
			return d.answerFar(ctx, w, q, reply)
		}})
	}
	return all
}

// farWait bounds how long an answer may take to be kept.
const farWait = 10 * time.Second

// answerFar answers a question of another process, by the store.
func (d *Desk) answerFar(ctx context.Context, w *written, q *Queue, given prompt.Reply) error {
	r := w.Request
	a := &ask{desk: d, request: r, digest: r.Digest, expires: r.Expires, options: Options{OtherOnly: r.OtherOnly, MinHuman: w.MinHuman}}
	got := reply{Reply: given, source: source{name: q.name, edits: q.Edits()}}
	if given.Decision != prompt.AllowOnce {
		return a.keep(ctx, r.ID, r.Digest, false, got, "")
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
