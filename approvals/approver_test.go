package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// S3.4: an approver refuses, with or without a reason, allows, or allows with other arguments. Anything else is an invalid
// decision, and a no.
func TestApprovers(t *testing.T) {
	tests := []struct {
		why    string
		reply  Reply
		err    error
		code   string // "" is a yes
		reason string
		args   string
	}{
		{"allow", Reply{Decision: AllowOnce}, nil, "", "", ""},
		{"allow with other arguments", Reply{Decision: AllowOnce, Args: json.RawMessage(`{"path":"/b"}`)}, nil, "", "", `{"path":"/b"}`},
		{"other arguments that are wrong", Reply{Decision: AllowOnce, Args: json.RawMessage(`{"path":"/etc"}`)}, nil, CodeNoApprover, "", ""},
		{"refuse", Reply{}, nil, CodeDeclined, "", ""},
		{"refuse with a reason", Reply{Reason: "on Monday"}, nil, CodeDeclined, "on Monday", ""},
		{"a decision that is none", Reply{Decision: 7}, nil, CodeInvalid, "", ""},
		{"a decision below zero", Reply{Decision: -1}, nil, CodeInvalid, "", ""},
		{"an invalid one, said so", Reply{Decision: AllowOnce}, ErrInvalid, CodeInvalid, "", ""},
		{"an error", Reply{Decision: AllowOnce}, errors.New("the chat is down"), CodeNoApprover, "", ""},
		{"nobody there", Reply{Decision: AllowOnce}, ErrNoPerson, CodeNoApprover, "", ""},
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
			c := Approver("bot", func(context.Context, *Request) (Reply, error) { return tt.reply, tt.err })
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

// S3.5: what may be logged of arguments has no secret in it, is short, is one line of visible characters, and can be narrowed.
func TestDisplaySafeArguments(t *testing.T) {
	deep := `{"a":{"b":{"c":{"d":{"e":{"f":1}}}}}}`
	tests := []struct {
		why, args string
		display   Display
		has, not  []string
	}{
		{"a secret", `{"headers":{"Authorization":"Bearer abc.def"},"api_key":"0123456789abcdef","to":"anna"}`, Display{}, []string{`"anna"`, "api_key"}, []string{"abc.def", "0123456789abcdef"}},
		{"a key of one's own", `{"pin":"4711","to":"anna"}`, Display{Keys: []string{"pin"}}, []string{`"anna"`}, []string{"4711"}},
		{"a pointer", `{"card":{"number":"4111"}}`, Display{Pointers: []string{"/card/number"}}, []string{"card"}, []string{"4111"}},
		{"a header", `{"headers":[{"name":"Authorization","value":"hunter2hunter3"}]}`, Display{}, []string{"Authorization"}, []string{"hunter2"}},
		{"a path is no secret", `{"token":"/home/x/token/file"}`, Display{}, []string{"/home/x/token/file"}, nil},
		{"a long text", `{"x":"` + strings.Repeat("long ", 1000) + `end"}`, Display{}, []string{"characters hidden", `end"`}, []string{strings.Repeat("long ", 50)}},
		{"a long list", `[` + strings.Repeat("1,", 1000) + `2]`, Display{}, []string{"989 entries hidden"}, []string{strings.Repeat("1 ", 100)}},
		{"deep", deep, Display{}, []string{"a"}, []string{`f: 1`}},
		{"narrowed", `{"x":"` + strings.Repeat("y", 100) + `"}`, Display{String: 20}, []string{"hidden"}, []string{strings.Repeat("y", 40)}},
		{"control characters", "{\"x\":\"a\\u001b[2J\u202eb\\nc\"}", Display{}, []string{`\n`}, []string{"\x1b", "\u202e", "\n"}},
		{"none", ``, Display{}, []string{"none"}, nil},
		{"not JSON", `{"x":`, Display{}, []string{"not strict JSON, 5 bytes"}, nil},
		{"a number", ` 7 `, Display{}, []string{"7"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			got := Shown(json.RawMessage(tt.args), tt.display)
			for _, part := range tt.has {
				if !strings.Contains(got, part) {
					t.Errorf("%q is missing in %s", part, got)
				}
			}
			for _, part := range tt.not {
				if strings.Contains(got, part) {
					t.Errorf("%q is in %s", part, got)
				}
			}
			if len(got) > 2000 || strings.Contains(got, "\n") {
				t.Errorf("%d bytes: %s", len(got), got)
			}
		})
	}
}
