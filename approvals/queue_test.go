package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
)

// S3.7, C5: what waits is seen from a seat, answered there, and gone; an answer counts once.
func TestAQueueIsAnsweredFromASeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Desk
		q := NewQueue("responder")
		seat := q.Sit("local:anna")
		answer := asking(t.Context(), &d, q, write("/a"))
		synctest.Wait()
		all := seat.Pending()
		if len(all) != 1 || all[0].Request.Name != "fs__write" {
			t.Fatalf("pending: %+v", all)
		}
		time.Sleep(time.Second)
		r := all[0].Request
		checktest.OK(t, seat.Answer(r.ID, r.Digest, "", call.Answer{Allowed: true, Scope: call.ForRun}))
		if a := <-answer; !a.Allowed || a.Channel != "responder" || a.By != "local:anna" || a.Draft == nil {
			t.Errorf("got %+v", a)
		}
		if err := seat.Answer(r.ID, r.Digest, "", call.Answer{}); !errors.Is(err, ErrTaken) {
			t.Errorf("a second answer: %v", err)
		}
		if all := seat.Pending(); len(all) != 0 {
			t.Errorf("still pending: %+v", all)
		}
	})
}

// C6: while nobody has a seat the queue has no person; who comes while the question is open over another channel
// answers it.
func TestC6AnEmptyQueueHasNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Desk
		q := NewQueue("responder")
		if a := <-asking(t.Context(), &d, q, write("/a")); a.Code != call.CodeNoApprover || a.How != call.ByNobody ||
			a.Took != 0 {
			t.Errorf("alone: %+v", a)
		}
		slow := fake{name: "form", after: -1}
		answer := asking(t.Context(), &d, q, write("/a"), slow)
		time.Sleep(30 * time.Second)
		seat := q.Sit("local:anna")
		synctest.Wait()
		r := seat.Pending()[0].Request
		seat.Leave()
		seat.Leave()
		time.Sleep(30 * time.Second)
		seat = q.Sit("local:ben")
		synctest.Wait()
		checktest.OK(t, seat.Answer(r.ID, r.Digest, "", call.Answer{Reason: "no"}))
		if a := <-answer; a.Code != call.CodeDeclined || a.By != "local:ben" || a.Channel != "responder" {
			t.Errorf("got %+v", a)
		}
		// F47: a responder that is killed takes nothing with it.
		seat.Leave()
		seat = q.Sit("local:anna")
		answer = asking(t.Context(), &d, q, write("/a"), yes(40*time.Second))
		time.Sleep(time.Second)
		seat.Leave()
		if a := <-answer; !a.Allowed || a.Channel != "a" {
			t.Errorf("after the responder was killed: %+v", a)
		}
		checktest.OK(t, d.Wait(t.Context()))
	})
}

// Answers that do not count leave the question open, and say why.
func TestAnswersFromASeatThatDoNotCount(t *testing.T) {
	tests := []struct {
		why    string
		change func(r *prompt.Request)
		answer func(s *Seat, r *prompt.Request) error
		want   string
	}{
		{"A07: a made-up ID", nil, func(s *Seat, r *prompt.Request) error {
			return s.Answer("q_1", r.Digest, "", call.Answer{Allowed: true})
		}, "not open"},
		{"A09: the digest of another question", nil, func(s *Seat, r *prompt.Request) error {
			return s.Answer(r.ID, "sha256:0", "", call.Answer{Allowed: true})
		}, "the digest is not that of the open question"},
		{"a scope that was not offered", func(r *prompt.Request) { r.Terms = prompt.Terms{} },
			func(s *Seat, r *prompt.Request) error {
				return s.Answer(r.ID, r.Digest, "", call.Answer{Allowed: true, Scope: call.ForRun})
			}, "does not offer"},
		{"other arguments where they may not be changed", nil, func(s *Seat, r *prompt.Request) error {
			return s.Answer(r.ID, r.Digest, "", call.Answer{Allowed: true, Args: json.RawMessage(`{}`)})
		}, "does not let"},
		{"other arguments that no digest can be made of",
			func(r *prompt.Request) { r.Edit = func(json.RawMessage) error { return nil } },
			func(s *Seat, r *prompt.Request) error {
				return s.Answer(r.ID, r.Digest, "", call.Answer{Allowed: true, Args: json.RawMessage(`{"n":1e400}`)})
			}, "canonical form"},
		{"S2.5: other arguments that are wrong", func(r *prompt.Request) {
			r.Edit = func(json.RawMessage) error { return errors.New("/path: expected text") }
		}, func(s *Seat, r *prompt.Request) error {
			return s.Answer(r.ID, r.Digest, "", call.Answer{Allowed: true, Args: json.RawMessage(`{"path":7}`)})
		}, "expected text"},
		{"a high risk without its code", func(r *prompt.Request) { r.Risk, r.Code = call.High, "7f3a" },
			func(s *Seat, r *prompt.Request) error {
				return s.Answer(r.ID, r.Digest, "", call.Answer{Allowed: true})
			}, "code"},
		{"a high risk that has no code", func(r *prompt.Request) { r.Risk, r.Code = call.High, "" },
			func(s *Seat, r *prompt.Request) error {
				return s.Answer(r.ID, r.Digest, "", call.Answer{Allowed: true})
			}, "code"},
		{"a high risk that was not seen whole", func(r *prompt.Request) {
			r.Risk, r.Code, r.Args = call.High, "7f3a", json.RawMessage(`{"x":"`+strings.Repeat("y", 40000)+`"}`)
		}, func(s *Seat, r *prompt.Request) error {
			return s.Answer(r.ID, r.Digest, "7f3a", call.Answer{Allowed: true})
		}, "seen whole"},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d Desk
				q := NewQueue("responder")
				seat := q.Sit("local:anna")
				r := write("/a")
				if test.change != nil {
					test.change(r)
				}
				answer := asking(t.Context(), &d, q, r)
				synctest.Wait()
				r = seat.Pending()[0].Request
				time.Sleep(time.Second)
				if err := test.answer(seat, r); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want that it %s", err, test.want)
				}
				synctest.Wait()
				if len(seat.Pending()) != 1 {
					t.Fatal("the question is gone")
				}
				if _, err := seat.Show(prompt.RenderOptions{}, r.ID); err != nil {
					t.Error(err)
				}
				yes := call.Answer{Allowed: true}
				if test.change != nil && r.Code == "" && r.Risk == call.High {
					yes = call.Answer{}
				}
				if err := seat.Answer(r.ID, r.Digest, r.Code, yes); err != nil {
					t.Errorf("the right answer: %v", err)
				}
				if a := <-answer; a.Allowed != (yes.Allowed) {
					t.Errorf("got %+v", a)
				}
				if synctest.Wait(); len(seat.seen) != 0 {
					t.Errorf("the seat remembers %v", seat.seen)
				}
			})
		})
	}
}

// A12, F46: twenty seats that answer at once make one answer, and all but one are told that they were late.
func TestF46ManySeatsOneAnswer(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			var d Desk
			q := NewQueue("responder")
			seats := make([]*Seat, 20)
			for i := range seats {
				seats[i] = q.Sit("local:anna")
			}
			answer := asking(t.Context(), &d, q, write("/a"))
			synctest.Wait()
			time.Sleep(time.Second)
			var wg sync.WaitGroup
			r := seats[0].Pending()[0].Request
			late := make(chan error, len(seats))
			for i, s := range seats {
				wg.Go(func() {
					if err := s.Answer(r.ID, r.Digest, "", call.Answer{Allowed: i%2 == 1}); err != nil {
						late <- err
					}
				})
			}
			wg.Wait()
			<-answer
			if len(late) != len(seats)-1 {
				t.Errorf("%d of %d were late", len(late), len(seats))
			}
			for _, s := range seats {
				if len(s.Pending()) != 0 {
					t.Error("a seat still sees the question")
				}
			}
		})
	}
}

// S3.8: whoever is sent for when a question comes to an empty queue has time to come; if nobody does, nobody was there.
func TestAQueueSendsForSomebody(t *testing.T) {
	for _, tt := range []struct {
		why   string
		wait  time.Duration
		comes time.Duration // 0: nobody
		want  string
	}{
		{"in time", 10 * time.Second, 5 * time.Second, ""},
		{"too late", 10 * time.Second, 15 * time.Second, call.CodeNoApprover},
		{"nobody", 10 * time.Second, 0, call.CodeNoApprover},
		{"nobody can be sent for", 0, 5 * time.Second, call.CodeNoApprover},
	} {
		t.Run(tt.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := NewQueue("terminal")
				calls := 0
				q.Summon = func() time.Duration { calls++; return tt.wait }
				if tt.comes > 0 {
					go func() {
						time.Sleep(tt.comes)
						seat := q.Sit("local:anna")
						defer seat.Leave()
						for _, o := range seat.Pending() {
							if err := seat.Answer(o.Request.ID, o.Request.Digest, "", call.Answer{Allowed: true, Typed: true}); err != nil {
								t.Error(err)
							}
						}
					}()
				}
				var d Desk
				got := d.Ask(t.Context(), write("/a"), []Channel{q}, Options{})
				if got.Code != tt.want || got.Allowed != (tt.want == "") || calls != 1 {
					t.Errorf("got %v %q, sent for %d times", got.Allowed, got.Code, calls)
				}
				time.Sleep(time.Minute)
			})
		})
	}
	q := NewQueue("terminal")
	q.Summon = func() time.Duration { t.Error("somebody is sent for who is there"); return 0 }
	seat := q.Sit("local:anna")
	defer seat.Leave()
	var d Desk
	answer := asking(t.Context(), &d, q, write("/a"))
	for len(seat.Pending()) == 0 {
		<-seat.News()
	}
	r := seat.Pending()[0].Request
	if err := seat.Answer(r.ID, r.Digest, "", call.Answer{Typed: true}); err != nil {
		t.Error(err)
	}
	<-answer
}

// Who may not answer a question has no part in it: they do not see it, cannot answer it, and are nobody who is there
// for it.
func TestOnlyThoseWhoMayAnswerAreThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, q := &Desk{}, NewQueue("web")
		q.May = func(by, principal string) bool { return by == principal || by == "boss" }
		ben := q.Sit("ben")
		defer ben.Leave()
		r := &prompt.Request{Name: "a__b", Tool: "b", Server: "a", Principal: "anna", Args: json.RawMessage(`{}`)}
		if got := d.Ask(t.Context(), r, []Channel{q}, Options{Timeout: time.Minute}); got.Allowed ||
			got.Code != call.CodeNoApprover {
			t.Errorf("with only ben there, who may not answer: %+v", got)
		}
		boss := q.Sit("boss") // before the question, which finds nobody otherwise
		defer boss.Leave()
		got := asking(t.Context(), d, q, r)
		synctest.Wait()
		open := boss.Pending()
		if len(ben.Pending()) != 0 || len(open) != 1 {
			t.Fatalf("ben sees %d questions, boss %d", len(ben.Pending()), len(open))
		}
		id, digest := open[0].Request.ID, open[0].Request.Digest
		if err := ben.Answer(id, digest, "", call.Answer{Allowed: true}); !errors.Is(err, ErrTaken) {
			t.Errorf("ben's answer: %v", err)
		}
		if _, err := ben.Show(prompt.RenderOptions{}, id); err == nil {
			t.Error("ben is shown it")
		}
		if err := boss.Answer(id, digest, "", call.Answer{Allowed: true}); err != nil {
			t.Error(err)
		}
		if a := <-got; !a.Allowed || a.By != "boss" {
			t.Errorf("got %+v", a)
		}
	})
}

// A question that was put lives until its answer or its time-out, whoever comes and goes.
func TestLeavingDecidesNothing(t *testing.T) {
	for _, test := range []struct {
		why    string
		await  bool
		before bool // somebody is there when it comes, and leaves after a second
		after  bool // somebody comes after 30 seconds, and answers
		code   string
		took   time.Duration
	}{
		{"nobody ever comes", true, false, false, call.CodeTimeout, time.Minute},
		{"who was there leaves", true, true, false, call.CodeTimeout, time.Minute},
		{"who was there leaves, and another comes", true, true, true, "", 30 * time.Second},
		{"somebody comes late", true, false, true, "", 30 * time.Second},
		{"nobody is there, and it does not wait", false, false, true, call.CodeNoApprover, 0},
		{"who was there leaves, and it does not wait for somebody to come", false, true, false, call.CodeTimeout,
			time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			d, q := &Desk{}, NewQueue("web")
			if test.before {
				seat := q.Sit("anna")
				time.AfterFunc(time.Second, seat.Leave)
			}
			if test.after {
				time.AfterFunc(30*time.Second, func() {
					seat := q.Sit("ben")
					defer seat.Leave()
					for _, o := range seat.Pending() {
						if until := o.Request.Deadline(); time.Until(until) != 30*time.Second {
							t.Errorf("%s: it waits for %v", test.why, time.Until(until))
						}
						_ = seat.Answer(o.Request.ID, o.Request.Digest, "", call.Answer{Allowed: true})
					}
				})
			}
			r := &prompt.Request{Name: "a__b", Tool: "b", Server: "a", Args: json.RawMessage(`{}`)}
			unable := Channel(fake{name: "elicitation", err: ErrCannotAsk})
			got := d.Ask(t.Context(), r, []Channel{unable, q}, Options{Timeout: time.Minute, Await: test.await})
			if got.Code != test.code || got.Allowed != (test.code == "") || got.Took != test.took {
				t.Errorf("%s: got %s after %v, want %s after %v", test.why, got.Code, got.Took, test.code, test.took)
			}
			time.Sleep(time.Minute)
		})
	}
}

// Of answers that come with one form the yeses take effect first, and each of a queue at once.
func TestAnswersAreToldWhenTheyAreGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, q := &Desk{}, NewQueue("web")
		seat := q.Sit("anna")
		defer seat.Leave()
		var calls []*prompt.Request
		for i := range 3 {
			calls = append(calls, &prompt.Request{Name: "a__b", Tool: "b", Server: "a", Call: i + 1,
				Args: json.RawMessage(`{}`)})
		}
		start := time.Now()
		var mu sync.Mutex
		told := map[int]time.Duration{}
		go func() {
			for i := range 3 {
				time.Sleep(10 * time.Second)
				for _, o := range seat.Pending() {
					if o.Request.Call == i+1 {
						_ = seat.Answer(o.Request.ID, o.Request.Digest, "", call.Answer{Allowed: true})
					}
				}
			}
		}()
		d.AskAll(t.Context(), calls, []Channel{q}, Options{Timeout: time.Minute, Answered: func(i int, a Result) {
			mu.Lock()
			defer mu.Unlock()
			told[i] = time.Since(start)
		}})
		for i := range 3 {
			if want := time.Duration(i+1) * 10 * time.Second; told[i] != want {
				t.Errorf("the answer to call %d is told after %v, want %v", i+1, told[i], want)
			}
		}
	})
	for range 50 { // whatever the order of the goroutines
		d := &Desk{}
		var order []bool
		var mu sync.Mutex
		answers := sheet{true, false, true, false}
		d.AskAll(t.Context(), []*prompt.Request{{Call: 1}, {Call: 2}, {Call: 3}, {Call: 4}}, []Channel{answers},
			Options{Answered: func(_ int, a Result) {
				if a.Allowed {
					time.Sleep(time.Millisecond) // a refusal would be faster
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, a.Allowed)
			}})
		if want := []bool{true, true, false, false}; !slices.Equal(order, want) {
			t.Fatalf("told in the order %v", order)
		}
	}
}

// A sheet answers several calls at once.
type sheet []bool

func (sheet) Name() string { return "elicitation" }

func (s sheet) Ask(context.Context, *Showing) (call.Answer, error) {
	return call.Answer{Allowed: s[0], Typed: true}, nil
}

func (s sheet) AskAll(context.Context, *Showing) (all []call.Answer, err error) {
	for _, d := range s {
		all = append(all, call.Answer{Allowed: d, Typed: true})
	}
	return all, nil
}

// Whoever was told that an answer is taken finds it in the record, also if the question ended at that moment.
func TestAnAnswerThatWasTakenIsNeverLost(t *testing.T) {
	for range 50 { // each is lost with even chances by a queue that looks at one of the two alone
		late := make(chan call.Answer, 1)
		q := NewQueue("web")
		d := Desk{Late: func(_ *prompt.Request, a call.Answer) { late <- a }}
		seat := q.Sit("local:anna")
		ctx, cancel := context.WithCancel(t.Context())
		answered := make(chan Result, 1)
		go func() { answered <- d.Ask(ctx, request(call.Medium), []Channel{q}, Options{Await: true}) }()
		for len(seat.Pending()) == 0 {
			<-seat.News()
		}
		q.mu.Lock()
		q.presence() // Ask goes round, as far as the lock
		it := q.items.Front().Value.(*item)
		it.answered = true // as Seat.Answer does
		it.reply <- call.Answer{Allowed: true, By: "local:anna"}
		cancel()
		q.mu.Unlock()
		got := <-answered
		checktest.OK(t, d.Wait(t.Context()))
		if !got.Allowed && len(late) != 1 {
			t.Fatalf("it came to %+v, and %d answers are late", got, len(late))
		}
	}
}

// An answer that would not count is refused, so that nobody is told that it is taken; and one that was taken counts,
// although the policy has changed since it was looked at.
func TestWhatASeatTakesCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue("web")
		seat := q.Sit("op")
		r := request(call.Medium)
		looked := 0
		r.Edit = func(json.RawMessage) error {
			if looked++; looked > 1 {
				return errors.New("the profile changed")
			}
			return nil
		}
		done := make(chan Result)
		go func() { done <- (&Desk{}).Ask(t.Context(), r, []Channel{q}, Options{MinHuman: time.Second}) }()
		synctest.Wait()
		o := seat.Pending()[0].Request
		answer := func() error {
			return seat.Answer(o.ID, o.Digest, o.Code, call.Answer{Allowed: true, Args: json.RawMessage(`{"path":"/other"}`)})
		}
		time.Sleep(time.Second - 1)
		looked = 0
		if err := answer(); !errors.Is(err, errTooFast) || !strings.Contains(err.Error(), "within 1s") ||
			len(seat.Pending()) != 1 {
			t.Errorf("too fast: %v, and %d questions are open", err, len(seat.Pending()))
		}
		time.Sleep(time.Nanosecond)
		looked = 0
		if err := answer(); err != nil {
			t.Error(err)
		}
		if got := <-done; !got.Allowed || string(got.Args) != `{"path":"/other"}` {
			t.Errorf("it came to %+v", got)
		}
	})
}

// Who asked is nobody who could answer, where the profile wants somebody else; and who sits aside answers nothing and
// is not there.
func TestWhoCountsAsThere(t *testing.T) {
	const asks, other = "local:anna", "acme:ben"
	for _, x := range []struct {
		why   string
		sit   func(q *Queue) *Seat
		other bool // the profile wants somebody else than who asked
		there bool
	}{
		{"who asked", func(q *Queue) *Seat { return q.Sit(asks) }, false, true},
		{"who asked, where somebody else is wanted", func(q *Queue) *Seat { return q.Sit(asks) }, true, false},
		{"a seat without a name, where somebody else is wanted", func(q *Queue) *Seat { return q.Sit("") }, true, false},
		{"somebody else", func(q *Queue) *Seat { return q.Sit(other) }, true, true},
		{"somebody aside", func(q *Queue) *Seat { return q.Aside(other) }, false, false},
		{"who asked, aside", func(q *Queue) *Seat { return q.Aside(asks) }, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var d Desk
			q := NewStrongQueue("web")
			seat := x.sit(q)
			r := write("/a")
			r.Principal = asks
			answer := make(chan Result, 1)
			go func() {
				answer <- d.AskAll(t.Context(), []*prompt.Request{r}, []Channel{q, fake{name: "form", after: time.Hour}},
					Options{Timeout: time.Minute, OtherOnly: x.other})[0]
			}()
			synctest.Wait()
			if there := q.attended(r1(q)); there != x.there {
				t.Errorf("%s: there is %t, want %t", x.why, there, x.there)
			}
			seat.Leave()
			open := r1(q)
			for _, yes := range []bool{false, true} {
				err := seat.Answer(open.ID, open.Digest, open.Code, call.Answer{Allowed: yes})
				if (err == nil) != (x.there && !yes) { // the second answer is too late in any case
					t.Errorf("%s, yes=%t: %v", x.why, yes, err)
				}
			}
			got := <-answer
			if (got.Code == call.CodeDeclined) != x.there {
				t.Errorf("%s: %+v", x.why, got)
			}
		})
	}
}

// r1 is the question in a queue.
func r1(q *Queue) *prompt.Request {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.items.Front().Value.(*item).request
}
