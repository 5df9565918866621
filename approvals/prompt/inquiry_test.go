package prompt

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// S3.6: what a form brings back is an answer only if it answers what was asked.
func TestInquiryForms(t *testing.T) {
	one, oneOrWords := inquiry(false, false, "a", "b", "c"), inquiry(false, true, "a", "b", "c")
	some, words := inquiry(true, false, "a", "b", "c"), inquiry(false, false)
	type content = map[string]any
	tests := []struct {
		why      string
		request  *Request
		action   string
		content  content
		selected []int
		text     string
		err      error
	}{
		{"one of them", one, "accept", content{"answer": "option_2"}, []int{1}, "", nil},
		{"none of them", one, "accept", content{"answer": "option_4"}, nil, "", ErrUnclear},
		{"a label instead of its value", one, "accept", content{"answer": "a"}, nil, "", ErrUnclear},
		{"an empty form", one, "accept", content{}, nil, "", ErrUnclear},
		{"no content", one, "accept", nil, nil, "", ErrUnclear},
		{"a decision about a call", one, "accept", content{"decision": "allow_once"}, nil, "", ErrUnclear},
		{"words that were not asked for", one, "accept", content{"text": "d"}, nil, "", ErrUnclear},
		{"words", oneOrWords, "accept", content{"text": "d"}, nil, "d", nil},
		{"words and one of them", oneOrWords, "accept", content{"answer": "option_1", "text": "quickly"}, []int{0}, "quickly",
			nil},
		{"one of them, the words left empty", oneOrWords, "accept", content{"answer": "option_1", "text": ""}, []int{0}, "",
			nil},
		{"blanks", words, "accept", content{"text": "  "}, nil, "", ErrUnclear},
		{"a number for words", words, "accept", content{"text": 3}, nil, "", ErrUnclear},
		{"too many words", words, "accept", content{"text": strings.Repeat("x", MaxAnswer+1)}, nil, "", ErrUnclear},
		{"some as a list", some, "accept", content{"answers": []any{"option_1", "option_3"}}, []int{0, 2}, "", nil},
		{"some as single fields", some, "accept", content{"answer_1": true, "answer_2": false, "answer_3": true}, []int{0, 2},
			"", nil},
		{"the same twice", some, "accept", content{"answers": []any{"option_1", "option_1"}}, nil, "", ErrUnclear},
		{"some where one was asked for", one, "accept", content{"answers": []any{"option_1", "option_2"}}, nil, "",
			ErrUnclear},
		{"single fields where one was asked for", one, "accept", content{"answer_1": true}, nil, "", ErrUnclear},
		{"declined", one, "decline", nil, nil, "", nil},
		{"dismissed", one, "cancel", nil, nil, "", ErrDismissed},
		{"an unknown action", one, "yes", content{"answer": "option_1"}, nil, "", ErrUnclear},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			got, err := readFormOfOne(tt.request, tt.action, tt.content)
			if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.selected, got.Selected, cmpopts.EquateEmpty()); diff != "" || got.Text != tt.text {
				t.Errorf("got %q and (-want +got):\n%s", got.Text, diff)
			}
			if yes := tt.err == nil && tt.action == "accept"; yes != got.Allowed && err == nil {
				t.Errorf("allowed: %v", got.Allowed)
			}
		})
	}
}

// The schemas that go to clients, in both styles.
func TestInquirySchemas(t *testing.T) {
	tests := []struct {
		why     string
		request *Request
		style   formStyle
		want    string
	}{
		{"one", inquiry(false, false, "a", "b"), oneOf,
			`{"type":"object","required":["answer"],"properties":{"answer":{"type":"string","title":"Your answer","oneOf":[{"const":"option_1","title":"\"a\""},{"const":"option_2","title":"\"b\""}]}}}`},
		{"one, as older clients know it", inquiry(false, false, "a"), enumNames,
			`{"type":"object","required":["answer"],"properties":{"answer":{"type":"string","title":"Your answer","enum":["option_1"],"enumNames":["\"a\""]}}}`},
		{"some", inquiry(true, true, "a"), oneOf,
			`{"type":"object","properties":{"answers":{"type":"array","title":"Your answers","items":{"anyOf":[{"const":"option_1","title":"\"a\""}]}},"text":{"type":"string","title":"In your own words","maxLength":4000}}}`},
		{"some, as older clients know it", inquiry(true, false, "a"), enumNames,
			`{"type":"object","properties":{"answer_1":{"type":"boolean","title":"\"a\""}}}`},
		{"words", inquiry(false, false), oneOf,
			`{"type":"object","required":["text"],"properties":{"text":{"type":"string","title":"Your answer","maxLength":4000}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			if _, schema := formOfOne(tt.request, tt.style); string(schema) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", schema, tt.want)
			}
		})
	}
}

// What a program may not ask.
func TestInquiriesAreChecked(t *testing.T) {
	many := inquiry(false, false, strings.Split(strings.Repeat("x,", maxOptions), ",")...).Inquiry
	for why, tt := range map[string]struct {
		inquiry *Inquiry
		want    string
	}{
		"right":       {inquiry(true, true, "a", "b").Inquiry, ""},
		"no question": {&Inquiry{Question: " \n"}, "there is no question"},
		"a long one": {&Inquiry{Question: strings.Repeat("x", maxQuestion+1)},
			"the question has 2001 characters, and 2000 is the most"},
		"many options":       {many, "there are 21 options, and 20 is the most"},
		"the same twice":     {inquiry(false, false, "a", "a").Inquiry, "option 2 has the label of another one"},
		"without a label":    {inquiry(false, false, "").Inquiry, "option 1 has no label"},
		"several of nothing": {&Inquiry{Question: "?", Multiple: true}, "multiple needs options"},
	} {
		t.Run(why, func(t *testing.T) {
			err := tt.inquiry.Check()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// The request to connect an account has our words, and visible ones of others. A form cannot answer it with a yes.
func TestAccountsToConnect(t *testing.T) {
	const page = "https://codemode.example/accounts"
	r := &Request{Name: ConnectTool, Tool: ConnectTool, Server: "lin\u202ear", Principal: "acme:anna", Run: "r_1",
		Code:    "7f3a",
		Inquiry: Connection("acme:anna", "lin\u202ear", page)}
	const want = `A program calls a server that it reaches with the account of whoever runs it, and no account is connected.
The call waits until it is. Connecting allows no call: your rules decide about it afterwards.

    Connect an account
    server    lin\u{202E}ar
    account   acme:anna
    page      https://codemode.example/accounts
    run       r_1
    code      7f3a
    Nobody else can connect it. A refusal ends the wait, and the call is not made.
`
	if diff := cmp.Diff(want, Text(r, RenderOptions{Width: 110})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := Summary(r), `connect the account of acme:anna at lin\u{202E}ar`; got != want {
		t.Errorf("in a line: %s, want %s", got, want)
	}
	for _, content := range []map[string]any{nil, {}, {"text": "done"}, {"answer": "option_1"}, {"decision": allowValue}} {
		for _, a := range ReadForm([]*Request{r}, "accept", content) {
			if a.Err == nil && a.Allowed && r.Inquiry.CheckAnswer(&a) == nil {
				t.Errorf("%v is a yes", content)
			}
		}
	}
	other := &Request{Inquiry: &Inquiry{Question: "?"}}
	if r.Kind() != "account" || other.Kind() != "question" || (&Request{}).Kind() != "call" {
		t.Error("it mixes up the kinds of questions")
	}
}
