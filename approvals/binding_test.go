package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
)

// C12: what a yes is bound to. A change of any of it, if only of one byte of the arguments, leaves no yes.
func TestC12AYesIsBoundToWhatWasShown(t *testing.T) {
	asked := func() *prompt.Request { return write("/data/a") }
	tests := []struct {
		why    string
		change func(r *prompt.Request)
		err    error
	}{
		{"nothing changed", func(r *prompt.Request) {}, nil},
		{"what is not bound changed", func(r *prompt.Request) { r.Code, r.Title, r.Reasons = "ffff", "other", []string{"x"} },
			nil},
		{"one byte of the arguments",
			func(r *prompt.Request) { r.Args = json.RawMessage(`{"content":"x","path":"/data/b"}`) }, ErrChanged},
		{"a space in the arguments", func(r *prompt.Request) { r.Args = append(json.RawMessage(" "), r.Args...) },
			ErrChanged},
		{"the order of the arguments",
			func(r *prompt.Request) { r.Args = json.RawMessage(`{"path":"/data/a","content":"x"}`) }, ErrChanged},
		{"no arguments", func(r *prompt.Request) { r.Args = nil }, ErrChanged},
		{"the tool's definition", func(r *prompt.Request) { r.Definition = "sha256:e" }, ErrChanged},
		{"the tool", func(r *prompt.Request) { r.Tool = "write_" }, ErrChanged},
		{"the server", func(r *prompt.Request) { r.ServerID = "sha256:t" }, ErrChanged},
		{"the profile", func(r *prompt.Request) { r.Profile = "q" }, ErrChanged},
		{"what the question rests on", func(r *prompt.Request) { r.Basis = "sha256:q" }, ErrChanged},
		{"the principal", func(r *prompt.Request) { r.Principal = "local:ben" }, ErrChanged},
		{"the run", func(r *prompt.Request) { r.Run = "r2" }, ErrChanged},
		{"the call", func(r *prompt.Request) { r.Call = 2 }, ErrChanged},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			var d Desk
			a := d.Ask(t.Context(), asked(), []Channel{yes(time.Second)}, Options{})
			r := asked()
			test.change(r)
			if err := d.Use(t.Context(), a.Ticket, r); !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
				t.Errorf("%s: got %v, want %v", test.why, err, test.err)
			}
			if test.err == nil {
				if err := d.Use(t.Context(), a.Ticket, r); !errors.Is(err, ErrTaken) {
					t.Errorf("%s, a second time: got %v, want ErrTaken", test.why, err)
				}
			}
		})
	}
}

// A yes is good for a while, for its own desk, and never without a ticket.
func TestYesesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d, other Desk
		r := write("/a")
		a := d.Ask(t.Context(), r, []Channel{yes(time.Second)}, Options{Timeout: time.Minute})
		if err := other.Use(t.Context(), a.Ticket, r); !errors.Is(err, ErrTaken) {
			t.Errorf("after a restart: %v", err)
		}
		if err := d.Use(t.Context(), nil, r); !errors.Is(err, ErrChanged) {
			t.Errorf("without a ticket: %v", err)
		}
		time.Sleep(time.Hour)
		if err := d.Use(t.Context(), a.Ticket, r); !errors.Is(err, ErrTaken) {
			t.Errorf("after an hour: %v", err)
		}
		no := d.Ask(t.Context(), r, []Channel{no(time.Second)}, Options{})
		if no.Ticket != nil {
			t.Errorf("a no comes with a ticket")
		}
	})
}

// What cannot be written down exactly cannot be asked about.
func TestUnboundCallsAreNotAsked(t *testing.T) {
	for _, args := range refusedArgs {
		var d Desk
		asked := 0
		a := d.Ask(t.Context(), &prompt.Request{Name: "s__t", Args: json.RawMessage(args)},
			[]Channel{fake{name: "a", reply: call.Answer{Allowed: true}, asked: &asked}}, Options{Fallback: true})
		if a.Allowed || a.Code != call.CodeNoApprover || asked > 0 {
			t.Errorf("%q: %+v", args, a)
		}
	}
}

// full is a store that has no room left.
type full struct{ Store }

func (full) Answer(context.Context, string, string, bool, string, json.RawMessage) error {
	return errors.New("no space left")
}

// A yes that cannot be kept is none; a no stands all the same.
func TestWhatCannotBeKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := Desk{Store: full{newStore(time.Now)}}
		if a := d.Ask(t.Context(), write("/a"), []Channel{yes(time.Second)}, Options{}); a.Allowed ||
			a.Code != call.CodeNoApprover || a.Ticket != nil {
			t.Errorf("a yes: %+v", a)
		}
		if a := d.Ask(t.Context(), write("/a"), []Channel{no(time.Second)}, Options{}); a.Code != call.CodeDeclined {
			t.Errorf("a no: %+v", a)
		}
		if a := d.Ask(t.Context(), write("/a"), nil, Options{Fallback: true}); a.Allowed {
			t.Errorf("a fallback: %+v", a)
		}
	})
}

// C13, in as far as it is asked: edited arguments are taken from a channel that can show them, if they were asked for
// and are valid; the yes is about them alone.
func TestC13EditedArguments(t *testing.T) {
	denied := errors.New("the path is denied")
	edited := json.RawMessage(`{"path":"/data/b"}`)
	tests := []struct {
		why     string
		edits   bool
		edit    func(json.RawMessage) error
		scope   call.Scope
		allowed bool
	}{
		{"as it should be", true, func(json.RawMessage) error { return nil }, "", true},
		{"an edit into what is denied", true, func(json.RawMessage) error { return denied }, "", false},
		{"nobody asked for one", true, nil, "", false},
		{"over a form", false, func(json.RawMessage) error { return nil }, "", false},
		{"remembered", true, func(json.RawMessage) error { return nil }, call.ForRun, false},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			var d Desk
			r := write("/data/a")
			r.Edit = test.edit
			channel := editing{fake{name: "e", after: time.Second, reply: call.Answer{Allowed: true, Args: edited,
				Scope: test.scope}}, test.edits}
			a := d.Ask(t.Context(), r, []Channel{channel}, Options{})
			if a.Allowed != test.allowed {
				t.Fatalf("%s: %+v", test.why, a)
			}
			if !a.Allowed {
				return
			}
			if err := d.Use(t.Context(), a.Ticket, r); !errors.Is(err, ErrChanged) {
				t.Errorf("with the arguments as they were: %v", err)
			}
			r.Args = a.Args
			if err := d.Use(t.Context(), a.Ticket, r); err != nil {
				t.Errorf("with the edited arguments: %v", err)
			}
		})
	}
}

type editing struct {
	fake
	edits bool
}

func (e editing) Edits() bool { return e.edits }

// An answer may be remembered as the person said, if that was offered.
func TestAnswersThatAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Desk
		says := func(r call.Answer) fake { return fake{name: "a", after: time.Second, reply: r} }
		a := d.Ask(t.Context(), write("/a"),
			[]Channel{says(call.Answer{Allowed: true, Scope: call.ForRun, By: "local:anna"})}, Options{})
		if !a.Allowed || a.Draft == nil || a.Draft.Run != "r1" || a.Draft.By != "local:anna" || a.Draft.Channel != "a" {
			t.Errorf("%+v", a)
		}
		for _, wrong := range []call.Answer{{Allowed: true, Scope: "always"},
			{Allowed: true, Scope: call.ForTime, Length: 9 * time.Hour}} {
			if a := d.Ask(t.Context(), write("/a"), []Channel{says(wrong)}, Options{}); a.Allowed || a.Draft != nil {
				t.Errorf("%+v: %+v", wrong, a)
			}
		}
		if a := d.Ask(t.Context(), write("/a"), []Channel{says(call.Answer{Scope: call.ForRun})}, Options{}); a.Allowed ||
			a.Draft != nil {
			t.Errorf("a no is remembered as a grant: %+v", a)
		}
	})
}

// A person says yes or no to random calls at random moments, and writes down what they said yes to.
type scripted struct {
	name    string
	rng     *rand.Rand
	mu      *sync.Mutex
	yes     map[string]int // what a yes was said to, by what would be executed
	answers *int
}

func (s *scripted) Name() string { return s.name }

func (s *scripted) Edits() bool { return true }

func (s *scripted) Ask(ctx context.Context, r *Showing) (call.Answer, error) {
	if err := s.think(ctx); err != nil {
		return call.Answer{}, err
	}
	return s.answer(r.Request)
}

func (s *scripted) think(ctx context.Context) error {
	s.mu.Lock()
	after, deaf := time.Duration(s.rng.IntN(90))*time.Second, s.rng.IntN(4) == 0
	s.mu.Unlock()
	done := ctx.Done()
	if deaf {
		done = nil
	}
	select {
	case <-time.After(after):
		return nil
	case <-done:
		return context.Cause(ctx)
	}
}

func (s *scripted) answer(r *prompt.Request) (call.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.rng.IntN(10) {
	case 0, 1:
		*s.answers++
		return call.Answer{Reason: "no"}, nil
	case 2:
		return call.Answer{}, prompt.ErrDismissed
	case 3:
		return call.Answer{Allowed: true}, errors.New("a yes with an error is none")
	case 4:
		*s.answers++
		other := json.RawMessage(`{"path":"/edited","content":"x"}`)
		s.yes[execution(r, other)]++
		return call.Answer{Allowed: true, Args: other}, nil
	}
	*s.answers++
	s.yes[execution(r, r.Args)]++
	return call.Answer{Allowed: true}, nil
}

// execution names what happens when r is executed with args.
func execution(r *prompt.Request, args json.RawMessage) string {
	return fmt.Sprint(r.Run, r.Call, r.Tool, r.ServerID, r.Definition, r.Profile, r.ProfileDigest, r.Principal,
		string(args))
}

// together is scripted for several calls at once.
type together struct{ *scripted }

func (g together) AskAll(ctx context.Context, s *Showing) ([]call.Answer, error) {
	calls := s.Calls
	if err := g.think(ctx); err != nil {
		return nil, err
	}
	var all []call.Answer
	for _, r := range calls {
		answer, err := g.answer(r)
		answer.Err = err
		all = append(all, answer)
	}
	return all, nil
}

// G9: 10,000 random schedules of questions that are answered twice, late, by several channels, of answers that are
// swapped, replayed and used after an edit, a restart or a change of the profile: nothing is executed without exactly
// one matching yes, and every answer that did not decide is told of.
func TestG9RandomSchedules(t *testing.T) {
	t.Parallel()
	schedules := 10000
	if testing.Short() {
		schedules = 500
	}
	executed, refused := 0, map[string]int{}
	for seed := range schedules {
		synctest.Test(t, func(t *testing.T) {
			e, r := schedule(t, uint64(seed))
			executed += e
			for why, n := range r {
				refused[why] += n
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d executions, refused: %v", executed, refused)
	for _, why := range []string{"changed", "taken", "no ticket"} {
		if refused[why] == 0 || executed == 0 {
			t.Errorf("%s never happened: the test says nothing", why)
		}
	}
}

func schedule(t *testing.T, seed uint64) (executions int, refused map[string]int) {
	rng := rand.New(rand.NewPCG(seed, 99))
	people := rand.New(rand.NewPCG(seed, 100)) // used under mu
	var mu sync.Mutex
	yes, answers, late := map[string]int{}, 0, 0
	store := newStore(time.Now)
	tell := func(*prompt.Request, call.Answer) { mu.Lock(); late++; mu.Unlock() }
	desk := &Desk{Store: store, Late: tell}
	var calls []*prompt.Request
	for i := range 1 + rng.IntN(4) {
		r := write("/data/" + string(rune('a'+rng.IntN(2)))) // identical ones among them
		r.Call = i + 1
		r.Edit = func(json.RawMessage) error { return nil }
		calls = append(calls, r)
	}
	var channels []Channel
	for i := range rng.IntN(4) {
		s := &scripted{name: fmt.Sprint("c", i), rng: people, mu: &mu, yes: yes, answers: &answers}
		if channels = append(channels, s); rng.IntN(2) == 0 {
			channels[i] = together{s}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if rng.IntN(4) == 0 {
		time.AfterFunc(time.Duration(rng.IntN(60))*time.Second, cancel) // the client goes
	}
	got := desk.AskAll(ctx, calls, channels, Options{Timeout: time.Minute})

	done, refused := map[string]int{}, map[string]int{}
	tried := 0
	for _, a := range got {
		tried += len(a.Tried)
	}
	for range 12 {
		i := rng.IntN(len(calls))
		from := i
		r := *calls[i]
		if got[i].Args != nil {
			r.Args = got[i].Args
		}
		at := desk
		switch rng.IntN(12) {
		case 0: // the answer to another call
			from = rng.IntN(len(calls))
		case 1:
			r.Args = json.RawMessage(`{"path":"/etc/passwd"}`)
		case 2:
			r.Args = calls[i].Args // the edit is left out
		case 3:
			r.ProfileDigest = "sha256:changed"
		case 4:
			r.Definition = "sha256:changed"
		case 5:
			r.Run, r.Principal = "r2", "local:ben"
		case 6: // a restart that forgets
			at = &Desk{Store: newStore(time.Now)}
		case 7: // a restart, or another process, that does not
			at = &Desk{Store: store}
		case 8:
			time.Sleep(time.Duration(rng.IntN(8)) * time.Minute)
		}
		switch err := at.Use(t.Context(), got[from].Ticket, &r); {
		case got[from].Ticket == nil:
			refused["no ticket"]++
			if err == nil {
				t.Errorf("executed without a yes: %+v", got[from])
			}
		case errors.Is(err, ErrChanged):
			refused["changed"]++
		case errors.Is(err, ErrTaken):
			refused["taken"]++
		case err != nil:
			t.Error(err)
		default:
			executions++
			done[execution(&r, r.Args)]++
		}
	}
	if err := desk.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	for what, n := range done {
		if n > 1 || yes[what] == 0 {
			t.Errorf("%s was executed %d times, with %d yes", what, n, yes[what])
		}
	}
	if tried+late < answers {
		t.Errorf("%d answers, and only %d tried and %d late are told of", answers, tried, late)
	}
	return executions, refused
}
