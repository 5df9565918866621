package console

import (
	"encoding/json"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// In the place of a card that a person has answered the page shows what becomes of the call: at once that it is under
// way, and then how it ended, call by call for a batch. It shows the same after a reload, and without a script.
func TestThePageShowsWhatBecameOfACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBrowser(t)
	b.Do("log in", chromedp.Navigate(w.c.Link(anna)))
	b.Until("the page is live", `document.getElementById("link").textContent.startsWith("Live")`)
	ends := func(run string, number int, state, detail, value string) {
		t.Helper()
		e := call.Entry{Kind: audit.Call, State: state, Run: run, Call: number, Principal: anna,
			Tool: "github__create_issue", Detail: detail}
		if value != "" {
			e.Result = &call.EntryResult{Redacted: json.RawMessage(value)}
		}
		if err := w.record.note(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	in := func(run string, n int) func(*prompt.Request) {
		return func(r *prompt.Request) {
			r.Run, r.Call, r.Code = run, n, fmt.Sprintf("%s%d", run[2:3], n)
			r.Args = json.RawMessage(fmt.Sprintf(`{"owner":"acme","repo":"web","title":"Broken link %d"}`, n))
		}
	}
	first := w.ask(aCall(in("r_a", 1)))
	second := w.ask(aCall(in("r_b", 1)))
	b.Until("both are there", `document.querySelectorAll("article.ask").length === 2`)
	b.Settle()
	b.Do("allow the first", chromedp.Click(chromedp.CSS(`article.ask:first-of-type button.yes`)))
	answerOf(t, first)
	b.Until("in its place it says that the call is under way", `document.querySelector("#pending > :first-child.given.open .state").textContent === "under way" &&
		document.querySelectorAll("#pending article.ask").length === 1`)
	ends("r_a", 1, audit.OK, "", `{"number":8,"url":"https://github.test/8"}`)
	b.Until("then what it gave", `document.querySelector("#pending > :first-child.given.good .state").textContent === "done" &&
		document.querySelector("#pending > .given .json").textContent.includes("github.test/8")`)
	b.Until("and who does not see it hears of it",
		`document.getElementById("status").textContent.includes("done github.create_issue")`)
	b.Settle()
	b.Do("allow the second", chromedp.Click(chromedp.CSS(`article.ask button.yes`)))
	answerOf(t, second)
	ends("r_b", 1, audit.Failed, "no such repository", "")
	b.Until("a call that failed says why", `document.querySelector(".given.bad .state").textContent === "failed" &&
		document.querySelector(".given.bad .why").textContent === "no such repository"`)

	three := w.ask(aCall(in("r_c", 1)), aCall(in("r_c", 2)), aCall(in("r_c", 3)))
	b.Until("three are there", `document.querySelectorAll(".row.ask").length === 3`)
	b.Settle()
	b.Do("deny the second", chromedp.Click(chromedp.CSS(`.row.ask:nth-of-type(2) button.no`)))
	b.Until("it says so", `document.querySelectorAll("#pending .given").length === 3 && document.querySelector("#pending .given.plainly .state").textContent === "denied" &&
		document.querySelectorAll(".row.ask").length === 2`)
	b.Settle()
	b.Do("allow the others", chromedp.Click(chromedp.CSS(`.answers.all button.yes`)))
	answerOf(t, three)
	b.Until("both are under way",
		`document.querySelector("#pending .given.open").textContent.includes("2 calls of github.create_issue")`)
	ends("r_c", 1, audit.OK, "", "")
	b.Until("one is done", `document.querySelector("#pending .given.open .state").textContent === "1 done, 1 under way"`)
	ends("r_c", 3, audit.NotSent, "the server is gone", "")
	b.Until("each call says what became of it", `(() => {
		const all = [...document.querySelectorAll("#pending .given.bad li")].map((li) => li.textContent.replace(/\s+/g, " "));
		return all.length === 2 && all[0].startsWith("done call 1") && all[1].startsWith("not sent call 3") && all[1].endsWith("the server is gone");
	})()`)
	b.named()
	b.Accessible("what became of calls")
	b.Shot("answered")
	b.Size(390, 844)
	b.fits("what became of calls, narrow")
	b.Shot("answered-narrow")
	b.Size(1100, 900)

	b.Do("load the page again", chromedp.Reload())
	b.Until("it is all below the list, the newest first", `document.querySelectorAll("#answered .given .state").length >= 4 &&
		[...document.querySelectorAll("#answered .given > p:first-child .state")].map((s) => s.textContent).join() === "1 done, 1 not sent,denied,failed,done"`)
	b.Until("the page is live again", `document.getElementById("link").textContent.startsWith("Live")`)

	// Without a script.
	plain := w.ask(aCall(in("r_d", 1)))
	ends("r_d", 1, audit.OK, "", "")
	v := w.login(anna)
	a := v.pending()[0]
	got := v.form("/answer", "q="+a.ID+" "+a.Digest, "decision=allow once")
	to := strings.TrimPrefix(got.header.Get("Location"), v.path)
	answerOf(t, plain)
	for range 2 {
		if page := v.get(to); !strings.Contains(page.body,
			`<span class="state good">done</span> <span class="summary">github.create_issue`) {
			t.Errorf("without a script the page does not say what became of the call:\n%s", page.body)
		}
		to = "/"
	}
}
