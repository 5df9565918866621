//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/pgtest"
)

// Two replicas behind one store are restarted one after the other, again and again, under load, by clients of both generations of the
// protocol. Clients go to the other replica with the same idempotency key when they get no answer: because the connection was
// refused or cut, the server is stopping, or they gave up waiting. No answer is lost, and no effect is done twice.
func TestARollingRestartLosesNothingAndDoesNothingTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("it restarts processes under load")
	}
	const clients, calls = 24, 4
	restarts := 2
	if os.Getenv("CODEMODE_LONG") != "" {
		restarts = 20
	}
	up := newEffects(t, 20*time.Millisecond)
	flags := append(up.replicas(t, pgtest.Start(t).URL("fleet")), "--grace", "1m")
	var replicas [2]atomic.Pointer[served]
	for i := range replicas {
		replicas[i].Store(serveOverHTTP(t, "127.0.0.1:0", nil, flags...))
	}

	var tasks, answers, retries, refused, cuts, broken atomic.Int64
	load, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			sessions := map[*served]string{}
			for i := 0; load.Err() == nil; i++ {
				task := fmt.Sprintf("task-%d-%d", n, i)
				program := fmt.Sprintf(`for (let n = 0; n < %d; n++) await codemode.up__do({task: %[2]q, n}); return %[2]q`, calls, task)
				tasks.Add(1)
				for attempt, deadline := random.IntN(2), time.Now().Add(2*time.Minute); ; attempt++ {
					if time.Now().After(deadline) {
						t.Errorf("%s: no answer in two minutes", task)
						break
					}
					s := replicas[attempt%2].Load()
					c := &knocking{t: t, s: s, modern: n%2 == 0, session: sessions[s]}
					ctx, cancel := context.WithCancel(t.Context())
					if random.IntN(4) == 0 { // it gives up, as what stands between may
						time.AfterFunc(time.Duration(random.IntN(150))*time.Millisecond, cancel)
					}
					got := c.eval(ctx, program, task, "")
					gaveUp := ctx.Err() != nil
					cancel()
					sessions[s] = c.session
					switch {
					case got.err != nil && gaveUp:
						cuts.Add(1)
					case got.err != nil:
						broken.Add(1)
						time.Sleep(10 * time.Millisecond) // it is not there, and the other one may be busy with its start
					case got.status == http.StatusServiceUnavailable:
						refused.Add(1)
					case got.status == http.StatusNotFound: // a session of the process before
						delete(sessions, s)
					case got.status == http.StatusOK && !got.failed && strings.HasPrefix(got.text, `"`+task+`"`):
						answers.Add(1)
					default:
						t.Errorf("%s: %+v", task, got)
						return
					}
					if got.err == nil && got.status == http.StatusOK {
						break
					}
					retries.Add(1)
				}
			}
		})
	}
	started := time.Now()
	for range restarts {
		for i := range replicas {
			before := answers.Load()
			for until := time.Now().Add(time.Minute); answers.Load() < before+2*clients && time.Now().Before(until); {
				time.Sleep(10 * time.Millisecond) // until there is load
			}
			old := replicas[i].Load()
			old.signal()
			old.exits()
			replicas[i].Store(serveOverHTTP(t, strings.TrimSuffix(strings.TrimPrefix(old.url, "http://"), "/mcp"), nil, flags...))
		}
	}
	stop()
	all.Wait()

	twice, done := 0, up.times()
	for what, n := range done {
		if n > 1 {
			twice++
			t.Errorf("%s was done %d times", what, n)
		}
	}
	if want := int(tasks.Load()) * calls; len(done) != want {
		t.Errorf("%d effects were done, want %d", len(done), want)
	}
	lost := tasks.Load() - answers.Load()
	t.Logf("%d rolling restarts of two replicas in %v: %d requests, %d answers, %d lost; %d effects, %d done twice; %d sent again: %d were refused as it was stopping, "+
		"%d found nobody or were cut, %d gave up waiting", restarts, time.Since(started).Round(time.Second), tasks.Load(), answers.Load(), lost, len(done), twice,
		retries.Load(), refused.Load(), broken.Load(), cuts.Load())
	if lost != 0 {
		t.Errorf("%d answers were lost", lost)
	}
	if refused.Load()+broken.Load()+cuts.Load() == 0 {
		t.Error("no request was ever sent again, so this shows nothing")
	}
	for i := range replicas {
		replicas[i].Load().end()
	}
}
