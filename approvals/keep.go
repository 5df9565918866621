package approvals

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// propose adds a question to the store.
func propose(ctx context.Context, store Store, r *prompt.Request, channels []source, o Options) error {
	p, err := pendingOf(r, channels, o)
	if err != nil {
		return err
	}
	return store.Propose(ctx, p)
}

// pendingOf converts a question for the store.
func pendingOf(r *prompt.Request, channels []source, o Options) (*Pending, error) {
	w := storedQuestion{V: storedVersion, Request: r, Channels: []string{}, MinHuman: o.MinHuman, Edits: r.Edit != nil}
	for _, c := range channels {
		if c.mayAnswer(r.Risk) && c.mayCarry(r) {
			w.Channels = append(w.Channels, c.name)
		} else if c.notices {
			w.Notices = append(w.Notices, c.name)
		}
	}
	question, err := json.Marshal(w)
	return &Pending{ID: r.ID, Run: r.Run, Call: r.Call, Principal: r.Principal, Digest: r.Digest, Question: question,
		Expires: r.Expires}, err
}

func newID() string { return "q_" + rand.Text() }

// storeWait bounds how long storing an answer may take, or reading or closing a question.
const storeWait = 10 * time.Second

// keeping returns the context for storing an answer. It does not end with ctx, because the person was told that the
// answer is accepted.
func keeping(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), storeWait)
}

// keep stores an answer, even if ctx ends.
func (a *ask) keep(ctx context.Context, id, digest string, s storedAnswer) error {
	ctx, cancel := keeping(ctx)
	defer cancel()
	answer, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return a.store.Answer(ctx, id, digest, s.Yes, s.By, answer)
}

// toStore converts a reply for the store. edited is the question for other arguments.
func (r *reply) toStore(yes bool, edited string) storedAnswer {
	return storedAnswer{V: storedVersion, Yes: yes, Channel: r.name, By: r.By, Proof: r.Proof, Given: time.Now(),
		Reason: prompt.Words(r.Reason), Scope: r.Scope, Length: r.Length, Uses: r.Uses, Edited: edited,
		Selected: r.Selected, Text: r.Text}
}

// fromStore converts a stored answer to a reply. yes is the store's own field.
func (s storedAnswer) fromStore(yes bool) reply {
	return reply{source: source{n: -1, name: s.Channel}, stored: &s, Answer: call.Answer{
		Allowed: yes && s.Yes || s.Edited != "", Reason: s.Reason, By: s.By, Proof: s.Proof,
		Scope: s.Scope, Length: s.Length, Uses: s.Uses, Selected: s.Selected, Text: s.Text,
	}}
}

// yes is the answer of a person who allowed, without what the channel may not set.
func (a *ask) yes(got reply) Result {
	r := Result{Ticket: a.ticket(), Draft: got.grant, Answer: call.Answer{
		Allowed: true, How: call.ByPerson, Channel: got.name, By: got.By, Proof: got.Proof,
		Reason: prompt.Words(got.Reason), Selected: got.Selected, Text: got.Text,
	}}
	if g := got.grant; g != nil {
		g.By, g.Channel = got.By, got.name
		r.Grant, r.Scope = g.ID, g.Scope
	}
	return r
}

// ticket is a yes to the question as asked.
func (a *ask) ticket() *Ticket {
	return &Ticket{id: a.request.ID, digest: a.digest, args: a.request.Args, expires: a.expires}
}

// allow stores a yes. A yes with other arguments is a no to the question and a yes to another question.
func (a *ask) allow(ctx context.Context, got reply) (Result, error) {
	answer := a.yes(got)
	if got.Args == nil {
		return answer, a.keep(ctx, a.request.ID, a.digest, got.toStore(true, ""))
	}
	var compact bytes.Buffer // the form in which arguments are sent
	if err := json.Compact(&compact, got.Args); err != nil {
		return answer, err
	}
	other := *a.request
	other.ID, other.Args = newID(), compact.Bytes()
	digest, err := other.Bind(a.expires)
	if err != nil {
		return answer, err
	}
	other.Digest, other.Expires = digest, a.expires
	answer.Args = other.Args
	answer.Ticket = &Ticket{id: other.ID, digest: digest, args: other.Args, expires: a.expires}
	no, yes := got.toStore(false, other.ID), got.toStore(true, "")
	if store, ok := a.store.(SharedStore); ok {
		p, err1 := pendingOf(&other, nil, a.options)
		noJSON, err2 := json.Marshal(no)
		yesJSON, err3 := json.Marshal(yes)
		if err := errors.Join(err1, err2, err3); err != nil {
			return answer, err
		}
		ctx, cancel := keeping(ctx)
		defer cancel()
		return answer, store.AnswerInstead(ctx, a.request.ID, a.digest, got.By, noJSON, p, yesJSON)
	}
	if err := a.keep(ctx, a.request.ID, a.digest, no); err != nil {
		return answer, err
	}
	if err := propose(ctx, a.store, &other, nil, a.options); err != nil {
		return answer, err
	}
	return answer, a.keep(ctx, other.ID, digest, yes)
}
