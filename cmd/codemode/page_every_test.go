//go:build unix

package main

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// varying is a part of a path that names one of many: a run, a session, a question, a profile.
var varying = regexp.MustCompile(`/(run|ask|profile|sessions|history|records|servers|s)/[^/?]+`)

// Every page to which a link leads, with a question waiting and something in each list, fits a phone and a wide screen,
// has nothing that axe-core finds (make axe), and lets a person reach all that can be used by Tab, and see where they
// are. Of pages that differ only in what they show, one stands for all.
func TestEveryPageFitsAndWorksByKeyboard(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{}`, "--console", "127.0.0.1:0")
	write(t, h.config, `{
		// what people look at
		"evaluation": {"defaultProfile": "p", "expose": ["p"], "profiles": {
			"p": {"asklist": [{"id": "write", "tool": "filesystem__write_file", "reason": "changes files"}],
				"denylist": ["filesystem__move_file"], "allowlist": ["filesystem__*", "time__*"],
				"remember": {"scopes": ["run", "time"]}},
			"other": {"allowlist": ["time__*"]}}},
		"sessions": {}, "builtin": {"time": true}}`)
	h.tells()
	client := h.connect()
	for _, arguments := range []map[string]any{
		{"code": `var kept = 1; return await codemode.time__now({})`, "session": "work"},
		{"code": `return await codemode.filesystem__move_file({source: "a", destination: "b"}).catch((e) => e.reason)`},
		{"code": `throw new TypeError("nothing works")`},
	} {
		if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "codemode_eval_p", Arguments: arguments}); err != nil {
			t.Fatal(err)
		}
	}
	b := newTab(t, "every")
	b.enter(h.link())
	answer := runs(t, client, writesAFile)
	b.Until("the question is there", `document.querySelectorAll(".ask").length === 1`)
	first := b.Text(`document.body.dataset.base + "/"`)
	origin := b.Text(`location.origin`)
	known, next := map[string]bool{varying.ReplaceAllString(first, "/$1/x"): true}, []string{first}
	for len(next) > 0 {
		path := next[0]
		next = next[1:]
		name := pageName(first, path)
		b.Do("go to "+path, chromedp.Navigate(origin+path))
		b.Until(name+" is there", `document.querySelector("main h1, main h2") !== null`)
		b.lookAt(name, 390, 1440)
		b.walk(name)
		links, err := chromedp.Run(b.Ctx, chromedp.Evaluate[[]string](`[...document.querySelectorAll("a[href]")].filter(
			(a) => a.origin === location.origin && !a.hash && !a.download).map((a) => a.pathname + a.search)`))
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range links {
			shape := varying.ReplaceAllString(strings.SplitN(link, "?", 2)[0], "/$1/x")
			if !strings.HasPrefix(link, first) || known[shape] || strings.Contains(link, "/api/") {
				continue
			}
			known[shape] = true
			next = append(next, link)
		}
	}
	var names []string
	for shape := range known {
		names = append(names, pageName(first, shape))
	}
	slices.Sort(names)
	t.Logf("%d pages: %s", len(names), strings.Join(names, ", "))
	for _, want := range []string{"start", "ask-x", "grants", "history", "rules", "rules-profile-x", "running", "sessions"} {
		if !slices.Contains(names, want) {
			t.Errorf("no link leads to %s", want)
		}
	}
	b.Do("back to the questions", chromedp.Navigate(origin+first))
	b.Until("the question is still there", `document.querySelectorAll(".ask").length === 1`)
	b.Settle()
	b.answer(0, `.ask button.no`)
	if got := answerOf(t, answer); !strings.HasPrefix(got, `"declined"`) && !strings.Contains(got, "declined") {
		t.Errorf("the program got %s", got)
	}
	if _, err := os.Stat(filepath.Join(h.files, "a.md")); err == nil {
		t.Error("the file was written")
	}
}

// pageName is that of a page in messages and pictures.
func pageName(first, path string) string {
	path, _ = url.PathUnescape(strings.SplitN(path, "?", 2)[0])
	path = varying.ReplaceAllString(path, "/$1/x")
	path = strings.TrimPrefix(path, varying.ReplaceAllString(first, "/$1/x"))
	if path == "" {
		return "start"
	}
	return strings.ReplaceAll(path, "/", "-")
}

// usable are the things on a page that a person uses; of radio buttons of a group, Tab reaches one.
const usable = `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0'], [contenteditable=true]")].filter(
	(e, i, all) => !e.disabled && e.tabIndex >= 0 && e.checkVisibility({visibilityProperty: true}) && !(e.type === "radio" &&
		(all.some((o) => o.type === "radio" && o.name === e.name && o.form === e.form && o.checked) ? !e.checked :
			all.findIndex((o) => o.type === "radio" && o.name === e.name && o.form === e.form) !== i)))`

// walk presses Tab from the top of the page to its end. It must reach everything that can be used, each once and in the
// order of the page, and show where it is.
func (b *tab) walk(name string) {
	b.T.Helper()
	count, err := chromedp.Run(b.Ctx, chromedp.Evaluate[int](`(() => {
		document.activeElement.blur();
		getSelection().removeAllRanges();
		window.walked = [];
		window.usables = `+usable+`;
		addEventListener("focusin", (event) => walked.push(event.target));
		return usables.length;
	})()`))
	if err != nil || count < 5 {
		b.T.Fatalf("%s has %d things to use: %v", name, count, err)
	}
	var steps []chromedp.Action[chromedp.Void]
	for range count + 3 {
		steps = append(steps, chromedp.KeyEvent(kb.Tab))
	}
	b.Do("walk over "+name, steps...)
	problems, err := chromedp.Run(b.Ctx, chromedp.Evaluate[string](`(() => {
		const out = [], say = (e) => e.outerHTML.slice(0, 100);
		for (const e of usables) if (e.isConnected && !walked.includes(e)) out.push("Tab does not reach " + say(e));
		for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) out.push("out of order: " + say(e));
		for (const e of usables) {
			if (!e.isConnected) continue;
			e.focus();
			const s = getComputedStyle(e), r = e.getBoundingClientRect();
			const shown = s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0 || s.boxShadow !== "none";
			if (e.matches(":focus-visible") && !shown && !e.matches(".cm-content")) out.push("nothing shows the focus of " + say(e));
			if (r.width < 1 || r.height < 1) out.push("nobody sees " + say(e));
		}
		document.activeElement.blur();
		return out.join("\n");
	})()`))
	if err != nil || problems != "" {
		b.T.Errorf("%s by keyboard: %v\n%s", name, err, problems)
	}
}
