package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// A shared store that counts what is withdrawn from it.
type shared struct {
	Store
	SharedStore // nil: what is not asked for here
	withdrawn   int
	instead     int  // answers with other arguments
	answered    int  // other answers
	kept        int  // of these, those that came to their end
	refuses     bool // every answer: the question is over

	fault  error // of Withdraw
	closed error // of Answered

	atTheEnd *call.Answer // given in another process just before the question is withdrawn

	mu    sync.Mutex
	taken *call.Answer // atTheEnd, from then on
}

func (s *shared) Propose(ctx context.Context, p *Pending) error { return s.Store.Propose(ctx, p) }

func (s *shared) Answer(ctx context.Context, id, digest string, yes bool, by string, answer json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered++
	switch {
	case s.refuses:
		s.taken = s.atTheEnd
		return ErrTaken
	case ctx.Err() != nil:
		return ctx.Err()
	}
	s.kept++
	return s.Store.Answer(ctx, id, digest, yes, by, answer)
}

func (s *shared) Use(ctx context.Context, id, digest string) error {
	return s.Store.Use(ctx, id, digest)
}

func (s *shared) Answered(ctx context.Context, _ string) (bool, json.RawMessage, error) {
	s.mu.Lock()
	taken := s.taken
	s.mu.Unlock()
	if taken != nil {
		return taken.Allowed, asKept(taken), nil
	}
	if s.closed != nil {
		return false, nil, s.closed
	}
	<-ctx.Done()
	return false, nil, ctx.Err()
}

func (s *shared) AnswerInstead(context.Context, string, string, string, json.RawMessage, *Pending,
	json.RawMessage) error {
	s.instead++
	return nil
}

func (s *shared) Withdraw(context.Context, string) error {
	s.withdrawn++
	if s.fault != nil {
		return s.fault
	}
	if s.atTheEnd == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = s.atTheEnd
	return ErrTaken
}

func (s *shared) Find(context.Context, string) (*Pending, error) {
	return &Pending{Allowed: s.refuses && s.atTheEnd != nil && s.atTheEnd.Allowed}, nil
}

func asKept(r *call.Answer) json.RawMessage {
	js, err := json.Marshal((&reply{Answer: *r, source: source{name: "web"}}).toStore(r.Allowed, ""))
	if err != nil {
		panic(err)
	}
	return js
}

// Whoever looks at a question in another process need not answer any more once it has ended without an answer, unless
// that is where the run goes on. Those who were asked here may be gone by then, and before the question is told that
// its run is.
func TestWhatNobodyAnsweredIsWithdrawn(t *testing.T) {
	leaving := func() bool { return true }
	for _, row := range []struct {
		why     string
		channel fake
		options Options
		want    int
	}{
		{"nobody is there", says(ErrNoPerson), Options{}, 1},
		{"nobody answers in time", fake{name: "n", after: -1}, Options{Timeout: ms}, 1},
		{"a person refuses", no(time.Second), Options{}, 0},
		{"a person approves", yes(time.Second), Options{}, 0},
		{"nobody is there any more when another process goes on with the run", says(ErrNoPerson), Options{Leaving: leaving},
			0},
		{"nobody is there whom a question of another process could be put to", says(ErrNoPerson), Options{Borrowed: true}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &shared{Store: newStore(time.Now)}
			d := Desk{Store: store}
			d.Ask(t.Context(), request(call.Medium), []Channel{row.channel}, row.options)
			if store.withdrawn != row.want {
				t.Errorf("%s: it was withdrawn %d times, want %d", row.why, store.withdrawn, row.want)
			}
		})
	}
}

// Who answers in another process in the moment in which the question ends here is told that the answer is taken: then
// it counts, or the record says that it came too late.
func TestAnAnswerInTheMomentOfTheTimeOutCounts(t *testing.T) {
	for _, row := range []struct {
		why     string
		given   call.Answer
		gone    bool // nobody waits for the run any more
		allowed bool
		code    string
		late    int
	}{
		{"a yes", call.Answer{Allowed: true, By: "op"}, false, true, "", 0},
		{"a no", call.Answer{By: "op", Reason: "not now"}, false, false, call.CodeDeclined, 0},
		{"a yes to a run that has ended", call.Answer{Allowed: true, By: "op"}, true, false, call.CodeCanceled, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			late := 0
			d := Desk{Store: &shared{Store: newStore(time.Now), atTheEnd: &row.given},
				Late: func(*prompt.Request, call.Answer) { late++ }}
			ctx, cancel := context.WithCancel(t.Context())
			if row.gone {
				time.AfterFunc(ms/2, cancel)
			}
			defer cancel()
			got := d.Ask(ctx, request(call.Medium), []Channel{fake{name: "n", after: -1}}, Options{Timeout: ms})
			if got.Allowed != row.allowed || got.Code != row.code || late != row.late {
				t.Errorf("%s: %+v, and %d late answers", row.why, got, late)
			}
			if row.allowed && (got.Ticket == nil || got.Channel != "web" || got.By != "op") {
				t.Errorf("%s: it cannot be used: %+v", row.why, got)
			}
		})
	}
}

// A question about a call that has changed since replaces the one of another process only after that one is closed:
// otherwise somebody could answer it, and be told that the answer is taken.
func TestAnotherQuestionFollowsOneThatIsClosed(t *testing.T) {
	for _, row := range []struct {
		why   string
		fault error
		asked bool
	}{
		{"it is closed now", nil, true},
		{"it was closed before", ErrTaken, true},
		{"the store does not answer", errors.New("no answer"), false},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &shared{Store: newStore(time.Now)}
			d := Desk{Store: store}
			first := d.open(t.Context(), t.Context(), request(call.Medium), nil, Options{Timeout: time.Minute}).request
			changed := *first
			changed.Args = json.RawMessage(`{"path":"/other"}`)
			store.fault = row.fault
			if errors.Is(row.fault, ErrTaken) {
				store.closed = ErrTaken
			}
			got := d.Ask(t.Context(), &changed, []Channel{yes(time.Second)}, Options{})
			if got.Allowed != row.asked || row.asked == (got.Code == call.CodeNoApprover) {
				t.Errorf("%s: %+v", row.why, got)
			}
		})
	}
}

// Of two answers to each question of a round, a no stands and the yes of another process is late. The questions do not
// wait for each other's yes.
func TestANoAndAYesOfAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := 0
		var mu sync.Mutex
		d := Desk{
			Store: &shared{Store: newStore(time.Now), refuses: true, atTheEnd: &call.Answer{Allowed: true, By: "op"}},
			Late: func(*prompt.Request, call.Answer) {
				mu.Lock()
				defer mu.Unlock()
				late++
			},
		}
		start := time.Now()
		answers := d.AskAll(t.Context(), []*prompt.Request{request(call.Medium), request(call.Medium)},
			[]Channel{no(time.Second)}, Options{})
		for i, got := range answers {
			if got.Allowed || got.Code != call.CodeDeclined {
				t.Errorf("question %d: %+v", i, got)
			}
		}
		if took := time.Since(start); took != time.Second || late != 2 {
			t.Errorf("it took %v, and %d yeses were late", took, late)
		}
	})
}

// A question that is put to another client of this process stays one that is asked here: a page does not show it twice.
func TestAQuestionThatIsPutAgainStaysOneOfThisProcess(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nobody answers
	d := &Desk{Store: &shared{Store: newStore(time.Now)}}
	own := d.open(t.Context(), t.Context(), request(call.Medium), nil, Options{Timeout: time.Minute})
	again := d.open(t.Context(), t.Context(), own.request, nil, Options{Timeout: time.Minute, Borrowed: true})
	if again.request.ID != own.request.ID {
		t.Fatalf("it is another question: %s, was %s", again.request.ID, own.request.ID)
	}
	if !d.asksHere(own.request.ID) {
		t.Error("it is taken for another process's while it is put again")
	}
	again.decide(ctx)
	if !d.asksHere(own.request.ID) {
		t.Error("it is taken for another process's after it was put again")
	}
	own.decide(ctx)
	if d.asksHere(own.request.ID) {
		t.Error("it is still asked")
	}
	elsewhere := &Desk{Store: d.Store}
	borrowed := elsewhere.open(t.Context(), t.Context(), own.request, nil, Options{Timeout: time.Minute, Borrowed: true})
	if elsewhere.asksHere(own.request.ID) {
		t.Error("another process takes it for its own")
	}
	borrowed.decide(ctx)
}

// A yes with other arguments is kept in one step: no process can die between the no to what was asked and the yes to
// the other.
func TestAYesWithOtherArgumentsIsKeptInOneStep(t *testing.T) {
	store := &shared{Store: newStore(time.Now)}
	d := Desk{Store: store}
	r := request(call.Medium)
	r.Edit = func(json.RawMessage) error { return nil }
	q := NewQueue("web")
	seat := q.Sit("local:anna")
	go func() {
		<-seat.News()
		for len(seat.Pending()) == 0 {
			<-seat.News()
		}
		o := seat.Pending()[0].Request
		if err := seat.Answer(o.ID, o.Digest, o.Code, call.Answer{Allowed: true,
			Args: json.RawMessage(`{"path":"/other"}`)}); err != nil {
			t.Error(err)
		}
	}()
	a := d.Ask(t.Context(), r, []Channel{q}, Options{})
	if !a.Allowed || string(a.Args) != `{"path":"/other"}` || store.instead != 1 || store.answered != 0 {
		t.Errorf("it came to %+v, kept in %d steps of one kind and %d of the other", a, store.instead, store.answered)
	}
}

// Who answers in the moment in which this process leaves is told that the answer is taken: then the process that goes
// on with the run finds it in the store. If the question is over there, it is late.
func TestAnAnswerInTheMomentOfLeavingIsLeftBehind(t *testing.T) {
	for _, row := range []struct {
		why     string
		given   call.Answer
		leaving bool
		over    bool // elsewhere
		late    int
	}{
		{"a yes", call.Answer{Allowed: true, By: "op", Checked: true}, true, false, 0},
		{"a no", call.Answer{By: "op", Checked: true}, true, false, 0},
		{"a yes to a question that is over", call.Answer{Allowed: true, By: "op", Checked: true}, true, true, 1},
		{"a yes to a run that ends", call.Answer{Allowed: true, By: "op", Checked: true}, false, false, 0},
	} {
		for _, when := range []time.Duration{-1, 0, 1} { // before the process leaves, with it, and after
			synctest.Test(t, func(t *testing.T) {
				late := 0
				store := &shared{Store: newStore(time.Now), refuses: row.over}
				d := Desk{Store: store, Late: func(*prompt.Request, call.Answer) { late++ }}
				ctx, leave := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { leave(ErrLeaving) })
				channel := fake{name: "n", after: time.Second + when, reply: row.given, deaf: true}
				d.Ask(ctx, request(call.Medium), []Channel{channel}, Options{Timeout: time.Minute,
					Leaving: func() bool { return row.leaving }})
				if err := d.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				if store.kept+late != 1 || row.leaving && late != row.late {
					t.Errorf("%s, %v: the store has kept %d answers, and %d were late, want %d", row.why, when, store.kept, late,
						row.late)
				}
			})
		}
	}
}

// A no that a person gives while others of the form are still on their way is kept, also if this process leaves
// meanwhile.
func TestANoIsKeptAlthoughTheProcessLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shared{Store: newStore(time.Now)}
		ctx, leave := context.WithCancelCause(t.Context())
		a := (&Desk{Store: store}).open(ctx, ctx, request(call.Medium), nil, Options{Timeout: time.Minute})
		leave(ErrLeaving)
		if got := a.refuse(ctx, reply{source: source{name: "n"}}); got.Code != call.CodeDeclined || store.kept != 1 {
			t.Errorf("it came to %+v, and the store has kept %d answers", got, store.kept)
		}
	})
}
