package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// The runs in progress are on the page, with their calls, for those who may see their principal; texts stay texts.
func TestRunsInProgressAreOnThePage(t *testing.T) {
	runs := []Running{
		{Run: "r_acme", Principal: "anna", Client: "<b>cli</b>", Profile: "careful", Began: time.Now(), Calls: []RunningCall{
			{Number: 1, Tool: "fs__read", State: "done", Ended: true},
			{Number: 2, Tool: "fs__write", State: "refused", Ended: true},
			{Number: 3, Tool: "fs__move\u202e<script>"},
			{Number: 4, Tool: "pay__create", State: "asking", Asked: true},
		}},
		{Run: "r_other", Principal: "carl", Began: time.Now(), Parked: true},
	}
	w := newWorld(t, func(o *Options) {
		o.Running = func() []Running { return append([]Running(nil), runs...) }
		o.Sees = func(person string) ([]string, bool) { return nil, person == "root" }
	})
	page := w.login("anna").get("/running").body
	for _, want := range []string{`<a href="`, "r_acme", "careful", "&lt;b&gt;cli", `<span class="state good">done</span>`,
		`<span class="state bad">refused</span>`, `<span class="state open">under way</span>`,
		`<span class="state open">waits for a person</span>`, `aria-current="page">Running`} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing from\n%s", want, page)
		}
	}
	for _, never := range []string{"r_other", "<script>", "<b>", "\u202e"} {
		if strings.Contains(page[strings.Index(page, "<main"):], never) {
			t.Errorf("%q is on the page of anna", never)
		}
	}
	if page := w.login("root").get("/running").body; !strings.Contains(page, "r_acme") ||
		!strings.Contains(page, "r_other") {
		t.Errorf("who sees all sees\n%s", page)
	}
	if page := w.login("eve").get("/running").body; !strings.Contains(page, "No program runs") {
		t.Errorf("eve sees\n%s", page)
	}
}

// A long run, and many runs, are cut, and the page says so.
func TestManyRunsAndCallsAreCounted(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.Running = func() (all []Running) {
			for i := range 120 {
				x := Running{Run: fmt.Sprintf("r_%d", i), Principal: "anna", Began: time.Unix(int64(i), 0)}
				for n := range 300 {
					x.Calls = append(x.Calls, RunningCall{Number: n + 1, Tool: "a__b", State: "done", Ended: true})
				}
				all = append(all, x)
			}
			return all
		}
	})
	page := w.login("anna").get("/running").body
	for want, n := range map[string]int{"250 earlier calls are not shown": 100, "20 more programs run": 1,
		"<li>300. ": 100, "<li>250. ": 0, "Run r_119": 1, "Run r_19<": 0} {
		if got := strings.Count(page, want); got != n {
			t.Errorf("%q is there %d times, want %d", want, got, n)
		}
	}
}

// A browser shows what is new by itself.
func TestTheRunsOnAPageAreFresh(t *testing.T) {
	t.Parallel()
	var runs atomic.Pointer[[]Running]
	runs.Store(&[]Running{})
	w := newWorld(t, func(o *Options) { o.Running = func() []Running { return slices.Clone(*runs.Load()) } })
	b := newBrowser(t)
	b.do("log in", chromedp.Navigate(w.c.Link(anna)))
	b.until("the page is there", `document.querySelector(".empty") !== null`)
	b.do("look at the runs", chromedp.Click(chromedp.CSS(`nav a[href$="/running"]`)))
	b.until("there are none", `document.querySelector("#running .hint") !== null`)
	runs.Store(&[]Running{{Run: "r_1", Principal: anna, Began: time.Now(),
		Calls: []RunningCall{{Number: 1, Tool: "a__b"}}}})
	b.until("the run appears", `document.querySelectorAll("#running .state.open").length === 1`)
	runs.Store(&[]Running{{Run: "r_1", Principal: anna, Began: time.Now(),
		Calls: []RunningCall{{Number: 1, Tool: "a__b", State: "done", Ended: true}}}})
	b.until("its call is done", `document.querySelectorAll("#running .state.good").length === 1`)
	runs.Store(&[]Running{})
	b.until("the run is over", `document.querySelector("#running section") === null`)
}

func TestWithoutRunsThereIsNoSuchPage(t *testing.T) {
	w := newWorld(t)
	anna := w.login("anna")
	if got := anna.get("/running"); got.code != http.StatusNotFound || strings.Contains(anna.get("/").body, "/running") {
		t.Errorf("got %d", got.code)
	}
}
