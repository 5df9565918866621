package approvals

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
)

// A fake channel answers after some time.
type fake struct {
	name   string
	after  time.Duration // 0: at once; negative: never
	reply  call.Answer
	err    error
	deaf   bool // goes on after its context ended
	strong bool
	panics any
	asked  *int
}

func (f fake) Name() string { return f.name }

func (f fake) Strong() bool { return f.strong }

func (f fake) Ask(ctx context.Context, r *Showing) (call.Answer, error) {
	if f.asked != nil {
		*f.asked++
	}
	if f.panics != nil {
		panic(f.panics)
	}
	var after <-chan time.Time
	if f.after >= 0 {
		after = time.After(f.after)
	}
	done := ctx.Done()
	if f.deaf {
		done = nil
	}
	select {
	case <-after:
		return f.reply, f.err
	case <-done:
		return call.Answer{}, context.Cause(ctx)
	}
}

const ms = time.Millisecond

func yes(after time.Duration) fake {
	return fake{name: "a", after: after, reply: call.Answer{Allowed: true}}
}

func no(after time.Duration) fake {
	return fake{name: "b", after: after, reply: call.Answer{Reason: "not now"}}
}

func says(err error) fake { return fake{name: "c", err: err} }

func TestAsk(t *testing.T) {
	never := fake{name: "n", after: -1}
	allow := Options{Fallback: true}
	tests := []struct {
		why      string
		channels []Channel
		options  Options
		risk     call.Risk
		allowed  bool
		how      string
		code     string
	}{
		{"a person says yes", []Channel{yes(time.Second)}, Options{}, call.Medium, true, call.ByPerson, ""},
		{"a person says no", []Channel{no(time.Second)}, Options{}, call.Medium, false, call.ByPerson, call.CodeDeclined},
		{"a person's no stands, whatever the fallback", []Channel{no(time.Second)}, allow, call.Low, false, call.ByPerson,
			call.CodeDeclined},
		{"the first answer wins, a yes", []Channel{yes(time.Second), no(2 * time.Second)}, Options{}, call.Medium, true,
			call.ByPerson, ""},
		{"the first answer wins, a no", []Channel{yes(2 * time.Second), no(time.Second)}, Options{}, call.Medium, false,
			call.ByPerson, call.CodeDeclined},

		{"no channel at all", nil, Options{}, call.Medium, false, call.ByNobody, call.CodeUnsupported},
		{"no channel at all, fallback", nil, allow, call.Medium, true, call.ByFallback, ""},
		{"a client without elicitation", []Channel{says(ErrCannotAsk)}, Options{}, call.Medium, false, call.ByNobody,
			call.CodeUnsupported},
		{"a client without elicitation, fallback", []Channel{says(ErrCannotAsk)}, allow, call.Medium, true, call.ByFallback,
			""},
		{"fallback for an unstated risk", []Channel{says(ErrCannotAsk)}, allow, "", true, call.ByFallback, ""},
		{"no fallback for high", []Channel{says(ErrCannotAsk)}, allow, call.High, false, call.ByNobody, call.CodeUnsupported},
		{"no fallback for critical", nil, allow, call.Critical, false, call.ByNobody, call.CodeUnsupported},
		{"no fallback for a risk nobody knows", nil, allow, "lwo", false, call.ByNobody, call.CodeUnsupported},
		{"an empty room", []Channel{says(ErrNoPerson)}, Options{}, call.Medium, false, call.ByNobody, call.CodeNoApprover},
		{"an empty room, fallback", []Channel{says(ErrNoPerson)}, allow, call.Medium, true, call.ByFallback, ""},
		{"an empty room beside a client that cannot ask", []Channel{says(ErrCannotAsk), says(ErrNoPerson)}, Options{},
			call.Medium, false, call.ByNobody, call.CodeNoApprover},
		{"a wrapped error is still that error", []Channel{says(fmt.Errorf("over stdio: %w", ErrCannotAsk))}, Options{},
			call.Medium, false, call.ByNobody, call.CodeUnsupported},

		{"a channel that fails is no no", []Channel{says(errors.New("broken pipe"))}, Options{}, call.Medium, false,
			call.ByNobody, call.CodeNoApprover},
		{"a channel that fails is no way around the question", []Channel{says(errors.New("broken pipe"))}, allow, call.Medium,
			false, call.ByNobody, call.CodeNoApprover},
		{"a channel that fails leaves the others", []Channel{says(errors.New("broken pipe")), yes(time.Second)}, Options{},
			call.Medium, true, call.ByPerson, ""},
		{"a crash is no way around the question", []Channel{fake{name: "x", panics: "boom"}}, allow, call.Low, false,
			call.ByNobody, call.CodeNoApprover},
		{"a nil channel is a crash", []Channel{nil}, allow, call.Low, false, call.ByNobody, call.CodeNoApprover},
		{"a crash leaves the others", []Channel{fake{name: "x", panics: errors.New("boom")}, no(time.Second)}, Options{},
			call.Medium, false, call.ByPerson, call.CodeDeclined},

		{"a no in 5 ms is no person's", []Channel{no(5 * ms)}, Options{}, call.Medium, false, call.ByNobody,
			call.CodeNoApprover},
		{"a no in 5 ms is not turned into a yes", []Channel{no(5 * ms)}, allow, call.Low, false, call.ByNobody,
			call.CodeNoApprover},
		{"a no in 5 ms leaves the others", []Channel{no(5 * ms), yes(time.Second)}, Options{}, call.Medium, true,
			call.ByPerson, ""},
		{"a no in 299 ms is no person's", []Channel{no(299 * ms)}, Options{}, call.Medium, false, call.ByNobody,
			call.CodeNoApprover},
		{"a no in 300 ms is", []Channel{no(300 * ms)}, Options{}, call.Medium, false, call.ByPerson, call.CodeDeclined},
		{"a typed no counts at once", []Channel{fake{name: "t", reply: call.Answer{Typed: true}}}, Options{}, call.Medium,
			false, call.ByPerson, call.CodeDeclined},
		{"unless the profile says how fast is too fast", []Channel{fake{name: "t", reply: call.Answer{Typed: true}}},
			Options{MinHuman: time.Second}, call.Medium, false, call.ByNobody, call.CodeNoApprover},
		{"a yes in 5 ms counts by default", []Channel{yes(5 * ms)}, Options{}, call.Medium, true, call.ByPerson, ""},
		{"a yes in 5 ms does not count with minHuman", []Channel{yes(5 * ms)}, Options{MinHuman: 700 * ms}, call.Medium,
			false, call.ByNobody, call.CodeNoApprover},
		{"nor does it then fall back to yes", []Channel{yes(5 * ms)}, Options{MinHuman: 700 * ms, Fallback: true},
			call.Medium, false, call.ByNobody, call.CodeNoApprover},
		{"a no in 400 ms with minHuman", []Channel{no(400 * ms)}, Options{MinHuman: 700 * ms}, call.Medium, false,
			call.ByNobody, call.CodeNoApprover},
		{"a negative minHuman is none", []Channel{no(5 * ms)}, Options{MinHuman: -1}, call.Medium, false, call.ByNobody,
			call.CodeNoApprover},

		{"a closed dialog", []Channel{fake{name: "d", after: time.Second, err: prompt.ErrDismissed}}, Options{}, call.Medium,
			false, call.ByNobody, call.CodeCanceled},
		{"a closed dialog, fallback", []Channel{fake{name: "d", after: time.Second, err: prompt.ErrDismissed}}, allow,
			call.Medium, false, call.ByNobody, call.CodeCanceled},
		{"a dialog that closes itself", []Channel{fake{name: "d", after: 5 * ms, err: prompt.ErrDismissed}}, allow,
			call.Medium, false, call.ByNobody, call.CodeNoApprover},
		{"a closed dialog leaves the others", []Channel{fake{name: "d", after: time.Second, err: prompt.ErrDismissed},
			yes(2 * time.Second)}, Options{}, call.Medium, true, call.ByPerson, ""},
		{"a connection that goes", []Channel{says(context.Canceled)}, allow, call.Medium, false, call.ByNobody,
			call.CodeCanceled},
		{"an unclear answer", []Channel{says(prompt.ErrUnclear)}, allow, call.Low, false, call.ByNobody, call.CodeNoApprover},
		{"a yes that holds an error is none",
			[]Channel{fake{name: "x", after: time.Second, reply: call.Answer{Allowed: true, Err: prompt.ErrUnclear}}}, allow,
			call.Low, false, call.ByNobody, call.CodeNoApprover},
		{"a yes with an error is none", []Channel{fake{name: "x", after: time.Second, reply: call.Answer{Allowed: true},
			err: prompt.ErrUnclear}}, allow, call.Low, false, call.ByNobody, call.CodeNoApprover},

		{"nobody answers", []Channel{never}, Options{}, call.Medium, false, call.ByNobody, call.CodeTimeout},
		{"nobody answers, fallback", []Channel{never}, allow, call.Low, false, call.ByNobody, call.CodeTimeout},
		{"nobody answers and nothing listens", []Channel{fake{name: "n", after: time.Hour, deaf: true}}, Options{},
			call.Medium, false, call.ByNobody, call.CodeTimeout},
		{"one channel is empty, the other waits", []Channel{says(ErrNoPerson), never}, allow, call.Low, false, call.ByNobody,
			call.CodeTimeout},
		{"a channel with a limit of its own", []Channel{says(context.DeadlineExceeded)}, allow, call.Low, false,
			call.ByNobody, call.CodeTimeout},
		{"an answer exactly at the end is late", []Channel{yes(time.Minute)}, Options{Timeout: time.Minute}, call.Medium,
			false, call.ByNobody, call.CodeTimeout},
		{"an answer just before the end counts", []Channel{yes(time.Minute - 1)}, Options{Timeout: time.Minute}, call.Medium,
			true, call.ByPerson, ""},
		{"an answer just after the end is late", []Channel{yes(time.Minute + ms)}, Options{Timeout: time.Minute}, call.Medium,
			false, call.ByNobody, call.CodeTimeout},

		{"a form is not enough for critical", []Channel{yes(time.Second)}, Options{}, call.Critical, false, call.ByNobody,
			call.CodeNoApprover},
		{"a form is not enough for an unknown risk", []Channel{yes(time.Second)}, Options{}, "hgih", false, call.ByNobody,
			call.CodeNoApprover},
		{"a form is enough for high", []Channel{yes(time.Second)}, Options{}, call.High, true, call.ByPerson, ""},
		{"a strong channel is enough for critical",
			[]Channel{fake{name: "t", after: time.Second, reply: call.Answer{Allowed: true}, strong: true}}, Options{},
			call.Critical, true, call.ByPerson, ""},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d Desk
				a := d.Ask(t.Context(), &prompt.Request{Name: "s__t", Risk: test.risk}, test.channels, test.options)
				checktest.OK(t, d.Wait(t.Context()))
				if a.Allowed != test.allowed || a.How != test.how || a.Code != test.code {
					t.Errorf("got allowed %v by %q, code %q; want %v by %q, code %q\n%+v", a.Allowed, a.How, a.Code, test.allowed,
						test.how, test.code, a)
				}
				if a.Allowed != (a.Detail == "") {
					t.Errorf("allowed %v with detail %q", a.Allowed, a.Detail)
				}
				if a.Code != call.CodeDeclined && strings.Contains(a.Detail, "refused") {
					t.Errorf("code %q, but the detail speaks of a refusal: %s", a.Code, a.Detail)
				}
			})
		})
	}
}

func TestANoBeatsAYesOfTheSameMoment(t *testing.T) {
	a := (&Desk{}).open(t.Context(), t.Context(), &prompt.Request{}, make([]source, 3), Options{Timeout: time.Minute})
	a.waiting = 3
	a.replies <- reply{source: source{name: "fast"}, Answer: call.Answer{Allowed: true}, took: time.Second}
	a.replies <- reply{source: source{name: "also"}, Answer: call.Answer{Allowed: true}, took: time.Second}
	a.replies <- reply{source: source{name: "wary"}, Answer: call.Answer{}, took: time.Second}
	if got := a.wait(t.Context()); got.Code != call.CodeDeclined || got.Channel != "wary" {
		t.Errorf("got %+v, want the no of wary", got)
	}
}

// A person whose run is gone cannot allow anything any more.
func TestAskEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		var d Desk
		a := d.Ask(ctx, &prompt.Request{}, []Channel{yes(2 * time.Second), fake{after: time.Hour, deaf: true}},
			Options{Fallback: true})
		if a.Allowed || a.Code != call.CodeCanceled || a.Took != time.Second {
			t.Errorf("got %+v, want canceled after a second", a)
		}

		checktest.OK(t, d.Wait(t.Context()))
		a = d.Ask(ctx, &prompt.Request{}, []Channel{yes(0), says(ErrCannotAsk)}, Options{Fallback: true})
		if a.Allowed || a.Code != call.CodeCanceled {
			t.Errorf("in a run that has ended: got %+v, want canceled", a)
		}
		a = d.Ask(ctx, &prompt.Request{}, nil, Options{Fallback: true})
		if a.Allowed || a.Code != call.CodeCanceled {
			t.Errorf("without channels in a run that has ended: got %+v, want canceled", a)
		}

		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if a := d.Ask(limited, &prompt.Request{}, []Channel{yes(time.Minute)}, Options{}); a.Code != call.CodeTimeout {
			t.Errorf("at the end of the run's time: got %+v, want timeout", a)
		}
	})
}

func TestLateAnswersAreToldAndIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late []call.Answer
		var about []string
		d := Desk{Late: func(r *prompt.Request, a call.Answer) { about, late = append(about, r.Name), append(late, a) }}
		slow := yes(3 * time.Second)
		slow.deaf = true
		broken := says(errors.New("gone"))
		broken.after, broken.deaf = 4*time.Second, true
		r := &prompt.Request{Name: "s__t"}
		a := d.Ask(t.Context(), r, []Channel{no(time.Second), slow, broken}, Options{})
		if a.Code != call.CodeDeclined {
			t.Fatalf("got %+v, want declined", a)
		}
		checktest.OK(t, d.Wait(t.Context()))
		if len(late) != 1 || late[0].Channel != "a" || about[0] != r.Name || late[0].Took != 3*time.Second {
			t.Errorf("got %+v, want the one late yes of a", late)
		}
	})
}

func TestLosersAreToldWhy(t *testing.T) {
	tests := []struct {
		winner fake
		want   string
	}{
		{yes(time.Second), "answered over a"},
		{no(time.Second), "answered over b"},
		{fake{name: "n", after: -1}, "the time to answer is over"},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			var d Desk
			loser := &remembers{}
			d.Ask(t.Context(), &prompt.Request{}, []Channel{test.winner, loser}, Options{})
			checktest.OK(t, d.Wait(t.Context()))
			if loser.cause != test.want {
				t.Errorf("got %q, want %q", loser.cause, test.want)
			}
		})
	}
}

type remembers struct{ cause string }

func (*remembers) Name() string { return "loser" }

func (l *remembers) Ask(ctx context.Context, r *Showing) (call.Answer, error) {
	<-ctx.Done()
	l.cause = context.Cause(ctx).Error()
	return call.Answer{}, context.Cause(ctx)
}

func TestWaitGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Desk
		d.Ask(t.Context(), &prompt.Request{}, []Channel{fake{after: time.Hour, deaf: true}}, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := d.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that the deadline is exceeded", err)
		}
		if err := d.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// queue is a channel that shows one question at a time.
type queue struct {
	turn  chan struct{}
	think time.Duration
}

func (*queue) Name() string { return "queue" }

func (q *queue) Ask(ctx context.Context, r *Showing) (call.Answer, error) {
	shown := r.Waiting()
	select {
	case q.turn <- struct{}{}:
		shown()
		shown() // harmless
		defer func() { <-q.turn }()
	case <-ctx.Done():
		return call.Answer{}, context.Cause(ctx)
	}
	select {
	case <-time.After(q.think):
		return call.Answer{Allowed: true}, nil
	case <-ctx.Done():
		return call.Answer{}, context.Cause(ctx)
	}
}

// Ten questions at once, one minute each, two minutes allowed each: all are answered.
func TestWaitingForATurnTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Desk
		q := &queue{turn: make(chan struct{}, 1), think: time.Minute}
		answers := make(chan Result)
		for range 10 {
			go func() { answers <- d.Ask(t.Context(), &prompt.Request{}, []Channel{q}, Options{MinHuman: time.Second}) }()
		}
		for range 10 {
			if a := <-answers; !a.Allowed {
				t.Errorf("got %+v, want a yes", a)
			}
		}
	})
}

func TestAQueueThatNeverMovesEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Desk
		q := &queue{turn: make(chan struct{})}
		a := d.Ask(t.Context(), &prompt.Request{}, []Channel{q}, Options{Timeout: time.Minute})
		if a.Code != call.CodeTimeout || a.Took != maxTurns*time.Minute {
			t.Errorf("got %+v, want a timeout after %d turns", a, maxTurns)
		}
	})
}

func TestReasonsArePersonsWords(t *testing.T) {
	tests := []struct{ why, reason, want, detail string }{
		{"plain", "use the other repo", "use the other repo", `wrote: "use the other repo"`},
		{"none", "  ", "", "gave no reason"},
		{"control characters", "no\x1b[2J\nnever", `no\u{1B}[2J\nnever`, `wrote: "no\u{1B}[2J\nnever"`},
		{"quotes cannot end the quotation", `no" or yes`, `no" or yes`, `wrote: "no\" or yes"`},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d Desk
				a := d.Ask(t.Context(), &prompt.Request{},
					[]Channel{fake{name: "a", after: time.Second, reply: call.Answer{Reason: test.reason}}}, Options{})
				if a.Reason != test.want || !strings.HasSuffix(strings.TrimSuffix(a.Detail, "; do not repeat it"), test.detail) {
					t.Errorf("got %q and %q, want %q and ...%q", a.Reason, a.Detail, test.want, test.detail)
				}
			})
		})
	}
	long := prompt.Words(strings.Repeat("a", 299) + "\u202e" + strings.Repeat("b", 300))
	if len(long) != prompt.MaxWords || !strings.HasSuffix(long, "aaa...") {
		t.Errorf("got %d characters: %s", len(long), long)
	}
	if s := strings.Repeat("a", 300); prompt.Words(s) != s {
		t.Error("300 characters were cut")
	}
}

func TestTriedTellsEveryChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Desk
		a := d.Ask(t.Context(), &prompt.Request{}, []Channel{no(5 * ms), says(ErrCannotAsk),
			fake{name: "x\x1b", panics: "boom\x1b"}}, Options{})
		got := map[string]Outcome{}
		for _, try := range a.Tried {
			got[try.Channel] = try.Outcome
			if strings.ContainsRune(try.Error, 0x1b) {
				t.Errorf("%q is not escaped", try.Error)
			}
		}
		if got["b"] != TooFastNo || got["c"] != Unable || got[`x\u{1B}`] != failed || len(got) != 3 {
			t.Errorf("got %v", got)
		}
	})
}

// The text that says why nobody answered names the channels in one order, whatever order they come back in.
func TestTheTextOfNoAnswerIsStable(t *testing.T) {
	const want = "this call needs a person's approval and nobody gave one: " +
		"terminal has nobody there yet, web has nobody there yet, wire failed"
	for i := range 20 {
		synctest.Test(t, func(t *testing.T) {
			channels := []Channel{NewQueue("web"), NewQueue("terminal"),
				fake{name: "wire", after: time.Duration(i%2) * time.Second, err: errors.New("broken pipe")}}
			var d Desk
			a := d.Ask(t.Context(), &prompt.Request{Name: "s__t", Risk: call.Medium}, channels, Options{})
			checktest.OK(t, d.Wait(t.Context()))
			if a.Detail != want {
				t.Fatalf("got %q, want %q", a.Detail, want)
			}
		})
	}
}
