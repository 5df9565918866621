package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/sandbox"
)

// watchedEngine tells of what an Evaluator does with runs of other processes.
type watchedEngine struct {
	*sandbox.Engine
	resumed atomic.Int64
	hash    func()                      // called before Hash, if set
	fails   func(context.Context) error // called before Resume, if set
}

func (w *watchedEngine) Hash() string {
	if w.hash != nil {
		w.hash()
	}
	return w.Engine.Hash()
}

func (w *watchedEngine) Resume(ctx context.Context, image []byte, p sandbox.Program,
	h sandbox.Host) (*sandbox.Run, error) {
	w.resumed.Add(1)
	if w.fails != nil {
		if err := w.fails(ctx); err != nil {
			return nil, err
		}
	}
	return w.Engine.Resume(ctx, image, p, h)
}

// leaves has runs wait in e until its process is told to stop, and returns them.
func leaves(t *testing.T, e *codemode.Evaluator, runs int) map[string]string {
	t.Helper()
	var over sync.WaitGroup
	for i := range runs {
		over.Go(func() {
			_, err := e.Eval(t.Context(), codemode.Request{Code: fleetProgram, Input: json.RawMessage(fmt.Sprint(i)),
				Principal: fmt.Sprint("local:", i)})
			if !errors.Is(err, approvals.ErrLeaving) {
				t.Errorf("its client is told %v, want that it goes on elsewhere", err)
			}
		})
	}
	all := parked(t, e, runs)
	e.Runs().Drain(t.Context())
	over.Wait()
	return all
}

// withEngine gives evaluators one engine, as processes that are started anew have one key.
func withEngine(t *testing.T) (*watchedEngine, func(*codemode.Options)) {
	t.Helper()
	engine, err := scheduleEngine()
	must(t, err)
	w := &watchedEngine{Engine: engine}
	return w, func(o *codemode.Options) { o.Engine = w }
}

// A process that was told to stop does not go on with the runs that it has just left to others.
func TestAProcessThatStopsTakesUpNoRuns(t *testing.T) {
	const runs = 8
	up := newPerformed(t)
	dir := fleetFolder(t, up, `"codemode.db"`)
	watched, first := withEngine(t)
	stops, q := newReplica(t, dir, first)
	defer stops.Close(context.WithoutCancel(t.Context()))
	all := leaves(t, stops, runs)
	before := watched.resumed.Load()
	ctx, stop := context.WithCancel(t.Context())
	var answering sync.WaitGroup
	answering.Go(func() { answer(ctx, t, q, "") }) // at its page, which is open yet
	defer answering.Wait()
	defer stop()
	db, err := stops.Record().DB(t.Context())
	must(t, err)
	eventually(t, "the answers", func() bool {
		asked, err := db.Approvals.Pending(t.Context(), "")
		return err == nil && len(asked) == 0
	})
	_, other := withEngine(t)
	next, _ := newReplica(t, dir, other)
	defer next.Close(context.WithoutCancel(t.Context()))
	for principal, run := range all {
		if got := ended(t, next, run); got.Failed || !strings.Contains(got.Text, "1 2 3 4") {
			t.Errorf("the run of %s ended so:\n%s", principal, got.Text)
		}
	}
	if n := watched.resumed.Load() - before; n > 0 {
		t.Errorf("it took up %d runs after it was told to stop", n)
	}
}

// A process that is told to stop while it takes up a run leaves it to another, which goes on with it.
func TestARunSurvivesAProcessThatStopsWhileItTakesItUp(t *testing.T) {
	up := newPerformed(t)
	dir := fleetFolder(t, up, `"codemode.db"`)
	_, first := withEngine(t)
	began, _ := newReplica(t, dir, first)
	all := leaves(t, began, 1)
	must(t, began.Close(t.Context()))
	answers, q := newReplica(t, dir, first, func(o *codemode.Options) { o.GoOn = false })
	defer answers.Close(context.WithoutCancel(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	var answering sync.WaitGroup
	answering.Go(func() { answer(ctx, t, q, "") })
	defer answering.Wait()
	defer stop()

	watched, second := withEngine(t)
	takes, goesOn := make(chan struct{}), make(chan struct{})
	watched.hash = sync.OnceFunc(func() { close(takes); <-goesOn })
	stops, _ := newReplica(t, dir, second)
	<-takes
	stops.Runs().Drain(t.Context())
	closed := make(chan error, 1)
	go func() { closed <- stops.Close(context.WithoutCancel(t.Context())) }()
	eventually(t, "the process stops", func() bool {
		_, err := stops.Eval(t.Context(), codemode.Request{Code: "1"})
		return errors.Is(err, codemode.ErrClosed)
	})
	close(goesOn)
	must(t, <-closed)

	_, third := withEngine(t)
	next, _ := newReplica(t, dir, third)
	defer next.Close(context.WithoutCancel(t.Context()))
	if got := ended(t, next, all["local:0"]); got.Failed || !strings.Contains(got.Text, "1 2 3 4") {
		t.Errorf("it ended so:\n%s", got.Text)
	}
	if got := endsOf(t, next, all["local:0"]); len(got) != 1 {
		t.Errorf("by the record it ended so: %v", got)
	}
}

// endsOf is what the record says of the end of a run.
func endsOf(t *testing.T, e *codemode.Evaluator, run string) (ends []string) {
	t.Helper()
	db, err := e.Record().DB(t.Context())
	must(t, err)
	must(t, audit.Entries(t.Context(), db, store.Query{Run: run, Kinds: []string{audit.Run}},
		func(entry *audit.Entry) error {
			if !slices.Contains([]string{audit.Running, audit.Parked, "resumed"}, entry.State) {
				ends = append(ends, entry.State+": "+entry.Detail)
			}
			return nil
		}))
	return ends
}

// What a run did in a process that died is told as the record has it, though what was kept of the run is older.
func TestWhatARunDidBeforeItsProcessDiedIsTold(t *testing.T) {
	t.Run("it had not ended", func(t *testing.T) { tellsWhatItDid(t, false) })
	t.Run("its end was recorded, and its result not kept", func(t *testing.T) { tellsWhatItDid(t, true) })
}

func tellsWhatItDid(t *testing.T, wasRecorded bool) {
	up := newEffects(t)
	dir := fleetFolder(t, &performed{url: up.url}, `"codemode.db"`)
	_, with := withEngine(t)
	first, _ := newReplica(t, dir, with)
	over := make(chan error, 1)
	go func() {
		_, err := first.Eval(t.Context(), codemode.Request{Principal: "local:0", EveryCall: true, Code: `
			await Promise.all([codemode.up__second({n: 1, how: "ok"}), codemode.up__second({n: 2, how: "hold"})]);`})
		over <- err
	}()
	run := parked(t, first, 1)["local:0"]
	first.Runs().Drain(t.Context())
	if err := <-over; !errors.Is(err, approvals.ErrLeaving) {
		t.Fatal(err)
	}
	must(t, first.Close(t.Context()))

	dies, q := newReplica(t, dir, with)
	ctx, stop := context.WithCancel(t.Context())
	var answering sync.WaitGroup
	answering.Go(func() { answer(ctx, t, q, "") })
	db, err := dies.Record().DB(t.Context())
	must(t, err)
	eventually(t, "one call is done, and the other under way", func() bool {
		states := map[string]bool{}
		must(t, audit.Entries(t.Context(), db, store.Query{Run: run, Kinds: []string{audit.Call}},
			func(e *audit.Entry) error {
				states[fmt.Sprint(e.Call, e.State)] = true
				return nil
			}))
		return states["1ok"] && states["2running"]
	})
	recorded := ""
	if wasRecorded { // as its process writes it, right before it keeps the result
		recorded = "it was done with"
		must(t, dies.Record().Write(t.Context(), call.Entry{Kind: audit.Run, Run: run, State: audit.Failed,
			Reason: "threw", Detail: recorded}))
	}
	if err := db.Close(); err != nil { // from now on it is as if its process were gone
		t.Fatal(err)
	}
	stop()
	answering.Wait()
	defer dies.Close(context.WithoutCancel(t.Context()))
	defer close(up.hold)

	next, _ := newReplica(t, dir, with)
	defer next.Close(context.WithoutCancel(t.Context()))
	got := ended(t, next, run)
	for _, want := range []string{"calls: 2 (1 done, 1 unknown)", "1. up__second done", "2. up__second unknown",
		recorded} {
		if !got.Failed || !strings.Contains(got.Text, want) {
			t.Errorf("it is told so, without %q:\n%s", want, got.Text)
		}
	}
	if got := endsOf(t, next, run); len(got) != 1 {
		t.Errorf("by the record it ended so: %v", got)
	}
}

// The calls that still wait when a run ends for want of its process are not made, which the record says, and with it
// the page. One of them may wait for the question about the other.
func TestCallsThatWaitAreClosedWithTheirRun(t *testing.T) {
	for _, batch := range []string{"true", "false"} {
		t.Run("batch "+batch, func(t *testing.T) { callsThatWaitAreClosed(t, `"ask": {"batch": `+batch+`}`) })
	}
}

func callsThatWaitAreClosed(t *testing.T, ask string) {
	up := newPerformed(t)
	dir := t.TempDir()
	config := fmt.Sprintf(`{"mcpServers": {"up": {"type": "http", "url": %q}}, "store": "codemode.db", "evaluation": {"defaultProfile": "p",
		"profiles": {"p": {"allowlist": ["up__first"], "asklist": ["up__second", "up__third"], %s}}}}`, up.url, ask)
	must(t, os.WriteFile(filepath.Join(dir, "codemode.json"), []byte(config), 0o600))
	_, with := withEngine(t)
	first, _ := newReplica(t, dir, with)
	run := leaves(t, first, 1)["local:0"]
	db, err := first.Record().DB(t.Context())
	must(t, err)
	if err := db.Approvals.WithdrawRun(t.Context(), run); err != nil { // as if nobody had answered in time
		t.Fatal(err)
	}
	must(t, first.Close(t.Context()))
	next, _ := newReplica(t, dir, with)
	defer next.Close(context.WithoutCancel(t.Context()))
	got := ended(t, next, run)
	last := lastOf(t, next, run)
	if !strings.Contains(got.Text, "2 not started") || last[2] != "refused canceled" || last[3] != "refused canceled" {
		t.Errorf("the record says %v, and its client is told\n%s", last, got.Text)
	}
}

// The same holds for a run that another process has taken over and cannot go on with.
func TestCallsAreClosedWithARunThatCannotGoOn(t *testing.T) {
	for _, stops := range []bool{false, true} {
		up := newPerformed(t)
		dir := fleetFolder(t, up, `"codemode.db"`)
		watched, with := withEngine(t)
		first, _ := newReplica(t, dir, with)
		run := leaves(t, first, 1)["local:0"]
		must(t, first.Close(t.Context()))
		answers, q := newReplica(t, dir, with, func(o *codemode.Options) { o.GoOn = false })
		defer answers.Close(context.WithoutCancel(t.Context()))
		answersCall(t, q, 2, call.Answer{Allowed: true})
		takes := make(chan struct{})
		watched.fails = func(ctx context.Context) error {
			close(takes)
			if stops {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return errors.New("the image is of no use")
		}
		next, _ := newReplica(t, dir, with)
		<-takes
		if stops {
			must(t, next.Close(t.Context()))
		} else {
			defer next.Close(context.WithoutCancel(t.Context()))
		}
		if got := ended(t, answers, run); !got.Failed || !strings.Contains(got.Text, "2 not started") {
			t.Errorf("the process stops: %v; its client is told\n%s", stops, got.Text)
		}
		eventually(t, "the record says of both calls that they are not made", func() bool {
			last := lastOf(t, answers, run)
			return last[2] == "refused canceled" && last[3] == "refused canceled"
		})
	}
}

// says answers the question about a call, once it is put.
func answersCall(t *testing.T, q *approvals.Queue, call int, reply call.Answer) {
	t.Helper()
	seat := q.Sit("local:anna")
	defer seat.Leave()
	eventually(t, fmt.Sprintf("call %d to be asked about", call), func() bool {
		for _, o := range seat.Pending() {
			if o.Request.Call == call {
				return seat.Answer(o.Request.ID, o.Request.Digest, o.Request.Code, reply) == nil
			}
		}
		return false
	})
}

// lastOf is what the record says of each call of a run at last.
func lastOf(t *testing.T, e *codemode.Evaluator, run string) map[int]string {
	t.Helper()
	db, err := e.Record().DB(t.Context())
	must(t, err)
	last := map[int]string{}
	must(t, audit.Entries(t.Context(), db, store.Query{Run: run, Kinds: []string{audit.Call}},
		func(e *audit.Entry) error {
			last[e.Call] = e.State + " " + e.Reason
			return nil
		}))
	return last
}

// What somebody answered while no process had the run, and the rules changed: a no stands, and a yes does not count for
// what it was not said to, which the record says.
func TestAnswersWhileNobodyHasTheRunAndTheRulesChange(t *testing.T) {
	for _, test := range []struct {
		name, lists string
		refuses     bool
		want        string
		late        int
	}{
		{"no, and another reason to ask",
			`"allowlist": ["up__first"], "asklist": [{"tool": "up__*", "reason": "another one"}]`, true,
			"not for you", 0},
		{"no, and it is allowed now", `"allowlist": ["up__*"]`, true, "not for you", 0},
		{"yes, and another reason to ask",
			`"allowlist": ["up__first"], "asklist": [{"tool": "up__*", "reason": "another one"}]`, false, "1 2 3 4", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			up := newPerformed(t)
			dir := fleetFolder(t, up, `"codemode.db"`)
			_, with := withEngine(t)
			first, _ := newReplica(t, dir, with)
			run := leaves(t, first, 1)["local:0"]
			must(t, first.Close(t.Context()))
			people := func(q *approvals.Queue, refuse string) (stop func()) {
				ctx, cancel := context.WithCancel(t.Context())
				var answering sync.WaitGroup
				answering.Go(func() { answer(ctx, t, q, refuse) })
				return func() { cancel(); answering.Wait() }
			}
			refuse := "nobody"
			if test.refuses {
				refuse = "local:0"
			}
			answers, q := newReplica(t, dir, with, func(o *codemode.Options) { o.GoOn = false })
			stop := people(q, refuse)
			db, err := answers.Record().DB(t.Context())
			must(t, err)
			eventually(t, "the answers", func() bool {
				asked, err := db.Approvals.Pending(t.Context(), "")
				return err == nil && len(asked) == 0
			})
			stop()
			must(t, answers.Close(t.Context()))
			config := fmt.Sprintf(`{"mcpServers": {"up": {"type": "http", "url": %q}}, "store": "codemode.db",
				"evaluation": {"defaultProfile": "p", "profiles": {"p": {%s}}}}`, up.url, test.lists)
			must(t, os.WriteFile(filepath.Join(dir, "codemode.json"), []byte(config), 0o600))
			next, q := newReplica(t, dir, with)
			defer next.Close(context.WithoutCancel(t.Context()))
			defer people(q, "nobody")() // they allow all that they are asked now
			got := ended(t, next, run)
			if !strings.Contains(got.Text, test.want) || test.refuses && len(up.times()) != 1 {
				t.Errorf("the upstream did %v, and the client was told\n%s", up.times(), got.Text)
			}
			if db, err = next.Record().DB(t.Context()); err != nil {
				t.Fatal(err)
			}
			late := 0
			if err := audit.Entries(t.Context(), db, store.Query{Run: run, Kinds: []string{audit.Approval}},
				func(e *audit.Entry) error {
					if e.State == call.Late {
						late++
					}
					return nil
				}); err != nil || late != test.late {
				t.Errorf("%d answers are recorded as too late (%v), want %d", late, err, test.late)
			}
		})
	}
}

// A person has allowed all calls of a tool for the run, and then refuses one that waits, where nobody has the run: it
// is refused when the run goes on, whatever was granted.
func TestANoCountsMoreThanAGrant(t *testing.T) {
	up := newPerformed(t)
	dir := t.TempDir()
	config := fmt.Sprintf(`{"mcpServers": {"up": {"type": "http", "url": %q}}, "store": "codemode.db",
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["up__first"],
			"asklist": ["up__second", "up__third"], "remember": {"scopes": ["run"]}}}}}`, up.url)
	must(t, os.WriteFile(filepath.Join(dir, "codemode.json"), []byte(config), 0o600))
	_, with := withEngine(t)
	first, q := newReplica(t, dir, with)
	ended1 := make(chan error, 1)
	go func() {
		_, err := first.Eval(t.Context(), codemode.Request{Code: fleetProgram, Input: json.RawMessage("0"),
			Principal: "local:0"})
		ended1 <- err
	}()
	answersCall(t, q, 2, call.Answer{Allowed: true, Scope: call.ForRun})
	up.until(t, "second")
	run := parked(t, first, 1)["local:0"]
	first.Runs().Drain(t.Context())
	if err := <-ended1; !errors.Is(err, approvals.ErrLeaving) {
		t.Errorf("its client is told %v, want that it goes on elsewhere", err)
	}
	must(t, first.Close(t.Context()))
	answers, q := newReplica(t, dir, with, func(o *codemode.Options) { o.GoOn = false })
	answersCall(t, q, 3, call.Answer{Reason: "not this one"})
	must(t, answers.Close(t.Context()))
	next, _ := newReplica(t, dir, with)
	defer next.Close(context.WithoutCancel(t.Context()))
	got, seconds := ended(t, next, run), 0
	for what, n := range up.times() {
		if strings.HasPrefix(what, "second ") {
			seconds += n
		}
	}
	if !strings.Contains(got.Text, "not this one") || seconds != 1 {
		t.Errorf("the upstream did %v, and the client was told\n%s", up.times(), got.Text)
	}
}

// What a run waited for whose process died, and that nobody can go on with, is over: nobody is asked any more, and the
// record says so.
func TestQuestionsEndWithARunThatIsLost(t *testing.T) {
	up := newEffects(t)
	dir := fleetFolder(t, &performed{url: up.url}, `"codemode.db"`)
	_, with := withEngine(t)
	dies, _ := newReplica(t, dir, with)
	// The second call keeps the run from being parked.
	go dies.Eval(t.Context(), codemode.Request{Principal: "local:0", Code: `
		await Promise.all([codemode.up__second({n: 1}), codemode.up__first({n: 2, how: "hold"})]);`})
	db, err := dies.Record().DB(t.Context())
	must(t, err)
	run := ""
	eventually(t, "the question", func() bool {
		asked, err := db.Approvals.Pending(t.Context(), "")
		if err == nil && len(asked) == 1 {
			run = asked[0].Run
		}
		states := map[string]bool{}
		must(t, audit.Entries(t.Context(), db, store.Query{Run: run, Kinds: []string{audit.Call}},
			func(e *audit.Entry) error {
				states[e.State] = true
				return nil
			}))
		return run != "" && states[audit.Pending] && states[audit.Running]
	})
	if err := db.Close(); err != nil { // from now on it is as if its process were gone
		t.Fatal(err)
	}
	close(up.hold)
	_ = dies.Close(context.WithoutCancel(t.Context())) // of course it complains
	next, _ := newReplica(t, dir, with)
	defer next.Close(context.WithoutCancel(t.Context()))
	if db, err = next.Record().DB(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the question", func() bool {
		asked, err := db.Approvals.Pending(t.Context(), "")
		last := ""
		if err == nil {
			err = audit.Entries(t.Context(), db, store.Query{Run: run, Kinds: []string{audit.Call}},
				func(e *audit.Entry) error {
					if e.Call == 1 {
						last = e.State + " " + e.Reason
					}
					return nil
				})
		}
		return err == nil && len(asked) == 0 && last == "refused canceled"
	})
}

// A run whose end is recorded does not go on, though its process died before it dropped what was kept.
func TestARunThatHasEndedDoesNotGoOn(t *testing.T) {
	up := newPerformed(t)
	dir := fleetFolder(t, up, `"codemode.db"`)
	_, with := withEngine(t)
	first, q := newReplica(t, dir, with)
	run := leaves(t, first, 1)["local:0"]
	must(t, first.Record().Write(t.Context(), call.Entry{Kind: audit.Run, Run: run, State: audit.Failed,
		Reason: "canceled", Detail: "its client left"}))
	ctx, stop := context.WithCancel(t.Context())
	var answering sync.WaitGroup
	answering.Go(func() { answer(ctx, t, q, "") })
	db, err := first.Record().DB(t.Context())
	must(t, err)
	eventually(t, "the answers", func() bool {
		asked, err := db.Approvals.Pending(t.Context(), "")
		return err == nil && len(asked) == 0
	})
	stop()
	answering.Wait()
	must(t, first.Close(t.Context()))
	next, _ := newReplica(t, dir, with)
	defer next.Close(context.WithoutCancel(t.Context()))
	got := ended(t, next, run)
	if did := up.times(); len(did) != 1 || !strings.Contains(got.Text, "its client left") || len(endsOf(t, next,
		run)) != 1 {
		t.Errorf("the upstream did %v, the record has %v, and the client was told\n%s", did, endsOf(t, next, run), got.Text)
	}
}

// A server that forgets its session costs no approval: the person is asked once, and the call is executed once. What an
// HTTP error says reaches the program.
func TestAForgottenSessionSpendsNoApproval(t *testing.T) {
	t.Parallel()
	var opened, executed atomic.Int32
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if json.Unmarshal(body, &m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `{}`
		switch {
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", opened.Add(1)))
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
		case m.Method == "tools/list":
			result = `{"tools":[{"name":"send"},{"name":"busy"}]}`
		case m.Params.Name == "busy":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, "one a minute")
			return
		case r.Header.Get("Mcp-Session-Id") == "s1":
			w.WriteHeader(http.StatusNotFound)
			return
		case m.Params.Name == "send":
			executed.Add(1)
			result = `{"content":[{"type":"text","text":"sent"}]}`
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	defer ts.Close()
	cfg, err := config.Parse("rules.json", []byte(fmt.Sprintf(`{"mcpServers": {"mail": {"url": %q}},
		"evaluation": {"profiles": {"p": {"asklist": ["mail__*"]}}}}`, ts.URL)))
	must(t, err)
	e, err := codemode.New(t.Context(), codemode.Options{Config: cfg, CacheDir: cachetest.Dir()})
	must(t, err)
	defer e.Close(context.Background())
	var asked atomic.Int32
	person := approvals.Approver("chat", func(context.Context, *prompt.Request) (call.Answer, error) {
		asked.Add(1)
		return call.Answer{Allowed: true}, nil
	})
	r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Channels: []approvals.Channel{person},
		Code: `return await codemode.mail__send({})`})
	if err != nil || string(r.Value) != `"sent"` || asked.Load() != 1 || executed.Load() != 1 || opened.Load() != 2 ||
		len(r.Calls) != 1 || r.Calls[0].State != "done" {
		t.Errorf("%v: %s\nasked %d times, executed %d times, %d sessions", err, r.Text(err), asked.Load(), executed.Load(),
			opened.Load())
	}
	r, err = e.Eval(t.Context(), codemode.Request{Profile: "p", Channels: []approvals.Channel{person}, Code: `
		return await codemode.mail__busy({}).catch(e => [e.name, e.outcome, e.retryAfter, e.detail, e.message.includes("log in")])`})
	if want := `["UpstreamError","not_sent",7,"one a minute",false]`; err != nil || string(r.Value) != want {
		t.Errorf("got %s, %v, want %s", r.Value, err, want)
	}
	if text := r.Text(err); !strings.Contains(text, "HTTP 429 Too Many Requests: one a minute; it says to try again in 7s") {
		t.Errorf("the reply: %s", text)
	}
}
