package prompt

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
)

// A slip shows the fields at fault once more, with what is wrong, and keeps the rest.
func TestASlipIsAskedAboutAgain(t *testing.T) {
	calls := func(n int) (all []*Request) {
		for i := range n {
			r := request(call.Medium)
			r.Name, r.Call, r.Run = "fs__write", i+1, "r_1"
			r.Args = json.RawMessage(fmt.Sprintf(`{"path":"/%d"}`, i))
			all = append(all, r)
		}
		return all
	}
	type fields = map[string]any
	decided := func(n int, but fields) fields {
		all := fields{}
		for i := range n {
			all[fmt.Sprintf("decision_%d", i+1)] = "allow_once"
		}
		maps.Copy(all, but)
		maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
		return all
	}
	for _, test := range []struct {
		name   string
		n      int
		said   fields
		asks   []string // the fields of the second form
		says   string
		more   fields
		action string
		want   string // y, n or - for each call
	}{
		{"a list with a slip", 12, fields{"decision_1": "allow_once", "refuse": "3-x"}, []string{"refuse"},
			`"3-x" is neither a number nor a range`, fields{"refuse": "3"}, "accept", "yynyyyyyyyyy"},
		{"a list with another slip", 12, fields{"decision_1": "allow_once", "refuse": "3-x"}, []string{"refuse"},
			"What you said otherwise is kept", fields{"refuse": "x"}, "accept", "------------"},
		{"a list that goes away", 12, fields{"decision_1": "allow_once", "refuse": "3-x"}, []string{"refuse"}, "",
			fields{}, "accept", "yyyyyyyyyyyy"},
		{"one left blank", 9, decided(9, fields{"decision_5": nil}), []string{"decision_5"}, "there was no decision",
			fields{"decision_5": "deny"}, "accept", "yyyynyyyy"},
		{"one was not offered", 3, decided(3, fields{"decision_2": "yes"}), []string{"decision_2"}, `"yes" was not offered`,
			fields{"decision_2": "allow_once"}, "accept", "yyy"},
		{"others cannot be changed", 3, decided(3, fields{"decision_2": "yes", "decision_3": "deny"}), []string{"decision_2"},
			"", fields{"decision_2": "allow_once", "decision_3": "allow_once"}, "accept", "--n"},
		{"nothing at all", 1, fields{}, []string{"decision"}, "there was no decision", fields{"decision": "allow_once"},
			"accept", "y"},
		{"true", 1, fields{"decision": true}, []string{"decision"}, `"true" was not offered`, fields{"decision": true},
			"accept", "-"},
		{"a field too many", 1, fields{"decision": "allow_once", "always": true}, []string{"decision", "reason"},
			"had a field \"always\"", fields{"decision": "allow_once"}, "accept", "y"},
		{"a long reason", 1, fields{"decision": "allow_once", "reason": strings.Repeat("x", MaxWords+1)}, []string{"reason"},
			"at most", fields{"reason": "ok"}, "accept", "y"},
		{"then no", 3, decided(3, fields{"decision_2": "yes"}), []string{"decision_2"}, "", nil, "decline", "nnn"},
		{"then closed", 3, decided(3, fields{"decision_2": "yes"}), []string{"decision_2"}, "", nil, "cancel", "---"},
	} {
		for _, protocol := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
			all := calls(test.n)
			s := Again(all, protocol, "accept", test.said)
			if s == nil {
				t.Errorf("%s: it is not asked about again", test.name)
				continue
			}
			var schema struct {
				Properties map[string]json.RawMessage `json:"properties"`
			}
			if err := json.Unmarshal(s.Schema, &schema); err != nil {
				t.Fatal(err)
			}
			if got := slices.Sorted(maps.Keys(schema.Properties)); !slices.Equal(got, test.asks) ||
				!strings.Contains(s.Message, test.says) || !strings.Contains(s.Message, Text(all[0], RenderOptions{Markdown: true})) &&
				test.n == 1 {
				t.Errorf("%s: it asks for %q:\n%s", test.name, got, s.Message)
			}
			if strings.Contains(string(s.Schema), `"default":"allow`) {
				t.Errorf("%s: it offers a yes: %s", test.name, s.Schema)
			}
			got := ""
			for _, a := range s.Read(test.action, test.more) {
				got += map[[2]bool]string{{true, true}: "y", {true, false}: "n"}[[2]bool{a.Err == nil, a.Allowed}]
				if a.Err != nil {
					got += "-"
				}
			}
			if got != test.want {
				t.Errorf("%s: got %s, want %s", test.name, got, test.want)
			}
		}
	}
	clear := []struct {
		action string
		said   fields
	}{{"decline", nil}, {"cancel", nil}, {"accept", fields{"decision": "deny"}}, {"accept", fields{"decision": "allow_once"}}}
	for _, c := range clear {
		if s := Again(calls(1), "2025-11-25", c.action, c.said); s != nil {
			t.Errorf("%v is asked about again: %s", c, s.Message)
		}
	}
}

// A no with words is a person's, however fast it comes.
func TestANoWithWordsIsTyped(t *testing.T) {
	for _, content := range []map[string]any{{"reason": "not today"}, {"reason": " "}, nil} {
		a := ReadForm([]*Request{request(call.Medium)}, "decline", content)[0]
		if want := content["reason"] == "not today"; a.Typed != want || a.Allowed {
			t.Errorf("%v: %+v", content, a)
		}
	}
}
