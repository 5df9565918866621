//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/console"
	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
)

// Two replicas behind one store are restarted one after the other, again and again, under load, by clients of both
// generations of the protocol. Clients go to the other replica with the same idempotency key when they get no
// answer: because the connection was refused or cut, the server is stopping, or they gave up waiting; and with the
// requestState that they were given, where the protocol has one. A third of them has programs that wait for a person
// at each restart, who answers at whichever replica is up. No answer is lost, and no effect is done twice.
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
		usual, long int // restarts of one of them
	}{
		{"told to stop, PostgreSQL", postgres, false, 2, 40},
		{"told to stop, a file", file, false, 2, 40},
		{"killed, PostgreSQL", postgres, true, 1, 10}, // it takes ten seconds until a process is known to be dead
		{"killed, a file", file, true, 1, 40},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := &rolling{t: t, store: row.store(t), killed: row.killed, clients: 6}
			restarts := row.usual
			if os.Getenv("CODEMODE_LONG") != "" {
				restarts, r.clients = row.long, 24
			}
			r.run(restarts)
		})
	}
}

// What the client of a run is told that died with its process, or that had just ended when its process died.
const (
	diedWithIt  = "the process that the run was in ended before the run did"
	diedAfterIt = "and its process died before the result was stored"
)

const (
	rollingToken, answeringToken = "the-token-of-ci--", "the-token-with-which-anna-answers"
	callsOfEach                  = 4
)

// A rolling has two replicas that are restarted under load.
type rolling struct {
	t       *testing.T
	store   string
	killed  bool
	clients int

	up       *effects
	replicas [2]atomic.Pointer[served]
	db       *store.DB // to look at what waits

	tasks, answers, told, slow, resumed    atomic.Int64
	retries, refused, cuts, broken, handed atomic.Int64

	phase     atomic.Int64 // of the load: 0 until all is warm, 1 without restarts, 2 with them
	next      atomic.Int64 // the replica that is restarted next: what waits for a person begins there
	answering sync.RWMutex // held by who lets the person answer nothing
	mu        sync.Mutex
	stored    map[string]bool    // tasks that waited in the store when a process ended: they end well
	took      [3][]time.Duration // of programs that do not ask, by phase
}

func (r *rolling) run(restarts int) {
	t := r.t
	r.up, r.stored = newEffects(t, 20*time.Millisecond), map[string]bool{}
	state := t.TempDir()
	config := fmt.Sprintf(`{"mcpServers": {"up": {"type": "http", "url": %q}}, "store": %q,
		"console": {"people": {"anna": {"answersFor": ["*"]}}},
		"http": {"tokens": [{"token": %q, "principal": "ci"}, {"token": %q, "principal": "anna", "answers": true}]},
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["up__do"], "asklist": ["up__ask"],
			"ask": {"timeout": "10m"}}}}}`, r.up.url, r.store, "${ROLLING}", "${ANSWERING}")
	path := write(t, filepath.Join(state, "codemode.json"), config)
	flags := []string{"--config", path, "--state", state, "--grace", "1m"}
	environment := []string{"ROLLING=" + rollingToken, "ANSWERING=" + answeringToken}
	for i := range r.replicas {
		r.replicas[i].Store(serveOverHTTP(t, "127.0.0.1:0", environment, flags...))
	}
	load, stop := context.WithCancel(t.Context())
	defer stop()
	var clients, person sync.WaitGroup
	for n := range r.clients {
		clients.Go(func() { r.client(load, n) })
	}
	people, leave := context.WithCancel(t.Context())
	defer leave()
	person.Go(func() { r.person(people) })

	r.more(2 * r.clients) // all is warm
	o := store.Options{ReadOnly: true, URL: r.store}
	if !strings.Contains(r.store, "://") {
		o = store.Options{ReadOnly: true, Path: filepath.Join(state, r.store)}
	}
	var err error
	if r.db, err = store.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	defer r.db.Close()
	r.phase.Store(1)
	r.more(20 * r.clients)
	r.phase.Store(2)
	started := time.Now()
	for n := range restarts {
		i := n % len(r.replicas)
		r.more(2 * r.clients) // there is load
		old := r.replicas[i].Load()
		r.end(old)
		address := strings.TrimSuffix(strings.TrimPrefix(old.url, "http://"), "/mcp")
		r.replicas[i].Store(serveOverHTTP(t, address, environment, flags...))
		r.next.Store(int64(1 - i))
	}
	r.more(2 * r.clients)
	took := time.Since(started)
	stop()
	clients.Wait()
	leave()
	person.Wait()
	r.report(restarts, took)
	for i := range r.replicas {
		r.replicas[i].Load().end()
	}
}

// more waits until so many more programs have ended.
func (r *rolling) more(n int) {
	before := r.answers.Load()
	testwait.Until(r.t, "there is load", func() bool { return r.answers.Load() >= before+int64(n) })
}

// asks says whether a client's programs wait for a person. Of both generations some do.
func asks(n int) bool { return n%3 == 2 }

// end ends a process while programs wait in the store. The person answers from then on, also while it is away.
func (r *rolling) end(old *served) {
	r.answering.Lock()
	defer r.answering.Unlock()
	r.waiting()
	if !r.killed {
		old.signal()
		defer old.exits() // when the programs that do not wait have ended
		return
	}
	_ = old.cmd.Process.Kill()
	<-old.ended
}

// waiting waits until all programs wait that do, and notes which are in the store.
func (r *rolling) waiting() {
	want := 0
	for n := range r.clients {
		if asks(n) {
			want++
		}
	}
	testwait.Until(r.t, "all programs that ask wait in the store", func() bool {
		runs, err := r.db.Runs.Stored(r.t.Context(), 1000)
		if err != nil {
			r.t.Fatal(err)
		}
		parked := map[string]bool{}
		for _, p := range runs {
			parked[p.Run] = p.Phase < store.Going
		}
		tasks := map[string]bool{}
		for _, a := range r.pending() {
			if task := taskIn.FindString(a.Text + a.Summary); parked[a.Run] && task != "" {
				tasks[task] = true
			}
		}
		if len(tasks) != want {
			return false
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for task := range tasks {
			r.stored[task] = true
		}
		return true
	})
}

var taskIn = regexp.MustCompile(`task-\d+-\d+`)

// pending is what the first replica shows that answers.
func (r *rolling) pending() (all []console.Asked) {
	for i := range r.replicas {
		var got struct{ Pending []console.Asked }
		if r.page(i, http.MethodGet, "/api/pending", nil, &got) == http.StatusOK {
			return got.Pending
		}
	}
	return nil
}

// page sends a request to the page of a replica; 0 is that it did not answer.
func (r *rolling) page(i int, method, path string, body, to any) (status int) {
	js, err := json.Marshal(body)
	if err != nil {
		r.t.Error(err)
		return 0
	}
	base := strings.TrimSuffix(r.replicas[i].Load().url, "/mcp") + "/console"
	req, err := http.NewRequestWithContext(r.t.Context(), method, base+path, bytes.NewReader(js))
	if err != nil {
		r.t.Error(err)
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+answeringToken)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	if json.NewDecoder(res.Body).Decode(to) != nil {
		return 0
	}
	return res.StatusCode
}

// person allows every question, at a replica that is up. What was not taken is open still, and comes again.
func (r *rolling) person(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		r.answering.RLock()
		for _, a := range r.pending() {
			var got console.Result
			r.page(n%len(r.replicas), http.MethodPost, "/api/answer", console.Answered{ID: a.ID, Digest: a.Digest,
				Decision: "allow", Code: a.Code, Whole: true}, &got)
		}
		r.answering.RUnlock()
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond): // a person is slower
		}
	}
}

// client has one program after the other run, until load ends.
func (r *rolling) client(load context.Context, n int) {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	sessions := map[*served]string{}
	for i := 0; load.Err() == nil && !r.t.Failed(); i++ {
		task := fmt.Sprintf("task-%d-%d", n, i)
		tool := "do"
		if asks(n) {
			tool = "ask"
		}
		program := fmt.Sprintf(`for (let n = 0; n < %d; n++) await codemode["up__" + (n == 1 ? %q : "do")]({task: %q, n});
			return %[3]q`, callsOfEach, tool, task)
		r.tasks.Add(1)
		began := time.Now()
		first := random.IntN(len(r.replicas))
		if asks(n) {
			first = int(r.next.Load())
		}
		if r.task(random, sessions, first, n%2 == 0, task, program) && !asks(n) {
			r.mu.Lock()
			at := r.phase.Load()
			r.took[at] = append(r.took[at], time.Since(began))
			r.mu.Unlock()
		}
	}
}

// task sends one program until it has its answer, to one replica first.
func (r *rolling) task(random *rand.Rand, sessions map[*served]string, first int, modern bool,
	task, program string) bool {
	state := ""
	for attempt, deadline := first, time.Now().Add(2*time.Minute); time.Now().Before(deadline); attempt++ {
		s := r.replicas[attempt%2].Load()
		c := &knocking{t: r.t, s: s, modern: modern, session: sessions[s], token: rollingToken}
		ctx, cancel := context.WithCancel(r.t.Context())
		if random.IntN(4) == 0 { // it gives up, as what stands between may
			time.AfterFunc(time.Duration(random.IntN(150))*time.Millisecond, cancel)
		}
		got := c.eval(ctx, program, task, state)
		gaveUp := ctx.Err() != nil
		cancel()
		sessions[s] = c.session
		switch {
		case got.err != nil && gaveUp:
			r.cuts.Add(1)
		case got.err != nil:
			r.broken.Add(1)
			time.Sleep(10 * time.Millisecond) // it is not there, and the other one may be busy with its start
		case got.status == http.StatusServiceUnavailable:
			r.refused.Add(1)
		case got.status == http.StatusNotFound: // a session of the process before
			delete(sessions, s)
		case got.status == http.StatusOK && got.state != "" && got.text == "":
			state = got.state
			r.handed.Add(1)
		case got.failed && strings.Contains(got.text, "waits for a person, and this process stops"):
			r.handed.Add(1)
		case got.status == http.StatusOK:
			return r.answered(task, got)
		default:
			r.t.Errorf("%s: %+v", task, got)
			return false
		}
		r.retries.Add(1)
	}
	r.t.Errorf("%s: no answer in two minutes", task)
	return false
}

// answered checks the answer of a program.
func (r *rolling) answered(task string, got said) bool {
	r.mu.Lock()
	stored := r.stored[task]
	r.mu.Unlock()
	died := r.killed && (strings.Contains(got.text, diedWithIt) || strings.Contains(got.text, diedAfterIt))
	slow := strings.Contains(got.text, "it could not be recorded") // a slow machine, of which the client is told
	switch {
	case !got.failed && strings.HasPrefix(got.text, `"`+task+`"`):
		if stored {
			r.resumed.Add(1)
		}
	case got.failed && died && !stored:
		r.told.Add(1)
	case got.failed && slow:
		r.slow.Add(1)
	default:
		r.t.Errorf("%s (it waited in the store: %v): %+v", task, stored, got)
		return false
	}
	if did := r.up.times(); got.failed && !fits(got.text, task, did) {
		r.t.Errorf("%s is told\n%s\nand it did %v", task, got.text, did)
	}
	r.answers.Add(1)
	return true
}

// report checks what was done, and says how it went.
func (r *rolling) report(restarts int, took time.Duration) {
	t, twice, done := r.t, 0, r.up.times()
	for what, n := range done {
		if n > 1 {
			twice++
			t.Errorf("%s was done %d times", what, n)
		}
	}
	if want := int(r.tasks.Load()) * callsOfEach; len(done) != want && !r.killed && r.slow.Load() == 0 {
		t.Errorf("%d effects were done, want %d", len(done), want)
	}
	lost := r.tasks.Load() - r.answers.Load()
	t.Logf("%d restarts of two replicas in %v: %d requests, %d answers, %d lost (%d say what was done before the "+
		"process died); %d effects, %d done twice; %d runs waited in the store at a restart and ended well; %d sent again: "+
		"%d were refused as it was stopping, %d found nobody or were cut, %d gave up waiting, %d were told that their "+
		"program waits; %d calls were refused because the record was too slow", restarts, took.Round(time.Second),
		r.tasks.Load(), r.answers.Load(), lost, r.told.Load(), len(done), twice, r.resumed.Load(), r.retries.Load(),
		r.refused.Load(), r.broken.Load(), r.cuts.Load(), r.handed.Load(), r.slow.Load())
	for i, when := range []string{"without restarts", "with them"} {
		all := r.took[i+1]
		slices.Sort(all)
		if len(all) > 0 {
			t.Logf("a program that does not ask took %v (p50), %v (p99) %s, of %d", all[len(all)/2].Round(time.Millisecond),
				all[len(all)*99/100].Round(time.Millisecond), when, len(all))
		}
	}
	if lost != 0 {
		t.Errorf("%d answers were lost", lost)
	}
	if r.refused.Load()+r.broken.Load()+r.cuts.Load() == 0 {
		t.Error("no request was ever sent again, so this shows nothing")
	}
	if want := len(r.stored); r.slow.Load() == 0 && (want == 0 || int(r.resumed.Load()) != want) {
		t.Errorf("%d runs waited in the store at a restart and ended well, want %d", r.resumed.Load(), want)
	}
}

var (
	doneCalls    = regexp.MustCompile(`up__(?:do|ask)(?: x(\d+))? done`)
	unknownCalls = regexp.MustCompile(`up__(?:do|ask)(?: x(\d+))? unknown`)
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
