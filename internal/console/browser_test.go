package console

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/browsertest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/console/signin"
	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// A browser is a real Chromium on the page.
type browser struct{ *browsertest.Tab }

// newBrowser starts a Chromium. Where there is none the test says so and ends.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	hostile.NotRaced(t, "a browser needs as long as ten other tests, and they make the same requests")
	return &browser{browsertest.Start(t, 4*time.Minute)}
}

// named holds that whatever can be used on the page says what it is to somebody who does not see it.
func (b *browser) named() {
	b.T.Helper()
	tree, err := chromedp.Call(b.Ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	checktest.OK(b.T, err)
	text := func(v *accessibility.Value) string {
		if v == nil {
			return ""
		}
		return strings.Trim(string(v.Value), `"`)
	}
	roles := map[string]int{}
	for _, n := range tree.Nodes {
		role := text(n.Role)
		if n.Ignored {
			continue
		}
		roles[role]++
		switch role {
		case "button", "link", "textbox", "checkbox", "radio", "combobox", "article", "listitem", "navigation", "region":
			if strings.TrimSpace(text(n.Name)) == "" && !(role == "listitem") {
				b.T.Errorf("a %s has no name for those who do not see it", role)
			}
		}
	}
	for _, role := range []string{"banner", "navigation", "main", "status", "heading"} {
		if roles[role] == 0 {
			b.T.Errorf("the page has no %s", role)
		}
	}
}

// history is what has happened before somebody looks.
func history(w *world) {
	add := func(e call.Entry) {
		checktest.OK(w.t, w.record.note(w.t.Context(), e))
	}
	rules := []call.EntryRule{{ID: "github-writes", At: "codemode.json:31", Result: "true"}}
	add(call.Entry{Kind: audit.Run, State: audit.Running, Run: "r_1a2b3c", Principal: anna, Client: "claude-code 2.1",
		Profile: "supervised"})
	add(call.Entry{Kind: audit.Call, State: audit.Running, Run: "r_1a2b3c", Call: 1, Principal: anna,
		Profile: "supervised", Server: "github", Tool: "github__list_issues", Risk: "low",
		DecidedBy: &call.DecidedBy{How: "rule"}, Args: &call.EntryArgs{Proposed: "hmac:51aa", Executed: "hmac:51aa",
			Authorised: "hmac:51aa", Redacted: json.RawMessage(`{"owner":"acme","repo":"web"}`)}})
	add(call.Entry{Kind: audit.Call, State: audit.OK, Run: "r_1a2b3c", Call: 1, Principal: anna, Server: "github",
		Tool: "github__list_issues", MS: 388,
		Result: &call.EntryResult{Redacted: json.RawMessage(`[{"number":7,"title":"Broken link"}]`)}})
	add(call.Entry{Kind: audit.Call, State: audit.Pending, Run: "r_1a2b3c", Call: 2, Principal: anna,
		Profile: "supervised", Server: "github", Tool: "github__create_issue", Risk: "medium", Rules: rules,
		Args: &call.EntryArgs{Proposed: "hmac:61bb", Shown: "hmac:61bb",
			Redacted: json.RawMessage(`{"owner":"acme","repo":"web","title":"Fix \u202etxt.exe","token":"(masked)"}`)}})
	add(call.Entry{Kind: audit.Approval, State: call.Allowed, Run: "r_1a2b3c", Call: 2, Principal: anna,
		Tool: "github__create_issue", DecidedBy: &call.DecidedBy{How: "person", Channel: "web", Principal: anna,
			LatencyMS: 4210}})
	add(call.Entry{Kind: audit.Call, State: audit.Running, Run: "r_1a2b3c", Call: 2, Principal: anna,
		Profile: "supervised", Server: "github", Tool: "github__create_issue", Risk: "medium", Rules: rules,
		DecidedBy: &call.DecidedBy{How: "person", Channel: "web", Principal: anna},
		Args: &call.EntryArgs{Proposed: "hmac:61bb", Shown: "hmac:61bb", Authorised: "hmac:99cc", Executed: "hmac:99cc",
			Redacted: json.RawMessage(`{"owner":"acme","repo":"web","title":"Fix the download link"}`)}})
	add(call.Entry{Kind: audit.Call, State: audit.OK, Run: "r_1a2b3c", Call: 2, Principal: anna, Server: "github",
		Tool: "github__create_issue", MS: 512, Result: &call.EntryResult{Redacted: json.RawMessage(`{"number":8}`)}})
	add(call.Entry{Kind: audit.Call, State: audit.Refused, Run: "r_1a2b3c", Call: 3, Principal: anna,
		Profile: "supervised", Server: "fs", Tool: "fs__delete_file", Risk: "high", Reason: "denied",
		Detail: "fs_delete_* is on the denylist", DecidedBy: &call.DecidedBy{How: "rule"},
		Args:  &call.EntryArgs{Proposed: "hmac:71dd", Redacted: json.RawMessage(`{"path":"/data/report.txt"}`)},
		Rules: []call.EntryRule{{ID: "fs__delete_*", At: "codemode.json:40", Result: "true"}}})
	add(call.Entry{Kind: audit.Run, State: audit.OK, Run: "r_1a2b3c", Principal: anna, Client: "claude-code 2.1",
		Profile: "supervised", MS: 6100, Program: &call.EntryProgram{Name: "program.ts", Digest: "sha256:41af", Bytes: 120,
			Text: "const issues = await codemode.github__list_issues({ owner: \"acme\", repo: \"web\" });\nfor (const issue of issues) {\n  // \u202e looks harmless\n  await codemode.github__create_issue({ owner: \"acme\", repo: \"web\", title: \"Fix\" });\n}\n"}})
}

// W, H6, C5: a person logs in with the link, sees a question arrive, and answers: one with a reason, several with the
// keyboard, one with other arguments. What the program gets is what was answered.
func TestAPersonInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	history(w)
	b := newBrowser(t)
	b.Do("come without a link", chromedp.Navigate(w.origin+"/history"), chromedp.WaitVisible(chromedp.CSS("#secret")))
	b.Shot("login")
	b.Do("log in", chromedp.Navigate(w.c.Link(anna)))
	b.Until("the page is there",
		`/^\/s\/[A-Z2-7]{26}\/$/.test(location.pathname) && document.querySelector(".empty") !== null`)
	b.Until("the secret is out of the address", `location.hash === ""`)
	b.Until("the page is live", `document.getElementById("link").textContent.startsWith("Live")`)
	b.Shot("empty")

	one := w.ask(aCall())
	b.Until("the question arrives by itself", `document.querySelectorAll("article.ask").length === 1`)
	b.Until("it is counted", `document.title.startsWith("1 waiting") && document.getElementById("count").textContent === "1"`)
	b.Until("a screen reader hears the tool, the arguments and the risk, in that order", `(() => {
		const a = document.querySelector("article.ask");
		const label = a.getAttribute("aria-labelledby").split(" ").map((id) => document.getElementById(id).textContent);
		return label.length === 3 && label[0] === "github.create_issue" && label[1].includes("acme") && label[2] === "Medium risk";
	})()`)
	b.named()
	b.Settle()
	b.Shot("pending")
	b.Dark(true)
	b.Shot("pending-dark")
	b.Size(390, 844)
	b.Shot("pending-narrow-dark")
	b.Dark(false)
	b.Shot("pending-narrow")
	b.Until("nothing is wider than a phone", `document.documentElement.scrollWidth <= innerWidth`)
	b.Size(1100, 900)
	b.Do("deny with a reason", chromedp.SendKeys(chromedp.CSS(`article.ask form.deny input[name=reason]`),
		"not in this repository"),
		chromedp.Click(chromedp.CSS(`article.ask form.deny button.no`)))
	if a := answerOf(t, one)[0]; a.Allowed || a.Code != call.CodeDeclined || a.Reason != "not in this repository" ||
		a.Channel != ChannelName || a.By != anna {
		t.Errorf("the denial came as %+v", a)
	}
	b.Until("the question is gone",
		`document.querySelector(".empty") !== null && document.getElementById("status").textContent.includes("Denied")`)

	var calls []*prompt.Request
	for i := range 5 {
		calls = append(calls, aCall(func(r *prompt.Request) {
			r.Call, r.Code = i+1, fmt.Sprintf("1%03x", i)
			r.Args = json.RawMessage(fmt.Sprintf(`{"owner":"acme","repo":"web","title":"Broken link %d"}`, i+1))
		}))
	}
	five := w.ask(calls...)
	b.Until("five calls are one group",
		`document.querySelectorAll("section.group").length === 1 && document.querySelectorAll(".row.ask").length === 5`)
	b.named()
	b.Settle()
	b.Shot("batch")
	b.Keys("choose the first", "jx")
	b.Keys("and two more", "jxjjx")
	b.Until("three are selected", `document.getElementById("selected").textContent === "3 selected"`)
	// A16: Enter that follows at once does nothing. It is pressed in the page, for a slow machine may take its time over a
	// real one.
	b.Until("allow, with a key in flight", `(() => {
		const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
		press("a");
		press("Enter");
		return true;
	})()`)
	b.Until("it is asked once more",
		`document.getElementById("confirm").open && document.querySelectorAll("#confirm-list li").length === 3`)
	b.Shot("batch-confirm")
	b.Settle()
	if w.waiting() != 5 {
		t.Error("a key that was in flight has answered")
	}
	b.Keys("confirm", "\r")
	b.Until("two are left", `document.querySelectorAll(".ask").length === 2`)
	b.Settle()
	b.Keys("deny the next, which is chosen already", "d")
	b.Until("it is asked once more", `document.getElementById("confirm").open`)
	b.Settle()
	b.Keys("confirm", "\r")
	b.Until("one is left", `document.querySelectorAll(".ask").length === 1`)
	b.Settle()
	b.Keys("deny with a reason", "r")
	b.Until("the reason is asked for", `document.activeElement.id === "confirm-reason"`)
	b.Settle()
	b.Keys("the reason, with letters that are keys elsewhere", "add jars\r")
	got := answerOf(t, five)
	var said []string
	for _, a := range got {
		said = append(said, fmt.Sprint(a.Allowed, " ", a.Reason))
	}
	if s := strings.Join(said, ", "); s != "true , true , false , true , false add jars" {
		t.Errorf("the answers to the five calls: %s", s)
	}

	edit := func(args json.RawMessage) error {
		if !strings.Contains(string(args), `"web"`) && !strings.Contains(string(args), `"docs"`) {
			return fmt.Errorf("/repo: the profile denies other repositories than web and docs")
		}
		return nil
	}
	edited := w.ask(aCall(func(r *prompt.Request) { r.Edit = edit }))
	b.Until("the question arrives", `document.querySelectorAll("article.ask").length === 1`)
	b.Settle()
	b.Keys("show it whole", "js")
	b.Until("the whole page is there", `document.querySelector("article.whole") !== null`)
	b.named()
	b.Shot("ask")
	b.Settle()
	b.Do("open the form", chromedp.Click(chromedp.CSS(`details.edit summary`)),
		chromedp.WaitVisible(chromedp.CSS(`#args`)))
	change := func(to string) {
		b.Do("change the arguments", chromedp.SetValue(chromedp.CSS(`#args`), to),
			chromedp.Click(chromedp.CSS(`details.edit button.yes`)))
	}
	change(`{"owner":"acme","repo":"secret","title":"x"}`)
	b.Until("what is wrong is said at the form, and nothing is lost",
		`document.getElementById("edit-problem").textContent.includes("other repositories") && document.getElementById("args").value.includes("secret")`)
	b.Shot("edit")
	if w.waiting() != 1 {
		t.Error("arguments that are wrong were taken")
	}
	change(`{"owner":"acme","repo":"docs","title":"Broken link on /pricing"}`)
	if a := answerOf(t, edited)[0]; !a.Allowed || !strings.Contains(string(a.Args), `"docs"`) {
		t.Errorf("the edited call came as %+v", a)
	}
	b.Until("back at the list",
		`/^\/s\/[A-Z2-7]{26}\/$/.test(location.pathname) && document.querySelector(".empty") !== null`)

	inquiry := w.ask(&prompt.Request{
		Name: prompt.InquiryTool, Risk: "low", Principal: anna, Run: "r_8f2k", Call: 9, Args: json.RawMessage(`{}`),
		Inquiry: &prompt.Inquiry{Header: "Release", Question: "Which branch shall be released?", FreeText: true,
			Options: []prompt.Option{
				{Label: "main", Description: "what was merged yesterday"}, {Label: "stable", Description: "what customers have"}}},
	})
	b.Until("the question arrives", `document.querySelectorAll("article.asks").length === 1`)
	b.named()
	b.Settle()
	b.Shot("inquiry")
	b.Do("choose the second", chromedp.Click(chromedp.CSS(`article.asks input[value="1"]`)),
		chromedp.Click(chromedp.CSS(`article.asks button.yes`)))
	if a := answerOf(t, inquiry)[0]; !a.Allowed || len(a.Selected) != 1 || a.Selected[0] != 1 {
		t.Errorf("the answer to the question came as %+v", a)
	}
	b.Until("it is gone", `document.querySelector(".empty") !== null`)
	b.Keys("which keys there are", "?")
	b.Until("they are listed", `document.getElementById("help").open`)
	b.Shot("keys")

	for _, scope := range []call.Scope{call.ForRun, call.ForTime} {
		g, err := aCall().Draft(call.Answer{Scope: scope}, time.Now())
		if err == nil {
			err = w.grants.Give(t.Context(), g)
		}
		checktest.OK(t, err)
	}
	b.Do("grants", chromedp.Navigate(w.origin+"/grants"), chromedp.WaitVisible(chromedp.CSS(".grants")))
	b.named()
	b.Shot("grants")
	b.Do("revoke one", chromedp.Click(chromedp.CSS(".grants li button")))
	b.Until("it is gone", `document.querySelectorAll(".grants li").length === 1 && document.getElementById("status").textContent.includes("Revoked")`)

	b.Do("history", chromedp.Navigate(w.origin+"/history"), chromedp.WaitVisible(chromedp.CSS("table")))
	b.named()
	b.Shot("history")
	b.Size(390, 844)
	b.Shot("history-narrow")
	b.Size(1100, 900)
	b.Do("a run", chromedp.Navigate(w.origin+"/run/r_1a2b3c"), chromedp.WaitVisible(chromedp.CSS(".program")))
	b.Until("what does not show is marked", `document.querySelector(".program .odd").textContent === "U+202E"`)
	b.Shot("run")
	b.Dark(true)
	b.Shot("run-dark")
	b.Do("the rules", chromedp.Navigate(w.origin+"/rules?profile=supervised&allow=github__create_issue&program=sha256:41af41af41af"), chromedp.WaitVisible(chromedp.CSS(".file")))
	b.Dark(false)
	b.named()
	b.Shot("rules")
}

// F46: browsers open six connections to a host; more pages than that hear of everything all the same, one answer
// counts, and when the page is closed that has the stream another one takes over.
func TestManyTabs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBrowser(t)
	b.Do("log in", chromedp.Navigate(w.c.Link(anna)))
	b.Until("the page is there", `document.querySelector(".empty") !== null`)
	tabs := []*browsertest.Tab{b.Tab}
	for range 7 {
		tab := b.Another()
		tab.Do("another tab", chromedp.Navigate(w.origin+"/"))
		tabs = append(tabs, tab)
	}
	answers := w.ask(aCall())
	for _, tab := range tabs {
		tab.Until("every tab shows the question", `document.querySelectorAll("article.ask").length === 1`)
	}
	tabs[5].Settle()
	tabs[5].Do("allow in one of them", chromedp.Click(chromedp.CSS(`article.ask button.yes`)))
	if a := answerOf(t, answers)[0]; !a.Allowed {
		t.Errorf("the answer came as %+v", a)
	}
	for _, tab := range tabs {
		tab.Until("no tab shows it any more", `document.querySelector(".empty") !== null`)
	}
	checktest.OK(t, chromedp.Do(b.Ctx, chromedp.Navigate("about:blank")))
	answers = w.ask(aCall())
	for _, tab := range tabs[1:] {
		tab.Until("another tab has taken over", `document.querySelectorAll("article.ask").length === 1`)
	}
	tabs[1].Settle()
	tabs[1].Do("deny", chromedp.Click(chromedp.CSS(`article.ask button.no`)))
	answerOf(t, answers)
}

// The script of a page that waits for its turn to hear the news can be turned off, as a browser does to a page that it
// leaves: nothing is thrown.
func TestAPageThatWaitsForTheNewsCanBeLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBrowser(t)
	b.Do("log in", chromedp.Navigate(w.c.Link(anna)))
	b.Until("it hears the news", `document.getElementById("link").textContent.startsWith("Live")`)
	tab := b.Another()
	tab.Complains()
	tab.Do("another tab", chromedp.Navigate(w.origin+"/"))
	tab.Until("it hears the news from the first", `document.getElementById("link").textContent.startsWith("Live")`)
	tab.Scripts(false)
	b.Do("leave the page whose turn it is", chromedp.Navigate("about:blank"))
	tab.Until("the other tab has its turn", `(navigator.locks.query().then((all) => {
		window.locksLeft = all.held.length + all.pending.length;
	}), window.locksLeft === 0)`)
}

// enters opens the list with the session of a visitor.
func (b *browser) enters(v *visitor) {
	b.T.Helper()
	name, value, _ := strings.Cut(v.cookie, "=")
	yes := true
	_, err := chromedp.Call(b.Ctx, network.SetCookie, network.SetCookieParams{
		Name: name, Value: value, URL: v.w.origin + v.path, Path: v.path, Secure: &yes, HTTPOnly: &yes,
		SameSite: network.CookieSameSiteStrict,
	})
	check(b.T, err)
	b.Do("open the list", chromedp.Navigate(v.w.origin+v.path+"/"))
}

// A person allows a critical call with the keyboard and its code, after a new sign-in.
func TestACriticalCallInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, signsIn)
	b := newBrowser(t)
	v := w.enterAs("acme:anna", signin.Approver)
	grave := w.ask(aCall(func(r *prompt.Request) {
		r.Server, r.Tool, r.Name, r.Rule, r.Risk, r.Reasons = "pay", "create", "pay__create", "big-payment", "critical",
			[]string{"it costs money"}
		r.Args = json.RawMessage(`{"amount":{"value":"12000.00","currency":"EUR"},"to":"Acme Ltd \u202e"}`)
	}))
	b.enters(v)
	b.Until("the question is there", `document.querySelectorAll("article.ask").length === 1`)
	b.named()
	b.Settle()
	b.Keys("allow", "ja")
	b.Until("it says what is missing", `document.getElementById("status").textContent.includes("sign in") &&
		document.querySelector("article.ask .prove a").textContent.includes("Sign in again")`)
	b.Shot("critical-before")
	b.Do("go to the provider", chromedp.Navigate("about:blank")) // the session that it leaves ends
	b.enters(v.anew(v.pending()[0]))
	b.Until("the question is there, to be allowed", `document.querySelector("article.ask button.yes") !== null`)
	b.named()
	b.Settle()
	b.Keys("allow", "ja")
	b.Until("the code is wanted", `document.activeElement.name === "code"`)
	b.Shot("critical")
	b.Do("allow without the code", chromedp.Click(chromedp.CSS(`article.ask button.yes`)))
	b.Until("it says so", `document.querySelector(".ask .problem").textContent.includes("code")`)
	b.Do("allow with the code", chromedp.SendKeys(chromedp.CSS(`article.ask input.code`), "7f3a"),
		chromedp.Click(chromedp.CSS(`article.ask button.yes`)))
	if a := answerOf(t, grave)[0]; !a.Allowed || a.Channel != ChannelName {
		t.Errorf("the critical call came as %+v", a)
	}
}
