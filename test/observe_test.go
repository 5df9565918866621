package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/testwait"
)

// watched are the events of a run in words.
type watched struct {
	mu   sync.Mutex
	seen []string
	run  string
}

func (w *watched) see(e codemode.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen, w.run = append(w.seen, e.String()), e.Run
}

func (w *watched) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// Whoever embeds codemode sees each thing as it happens, in its order, over all guests of a run.
func TestObserveSeesARunInItsOrder(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"],
		"denylist": ["time__convert"]}}}}`)
	w := &watched{}
	people := []approvals.Channel{slowly()}
	r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Observe: w.see, Channels: people, Code: `
		console.log("one");
		await codemode.time__now({});
		try { await codemode.time__convert({}) } catch (e) { console.warn(e.reason) }
		await codemode.search_tools("time");
		try { await codemode.no__tool({}) } catch (e) { console.error("two\nlines") }
		await codemode.filesystem__write_file({path: "x.md", content: "x"});
		console.log("end");
		return 1`})
	must(t, err)
	want := []string{
		"log: one",
		"call 1: time__now", "call 1: time__now done",
		"call 2: time__convert", "call 2: time__convert refused (denied)",
		"warn: denied",
		"call 3: search_tools", "call 3: search_tools done",
		"call 4: no__tool", "call 4: no__tool failed (ToolNotFoundError)",
		"error: two\n    lines",
		"call 5: filesystem__write_file", "call 5: filesystem__write_file waits for a person",
		"the run waits for a person", "the run goes on",
		"call 5: filesystem__write_file done",
		"log: end", "the run ended: finished",
	}
	got := w.all()
	// The answer to the call that waited is what brings the run back, so these two may change places.
	if i := slices.Index(got, "the run goes on"); i > 0 && got[i-1] == "call 5: filesystem__write_file done" {
		got[i-1], got[i] = got[i], got[i-1]
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if w.run != r.Run {
		t.Errorf("the events are of the run %q, want %q", w.run, r.Run)
	}
}

// A call that had no answer when its run ended ends too, and nothing comes after the end of the run.
func TestObserveSeesTheEndOfEveryCall(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {}}}}`)
	w := &watched{}
	_, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Observe: w.see,
		Code: `codemode.time__now({}); codemode.time__now({}); throw new Error("x")`})
	if err == nil {
		t.Fatal("it did not throw")
	}
	got := w.all()
	started, ended := 0, 0
	for i, text := range got {
		switch {
		case text == "the run ended: threw" && i == len(got)-1:
		case strings.HasSuffix(text, "time__now"):
			started++
		case strings.Contains(text, "time__now "):
			ended++
		default:
			t.Errorf("the event %d is %q", i, text)
		}
	}
	if started != 2 || ended > 2 || got[len(got)-1] != "the run ended: threw" {
		t.Errorf("got %q", got)
	}
}

// A slow observer delays a run by a second at most, and is told how much it missed; one that panics ends nothing.
func TestObserversHaveNoPower(t *testing.T) {
	e := open(t, `{"limits": {"consoleBytes": 1000000}, "evaluation": {"profiles": {"p": {}}}}`)
	const lines = 20_000
	var mu sync.Mutex
	var printed, lost int
	var last codemode.EventKind
	over, once := make(chan struct{}), sync.Once{}
	began := time.Now()
	r, err := e.Eval(t.Context(), codemode.Request{Profile: "p",
		Code: fmt.Sprintf(`for (let i = 0; i < %d; i++) console.log(i)`, lines),
		Observe: func(e codemode.Event) {
			once.Do(func() { <-over })
			mu.Lock()
			defer mu.Unlock()
			last = e.Kind
			switch e.Kind {
			case codemode.Printed:
				printed++
			case codemode.EventsLost:
				lost += e.Lost
			}
			panic("an observer")
		}})
	if err != nil || len(r.Console) != lines {
		t.Fatalf("%v, %d lines", err, len(r.Console))
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	close(over)
	eventually(t, "the last event", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return last == codemode.RunEnded
	})
	if printed+lost != lines || lost == 0 {
		t.Errorf("%d lines came and %d are lost, want %d together", printed, lost, lines)
	}
}

// While a run goes on it is listed with its calls, and after its end it is not.
func TestRunsInProgressAreListed(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"]}}}}`)
	done := make(chan error, 1)
	go func() {
		_, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Principal: "anna", Client: "tester",
			Channels: []approvals.Channel{slowly()},
			Code:     `await codemode.time__now({}); await codemode.filesystem__write_file({path: "x.md", content: "x"})`})
		done <- err
	}()
	eventually(t, "the question", func() bool {
		all := e.Runs().UnderWay.Running()
		return len(all) == 1 && len(all[0].Calls()) == 2 && all[0].Calls()[1].State == hostfns.Asking
	})
	x := e.Runs().UnderWay.Running()[0]
	if x.Principal != "anna" || x.Client != "tester" || x.Profile != "p" || x.Began.IsZero() ||
		x.Calls()[0].State != hostfns.Done || x.Calls()[0].Tool != "time__now" {
		t.Errorf("it is listed as %+v", x)
	}
	eventually(t, "parking", func() bool { all := e.Runs().UnderWay.Running(); return len(all) == 0 || all[0].Parked })
	must(t, <-done)
	if all := e.Runs().UnderWay.Running(); len(all) != 0 {
		t.Errorf("after the end there are %+v", all)
	}
}

// Those who list the runs see the latest lines of each, also while it is parked, and after its end while somebody
// watches.
func TestRunsInProgressHaveTheirLatestLines(t *testing.T) {
	e := open(t, `{"limits": {"consoleBytes": 1000000}, "evaluation": {"profiles": {"p": {
		"allowlist": ["time__*"], "asklist": ["filesystem__write_file"]}}}}`,
		func(o *codemode.Options) { o.RecordDir = t.TempDir() })
	changed, stop := e.Runs().UnderWay.Watch()
	defer stop()
	answer := make(chan bool)
	people := approvals.Approver("tester", func(ctx context.Context, _ *prompt.Request) (call.Answer, error) {
		select {
		case <-answer:
			return call.Answer{Allowed: true}, nil
		case <-ctx.Done():
			return call.Answer{}, context.Cause(ctx)
		}
	})
	done := make(chan error, 1)
	go func() {
		_, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Channels: []approvals.Channel{people}, Code: `
			for (let i = 1; i <= 300; i++) console.log("line " + i);
			await codemode.time__now({});
			console.error("x".repeat(100000));
			await codemode.filesystem__write_file({path: "x.md", content: "x"});
			console.log("end")`})
		done <- err
	}()
	texts := func(printed int) (string, *runs.Running) {
		all := e.Runs().UnderWay.Running()
		if len(all) == 0 {
			return "", nil
		}
		x := all[0]
		lines, before := x.Console()
		text, bytes := "", 0
		for _, l := range lines {
			text, bytes = text+l.Level+" "+l.Text+"\n", bytes+len(l.Text)
		}
		if len(lines) > 100 || bytes > 8<<10 || printed > 0 && (len(lines) < 50 || before+len(lines) != printed) {
			t.Errorf("%d lines of %d bytes are kept, after %d others", len(lines), bytes, before)
		}
		return text, &x
	}
	eventually(t, "parking", func() bool {
		select {
		case <-changed:
		case <-t.Context().Done():
		}
		_, x := texts(0)
		return x != nil && x.Parked
	})
	text, parked := texts(301)
	if !strings.Contains(text, "log line 300\n") || !strings.Contains(text, "error xxxxx") {
		t.Errorf("of the parked run there is %.200s", text)
	}
	close(answer)
	must(t, <-done)
	text, ended := texts(302)
	if ended == nil || ended.Run != parked.Run || ended.Outcome != "finished" || ended.Parked ||
		ended.Steps <= parked.Steps || !strings.HasSuffix(text, "log end\n") || len(ended.Calls()) != 2 {
		t.Errorf("of the run that has ended there is %+v\n%.200s", ended, text)
	}
	stop()
}

// What the record would mask is masked: what looks like a secret, and what an argument named one.
func TestLinesOfRunsInProgressHaveNoSecrets(t *testing.T) {
	type in struct{ Password string }
	login := codemode.Func("login", "", func(context.Context, in) (bool, error) { return true, nil })
	servers := []codemode.Server{{Name: "door", Functions: []codemode.Function{login}}}
	e := open(t, `{"evaluation": {"profiles": {"p": {"allowlist": ["*"]}}}}`, func(o *codemode.Options) {
		o.RecordDir, o.Servers = t.TempDir(), servers
	})
	_, stop := e.Runs().UnderWay.Watch()
	defer stop()
	const code = `await codemode.door__login({Password: "h7x2k9-q4m1z8"});
		console.log("plain, h7x2k9-q4m1z8, ghp_0123456789abcdefghijABCDEFGHIJ0123456789, end")`
	if _, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: code}); err != nil {
		t.Fatal(err)
	}
	all := e.Runs().UnderWay.Running()
	if len(all) != 1 {
		t.Fatalf("%d runs are listed", len(all))
	}
	lines, _ := all[0].Console()
	if len(lines) != 1 || lines[0].Text != "plain, [redacted], [redacted], end" {
		t.Errorf("the lines are %q", lines)
	}
	unrecorded := open(t, `{"evaluation": {"profiles": {"p": {"allowlist": ["*"]}}}}`,
		func(o *codemode.Options) { o.Servers = servers })
	_, stop = unrecorded.Runs().UnderWay.Watch()
	defer stop()
	if _, err := unrecorded.Eval(t.Context(), codemode.Request{Profile: "p", Code: code}); err != nil {
		t.Fatal(err)
	}
	if lines, _ := unrecorded.Runs().UnderWay.Running()[0].Console(); len(lines) > 0 {
		t.Errorf("nothing masks the lines %q", lines)
	}
}

// A viewer hears of each change, also one that does not look; and one that has stopped hears of nothing.
func TestViewersHearOfChanges(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {}}}}`)
	changed, stop := e.Runs().UnderWay.Watch()
	_, stopOther := e.Runs().UnderWay.Watch() // it never looks
	defer stopOther()
	run := func() {
		t.Helper()
		_, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: `for (let i = 0; i < 1000; i++) console.log(i)`})
		must(t, err)
	}
	run()
	select {
	case <-changed:
	default:
		t.Error("a viewer hears of nothing")
	}
	stop()
	run()
	if len(changed) > 0 {
		t.Error("a viewer that has stopped still hears")
	}
	for range 40 {
		run()
	}
	if n := len(e.Runs().UnderWay.Running()); n != 32 {
		t.Errorf("%d runs that have ended are listed, want the latest 32", n)
	}
}

// The runs that the store has of another process are listed with that process.
func TestRunsOfOtherProcessesAreListed(t *testing.T) {
	dir := t.TempDir()
	rules := `{"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"]}}}}`
	record := func(o *codemode.Options) { o.RecordDir = dir }
	one, other := open(t, rules, record), open(t, rules, record)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := one.Eval(ctx, codemode.Request{Profile: "p", Principal: "anna", Channels: []approvals.Channel{patient{}},
			Code: `await codemode.filesystem__write_file({path: "x.md", content: "x"})`})
		done <- err
	}()
	defer func() { cancel(); <-done }()
	list := func(e *codemode.Evaluator) []runs.Running {
		all, err := e.Runs().UnderWay.Elsewhere(t.Context())
		must(t, err)
		return all
	}
	eventually(t, "the run in the store", func() bool { return len(list(other)) == 1 })
	x := list(other)[0]
	here := fmt.Sprintf("/%d", os.Getpid())
	if x.Principal != "anna" || x.Profile != "p" || !x.Parked || !strings.HasSuffix(x.Holder, here) || x.Run != one.Runs().UnderWay.Running()[0].Run || x.Calls() != nil {
		t.Errorf("it is listed as %+v", x)
	}
	if all := list(one); len(all) != 0 {
		t.Errorf("the process that has it lists it as one of another: %+v", all)
	}
}

// patient asks nobody, and waits.
type patient struct{}

func (patient) Name() string { return "patient" }
func (patient) Ask(ctx context.Context, _ *approvals.Showing) (call.Answer, error) {
	<-ctx.Done()
	return call.Answer{}, context.Cause(ctx)
}

// BenchmarkObserved is what it costs that a run can be looked at: while nobody does, and with an observer.
func BenchmarkObserved(b *testing.B) {
	e := openBench(b)
	for _, program := range []struct{ name, code string }{
		{"nothing", `return 1`},
		{"200 calls", `for (let i = 0; i < 200; i++) await codemode.time__now({})`},
		{"200 lines", `for (let i = 0; i < 200; i++) console.log("a line about the step", i)`},
		{"200 lines and calls", `for (let i = 0; i < 200; i++) {
			console.log("a line about the step", i);
			await codemode.time__now({})
		}`},
	} {
		for _, see := range []struct {
			name string
			f    func(codemode.Event)
		}{{"nobody", nil}, {"an observer", func(codemode.Event) {}}} {
			b.Run(program.name+"/"+see.name, func(b *testing.B) {
				for b.Loop() {
					r, err := e.Eval(b.Context(), codemode.Request{Unrestricted: true, Code: program.code, Observe: see.f})
					if err != nil {
						b.Fatal(r.Text(err))
					}
				}
			})
		}
	}
}

// told is a server that is told of questions.
type told struct {
	url string

	mu  sync.Mutex
	all []string
}

func newTold(t *testing.T) *told {
	t.Helper()
	to := &told{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		to.mu.Lock()
		defer to.mu.Unlock()
		to.all = append(to.all, string(body))
	}))
	t.Cleanup(server.Close)
	to.url = server.URL
	return to
}

func (to *told) messages() []string {
	to.mu.Lock()
	defer to.mu.Unlock()
	return append([]string(nil), to.all...)
}

// awaitMessage waits for the first message.
func (to *told) awaitMessage(t *testing.T) string {
	t.Helper()
	for range testwait.Polls(longWait) {
		if all := to.messages(); len(all) > 0 {
			return all[0]
		}
	}
	t.Fatal("nobody was told")
	return ""
}

// pageOf is the queue of a page; served says that this process serves it.
func pageOf(served bool) *approvals.Queue {
	q := approvals.NewStrongQueue("web")
	q.Expects = func() bool { return served }
	return q
}

// A question waits for people who are told of it and of a page, also in a process that serves no page. In the order of
// what profiles say of absent people, they are expected as those are who look at a page.
func TestPeopleWhoAreToldAreExpected(t *testing.T) {
	const page = `"page": "https://codemode.example", `
	for _, row := range []struct {
		title, page, destination, profile string
		waits                             bool
		without                           string // what becomes of the call if it does not wait
	}{
		{"nobody is told", "", "", "", false, "no_approver"},
		{"they are told", page, "", "", true, ""},
		{"they are told, and of no page", "", "", "", false, "no_approver"},
		{"others are told", page, `, "profiles": ["q"]`, "", false, "no_approver"},
		{"they are told of more risk", page, `, "risk": "high"`, "", false, "no_approver"},
		{"the profile refuses without people", page, "", `, "ask": {"absent": "refuse"}`, false, "no_approver"},
		{"the profile has an answer of its own", page, "", `, "elicitationFallback": "allow"`, false, "done"},
		{"the page is not among the channels", page, "", `, "ask": {"channels": ["terminal"]}`, false, "no_approver"},
	} {
		t.Run(row.title, func(t *testing.T) {
			to, queue := newTold(t), pageOf(false)
			notifications := fmt.Sprintf(`"notifications": {%s"destinations": {"team": {"slack": %q, "delay": "0s"%s}}}, `, row.page,
				to.url, row.destination)
			if row.title == "nobody is told" {
				notifications = ""
			}
			e := open(t, `{`+notifications+`"evaluation": {"profiles": {"q": {},
				"p": {"asklist": ["filesystem__write_file"]`+row.profile+`}}, "expose": ["p"]}}`,
				func(o *codemode.Options) { o.Channels = []approvals.Channel{queue} })
			var answering sync.WaitGroup
			ctx, stop := context.WithCancel(t.Context())
			answering.Go(func() {
				if !row.waits {
					return
				}
				to.awaitMessage(t)
				answer(ctx, t, queue, "mallory")
			})
			got := value[string](t, e, "p", `return await codemode.filesystem__write_file({path: "c4n4ry.md", content: "c4n4ry"})
				.then(() => "done", e => e.reason)`)
			stop()
			answering.Wait()
			if row.waits && got != "done" || !row.waits && got != row.without {
				t.Errorf("the call is %s", got)
			}
			all := to.messages()
			if row.waits != (len(all) == 1) {
				t.Errorf("%d messages: %q", len(all), all)
			}
			for _, text := range all {
				if !strings.Contains(text, "`filesystem.write_file`, profile `p`") || strings.Contains(text, "c4n4ry") ||
					!strings.Contains(text, "https://codemode.example/ask/q_") {
					t.Errorf("they were told %s", text)
				}
			}
		})
	}
}

// A question is told of once in a fleet, whatever process goes on with its run, and answered where the link leads.
func TestAFleetTellsOfAQuestionOnce(t *testing.T) {
	up, to := newPerformed(t), newTold(t)
	dir := fleetFolder(t, up, `"codemode.db"`)
	path := filepath.Join(dir, "codemode.json")
	text, err := os.ReadFile(path)
	must(t, err)
	var config map[string]any
	must(t, json.Unmarshal(text, &config))
	config["notifications"] = map[string]any{"page": "https://codemode.example",
		"destinations": map[string]any{"team": map[string]any{"slack": to.url, "delay": "0s"}}}
	if text, err = json.Marshal(config); err != nil {
		t.Fatal(err)
	}
	must(t, os.WriteFile(path, text, 0o600))
	pages := []*approvals.Queue{pageOf(false), pageOf(false), pageOf(true)}
	replica := func(i int) *codemode.Evaluator {
		e, _ := newReplica(t, dir, func(o *codemode.Options) { o.Channels = []approvals.Channel{pages[i]} })
		return e
	}
	closing := func(e *codemode.Evaluator) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), longWait)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	first := replica(0)
	var running sync.WaitGroup
	running.Go(func() {
		_, _ = first.Eval(t.Context(), codemode.Request{Unrestricted: true, Code: `return await codemode.up__third({run: 1})`})
	})
	to.awaitMessage(t)
	parked(t, first, 1)
	ctx, cancel := context.WithTimeout(t.Context(), longWait)
	first.Runs().Drain(ctx)
	cancel()
	closing(first)
	running.Wait()
	second, third := replica(1), replica(2)
	defer closing(second)
	defer closing(third)
	answering, stop := context.WithCancel(t.Context())
	var people sync.WaitGroup
	people.Go(func() { answer(answering, t, pages[2], "mallory") })
	up.until(t, "third")
	stop()
	people.Wait()
	if all := to.messages(); len(all) != 1 {
		t.Errorf("%d messages: %q", len(all), all)
	}
}

// A destination that does not answer delays no call, and what is told of is recorded like any other question.
func TestADestinationThatHangsDelaysNoCall(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer server.Close()
	defer close(hang)
	queue := pageOf(true)
	e := open(t, fmt.Sprintf(`{"notifications": {"destinations": {"team": {"slack": %q, "delay": "0s", "seated": true}}},
		"evaluation": {"profiles": {"p": {"asklist": ["filesystem__write_file"]}}, "expose": ["p"]}}`, server.URL),
		func(o *codemode.Options) { o.Channels = []approvals.Channel{queue} })
	ctx, stop := context.WithCancel(t.Context())
	var people sync.WaitGroup
	people.Go(func() { answer(ctx, t, queue, "mallory") })
	start := time.Now()
	for range 5 {
		value[bool](t, e, "p", `await codemode.filesystem__write_file({path: "a.md", content: "x"}); return true`)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("five calls took %v", took)
	}
	stop()
	people.Wait()
	n := 0
	for _, entry := range e.Record().Journal().Entries() {
		if entry.DecidedBy != nil && entry.DecidedBy.How == call.ByPerson && entry.DecidedBy.Channel == "web" {
			n++
		}
	}
	if n < 5 {
		t.Errorf("the record has %d answers", n)
	}
}
