package approvals

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// An inquirer is a channel that can put questions of programs.
type inquirer struct{ fake }

func (inquirer) Inquires() bool { return true }

// S3.6, C6: who declined is told apart from an empty room, and from channels that cannot put such a question.
func TestInquiriesReachPeople(t *testing.T) {
	answer := func(after time.Duration, reply call.Answer, err error) Channel {
		return inquirer{fake{name: "a", after: after, reply: reply, err: err}}
	}
	chosen := call.Answer{Allowed: true, Selected: []int{1}}
	tests := []struct {
		why      string
		channels []Channel
		allowed  bool
		code     string
		detail   string
	}{
		{"an answer", []Channel{answer(time.Second, chosen, nil)}, true, "", ""},
		{"declined", []Channel{answer(time.Second, call.Answer{}, nil)}, false, call.CodeDeclined,
			"a person declined to answer"},
		{"declined by a program", []Channel{answer(5*ms, call.Answer{}, nil)}, false, call.CodeNoApprover,
			"nobody could be asked: a said no faster than a person can read"},
		{"dismissed", []Channel{answer(time.Second, call.Answer{}, prompt.ErrDismissed)}, false, call.CodeCanceled,
			"the question was closed without an answer"},
		{"nobody answers", []Channel{answer(-1, chosen, nil)}, false, call.CodeTimeout, "nobody answered in time"},
		{"no channel", nil, false, call.CodeUnsupported, "there is no means of asking a person here"},
		{"a channel for calls alone", []Channel{yes(time.Second)}, false, call.CodeUnsupported,
			"there is no means of asking a person here"},
		{"a yes that answers nothing", []Channel{answer(time.Second, call.Answer{Allowed: true}, nil)}, false,
			call.CodeNoApprover, "nobody could be asked: a gave no clear answer"},
		{"a yes for the run", []Channel{answer(time.Second, call.Answer{Allowed: true, Selected: []int{1},
			Scope: call.ForRun}, nil)}, false, call.CodeNoApprover, "nobody could be asked: a gave no clear answer"},
		{"an answer after nobody", []Channel{answer(5*ms, call.Answer{}, nil),
			inquirer{fake{name: "b", after: time.Second, reply: chosen}}}, true, "", ""},
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

// S3.6: from a seat at a queue, a question of a program is answered once, with what it offers.
func TestInquiriesInAQueue(t *testing.T) {
	q := NewQueue("terminal")
	seat := q.Sit("local:anna")
	defer seat.Leave()
	var d Desk
	answers := make(chan Result, 1)
	go func() { answers <- d.Ask(t.Context(), inquiry(true, false, "a", "b"), []Channel{q}, Options{}) }()
	var open []Open
	for len(open) == 0 {
		<-seat.News()
		open = seat.Pending()
	}
	r := open[0].Request
	for _, wrong := range []call.Answer{{Allowed: true}, {Allowed: true, Selected: []int{2}}, {Allowed: true, Text: "c"}} {
		if err := seat.Answer(r.ID, r.Digest, "", wrong); !errors.Is(err, prompt.ErrUnclear) {
			t.Errorf("%+v: got %v", wrong, err)
		}
	}
	if err := seat.Answer(r.ID, r.Digest, "", call.Answer{Allowed: true, Selected: []int{1, 0}}); err != nil {
		t.Fatal(err)
	}
	got := <-answers
	if diff := cmp.Diff([]int{1, 0}, got.Selected); diff != "" || !got.Allowed || got.By != "local:anna" {
		t.Errorf("got %+v", got)
	}
}
