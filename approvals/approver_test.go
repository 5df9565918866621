package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/approvals/prompt"
)

// S3.4: an approver refuses, with or without a reason, allows, or allows with other arguments. Anything else is an invalid
// decision, and a no.
func TestApprovers(t *testing.T) {
	tests := []struct {
		why    string
		reply  prompt.Reply
		err    error
		code   string // "" is a yes
		reason string
		args   string
	}{
		{"allow", prompt.Reply{Decision: prompt.AllowOnce}, nil, "", "", ""},
		{"allow with other arguments", prompt.Reply{Decision: prompt.AllowOnce, Args: json.RawMessage(`{"path":"/b"}`)}, nil, "", "", `{"path":"/b"}`},
		{"other arguments that are wrong", prompt.Reply{Decision: prompt.AllowOnce, Args: json.RawMessage(`{"path":"/etc"}`)}, nil, CodeNoApprover, "", ""},
		{"refuse", prompt.Reply{}, nil, CodeDeclined, "", ""},
		{"refuse with a reason", prompt.Reply{Reason: "on Monday"}, nil, CodeDeclined, "on Monday", ""},
		{"a decision that is none", prompt.Reply{Decision: 7}, nil, CodeInvalid, "", ""},
		{"a decision below zero", prompt.Reply{Decision: -1}, nil, CodeInvalid, "", ""},
		{"an invalid one, said so", prompt.Reply{Decision: prompt.AllowOnce}, errInvalid, CodeInvalid, "", ""},
		{"an error", prompt.Reply{Decision: prompt.AllowOnce}, errors.New("the chat is down"), CodeNoApprover, "", ""},
		{"nobody there", prompt.Reply{Decision: prompt.AllowOnce}, ErrNoPerson, CodeNoApprover, "", ""},
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
			c := Approver("bot", func(context.Context, *prompt.Request) (prompt.Reply, error) { return tt.reply, tt.err })
			got := d.Ask(t.Context(), r, []Channel{c}, Options{})
			if got.Allowed != (tt.code == "") || got.Code != tt.code || got.Reason != tt.reason || string(got.Args) != tt.args {
				t.Errorf("got %+v", got)
			}
		})
	}
	defer func() {
		if recover() == nil {
			t.Error("an approver without a function was made")
		}
	}()
	Approver("bot", nil)
}
