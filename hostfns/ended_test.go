package hostfns

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/codemode-project/codemode/call"
)

// A run that ends while a call is being refused tells of that call what the record says of it.
func TestACallThatIsRefusedAtTheEndOfItsRunIsToldAsItIsRecorded(t *testing.T) {
	for _, test := range []struct {
		name   string
		during string // which step the run ends in
		state  State
		reason string
	}{
		{"before it is decided", "decide", NotStarted, ReasonCanceled},
		{"while the refusal is recorded", "record", Refused, call.CodeDenied},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld()
			at, goesOn := make(chan struct{}), make(chan struct{})
			stop := func(step string) {
				if step == test.during {
					close(at)
					<-goesOn
				}
			}
			w.decide = func(*call.Tool, json.RawMessage) call.Decision { stop("decide"); return call.Decision{} }
			w.record = func(call.Entry) error { stop("record"); return nil }
			r := w.run()
			over := make(chan struct{})
			go func() {
				defer close(over)
				_, _ = r.Call(t.Context(), Invocation{ID: 1, Name: "fs__write", Args: json.RawMessage(`{}`)})
			}()
			<-at
			told := r.End()[0]
			close(goesOn)
			<-over
			if told.State != test.state || told.State == Refused && told.Reason != test.reason {
				t.Errorf("it was told as %s %s", told.State, told.Reason)
			}
			if e := w.entries[0]; e.State != call.Refused || e.Reason != test.reason {
				t.Errorf("it was recorded as %s %s, want %s", e.Kind, e.Reason, test.reason)
			}
		})
	}
}

// Whatever a call goes on for that waited for a person, the run is claimed first: what is kept of it is older from then
// on.
func TestACallThatWaitedGoesOnInARunThatIsClaimed(t *testing.T) {
	for name, said := range map[string]call.Answer{"a person refuses": no, "a person allows": yes,
		"nobody answers": {How: "none", Code: call.CodeTimeout}} {
		w := newWorld()
		w.decide, w.answer = verdict(call.Ask), answer(said)
		claimed := 0
		_, _ = w.run().Call(t.Context(), Invocation{ID: 1, Name: "fs__write", Args: json.RawMessage(`{}`),
			Claim: func(context.Context) error {
				claimed = len(w.log)
				return nil
			}})
		if claimed == 0 || claimed >= len(w.log) {
			t.Errorf("%s: it was claimed after %d of %q", name, claimed, w.log)
		}
	}
	w := newWorld() // the second is refused without an answer: the rules changed while it waited behind the first
	w.answer = answer(yes)
	decisions, claims := map[string]int{}, 0
	var mu sync.Mutex
	w.decide = func(_ *call.Tool, args json.RawMessage) call.Decision {
		mu.Lock()
		defer mu.Unlock()
		if decisions[string(args)]++; string(args) == `{"n":2}` && decisions[string(args)] > 1 {
			return call.Decision{Code: "limit"}
		}
		return call.Decision{Verdict: call.Ask, Digest: "p"}
	}
	r := w.run()
	var both sync.WaitGroup
	for id := 1; id <= 2; id++ {
		both.Go(func() {
			_, _ = r.Call(t.Context(), Invocation{ID: id, Name: "fs__write", Args: fmt.Appendf(nil, `{"n":%d}`, id),
				Claim: func(context.Context) error {
					mu.Lock()
					defer mu.Unlock()
					claims++
					return nil
				}})
		})
	}
	both.Wait()
	if claims != 2 {
		t.Errorf("the run was claimed for %d of 2 calls: %q", claims, w.log)
	}
}
