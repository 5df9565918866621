package console

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/console/signin"
	"github.com/codemode-project/codemode/internal/browsertest"
	"github.com/codemode-project/codemode/internal/hostile"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A browser is a real Chromium on the page.
type browser struct {
	t   *testing.T
	ctx context.Context
}

// newBrowser starts a Chromium. Where there is none the test says so and ends.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	hostile.NotRaced(t, "a browser needs as long as ten other tests, and they make the same requests")
	return &browser{t: t, ctx: browsertest.Start(t, 4*time.Minute)}
}

// noScript turns the script of the page off. Expressions are evaluated all the same.
func (b *browser) noScript() {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: true})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.fail(what, err)
	}
}

// visit navigates, again and again if Chromium gives the navigation up (net::ERR_ABORTED): under load one that the page
// before has begun, such as by a form, may end it.
func visit(url string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		for {
			err := chromedp.Do(ctx, chromedp.Navigate(url))
			if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "ERR_ABORTED") {
				return err
			}
		}
	})
}

func (b *browser) fail(what string, why any) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
	b.shot("failure")
	b.t.Fatalf("%s: %v; the page says:\n%s", what, why, text)
}

// until waits until an expression of JavaScript is true and the page has loaded, whatever page is there meanwhile. On
// one that still loads, an element that a step has found may be gone when the step clicks it.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	var yes bool
	var err error
	if !testwait.Holds(func() bool {
		yes, err = chromedp.Run(b.ctx, chromedp.Evaluate[bool](`document.readyState === "complete" && (`+expression+`)`))
		return err == nil && yes
	}) {
		b.fail("it did not come to pass that "+what, err)
	}
}

// settle waits until the page takes answers: what comes right after a change does not count.
func (b *browser) settle() { time.Sleep(900 * time.Millisecond) } // the browser keeps the clock

// named holds that whatever can be used on the page says what it is to somebody who does not see it.
func (b *browser) named() {
	b.t.Helper()
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		b.t.Fatal(err)
	}
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
				b.t.Errorf("a %s has no name for those who do not see it", role)
			}
		}
	}
	for _, role := range []string{"banner", "navigation", "main", "status", "heading"} {
		if roles[role] == 0 {
			b.t.Errorf("the page has no %s", role)
		}
	}
}

func (b *browser) keys(what, keys string) {
	b.t.Helper()
	b.do(what, chromedp.KeyEvent(keys))
}

// shot keeps a picture of the page where CODEMODE_SCREENSHOTS says, for people to look at.
func (b *browser) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("CODEMODE_SCREENSHOTS")
	if dir == "" {
		return
	}
	b.do("to the top", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void]("scrollTo(0, 0)"))
		return err
	}))
	var picture []byte
	var err error
	if !testwait.Holds(func() bool { // a page that is about to be replaced has no size
		picture, err = chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		return err == nil
	}) {
		b.t.Fatalf("a picture of %s: %v", name, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) dark(on bool) {
	b.t.Helper()
	scheme := "light"
	if on {
		scheme = "dark"
	}
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) size(width, height int64) {
	b.t.Helper()
	b.do("size", chromedp.EmulateViewport(width, height))
}

// history is what has happened before somebody looks.
func history(w *world) {
	add := func(e audit.Entry) {
		if err := w.record.note(w.t.Context(), e); err != nil {
			w.t.Fatal(err)
		}
	}
	rules := []audit.Rule{{ID: "github-writes", At: "codemode.json:31", Result: "true"}}
	add(audit.Entry{Kind: audit.Run, State: audit.Running, Run: "r_1a2b3c", Principal: anna, Client: "claude-code 2.1",
		Profile: "supervised"})
	add(audit.Entry{Kind: audit.Call, State: audit.Running, Run: "r_1a2b3c", Call: 1, Principal: anna,
		Profile: "supervised", Server: "github", Tool: "github__list_issues", Risk: "low",
		DecidedBy: &audit.DecidedBy{How: "rule"}, Args: &audit.Args{Proposed: "hmac:51aa", Executed: "hmac:51aa",
			Authorised: "hmac:51aa", Redacted: json.RawMessage(`{"owner":"acme","repo":"web"}`)}})
	add(audit.Entry{Kind: audit.Call, State: audit.OK, Run: "r_1a2b3c", Call: 1, Principal: anna, Server: "github",
		Tool: "github__list_issues", MS: 388,
		Result: &audit.Result{Redacted: json.RawMessage(`[{"number":7,"title":"Broken link"}]`)}})
	add(audit.Entry{Kind: audit.Call, State: audit.Pending, Run: "r_1a2b3c", Call: 2, Principal: anna,
		Profile: "supervised", Server: "github", Tool: "github__create_issue", Risk: "medium", Rules: rules,
		Args: &audit.Args{Proposed: "hmac:61bb", Shown: "hmac:61bb",
			Redacted: json.RawMessage(`{"owner":"acme","repo":"web","title":"Fix \u202etxt.exe","token":"(masked)"}`)}})
	add(audit.Entry{Kind: audit.Approval, State: audit.Allowed, Run: "r_1a2b3c", Call: 2, Principal: anna,
		Tool: "github__create_issue", DecidedBy: &audit.DecidedBy{How: "person", Channel: "web", Principal: anna,
			LatencyMS: 4210}})
	add(audit.Entry{Kind: audit.Call, State: audit.Running, Run: "r_1a2b3c", Call: 2, Principal: anna,
		Profile: "supervised", Server: "github", Tool: "github__create_issue", Risk: "medium", Rules: rules,
		DecidedBy: &audit.DecidedBy{How: "person", Channel: "web", Principal: anna},
		Args: &audit.Args{Proposed: "hmac:61bb", Shown: "hmac:61bb", Authorised: "hmac:99cc", Executed: "hmac:99cc",
			Redacted: json.RawMessage(`{"owner":"acme","repo":"web","title":"Fix the download link"}`)}})
	add(audit.Entry{Kind: audit.Call, State: audit.OK, Run: "r_1a2b3c", Call: 2, Principal: anna, Server: "github",
		Tool: "github__create_issue", MS: 512, Result: &audit.Result{Redacted: json.RawMessage(`{"number":8}`)}})
	add(audit.Entry{Kind: audit.Call, State: audit.Refused, Run: "r_1a2b3c", Call: 3, Principal: anna,
		Profile: "supervised", Server: "fs", Tool: "fs__delete_file", Risk: "high", Reason: "denied",
		Detail: "fs_delete_* is on the denylist", DecidedBy: &audit.DecidedBy{How: "rule"},
		Args:  &audit.Args{Proposed: "hmac:71dd", Redacted: json.RawMessage(`{"path":"/data/report.txt"}`)},
		Rules: []audit.Rule{{ID: "fs__delete_*", At: "codemode.json:40", Result: "true"}}})
	add(audit.Entry{Kind: audit.Run, State: audit.OK, Run: "r_1a2b3c", Principal: anna, Client: "claude-code 2.1",
		Profile: "supervised", MS: 6100,
		Program: &audit.Program{Name: "program.ts", Digest: "sha256:41af", Bytes: 120,
			Text: "const issues = await codemode.github__list_issues({ owner: \"acme\", repo: \"web\" });\nfor (const issue of issues) {\n  // \u202e looks harmless\n  await codemode.github__create_issue({ owner: \"acme\", repo: \"web\", title: \"Fix\" });\n}\n"}})
}

// W, H6, C5: a person logs in with the link, sees a question arrive, and answers: one with a reason, several with the
// keyboard, one with other arguments. What the program gets is what was answered.
func TestAPersonInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	history(w)
	b := newBrowser(t)
	b.do("come without a link", chromedp.Navigate(w.origin+"/history"), chromedp.WaitVisible(chromedp.CSS("#secret")))
	b.shot("login")
	b.do("log in", chromedp.Navigate(w.c.Link(anna)))
	b.until("the page is there",
		`/^\/s\/[A-Z2-7]{26}\/$/.test(location.pathname) && document.querySelector(".empty") !== null`)
	b.until("the secret is out of the address", `location.hash === ""`)
	b.until("the page is live", `document.getElementById("link").textContent.startsWith("Live")`)
	b.shot("empty")

	one := w.ask(aCall())
	b.until("the question arrives by itself", `document.querySelectorAll("article.ask").length === 1`)
	b.until("it is counted", `document.title.startsWith("1 waiting") && document.getElementById("count").textContent === "1"`)
	b.until("a screen reader hears the tool, the arguments and the risk, in that order", `(() => {
		const a = document.querySelector("article.ask");
		const label = a.getAttribute("aria-labelledby").split(" ").map((id) => document.getElementById(id).textContent);
		return label.length === 3 && label[0] === "github.create_issue" && label[1].includes("acme") && label[2] === "Medium risk";
	})()`)
	b.named()
	b.settle()
	b.shot("pending")
	b.dark(true)
	b.shot("pending-dark")
	b.size(390, 844)
	b.shot("pending-narrow-dark")
	b.dark(false)
	b.shot("pending-narrow")
	b.until("nothing is wider than a phone", `document.documentElement.scrollWidth <= innerWidth`)
	b.size(1100, 900)
	b.do("deny with a reason", chromedp.SendKeys(chromedp.CSS(`article.ask form.deny input[name=reason]`),
		"not in this repository"),
		chromedp.Click(chromedp.CSS(`article.ask form.deny button.no`)))
	if a := answerOf(t, one)[0]; a.Allowed || a.Code != call.CodeDeclined || a.Reason != "not in this repository" ||
		a.Channel != ChannelName || a.By != anna {
		t.Errorf("the denial came as %+v", a)
	}
	b.until("the question is gone",
		`document.querySelector(".empty") !== null && document.getElementById("status").textContent.includes("Denied")`)

	var calls []*prompt.Request
	for i := range 5 {
		calls = append(calls, aCall(func(r *prompt.Request) {
			r.Call, r.Code = i+1, fmt.Sprintf("1%03x", i)
			r.Args = json.RawMessage(fmt.Sprintf(`{"owner":"acme","repo":"web","title":"Broken link %d"}`, i+1))
		}))
	}
	five := w.ask(calls...)
	b.until("five calls are one group",
		`document.querySelectorAll("section.group").length === 1 && document.querySelectorAll(".row.ask").length === 5`)
	b.named()
	b.settle()
	b.shot("batch")
	b.keys("choose the first", "jx")
	b.keys("and two more", "jxjjx")
	b.until("three are selected", `document.getElementById("selected").textContent === "3 selected"`)
	// A16: Enter that follows at once does nothing. It is pressed in the page, for a slow machine may take its time over a
	// real one.
	b.until("allow, with a key in flight", `(() => {
		const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
		press("a");
		press("Enter");
		return true;
	})()`)
	b.until("it is asked once more",
		`document.getElementById("confirm").open && document.querySelectorAll("#confirm-list li").length === 3`)
	b.shot("batch-confirm")
	b.settle()
	if w.waiting() != 5 {
		t.Error("a key that was in flight has answered")
	}
	b.keys("confirm", "\r")
	b.until("two are left", `document.querySelectorAll(".ask").length === 2`)
	b.settle()
	b.keys("deny the next, which is chosen already", "d")
	b.until("it is asked once more", `document.getElementById("confirm").open`)
	b.settle()
	b.keys("confirm", "\r")
	b.until("one is left", `document.querySelectorAll(".ask").length === 1`)
	b.settle()
	b.keys("deny with a reason", "r")
	b.until("the reason is asked for", `document.activeElement.id === "confirm-reason"`)
	b.settle()
	b.keys("the reason, with letters that are keys elsewhere", "add jars\r")
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
	b.until("the question arrives", `document.querySelectorAll("article.ask").length === 1`)
	b.settle()
	b.keys("show it whole", "js")
	b.until("the whole page is there", `document.querySelector("article.whole") !== null`)
	b.named()
	b.shot("ask")
	b.settle()
	b.do("open the form", chromedp.Click(chromedp.CSS(`details.edit summary`)),
		chromedp.WaitVisible(chromedp.CSS(`#args`)))
	change := func(to string) {
		b.do("change the arguments", chromedp.SetValue(chromedp.CSS(`#args`), to),
			chromedp.Click(chromedp.CSS(`details.edit button.yes`)))
	}
	change(`{"owner":"acme","repo":"secret","title":"x"}`)
	b.until("what is wrong is said at the form, and nothing is lost",
		`document.getElementById("edit-problem").textContent.includes("other repositories") && document.getElementById("args").value.includes("secret")`)
	b.shot("edit")
	if w.waiting() != 1 {
		t.Error("arguments that are wrong were taken")
	}
	change(`{"owner":"acme","repo":"docs","title":"Broken link on /pricing"}`)
	if a := answerOf(t, edited)[0]; !a.Allowed || !strings.Contains(string(a.Args), `"docs"`) {
		t.Errorf("the edited call came as %+v", a)
	}
	b.until("back at the list",
		`/^\/s\/[A-Z2-7]{26}\/$/.test(location.pathname) && document.querySelector(".empty") !== null`)

	inquiry := w.ask(&prompt.Request{
		Name: prompt.InquiryTool, Risk: "low", Principal: anna, Run: "r_8f2k", Call: 9, Args: json.RawMessage(`{}`),
		Inquiry: &prompt.Inquiry{Header: "Release", Question: "Which branch shall be released?", FreeText: true,
			Options: []prompt.Option{
				{Label: "main", Description: "what was merged yesterday"}, {Label: "stable", Description: "what customers have"}}},
	})
	b.until("the question arrives", `document.querySelectorAll("article.asks").length === 1`)
	b.named()
	b.settle()
	b.shot("inquiry")
	b.do("choose the second", chromedp.Click(chromedp.CSS(`article.asks input[value="1"]`)),
		chromedp.Click(chromedp.CSS(`article.asks button.yes`)))
	if a := answerOf(t, inquiry)[0]; !a.Allowed || len(a.Selected) != 1 || a.Selected[0] != 1 {
		t.Errorf("the answer to the question came as %+v", a)
	}
	b.until("it is gone", `document.querySelector(".empty") !== null`)
	b.keys("which keys there are", "?")
	b.until("they are listed", `document.getElementById("help").open`)
	b.shot("keys")

	for _, scope := range []call.Scope{call.ForRun, call.ForTime} {
		g, err := aCall().Draft(call.Answer{Scope: scope}, time.Now())
		if err == nil {
			err = w.grants.Give(t.Context(), g)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b.do("grants", chromedp.Navigate(w.origin+"/grants"), chromedp.WaitVisible(chromedp.CSS(".grants")))
	b.named()
	b.shot("grants")
	b.do("revoke one", chromedp.Click(chromedp.CSS(".grants li button")))
	b.until("it is gone", `document.querySelectorAll(".grants li").length === 1 && document.getElementById("status").textContent.includes("Revoked")`)

	b.do("history", chromedp.Navigate(w.origin+"/history"), chromedp.WaitVisible(chromedp.CSS("table")))
	b.named()
	b.shot("history")
	b.size(390, 844)
	b.shot("history-narrow")
	b.size(1100, 900)
	b.do("a run", chromedp.Navigate(w.origin+"/run/r_1a2b3c"), chromedp.WaitVisible(chromedp.CSS(".program")))
	b.until("what does not show is marked", `document.querySelector(".program .odd").textContent === "U+202E"`)
	b.shot("run")
	b.dark(true)
	b.shot("run-dark")
	b.do("the rules", chromedp.Navigate(w.origin+"/rules?profile=supervised&allow=github__create_issue&program=sha256:41af41af41af"), chromedp.WaitVisible(chromedp.CSS(".file")))
	b.dark(false)
	b.named()
	b.shot("rules")
}

// F46: browsers open six connections to a host; more pages than that hear of everything all the same, one answer
// counts, and when the page is closed that has the stream another one takes over.
func TestManyTabs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBrowser(t)
	b.do("log in", chromedp.Navigate(w.c.Link(anna)))
	b.until("the page is there", `document.querySelector(".empty") !== null`)
	tabs := []*browser{b}
	for range 7 {
		tab := b.tab()
		tab.do("another tab", chromedp.Navigate(w.origin+"/"))
		tabs = append(tabs, tab)
	}
	answers := w.ask(aCall())
	for _, tab := range tabs {
		tab.until("every tab shows the question", `document.querySelectorAll("article.ask").length === 1`)
	}
	tabs[5].settle()
	tabs[5].do("allow in one of them", chromedp.Click(chromedp.CSS(`article.ask button.yes`)))
	if a := answerOf(t, answers)[0]; !a.Allowed {
		t.Errorf("the answer came as %+v", a)
	}
	for _, tab := range tabs {
		tab.until("no tab shows it any more", `document.querySelector(".empty") !== null`)
	}
	if err := chromedp.Do(b.ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	answers = w.ask(aCall())
	for _, tab := range tabs[1:] {
		tab.until("another tab has taken over", `document.querySelectorAll("article.ask").length === 1`)
	}
	tabs[1].settle()
	tabs[1].do("deny", chromedp.Click(chromedp.CSS(`article.ask button.no`)))
	answerOf(t, answers)
}

// The script of a page that waits for its turn to hear the news can be turned off, as a browser does to a page that it
// leaves: nothing is thrown.
func TestAPageThatWaitsForTheNewsCanBeLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBrowser(t)
	b.do("log in", chromedp.Navigate(w.c.Link(anna)))
	b.until("it hears the news", `document.getElementById("link").textContent.startsWith("Live")`)
	tab := b.tab()
	if err := browsertest.Complains(tab.ctx, t); err != nil {
		t.Fatal(err)
	}
	tab.do("another tab", chromedp.Navigate(w.origin+"/"))
	tab.until("it hears the news from the first", `document.getElementById("link").textContent.startsWith("Live")`)
	tab.noScript()
	b.do("leave the page whose turn it is", chromedp.Navigate("about:blank"))
	tab.until("the other tab has its turn", `(navigator.locks.query().then((all) => {
		window.locksLeft = all.held.length + all.pending.length;
	}), window.locksLeft === 0)`)
}

// enters opens the list with the session of a visitor.
func (b *browser) enters(v *visitor) {
	b.t.Helper()
	name, value, _ := strings.Cut(v.cookie, "=")
	yes := true
	_, err := chromedp.Call(b.ctx, network.SetCookie, network.SetCookieParams{
		Name: name, Value: value, URL: v.w.origin + v.path, Path: v.path, Secure: &yes, HTTPOnly: &yes,
		SameSite: network.CookieSameSiteStrict,
	})
	check(b.t, err)
	b.do("open the list", chromedp.Navigate(v.w.origin+v.path+"/"))
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
	b.until("the question is there", `document.querySelectorAll("article.ask").length === 1`)
	b.named()
	b.settle()
	b.keys("allow", "ja")
	b.until("it says what is missing", `document.getElementById("status").textContent.includes("sign in") &&
		document.querySelector("article.ask .prove a").textContent.includes("Sign in again")`)
	b.shot("critical-before")
	b.do("go to the provider", chromedp.Navigate("about:blank")) // the session that it leaves ends
	b.enters(v.anew(v.pending()[0]))
	b.until("the question is there, to be allowed", `document.querySelector("article.ask button.yes") !== null`)
	b.named()
	b.settle()
	b.keys("allow", "ja")
	b.until("the code is wanted", `document.activeElement.name === "code"`)
	b.shot("critical")
	b.do("allow without the code", chromedp.Click(chromedp.CSS(`article.ask button.yes`)))
	b.until("it says so", `document.querySelector(".ask .problem").textContent.includes("code")`)
	b.do("allow with the code", chromedp.SendKeys(chromedp.CSS(`article.ask input.code`), "7f3a"),
		chromedp.Click(chromedp.CSS(`article.ask button.yes`)))
	if a := answerOf(t, grave)[0]; !a.Allowed || a.Channel != ChannelName {
		t.Errorf("the critical call came as %+v", a)
	}
}
