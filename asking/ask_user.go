package asking

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/recorder"
)

// A UserAnswer is what a person said to a question that a program, or a model,
// asked in its own words. It approves nothing.
type UserAnswer struct {
	Action   string   `json:"action"`   // accept, decline or cancel
	Answer   string   `json:"answer"`   // the labels that were chosen and the words, in one text
	Selected []string `json:"selected"` // the labels
	Text     string   `json:"text"`     // the words
	// Reason says more about cancel: canceled when a person closed the question,
	// else why nobody answered it, such as no_approver or timeout.
	Reason string `json:"reason,omitempty"`
	Detail string `json:"detail,omitempty"` // a sentence, unless somebody answered
}

// What a UserAnswer says in Action.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel"
)

// askUserLimits hold for questions of programs where the profile says nothing:
// nobody has written a rule that lets them come, as for calls.
var askUserLimits = profiles.Limits{Asks: 20, AsksPerMinute: 20, Pending: 5}

// Inquire makes the asker one that programs ask by themselves.
func (a *Prompter) Inquire(ctx context.Context, q *hostfns.Inquiry) (json.RawMessage, error) {
	answer, err := a.AskUser(ctx, q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

func (a *Prompter) AskUser(ctx context.Context, q *hostfns.Inquiry) (*UserAnswer, error) {
	inquiry, err := readInquiry(q.Args)
	if err != nil {
		return nil, err
	}
	done, err := a.take(ctx)
	if err != nil {
		return &UserAnswer{Action: ActionCancel, Selected: []string{}, Reason: hostfns.ReasonCanceled, Detail: "the run ended first"}, nil
	}
	defer done()
	profile := a.policy.Profile()
	if profile == nil {
		return &UserAnswer{Action: ActionCancel, Selected: []string{}, Reason: approvals.CodeNoApprover, Detail: "nothing is configured, so nobody is asked"}, nil
	}
	if limit := a.exhausted(profile, q.Counters); limit != "" {
		return nil, &hostfns.LimitError{Limit: limit}
	}
	args, _ := json.Marshal(inquiry) // strings always can be
	entry := hostfns.Entry{
		Time: time.Now(), Kind: hostfns.KindAsked, Run: q.Run, Call: q.Call, Principal: a.principal, Session: a.session, Client: a.client,
		Profile: q.Profile, ProfileDigest: profile.Digest(), Tool: prompt.InquiryTool, Verdict: call.Ask.String(), Risk: string(call.Low),
		Proposed: call.Unread(args), Shown: call.Unread(args),
	}
	if err := a.people.Record.To.Record(ctx, entry); err != nil {
		return nil, fmt.Errorf("it could not be recorded that a person is asked: %w", err)
	}
	got := a.putInquiry(ctx, profile, &prompt.Request{
		Name: prompt.InquiryTool, Tool: prompt.InquiryTool, Inquiry: inquiry, Args: args, Risk: call.Low,
		Profile: q.Profile, ProfileDigest: profile.Digest(), Principal: a.principal, Session: a.session,
		Code: prompt.NewCode(), Run: q.Run, Call: q.Call, Time: time.Now(),
	})
	answer := newUserAnswer(inquiry, got)
	entry.Time, entry.Kind, entry.Reason = time.Now(), hostfns.KindAnswer, cmp.Or(got.Code, answered)
	entry.DecidedBy, entry.Channel, entry.By, entry.Waited, entry.Words = got.How, got.Channel, got.By, got.Took, got.Reason
	entry.Proposed, entry.Shown = call.Arguments{}, call.Arguments{}
	entry.Result, _ = json.Marshal(answer) // strings always can be
	recording, cancel := context.WithTimeout(context.WithoutCancel(ctx), recorder.NoteWait)
	defer cancel()
	if err := a.people.Record.To.Record(recording, entry); err != nil {
		return nil, fmt.Errorf("the answer could not be recorded: %w", err)
	}
	return answer, nil
}

// answered is the state of a question of a program that somebody has answered.
const answered = "answered"

// putInquiry asks over the channels that the profile lets be used.
func (a *Prompter) putInquiry(ctx context.Context, profile *profiles.Profile, r *prompt.Request) approvals.Answer {
	asking := profile.Ask()
	timeout := cmp.Or(asking.Timeout, approvals.DefaultTimeout)
	if asking.Budget > 0 {
		if timeout = min(timeout, asking.Budget-a.Patience.Used()); timeout <= 0 {
			return approvals.Answer{How: approvals.ByNobody, Code: approvals.CodeTimeout, Detail: "this run has used up the time that people give it"}
		}
	}
	defer a.people.Rules.Asks.Begin(time.Now(), a.policy.Owner)()
	defer a.Patience.begin()()
	return a.people.Desk.Ask(ctx, r, a.through(asking), approvals.Options{Timeout: timeout, MinHuman: asking.MinHuman, Await: asking.Awaits(expects(a.through(asking)), false)})
}

// exhausted says which limit keeps a program from asking once more; "" is none.
func (a *Prompter) exhausted(profile *profiles.Profile, n hostfns.Counters) string {
	lastMinute, pending := a.people.Rules.Asks.Count(a.policy.Now(), a.policy.Owner)
	l := profile.Bounded(askUserLimits)
	for _, x := range []struct {
		limit, used int
		what        string
	}{
		{l.Asks, n.Asks, "questions in this run"},
		{l.AsksPerMinute, lastMinute, "questions within a minute"},
		{l.Pending, pending, "open questions"},
		{l.Refusals, n.Refusals, "refusals in this run"},
	} {
		if x.limit > 0 && x.used >= x.limit {
			return fmt.Sprintf("there have been %d %s, and more than %d are not let through", x.used, x.what, x.limit)
		}
	}
	return ""
}

// take waits until no other question of the run is open.
func (a *Prompter) take(ctx context.Context) (done func(), err error) {
	if a.turn == nil {
		return func() {}, nil
	}
	select {
	case a.turn <- struct{}{}:
		return func() { <-a.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func newUserAnswer(q *prompt.Inquiry, got approvals.Answer) *UserAnswer {
	a := &UserAnswer{Action: ActionCancel, Selected: []string{}, Reason: got.Code, Detail: got.Detail}
	switch {
	case got.Allowed:
		a.Action, a.Reason, a.Detail, a.Text = ActionAccept, "", "", got.Text
		for _, i := range got.Selected {
			a.Selected = append(a.Selected, q.Options[i].Label)
		}
		all := slices.Clone(a.Selected)
		if got.Text != "" {
			all = append(all, got.Text)
		}
		a.Answer = strings.Join(all, ", ")
	case got.Code == approvals.CodeDeclined:
		a.Action, a.Reason = ActionDecline, ""
	}
	return a
}

// readInquiry reads the arguments of ask_user: an object, or the question alone.
func readInquiry(raw json.RawMessage) (*prompt.Inquiry, error) {
	wrong := func(path, expected string, got json.RawMessage) error {
		return &hostfns.ArgumentError{Path: path, Expected: expected, Got: visible.Short(string(got), 60)}
	}
	var question string
	if json.Unmarshal(raw, &question) == nil && question != "" {
		return checkedInquiry(&prompt.Inquiry{Question: question})
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || object == nil {
		return nil, wrong("", "an object with a question", raw)
	}
	q := &prompt.Inquiry{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		value, expected := object[key], "text"
		if bytes.Equal(value, []byte("null")) {
			continue // as good as left out
		}
		var err error
		switch key {
		case "question":
			err = json.Unmarshal(value, &q.Question)
		case "header":
			err = json.Unmarshal(value, &q.Header)
		case "multiple":
			expected, err = "true or false", json.Unmarshal(value, &q.Multiple)
		case "freeText":
			expected, err = "true or false", json.Unmarshal(value, &q.FreeText)
		case "options":
			expected = "an array of texts, or of {label, description}"
			q.Options, err = readOptions(value)
		default:
			return nil, wrong("/"+key, "one of the keys header, question, options, multiple and freeText", value)
		}
		if err != nil {
			return nil, wrong("/"+key, expected, value)
		}
	}
	return checkedInquiry(q)
}

func checkedInquiry(q *prompt.Inquiry) (*prompt.Inquiry, error) {
	if err := q.Check(); err != nil {
		return nil, &hostfns.ArgumentError{Expected: "a question that a person can be shown", Got: strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	return q, nil
}

func readOptions(raw json.RawMessage) ([]prompt.Option, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, err
	}
	var all []prompt.Option
	for _, item := range items {
		var o prompt.Option
		if json.Unmarshal(item, &o.Label) != nil {
			d := json.NewDecoder(bytes.NewReader(item))
			d.DisallowUnknownFields()
			if err := d.Decode(&o); err != nil {
				return nil, err
			}
		}
		all = append(all, o)
	}
	return all, nil
}

// A Presence says how many people are there to be asked over a channel.
type Presence struct {
	Channel string `json:"channel"`
	Present int    `json:"present"`
}

// Present says who could be asked now over the channels of all requests,
// beside those that each request brings. Channels that do not know who is there
// are left out.
func (w *People) Present() []Presence {
	var all []Presence
	for _, c := range w.Channels {
		if attended, ok := c.(interface{ Present() int }); ok {
			all = append(all, Presence{c.Name(), attended.Present()})
		}
	}
	return all
}

var _ hostfns.Asker = (*Prompter)(nil)
