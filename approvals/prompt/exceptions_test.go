package prompt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
)

// verdicts writes results as one letter each: y, n, ? for no clear answer.
func verdicts(results []call.Answer) string {
	var b strings.Builder
	for _, x := range results {
		switch {
		case x.Err == nil && x.Allowed:
			b.WriteByte('y')
		case x.Err == nil:
			b.WriteByte('n')
		case errors.Is(x.Err, ErrUnclear):
			b.WriteByte('?')
		default:
			b.WriteString(x.Err.Error())
		}
	}
	return b.String()
}

// A form about more calls than it has decisions takes exceptions: a list of calls that are refused beside the one yes.
func TestAFormOfManyCallsTakesExceptions(t *testing.T) {
	single := &Request{Server: "s", Tool: "a", Name: "s__a", Risk: call.Low, Args: []byte(`{}`), Run: "r1", Call: 20}
	twelve, mixed := issues(12), issues(12, single)
	type content = map[string]any
	const yes, no = "allow_once", "deny"
	for _, row := range []struct {
		why     string
		calls   []*Request
		content content
		want    string
	}{
		{"no exceptions", twelve, content{"decision_1": yes}, "yyyyyyyyyyyy"},
		{"an empty list", twelve, content{"decision_1": yes, "refuse": ""}, "yyyyyyyyyyyy"},
		{"a blank list", twelve, content{"decision_1": yes, "refuse": "  "}, "yyyyyyyyyyyy"},
		{"one call", twelve, content{"decision_1": yes, "refuse": "3"}, "yynyyyyyyyyy"},
		{"calls and a range", twelve, content{"decision_1": yes, "refuse": "3, 7-9"}, "yynyyynnnyyy"},
		{"as the text writes them", twelve, content{"decision_1": yes, "refuse": "1 to 3 and 12"}, "nnnyyyyyyyyn"},
		{"twice the same", twelve, content{"decision_1": yes, "refuse": "3,3,2-4"}, "ynnnyyyyyyyy"},
		{"all of them", twelve, content{"decision_1": yes, "refuse": "1-12"}, "nnnnnnnnnnnn"},
		{"beside a no", twelve, content{"decision_1": no, "refuse": "3"}, "nnnnnnnnnnnn"},
		{"no decision", twelve, content{"refuse": "3"}, "??n?????????"},
		{"a call that is not in the form", twelve, content{"decision_1": yes, "refuse": "13"}, "????????????"},
		{"a range that ends outside", twelve, content{"decision_1": yes, "refuse": "11-13"}, "????????????"},
		{"a range backwards", twelve, content{"decision_1": yes, "refuse": "9-7"}, "????????????"},
		{"call 0", twelve, content{"decision_1": yes, "refuse": "0"}, "????????????"},
		{"a sign", twelve, content{"decision_1": yes, "refuse": "-3"}, "????????????"},
		{"words", twelve, content{"decision_1": yes, "refuse": "none"}, "????????????"},
		{"a part of it is wrong", twelve, content{"decision_1": yes, "refuse": "3, x"}, "????????????"},
		{"a gap", twelve, content{"decision_1": yes, "refuse": "3,,4"}, "????????????"},
		{"a number that is none", twelve, content{"decision_1": yes, "refuse": "99999999999999999999"}, "????????????"},
		{"no text", twelve, content{"decision_1": yes, "refuse": 3}, "????????????"},
		{"a list", twelve, content{"decision_1": yes, "refuse": []any{"3"}}, "????????????"},
		{"too long a text", twelve, content{"decision_1": yes, "refuse": strings.Repeat("3,", 600) + "3"}, "????????????"},
		{"a wrong list beside a no", twelve, content{"decision_1": no, "refuse": "x"}, "nnnnnnnnnnnn"},
		{"the same for all, with an exception", mixed, content{"same_for_all": yes, "refuse": "2, 20"}, "ynyyyyyyyyyyn"},
		{"an exception beats the call's own yes", mixed, content{"decision_1": yes, "decision_2": yes, "refuse": "20"},
			"yyyyyyyyyyyyn"},
		{"a range across numbers that the form lacks", mixed, content{"decision_1": yes, "decision_2": yes,
			"refuse": "11-20"}, "yyyyyyyyyynnn"},
		{"a form with a decision for each call has no such field", issues(3), content{"same_for_all": yes, "refuse": "2"},
			"???"},
	} {
		t.Run(row.why, func(t *testing.T) {
			if got := verdicts(ReadForm(row.calls, "accept", row.content)); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
	for _, style := range []formStyle{enumNames, oneOf} {
		message, s := schemaOf(t, mixed, style)
		if want := []string{"same_for_all", "decision_1", "decision_2", "refuse", "reason"}; !slices.Equal(s.order, want) {
			t.Errorf("fields %v, want %v", s.order, want)
		}
		if slices.Contains(s.Required, "refuse") || !strings.Contains(s.Properties["refuse"].Title, "3, 7-9") {
			t.Errorf("the field is %+v, required %v", s.Properties["refuse"], s.Required)
		}
		for i := range mixed[:12] {
			if row := fmt.Sprintf("\n    call %d, code %04x: id: %d\n", i+1, i, 1000+i); !strings.Contains(message, row) {
				t.Errorf("%q is not in the message:\n%s", row, message)
			}
		}
	}
	// The words are about what was refused, and whoever answers so has looked.
	got := ReadForm(twelve, "accept", content{"decision_1": yes, "refuse": "3", "reason": "not this one"})
	if got[2].Reason != "not this one" || !got[2].Typed || got[0].Reason != "" {
		t.Errorf("the refused call %+v, an allowed one %+v", got[2], got[0])
	}
}

// Calls of high risk are allowed together only where the form has shown them whole. Where it has not, exceptions do not
// help.
func TestHighRiskIsAllowedTogetherOnlyAsShown(t *testing.T) {
	high := func(size int) (calls []*Request) {
		for i, r := range issues(12) {
			r.Risk, r.Args = call.High, fmt.Appendf(nil, `{"id":%d,"script":%q}`, i,
				strings.Repeat("x", size)+fmt.Sprintf("end%d", i))
			calls = append(calls, r)
		}
		return calls
	}
	calls := high(100)
	message, s := schemaOf(t, calls, oneOf)
	for i := range calls {
		if !strings.Contains(message, fmt.Sprintf(`end%d"`, i)) {
			t.Errorf("the end of call %d is not in the message:\n%s", i+1, message)
		}
	}
	if len(s.Properties["decision_1"].OneOf) != 2 {
		t.Errorf("no yes is offered: %+v", s.Properties["decision_1"])
	}
	if got := verdicts(ReadForm(calls, "accept", map[string]any{"decision_1": "allow_once",
		"refuse": "2"})); got != "ynyyyyyyyyyy" {
		t.Errorf("got %s", got)
	}
	calls = high(20_000)
	if _, s := schemaOf(t, calls, oneOf); len(s.Properties["decision_1"].OneOf) != 1 || slices.Contains(s.order,
		"refuse") {
		t.Errorf("a yes is offered: %+v", s.Properties)
	}
	if got := verdicts(ReadForm(calls, "accept", map[string]any{"decision_1": "allow_once",
		"refuse": "2"})); strings.Contains(got, "y") {
		t.Errorf("got %s", got)
	}
}

// The button says how many calls come where that is known, and of which lines where it is not.
func TestThePlanSaysOfWhichLines(t *testing.T) {
	once, loop, other := &Grant{Uses: 2}, &Grant{Uses: 50, Further: true, At: []int{7}},
		&Grant{Uses: 50, Further: true, At: []int{3, 4, 5}}
	for _, row := range []struct {
		lines []*Grant
		want  string
	}{
		{[]*Grant{once}, "Allow this and the plan: 2 more calls of this run, as listed above"},
		{[]*Grant{loop}, "Allow this and the plan for this run: the further calls of line 7, as listed above"},
		{[]*Grant{once, loop, other},
			"Allow this and the plan for this run: 2 more calls, and the further calls of lines 3 to 5 and 7, as listed above"},
		{[]*Grant{loop, {Uses: 50, Further: true}}, "Allow this and the plan for this run: further calls, as listed above"},
	} {
		if got := (&Grant{Scope: call.ForPlan, Lines: row.lines}).Text(); got != row.want {
			t.Errorf("got %q, want %q", got, row.want)
		}
	}
}

// A form of many similar calls has one decision, and offers the plan with it that its text shows.
func TestAFormOfManySimilarCallsOffersThePlan(t *testing.T) {
	r := planned(t)
	var calls []*Request
	for i := range 12 {
		call := *r
		call.Args, call.Call = fmt.Appendf(nil, `{"path":"/data/%d"}`, i), i+1
		calls = append(calls, &call)
	}
	message, s := schemaOf(t, calls, oneOf)
	offered := s.Properties["decision_1"].OneOf
	if len(offered) != 3 || offered[2].Const != "allow_plan" ||
		!strings.Contains(message, "You can allow these calls with it") {
		t.Fatalf("got %+v\n%s", offered, message)
	}
	for i, x := range ReadForm(calls, "accept", map[string]any{"decision_1": "allow_plan", "refuse": "2"}) {
		if no := !x.Allowed; x.Err != nil || no != (i == 1) || !no && x.Scope != call.ForPlan || no && x.Scope != "" {
			t.Errorf("call %d: %+v", i+1, x)
		}
	}
}
