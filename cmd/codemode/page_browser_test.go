//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/browsertest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// slowly is how long something may take on a machine that is busy with other things.
const slowly = 2 * time.Minute

// A tab is Chromium, with a person before it who answers.
type tab struct{ *browsertest.Tab }

func newTab(t *testing.T, name string) *tab {
	t.Helper()
	endToEnd(t)
	b := browsertest.Start(t, 9*time.Minute)
	b.Name = name // of its pictures
	return &tab{b}
}

// answer clicks until so many questions are left: what comes right after a change of the list does not count, and is
// clicked again.
func (b *tab) answer(left int, where string) {
	b.T.Helper()
	b.Until(fmt.Sprintf("%d questions are left", left), fmt.Sprintf(`(() => {
		const n = document.querySelectorAll(".ask").length;
		if (n === %d) return true;
		if (n === %d + 1 && performance.now() > (window.clicks || 0)) {
			window.clicks = performance.now() + 1000;
			document.querySelector(%q).click();
		}
		return false;
	})()`, left, left, where))
}

// says waits until an element has a text.
func (b *tab) says(where, text string) {
	b.T.Helper()
	b.Until(where+" says "+text,
		fmt.Sprintf(`(document.querySelector(%q)?.textContent || "").replace(/\s+/g, " ").includes(%q)`, where, text))
}

// look holds that nothing runs out of a narrow screen nor of a wide one. For people it keeps pictures where
// CODEMODE_SCREENSHOTS says, and has axe-core look where CODEMODE_AXE names the file axe.min.js of that package.
func (b *tab) look(name string) {
	b.T.Helper()
	widths := []int64{390, 1440}
	if os.Getenv("CODEMODE_SCREENSHOTS") != "" {
		widths = []int64{390, 768, 1280, 1440}
	}
	b.lookAt(name, widths...)
}

// lookAt is look on screens of these widths.
func (b *tab) lookAt(name string, widths ...int64) {
	b.T.Helper()
	schemes := []string{"light"}
	if os.Getenv("CODEMODE_SCREENSHOTS") != "" {
		schemes = []string{"light", "dark"}
	}
	for _, width := range widths {
		b.Size(width, 900)
		b.Until(fmt.Sprintf("%s is no wider than %d", name, width), `document.documentElement.scrollWidth <= innerWidth`)
		for _, scheme := range schemes {
			b.Dark(scheme == "dark")
			b.Accessible(fmt.Sprintf("%s at %d, %s", name, width, scheme))
			b.Shot(fmt.Sprintf("%s-%d-%s", name, width, scheme))
		}
	}
	b.Size(1100, 900)
}

// tells shows what a process logged if a test failed.
func (h *house) tells() {
	h.t.Cleanup(func() {
		if h.t.Failed() {
			h.t.Logf("the process says:\n%s", h.log)
		}
	})
}

// link is a login link that codemode console prints.
func (h *house) link(args ...string) string {
	h.t.Helper()
	var out string
	var err error
	if !testwait.Holds(func() bool {
		out, err = h.command(append([]string{"console"}, args...)...)
		return err == nil && strings.Contains(out, "/login#")
	}) {
		h.t.Fatalf("codemode console: %v: %s\n%s", err, out, h.log)
	}
	return strings.TrimSpace(out)
}

// enter logs in with a link.
func (b *tab) enter(link string) {
	b.T.Helper()
	b.Do("log in", chromedp.Navigate("about:blank"), chromedp.Navigate(link))
	b.Until("the page is there", `location.pathname.includes("/s/") && document.getElementById("pending") !== null`)
	b.Until("the page is live", `document.getElementById("link").textContent.startsWith("Live")`)
}

// answerOf waits for the end of a program.
func answerOf(t *testing.T, answer <-chan string) string {
	t.Helper()
	select {
	case got := <-answer:
		return got
	case <-time.After(60 * time.Second):
		t.Fatal("the program did not end")
		return ""
	}
}

// writesFiles is a program that writes n files at once, and says of each what became of it.
func writesFiles(name string, n int) string {
	return fmt.Sprintf(`return (await Promise.all(Array.from({length: %d}, (_, i) => codemode.filesystem__write_file({path: "%s" + i + ".md", content: "x"})
		.then(() => "written", (e) => e.reason)))).join()`, n, name)
}

const personsProfile = `{
	"asklist": [{"id": "write", "tool": "filesystem__write_file", "reason": "changes files"},
		{"id": "grave", "tool": "filesystem__edit_file", "risk": "high", "reason": "cannot be undone"}],
	"allowlist": ["filesystem__*", "time__*"], "remember": {"scopes": ["run", "time"]}, "ask": {"edit": true, "timeout": "5m"},
	"limits": {"asksPerMinute": 1000}}`

// The whole way of a person at the page of a real process: one call, several with mixed answers, many at once, a long
// one of high risk, other arguments with an error on the way, the page left and opened again, the process stopped and
// killed meanwhile. Each time the page says what became of the call, and the program and the disk agree.
func TestThePersonsWayWithAScript(t *testing.T) {
	t.Parallel()
	h := newHouse(t, personsProfile, "--console", "127.0.0.1:0")
	h.tells()
	client := h.connect()
	b := newTab(t, "script")
	link := h.link()
	b.enter(link)
	there := func(path string) bool {
		_, err := os.Stat(filepath.Join(h.files, path))
		return err == nil
	}
	cards := func(n int) {
		t.Helper()
		b.Until(fmt.Sprintf("%d questions are there", n), fmt.Sprintf(`document.querySelectorAll(".ask").length === %d`, n))
		b.Settle()
	}

	answer := runs(t, client, writesAFile)
	cards(1)
	b.look("one")
	b.Click("allow it", `article.ask button.yes`)
	b.says(".given.good .state", "done")
	b.look("one-done")
	if got := answerOf(t, answer); !strings.HasPrefix(got, `"written"`) || !there("a.md") {
		t.Errorf("the program got %s", got)
	}

	answer = runs(t, client, writesFiles("mixed", 5))
	cards(5)
	b.look("five")
	for left := 5; left > 0; left-- { // denies the second and the fourth
		button := `.ask button.yes`
		if left%2 == 0 {
			button = `.ask button.no`
		}
		b.answer(left-1, `#pending `+button)
	}
	b.Until("each says what became of it",
		`[...document.querySelectorAll("#pending .given .state")].slice(1).map((s) => s.textContent).join() === "done,denied,done,denied,done"`)
	b.look("five-answered")
	if got := answerOf(t, answer); !strings.HasPrefix(belowSummary(got),
		`"written,elicitation_declined,written,elicitation_declined,written"`) || there("mixed1.md") || !there("mixed4.md") {
		t.Errorf("the program got %s", got)
	}

	many := 15
	if os.Getenv("CODEMODE_SCREENSHOTS") != "" { // a machine that has nothing else to do
		many = 50
	}
	answer = runs(t, client, writesFiles("many", many))
	cards(many)
	b.look("many")
	b.Click("allow all", `.answers.all button.yes`)
	b.Until("all of them are done",
		fmt.Sprintf(`[...document.querySelectorAll(".given.good .summary")].some((s) => s.textContent === "%d calls of filesystem.write_file")`, many))
	b.look("many-done")
	if got := answerOf(t, answer); strings.Count(strings.SplitN(got, "\n", 2)[0], "written") != many ||
		!there(fmt.Sprintf("many%d.md", many-1)) {
		t.Errorf("the program got %s", got)
	}

	long := strings.Repeat("all of this has to be read. ", 70) + "the end"
	answer = runs(t, client, fmt.Sprintf(`await codemode.filesystem__edit_file({path: "a.md", edits: [{oldText: "x", newText: %q}]}); return "edited"`, long))
	cards(1)
	b.look("grave")
	b.Until("the code is written in", `(() => {
		const code = document.querySelector("article.ask input.code");
		scrollTo(0, 0);
		code.value = document.querySelector("label.code strong").textContent;
		return true;
	})()`)
	b.Do("a narrow screen", chromedp.EmulateViewport(390, 500))
	b.Settle()
	b.Until("allow it before it was read",
		`(() => { document.querySelector("article.ask button.yes").click(); return true; })()`)
	b.says("#status", "has to be seen whole")
	b.Until("read on, screen by screen, and allow it at the end", `(() => {
		if (document.querySelector(".ask") === null) return true;
		if (performance.now() < (window.reads || 0)) return false;
		window.reads = performance.now() + 250; // a person looks at a screen for a while
		const texts = [...document.querySelectorAll(".ask .read")].filter((t) => t.offsetParent !== null);
		if (texts.at(-1).getBoundingClientRect().bottom > innerHeight - 20) scrollBy(0, 300);
		else document.querySelector("article.ask button.yes").click();
		return false;
	})()`)
	b.Do("a wide screen", chromedp.EmulateViewport(1100, 900))
	b.Until("it is done", `document.querySelectorAll(".ask").length === 0 && [...document.querySelectorAll(".given.good .summary")].some((s) => s.textContent.startsWith("filesystem.edit_file"))`)
	if got := answerOf(t, answer); !strings.HasPrefix(got, `"edited"`) {
		t.Errorf("the program got %s", got)
	}
	if text, err := os.ReadFile(filepath.Join(h.files, "a.md")); err != nil || !strings.Contains(string(text), "the end") {
		t.Errorf("the file is %s, %v", text, err)
	}

	answer = runs(t, client, writesAFile)
	cards(1)
	b.Click("show it whole", `.more a`)
	b.Until("it is there", `document.querySelector("article.whole") !== null`)
	b.Click("change the arguments", `details.edit summary`)
	write := func(field, text string) {
		t.Helper()
		b.Until("write "+field, fmt.Sprintf(`(() => {
			const c = document.querySelector('.field[data-at="/%s"] > textarea');
			if (!c || c.closest("fieldset").disabled) return false;
			c.focus();
			c.value = %q;
			c.dispatchEvent(new Event("input", { bubbles: true }));
			return true;
		})()`, field, text))
	}
	write("content", "changed by a person")
	b.Until("write a number for the path in the JSON", `(() => {
		const c = document.getElementById("args");
		c.value = c.value.replace('"a.md"', "7");
		c.dispatchEvent(new Event("input", { bubbles: true }));
		return true;
	})()`)
	b.Settle()
	b.Click("send it", `details.edit button.yes`)
	b.says(`.field[data-at="/path"] .problem`, "expected")
	b.look("edit-error")
	b.Until("mend it", `(() => {
		const c = document.getElementById("args");
		c.value = c.value.replace("7", '"other.md"');
		c.dispatchEvent(new Event("input", { bubbles: true }));
		return true;
	})()`)
	b.Click("send it", `details.edit button.yes`)
	b.says("#answered .given.good .summary", `path: "other.md", content: "changed by a person"`)
	b.look("edited")
	if got := answerOf(t, answer); !strings.HasPrefix(got, `"written"`) || !there("other.md") {
		t.Errorf("the program got %s", got)
	}

	at, err := chromedp.Run(b.Ctx, chromedp.Location())
	checktest.OK(t, err)
	page, err := url.Parse(at)
	checktest.OK(t, err)
	runs(t, client, `await codemode.time__now({}); `+writesFiles("kept", 1))
	cards(1)
	b.Do("leave", chromedp.Navigate("about:blank"))
	b.Do("come back", chromedp.Navigate(page.Scheme+"://"+page.Host+page.Path))
	cards(1)
	asked := b.Text(`document.querySelector(".ask").id`)
	run := atThePage(t, h.environment).one().Run
	h.parked(run)
	h.args[len(h.args)-1] = page.Host // where the page was
	for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		checktest.OK(t, h.cmd.Process.Signal(end))
		_ = client.Close() // waits for the process
		b.says("#link", "Not connected")
		b.Until("it does not say that nothing waits",
			`[...document.querySelectorAll(".empty, .count")].every((e) => e.offsetParent === null)`)
		b.look("gone-" + end.String())
		client = h.connect()
		b.Until("the page asks for a login by itself", `document.querySelector("#secret") !== null`)
		b.look("again-" + end.String())
		b.enter(h.link())
		b.Until("the same question is there", fmt.Sprintf(`document.querySelector(".ask")?.id === %q`, asked))
	}
	b.Settle()
	b.Click("allow it", `.ask button.yes`)
	b.says(".given.good .state", "done")
	h.ended(run)
	if !there("kept0.md") {
		t.Error("the call was not made")
	}
	b.Do("history", chromedp.Navigate(page.Scheme+"://"+page.Host+"/history"))
	b.Until("the history has it", `document.querySelectorAll("tbody tr").length > 10`)
	b.look("history")
}

// Beside MCP over HTTP, where clients have tokens of two principals: the operator sees what both ask, somebody else
// what they answer for, and who runs no script gets through all the same.
func TestThePersonsWayWithoutAScript(t *testing.T) {
	t.Parallel()
	h := newHouse(t, personsProfile, "--http", "127.0.0.1:0")
	write(t, h.config, `{
		"http": {"tokens": [{"token": "${TOKEN_CI}", "principal": "ci"}, {"token": "${TOKEN_ANNA}", "principal": "anna"}]},
		"console": {"people": {"ben": {"answersFor": ["ci"]}}},
		"evaluation": {"profiles": {"p": `+personsProfile+`}, "expose": ["p"]}}`)
	const ci, anna = "cmt_ci_0123456789abcdef0123456789", "cmt_anna_0123456789abcdef0123456789"
	h.environment = append(h.environment, "TOKEN_CI="+ci, "TOKEN_ANNA="+anna)
	h.tells()
	h.start()
	b := newTab(t, "plain")
	b.Scripts(false)
	link := h.link()
	u, err := url.Parse(link)
	checktest.OK(t, err)
	origin := u.Scheme + "://" + u.Host
	as := func(token string) *mcp.ClientSession {
		t.Helper()
		s := &served{t: t, url: origin + "/mcp"}
		client, err := s.connect("2025-11-25", token, nil)
		checktest.OK(t, err)
		t.Cleanup(func() { client.Close() })
		return client
	}
	of, for2 := as(ci), as(anna)

	b.Do("open the page", chromedp.Navigate(origin+"/console/login"))
	b.look("login")
	b.Do("paste the link", chromedp.SendKeys(chromedp.CSS("#secret"), link))
	b.Click("log in", `form.login button`)
	b.Until("the page is there", `document.getElementById("pending") !== null`)
	b.look("nothing")
	home := b.Text(`document.body.dataset.base + "/"`)
	list := func(n int) {
		t.Helper()
		var got int
		var err error
		for range testwait.Polls(slowly) {
			b.Do("load the list", chromedp.Navigate(origin+home))
			if got, err = chromedp.Run(b.Ctx, chromedp.Evaluate[int](`document.querySelectorAll(".ask").length`)); err == nil &&
				got == n {
				return
			}
		}
		b.Fail(fmt.Sprintf("%d questions, want %d", got, n), err)
	}

	// done loads the list until it says that the last answer was carried out.
	done := func(what string) {
		t.Helper()
		b.Until("the answer has led back to the list", `location.search.startsWith("?said=")`)
		var got string
		var err error
		for range testwait.Polls(slowly) {
			got, err = chromedp.Run(b.Ctx,
				chromedp.Evaluate[string](`(document.querySelector("#answered .given.good")?.textContent || "").replace(/\s+/g, " ")`))
			if err == nil && strings.Contains(got, what) {
				return
			}
			b.Do("load the list", chromedp.Navigate(origin+home))
		}
		b.Fail("it does not say that this is done: "+what, err)
	}

	first := runs(t, of, writesAFile)
	second := runs(t, for2, strings.Replace(writesAFile, "a.md", "b.md", 1))
	list(2)
	b.Until("it says for whom", `(() => {
		const all = [...document.querySelectorAll(".ask .meta strong")].map((s) => s.textContent).sort();
		return all.join() === "anna,ci";
	})()`)
	b.look("two")
	ben := newTab(t, "ben")
	ben.enter(h.link("--as", "ben"))
	ben.Until("somebody else sees what they answer for",
		`document.querySelectorAll(".ask").length === 1 && document.querySelector(".ask .meta strong").textContent === "ci"`)
	ben.Settle()
	ben.Click("allow it", `article.ask button.yes`)
	ben.says(".given.good .state", "done")
	ben.look("done")
	list(1)
	b.Click("deny the other", `article.ask button.no`)
	b.says("#status", "Denied")
	b.says("#answered .given", "denied")
	b.look("denied")
	if one, two := answerOf(t, first), answerOf(t, second); !strings.HasPrefix(one, `"written"`) || !strings.Contains(two,
		"elicitation_declined") {
		t.Errorf("the programs got\n%s\n%s", one, two)
	}

	first = runs(t, of, writesFiles("five", 5))
	list(5)
	b.Click("choose one", `.row.ask:nth-of-type(2) input[type=checkbox]`)
	b.Click("and another", `.row.ask:nth-of-type(4) input[type=checkbox]`)
	b.Click("deny those", `#batch button.no:not(.sr)`)
	b.says("#status", "Denied 2 calls")
	list(3)
	b.Click("allow the others", `.answers.all button.yes`)
	b.says("#status", "Allowed 3 calls")
	done("3 calls of filesystem.write_file")
	b.look("five")
	if got := answerOf(t, first); !strings.HasPrefix(belowSummary(got),
		`"written,elicitation_declined,written,elicitation_declined,written"`) {
		t.Errorf("the program got %s", got)
	}

	first = runs(t, of, strings.Replace(writesAFile, "a.md", "c.md", 1))
	list(1)
	b.Click("show it whole", `.more a`)
	b.Click("change the arguments", `details.edit summary`)
	b.Until("there is the JSON alone",
		`document.querySelector(".fields").hidden && document.getElementById("args").offsetParent !== null`)
	set := func(to string) {
		t.Helper()
		js, err := json.Marshal(to)
		checktest.OK(t, err)
		b.Until("write JSON", `(() => { document.getElementById("args").value = `+string(js)+`; return true; })()`)
		b.Click("send it", `details.edit button.yes`)
	}
	set(`{"path": 7, "content": "x"}`)
	b.says("#edit-problem", "/path: expected")
	b.look("edit-error")
	set(`{"path": "d.md", "content": "x"}`)
	done(`filesystem.write_file path: "d.md", content: "x"`)
	if got := answerOf(t, first); !strings.HasPrefix(got, `"written"`) {
		t.Errorf("the program got %s", got)
	}
	if _, err := os.Stat(filepath.Join(h.files, "d.md")); err != nil {
		t.Error(err)
	}

	long := strings.Repeat("all of this has to be read. ", 70) + "the end"
	first = runs(t, of, fmt.Sprintf(`await codemode.filesystem__edit_file({path: "a.md", edits: [{oldText: "x", newText: %q}]}); return "edited"`, long))
	list(1)
	b.look("grave")
	code := b.Text(`document.querySelector("label.code strong").textContent`)
	b.Do("type the code", chromedp.SendKeys(chromedp.CSS(`article.ask input.code`), code))
	b.Click("allow it", `article.ask button.yes`)
	done(`filesystem.edit_file path: "a.md"`)
	if got := answerOf(t, first); !strings.HasPrefix(got, `"edited"`) {
		t.Errorf("the program got %s", got)
	}
	b.Click("log out", `form.who button:not([type=button])`)
	b.Until("the login is there", `document.querySelector("#secret") !== null`)
}

// A person watches a program at the page of a real process: its lines and calls while it runs, while it waits for them,
// and how it ended.
func TestAPersonWatchesAProgram(t *testing.T) {
	t.Parallel()
	h := newHouse(t, personsProfile, "--console", "127.0.0.1:0")
	h.tells()
	client := h.connect()
	b := newTab(t, "watch")
	b.enter(h.link())
	b.Click("look at the programs", `nav a[href$="/running"]`)
	b.Until("none runs, and the page is live",
		`document.querySelector("#none-run") !== null && document.querySelector("#link").textContent.startsWith("Live")`)
	answer := runs(t, client, `
		const steps = async (from) => {
			for (let i = from; i < from + 5; i++) {
				console.log("step " + i);
				await codemode.time__now({});
				await new Promise((r) => setTimeout(r, 300));
			}
		};
		await steps(1);
		console.warn("<b id=taken>bold</b>\nsecond line");
		await codemode.filesystem__write_file({path: "a.md", content: "x"});
		for (let watched = false; !watched; await new Promise((r) => setTimeout(r, 300))) {
			watched = await codemode.filesystem__get_file_info({path: "watched"}).then(() => true, () => false);
		}
		await steps(6);
		throw new Error("no more")`)
	lines := `[...document.querySelectorAll("#running .console .line")].map((l) => l.textContent).join("|")`
	b.Until("its lines come while it runs", `/^step 1(\|step [2-4])*$/.test(`+lines+`) &&
		document.querySelector("#running .state.good") !== null`)
	b.Until("it waits for a person", `document.querySelector("#running h2 .state.open") !== null &&
		document.querySelector("#running li .state.open").textContent === "waits for a person"`)
	b.Until("the lines are there while it waits", lines+` ===
		"step 1|step 2|step 3|step 4|step 5|<b id=taken>bold</b>\nsecond line" && document.getElementById("taken") === null`)
	b.look("waits")
	b.Click("go to the questions", `nav a[href$="/"]`)
	b.Until("the question is there", `document.querySelectorAll(".ask").length === 1`)
	b.answer(0, `.ask button.yes`)
	b.says(".given.good .state", "done")
	b.Click("look at the programs", `nav a[href$="/running"]`)
	b.Until("the page is there, and is live", `document.querySelector("#running h2") !== null &&
		document.querySelector("#link").textContent.startsWith("Live")`)
	write(t, filepath.Join(h.files, "watched"), "")
	b.Until("how it ended stays for a while, with its last lines",
		`document.querySelector("#running h2 .state.bad")?.textContent === "threw" && `+lines+`.endsWith("|step 9|step 10") &&
		document.querySelectorAll("#running li .state.good").length === 12`)
	if got := answerOf(t, answer); !strings.Contains(got, "no more") {
		t.Errorf("the program got %s", got)
	}
	b.look("ended")
}
