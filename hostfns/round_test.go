package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/call"
)

// A form is a prompter that gets several questions at once, and remembers what it was asked.
type form struct {
	mu         sync.Mutex
	rounds     [][]string
	answer     func(q *Question) call.Answer
	use        Use  // of every yes
	alone      bool // wants one question at a time
	connect    func(context.Context, *Question) call.Answer
	remembered map[string]bool
}

func (f *form) Together() bool { return !f.alone }

func (f *form) AskUser(context.Context, *Question) (json.RawMessage, error) { return nil, errCannotAsk }

func (f *form) Connect(ctx context.Context, q *Question) call.Answer { return f.connect(ctx, q) }

func (f *form) Ask(ctx context.Context, qs []*Question, answered func(int, call.Answer, Use)) {
	answers := f.answers(qs)
	select {
	case <-time.After(time.Second): // a person thinks
	case <-ctx.Done():
	}
	for i, a := range answers {
		answered(i, a, f.use)
	}
}

func (f *form) answers(qs []*Question) []call.Answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	var round []string
	var answers []call.Answer
	for _, q := range qs {
		round = append(round, fmt.Sprint(q.Call, string(q.Args)))
		answers = append(answers, f.answer(q))
	}
	f.rounds = append(f.rounds, round)
	return answers
}

func (f *form) Remembered(_ context.Context, q *Question) (call.Answer, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return call.Answer{Allowed: true, How: "grant"}, f.remembered[string(q.Args)]
}

// together makes calls at the same moment and returns what became of each.
func together(ctx context.Context, r *Run, progress func() (int, bool), args ...string) []string {
	results := make([]string, len(args))
	var wg sync.WaitGroup
	for i, a := range args {
		wg.Go(func() {
			_, err := r.Call(ctx, Invocation{ID: i + 1, Name: "fs__write", Args: json.RawMessage(a), Progress: progress})
			results[i] = "ok"
			if x, ok := err.(*Exception); ok {
				results[i] = fmt.Sprint(x.Props["reason"])
			}
		})
	}
	wg.Wait()
	return results
}

func (w *world) ask(f *form, change ...func(*RunInfo)) *Run {
	info := RunInfo{ID: "r1", Policy: w, Prompter: f}
	for _, c := range change {
		c(&info)
	}
	return NewGate(Deps{Tools: w, Recorder: w, Sender: w}).Run(info)
}

// C2: calls that wait at the same moment are one round, in the order of the program; what comes later is the next one.
func TestC2RoundsOfQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.decide = verdict(call.Ask)
		f := &form{answer: func(q *Question) call.Answer {
			if strings.Contains(string(q.Args), "no") {
				return no
			}
			return yes
		}}
		got := together(t.Context(), w.ask(f), nil, `{"a":1}`, `{"a":"no"}`, `{"a":3}`)
		if !slices.Equal(got, []string{"ok", reasonDeclined, "ok"}) {
			t.Errorf("got %v", got)
		}
		if len(f.rounds) != 1 || !slices.Equal(f.rounds[0], []string{`1{"a":1}`, `2{"a":"no"}`, `3{"a":3}`}) {
			t.Errorf("rounds: %v", f.rounds)
		}

		f = &form{answer: f.answer, alone: true} // the last round of the other may look at that one yet
		together(t.Context(), w.ask(f), nil, `{"a":1}`, `{"a":2}`)
		if len(f.rounds) != 2 {
			t.Errorf("one by one: %v", f.rounds)
		}
	})
}

// A question waits for what the program is about to ask as well, however slowly that comes, and not for ever.
func TestQuestionsWaitForDecisions(t *testing.T) {
	for hangs, rounds := range map[time.Duration]int{5 * time.Second: 1, 30 * time.Second: 2} {
		t.Run("deciding takes "+hangs.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				var calls atomic.Int32
				w.decide = func(tool *call.Tool, args json.RawMessage) call.Decision {
					if calls.Add(1) > 1 {
						time.Sleep(hangs)
					}
					return verdict(call.Ask)(tool, args)
				}
				f := &form{answer: func(*Question) call.Answer { return yes }}
				r := w.ask(f)
				var wg sync.WaitGroup
				for i := range 5 {
					wg.Go(func() {
						progress := func() (int, bool) { return 5, true }
						if _, err := r.Call(t.Context(), Invocation{ID: i + 1, Name: "fs__write", Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)),
							Progress: progress}); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				if len(f.rounds) != rounds {
					t.Errorf("rounds %v, wanted %d", f.rounds, rounds)
				}
			})
		})
	}
}

func TestQuestionsWaitForTheProgram(t *testing.T) {
	tests := []struct {
		why    string
		second time.Duration // when the second call is made
		waits  time.Duration // when the program has nothing more to do
		rounds int
	}{
		{"the second comes after half a second", 500 * time.Millisecond, 600 * time.Millisecond, 1},
		{"the program computes on for long", 10 * time.Second, 20 * time.Second, 2},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.decide = verdict(call.Ask)
			f := &form{answer: func(*Question) call.Answer { return yes }}
			r := w.ask(f)
			start := time.Now()
			progress := func() (int, bool) {
				calls := 1
				if time.Since(start) >= test.second {
					calls = 2
				}
				return calls, time.Since(start) >= test.waits
			}
			var wg sync.WaitGroup
			for i, after := range []time.Duration{0, test.second + 20*time.Millisecond} {
				wg.Go(func() {
					time.Sleep(after)
					if _, err := r.Call(t.Context(), Invocation{ID: i + 1, Name: "fs__write", Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)),
						Progress: progress}); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if len(f.rounds) != test.rounds {
				t.Errorf("%s: rounds %v", test.why, f.rounds)
			}
		})
	}
}

// A call that is still being decided joins the round: its server may just be starting.
func TestQuestionsWaitForCallsThatAreBeingDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.decide = func(_ *call.Tool, args json.RawMessage) call.Decision {
			if strings.Contains(string(args), "slow") {
				time.Sleep(time.Second)
			}
			return call.Decision{Verdict: call.Ask}
		}
		f := &form{answer: func(*Question) call.Answer { return yes }}
		together(t.Context(), w.ask(f), nil, `{"a":1}`, `{"a":"slow"}`)
		if len(f.rounds) != 1 {
			t.Errorf("rounds: %v", f.rounds)
		}
	})
}

// What was allowed before is not asked, whether it was allowed before the call or while it waited; what was refused is
// not asked again and no grant brings it back.
func TestWhatIsRememberedIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.decide = verdict(call.Ask)
		f := &form{alone: true, remembered: map[string]bool{`{"a":0}`: true}}
		f.answer = func(q *Question) call.Answer {
			if strings.Contains(string(q.Args), "no") {
				return no
			}
			f.remembered[`{"a":1}`] = true // for all of its kind
			return yes
		}
		r := w.ask(f)
		if got := together(t.Context(), r, nil, `{"a":0}`, `{"a":1}`, `{"a":1}`, `{"a":1}`); !slices.Equal(got,
			[]string{"ok", "ok", "ok", "ok"}) || len(f.rounds) != 1 {
			t.Errorf("got %v, rounds %v", got, f.rounds)
		}
		together(t.Context(), r, nil, `{"a":"no"}`)
		f.remembered[`{"a":"no"}`] = true
		if got := together(t.Context(), r, nil, `{"a":"no"}`); got[0] != reasonDeclined || len(f.rounds) != 2 {
			t.Errorf("refused before: %v, rounds %v", got, f.rounds)
		}
		by := map[string]int{}
		for _, e := range w.entries {
			if e.State == call.Running {
				by[e.DecidedBy.How]++
			}
		}
		if by["grant"] != 3 || by["person"] != 1 {
			t.Errorf("decided by %v", by)
		}
		w.decide = func(*call.Tool, json.RawMessage) call.Decision { return call.Decision{Verdict: call.Ask, Firm: true} }
		f.rounds = nil
		if together(t.Context(), r, nil, `{"a":0}`); len(f.rounds) != 1 {
			t.Error("a grant answers what a person has to")
		}
	})
}

// Three refusals in one form are one no, and drop none of the calls that the form allows (POLICY.md 7.2, 32); three
// forms end the run.
func TestE8RefusalsOfOneRoundCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.decide = verdict(call.Ask)
		f := &form{answer: func(q *Question) call.Answer {
			if strings.Contains(string(q.Args), "no") {
				return no
			}
			return yes
		}}
		var told []int
		var mu sync.Mutex
		r := w.ask(f, func(i *RunInfo) {
			i.Refused = func(n int) { mu.Lock(); defer mu.Unlock(); told = append(told, n) }
		})
		got := together(t.Context(), r, nil, `{"a":"no 1"}`, `{"a":2}`, `{"a":"no 3"}`, `{"a":4}`, `{"a":"no 5"}`)
		if !slices.Equal(got, []string{reasonDeclined, "ok", reasonDeclined, "ok", reasonDeclined}) || slices.Max(told) != 1 {
			t.Errorf("got %v, told %v", got, told)
		}
		together(t.Context(), r, nil, `{"a":"no 6"}`)
		together(t.Context(), r, nil, `{"a":"no 7"}`)
		if slices.Max(told) != 3 {
			t.Errorf("told %v", told)
		}
	})
}

// The run's end answers all questions of a round, and a crash of the prompter none.
func TestRoundsThatEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.decide = verdict(call.Ask)
		f := &form{answer: func(*Question) call.Answer { return yes }}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, cancel)
		if got := together(ctx, w.ask(f), nil, `{"a":1}`, `{"a":2}`); !slices.Equal(got,
			[]string{ReasonCanceled, ReasonCanceled}) || w.sent() != 0 {
			t.Errorf("got %v, %d sent", got, w.sent())
		}
		var decided atomic.Int32
		w.decide = func(*call.Tool, json.RawMessage) call.Decision {
			if decided.Add(1) > 2 {
				panic("boom") // when the second call is decided again
			}
			return call.Decision{Verdict: call.Ask}
		}
		f.answer = func(*Question) call.Answer { return yes }
		r := w.ask(f)
		if got := together(t.Context(), r, nil, `{"a":1}`, `{"a":2}`); w.sent() != 0 ||
			strings.Contains(strings.Join(got, " "), "ok") {
			t.Errorf("a policy that crashes: got %v, %d sent", got, w.sent())
		}
		w.decide = verdict(call.Ask)
		f.answer = func(*Question) call.Answer { panic("boom") }
		if got := together(t.Context(), w.ask(f), nil, `{"a":1}`, `{"a":2}`); !slices.Equal(got,
			[]string{call.CodeNoApprover, call.CodeNoApprover}) || w.sent() != 0 {
			t.Errorf("got %v, %d sent", got, w.sent())
		}
	})
}

// C12: a yes is taken for the call as it is when it is released; what does not fit it is not sent.
func TestC12AYesIsTakenOnce(t *testing.T) {
	w := newWorld()
	w.decide = verdict(call.Ask)
	var used []string
	f := &form{answer: func(*Question) call.Answer { return yes }, use: func(_ context.Context, now *Question) error {
		used = append(used, now.Tool.Digest+string(now.Args))
		if now.Tool.Digest != "d1" {
			return ErrChanged
		}
		return nil
	}}
	synctest.Test(t, func(t *testing.T) {
		if got := together(t.Context(), w.ask(f), nil, `{"a":1}`); got[0] != "ok" ||
			!slices.Equal(used, []string{`d1{"a":1}`}) {
			t.Errorf("got %v, used %v", got, used)
		}
		f.use = func(context.Context, *Question) error { return ErrChanged }
		if got := together(t.Context(), w.ask(f), nil, `{"a":2}`); got[0] != reasonPolicy || w.sent() != 1 {
			t.Errorf("got %v, %d sent", got, w.sent())
		}
		// the policy is as it was
		for err, want := range map[error]string{ErrTooLate: call.CodeTimeout,
			errors.New("the disk is full"): call.CodeDenied} {
			f.use = func(context.Context, *Question) error { return err }
			if got := together(t.Context(), w.ask(f), nil, `{"a":3}`); got[0] != want || w.sent() != 1 {
				t.Errorf("%v: got %v, %d sent, want %s", err, got, w.sent(), want)
			}
		}
	})
}

// ends makes calls for a program that ends with the first refusal, as one does that catches nothing. It returns how
// each call ended, what is reported at the end of the run, and when that was.
func ends(t *testing.T, r *Run, args ...string) (results []string, reports []Report, ended time.Time) {
	program, end := context.WithCancelCause(t.Context())
	defer end(nil)
	results = make([]string, len(args))
	var wg sync.WaitGroup
	over := make(chan struct{})
	for i, a := range args {
		wg.Go(func() {
			_, err := r.Call(program, Invocation{ID: i + 1, Name: "fs__write", Args: json.RawMessage(a), Carried: t.Context})
			results[i] = "ok"
			if x, ok := err.(*Exception); ok {
				results[i] = fmt.Sprint(x.Props["reason"])
				end(errors.New("the program threw"))
			}
		})
	}
	go func() { wg.Wait(); close(over) }()
	select {
	case <-program.Done():
	case <-over:
	}
	r.Carry(t.Context())
	reports, ended = r.End(), time.Now()
	wg.Wait()
	return results, reports, ended
}

// What a person allows is done, though a refusal beside it ends the program: it is sent before the program hears of the
// refusal, and waited for.
func TestMixedAnswersAreCarriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.decide = verdict(call.Ask)
		w.reply = func(ctx context.Context, _ *call.Tool, _ json.RawMessage) (*Reply, error) {
			select {
			case <-time.After(20 * time.Second):
				return &Reply{Value: json.RawMessage("1")}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		slow := w.record
		w.record = func(e call.Entry) error {
			if e.State == call.Running {
				time.Sleep(time.Second) // long enough for the refusal to be faster
			}
			if slow != nil {
				return slow(e)
			}
			return nil
		}
		f := &form{answer: func(q *Question) call.Answer {
			if q.Call == 2 {
				return no
			}
			return yes
		}}
		got, reports, _ := ends(t, w.ask(f), `{"a":1}`, `{"a":2}`, `{"a":3}`)
		if !slices.Equal(got, []string{"ok", reasonDeclined, "ok"}) {
			t.Errorf("the calls ended so: %v", got)
		}
		for i, want := range []State{Done, Refused, Done} {
			if reports[i].State != want {
				t.Errorf("call %d is reported as %s, %s; want %s", i+1, reports[i].State, reports[i].Reason, want)
			}
		}
		sent, refused := 0, -1
		for i, line := range w.log {
			switch {
			case strings.HasPrefix(line, "send"):
				sent++
				if refused >= 0 {
					t.Errorf("sent after the refusal: %v", w.log)
				}
			case strings.HasPrefix(line, "record refused"):
				refused = i
			}
		}
		if sent != 2 || refused < 0 {
			t.Errorf("%d calls were sent: %v", sent, w.log)
		}
	})
}

// The end of a run waits for what a person has allowed, but not for longer than a call may take.
func TestARunWaitsForApprovedCallsWithinTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.decide = verdict(call.Ask)
		w.reply = func(ctx context.Context, _ *call.Tool, _ json.RawMessage) (*Reply, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		f := &form{answer: func(q *Question) call.Answer {
			if q.Call == 2 {
				return no
			}
			return yes
		}}
		start := time.Now()
		got, reports, ended := ends(t, w.ask(f, func(i *RunInfo) { i.CallTimeout = 7 * time.Second }), `{"a":1}`, `{"a":2}`)
		if took := ended.Sub(start); took < 7*time.Second || took > 10*time.Second {
			t.Errorf("the run ended after %v, while a call that was allowed was under way: %v", took, got)
		}
		if reports[0].State != Unknown || !strings.Contains(reports[0].Detail, "no answer within 7s") {
			t.Errorf("call 1 is reported as %s, %s", reports[0].State, reports[0].Detail)
		}
	})
}

// streaming is a prompter whose answers come one after the other.
type streaming struct {
	form
	each time.Duration
}

func (s *streaming) Ask(ctx context.Context, qs []*Question, answered func(int, call.Answer, Use)) {
	for i, a := range s.answers(qs) {
		select {
		case <-time.After(s.each):
			answered(i, a, nil)
		case <-ctx.Done():
			answered(i, call.Answer{How: "none", Code: ReasonCanceled}, nil)
		}
	}
}

// An answer takes effect when it is given, whatever becomes of the others; and what the program asks then does not wait
// for them.
func TestEachAnswerTakesEffectAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.decide = verdict(call.Ask)
		s := &streaming{form: form{answer: func(*Question) call.Answer { return yes }}, each: time.Minute}
		r := NewGate(Deps{Tools: w, Recorder: w, Sender: w}).Run(RunInfo{ID: "r1", Policy: w, Prompter: s})
		start := time.Now()
		took := make([]time.Duration, 4)
		var wg sync.WaitGroup
		call := func(id int) {
			_, _ = r.Call(t.Context(), Invocation{ID: id, Name: "fs__write", Args: json.RawMessage(fmt.Sprintf(`{"a":%d}`, id))})
			took[id-1] = time.Since(start).Truncate(time.Second)
		}
		for id := 1; id <= 3; id++ {
			wg.Go(func() {
				call(id)
				if id == 1 {
					call(4)
				}
			})
		}
		wg.Wait()
		if want := []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute, 2 * time.Minute}; !slices.Equal(took,
			want) {
			t.Errorf("the calls took %v, want %v", took, want)
		}
	})
}

// A question that was put before the run was saved stays open where the run goes on, even if an equal call was refused
// meanwhile: people still see it and answer it. A question that was not put yet is put there, unless an equal call was
// refused.
func TestAQuestionThatIsOpenStaysOpenElsewhere(t *testing.T) {
	for _, row := range []struct {
		why    string
		alone  bool           // one question after the other: the second was not put
		put    bool           // or it was, after the run was saved
		first  call.Answer    // given before the run is saved, to what is put together; else after
		second call.Answer    // to what is put where the run goes on
		want   map[int]string // by call
		asked  int            // questions on record
		again  int            // questions put where the run goes on
	}{
		{"a yes to the one that is open", false, false, no, yes, map[int]string{2: "ok"}, 2, 1},
		{"a no to the one that is open", false, false, no, no, map[int]string{2: call.CodeDeclined}, 2, 1},
		{"the one before it is refused", true, false, call.Answer{}, no,
			map[int]string{1: call.CodeDeclined, 2: call.CodeDeclined}, 1, 1},
		{"the one before it is refused, and people see the other", true, true, call.Answer{}, no,
			map[int]string{1: call.CodeDeclined, 2: call.CodeDeclined}, 1, 2},
		{"the one before it is allowed", true, false, call.Answer{}, yes, map[int]string{1: "ok", 2: "ok"}, 2, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.decide = verdict(call.Ask)
			notes := &noting{world: w}
			gate := NewGate(Deps{Tools: w, Recorder: notes, Sender: w})
			here := &parting{form: form{alone: row.alone, answer: func(*Question) call.Answer { return row.first }}}
			r := gate.Run(RunInfo{ID: "r1", Policy: w, Prompter: here})
			ctx, end := context.WithCancel(t.Context())
			var calls sync.WaitGroup
			for id := 1; id <= 2; id++ {
				calls.Go(func() {
					_, _ = r.Call(ctx, Invocation{ID: id, Name: "fs__write", Args: json.RawMessage(`{"a":1}`)})
				})
				time.Sleep(time.Millisecond) // one after the other
			}
			time.Sleep(time.Second)
			state, err := r.Save()
			if err != nil {
				t.Fatal(err)
			}
			onRecord := notes.asked
			end()
			calls.Wait()
			notes.asked = onRecord // this process is gone

			there := &form{alone: row.alone, answer: func(*Question) call.Answer { return row.second }}
			again, err := gate.Restore(RunInfo{ID: "r1", Policy: w, Prompter: there}, state)
			if err != nil {
				t.Fatal(err)
			}
			got := map[int]string{}
			var mu sync.Mutex
			waiting, err := Waiting(state)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range waiting {
				calls.Go(func() {
					_, err := again.Resume(t.Context(), Invocation{ID: id, Put: row.put})
					mu.Lock()
					defer mu.Unlock()
					got[id] = "ok"
					if x, ok := err.(*Exception); ok {
						got[id] = fmt.Sprint(x.Props["reason"])
					}
				})
				time.Sleep(time.Millisecond)
			}
			calls.Wait()
			if !maps.Equal(got, row.want) || notes.asked != row.asked || len(slices.Concat(there.rounds...)) != row.again {
				t.Errorf("%s: it came to %v, want %v; %d questions on record, want %d; put: %v", row.why, got, row.want,
					notes.asked, row.asked, there.rounds)
			}
		})
	}
}

// A parting form has an answer to the first of several questions, and waits with all else until its process leaves.
type parting struct{ form }

func (p *parting) Ask(ctx context.Context, qs []*Question, answered func(int, call.Answer, Use)) {
	if len(qs) > 1 {
		answered(0, p.answer(qs[0]), nil)
	}
	<-ctx.Done()
	for i := range qs {
		answered(i, call.Answer{How: "none", Code: ReasonCanceled}, nil)
	}
}

// A noting world counts the questions that are on record.
type noting struct {
	*world
	asked int
}

func (n *noting) Record(ctx context.Context, e call.Entry) error {
	if e.State == call.Pending {
		n.mu.Lock()
		n.asked++
		n.mu.Unlock()
	}
	return n.world.Record(ctx, e)
}

// A process that stops does not wait until the servers of a call that it has taken over are there. That is no change of
// a tool.
func TestACallThatIsTakenOverByAProcessThatStopsIsNotMade(t *testing.T) {
	w := newWorld()
	w.decide = verdict(call.Ask)
	gate := NewGate(Deps{Tools: w, Recorder: w, Sender: w})
	asked := make(chan struct{})
	here := &form{answer: func(*Question) call.Answer { close(asked); return yes }}
	r := gate.Run(RunInfo{ID: "r1", Policy: w, Prompter: here})
	ctx, end := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	calls.Go(func() {
		_, _ = r.Call(ctx, Invocation{ID: 1, Name: "fs__write", Args: json.RawMessage("{}")})
	})
	<-asked
	state, err := r.Save()
	if err != nil {
		t.Fatal(err)
	}
	end()
	calls.Wait()

	delete(w.tools, "fs__write")
	again, err := gate.Restore(RunInfo{ID: "r1", Policy: w, Prompter: here}, state)
	if err != nil {
		t.Fatal(err)
	}
	_, err = again.Resume(ctx, Invocation{ID: 1})
	if x, ok := err.(*Exception); !ok || x.Props["reason"] != ReasonCanceled || x.Props["detail"] != RunEnded {
		t.Errorf("the call is told %v", err)
	}
}
