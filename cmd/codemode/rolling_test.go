//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// Two replicas behind one store are restarted one after the other, again and again, under load, by clients of both
// generations of the protocol. Clients go to the other replica with the same idempotency key when they get no
// answer: because the connection was refused or cut, the server is stopping, or they gave up waiting. No answer is
// lost, and no effect is done twice.
func TestARollingRestartLosesNothingAndDoesNothingTwice(t *testing.T) {
	t.Parallel()
	endToEnd(t)
	if testing.Short() {
		t.Skip("it restarts processes under load")
	}
	file := func(*testing.T) string { return "codemode.db" }
	postgres := func(t *testing.T) string { return pgtest.Start(t).URL("fleet") }
	for _, row := range []struct {
		name        string
		store       func(*testing.T) string
		killed      bool
		usual, long int // restarts
	}{
		{"told to stop, PostgreSQL", postgres, false, 2, 20},
		{"told to stop, a file", file, false, 1, 20},
		{"killed, PostgreSQL", postgres, true, 0, 5},
		{"killed, a file", file, true, 1, 20},
	} {
		t.Run(row.name, func(t *testing.T) {
			restarts := row.usual
			if os.Getenv("CODEMODE_LONG") != "" {
				restarts = row.long
			}
			if restarts == 0 {
				t.Skip("it takes ten seconds until a process is known to be dead: CODEMODE_LONG=1 runs it")
			}
			rollingRestart(t, row.store(t), restarts, row.killed)
		})
	}
}

// What the client of a run is told that died with its process, or that had just ended when its process died.
const (
	diedWithIt  = "the process that the run was in ended before the run did"
	diedAfterIt = "and its process died before the result was stored"
)

// rollingRestart restarts two replicas under load. Of those that are killed the clients are told what their programs
// had done.
func rollingRestart(t *testing.T, store string, restarts int, killed bool) {
	const calls = 4
	clients := 6
	if os.Getenv("CODEMODE_LONG") != "" {
		clients = 24
	}
	up := newEffects(t, 20*time.Millisecond)
	flags := append(up.replicas(t, store), "--grace", "1m")
	var replicas [2]atomic.Pointer[served]
	for i := range replicas {
		replicas[i].Store(serveOverHTTP(t, "127.0.0.1:0", nil, flags...))
	}

	var tasks, answers, told, slow, retries, refused, cuts, broken atomic.Int64
	load, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			sessions := map[*served]string{}
			for i := 0; load.Err() == nil; i++ {
				task := fmt.Sprintf("task-%d-%d", n, i)
				program := fmt.Sprintf(`for (let n = 0; n < %d; n++) await codemode.up__do({task: %[2]q, n});
					return %[2]q`, calls, task)
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
					case killed && got.status == http.StatusOK && got.failed &&
						(strings.Contains(got.text, diedWithIt) || strings.Contains(got.text, diedAfterIt)):
						answers.Add(1)
						told.Add(1)
						if did := up.times(); !fits(got.text, task, did) {
							t.Errorf("%s is told\n%s\nand it did %v", task, got.text, did)
						}
					case got.status == http.StatusOK && got.failed && strings.Contains(got.text, "it could not be recorded"):
						answers.Add(1) // a slow machine, of which the client is told
						slow.Add(1)
						if did := up.times(); !fits(got.text, task, did) {
							t.Errorf("%s is told\n%s\nand it did %v", task, got.text, did)
						}
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
			testwait.Holds(func() bool { return answers.Load() >= before+2*int64(clients) }) // there is load
			old := replicas[i].Load()
			if killed {
				_ = old.cmd.Process.Kill()
				<-old.ended
			} else {
				old.signal()
				old.exits()
			}
			address := strings.TrimSuffix(strings.TrimPrefix(old.url, "http://"), "/mcp")
			replicas[i].Store(serveOverHTTP(t, address, nil, flags...))
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
	if want := int(tasks.Load()) * calls; len(done) != want && !killed && slow.Load() == 0 {
		t.Errorf("%d effects were done, want %d", len(done), want)
	}
	lost := tasks.Load() - answers.Load()
	t.Logf("%d rolling restarts of two replicas in %v: %d requests, %d answers, %d lost (%d say what was done before the "+
		"process died); %d effects, %d done twice; %d sent again: %d were refused as it was stopping, %d found nobody or "+
		"were cut, %d gave up waiting; %d calls were refused because the record was too slow", restarts,
		time.Since(started).Round(time.Second), tasks.Load(), answers.Load(),
		lost, told.Load(), len(done), twice, retries.Load(), refused.Load(), broken.Load(), cuts.Load(), slow.Load())
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

var (
	doneCalls    = regexp.MustCompile(`up__do(?: x(\d+))? done`)
	unknownCalls = regexp.MustCompile(`up__do(?: x(\d+))? unknown`)
)

// fits reports whether a text tells truly how many calls a task made: those that are done, and perhaps those of
// which nobody knows.
func fits(text, task string, did map[string]int) bool {
	count := func(in *regexp.Regexp) (n int) {
		for _, found := range in.FindAllStringSubmatch(text, -1) {
			each, err := strconv.Atoi(found[1])
			if err != nil {
				each = 1
			}
			n += each
		}
		return n
	}
	made := 0
	for what := range did {
		if strings.Contains(what, fmt.Sprintf("%q", task)) {
			made++
		}
	}
	done, unknown := count(doneCalls), count(unknownCalls)
	return done <= made && made <= done+unknown
}
