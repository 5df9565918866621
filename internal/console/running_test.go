package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/sandbox"
)

// fakeRuns are runs that a test changes.
type fakeRuns struct {
	mu        sync.Mutex
	runs      []runs.Running
	elsewhere []runs.Running
	broken    error
	viewers   map[chan struct{}]bool
}

func (f *fakeRuns) Running() []runs.Running {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.runs)
}

func (f *fakeRuns) Elsewhere(context.Context) ([]runs.Running, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.elsewhere), f.broken
}

func (f *fakeRuns) Watch() (<-chan struct{}, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed := make(chan struct{}, 1)
	if f.viewers == nil {
		f.viewers = map[chan struct{}]bool{}
	}
	f.viewers[changed] = true
	return changed, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.viewers, changed)
	}
}

// set changes the runs, and tells those who watch.
func (f *fakeRuns) set(runs ...runs.Running) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs = runs
	for v := range f.viewers {
		select {
		case v <- struct{}{}:
		default:
		}
	}
}

func (f *fakeRuns) watched() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.viewers)
}

func line(level, text string) sandbox.Line { return sandbox.Line{Level: level, Text: text} }

// with gives a run calls and lines; the last step of each makes its Steps.
func with(x runs.Running, calls []RunningCall, lines ...sandbox.Line) runs.Running {
	x.Steps += uint64(len(calls) + len(lines))
	x.Calls = func() (all []hostfns.Report) {
		for _, c := range calls {
			all = append(all, hostfns.Report{Call: c.Number, Tool: c.Tool, State: hostfns.State(c.State)})
		}
		return all
	}
	x.Console = func() ([]sandbox.Line, int) { return slices.Clone(lines), 0 }
	return x
}

// worldOf is a world with runs.
func worldOf(t *testing.T, f *fakeRuns) *world {
	return newWorld(t, func(o *Options) {
		o.Runs = f
		o.Sees = func(person string) ([]string, bool) { return nil, person == "root" }
	})
}

// The runs in progress are on the page, with their calls and consoles, for those who may see their principal; texts
// stay texts.
func TestRunsInProgressAreOnThePage(t *testing.T) {
	calls := []RunningCall{
		{Number: 1, Tool: "fs__read", State: "done", Ended: true},
		{Number: 2, Tool: "fs__write", State: "refused", Ended: true},
		{Number: 3, Tool: "fs__move\u202e<script>"},
		{Number: 4, Tool: "pay__create", State: "asking", Asked: true},
	}
	f := &fakeRuns{elsewhere: []runs.Running{
		{Run: "r_there", Principal: "anna", Profile: "careful", Parked: true, Holder: "host/17"},
		{Run: "r_alone", Principal: "anna", Parked: true},
		{Run: "r_goes", Principal: "anna", Holder: "<i>/18"},
		{Run: "r_foreign", Principal: "carl", Holder: "host/19"},
	}}
	now := time.Now()
	f.set(with(runs.Running{Run: "r_acme", Principal: "anna", Client: "<b>cli</b>", Profile: "careful", Began: now}, calls,
		line("log", "plain <script>alert(1)</script>"), line("error", "two\nlines \u202e\x1b[2J"),
		line("warn", "{{.}} &lt; \" ' \x00")),
		with(runs.Running{Run: "r_over", Principal: "anna", Outcome: "threw", Began: time.Now()}, nil),
		with(runs.Running{Run: "r_other", Principal: "carl", Began: time.Now(), Parked: true}, nil, line("log", "of carl")))
	w := worldOf(t, f)
	page := w.login("anna").get("/running").body
	for _, want := range []string{`<a href="`, "r_acme", "careful", "&lt;b&gt;cli", `<span class="state good">done</span>`,
		`<span class="state bad">refused</span>`, `<span class="state open">under way</span>`,
		`<span class="state open">waits for a person</span>`, `aria-current="page">Running`,
		"plain &lt;script&gt;alert(1)&lt;/script&gt;", `<li class="error">`, "two\nlines ",
		`<span class="odd">U&#43;202E</span><span class="odd">U&#43;001B</span>[2J`, "{{.}} &amp;lt;",
		`<span class="odd">U&#43;0000</span>`,
		`<span class="state bad">threw</span>`, "r_there", "in the process host/17", "in no process", "r_goes",
		`<span class="state open">runs</span>`} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing from\n%s", want, page)
		}
	}
	for _, never := range []string{"r_other", "of carl", "r_foreign", "<script>", "<b>", "<i>", "\u202e", "\x1b"} {
		if strings.Contains(page[strings.Index(page, "<main"):], never) {
			t.Errorf("%q is on the page of anna", never)
		}
	}
	if page := w.login("root").get("/running").body; !strings.Contains(page, "r_acme") ||
		!strings.Contains(page, "of carl") || !strings.Contains(page, "r_foreign") {
		t.Errorf("who sees all sees\n%s", page)
	}
	if page := w.login("eve").get("/running").body; !strings.Contains(page, "No program runs") ||
		strings.Contains(page, "r_") {
		t.Errorf("eve sees\n%s", page)
	}
	f.mu.Lock()
	f.elsewhere, f.broken = nil, errors.New("no disk")
	f.mu.Unlock()
	if page := w.login("anna").get("/running").body; !strings.Contains(page, "The store cannot be read") {
		t.Errorf("a store that cannot be read is not mentioned:\n%s", page)
	}
}

// Over REST a person sees the runs that the page shows that person.
func TestRunsInProgressOverREST(t *testing.T) {
	f := &fakeRuns{elsewhere: []runs.Running{{Run: "r_there", Principal: "anna", Parked: true, Holder: "host/17"},
		{Run: "r_foreign", Principal: "carl"}}}
	f.set(with(runs.Running{Run: "r_own", Principal: "anna", Client: "cli", Profile: "careful", Began: time.Unix(1, 0)},
		slices.Repeat([]RunningCall{{Number: 1, Tool: "fs__read", State: "done", Ended: true}}, 60),
		line("log", "<b>")),
		with(runs.Running{Run: "r_other", Principal: "carl", Parked: true}, nil, line("log", "of carl")))
	w := worldOf(t, f)
	for _, row := range []struct{ person, here, there string }{
		{"anna", "r_own", "r_there"}, {"carl", "r_other", "r_foreign"}, {"eve", "", ""},
		{"root", "r_own r_other", "r_there r_foreign"},
	} {
		v := w.login(row.person)
		got, page := v.get("/api/running"), v.get("/running").body
		var list runningList
		got.json(&list)
		var here, there []string
		for _, x := range list.Runs {
			here = append(here, x.Run)
		}
		for _, x := range list.Elsewhere {
			there = append(there, x.Run)
		}
		if strings.Join(here, " ") != row.here || strings.Join(there, " ") != row.there || got.code != http.StatusOK {
			t.Errorf("%s sees %q and elsewhere %q: %d %s", row.person, here, there, got.code, got.body)
		}
		for _, run := range []string{"r_own", "r_other", "r_there", "r_foreign"} {
			if strings.Contains(got.body, run) != strings.Contains(page, run) {
				t.Errorf("%s: the page and the API differ about %s", row.person, run)
			}
		}
		if row.person == "anna" {
			one := list.Runs[0]
			if len(one.Calls) != mostRunningCalls || one.Before != 10 || one.Calls[0].State != "done" ||
				!slices.Equal(one.Lines, []sandbox.Line{line("log", "<b>")}) || one.Client != "cli" || one.Steps == 0 ||
				list.Elsewhere[0].Holder != "host/17" || !list.Elsewhere[0].Parked {
				t.Errorf("anna sees %s", got.body)
			}
		}
	}
	f.mu.Lock()
	f.elsewhere, f.broken = nil, errors.New("no disk")
	f.mu.Unlock()
	if got := w.login("anna").get("/api/running"); !strings.Contains(got.body, `"elsewhere":[],"unread":true`) {
		t.Errorf("a store that cannot be read: %s", got.body)
	}
	if got := newWorld(t).login("anna").get("/api/running"); got.code != http.StatusNotFound {
		t.Errorf("a page without runs: %d %s", got.code, got.body)
	}
}

// A long run, long lines and many runs are cut, and the page says so.
func TestManyRunsAndCallsAreCounted(t *testing.T) {
	f := &fakeRuns{}
	for i := range 120 {
		var calls []RunningCall
		for n := range 300 {
			calls = append(calls, RunningCall{Number: n + 1, Tool: "a__b", State: "done", Ended: true})
		}
		lines := slices.Repeat([]sandbox.Line{line("log", strings.Repeat("é", 2000))}, 8)
		f.runs = append(f.runs, with(runs.Running{Run: fmt.Sprintf("r_%d", i), Principal: "anna", Began: time.Unix(int64(i), 0)},
			calls, lines...))
	}
	page := worldOf(t, f).login("anna").get("/running").body
	for want, n := range map[string]int{"250 earlier calls are not shown": 100, "20 more programs run": 1,
		"<li>300. ": 100, "<li>250. ": 0, "Run r_119": 1, "Run r_19<": 0,
		strings.Repeat("é", 500) + "…": mostConsole / 1003, strings.Repeat("é", 501): 0,
		"earlier lines of the console are not shown": 1, "no room for its console": 100 - mostConsole/1003/8 - 1} {
		if got := strings.Count(page, want); got != n {
			t.Errorf("%.60q is there %d times, want %d", want, got, n)
		}
	}
	if len(page) > 2<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
}

// A browser shows what is new by itself, and leaves alone what is not: a person may have selected a text.
func TestTheRunsOnAPageAreFresh(t *testing.T) {
	t.Parallel()
	f := &fakeRuns{}
	w := worldOf(t, f)
	b := newBrowser(t)
	b.Do("log in", chromedp.Navigate(w.c.Link(anna)))
	b.Until("the page is there", `document.querySelector(".empty") !== null`)
	b.Do("look at the runs", chromedp.Click(chromedp.CSS(`nav a[href$="/running"]`)))
	b.Until("there are none, and the page is live",
		`document.querySelector("#none-run") !== null && document.querySelector("#link").textContent.startsWith("Live")`)
	one := func(calls []RunningCall, lines ...sandbox.Line) runs.Running {
		return with(runs.Running{Run: "r_1", Principal: anna, Began: time.Now()}, calls, lines...)
	}
	under := []RunningCall{{Number: 1, Tool: "a__b"}}
	f.set(one(under))
	b.Until("the run appears", `document.querySelectorAll("#running .state.open").length === 1`)
	hostile := `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`
	began := time.Now()
	f.set(one(under, line("log", hostile), line("error", "a\nb")))
	b.Until("its lines appear",
		`[...document.querySelectorAll("#running .console .line")].map((l) => l.textContent).join("|") === `+fmt.Sprintf("%q", hostile+"|a\nb"))
	t.Logf("the lines appeared after %v", time.Since(began)) // the page looks by itself every five seconds
	still := with(runs.Running{Run: "r_0", Principal: anna, Began: time.Now().Add(time.Second)}, nil,
		line("log", "keep this"))
	f.set(still, one(under, line("log", hostile), line("error", "a\nb")))
	b.Until("another run appears", `document.querySelectorAll("#running section").length === 2`)
	b.Until("a text of it is selected", `(() => { getSelection().selectAllChildren(document.querySelector("#r_0 .line"));
		document.querySelector("#r_1 a").focus(); return String(getSelection()) === "keep this"; })()`)
	f.set(still, one([]RunningCall{{Number: 1, Tool: "a__b", State: "done", Ended: true}}, line("log", hostile),
		line("error", "a\nb"), line("warn", "end")))
	b.Until("the call of the first is done", `document.querySelectorAll("#r_1 .state.good").length === 1`)
	b.Until("the selection and the focus are as they were, and no program wrote the page",
		`String(getSelection()) === "keep this" && document.activeElement.matches("#r_1 a") && document.title !== "taken"`)
	f.set()
	b.Until("the runs are over", `document.querySelector("#running section") === null`)
}

// stream opens the stream of events, and returns their names.
func (v *visitor) stream() <-chan string {
	t := v.w.t
	req, err := http.NewRequestWithContext(t.Context(), "GET", v.w.origin+v.path+"/api/events", nil)
	checktest.OK(t, err)
	req.Header.Set("Cookie", v.cookie)
	res, err := http.DefaultClient.Do(req)
	checktest.OK(t, err)
	t.Cleanup(func() { res.Body.Close() })
	events := make(chan string, 1000)
	go func() {
		defer close(events)
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				events <- name
			}
		}
	}()
	return events
}

// A stream says that the runs have changed, a few times a second at most, and only those that its person sees.
func TestAStreamTellsOfTheRunsThatAPersonSees(t *testing.T) {
	f := &fakeRuns{}
	w := worldOf(t, f)
	streams := map[string]<-chan string{}
	next := func(person string, want bool) {
		t.Helper()
		for end := time.After(map[bool]time.Duration{true: 20 * time.Second, false: 3 * liveEvery}[want]); ; {
			select {
			case name := <-streams[person]:
				if name != "running" {
					continue
				}
				if !want {
					t.Errorf("%s is told", person)
				}
				return
			case <-end:
				if want {
					t.Errorf("%s is not told", person)
				}
				return
			}
		}
	}
	for _, person := range []string{"anna", "root"} {
		streams[person] = w.login(person).stream()
		next(person, true) // the page may be older than its stream
	}
	x := runs.Running{Run: "r_1", Principal: "carl"}
	f.set(x)
	next("root", true)
	next("anna", false)
	f.set(x) // nothing that a page shows has changed
	next("root", false)
	began := time.Now()
	for x.Steps < 50_000 {
		x.Steps++
		f.set(x)
	}
	took := time.Since(began)
	w.until("root has heard the rest", func() bool {
		time.Sleep(2 * liveEvery) // of the pause between two events
		return len(streams["root"]) > 0
	})
	if n := len(streams["root"]); n > int(took/liveEvery)+5 {
		t.Errorf("%d events came in %v", n, took)
	}
}

// A browser that reads nothing delays nobody who tells of runs, and its stream ends.
func TestASlowBrowserDelaysNoRun(t *testing.T) {
	f := &fakeRuns{}
	w := worldOf(t, f)
	v := w.login(anna)
	u, err := url.Parse(w.origin)
	checktest.OK(t, err)
	c, err := net.Dial("tcp", u.Host)
	checktest.OK(t, err)
	fmt.Fprintf(c, "GET %s/api/events HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\n\r\n", v.path, u.Host, v.cookie)
	w.until("its stream watches", func() bool { return f.watched() == 1 })
	began := time.Now()
	x := runs.Running{Run: "r_1", Principal: anna}
	for x.Steps < 100_000 {
		x.Steps++
		f.set(x)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("telling 100,000 times took %v", took)
	}
	c.Close()
	w.until("the stream of a browser that has gone watches no more", func() bool { return f.watched() == 0 })
}

func TestWithoutRunsThereIsNoSuchPage(t *testing.T) {
	w := newWorld(t)
	anna := w.login("anna")
	if got := anna.get("/running"); got.code != http.StatusNotFound || strings.Contains(anna.get("/").body, "/running") {
		t.Errorf("got %d", got.code)
	}
}
