package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/codemode-project/codemode/internal/browsertest"
)

// A person whose browser runs no script looks at the rules, asks what would happen to a call, changes a rule in
// the text of its file, sees what that changes, and saves it with a code.
func TestTheRulesInABrowserWithoutScript(t *testing.T) {
	t.Parallel()
	w, d := withBook(t)
	b := newBrowser(t)
	b.Scripts(false)
	b.Do("log in", browsertest.Visit(w.origin+"/"), chromedp.WaitVisible(chromedp.CSS("#secret")),
		chromedp.SendKeys(chromedp.CSS("#secret"), w.c.Link(anna)), chromedp.Click(chromedp.CSS("form.login button")),
		chromedp.WaitVisible(chromedp.CSS(".who")))
	b.Do("the rules", chromedp.Click(chromedp.CSS(`nav a[href$="/rules"]`)), chromedp.WaitVisible(chromedp.CSS("#profiles")))
	b.named()
	b.fits("the list")
	b.Shot("rules-list")
	b.Do("the profile", chromedp.Click(chromedp.CSS(`a[href$="/rules/profile/work"]`)), chromedp.WaitVisible(chromedp.CSS("#what-if")))
	b.named()
	b.fits("the table")
	b.Until("the order of the rules", `[...document.querySelectorAll("tbody tr td:first-child")].map((x) => x.innerText).join() === "deny,ask,ask,allow,deny"`)
	b.Until("the tools of a rule open", `document.querySelector("details").open === false`)
	b.Do("open them", chromedp.Click(chromedp.CSS("td details summary")))
	b.Until("the names are there", `document.querySelector("td details").open && document.querySelector("td .names").innerText.includes("fs.delete_all")`)
	b.Shot("rules-profile")

	b.Do("a question", chromedp.SendKeys(chromedp.CSS(`#what-if ~ form [name=tool]`), "fs__write"),
		chromedp.SendKeys(chromedp.CSS(`[name=args]`), `{"path": "a"}`), chromedp.Click(chromedp.CSS("#what-if ~ form button")),
		chromedp.WaitVisible(chromedp.CSS("#answer")))
	b.Until("the rule that decides is marked", `document.querySelectorAll("tr.decides").length === 1 && document.querySelector("tr.decides").innerText.includes("fs__write")`)
	b.Until("the question stays in the form", `document.querySelector("[name=args]").value === '{"path": "a"}'`)
	b.named()
	b.Shot("rules-answer")

	for _, narrow := range []bool{true, false} {
		b.Dark(narrow)
		if b.Size(1100, 900); narrow {
			b.Size(390, 844)
		}
		b.fits("the answer")
		b.Shot(fmt.Sprintf("rules-answer-narrow-%t", narrow))
	}

	b.Do("its file", chromedp.Click(chromedp.CSS(`main p a[href$="/rules"]`)), chromedp.WaitVisible(chromedp.CSS("#text-0")))
	b.named()
	text := strings.NewReplacer("          { \"id\": \"write\", \"tool\": \"fs__write\" },\n", "", `["fs__delete_*"]`,
		`["fs__delete_*", { "id": "write", "tool": "fs__write" }]`).Replace(bookText)
	b.Do("to another list", chromedp.SetValue(chromedp.CSS("#text-0"), text),
		chromedp.SendKeys(chromedp.CSS("[name=why]"), "nobody writes"),
		chromedp.Click(chromedp.CSS(`button[formaction$="/rules/preview"]`)), chromedp.WaitVisible(chromedp.CSS(".diff")))
	b.Until("the lines that change", `document.querySelectorAll(".diff .plus").length === 1 && document.querySelectorAll(".diff .minus").length === 2`)
	b.named()
	b.fits("the preview")
	b.Shot("rules-preview")
	b.Do("save", chromedp.Click(chromedp.CSS("button.yes")), chromedp.WaitVisible(chromedp.CSS("#proof")))
	if d.now() != bookText {
		t.Fatal("it is saved without a code")
	}
	b.Shot("rules-confirm")
	b.Do("the code", chromedp.SendKeys(chromedp.CSS("#proof"), w.code()), chromedp.Click(chromedp.CSS(".proof button.yes")),
		chromedp.WaitVisible(chromedp.CSS("#profiles")))
	if d.now() != text {
		t.Fatalf("the file is\n%s", d.now())
	}
}

// With keys alone, and the script of the page on: the text of a file is changed up to its preview.
func TestTheRulesWithKeysAlone(t *testing.T) {
	t.Parallel()
	w, d := withBook(t)
	b := newBrowser(t)
	b.Do("log in", browsertest.Visit(w.c.Link(anna)), chromedp.WaitVisible(chromedp.CSS(".who")))
	b.Do("the overlays", browsertest.Visit(w.origin+"/rules/overlays"), chromedp.WaitVisible(chromedp.CSS(".facts")))
	b.named()
	b.Size(390, 844)
	b.fits("an overlay")
	b.Accessible("an overlay")
	b.Shot("rules-overlays-narrow")
	b.Size(1100, 900)
	b.Do("the profile", browsertest.Visit(w.origin+"/rules/profile/work"), chromedp.WaitVisible(chromedp.CSS("#what-if")))
	b.Accessible("a profile")
	b.Do("the text", browsertest.Visit(w.origin+"/rules"))
	b.rewrites(strings.Replace(bookText, `"fs__read"`, `"fs__*"`, 1))
	b.Keys("the reason, and its preview", kb.Tab+"asked for"+kb.Tab+kb.Tab+kb.Enter)
	b.Do("its preview", chromedp.WaitVisible(chromedp.CSS(".diff")))
	b.Until("one line changes", `document.querySelectorAll(".diff .plus").length === 1`)
	b.Until("the reason stays", `document.querySelector("[name=why]").value === "asked for"`)
	b.named()
	b.Accessible("a preview")
	if d.now() != bookText {
		t.Error("a preview changed the file")
	}
	b.Do("save it without a reason", chromedp.Focus(chromedp.CSS("[name=why]")),
		chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)), chromedp.KeyEvent(kb.Backspace),
		chromedp.Click(chromedp.CSS("button.yes")))
	b.Until("the browser asks for it", `document.activeElement.matches("[name=why]:invalid")`)
}
