package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// The JSON that a Store keeps of a question and of its answer.

// storedVersion changes whenever the meaning of either changes.
const storedVersion = 2

// A storedQuestion is a question in the form of the store.
type storedQuestion struct {
	V        int             `json:"v"`
	Request  *prompt.Request `json:"request"`
	Channels []string        `json:"channels"`          // the channels that may answer it
	Notices  []string        `json:"notices,omitempty"` // those that only show it
	MinHuman time.Duration   `json:"minHuman,omitempty"`
	Edits    bool            `json:"edits,omitempty"` // people may change the arguments
}

// A storedAnswer is an answer in the form of the store.
type storedAnswer struct {
	V       int           `json:"v"`
	Yes     bool          `json:"yes"` // as in the store's own field, but sealed where the store seals
	Channel string        `json:"channel"`
	By      string        `json:"by,omitempty"`
	Proof   string        `json:"proof,omitempty"`
	Given   time.Time     `json:"given,omitzero"`
	Reason  string        `json:"reason,omitempty"`
	Scope   call.Scope    `json:"scope,omitempty"`
	Length  time.Duration `json:"length,omitempty"` // of a grant
	Uses    int           `json:"uses,omitempty"`   // of a grant
	Edited  string        `json:"edited,omitempty"` // the question for the arguments that were allowed instead

	Selected []int  `json:"selected,omitempty"` // the answer to an Inquiry
	Text     string `json:"text,omitempty"`
}

// propose adds a question to the store.
func (d *Desk) propose(ctx context.Context, r *prompt.Request, channels []source, o Options) error {
	p, err := pendingOf(r, channels, o)
	if err != nil {
		return err
	}
	return d.store().Propose(ctx, p)
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

// ReadPending returns a stored question as it was asked. Pass only bytes from this user's own store: ReadPending trusts
// them.
func ReadPending(p *Pending) (*prompt.Request, error) {
	w, err := readStored(p)
	if err != nil {
		return nil, err
	}
	return w.Request, nil
}

func readStored(p *Pending) (*storedQuestion, error) {
	w := &storedQuestion{}
	if err := json.Unmarshal(p.Question, w); err != nil {
		return nil, fmt.Errorf("question %s cannot be read: %w", p.ID, err)
	}
	switch r := w.Request; {
	case w.V != storedVersion || r == nil:
		return nil, fmt.Errorf("question %s was written by another version", p.ID)
	case r.ID != p.ID || r.Run != p.Run || r.Call != p.Call || r.Principal != p.Principal || r.Digest != p.Digest:
		return nil, fmt.Errorf("question %s does not match its row in the store", p.ID)
	case !r.Expires.Equal(p.Expires):
		return nil, fmt.Errorf("question %s does not expire when its row in the store says", p.ID)
	}
	return w, nil
}

// InsteadOf returns the ID of the question for the changed arguments, if a stored answer allowed other arguments than
// those of its question; else "".
func InsteadOf(answer json.RawMessage) string { return readAnswer(answer).Edited }

// readAnswer reads a stored answer. An unreadable one is a no.
func readAnswer(answer json.RawMessage) (s storedAnswer) {
	if err := json.Unmarshal(answer, &s); err != nil || s.V != storedVersion {
		return storedAnswer{Channel: "unknown"}
	}
	return s
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
	return a.desk.store().Answer(ctx, id, digest, s.Yes, s.By, answer)
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
	if store, ok := a.desk.store().(SharedStore); ok {
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
	if err := a.desk.propose(ctx, &other, nil, a.options); err != nil {
		return answer, err
	}
	return answer, a.keep(ctx, other.ID, digest, yes)
}
