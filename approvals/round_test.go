package approvals

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
)

// gathering is a channel that shows several calls at once.
type gathering struct {
	fake
	answers []call.Answer
	rounds  [][]*prompt.Request
}

func (g *gathering) AskAll(ctx context.Context, s *Showing) ([]call.Answer, error) {
	g.rounds = append(g.rounds, s.Calls)
	_, err := g.fake.Ask(ctx, s)
	return g.answers, err
}

// C2: mixed answers are honoured, and one refusal drops no other call (POLICY.md 7.2, 32).
func TestC2MixedAnswersAreHonoured(t *testing.T) {
	y, n, u := call.Answer{Allowed: true}, call.Answer{Reason: "not this"}, call.Answer{Err: prompt.ErrUnclear}
	tests := []struct {
		why      string
		answers  []call.Answer
		others   []Channel
		want     []string
		channels string
	}{
		{"mixed", []call.Answer{y, n, y}, nil, []string{"", call.CodeDeclined, ""}, "a,a,a"},
		{"one is unclear", []call.Answer{y, u, n}, nil, []string{"", call.CodeNoApprover, call.CodeDeclined}, "a,,a"},
		{"another channel answers what is unclear", []call.Answer{y, u, n},
			[]Channel{fake{name: "t", after: time.Minute, reply: call.Answer{Allowed: true}}},
			[]string{"", "", call.CodeDeclined}, "a,t,a"},
		{"another channel was faster", []call.Answer{y, n, y},
			[]Channel{fake{name: "t", after: ms, reply: call.Answer{Allowed: true}}}, []string{"", "", ""}, "t,t,t"},
		{"too few answers are none", []call.Answer{y, y}, nil, []string{call.CodeNoApprover, call.CodeNoApprover,
			call.CodeNoApprover}, ",,"},
		{"too many too", []call.Answer{y, y, y, y}, nil, []string{call.CodeNoApprover, call.CodeNoApprover,
			call.CodeNoApprover}, ",,"},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d Desk
				form := &gathering{fake: fake{name: "a", after: time.Second}, answers: test.answers}
				answers := d.AskAll(t.Context(), issues(3), append([]Channel{form}, test.others...), Options{})
				checktest.OK(t, d.Wait(t.Context()))
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
		d := Desk{Late: func(*prompt.Request, call.Answer) { late++ }}
		slow := &pick{after: map[string]time.Duration{"1": time.Second, "2": 5 * time.Second}}
		form := &gathering{fake: fake{name: "form", after: 3 * time.Second}, answers: []call.Answer{{}, {Allowed: true}}}
		calls := issues(2)
		calls[0].Code, calls[1].Code = "1", "2"
		answers := d.AskAll(t.Context(), calls, []Channel{form, slow}, Options{})
		if a := answers[0]; !a.Allowed || a.Channel != "pick" {
			t.Errorf("the first: %+v", a)
		}
		if a := answers[1]; !a.Allowed || a.Channel != "form" {
			t.Errorf("the second: %+v", a)
		}
		checktest.OK(t, d.Wait(t.Context()))
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

func (p *pick) Ask(ctx context.Context, r *Showing) (call.Answer, error) {
	select {
	case <-time.After(p.after[r.Code]):
		return call.Answer{Allowed: true}, nil
	case <-ctx.Done():
		return call.Answer{}, context.Cause(ctx)
	}
}

// A limited channel carries so many rounds.
type limited struct {
	Channel
	left int
}

func (l *limited) Ask(ctx context.Context, r *Showing) (call.Answer, error) {
	if l.left--; l.left < 0 {
		return call.Answer{}, ErrTooMany
	}
	return l.Channel.Ask(ctx, r)
}

func (l *limited) AskAll(ctx context.Context, s *Showing) ([]call.Answer, error) {
	if l.left--; l.left < 0 {
		return nil, ErrTooMany
	}
	return l.Channel.(Gatherer).AskAll(ctx, s)
}

// C3: a channel that carries nine rounds carries no tenth, and the program is told which it is.
func TestC3NineRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Desk
		var channel Channel = &limited{yes(time.Second), MaxRounds}
		for i := range 12 {
			a := d.Ask(t.Context(), &prompt.Request{Name: "s__t"}, []Channel{channel}, Options{Fallback: true})
			if a.Allowed != (i < 9) {
				t.Errorf("question %d: %+v", i+1, a)
			}
			if i >= 9 && (a.Code != call.CodeTooMany || !strings.Contains(a.Detail, "Promise.all")) {
				t.Errorf("question %d: %+v", i+1, a)
			}
		}
		a := d.Ask(t.Context(), &prompt.Request{Name: "s__t"}, []Channel{channel, yes(time.Second)}, Options{})
		if !a.Allowed {
			t.Errorf("another channel goes on: %+v", a)
		}

		form := &gathering{fake: fake{name: "a", after: time.Second},
			answers: []call.Answer{{Allowed: true}, {Allowed: true}}}
		channel = &limited{form, 1}
		for i := range 2 {
			for _, a := range d.AskAll(t.Context(), issues(2), []Channel{channel}, Options{}) {
				if a.Allowed != (i == 0) {
					t.Errorf("round %d: %+v", i+1, a)
				}
			}
		}
	})
}

// C6: somebody may still come to a channel where nobody is. Alone it ends the question at once, and beside others it
// waits.
func TestC6AChannelWhereNobodyIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Desk
		start := time.Now()
		a := d.Ask(t.Context(), &prompt.Request{}, []Channel{&door{opens: time.Minute}}, Options{})
		if a.Code != call.CodeNoApprover || a.How != call.ByNobody || time.Since(start) != 0 {
			t.Errorf("nobody at all: %+v after %v", a, time.Since(start))
		}
		a = d.Ask(t.Context(), &prompt.Request{}, []Channel{&door{opens: time.Minute}}, Options{Fallback: true})
		if !a.Allowed || a.How != call.ByFallback {
			t.Errorf("nobody at all, with a fallback: %+v", a)
		}
		a = d.Ask(t.Context(), &prompt.Request{}, []Channel{&door{opens: time.Second}, says(ErrCannotAsk)}, Options{})
		if a.Code != call.CodeNoApprover {
			t.Errorf("beside a client that cannot ask: %+v", a)
		}
		late := yes(90 * time.Second)
		if a = d.Ask(t.Context(), &prompt.Request{}, []Channel{&door{opens: time.Second}, late}, Options{}); !a.Allowed ||
			a.Channel != "door" {
			t.Errorf("somebody comes while another channel waits: %+v", a)
		}
		gone := says(errors.New("broken pipe"))
		gone.after = 10 * time.Second
		if a = d.Ask(t.Context(), &prompt.Request{}, []Channel{&door{opens: time.Minute}, gone},
			Options{}); a.Code != call.CodeNoApprover || a.Took != 10*time.Second {
			t.Errorf("the other channel fails: %+v", a)
		}
		checktest.OK(t, d.Wait(t.Context()))
	})
}

// A door is a channel to which somebody comes after a while, and says yes.
type door struct{ opens time.Duration }

func (*door) Name() string { return "door" }

func (d *door) Ask(ctx context.Context, r *Showing) (call.Answer, error) {
	back := r.absent()
	select {
	case <-time.After(d.opens):
		back()
	case <-ctx.Done():
		return call.Answer{}, context.Cause(ctx)
	}
	select {
	case <-time.After(5 * time.Second):
		return call.Answer{Allowed: true}, nil
	case <-ctx.Done():
		return call.Answer{}, context.Cause(ctx)
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
			a := d.Ask(t.Context(), &prompt.Request{Principal: "local:anna"},
				[]Channel{fake{name: "a", after: time.Second, reply: call.Answer{Allowed: true, By: test.by}}},
				Options{OtherOnly: true, Fallback: true})
			if a.Allowed != test.allowed || !a.Allowed && a.Code != call.CodeNoApprover || a.Allowed && a.By != test.by {
				t.Errorf("answered by %q: %+v", test.by, a)
			}
		})
	}
}
