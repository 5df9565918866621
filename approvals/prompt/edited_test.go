package prompt

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
)

// A form about one call has a field for other arguments if people may change them; a slip in it is asked about again,
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
