package prompt

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/call"
)

func TestForm(t *testing.T) {
	const begins = `{"type":"object","required":["decision"],"properties":{"decision":{"type":"string","title":"github.create_issue, code 7f3a",`
	const ends = `},"reason":{"type":"string","title":"Reason if refused (the program sees it)","maxLength":300}}}`
	large := request(call.High)
	large.Args = json.RawMessage(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)
	tests := []struct {
		why     string
		request *Request
		style   formStyle
		want    string
	}{
		{"a protocol of 2025-06-18", request(call.Medium), styleFor("2025-06-18"),
			`"enum":["deny","allow_once"],"enumNames":["Refuse","Allow this call"]`},
		{"a protocol of 2025-11-25", request(call.Medium), styleFor("2025-11-25"),
			`"oneOf":[{"const":"deny","title":"Refuse"},{"const":"allow_once","title":"Allow this call"}]`},
		{"a protocol of 2026-07-28", request(call.High), styleFor("2026-07-28"),
			`"oneOf":[{"const":"deny","title":"Refuse"},{"const":"allow_once","title":"Allow this call"}]`},
		{"an unknown protocol", request(call.Low), styleFor("draft"),
			`"enum":["deny","allow_once"],"enumNames":["Refuse","Allow this call"]`},
		{"critical cannot be approved by form", request(call.Critical), oneOf, `"oneOf":[{"const":"deny","title":"Refuse"}]`},
		{"nor can a risk that nobody knows", request("hgih"), enumNames, `"enum":["deny"],"enumNames":["Refuse"]`},
		{"high needs everything shown", large, oneOf, `"oneOf":[{"const":"deny","title":"Refuse"}]`},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			message, schema := formOfOne(test.request, test.style)
			if diff := cmp.Diff(begins+test.want+ends, string(schema)); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
			if strings.Contains(string(schema), "default") {
				t.Error("the form has a default")
			}
			if !strings.Contains(message, "\n    github.create_issue\n") {
				t.Errorf("the message does not name the tool:\n%s", message)
			}
			if onlyDeny := !strings.Contains(test.want, "allow_once"); onlyDeny != strings.Contains(message,
				"This form can only refuse") {
				t.Errorf("the message does not fit the choices:\n%s", message)
			}
		})
	}
}

// The whole of THREATS.md A13: of all these answers one kind is a yes.
func TestReadForm(t *testing.T) {
	type content = map[string]any
	const (
		allow   = "allow"
		refuse  = "refuse"
		dismiss = "dismiss"
		unclear = "unclear"
	)
	type row struct {
		why     string
		action  string
		content content
		want    string
	}
	rows := []row{
		{"the exact answer", "accept", content{"decision": "allow_once"}, allow},
		{"the exact answer with a reason", "accept", content{"decision": "allow_once", "reason": "fine"}, allow},
		{"the exact answer with an empty reason", "accept", content{"decision": "allow_once", "reason": ""}, allow},
		{"the exact answer with the longest reason", "accept", content{"decision": "allow_once",
			"reason": strings.Repeat("ü", 300)}, allow},
		{"deny", "accept", content{"decision": "deny"}, refuse},
		{"deny with a reason", "accept", content{"decision": "deny", "reason": "no"}, refuse},
		{"deny with a number for a reason", "accept", content{"decision": "deny", "reason": 1.0}, refuse},
		{"deny with more", "accept", content{"decision": "deny", "allow": true}, refuse},
		{"no content", "accept", nil, unclear},
		{"empty content", "accept", content{}, unclear},
		{"only a reason", "accept", content{"reason": "yes"}, unclear},
		{"a reason that is no text", "accept", content{"decision": "allow_once", "reason": 1.0}, unclear},
		{"a reason that is null", "accept", content{"decision": "allow_once", "reason": nil}, unclear},
		{"a reason that is too long", "accept", content{"decision": "allow_once", "reason": strings.Repeat("ü", 301)},
			unclear},
		{"a list with the value", "accept", content{"decision": []any{"allow_once"}}, unclear},
		{"a list of strings with the value", "accept", content{"decision": []string{"allow_once"}}, unclear},
		{"an object with the value", "accept", content{"decision": content{"const": "allow_once"}}, unclear},
		{"both values", "accept", content{"decision": []any{"deny", "allow_once"}}, unclear},
		{"bytes", "accept", content{"decision": []byte("allow_once")}, unclear},
		{"raw JSON", "accept", content{"decision": json.RawMessage(`"allow_once"`)}, unclear},
		{"a decision that is null", "accept", content{"decision": nil}, unclear},
	}
	for _, extra := range []string{
		"approve", "approved", "allow", "confirm", "confirmed", "decision ", "Decision", "DECISION", "deci\u0455ion", "", " ",
		"\x00", "decision_1", "decision1",
		"remember", "always", "scope", "ok", "_meta", "__proto__", "reason2", "Reason", "reason ", "content", "default",
		"value", "0", "result", "action",
	} {
		rows = append(rows,
			row{fmt.Sprintf("the answer with %q", extra), "accept", content{"decision": "allow_once", extra: true}, unclear},
			row{fmt.Sprintf("only %q", extra), "accept", content{extra: "allow_once"}, unclear},
			row{fmt.Sprintf("only %q: true", extra), "accept", content{extra: true}, unclear})
	}
	for _, value := range []any{
		true, false, 0.0, 1.0, -1.0, 2.0, math.NaN(), math.Inf(1), 1, int64(1), json.Number("1"), "", " ", "true", "True",
		"yes", "Yes", "y", "Y", "ok", "OK", "1", "0",
		"allow", "Allow", "allowed", "ALLOW_ONCE", "Allow_Once", "allow-once", "allow once", "allowonce", "allow_once ",
		" allow_once", "allow_once\n", "\tallow_once",
		"allow_once\x00", "allow_once\u200b", "\ufeffallow_once", "allow\uff3fonce", "\u0430llow_once", "allow_run",
		"allow_always", "allow_session", "allow_time",
		"Allow this call", "Refuse", "refuse", "Deny", "DENY", "deny ", "denied", "no", "No", "n", "cancel", "decline",
		"accept", "approve", "approved", "null", "undefined",
		"{}", "[]", `"allow_once"`, "'allow_once'", "allow_once,deny", "deny,allow_once", "allow_once;", "allow_once|deny",
		"decision=allow_once", "\\u0061llow_once",
		"allow_once\u202e", "7f3a", "allow_once 7f3a", strings.Repeat("allow_once", 1000), "github.create_issue",
	} {
		rows = append(rows, row{fmt.Sprintf("the value %#v", value), "accept", content{"decision": value}, unclear})
	}
	for _, action := range []string{"", "Accept", "ACCEPT", "accept ", " accept", "accepted", "approve", "allow",
		"allow_once", "yes", "ok", "submit", "error", "timeout", "acc\u0435pt", "accept\x00", "null", "complete",
		"acceptForSession", "canceled", "Decline", "Cancel"} {
		rows = append(rows, row{fmt.Sprintf("the action %q", action), action, content{"decision": "allow_once"}, unclear})
	}
	for _, c := range []content{nil, {}, {"decision": "allow_once"}, {"decision": "deny"}, {"reason": "no"},
		{"decision": true}} {
		rows = append(rows,
			row{fmt.Sprintf("decline with %v", c), "decline", c, refuse},
			row{fmt.Sprintf("cancel with %v", c), "cancel", c, dismiss})
	}
	if len(rows) < 200 {
		t.Errorf("%d rows, want 200", len(rows))
	}
	for _, test := range rows {
		for _, risk := range []call.Risk{call.Low, call.Medium, call.High} {
			reply, err := readFormOfOne(request(risk), test.action, test.content)
			got := unclear
			switch {
			case err == nil && reply.Allowed:
				got = allow
			case err == nil && !reply.Allowed:
				got = refuse
			case errors.Is(err, ErrDismissed):
				got = dismiss
			case !errors.Is(err, ErrUnclear):
				t.Errorf("%s: error %v is of no known kind", test.why, err)
			}
			if err != nil && !reflect.ValueOf(reply).IsZero() {
				t.Errorf("%s: an error comes with %+v", test.why, reply)
			}
			if got != test.want {
				t.Errorf("%s, risk %s: got %s (%v), want %s", test.why, risk, got, err, test.want)
			}
		}
		if reply, _ := readFormOfOne(request(call.Critical), test.action, test.content); reply.Allowed {
			t.Errorf("%s: approves a critical call", test.why)
		}
	}
}

func TestAHighRiskIsNotApprovedUnseen(t *testing.T) {
	r := request(call.High)
	yes := map[string]any{"decision": "allow_once"}
	r.Args = json.RawMessage(`{"script":"` + strings.Repeat("x", 4000) + `"}`)
	if reply, err := readFormOfOne(r, "accept", yes); !reply.Allowed {
		t.Errorf("4,000 characters fit: got %v", err)
	}
	r.Args = json.RawMessage(`{"script":"` + strings.Repeat("x", 40000) + `"}`)
	if _, err := readFormOfOne(r, "accept", yes); !errors.Is(err, ErrUnclear) {
		t.Errorf("40,000 characters do not fit: got %v", err)
	}
	r.Args = json.RawMessage(`{"password":"` + strings.Repeat("x", 4000) + `"}`)
	if _, err := readFormOfOne(r, "accept", yes); !errors.Is(err, ErrUnclear) {
		t.Errorf("no password has 4,000 characters: got %v", err)
	}
}

// The words of a form with a refusal in it are about the calls that were refused, and stand at no other call.
func TestWordsStandAtTheCallsThatWereRefused(t *testing.T) {
	calls := issues(3)
	for name, test := range map[string]struct {
		content map[string]any
		want    []string
	}{
		"one of three": {map[string]any{"decision_1": "allow_once", "decision_2": "deny", "decision_3": "allow_once",
			"reason": "wrong issue"}, []string{"", "wrong issue", ""}},
		"all": {map[string]any{"same_for_all": "deny", "decision_1": "deny", "decision_2": "deny",
			"decision_3": "deny", "reason": "not today"}, []string{"not today", "not today", "not today"}},
		"none": {map[string]any{"same_for_all": "allow_once", "decision_1": "allow_once",
			"decision_2": "allow_once", "decision_3": "allow_once", "reason": "as agreed"},
			[]string{"as agreed", "as agreed", "as agreed"}},
		"one that is unclear": {map[string]any{"decision_1": "allow_once", "decision_2": "perhaps", "decision_3": "deny",
			"reason": "wrong issue"}, []string{"", "", "wrong issue"}},
	} {
		var got []string
		for _, r := range ReadForm(calls, "accept", test.content) {
			got = append(got, r.Reason)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: words %q, want %q", name, got, test.want)
		}
	}
}

// A form about one call has a field for other arguments if people may change them; a mistake in it is asked about again,
// with the decision.
func TestArgumentsAreChangedInAForm(t *testing.T) {
	type fields = map[string]any
	one := func(args string) *Request {
		r := request(call.Medium)
		r.Args = json.RawMessage(args)
		r.Edit = func(args json.RawMessage) error {
			if strings.Contains(string(args), "secret") {
				return errors.New("/path: it is denied")
			}
			return nil
		}
		return r
	}
	const before = `{"path":"a.md"}`
	for _, test := range []struct {
		name, args string
		decision   string
		want       string // y, n or - for an unclear answer
		sent       string // "" for the call's own arguments
		again      string // what the second form says
	}{
		{"empty", "", "allow_once", "y", "", ""},
		{"unchanged", "{\n  \"path\": \"a.md\"\n}", "allow_once", "y", "", ""},
		{"spelt otherwise", `{"p\u0061th":"a.md"}`, "allow_once", "y", "", ""},
		{"changed", `{"path": "b.md"}`, "allow_once", "y", `{"path": "b.md"}`, ""},
		{"refused all the same", `{"path": "b.md"}`, "deny", "n", "", ""},
		{"no JSON", `{"path": `, "allow_once", "-", "", "not JSON"},
		{"a member twice", `{"path": "b.md", "path": "c.md"}`, "allow_once", "-", "", "path"},
		{"what does not fit", `{"path": "secret.md"}`, "allow_once", "-", "", "/path: it is denied"},
		{"too long", `"` + strings.Repeat("x", maxArguments) + `"`, "allow_once", "-", "", "at most"},
	} {
		r := one(before)
		content := fields{"decision": test.decision, "arguments": test.args}
		a := ReadForm([]*Request{r}, "accept", content)[0]
		got := map[bool]string{true: "y", false: "n"}[a.Allowed]
		if a.Err != nil {
			got = "-"
		}
		if got != test.want || string(a.Args) != test.sent {
			t.Errorf("%s: got %s with %s, %v", test.name, got, a.Args, a.Err)
		}
		for _, protocol := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
			s := Again([]*Request{r}, protocol, "accept", content)
			if (s != nil) != (test.again != "") {
				t.Fatalf("%s: the form is shown again: %t", test.name, s != nil)
			}
			if s == nil {
				continue
			}
			if names := fieldNames(t, s.Schema); !slices.Equal(names, []string{"arguments", "decision"}) ||
				!strings.Contains(s.Message, test.again) {
				t.Errorf("%s: it asks for %q:\n%s", test.name, names, s.Message)
			}
			if a := s.Read("accept", fields{"arguments": `{"path":"c.md"}`})[0]; a.Err == nil {
				t.Errorf("%s: the decision about other arguments counts for these", test.name)
			}
			if a := s.Read("accept", fields{"decision": "allow_once", "arguments": `{"path":"c.md"}`})[0]; a.Err != nil ||
				!a.Allowed || string(a.Args) != `{"path":"c.md"}` {
				t.Errorf("%s: mended, it is %+v", test.name, a)
			}
		}
	}
	fixed, ahead, critical := one(before), one(before), one(before)
	fixed.Edit, ahead.Ahead, critical.Risk = nil, true, call.Critical
	for name, calls := range map[string][]*Request{
		"not permitted": {fixed}, "a plan": {ahead}, "several": {one(before), one(before)}, "only a refusal": {critical},
		"masked": {one(`{"password":"hunter2hunter2"}`)}, "too long": {one(`{"x":"` + strings.Repeat("x ", maxArguments) + `"}`)},
	} {
		_, schema := Form(calls, "2025-11-25")
		if names := fieldNames(t, schema); slices.Contains(names, "arguments") {
			t.Errorf("%s: the form has the fields %q", name, names)
		}
		content := fields{"decision": "allow_once", "arguments": `{"path":"b.md"}`}
		if a := ReadForm(calls, "accept", content)[0]; a.Allowed || a.Args != nil {
			t.Errorf("%s: the arguments were taken", name)
		}
	}
}

func fieldNames(t *testing.T, schema json.RawMessage) []string {
	t.Helper()
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(s.Properties))
}
