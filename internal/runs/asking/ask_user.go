package asking

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/visible"
)

// A UserAnswer is a person's answer to a question that a program, or a model, asked in its own words. It approves
// nothing.
type UserAnswer struct {
	Action   string   `json:"action"`   // accept, decline or cancel
	Answer   string   `json:"answer"`   // the chosen labels and the words, in one text
	Selected []string `json:"selected"` // the labels
	Text     string   `json:"text"`     // the words
	// Reason explains cancel: canceled when a person closed the question, else why nobody answered it, such as
	// no_approver or timeout.
	Reason string `json:"reason,omitempty"`
	Detail string `json:"detail,omitempty"` // a sentence, if nobody answered
}

// The values of UserAnswer.Action.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel"
)

// AskUser asks a question of a program, and returns the answer to it as JSON.
func (a *Prompter) AskUser(ctx context.Context, q *hostfns.Question) (json.RawMessage, error) {
	answer, err := a.Inquire(ctx, q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// Inquire asks a question of a program, or of a model, in its own words.
func (a *Prompter) Inquire(ctx context.Context, q *hostfns.Question) (*UserAnswer, error) {
	inquiry, err := readInquiry(q.Args)
	if err != nil {
		return nil, err
	}
	release, err := a.acquire(ctx)
	if err != nil {
		return newUserAnswer(inquiry, call.Answer{Code: call.CodeCanceled, Detail: "the run ended first"}), nil
	}
	defer release()
	profile := a.policy.Profile()
	if profile == nil {
		return newUserAnswer(inquiry, call.Answer{Code: call.CodeNoApprover,
			Detail: "nothing is configured, so nobody is asked"}), nil
	}
	if limit := a.exhausted(profile, q.Before); limit != "" {
		return nil, &hostfns.LimitError{Limit: limit}
	}
	r := newInquiry(inquiry, a.principal, q.Run)
	r.Profile, r.ProfileDigest, r.Session, r.Call = q.Profile, profile.Digest(), a.session, q.Call
	var answer *UserAnswer
	_, err = a.recorded(ctx, r, func() approvals.Result {
		asking := profile.Ask()
		channels := a.channelsFor(asking)
		o := a.options(asking, a.expects(channels, r.Profile, r.Risk), asking.Timeout, false)
		if o.Timeout == 0 {
			return approvals.Result{Answer: call.Answer{How: call.ByNobody, Code: call.CodeTimeout, Detail: outOfTime}}
		}
		o.OtherOnly = false // it approves nothing
		defer a.begin()()
		got := a.put(ctx, []*prompt.Request{r}, channels, o)[0]
		if got.Code == call.CodeUnsupported && len(approvals.Places(channels, call.Low)) > 0 {
			got.Detail = nobodyThere(channels, call.Low)
		}
		return got
	}, func(got approvals.Result, entry *call.Entry) {
		answer = newUserAnswer(inquiry, got.Answer)
		entry.Reason = cmp.Or(got.Code, answered)
		text, _ := json.Marshal(answer) // strings always encode
		entry.Result = &call.EntryResult{Raw: text}
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// newInquiry makes a request from a program's question.
func newInquiry(inquiry *prompt.Inquiry, principal, run string) *prompt.Request {
	args, _ := json.Marshal(inquiry) // strings always encode
	return &prompt.Request{
		Name: prompt.InquiryTool, Tool: prompt.InquiryTool, Inquiry: inquiry, Args: args, Risk: call.Low,
		Principal: principal, Code: prompt.NewCode(), Run: run, Time: time.Now(),
	}
}

// answered is the state of a question of a program that somebody has answered.
const answered = "answered"

func newUserAnswer(q *prompt.Inquiry, got call.Answer) *UserAnswer {
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
	case got.Code == call.CodeDeclined:
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
			continue // an empty value counts as absent
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
		return nil, &hostfns.ArgumentError{Expected: "a question that a person can be shown",
			Got: strings.ReplaceAll(err.Error(), "\n", "; ")}
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

// Probe asks a test question over one channel, to find out whether it reaches a person, and reports the result. If the
// channel is not one of the channels of all requests, it is a channel of other processes that share this one's store.
// The answer allows nothing, and is not in the record: nobody asked for a call.
func (p *People) Probe(ctx context.Context, channel, principal string, wait time.Duration) approvals.Result {
	var over approvals.Channel = elsewhere(channel)
	for _, c := range p.Channels {
		if c.Name() == channel {
			over = c
		}
	}
	r := newInquiry(&prompt.Inquiry{
		Header: "Test", Question: "codemode doctor asks whether questions reach a person here. Do you see this?",
		Options: []prompt.Option{{Label: "Yes, I see it"}},
	}, principal, hostfns.NewRunID())
	return p.Desk.Ask(ctx, r, []approvals.Channel{over}, approvals.Options{Timeout: wait,
		MinHuman: approvals.DefaultMinHuman})
}
