package prompt

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
)

// hidden are arguments that no form shows whole, by what is too much of them.
func hidden() map[string]string {
	deep, many := `"x"`, []string{}
	for range 20 {
		deep = `{"d":` + deep + `}`
	}
	for i := range 60 {
		many = append(many, fmt.Sprintf(`"k%d":"%d"`, i, i))
	}
	return map[string]string{
		"a long text":         `{"path":"/a","content":"` + strings.Repeat("x ", 900) + `rm -rf ~ ` + strings.Repeat("x ", 900) + `"}`,
		"many members":        "{" + strings.Join(many, ",") + "}",
		"many elements":       `{"to":[` + strings.Repeat(`"anna",`, 60) + `"eve"]}`,
		"many levels":         deep,
		"many lines":          `{"content":"` + strings.Repeat(`x\n`, 2000) + `"}`,
		"a long name":         `{"` + strings.Repeat("k", 2000) + `":1}`,
		"an endless password": `{"password":"` + strings.Repeat("x", 4000) + `"}`,
	}
}

// partly is a call of which a form hides a part.
func partly(args string, risk call.Risk) *Request {
	r := request(risk)
	r.Name, r.Server, r.Tool, r.Run, r.Args = "fs__write", "fs", "write", "r1", json.RawMessage(args)
	r.Elsewhere = "A person answers on the page"
	return r
}

// answersTo tells each answer by a letter: y, n, p for a call that the form can only refuse, and ? for unclear.
func answersTo(answers []call.Answer) string {
	var got strings.Builder
	for _, a := range answers {
		switch {
		case a.Err == nil && a.Allowed:
			got.WriteByte('y')
		case a.Err == nil:
			got.WriteByte('n')
		case errors.Is(a.Err, ErrPartial):
			got.WriteByte('p')
		default:
			got.WriteByte('?')
		}
	}
	return got.String()
}

// A form about one call that it does not show whole can only refuse it, whatever comes back; it says so, and where
// people answer.
func TestP39_13AFormAllowsNothingThatItDoesNotShowWhole(t *testing.T) {
	for what, args := range hidden() {
		for _, risk := range []call.Risk{"", call.Low, call.Medium, call.High} {
			if shown := Render(partly(args, risk), RenderOptions{Markdown: true}); shown.Complete {
				continue // a form about a high risk shows more
			}
			for _, style := range []formStyle{enumNames, oneOf} {
				r := partly(args, risk)
				r.Edit = func(json.RawMessage) error { return nil }
				r.Terms = Terms{Scopes: []call.Scope{call.ForRun, call.ForTime}, Args: coverAny}
				message, s := schemaOf(t, []*Request{r}, style)
				field := s.Properties["decision"]
				if n := len(field.Enum) + len(field.OneOf); n != 1 || !slices.Equal(s.order, []string{"decision", "reason"}) {
					t.Errorf("%s, risk %s: %d choices, fields %v", what, risk, n, s.order)
				}
				if !strings.Contains(message, "This form can only refuse: the call is too large to be shown whole here. "+
					"A person answers on the page.") {
					t.Errorf("%s: the form does not say what to do:\n%s", what, message)
				}
				for _, content := range []map[string]any{
					{"decision": "allow_once"}, {"decision": "allow_run"}, {"decision": "allow_time"}, {"decision": "allow_plan"},
					{"decision": "allow_once", "reason": "fine"}, {"decision": "allow_once", "arguments": `{"path":"b"}`},
					{"decision": "allow_once", "same_for_all": "allow_once"}, {"same_for_all": "allow_once"}, {},
				} {
					if got := ReadForm([]*Request{r}, "accept", content)[0]; got.Allowed || got.Err == nil {
						t.Errorf("%s, risk %s: %v gives %+v", what, risk, content, got)
					}
				}
				for _, content := range []map[string]any{{"decision": "deny"}, {"decision": "deny", "reason": "no"}} {
					if got := answersTo(ReadForm([]*Request{r}, "accept", content)); got != "n" {
						t.Errorf("%s: a refusal is %s", what, got)
					}
				}
				if again := Again([]*Request{r}, "2025-11-25", "accept", map[string]any{"decision": "allow_once"}); again != nil {
					t.Errorf("%s: a second form, which cannot allow it either: %s", what, again.Message)
				}
				again := Again([]*Request{r}, "2025-11-25", "accept", map[string]any{"decision": "allow_once", "x": 1})
				if again != nil && answersTo(again.Read("accept", map[string]any{"decision": "allow_once"})) == "y" {
					t.Errorf("%s: a second form allows it", what)
				}
			}
		}
	}
}

// Of the calls of one form, a yes counts for those that it shows whole, and for no other: neither one decision, nor one
// for all, nor one that many calls share, nor the plan.
func TestP39_13AYesCountsForTheCallsThatAreShownWhole(t *testing.T) {
	several := hidden()
	delete(several, "many levels") // a table shows a value with its pointer, at any depth
	for what, args := range several {
		for _, n := range []int{3, 14} { // with more than ten, calls share a decision
			var calls []*Request
			for i := range n {
				r := partly(fmt.Sprintf(`{"path":"/%d"}`, i), call.Medium)
				if i == 1 {
					r = partly(args, call.Medium)
				}
				r.Call = i + 1
				calls = append(calls, r)
			}
			want := "yp" + strings.Repeat("y", n-2)
			message, s := schemaOf(t, calls, oneOf)
			if !strings.Contains(message, "This form can only refuse call 2: the call is too large") {
				t.Errorf("%s among %d: nothing says why:\n%s", what, n, message)
			}
			yeses, denials, left := map[string]any{}, map[string]any{}, map[string]any{}
			for name, field := range s.Properties {
				if strings.HasPrefix(name, "decision") {
					yeses[name], denials[name] = "allow_once", "deny"
					if len(field.OneOf) > 1 {
						left[name] = "allow_once"
						if !slices.Contains(s.Required, name) {
							t.Errorf("%s among %d: %s is not required", what, n, name)
						}
					}
				}
			}
			for _, c := range s.Properties["same_for_all"].OneOf {
				if c.Const != denyValue {
					t.Errorf("%s among %d: the form offers %q", what, n, c.Title)
				}
			}
			for title, content := range map[string]map[string]any{"each": yeses, "each that it can": left} {
				if got := answersTo(ReadForm(calls, "accept", content)); got != want {
					t.Errorf("%s among %d, %s: got %s, want %s", what, n, title, got, want)
				}
				if again := Again(calls, "2025-11-25", "accept", content); again != nil {
					t.Errorf("%s among %d, %s: a second form: %s", what, n, title, again.Message)
				}
			}
			if _, ok := s.Properties["same_for_all"]; ok {
				all := map[string]any{"same_for_all": "allow_once"}
				got := ReadForm(calls, "accept", all)
				if strings.Contains(answersTo(got[1:2]), "y") {
					t.Errorf("%s among %d: one yes for all gives %s", what, n, answersTo(got))
				}
				maps.Copy(all, yeses)
				if got := answersTo(ReadForm(calls, "accept", all)); got != want {
					t.Errorf("%s among %d: each, and all: %s", what, n, got)
				}
			}
			if got := answersTo(ReadForm(calls, "accept", denials)); got != strings.Repeat("n", n) {
				t.Errorf("%s among %d: refusing gives %s", what, n, got)
			}
			slip := maps.Clone(yeses) // a second form about another slip does not change it
			slip["reason"] = 7
			again := Again(calls, "2025-11-25", "accept", slip)
			if again == nil {
				t.Fatalf("%s among %d: no second form", what, n)
			}
			if got := answersTo(again.Read("accept", map[string]any{"reason": "fine"})); got != want {
				t.Errorf("%s among %d: the second form gives %s, want %s", what, n, got, want)
			}
		}
	}
}

// A call that people do not see whole is in no plan that they allow with it, and no plan is allowed that is not whole.
func TestP39_13NoPlanComesWithACallThatIsNotShownWhole(t *testing.T) {
	r := planned(t)
	r.Args = json.RawMessage(hidden()["a long text"])
	if got := ReadForm([]*Request{r}, "accept", map[string]any{"decision": planValue})[0]; got.Allowed {
		t.Errorf("got %+v", got)
	}
	whole := planned(t)
	r.Call, whole.Call = 1, 2
	for _, field := range []string{"same_for_all", "decision_1", "decision_2"} {
		for _, got := range ReadForm([]*Request{r, whole}, "accept", map[string]any{field: planValue}) {
			if got.Allowed && got.Scope == call.ForPlan && field != "decision_2" {
				t.Errorf("%s: got %+v", field, got)
			}
		}
	}
	if planOf([]*Request{r, whole}, someday) != nil {
		t.Error("the plan is offered with a call that is not shown whole")
	}
}
