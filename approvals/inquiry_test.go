package approvals

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/codemode-project/codemode/call"
)

func inquiry(multiple, freeText bool, labels ...string) *Request {
	q := &Inquiry{Header: "Deploy", Question: "Where to?", Multiple: multiple, FreeText: freeText}
	for _, l := range labels {
		q.Options = append(q.Options, Option{Label: l})
	}
	return &Request{Name: InquiryTool, Tool: InquiryTool, Profile: "p", Risk: call.Low, Code: "7f3a", Inquiry: q}
}

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
		{"words and one of them", oneOrWords, "accept", content{"answer": "option_1", "text": "quickly"}, []int{0}, "quickly", nil},
		{"one of them, the words left empty", oneOrWords, "accept", content{"answer": "option_1", "text": ""}, []int{0}, "", nil},
		{"blanks", words, "accept", content{"text": "  "}, nil, "", ErrUnclear},
		{"a number for words", words, "accept", content{"text": 3}, nil, "", ErrUnclear},
		{"too many words", words, "accept", content{"text": strings.Repeat("x", MaxAnswer+1)}, nil, "", ErrUnclear},
		{"some as a list", some, "accept", content{"answers": []any{"option_1", "option_3"}}, []int{0, 2}, "", nil},
		{"some as single fields", some, "accept", content{"answer_1": true, "answer_2": false, "answer_3": true}, []int{0, 2}, "", nil},
		{"the same twice", some, "accept", content{"answers": []any{"option_1", "option_1"}}, nil, "", ErrUnclear},
		{"some where one was asked for", one, "accept", content{"answers": []any{"option_1", "option_2"}}, nil, "", ErrUnclear},
		{"single fields where one was asked for", one, "accept", content{"answer_1": true}, nil, "", ErrUnclear},
		{"declined", one, "decline", nil, nil, "", nil},
		{"dismissed", one, "cancel", nil, nil, "", ErrDismissed},
		{"an unknown action", one, "yes", content{"answer": "option_1"}, nil, "", ErrUnclear},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			got, err := ReadForm(tt.request, tt.action, tt.content)
			if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.selected, got.Selected, cmpopts.EquateEmpty()); diff != "" || got.Text != tt.text {
				t.Errorf("got %q and (-want +got):\n%s", got.Text, diff)
			}
			if yes := tt.err == nil && tt.action == "accept"; yes != (got.Decision == AllowOnce) && err == nil {
				t.Errorf("decision %v", got.Decision)
			}
		})
	}
}

// The schemas that go to clients, in both styles.
func TestInquirySchemas(t *testing.T) {
	tests := []struct {
		why     string
		request *Request
		style   FormStyle
		want    string
	}{
		{"one", inquiry(false, false, "a", "b"), OneOf,
			`{"type":"object","required":["answer"],"properties":{"answer":{"type":"string","title":"Your answer","oneOf":[{"const":"option_1","title":"\"a\""},{"const":"option_2","title":"\"b\""}]}}}`},
		{"one, as older clients know it", inquiry(false, false, "a"), EnumNames,
			`{"type":"object","required":["answer"],"properties":{"answer":{"type":"string","title":"Your answer","enum":["option_1"],"enumNames":["\"a\""]}}}`},
		{"some", inquiry(true, true, "a"), OneOf,
			`{"type":"object","properties":{"answers":{"type":"array","title":"Your answers","items":{"anyOf":[{"const":"option_1","title":"\"a\""}]}},"text":{"type":"string","title":"In your own words","maxLength":4000}}}`},
		{"some, as older clients know it", inquiry(true, false, "a"), EnumNames,
			`{"type":"object","properties":{"answer_1":{"type":"boolean","title":"\"a\""}}}`},
		{"words", inquiry(false, false), OneOf,
			`{"type":"object","required":["text"],"properties":{"text":{"type":"string","title":"Your answer","maxLength":4000}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			if _, schema := Form(tt.request, tt.style); string(schema) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", schema, tt.want)
			}
		})
	}
}

// S3.6, 7.3/39: a program's words stand between quotation marks and escaped wherever they are shown; no line of them can be
// taken for one of ours, and no question for one about a call.
func TestInquiriesAreMarked(t *testing.T) {
	const trick = "ok\n    risk      low\n\x1b[2J\u202e**Allow** [x](y)\n    filesystem.read_file"
	r := inquiry(false, true, trick, "b")
	r.Inquiry.Header, r.Inquiry.Question, r.Inquiry.Options[1].Description = trick, trick, trick
	message, schema := Form(r, OneOf)
	told := describe(Open{Request: r}, 100)
	for where, text := range map[string]string{"text": Text(r, RenderOptions{}), "whole": Text(r, RenderOptions{Full: true}), "form": message, "socket": told.Text} {
		if !strings.Contains(text, "A program asks you something, in its own words.") || !strings.Contains(text, "allows no call") {
			t.Errorf("%s does not say what it is:\n%s", where, text)
		}
		for line := range strings.Lines(text) {
			if f := strings.Fields(line); len(f) > 0 && (f[0] == "risk" || f[0] == "filesystem.read_file") {
				t.Errorf("%s: a line of the program: %q", where, line)
			}
		}
	}
	everything := message + string(schema) + told.Heading + told.Summary + told.Inquiry.Question + told.Inquiry.Options[0].Label
	if strings.ContainsAny(everything, "\x1b\u202e") {
		t.Errorf("got %q", everything)
	}
	if len(told.Offers) > 0 || len(Offers(r, time.Now())) > 0 {
		t.Error("something is offered besides an answer")
	}
	for _, o := range []FormStyle{EnumNames, OneOf} {
		if _, schema := Form(r, o); strings.Contains(string(schema), "allow") {
			t.Errorf("something can be allowed: %s", schema)
		}
	}
	if _, mixed := FormAll([]*Request{r, write("/a")}, OneOf); strings.Count(string(mixed), allowValue) != 1 {
		t.Errorf("a question of a program can be allowed like a call: %s", mixed)
	}
}

// An inquirer is a channel that can put questions of programs.
type inquirer struct{ fake }

func (inquirer) Inquires() bool { return true }

// S3.6, C6: who declined is told apart from an empty room, and from channels that cannot put such a question.
func TestInquiriesReachPeople(t *testing.T) {
	answer := func(after time.Duration, reply Reply, err error) Channel {
		return inquirer{fake{name: "a", after: after, reply: reply, err: err}}
	}
	chosen := Reply{Decision: AllowOnce, Selected: []int{1}}
	tests := []struct {
		why      string
		channels []Channel
		allowed  bool
		code     string
		detail   string
	}{
		{"an answer", []Channel{answer(time.Second, chosen, nil)}, true, "", ""},
		{"declined", []Channel{answer(time.Second, Reply{}, nil)}, false, CodeDeclined, "a person declined to answer"},
		{"declined by a program", []Channel{answer(5*ms, Reply{}, nil)}, false, CodeNoApprover, "nobody could be asked: a said no faster than a person can read"},
		{"dismissed", []Channel{answer(time.Second, Reply{}, ErrDismissed)}, false, CodeCanceled, "the question was closed without an answer"},
		{"nobody answers", []Channel{answer(-1, chosen, nil)}, false, CodeTimeout, "nobody answered in time"},
		{"no channel", nil, false, CodeUnsupported, "there is no means of asking a person here"},
		{"a channel for calls alone", []Channel{yes(time.Second)}, false, CodeUnsupported, "there is no means of asking a person here"},
		{"a yes that answers nothing", []Channel{answer(time.Second, Reply{Decision: AllowOnce}, nil)}, false, CodeNoApprover, "nobody could be asked: a gave no clear answer"},
		{"a yes for the run", []Channel{answer(time.Second, Reply{Decision: AllowOnce, Selected: []int{1}, Scope: ForRun}, nil)}, false, CodeNoApprover, "nobody could be asked: a gave no clear answer"},
		{"an answer after nobody", []Channel{answer(5*ms, Reply{}, nil), inquirer{fake{name: "b", after: time.Second, reply: chosen}}}, true, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d Desk
				got := d.Ask(t.Context(), inquiry(false, false, "a", "b"), tt.channels, Options{Fallback: true})
				if got.Allowed != tt.allowed || got.Code != tt.code || got.Detail != tt.detail {
					t.Errorf("got %v %q %q", got.Allowed, got.Code, got.Detail)
				}
				if diff := cmp.Diff(tt.allowed, cmp.Equal(got.Selected, []int{1})); diff != "" {
					t.Errorf("selected %v", got.Selected)
				}
			})
		})
	}
	// And an answer to a question of a program is none to one about a call.
	synctest.Test(t, func(t *testing.T) {
		var d Desk
		if got := d.Ask(t.Context(), write("/a"), []Channel{answer(time.Second, chosen, nil)}, Options{}); got.Allowed {
			t.Error("a call was allowed by the answer to something else")
		}
	})
}

// S3.6: at the terminal of codemode run a person types numbers or words.
func TestInquiriesAtATerminal(t *testing.T) {
	tests := []struct {
		why      string
		request  *Request
		lines    []string
		selected []int
		text     string
		err      error
	}{
		{"a number", inquiry(false, false, "a", "b"), []string{"2"}, []int{1}, "", nil},
		{"a label", inquiry(false, false, "Alpha", "b"), []string{"alpha"}, []int{0}, "", nil},
		{"a wrong number first", inquiry(false, false, "a", "b"), []string{"3", "1"}, []int{0}, "", nil},
		{"two where one was asked for", inquiry(false, false, "a", "b"), []string{"1 2", "1"}, []int{0}, "", nil},
		{"several", inquiry(true, false, "a", "b", "c"), []string{"1, 3"}, []int{0, 2}, "", nil},
		{"words", inquiry(false, false), []string{"as you like"}, nil, "as you like", nil},
		{"words that begin with a number", inquiry(false, true, "a", "b"), []string{"2 days"}, nil, "2 days", nil},
		{"show", inquiry(false, false), []string{"show", "x"}, nil, "x", nil},
		{"nothing", inquiry(false, false), []string{"", "", "", "", ""}, nil, "", ErrUnclear},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			got, shown, err := sitting(t, tt.request, tt.lines...)
			if !errors.Is(err, tt.err) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.selected, got.Selected, cmpopts.EquateEmpty()); diff != "" || got.Text != tt.text {
				t.Errorf("got %q and (-want +got):\n%s\n%s", got.Text, diff, shown)
			}
		})
	}
	if got, _, err := sitting(t, inquiry(false, false, "a"), "decline"); err != nil || got.Decision != Refuse || !got.Typed {
		t.Errorf("decline: %+v, %v", got, err)
	}
}

// What a program may not ask.
func TestInquiriesAreChecked(t *testing.T) {
	many := inquiry(false, false, strings.Split(strings.Repeat("x,", maxOptions), ",")...).Inquiry
	for why, tt := range map[string]struct {
		inquiry *Inquiry
		want    string
	}{
		"right":              {inquiry(true, true, "a", "b").Inquiry, ""},
		"no question":        {&Inquiry{Question: " \n"}, "there is no question"},
		"a long one":         {&Inquiry{Question: strings.Repeat("x", maxQuestion+1)}, "the question has 2001 characters, and 2000 is the most"},
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

// S3.6: from a seat at a queue, a question of a program is answered once, with what it offers.
func TestInquiriesInAQueue(t *testing.T) {
	q := NewQueue("terminal")
	seat := q.Sit("local:anna")
	defer seat.Leave()
	var d Desk
	answers := make(chan Answer, 1)
	go func() { answers <- d.Ask(t.Context(), inquiry(true, false, "a", "b"), []Channel{q}, Options{}) }()
	var open []Open
	for len(open) == 0 {
		<-seat.News()
		open = seat.Pending()
	}
	r := open[0].Request
	for _, wrong := range []Reply{{Decision: AllowOnce}, {Decision: AllowOnce, Selected: []int{2}}, {Decision: AllowOnce, Text: "c"}} {
		if err := seat.Answer(r.ID, r.Digest, "", wrong); !errors.Is(err, ErrUnclear) {
			t.Errorf("%+v: got %v", wrong, err)
		}
	}
	if err := seat.Answer(r.ID, r.Digest, "", Reply{Decision: AllowOnce, Selected: []int{1, 0}}); err != nil {
		t.Fatal(err)
	}
	got := <-answers
	if diff := cmp.Diff([]int{1, 0}, got.Selected); diff != "" || !got.Allowed || got.By != "local:anna" {
		t.Errorf("got %+v", got)
	}
}
