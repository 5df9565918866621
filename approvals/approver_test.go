package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// S3.4: an approver refuses, with or without a reason, allows, or allows with other arguments. Anything else is an
// invalid decision, and a no.
func TestApprovers(t *testing.T) {
	tests := []struct {
		why    string
		reply  call.Answer
		err    error
		code   string // "" is a yes
		reason string
		args   string
	}{
		{"its own time-out", call.Answer{}, fmt.Errorf("posting: %w", context.DeadlineExceeded), call.CodeNoApprover, "", ""},
		{"its own end", call.Answer{}, context.Canceled, call.CodeNoApprover, "", ""},
		{"allow", call.Answer{Allowed: true}, nil, "", "", ""},
		{"allow with other arguments", call.Answer{Allowed: true, Args: json.RawMessage(`{"path":"/b"}`)}, nil, "", "",
			`{"path":"/b"}`},
		{"other arguments that are wrong", call.Answer{Allowed: true, Args: json.RawMessage(`{"path":"/etc"}`)}, nil,
			call.CodeNoApprover, "", ""},
		{"refuse", call.Answer{}, nil, call.CodeDeclined, "", ""},
		{"refuse with a reason", call.Answer{Reason: "on Monday"}, nil, call.CodeDeclined, "on Monday", ""},
		{"refuse with other arguments", call.Answer{Args: json.RawMessage(`{"path":"/b"}`)}, nil, call.CodeInvalid, "", ""},
		{"refuse and remember it", call.Answer{Scope: call.ForRun}, nil, call.CodeInvalid, "", ""},
		{"an invalid one, said so", call.Answer{Allowed: true}, errInvalid, call.CodeInvalid, "", ""},
		{"an error", call.Answer{Allowed: true}, errors.New("the chat is down"), call.CodeNoApprover, "", ""},
		{"nobody there", call.Answer{Allowed: true}, ErrNoPerson, call.CodeNoApprover, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			r := write("/a")
			r.Edit = func(args json.RawMessage) error {
				if strings.Contains(string(args), "/etc") {
					return errors.New("not there")
				}
				return nil
			}
			var d Desk
			c := Approver("bot", func(context.Context, *prompt.Request) (call.Answer, error) { return tt.reply, tt.err })
			got := d.Ask(t.Context(), r, []Channel{c}, Options{})
			if got.Allowed != (tt.code == "") || got.Code != tt.code || got.Reason != tt.reason || string(got.Args) != tt.args {
				t.Errorf("got %+v", got)
			}
			cause := "not there" // of arguments that are wrong
			if tt.err != nil {
				cause = tt.err.Error()
			}
			if got.Code == call.CodeNoApprover && !errors.Is(tt.err, ErrNoPerson) && (!strings.Contains(got.Detail, cause) ||
				!got.Tried[0].Failed()) {
				t.Errorf("the cause %q is not told: %+v", cause, got)
			}
		})
	}
	var d Desk
	got := d.Ask(t.Context(), write("/a"), []Channel{Approver("bot", func(context.Context, *prompt.Request) (call.Answer, error) {
		panic("no chat")
	})}, Options{})
	if got.Code != call.CodeNoApprover || !strings.Contains(got.Detail, "no chat") || !got.Tried[0].Failed() ||
		!strings.Contains(got.Tried[0].Stack, "TestApprovers") {
		t.Errorf("a panic: got %+v", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("an approver without a function was made")
		}
	}()
	Approver("bot", nil)
}
