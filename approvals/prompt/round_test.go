package prompt

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
)

// properties of a form's schema, in their order.
type readSchema struct {
	Required   []string
	Properties map[string]struct {
		Title     string
		Enum      []string
		EnumNames []string
		OneOf     []choice
		Default   any
	}
	order []string
}

func schemaOf(t *testing.T, calls []*Request, style formStyle) (string, readSchema) {
	t.Helper()
	message, raw := formOf(calls, style)
	var s readSchema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	var outer struct{ Properties json.RawMessage }
	checktest.OK(t, json.Unmarshal(raw, &outer))
	properties, err := parseArgs(outer.Properties)
	checktest.OK(t, err)
	for key := range properties.Members() {
		s.order = append(s.order, key)
	}
	return message, s
}

// C2: the asks of one moment are one form, with a decision for each and one for all; C4: each is required, has no
// default and begins with the refusal.
func TestC2OneFormForTheAsksOfOneMoment(t *testing.T) {
	for _, style := range []formStyle{enumNames, oneOf} {
		message, s := schemaOf(t, issues(5), style)
		if want := []string{"same_for_all", "decision_1", "decision_2", "decision_3", "decision_4", "decision_5",
			"reason"}; !slices.Equal(s.order, want) {
			t.Errorf("fields %v, want %v", s.order, want)
		}
		if want := []string{"decision_1", "decision_2", "decision_3", "decision_4", "decision_5"}; !slices.Equal(s.Required,
			want) {
			t.Errorf("required %v, want %v", s.Required, want)
		}
		for _, name := range s.order[:6] {
			p := s.Properties[name]
			first := append(slices.Clone(p.Enum), "")[0]
			if style == oneOf {
				first = p.OneOf[0].Const
			}
			if first != "deny" || p.Default != nil {
				t.Errorf("%s begins with %q and defaults to %v", name, first, p.Default)
			}
		}
		if got := s.Properties["decision_3"].Title; got != "Call 3: github.close_issue, code 0002" {
			t.Errorf("title %q", got)
		}
		if !strings.Contains(message, "A program asks to make 5 calls.") {
			t.Errorf("message %s", message)
		}
	}
	if _, s := schemaOf(t, issues(1), oneOf); !slices.Equal(s.order, []string{"decision", "reason"}) {
		t.Errorf("fields of a single call: %v", s.order)
	}
}

// More calls than a form has room for are rows under one decision.
func TestManyCallsShareDecisions(t *testing.T) {
	other := func(name string) *Request {
		return &Request{Server: "s", Tool: name, Name: "s__" + name, Risk: call.Low, Args: json.RawMessage(`{}`)}
	}
	tests := []struct {
		why    string
		calls  []*Request
		fields int
		titles map[string]string
	}{
		{"ten calls", issues(10), 10, map[string]string{"decision_10": "Call 10: github.close_issue, code 0009"}},
		{"eleven similar ones", issues(11), 1, map[string]string{"decision_1": "Calls 1 to 11: github.close_issue"}},
		{"37 and two others", issues(37, other("a"), other("b")), 3,
			map[string]string{"decision_1": "Calls 1 to 37: github.close_issue", "decision_2": "Call 38: s.a",
				"decision_3": "Call 39: s.b"}},
		{"thirteen different ones", issues(1, other("a"), other("b"), other("c"), other("d"), other("e"), other("f"),
			other("g"), other("h"), other("i"), other("j"), other("k"), other("l")), 10,
			map[string]string{"decision_9": "Call 9: s.h", "decision_10": "Calls 10 to 13: several tools"}},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			_, s := schemaOf(t, test.calls, oneOf)
			if len(s.Required) != test.fields {
				t.Errorf("%d decisions, want %d", len(s.Required), test.fields)
			}
			for name, want := range test.titles {
				if got := s.Properties[name].Title; got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			answers := map[string]any{}
			for _, name := range s.Required {
				answers[name] = "allow_once"
			}
			for i, got := range ReadForm(test.calls, "accept", answers) {
				if got.Err != nil || !got.Allowed {
					t.Errorf("call %d: %+v", i+1, got)
				}
			}
			delete(answers, "decision_1")
			for i, got := range ReadForm(test.calls, "accept", answers) {
				shared := slices.Contains(decisions(test.calls)[0], i)
				if (got.Err != nil) != shared {
					t.Errorf("without decision_1, call %d: %+v", i+1, got)
				}
			}
		})
	}
}

// D8: similar calls are one table, what is the same in all stands there once, and no row is left out.
func TestD8SimilarCallsAreOneTable(t *testing.T) {
	calls := issues(37)
	shown := RenderAll(calls, RenderOptions{})
	if strings.Count(shown.Text(), `owner: "acme"`) != 1 || strings.Count(shown.Text(), `/repo/part: "web"`) != 1 {
		t.Errorf("what is the same is shown more than once:\n%s", shown.Text())
	}
	for i := range calls {
		for _, want := range []string{fmt.Sprintf("    call %d, code %04x: id: %d\n", i+1, i, 1000+i)} {
			if strings.Count(shown.Text(), want) != 1 {
				t.Errorf("%q is shown %d times:\n%s", want, strings.Count(shown.Text(), want), shown.Text())
			}
		}
	}
	if shown.Cut || !shown.Complete {
		t.Error("something is left out")
	}
	checkInert(t, shown.Text())
}

// Two rounds that differ are shown differently (G10), whatever is the same in their calls.
func TestG10RoundsThatDifferAreShownDifferently(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	seen := map[string]string{}
	for range 1200 {
		var calls []*Request
		var id strings.Builder
		base := `{"p":` + randomJSON(rng, 2) + `,"q":{"r":1,"s":` + randomJSON(rng, 1) + `}`
		for range 2 + rng.IntN(3) {
			args := base + "}"
			if rng.IntN(2) == 0 {
				args = base + `,"v":` + randomJSON(rng, 3) + "}"
			}
			form, err := canonical([]byte(args))
			if err != nil {
				form = []byte(args)
			}
			id.Write(form)
			id.WriteByte('\n')
			calls = append(calls, &Request{Name: "s__t", Args: json.RawMessage(form), Risk: call.Medium})
		}
		shown := RenderAll(calls, RenderOptions{Whole: true}).Text()
		checkInert(t, shown)
		if other, ok := seen[shown]; ok && other != id.String() {
			t.Fatalf("%s and\n%s are both shown as\n%s", id.String(), other, shown)
		}
		seen[shown] = id.String()
	}
}

// What a form about three calls comes back with, and what that says about each: y, n, ? for no clear answer.
func TestFormsOfSeveralCalls(t *testing.T) {
	type content = map[string]any
	all := func(a, b, c any) content { return content{"decision_1": a, "decision_2": b, "decision_3": c} }
	with := func(c content, key string, value any) content { c[key] = value; return c }
	const yes, no = "allow_once", "deny"
	tests := []struct {
		why     string
		content content
		want    string
	}{
		{"each yes", all(yes, yes, yes), "yyy"},
		{"mixed", all(yes, no, yes), "yny"},
		{"one is missing", content{"decision_1": yes, "decision_3": no}, "y?n"},
		{"one is nothing", all(yes, nil, yes), "y?y"},
		{"one is true", all(yes, true, yes), "y?y"},
		{"one is unknown", all(yes, "allow", yes), "y?y"},
		{"one is a list", all(yes, []any{yes}, yes), "y?y"},
		{"one is empty", all(yes, "", yes), "y?y"},
		{"the same for all", content{"same_for_all": yes}, "yyy"},
		{"a no for all", content{"same_for_all": no}, "nnn"},
		{"a no for all beats a yes for each", with(all(yes, yes, yes), "same_for_all", no), "nnn"},
		{"a no for one beats a yes for all", with(all(yes, no, yes), "same_for_all", yes), "yny"},
		{"a yes for all fills in", content{"same_for_all": yes, "decision_2": no}, "yny"},
		{"an unknown decision for all spoils every yes", with(all(yes, no, yes), "same_for_all", "each"), "???"},
		{"true for all", with(all(yes, yes, yes), "same_for_all", true), "???"},
		{"an empty form", content{}, "???"},
		{"only a reason", content{"reason": "why not"}, "???"},
		{"a field that was not asked for spoils every yes, and no refusal", with(all(yes, no, yes), "decision_4", yes),
			"?n?"},
		{"the single form's field", with(all(yes, no, yes), "decision", yes), "?n?"},
		{"a reason that is none", with(all(yes, no, yes), "reason", 7), "?n?"},
		{"a scope that was not offered", all(yes, "allow_run", yes), "y?y"},
	}
	for _, test := range tests {
		var got strings.Builder
		for _, x := range ReadForm(issues(3), "accept", test.content) {
			switch {
			case x.Err == nil && x.Allowed:
				got.WriteByte('y')
			case x.Err == nil:
				got.WriteByte('n')
			case errors.Is(x.Err, ErrUnclear):
				got.WriteByte('?')
			default:
				got.WriteString(x.Err.Error())
			}
		}
		if got.String() != test.want {
			t.Errorf("%s: got %s, want %s", test.why, got.String(), test.want)
		}
	}
	for _, x := range ReadForm(issues(3), "decline", nil) {
		if x.Err != nil || x.Allowed {
			t.Errorf("declined: %+v", x)
		}
	}
	for _, x := range ReadForm(issues(3), "cancel", all(yes, yes, yes)) {
		if !errors.Is(x.Err, ErrDismissed) {
			t.Errorf("canceled: %+v", x)
		}
	}
}

// In a round, a call that a form cannot approve is refused or left alone, and the others are approved all the same.
func TestAGraveCallInARound(t *testing.T) {
	big := &Request{Name: "s__run", Risk: call.High, Args: json.RawMessage(`{"script":"` + strings.Repeat("x", 40000) +
		`"}`)}
	calls := issues(1, big)
	message, s := schemaOf(t, calls, oneOf)
	if len(s.Properties["decision_2"].OneOf) != 1 || len(s.Properties["same_for_all"].OneOf) != 1 {
		t.Errorf("a yes is offered: %+v", s.Properties)
	}
	if !strings.Contains(message, "This form can only refuse call 2: the call is too large") {
		t.Errorf("nothing says why:\n%s", message)
	}
	got := ReadForm(calls, "accept", map[string]any{"decision_1": "allow_once", "decision_2": "allow_once"})
	if !got[0].Allowed || !errors.Is(got[1].Err, ErrUnclear) {
		t.Errorf("got %+v", got)
	}
	got = ReadForm(calls, "accept", map[string]any{"same_for_all": "allow_once"})
	if got[1].Err == nil {
		t.Errorf("got %+v", got)
	}
}
