package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/call"
)

var connectedYes = call.Answer{Allowed: true, How: call.ByPerson, Channel: "login", By: "anna"}

// An accountWorld has tools of the server fs that need an account.
type accountWorld struct {
	*world
	*form
	there atomic.Bool // the account
	asked []string    // for accounts
}

// newAccountWorld answers each question for an account as come says, after a minute.
func newAccountWorld(come func(w *accountWorld) call.Answer) *accountWorld {
	w := &accountWorld{world: newWorld(), form: &form{answer: func(*Question) call.Answer { return yes }}}
	for _, name := range []string{"fs__read", "fs__write"} {
		w.tools[name].Ready = func(context.Context) error {
			if w.there.Load() {
				return nil
			}
			return &SendError{Message: "there is no login", Login: true, Page: "https://page/accounts"}
		}
	}
	w.connect = func(ctx context.Context, q *Question) call.Answer {
		w.form.mu.Lock()
		w.asked = append(w.asked, fmt.Sprintf("%d %s %s %t", q.Call, q.Tool.Server, q.Page, q.Connected(ctx)))
		w.form.mu.Unlock()
		select {
		case <-time.After(time.Minute):
			return come(w)
		case <-ctx.Done():
			return call.Answer{How: call.ByNobody, Code: call.CodeCanceled}
		}
	}
	return w
}

func (w *accountWorld) run(change ...func(*RunInfo)) *Run { return w.world.ask(w.form, change...) }

// questions lists those for accounts so far.
func (w *accountWorld) questions() []string {
	w.form.mu.Lock()
	defer w.form.mu.Unlock()
	return slices.Clone(w.asked)
}

func arrives(w *accountWorld) call.Answer { w.there.Store(true); return connectedYes }

// Calls of one moment that need the same account are one question; other calls do not wait. Afterwards the calls that
// people have to be asked about are one round.
func TestOneQuestionForAnAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAccountWorld(arrives)
		w.decide = func(tool *call.Tool, args json.RawMessage) call.Decision {
			if n := strings.IndexByte("123", args[len(args)-2]); w.there.Load() && n > 0 {
				time.Sleep(time.Duration(n) * 100 * time.Millisecond) // each is decided at its own time
			}
			return verdict(call.Ask)(tool, args)
		}
		r := w.run()
		var other sync.WaitGroup
		other.Go(func() {
			w.tools["pay__send"].Trusted = true
			if _, err := r.Call(t.Context(), Invocation{ID: 9, Name: "pay__send", Args: json.RawMessage(`{}`)}); err != nil {
				t.Error(err)
			}
			if len(w.questions()) != 1 || w.there.Load() {
				t.Errorf("a call that needs no account waited for one: %v", w.questions())
			}
		})
		start := time.Now()
		got := together(t.Context(), r, func() (int, bool) { return 4, true }, `{"a":1}`, `{"a":2}`, `{"a":3}`)
		other.Wait()
		if !slices.Equal(got, []string{"ok", "ok", "ok"}) || w.sent() != 4 {
			t.Errorf("got %v, sent %d", got, w.sent())
		}
		if len(w.questions()) != 1 || !strings.HasSuffix(w.questions()[0], "fs https://page/accounts false") {
			t.Errorf("asked %q", w.questions())
		}
		if len(w.rounds) != 2 || len(w.rounds[1]) != 3 {
			t.Errorf("the rounds are %v, want one of the three calls", w.rounds)
		}
		if took := time.Since(start); took > 70*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// A login is no yes, and a yes is no login: after the question all is decided anew.
func TestAfterAnAccountAllIsDecidedAnew(t *testing.T) {
	for name, row := range map[string]struct {
		come  func(w *accountWorld) call.Answer
		want  string // reason
		again string // of the same call afterwards
	}{
		"a yes without a login": {func(*accountWorld) call.Answer { return connectedYes }, reasonLogin, reasonLogin},
		"refused": {func(*accountWorld) call.Answer { return call.Answer{How: call.ByPerson, Code: call.CodeDeclined} },
			reasonDeclined, reasonDeclined},
		"refused, and then there is a login": {func(w *accountWorld) call.Answer {
			w.there.Store(true)
			return call.Answer{How: call.ByPerson, Code: call.CodeDeclined}
		}, reasonDeclined, ""},
		"nobody came": {func(*accountWorld) call.Answer { return call.Answer{How: call.ByNobody, Code: call.CodeTimeout} },
			reasonLogin, reasonLogin},
		"the profile denies it by now": {func(w *accountWorld) call.Answer {
			w.decide = verdict(call.Deny)
			return arrives(w)
		}, call.CodeDenied, call.CodeDenied},
		"the tool is another one": {func(w *accountWorld) call.Answer {
			other := *w.tools["fs__write"]
			other.Digest = "d2"
			w.world.mu.Lock()
			w.tools["fs__write"] = &other
			w.world.mu.Unlock()
			return arrives(w)
		}, reasonPolicy, ""},
		"asking crashes": {func(*accountWorld) call.Answer { panic("crash") }, reasonLogin, reasonLogin},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newAccountWorld(row.come)
				w.decide = verdict(call.Allow)
				r := w.run()
				for i, want := range []string{row.want, row.again} {
					_, err := r.Call(t.Context(), Invocation{ID: i + 1, Name: "fs__write", Args: json.RawMessage(`{}`)})
					x, _ := errors.AsType[*Exception](err)
					if want == "" && err != nil || want != "" && (x == nil || x.Props["reason"] != want) {
						t.Errorf("call %d: %v, want %q", i+1, err, want)
					}
					if i == 0 && w.sent() > 0 {
						t.Errorf("it was sent: %v", w.log)
					}
				}
				if len(w.questions()) != 1 && name != "a yes without a login" {
					t.Errorf("asked %q", w.questions())
				}
			})
		})
	}
}

// The end of the call that asks decides nothing about the others. A call that another process may make is not made.
func TestWhoWaitsForAnAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAccountWorld(arrives)
		r := w.run()
		first, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := r.Call(first, Invocation{ID: 1, Name: "fs__write", Args: json.RawMessage(`{"a":1}`)}); err == nil {
				t.Error("a canceled call was made")
			}
		})
		synctest.Wait()
		all.Go(func() {
			in := Invocation{ID: 2, Name: "fs__write", Args: json.RawMessage(`{"a":2}`)}
			if _, err := r.Call(t.Context(), in); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		cancel()
		all.Wait()
		if len(w.questions()) != 2 || w.sent() != 1 {
			t.Errorf("asked %q, sent %d", w.questions(), w.sent())
		}
		w.there.Store(false)
		var waits, goesOn int
		_, err := r.Call(t.Context(), Invocation{ID: 3, Name: "fs__write", Args: json.RawMessage(`{"a":3}`),
			Asking: func() func() { waits++; return func() { goesOn++ } },
			Claim:  func(context.Context) error { return errors.New("the store is away") }})
		if x, ok := errors.AsType[*Exception](err); !ok || x.Props["reason"] != ReasonCanceled || w.sent() != 1 {
			t.Errorf("without a claim: %v, sent %d", err, w.sent())
		}
		if waits != 1 || goesOn != 1 {
			t.Errorf("it began to wait %d times and went on %d times", waits, goesOn)
		}
	})
}

// A run is saved while its calls wait for an account, and continues in another process, where the question is the same.
func TestSavedWhileAnAccountIsAwaited(t *testing.T) {
	for _, connecting := range []bool{true, false} { // false: an answer to the question was used, and the process died
		t.Run(fmt.Sprint(connecting), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newAccountWorld(arrives)
				r := w.run()
				ctx, cancel := context.WithCancel(t.Context())
				go together(ctx, r, nil, `{"a":1}`, `{"a":2}`)
				time.Sleep(time.Second)
				state, err := r.Save()
				if err != nil {
					t.Fatal(err)
				}
				calls, err := Waiting(state)
				if err != nil || len(calls) != 2 {
					t.Fatalf("calls %v wait, %v", calls, err)
				}
				number := 0
				fmt.Sscan(w.questions()[0], &number)
				cancel()
				synctest.Wait()

				w.there.Store(!connecting)
				resumed, err := NewGate(Deps{Tools: w.world, Recorder: w.world, Sender: w.world}).Restore(
					RunInfo{ID: "r1", Policy: w.world, Prompter: w.form}, state)
				if err != nil {
					t.Fatal(err)
				}
				var all sync.WaitGroup
				for _, id := range []int{3 - number, number} { // the one that asked before comes last
					all.Go(func() {
						if _, err := resumed.Resume(t.Context(), Invocation{ID: id,
							Connecting: connecting && id == number}); err != nil {
							t.Error(err)
						}
					})
					synctest.Wait()
				}
				all.Wait()
				if w.sent() != 2 {
					t.Errorf("%d calls were sent: %v", w.sent(), w.log)
				}
				want := []string{w.questions()[0]}
				if connecting {
					want = append(want, w.questions()[0]) // under the same number
				}
				if !slices.Equal(w.questions(), want) {
					t.Errorf("asked %q, want %q", w.questions(), want)
				}
			})
		})
	}
}
