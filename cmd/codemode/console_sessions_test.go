//go:build unix

package main

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/testwait"
)

// A person looks at the sessions of their programs, without a script of the page: what is declared, and what waits for
// an answer. They fork, roll back and delete, and the record says so.
func TestSessionsInABrowser(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{}`, "--console", "127.0.0.1:0")
	write(t, h.config, `{"sessions": true,
		"evaluation": {"profiles": {"p": {"asklist": ["filesystem__*"]}}, "expose": ["p"]}}`)
	run := func(session, code string) string {
		t.Helper()
		out, err := h.command("run", "--config", h.config, "--profile", "p", "--root", h.files, "--session", session,
			"-e", code)
		if err != nil {
			t.Fatalf("%s: %v\n%s", code, err, out)
		}
		return out
	}
	run("work", `let n = 1; class Box { #v = 2 } const box = new Box(), rates = new Map(); return n`)
	run("work", `n = 2; globalThis["<img src=x onerror=document.title='taken'>\u202e"] = 1; return n`)
	client := h.connect()
	b := newTab(t, "sessions")
	b.enter(h.link())
	b.Scripts(false)
	b.Click("the sessions", `nav a[href$="/sessions"]`)
	b.says("table", "work")
	b.look("list")
	b.Click("the session", `td a[href*="/sessions/"]`)
	b.says("h1", "Session work")
	for _, want := range []string{"nletnumber", "boxconstBox", "ratesconstMap",
		"<img src=x onerror=document.title='taken'>"} {
		b.says("section[aria-labelledby=declared]", want)
	}
	b.Until("no name is an element, and none turns text around",
		`document.querySelector("main img") === null && document.title !== "taken" &&
			!document.body.textContent.includes("\u202e")`)
	b.look("one")

	b.Click("roll back", `a[href$="/rollback?version=1"]`)
	b.says("main", "Make the session work what it was at version 1")
	b.look("roll-back")
	b.Click("yes", `button.yes`)
	b.says("#status", "The session work is as it was at version 1; that is its version 3.")
	if out := run("work", `return n`); !strings.HasPrefix(out, "1\n") {
		t.Errorf("after the rollback: %s", out)
	}
	b.Click("fork", `a[href$="/fork?version=2"]`)
	b.Do("a name", chromedp.SendKeys(chromedp.CSS(`#as`), "try"))
	b.look("fork")
	b.Click("yes", `button.yes`)
	b.says("#status", "The session try is a fork of work at version 2.")
	if out := run("try", `return n`); !strings.HasPrefix(out, "2\n") {
		t.Errorf("in the fork: %s", out)
	}
	b.Click("the sessions", `nav a[href$="/sessions"]`)
	b.Until("the fork is there", `(() => { const a = [...document.querySelectorAll("td a")]
		.find((a) => a.textContent === "work");
		if (a) location.href = a.href; return a !== undefined; })()`)
	b.says("h1", "Session work")
	b.Click("delete", `a[href$="/delete"]`)
	b.says("h1", "Delete the session work?")
	b.look("delete")
	b.Click("yes", `main button.no`)
	b.says("#status", "The session work is deleted, with all its versions.")
	b.Until("only the fork is left", `document.querySelectorAll("tbody tr").length === 1`)
	out, err := h.command("audit", "list", "--kind", "session")
	if err != nil || strings.Count(out, "by=person/web") != 3 {
		t.Errorf("the record says (%v)\n%s", err, out)
	}

	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = client.CallTool(ctx, &mcp.CallToolParams{Name: "codemode_eval_p", // it is canceled
			Arguments: map[string]any{"code": writesAFile, "session": "try"}})
	}()
	defer func() { cancel(); <-over }()
	waits := false
	for range testwait.Polls(slowly) {
		b.Click("the sessions", `nav a[href$="/sessions"]`)
		b.says("h1", "Sessions")
		if waits, err = chromedp.Run(b.Ctx, chromedp.Evaluate[bool](`
			document.querySelector("td a[href*='/run/r_']") !== null &&
			document.querySelector("td .state.open").textContent === "waits for a person"`)); err == nil && waits {
			break
		}
	}
	if !waits {
		b.Fail("the session does not say that its program waits", err)
	}
	b.look("busy")
}
