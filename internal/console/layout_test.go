package console

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// fits holds that nothing on the page is cut off or runs out of what it stands in.
func (b *browser) fits(what string) {
	b.T.Helper()
	out, err := chromedp.Run(b.Ctx, chromedp.Evaluate[string](`(() => {
		const out = [];
		if (document.documentElement.scrollWidth > innerWidth) out.push("the page is " + document.documentElement.scrollWidth + " wide");
		const seen = (e) => !e.closest(".sr") && e.getClientRects().length > 0;
		for (const card of document.querySelectorAll("article.ask, section.group, .grants li")) {
			const box = card.getBoundingClientRect();
			for (const e of card.querySelectorAll("button, input:not([type=hidden]), select, textarea, p, h2, pre, label")) {
				const r = e.getBoundingClientRect();
				if (seen(e) && (r.right > box.right + 1 || r.left < box.left - 1)) out.push(e.tagName + " ." + e.className + " runs out of its card");
				if (seen(e) && e.matches("button, p, h2, label") && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline") out.push(e.tagName + " ." + e.className + " is cut");
				if (seen(e) && e.matches("input[name=reason], button") && r.width < 60) out.push(e.tagName + " ." + e.className + " is squeezed to " + r.width);
			}
		}
		return out.join("\n");
	})()`))
	if err != nil || out != "" {
		b.T.Errorf("%s: %v\n%s", what, err, out)
	}
}

// argumentsLead holds that nothing on a card is set larger than its arguments.
func (b *browser) argumentsLead(what string) {
	b.T.Helper()
	out, err := chromedp.Run(b.Ctx, chromedp.Evaluate[string](`(() => {
		const size = (e) => parseFloat(getComputedStyle(e).fontSize), out = [];
		for (const card of document.querySelectorAll("article.ask:not(.asks)")) {
			const args = [...card.querySelectorAll(".args pre")].find((e) => e.getClientRects().length > 0);
			if (!args) { out.push("there are no arguments"); continue; }
			for (const e of card.querySelectorAll("header *, .notes pre, .facts-line")) {
				if (size(e) > size(args) && e.getClientRects().length > 0 && !e.matches("input, .sr")) out.push(e.tagName + " ." + e.className + " is larger than the arguments");
			}
			const text = card.querySelector(".meta").textContent;
			for (const want of ["for ", "profile ", "asked ", "waits until "]) if (!text.includes(want)) out.push("the card does not say " + want);
		}
		return out.join("\n");
	})()`))
	if err != nil || out != "" {
		b.T.Errorf("%s: %v\n%s", what, err, out)
	}
}

var plannedCall = prompt.PlannedCall{
	Call: &prompt.Request{
		Server: "github", Tool: "add_a_label_to_an_issue", Name: "github__add_a_label_to_an_issue_of_a_repository",
		Profile: "supervised", Principal: anna,
		Risk: "medium", Args: json.RawMessage(`{"label":"broken link"}`),
		Terms: prompt.Terms{Scopes: []call.Scope{call.ForRun}},
	},
	Envelope: prompt.Envelope{Fixed: []prompt.Value{{Pointer: "/label", JSON: `"broken link"`}}, Free: []string{"/issue"}},
	Count:    45,
}

// On every usual screen, in both colours and without a script, each card shows all of itself, the arguments first, for
// whom it asks and until when it waits, and axe-core finds nothing.
func TestThePageFitsEveryScreen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	history(w)
	plan, err := prompt.PlanGrants([]prompt.PlannedCall{plannedCall}, "r_8f2k", time.Now())
	checktest.OK(t, err)
	w.ask(aCall(func(r *prompt.Request) { r.Run, r.Edit = "r_one", func(json.RawMessage) error { return nil } }))
	var calls []*prompt.Request
	for i := range 3 {
		calls = append(calls, aCall(func(r *prompt.Request) {
			r.Call, r.Code, r.Plan = i+1, fmt.Sprintf("1%03x", i), plan
			r.Args = json.RawMessage(fmt.Sprintf(`{"owner":"acme","repo":"web","title":"Broken link %d"}`, i+1))
		}))
	}
	w.ask(calls...)
	w.ask(aCall(func(r *prompt.Request) {
		r.Server, r.Tool, r.Name, r.Rule, r.Risk, r.Run = "pay", "create", "pay__create", "big-payment", "high", "r_high"
		r.Args = json.RawMessage(`{"amount":{"value":"12000.00","currency":"EUR"},"to":"Acme Ltd \u202e","note":"` +
			strings.Repeat("all of this has to be read. ", 70) + `"}`)
	}))
	for _, scope := range []call.Scope{call.ForRun, call.ForTime} {
		g, err := aCall().Draft(call.Answer{Scope: scope}, time.Now())
		if err == nil {
			err = w.grants.Give(t.Context(), g)
		}
		checktest.OK(t, err)
	}
	for _, script := range []bool{true, false} {
		b := newBrowser(t)
		b.Do("log in", chromedp.Navigate(w.c.Link(anna)))
		b.Until("the page is there", `document.querySelectorAll("article.ask").length === 2`)
		here := b.Text(`document.body.dataset.base`)
		b.Until("the script has done what it begins with", `document.getElementById("link").textContent.startsWith("Live")`)
		if !script {
			b.Scripts(false)
		}
		id := w.login(anna).pending()[0].ID
		for _, page := range []string{"/", "/ask/" + id, "/grants", "/history"} {
			b.Do("look at "+page, chromedp.Navigate(w.origin+here+page))
			for _, width := range []int64{390, 768, 1280, 1440} {
				b.Size(width, 900)
				name := fmt.Sprintf("%s-%d-script-%t", strings.Split(page+"list", "/")[1], width, script)
				b.fits(name)
				if page == "/" || strings.HasPrefix(page, "/ask") {
					b.argumentsLead(name)
				}
				for _, dark := range []bool{false, true} {
					b.Dark(dark)
					if script {
						b.Accessible(fmt.Sprintf("%s dark %t", name, dark))
					}
					b.Shot(fmt.Sprintf("%s-dark-%t", name, dark))
				}
			}
		}
	}
}

// Who checks the rules and then logs out is asked for a login; the form that was checked is not sent again.
func TestLoggingOutSendsNoFormAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBrowser(t)
	b.Do("log in", chromedp.Navigate(w.c.Link(anna)))
	b.Until("the page is there", `document.querySelector(".empty") !== null`)
	b.Until("its script has run, so that the login page finds the way back",
		`document.getElementById("link").textContent.startsWith("Live")`)
	b.Do("the rules", chromedp.Navigate(w.origin+"/rules"), chromedp.WaitVisible(chromedp.CSS(".editor")))
	b.Do("check them", chromedp.Click(chromedp.CSS(`section.file button.plain`)))
	b.Until("they are checked", `document.getElementById("status").textContent.includes("has no problems")`)
	b.Until("the page follows what happens", `document.getElementById("link").textContent.startsWith("Live")`)
	checks := w.rules.checked.Load()
	w.c.logins.end(w.session(anna)) // as another tab does in which somebody logs out
	b.Until("the login is there", `document.querySelector("#secret") !== null`)
	if n := w.rules.checked.Load(); n != checks || checks != 1 {
		t.Errorf("the form was sent %d times", n)
	}
	b.Until("it leads back to the rules",
		`document.querySelector("input[name=to]") !== null && location.pathname.endsWith("/rules")`)
}

// session is that of a person.
func (w *world) session(person string) *session {
	w.t.Helper()
	all := w.c.logins.ofPerson(person)
	if len(all) != 1 {
		w.t.Fatalf("%s has %d sessions", person, len(all))
	}
	return all[0]
}

// What was done is read on the page that follows, whatever else loads pages meanwhile, and news does not take it away.
func TestWhatWasDoneIsSaidWhereItIsRead(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	w.ask(aCall())
	a := v.pending()[0]
	got := v.proved("/answer/propose", "q="+a.ID+" "+a.Digest, "decision=allow propose:exact")
	to := got.header.Get("Location")
	if got.code != 303 || !strings.Contains(to, "?said=") {
		t.Fatalf("answered: %d %s", got.code, to)
	}
	if other := v.get("/"); strings.Contains(other.body, "A rule was proposed") {
		t.Error("a page that was loaded for something else says it")
	}
	if page := v.get(strings.TrimPrefix(to, v.path)); !strings.Contains(page.body, "A rule was proposed") {
		t.Error("the page that follows does not say that a rule was proposed")
	}
}

// History says in words what became of a call, who it was for, and in which zone the times are.
func TestHistorySpeaksToPeople(t *testing.T) {
	w := newWorld(t)
	add := func(e call.Entry) {
		checktest.OK(t, w.record.note(t.Context(), e))
	}
	for i, reason := range []string{
		"denied", "bad_arguments", "limit", "policy_changed", "elicitation_declined", "elicitation_unsupported",
		"no_approver", "timeout", "canceled",
		"too_many_asks", "too_many_refusals", "invalid_decision",
	} {
		add(call.Entry{Kind: audit.Call, State: audit.Refused, Run: "r_1", Call: i + 1, Principal: anna,
			Tool: "fs__write", Reason: reason})
		add(call.Entry{Kind: audit.Approval, State: reason, Run: "r_1", Call: i + 1, Principal: anna,
			Tool: "fs__write", Detail: "not today"})
	}
	add(call.Entry{Kind: audit.Call, State: audit.Running, Run: "r_1", Call: 99, Principal: anna, Tool: "fs__write",
		DecidedBy: &call.DecidedBy{How: "definition_changed"}})
	v := w.login(anna)
	for _, page := range []string{v.get("/history").body, v.get("/run/r_1").body} {
		if at := strings.Index(page, "_"); strings.Contains(page, "elicitation") ||
			strings.Contains(page, "policy_changed") || strings.Contains(page, "no_approver") ||
			strings.Contains(page, "too_many") || strings.Contains(page, "bad_arguments") ||
			strings.Contains(page, "definition_changed") || at < 0 {
			t.Errorf("it shows codes:\n%s", page)
		}
		for _, want := range []string{"a person said no", "nobody answered in time", "not today", "for " + anna,
			`id="zone"`} {
			if !strings.Contains(page, want) {
				t.Errorf("it lacks %q", want)
			}
		}
	}
}
