package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/call"
)

// issues are n similar calls and what else is asked at the same moment.
func issues(n int, others ...*Request) []*Request {
	var calls []*Request
	for i := range n {
		calls = append(calls, &Request{
			Server: "github", Tool: "close_issue", Name: "github__close_issue", Profile: "p", Rule: "closing", Risk: call.Medium, Code: fmt.Sprintf("%04x", i),
			Args: json.RawMessage(fmt.Sprintf(`{"owner":"acme","repo":{"part":"web"},"id":%d}`, 1000+i)), Run: "r1", Call: i + 1,
		})
	}
	return append(calls, others...)
}

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

func schemaOf(t *testing.T, calls []*Request, style FormStyle) (string, readSchema) {
	t.Helper()
	message, raw := FormAll(calls, style)
	var s readSchema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	var outer struct{ Properties json.RawMessage }
	if err := json.Unmarshal(raw, &outer); err != nil {
		t.Fatal(err)
	}
	properties, err := parseArgs(outer.Properties)
	if err != nil {
		t.Fatal(err)
	}
	for key := range properties.Members() {
		s.order = append(s.order, key)
	}
	return message, s
}

// C2: the asks of one moment are one form, with a decision for each and one for all; C4: each is required, has no default and
// begins with the refusal.
func TestC2OneFormForTheAsksOfOneMoment(t *testing.T) {
	for _, style := range []FormStyle{EnumNames, OneOf} {
		message, s := schemaOf(t, issues(5), style)
		if want := []string{"same_for_all", "decision_1", "decision_2", "decision_3", "decision_4", "decision_5", "reason"}; !slices.Equal(s.order, want) {
			t.Errorf("fields %v, want %v", s.order, want)
		}
		if want := []string{"decision_1", "decision_2", "decision_3", "decision_4", "decision_5"}; !slices.Equal(s.Required, want) {
			t.Errorf("required %v, want %v", s.Required, want)
		}
		for _, name := range s.order[:6] {
			p := s.Properties[name]
			first := append(slices.Clone(p.Enum), "")[0]
			if style == OneOf {
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
	if _, s := schemaOf(t, issues(1), OneOf); !slices.Equal(s.order, []string{"decision", "reason"}) {
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
		{"37 and two others", issues(37, other("a"), other("b")), 3, map[string]string{"decision_1": "Calls 1 to 37: github.close_issue", "decision_2": "Call 38: s.a", "decision_3": "Call 39: s.b"}},
		{"thirteen different ones", issues(1, other("a"), other("b"), other("c"), other("d"), other("e"), other("f"), other("g"), other("h"), other("i"), other("j"), other("k"), other("l")), 10,
			map[string]string{"decision_9": "Call 9: s.h", "decision_10": "Calls 10 to 13: several tools"}},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			_, s := schemaOf(t, test.calls, OneOf)
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
			for i, got := range ReadFormAll(test.calls, "accept", answers) {
				if got.Err != nil || got.Reply.Decision != AllowOnce {
					t.Errorf("call %d: %+v", i+1, got)
				}
			}
			delete(answers, "decision_1")
			for i, got := range ReadFormAll(test.calls, "accept", answers) {
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
	if strings.Count(shown.Text, `owner: "acme"`) != 1 || strings.Count(shown.Text, `/repo/part: "web"`) != 1 {
		t.Errorf("what is the same is shown more than once:\n%s", shown.Text)
	}
	for i := range calls {
		for _, want := range []string{fmt.Sprintf("    call %d, code %04x: id: %d\n", i+1, i, 1000+i)} {
			if strings.Count(shown.Text, want) != 1 {
				t.Errorf("%q is shown %d times:\n%s", want, strings.Count(shown.Text, want), shown.Text)
			}
		}
	}
	if shown.Cut || !shown.Complete {
		t.Error("something is left out")
	}
	checkInert(t, shown.Text)
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
		shown := RenderAll(calls, RenderOptions{Full: true, Reveal: true}).Text
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
		{"a field that was not asked for spoils every yes, and no refusal", with(all(yes, no, yes), "decision_4", yes), "?n?"},
		{"the single form's field", with(all(yes, no, yes), "decision", yes), "?n?"},
		{"a reason that is none", with(all(yes, no, yes), "reason", 7), "?n?"},
		{"a scope that was not offered", all(yes, "allow_run", yes), "y?y"},
	}
	for _, test := range tests {
		var got strings.Builder
		for _, x := range ReadFormAll(issues(3), "accept", test.content) {
			switch {
			case x.Err == nil && x.Reply.Decision == AllowOnce:
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
	for _, x := range ReadFormAll(issues(3), "decline", nil) {
		if x.Err != nil || x.Reply.Decision != Refuse {
			t.Errorf("declined: %+v", x)
		}
	}
	for _, x := range ReadFormAll(issues(3), "cancel", all(yes, yes, yes)) {
		if !errors.Is(x.Err, ErrDismissed) {
			t.Errorf("canceled: %+v", x)
		}
	}
}

// In a round, a call that a form cannot approve is refused or left alone, and the others are approved all the same.
func TestAGraveCallInARound(t *testing.T) {
	big := &Request{Name: "s__run", Risk: call.High, Args: json.RawMessage(`{"script":"` + strings.Repeat("x", 40000) + `"}`)}
	calls := issues(1, big)
	message, s := schemaOf(t, calls, OneOf)
	if len(s.Properties["decision_2"].OneOf) != 1 || len(s.Properties["same_for_all"].OneOf) != 1 {
		t.Errorf("a yes is offered: %+v", s.Properties)
	}
	if !strings.Contains(message, "This form can only refuse call 2: the call is too large") {
		t.Errorf("nothing says why:\n%s", message)
	}
	got := ReadFormAll(calls, "accept", map[string]any{"decision_1": "allow_once", "decision_2": "allow_once"})
	if got[0].Reply.Decision != AllowOnce || !errors.Is(got[1].Err, ErrUnclear) {
		t.Errorf("got %+v", got)
	}
	got = ReadFormAll(calls, "accept", map[string]any{"same_for_all": "allow_once"})
	if got[1].Err == nil {
		t.Errorf("got %+v", got)
	}
}

// gathering is a channel that shows several calls at once.
type gathering struct {
	fake
	answers []Result
	rounds  [][]*Request
}

func (g *gathering) AskAll(ctx context.Context, calls []*Request) ([]Result, error) {
	g.rounds = append(g.rounds, calls)
	_, err := g.fake.Ask(ctx, calls[0])
	return g.answers, err
}

// C2: mixed answers are honoured, and one refusal drops no other call (POLICY.md 7.2, 32).
func TestC2MixedAnswersAreHonoured(t *testing.T) {
	y, n, u := Result{Reply: Reply{Decision: AllowOnce}}, Result{Reply: Reply{Reason: "not this"}}, Result{Err: ErrUnclear}
	tests := []struct {
		why      string
		answers  []Result
		others   []Channel
		want     []string
		channels string
	}{
		{"mixed", []Result{y, n, y}, nil, []string{"", CodeDeclined, ""}, "a,a,a"},
		{"one is unclear", []Result{y, u, n}, nil, []string{"", CodeNoApprover, CodeDeclined}, "a,,a"},
		{"another channel answers what is unclear", []Result{y, u, n}, []Channel{fake{name: "t", after: time.Minute, reply: Reply{Decision: AllowOnce}}}, []string{"", "", CodeDeclined}, "a,t,a"},
		{"another channel was faster", []Result{y, n, y}, []Channel{fake{name: "t", after: ms, reply: Reply{Decision: AllowOnce}}}, []string{"", "", ""}, "t,t,t"},
		{"too few answers are none", []Result{y, y}, nil, []string{CodeNoApprover, CodeNoApprover, CodeNoApprover}, ",,"},
		{"too many too", []Result{y, y, y, y}, nil, []string{CodeNoApprover, CodeNoApprover, CodeNoApprover}, ",,"},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d Desk
				form := &gathering{fake: fake{name: "a", after: time.Second}, answers: test.answers}
				answers := d.AskAll(t.Context(), issues(3), append([]Channel{form}, test.others...), Options{})
				if err := d.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				var codes, channels []string
				for _, a := range answers {
					codes, channels = append(codes, a.Code), append(channels, a.Channel)
					if a.Allowed != (a.Code == "") || a.Allowed != (a.Ticket != nil) {
						t.Errorf("%+v", a)
					}
				}
				if !slices.Equal(codes, test.want) || strings.Join(channels, ",") != test.channels {
					t.Errorf("got %q over %q, want %q over %q", codes, channels, test.want, test.channels)
				}
				if len(form.rounds) != 1 || len(form.rounds[0]) != 3 {
					t.Errorf("%d forms", len(form.rounds))
				}
			})
		})
	}
}

// C5: the form is closed when all of its calls were decided elsewhere, and not before; what it then brings is late.
func TestC5AFormIsClosedWhenAllIsDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late int
		d := Desk{Late: func(LateAnswer) { late++ }}
		slow := &pick{after: map[string]time.Duration{"1": time.Second, "2": 5 * time.Second}}
		form := &gathering{fake: fake{name: "form", after: 3 * time.Second}, answers: []Result{{Reply: Reply{}}, {Reply: Reply{Decision: AllowOnce}}}}
		calls := issues(2)
		calls[0].Code, calls[1].Code = "1", "2"
		answers := d.AskAll(t.Context(), calls, []Channel{form, slow}, Options{})
		if a := answers[0]; !a.Allowed || a.Channel != "pick" {
			t.Errorf("the first: %+v", a)
		}
		if a := answers[1]; !a.Allowed || a.Channel != "form" {
			t.Errorf("the second: %+v", a)
		}
		if err := d.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if late != 1 {
			t.Errorf("%d late answers, want the form's no to the first", late)
		}

		form = &gathering{fake: fake{name: "form", after: -1}}
		slow.after["2"] = 2 * time.Second
		for _, a := range d.AskAll(t.Context(), calls, []Channel{form, slow}, Options{}) {
			if !a.Allowed || a.Channel != "pick" {
				t.Errorf("%+v", a)
			}
		}
		if err := d.Wait(t.Context()); err != nil { // the form would wait for ever
			t.Fatal(err)
		}
	})
}

// pick says yes to each call after a time of its own, by its code.
type pick struct{ after map[string]time.Duration }

func (*pick) Name() string { return "pick" }

func (p *pick) Ask(ctx context.Context, r *Request) (Reply, error) {
	select {
	case <-time.After(p.after[r.Code]):
		return Reply{Decision: AllowOnce}, nil
	case <-ctx.Done():
		return Reply{}, context.Cause(ctx)
	}
}

// C3: a channel that carries nine rounds carries no tenth, and the program is told which it is.
func TestC3NineRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Desk
		channel := AtMost(yes(time.Second), MaxRounds)
		for i := range 12 {
			a := d.Ask(t.Context(), &Request{Name: "s__t"}, []Channel{channel}, Options{Fallback: true})
			if a.Allowed != (i < 9) {
				t.Errorf("question %d: %+v", i+1, a)
			}
			if i >= 9 && (a.Code != CodeTooMany || !strings.Contains(a.Detail, "several calls at once")) {
				t.Errorf("question %d: %+v", i+1, a)
			}
		}
		a := d.Ask(t.Context(), &Request{Name: "s__t"}, []Channel{channel, yes(time.Second)}, Options{})
		if !a.Allowed {
			t.Errorf("another channel goes on: %+v", a)
		}

		form := &gathering{fake: fake{name: "a", after: time.Second}, answers: []Result{{Reply: Reply{Decision: AllowOnce}}, {Reply: Reply{Decision: AllowOnce}}}}
		channel = AtMost(form, 1)
		for i := range 2 {
			for _, a := range d.AskAll(t.Context(), issues(2), []Channel{channel}, Options{}) {
				if a.Allowed != (i == 0) {
					t.Errorf("round %d: %+v", i+1, a)
				}
			}
		}
	})
}

// C6: somebody may still come to a channel where nobody is. Alone it ends the question at once, and beside others it waits.
func TestC6AChannelWhereNobodyIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Desk
		start := time.Now()
		a := d.Ask(t.Context(), &Request{}, []Channel{&door{opens: time.Minute}}, Options{})
		if a.Code != CodeNoApprover || a.How != ByNobody || time.Since(start) != 0 {
			t.Errorf("nobody at all: %+v after %v", a, time.Since(start))
		}
		a = d.Ask(t.Context(), &Request{}, []Channel{&door{opens: time.Minute}}, Options{Fallback: true})
		if !a.Allowed || a.How != ByFallback {
			t.Errorf("nobody at all, with a fallback: %+v", a)
		}
		a = d.Ask(t.Context(), &Request{}, []Channel{&door{opens: time.Second}, says(ErrCannotAsk)}, Options{})
		if a.Code != CodeNoApprover {
			t.Errorf("beside a client that cannot ask: %+v", a)
		}
		late := yes(90 * time.Second)
		if a = d.Ask(t.Context(), &Request{}, []Channel{&door{opens: time.Second}, late}, Options{}); !a.Allowed || a.Channel != "door" {
			t.Errorf("somebody comes while another channel waits: %+v", a)
		}
		gone := says(errors.New("broken pipe"))
		gone.after = 10 * time.Second
		if a = d.Ask(t.Context(), &Request{}, []Channel{&door{opens: time.Minute}, gone}, Options{}); a.Code != CodeNoApprover || a.Took != 10*time.Second {
			t.Errorf("the other channel fails: %+v", a)
		}
		if err := d.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// A door is a channel to which somebody comes after a while, and says yes.
type door struct{ opens time.Duration }

func (*door) Name() string { return "door" }

func (d *door) Ask(ctx context.Context, r *Request) (Reply, error) {
	back := Away(ctx)
	select {
	case <-time.After(d.opens):
		back()
	case <-ctx.Done():
		return Reply{}, context.Cause(ctx)
	}
	select {
	case <-time.After(5 * time.Second):
		return Reply{Decision: AllowOnce}, nil
	case <-ctx.Done():
		return Reply{}, context.Cause(ctx)
	}
}

// C15: where somebody else has to answer, an answer without a name and one of who asked are none.
func TestC15SomebodyElseAnswers(t *testing.T) {
	tests := []struct {
		by      string
		allowed bool
	}{{"", false}, {"local:anna", false}, {"local:ben", true}}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			var d Desk
			a := d.Ask(t.Context(), &Request{Principal: "local:anna"}, []Channel{fake{name: "a", after: time.Second, reply: Reply{Decision: AllowOnce, By: test.by}}}, Options{OtherOnly: true, Fallback: true})
			if a.Allowed != test.allowed || !a.Allowed && a.Code != CodeNoApprover || a.Allowed && a.By != test.by {
				t.Errorf("answered by %q: %+v", test.by, a)
			}
		})
	}
}
