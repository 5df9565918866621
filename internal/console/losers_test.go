package console

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// decided is what the record says of a question that somebody else has answered.
func (w *world) decided(r *prompt.Request, state, how, by, channel string) {
	w.t.Helper()
	if err := w.record.note(w.t.Context(), call.Entry{Kind: audit.Approval, State: state, Run: r.Run, Call: r.Call,
		Principal: r.Principal, Tool: r.Name,
		DecidedBy: &call.DecidedBy{How: how, Principal: by, Channel: channel}}); err != nil {
		w.t.Fatal(err)
	}
}

// winsAgainst answers an open question, as somebody else.
func (w *world) winsAgainst(r *prompt.Request) {
	w.t.Helper()
	seat := w.queue.Sit("local:ben")
	defer seat.Leave()
	for _, o := range seat.Pending() {
		if o.Request.Run != r.Run {
			continue
		}
		if err := seat.Answer(o.Request.ID, o.Request.Digest, "", call.Answer{}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// Who loses against another answer, or whose question closes by itself, is told how it was closed, by whom if they may
// know that, on the list, in the answer and on the page of the question.
func TestWhoLosesIsToldWhoWon(t *testing.T) {
	for _, test := range []struct{ why, state, how, by, channel, want string }{
		{"a yes", call.Allowed, call.ByPerson, "local:ben", "web", "allowed by local:ben over web"},
		{"a no", call.CodeDeclined, call.ByPerson, "local:ben", "terminal", "denied by local:ben over terminal"},
		{"the end of its time", call.CodeTimeout, call.ByNobody, "", "", "nobody answered in time"},
		{"the end of its run", call.CodeCanceled, call.ByNobody, "", "", "the question was closed, or the program ended"},
	} {
		t.Run(test.why, func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.May = func(string, string) bool { return true } })
			r := aCall()
			w.ask(r)
			v, blind := w.login(anna), w.login("local:carl") // who sees no entries of Anna's
			a := v.pending()[0]
			blind.get("/")
			w.winsAgainst(r)
			if got, code := v.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow"}); code != 404 || got.Error != errGone {
				t.Errorf("before the record has it: %d %s", code, got.Error)
			}
			w.decided(r, test.state, test.how, test.by, test.channel)
			if got, _ := v.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow"}); got.Error != errGone+": "+test.want {
				t.Errorf("the answer is %s", got.Error)
			}
			if got := v.get("/ask/" + a.ID); got.code != 404 || !strings.Contains(got.body, test.want) {
				t.Errorf("the page of the question: %d\n%s", got.code, got.body)
			}
			for range 2 { // also when the page is loaded again
				if got := v.get("/").body; strings.Count(got, `data-for="`+a.ID+`"`) != 1 || !strings.Contains(got, test.want) {
					t.Errorf("the list lacks %q:\n%s", test.want, got)
				}
			}
			got := blind.get("/").body
			hidden := strings.ReplaceAll(strings.ReplaceAll(test.want, "local:ben over web", "somebody else"),
				"local:ben over terminal", "somebody else")
			if !strings.Contains(got, hidden) || strings.Contains(got, "local:ben") {
				t.Errorf("somebody without the entries reads\n%s", got)
			}
			if got := w.login("local:dora").get("/").body; strings.Contains(got, a.ID) {
				t.Error("somebody who never saw the question is told of it")
			}
		})
	}
}

// What a person answers is not also told as answered by others, however the answer was sent.
func TestOwnAnswersAreNotOfOthers(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	for i, send := range []func(a Asked){
		func(a Asked) { v.form("/answer", "q="+a.ID+" "+a.Digest, "decision=deny") },
		func(a Asked) { v.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "deny"}) },
	} {
		w.ask(aCall(func(r *prompt.Request) { r.Call = i + 1 }))
		v.get("/")
		send(v.pending()[0])
		if got := v.get("/").body; strings.Contains(got, "not answered here") {
			t.Errorf("answer %d is told as that of others:\n%s", i, got)
		}
	}
}

// The card of a question that somebody else answers becomes a line that says so, in its place.
func TestALostCardLeavesALine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBrowser(t)
	first, second := aCall(), aCall(func(r *prompt.Request) { r.Run, r.Call = "r_other", 2 })
	w.ask(first)
	w.ask(second)
	b.Do("log in", chromedp.Navigate(w.c.Link(anna)))
	b.Until("both are there", `document.querySelectorAll("article.ask").length === 2`)
	b.Until("the page is live", `document.getElementById("link").textContent.startsWith("Live")`)
	w.winsAgainst(first)
	b.Until("a line is in the place of the card", `document.querySelectorAll("article.ask").length === 1 &&
		document.querySelector("#pending > .given .state")?.textContent === "closed" &&
		(document.querySelector("#pending > .given").compareDocumentPosition(document.querySelector("article.ask")) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0`)
	w.decided(first, call.CodeDeclined, call.ByPerson, "local:ben", "web")
	b.Until("it says who was faster",
		`document.querySelector("#pending > .given .state")?.textContent === "denied by local:ben over web"`)
	b.Shot("lost-card")
}
