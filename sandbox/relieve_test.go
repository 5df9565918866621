package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// A run's goroutine performs a call itself when the program waits for nothing
// else. Whatever the Host does then, the run goes on as if it had not.
func TestARunGoesOnWhileItsGoroutineIsWithTheHost(t *testing.T) {
	e := testEngine(t)
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	hang := func(ctx context.Context, c *Call) (json.RawMessage, error) {
		switch c.Name {
		case "a__hang": // and does not care that the run has ended
			<-stuck
		case "a__timer": // while the run's goroutine is here
			select {
			case <-ctx.Done():
			case <-time.After(4 * reliefAfter):
			}
			return json.RawMessage(`"late"`), nil
		case "a__quits":
			runtime.Goexit()
		case "a__slow":
			time.Sleep(3 * reliefAfter) // a server that takes so long
		}
		return c.Args, nil
	}
	for name, test := range map[string]struct {
		source, want string
		limits       Limits
		kind         Kind
	}{
		"a timer that is due later": {source: "const slow = codemode.a__timer(); return Promise.race([slow, new Promise(done => setTimeout(done, 25, 'timer'))])", want: `"timer"`},
		"a timer that is due soon":  {source: "const slow = codemode.a__timer(); return Promise.race([slow, new Promise(done => setTimeout(done, 1, 'timer'))])", want: `"timer"`},
		"the time of the run": {source: "await codemode.a__echo(1); await codemode.a__hang()",
			limits: Limits{Wall: 60 * time.Millisecond}, kind: TimedOut},
		"a goroutine that quits": {source: "try { await codemode.a__quits() } catch (e) { return [e.message, await codemode.a__echo(2)] }", want: `["the host failed to perform this call",2]`},
		"a slow call":            {source: "return [await codemode.a__slow(1), await codemode.a__slow(2), await codemode.a__echo(3)]", want: `[1,2,3]`},
		"calls that queue":       {source: "return Promise.all([codemode.a__slow(1), codemode.a__echo(2), codemode.a__slow(3)])", limits: Limits{InFlight: 1}, want: `[1,2,3]`},
		"slow and quick ones": {source: "let n = 0; const slow = codemode.a__slow(1); const count = async () => { for (; n < 50; n++) await codemode.a__echo(n) }; return Promise.all([slow, count()]).then(() => n)",
			want: "50"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := e.Run(t.Context(), Program{Source: test.source, Limits: test.limits}, hang)
			var ended *Error
			if errors.As(err, &ended) && ended.Kind == test.kind && test.kind != 0 {
				return
			}
			if err != nil || string(res.Value) != test.want {
				t.Fatalf("got %s, %v, want %s", res.Value, err, test.want)
			}
		})
	}
}

func TestARunThatIsCanceledWhileItsGoroutineIsWithTheHostEnds(t *testing.T) {
	e := testEngine(t)
	stuck := make(chan struct{})
	defer close(stuck)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := e.Run(ctx, Program{Source: "await codemode.a__b(); await codemode.a__b()"},
		func(_ context.Context, c *Call) (json.RawMessage, error) {
			if c.ID == 2 {
				cancel()
				<-stuck
			}
			return nil, nil
		})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestAnAnswerFromElsewhereIsTakenWhileTheRunsGoroutineIsWithTheHost(t *testing.T) {
	e := testEngine(t)
	release, inHost := make(chan struct{}), make(chan struct{})
	r, err := e.Start(t.Context(),
		Program{Source: "const first = codemode.a__later(); await codemode.a__quick(); const second = codemode.a__stuck(); return [await first, await codemode.a__quick(), await second]"},
		func(_ context.Context, c *Call) (json.RawMessage, error) {
			switch c.Name {
			case "a__later":
				return nil, ErrLater
			case "a__stuck":
				close(inHost)
				<-release
			case "a__quick":
				if c.ID == 4 {
					close(release)
				}
			}
			return json.RawMessage("true"), nil
		})
	if err != nil {
		t.Fatal(err)
	}
	<-inHost
	if !r.Settle(1, json.RawMessage("1"), nil) {
		t.Fatal("the answer was not taken")
	}
	if res, err := r.Wait(); err != nil || string(res.Value) != "[1,true,true]" {
		t.Fatalf("got %s, %v", res.Value, err)
	}
}

func TestACallStartsWhileTheProgramComputes(t *testing.T) {
	e := testEngine(t)
	var started atomic.Bool
	_, err := e.Run(t.Context(), Program{Source: "codemode.a__b(); for (;;);",
		Limits: Limits{CPU: 100 * time.Millisecond}}, func(context.Context, *Call) (json.RawMessage, error) {
		started.Store(true)
		return nil, nil
	})
	var ended *Error
	if !errors.As(err, &ended) || ended.Kind != TimedOut || !started.Load() {
		t.Fatalf("%v, started: %v", err, started.Load())
	}
}

func TestACallThatIsNotAwaitedReachesTheHost(t *testing.T) {
	e := testEngine(t)
	reached := make(chan string, 3)
	if _, err := e.Run(t.Context(), Program{Source: "codemode.a__b(); codemode.a__c(); return 1"},
		func(_ context.Context, c *Call) (json.RawMessage, error) {
			reached <- c.Name
			return nil, nil
		}); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{<-reached: true, <-reached: true}
	if !got["a__b"] || !got["a__c"] {
		t.Fatal(got)
	}
}
