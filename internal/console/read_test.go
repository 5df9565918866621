package console

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/codemode-project/codemode/approvals/prompt"
)

// On the page a call of high risk cannot be allowed before its whole text was on the screen, neither in the list nor
// by itself.
func TestAHighRiskIsReadToItsEndOnThePage(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"list", "itself"} {
		w := newWorld(t)
		b := newBrowser(t)
		b.Size(390, 700)
		b.Do("log in", chromedp.Navigate(w.c.Link(anna)))
		b.Until("the page is there", `document.querySelector(".empty") !== null`)
		script := strings.Repeat("make all; ", 200) + "rm -rf /end"
		answers := w.ask(aCall(func(r *prompt.Request) {
			r.Risk, r.Args = "high", json.RawMessage(`{"script":"`+script+`"}`)
		}))
		if b.Until("the question arrives", `document.querySelectorAll("article.ask").length === 1`); where == "itself" {
			b.Do("open it", chromedp.Click(chromedp.CSS(`article.ask .more a`)),
				chromedp.WaitVisible(chromedp.CSS("article.whole")))
		}
		b.Settle()
		const allow = `(() => {
			const form = document.querySelector("article.ask form.allow");
			form.querySelector("input.code").value = "7f3a";
			form.querySelector("button.yes").click();
			return true;
		})()`
		b.Until("press allow", allow)
		b.Until("it says why not", `document.getElementById("status").textContent.includes("has to be seen whole")`)
		if w.waiting() != 1 {
			t.Fatalf("%s: it is allowed with its end unseen", where)
		}
		const end = `[...document.querySelectorAll("article.ask .read")].findLast((t) => t.offsetParent).getBoundingClientRect().bottom`
		b.Until("jump to the end", `(() => { scrollTo(0, 1e6); return true; })()`)
		b.Settle()
		b.Until("press allow", allow)
		b.Settle()
		if w.waiting() != 1 {
			t.Fatalf("%s: it is allowed with its middle unseen", where)
		}
		for range 20 {
			b.Settle()
			b.Until("read on", `(() => { scrollBy(0, 500); return true; })()`)
			b.Settle()
			done, err := chromedp.Run(b.Ctx, chromedp.Evaluate[bool](end+` <= innerHeight`))
			if err != nil {
				t.Fatal(err)
			}
			if done {
				break
			}
		}
		b.Until("press allow", allow)
		if a := answerOf(t, answers)[0]; !a.Allowed {
			t.Errorf("%s: got %+v", where, a)
		}
	}
}
