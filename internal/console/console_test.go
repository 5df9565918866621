package console

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/console/signin"
	"github.com/codemode-project/codemode/internal/record/audit"
)

// A page that somebody made wrongly is not made at all.
func TestNew(t *testing.T) {
	q := approvals.NewStrongQueue(ChannelName)
	for why, o := range map[string]Options{
		"no queue":                      {Origins: []string{"http://127.0.0.1:1"}},
		"no origin":                     {Queue: q},
		"an origin that is a path":      {Queue: q, Origins: []string{"http://127.0.0.1:1/x"}},
		"an origin without a scheme":    {Queue: q, Origins: []string{"127.0.0.1:1"}},
		"an origin of another kind":     {Queue: q, Origins: []string{"ftp://127.0.0.1:1"}},
		"a path that ends with a slash": {Queue: q, Origins: []string{"http://127.0.0.1:1"}, Path: "/x/"},
		"a path with a wildcard":        {Queue: q, Origins: []string{"http://127.0.0.1:1"}, Path: "/{x}"},
		"a session of no length":        {Queue: q, Origins: []string{"http://127.0.0.1:1"}, Idle: -1},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", why)
		}
	}
	c, err := New(Options{Queue: q, Origins: []string{"http://127.0.0.1:1"}})
	checktest.OK(t, err)
	c.Close()
	c.Close()
}

// Nobody gets more than they were given: without May, Sees and Admin a person has what is their own.
func TestTheZeroValueGivesLeast(t *testing.T) {
	c, err := New(Options{Queue: approvals.NewStrongQueue(ChannelName), Origins: []string{"http://127.0.0.1:1"},
		Rules: &fakeRules{}})
	checktest.OK(t, err)
	if !c.may("a", "a") || c.may("a", "b") || c.may("a", "") || c.admin("a") || len(c.sees("a")) != 1 ||
		c.sees("a")[0] != "a" {
		t.Error("somebody may do what nobody said")
	}
	c.options.Sees = func(string) ([]string, bool) { return []string{""}, false } // "" stands for everybody in a query
	if got := c.sees("a"); len(got) != 1 || got[0] != "a" {
		t.Errorf("somebody sees %q", got)
	}
}

// S2.4: one answer counts, and each that does not says why and changes nothing.
func TestAnswersThatDoNotCount(t *testing.T) {
	tests := []struct {
		why    string
		change func(*prompt.Request)
		answer func(Asked) Answered
		code   int
		want   string
	}{
		{"a made-up id", nil, func(a Asked) Answered { return Answered{ID: "q_1", Digest: a.Digest, Decision: "allow"} }, 404,
			"answered already"},
		{"no id", nil, func(a Asked) Answered { return Answered{Digest: a.Digest, Decision: "allow"} }, 404,
			"answered already"},
		{"the digest of something else", nil, func(a Asked) Answered {
			return Answered{ID: a.ID, Digest: "sha256:0",
				Decision: "allow"}
		}, 422, "not that of the open question"},
		{"no digest", nil, func(a Asked) Answered { return Answered{ID: a.ID, Decision: "deny"} }, 422,
			"not that of the open question"},
		{"no decision", nil, func(a Asked) Answered { return Answered{ID: a.ID, Digest: a.Digest} }, 422,
			"neither allow nor deny"},
		{"another word", nil, func(a Asked) Answered { return Answered{ID: a.ID, Digest: a.Digest, Decision: "yes"} }, 422,
			"neither allow nor deny"},
		{"the word in capitals", nil, func(a Asked) Answered {
			return Answered{ID: a.ID, Digest: a.Digest,
				Decision: "ALLOW"}
		}, 422, "neither allow nor deny"},
		{"a scope that was not offered", nil, func(a Asked) Answered {
			return Answered{ID: a.ID, Digest: a.Digest,
				Decision: "allow", Scope: "count"}
		}, 422, "does not offer"},
		{"other arguments where they may not be changed", nil, func(a Asked) Answered {
			return Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Args: json.RawMessage(`{}`)}
		}, 422, "does not let"},
		{"a high risk without its code", func(r *prompt.Request) { r.Risk = "high" },
			func(a Asked) Answered { return Answered{ID: a.ID, Digest: a.Digest, Decision: "allow"} }, 422, "code"},
		{"a critical risk with another code", func(r *prompt.Request) { r.Risk = "critical" }, func(a Asked) Answered {
			return Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Code: "0000"}
		}, 422, "code"},
		{"a high risk that was not seen whole", func(r *prompt.Request) {
			r.Risk, r.Args = "high", json.RawMessage(`{"x":"`+strings.Repeat("y", 40000)+`"}`)
		}, func(a Asked) Answered { return Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Code: a.Code} }, 422,
			"seen whole"},
		{"a rule proposed with a no", nil, func(a Asked) Answered {
			return Answered{ID: a.ID, Digest: a.Digest, Decision: "deny", Propose: ProposeAny}
		}, 422, "proposed"},
		{"a rule of another kind", nil, func(a Asked) Answered {
			return Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Propose: "live"}
		}, 422, "proposed"},
	}
	w := newWorld(t, signsIn)
	v := w.login(anna)
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			r := aCall()
			if test.change != nil {
				test.change(r)
			}
			answers := w.ask(r)
			a := v.pending()[0]
			v := v
			if r.Risk == call.Critical {
				v = w.enterAs("acme:anna", signin.Approver).anew(a)
			}
			if got, code := v.answer(test.answer(a)); code != test.code || got.OK || !strings.Contains(got.Error, test.want) {
				t.Errorf("got %d %+v, want %d %q", code, got, test.code, test.want)
			}
			untouched(t, w, answers)
			if _, code := v.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "deny"}); code != 200 {
				t.Errorf("denying it then: %d", code)
			}
			if x := answerOf(t, answers)[0]; x.Allowed || x.Code != call.CodeDeclined {
				t.Errorf("denied: %+v", x)
			}
			if got, code := v.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow"}); code == 200 || got.OK {
				t.Errorf("A26: a second answer: %d %+v", code, got)
			}
		})
	}
	if len(w.rules.proposed) != 0 {
		t.Errorf("proposed: %+v", w.rules.proposed)
	}
}

// A request that could be read in two ways is read in none.
func TestRequestsAreReadStrictly(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	answers := w.ask(aCall())
	a := v.pending()[0]
	for _, body := range []string{
		``, `null`, `[]`, `"x"`, `{`, `{"id":1}`, `{"id":"` + a.ID + `","digest":"` + a.Digest + `","decision":"allow"} {}`,
		`{"id":"` + a.ID + `","digest":"` + a.Digest + `","decision":"deny","decision":"allow"}`,
		`{"id":"` + a.ID + `","digest":"` + a.Digest + `","decision":"allow","also":1}`,
		`{"id":"` + a.ID + `","digest":"` + a.Digest + `","decision":"allow","args":{"x":1,"x":2}}`,
	} {
		got := v.send("POST", "/api/answer", body, "Content-Type: application/json", "X-CSRF-Token: "+v.csrf)
		if got.code < 400 || got.code >= 500 {
			t.Errorf("%s: %d %s", body, got.code, got.body)
		}
		untouched(t, w, answers)
	}
}

// S2.4 to S2.8: answers of every kind arrive as they were given.
func TestAnswersThatCount(t *testing.T) {
	edit := func(args json.RawMessage) error { return nil }
	tests := []struct {
		why    string
		change func(*prompt.Request)
		answer Answered
		check  func(approvals.Result) bool
	}{
		{"yes", nil, Answered{Decision: "allow"}, func(a approvals.Result) bool {
			return a.Allowed && a.Draft == nil &&
				a.Args == nil
		}},
		{"no", nil, Answered{Decision: "deny"}, func(a approvals.Result) bool {
			return !a.Allowed &&
				strings.Contains(a.Detail, "do not repeat it")
		}},
		{"no, with words", nil, Answered{Decision: "deny", Reason: "not\u202e today"}, func(a approvals.Result) bool {
			return !a.Allowed && a.Reason == `not\u{202E} today` && strings.Contains(a.Detail, "today")
		}},
		{"yes, for the run", nil, Answered{Decision: "allow", Scope: call.ForRun}, func(a approvals.Result) bool {
			return a.Allowed && a.Draft != nil && a.Draft.Scope == call.ForRun && a.Draft.By == anna &&
				a.Draft.Channel == ChannelName
		}},
		{"yes, with other arguments", func(r *prompt.Request) { r.Edit = edit },
			Answered{Decision: "allow", Args: json.RawMessage(`{"title": "y"}`)}, func(a approvals.Result) bool {
				return a.Allowed && string(a.Args) == `{"title":"y"}`
			}},
		{"yes to a critical call, with its code", func(r *prompt.Request) { r.Risk = "critical" },
			Answered{Decision: "allow", Code: "7f3a"}, func(a approvals.Result) bool {
				return a.Allowed && a.Proof == call.ProofSignIn
			}},
		{"yes to a large call of high risk, seen whole", func(r *prompt.Request) {
			r.Risk, r.Args = "high", json.RawMessage(`{"x":"`+strings.Repeat("y", 40000)+`"}`)
		}, Answered{Decision: "allow", Code: "7f3a", Whole: true}, func(a approvals.Result) bool { return a.Allowed }},
		{"an answer to a question of the program", func(r *prompt.Request) {
			*r = prompt.Request{Name: prompt.InquiryTool, Risk: "low", Principal: anna, Run: "r_1", Call: 1,
				Args: json.RawMessage(`{}`),
				Inquiry: &prompt.Inquiry{Question: "Which?", Options: []prompt.Option{{Label: "One"}, {Label: "Two"}},
					Multiple: true, FreeText: true}}
		}, Answered{Decision: "allow", Selected: []int{0, 1}, Text: "both"}, func(a approvals.Result) bool {
			return a.Allowed && len(a.Selected) == 2 && a.Text == "both"
		}},
	}
	w := newWorld(t, signsIn)
	v := w.login(anna)
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			r := aCall()
			if test.change != nil {
				test.change(r)
			}
			answers := w.ask(r)
			said := test.answer
			a := v.pending()[0]
			said.ID, said.Digest = a.ID, a.Digest
			v, by := v, anna
			if r.Risk == call.Critical {
				by = "acme:anna"
				v = w.enterAs(by, signin.Approver).anew(a)
			}
			if got, code := v.answer(said); code != 200 || !got.OK {
				t.Fatalf("got %d %+v", code, got)
			}
			if x := answerOf(t, answers)[0]; !test.check(x) || x.By != by || x.Channel != ChannelName {
				t.Errorf("the answer came as %+v", x)
			}
		})
	}
}

// N2: where all calls of a group come with a plan, it can be allowed with all of them, by one button.
func TestN2APlanIsAllowedWithAGroup(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	plan := func(r *prompt.Request) *prompt.Grant {
		return &prompt.Grant{ID: "g_1", Scope: call.ForRun, Principal: r.Principal, Run: r.Run, Profile: r.Profile,
			Asker: r.Asker, Rule: r.Rule, Server: r.Server,
			Name: r.Name, Definition: r.Definition, Coverage: "envelope", Envelope: &prompt.Envelope{Free: []string{"/title"}},
			Uses: 7, Created: time.Now(), Expires: time.Now().Add(time.Hour)}
	}
	calls := []*prompt.Request{aCall(), aCall(func(r *prompt.Request) { r.Call = 2 })}
	for _, r := range calls {
		r.Plan = []*prompt.Grant{plan(r)}
	}
	answers := w.ask(calls...)
	page := v.get("/").body
	if strings.Count(page, `value="allow plan"`) != 1 || !strings.Contains(page, "at most 7 times") {
		t.Fatalf("no plan is offered:\n%s", page)
	}
	open := v.pending()
	if got := v.form("/answer", "q="+open[0].ID+" "+open[0].Digest, "q="+open[1].ID+" "+open[1].Digest,
		"decision=allow plan"); got.code != 303 {
		t.Errorf("allowing it: %d", got.code)
	}
	for _, a := range answerOf(t, answers) {
		if !a.Allowed || a.Draft == nil || a.Draft.Scope != call.ForPlan {
			t.Errorf("got %+v", a)
		}
	}
	calls[1].Plan, calls[0].ID, calls[1].ID = nil, "", ""
	w.ask(calls...)
	if page := v.get("/").body; strings.Contains(page, `value="allow plan"`) {
		t.Error("a plan is offered with calls that it was not shown with")
	}
}

// D3, D6: what is cut or masked in the list is so in JSON too, and offers nothing to remember; whole it has everything.
func TestWhatIsShown(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	w.ask(aCall(func(r *prompt.Request) {
		r.Args = json.RawMessage(`{"token":"s3cr3t-value-of-a-token","title":"x"}`)
		r.Edit = func(json.RawMessage) error { return nil }
	}))
	a := v.pending()[0]
	if strings.Contains(a.Text+a.Summary, "s3cr3t") || !a.Cut || len(a.Offers) != 1 || a.Args != nil || !a.Editable {
		t.Errorf("listed: %+v", a)
	}
	if page := v.get("/").body; strings.Contains(page, "s3cr3t") || !strings.Contains(page, "Show it whole") {
		t.Error("the page shows a secret, or does not say that something is hidden")
	}
	var whole Asked
	v.get("/api/pending/" + a.ID).json(&whole)
	if !strings.Contains(whole.Text, "s3cr3t-value") || !strings.Contains(string(whole.Args), "s3cr3t") {
		t.Errorf("whole: %+v", whole)
	}
	if page := v.get("/ask/" + a.ID).body; !strings.Contains(page, "s3cr3t-value") {
		t.Error("the page of the call does not show it whole")
	}
}

// S2.3: a stream says at once what waits, and again when that has changed. F46: every open page hears of it, and one
// answer counts.
func TestStreamsOfEvents(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	type event struct {
		of    int
		count int
	}
	heard := make(chan event, 1000)
	const tabs = 20
	for tab := range tabs {
		req, err := http.NewRequestWithContext(t.Context(), "GET", w.origin+v.path+"/api/events", nil)
		checktest.OK(t, err)
		req.Header.Set("Cookie", v.cookie)
		res, err := http.DefaultClient.Do(req)
		checktest.OK(t, err)
		t.Cleanup(func() { res.Body.Close() })
		go func() {
			lines := bufio.NewScanner(res.Body)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
					var got struct{ Pending []Asked }
					_ = json.Unmarshal([]byte(data), &got)
					heard <- event{tab, len(got.Pending)}
				}
			}
		}()
	}
	all := func(count int) {
		t.Helper()
		seen := map[int]bool{}
		for len(seen) < tabs {
			select {
			case e := <-heard:
				if e.count == count {
					seen[e.of] = true
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%d of %d pages heard that %d wait", len(seen), tabs, count)
			}
		}
	}
	all(0)
	answers := w.ask(aCall())
	all(1)
	a := v.pending()[0]
	yes := 0
	codes := make(chan int, tabs)
	for range tabs {
		go func() {
			_, code := v.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow"})
			codes <- code
		}()
	}
	for range tabs {
		if code := <-codes; code == 200 {
			yes++
		} else if code != 404 && code != 409 {
			t.Errorf("a page was told %d", code)
		}
	}
	if yes != 1 {
		t.Errorf("%d answers counted", yes)
	}
	answerOf(t, answers)
	all(0)
}

// C6: who has no page open is not there; who has one is, and for a moment after it is closed: the next page may be
// loading.
func TestWhoIsThere(t *testing.T) {
	t.Parallel() // it waits
	w := newWorld(t)
	if n := w.queue.Present(); n != 0 {
		t.Errorf("%d people are there before anybody came", n)
	}
	v := w.login(anna)
	if w.queue.Present() == 0 {
		t.Error("who has just logged in is not there")
	}
	c, _ := stream(t, w, v)
	w.until("the stream has its seat", func() bool { return w.queue.Present() == 2 })
	c.Close()
	if v.form("/logout").code != 303 {
		t.Error("logging out failed")
	}
	w.until("the last page is closed for a while", func() bool { return w.queue.Present() == 0 })
}

// What became of a call that was allowed is told: to a front end that waits for it, and on the page that follows the
// answer.
func TestAnAnswerSaysWhatBecameOfTheCall(t *testing.T) {
	for name, test := range map[string]struct {
		end  call.Entry
		want Result
		page string
	}{
		"done": {
			call.Entry{State: audit.OK, Result: &call.EntryResult{Redacted: json.RawMessage(`{"number":7}`)}},
			Result{Outcome: "ok", Value: json.RawMessage(`{"number":7}`)}, "Allowed. Done: github.create_issue.",
		},
		"failed": {
			call.Entry{State: audit.Failed, Detail: "the repository is\u202e archived"},
			Result{Outcome: "error", Why: `the repository is\u{202E} archived`},
			`Allowed. Not done (error): github.create_issue: the repository is\u{202E} archived.`,
		},
		"not known yet": {call.Entry{State: audit.Running}, Result{}, "Allowed. Under way: github.create_issue."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it may wait
			w := newWorld(t)
			v := w.login(anna)
			end := test.end
			end.Kind, end.Run, end.Call, end.Principal = audit.Call, "r_8f2k", 1, anna
			checktest.OK(t, w.record.note(t.Context(), end))
			w.ask(aCall())
			a := v.pending()[0]
			got, code := v.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Wait: "500ms"})
			if code != 200 || !got.OK || got.Outcome != test.want.Outcome || string(got.Value) != string(test.want.Value) ||
				got.Why != test.want.Why {
				t.Errorf("got %d %+v, want %+v", code, got, test.want)
			}
			w.ask(aCall())
			a = v.pending()[0]
			said := v.form("/answer", "q="+a.ID+" "+a.Digest, "decision=allow once")
			if page := v.get(strings.TrimPrefix(said.header.Get("Location"), v.path)).body; !strings.Contains(page, test.page) {
				t.Errorf("the page lacks %q:\n%s", test.page, page)
			}
		})
	}
}

// S2.5: without a script, too, arguments that are wrong come back with what is wrong, and what was written is not lost.
func TestFormsWithoutAScript(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	answers := w.ask(aCall(func(r *prompt.Request) {
		r.Edit = func(args json.RawMessage) error {
			if strings.Contains(string(args), "bad") {
				return errBad
			}
			return nil
		}
	}))
	a := v.pending()[0]
	q := "q=" + a.ID + " " + a.Digest
	for args, want := range map[string]string{`{"title":"bad"}`: "a bad title", `{"title":`: "line 1", "": "not JSON"} {
		got := v.form("/answer", q, "decision=allow edited:1", "args="+args)
		if got.code != 422 || !strings.Contains(got.body, want) || args != "" && !strings.Contains(got.body, "title") {
			t.Errorf("%s: %d, want %q in\n%s", args, got.code, want, got.body)
		}
		untouched(t, w, answers)
	}
	edited := v.form("/answer", q, "decision=allow edited:1", "args={\r\n \"title\": \"good\"}")
	if edited.code != 303 {
		t.Errorf("good arguments: %d %s", edited.code, edited.body)
	}
	// next is the page that a form leads to.
	next := func(got *response) string { return v.get(strings.TrimPrefix(got.header.Get("Location"), v.path)).body }
	if x := answerOf(t, answers)[0]; string(x.Args) != `{"title":"good"}` {
		t.Errorf("got %+v", x)
	}
	if page := next(edited); !strings.Contains(page, "Allowed.") {
		t.Error("the next page does not say what was done")
	}
	if page := v.get("/").body; strings.Contains(page, "Allowed.") {
		t.Error("another page says it")
	}

	// Several at once, of which one is gone meanwhile.
	several := w.ask(aCall(), aCall(func(r *prompt.Request) { r.Call = 2 }))
	open := v.pending()
	got := v.form("/answer", "q="+open[0].ID+" "+open[0].Digest, "q="+open[1].ID+" "+open[1].Digest, "q=q_gone sha256:1",
		"decision=deny", "reason=later")
	if got.code != 303 {
		t.Errorf("several: %d", got.code)
	}
	for _, x := range answerOf(t, several) {
		if x.Allowed || x.Reason != "later" {
			t.Errorf("several: %+v", x)
		}
	}
	if page := next(got); !strings.Contains(page, "Denied 2 calls. 1 not answered:") {
		t.Error("the next page does not say what was not done")
	}
	if got = v.form("/answer", "decision=allow once"); got.code != 303 {
		t.Errorf("nothing selected: %d", got.code)
	}
	if page := next(got); !strings.Contains(page, "Nothing is selected.") {
		t.Error("nothing selected, and nothing said")
	}
	if got := v.get("/ask/" + a.ID); got.code != 404 || !strings.Contains(got.body, "Not waiting any more") {
		t.Errorf("A26: a question that is answered: %d", got.code)
	}
}

var errBad = errBadTitle{}

type errBadTitle struct{}

func (errBadTitle) Error() string { return "/title: a bad title" }

// E4: grants are listed and revoked, and that is in the record.
func TestE4Grants(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	g, err := aCall().Draft(call.Answer{Scope: call.ForTime}, time.Now())
	checktest.OK(t, err)
	checktest.OK(t, w.grants.Give(t.Context(), g))
	if page := v.get("/grants").body; !strings.Contains(page,
		`github.create_issue with exactly owner: &#34;acme&#34;, repo: &#34;web&#34;`) {
		t.Errorf("the page lists\n%s", page)
	}
	if got := v.form("/grants/revoke", "grant="+g.ID); got.code != 303 {
		t.Errorf("revoking: %d", got.code)
	}
	if left, _ := w.grants.All(t.Context(), ""); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if states := w.record.states(audit.Grant); len(states) != 1 || states[0] != "revoked "+anna {
		t.Errorf("the record has %v", states)
	}
	if got := v.form("/grants/revoke", "grant="+g.ID); got.code != 404 {
		t.Errorf("a second time: %d", got.code)
	}
}

// A person chooses on the page for how many calls and until when a yes is good, within what the profile lets them.
func TestTheNumberAndTheEndAreChosenOnThePage(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	answers := w.ask(aCall(func(r *prompt.Request) {
		r.Terms = prompt.Terms{Scopes: []call.Scope{call.ForRun}, Default: time.Hour, Max: 8 * time.Hour}
	}))
	page := v.get("/").body
	for _, field := range []string{`type="number" name="uses" min="1" max="50" value="50"`, `select name="length"`,
		`value="15m0s"`, `value="8h0m0s"`} {
		if !strings.Contains(page, field) {
			t.Errorf("the page lacks %s:\n%s", field, page)
		}
	}
	a := v.pending()[0]
	q, allow := "q="+a.ID+" "+a.Digest, "decision=allow run"
	for choice, want := range map[[2]string]string{
		{"uses=51", "length=1h"}: "50 is the most", {"uses=3", "length=9h"}: "longer than",
		{"uses=0", "length=1h"}: "number such as 10", {"uses=3", "length=soon"}: "length of time",
	} {
		if got := v.form("/answer", q, allow, choice[0], choice[1]); got.code != 422 || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d, want %q in\n%s", choice, got.code, want, got.body)
		}
		untouched(t, w, answers)
	}
	if got := v.form("/answer", q, allow, "uses=3", "length=15m0s"); got.code != 303 {
		t.Errorf("three calls: %d\n%s", got.code, got.body)
	}
	x := answerOf(t, answers)[0]
	if g := x.Draft; g == nil || g.Uses != 3 || g.Expires.Sub(g.Created) != 15*time.Minute {
		t.Errorf("got %+v", g)
	}
}

// E9, S4.6, S4.7: rules are proposed, checked and saved by those who look after them; what cannot be recorded is not
// done.
func TestRules(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	answers := w.ask(aCall())
	a := v.pending()[0]
	got, code := v.answer(Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Propose: ProposeExact})
	if code != 200 || !strings.Contains(got.Note, "decides nothing until") {
		t.Errorf("got %d %+v", code, got)
	}
	if x := answerOf(t, answers)[0]; !x.Allowed || x.Draft != nil {
		t.Errorf("the call: %+v", x)
	}
	if p := w.rules.proposed; len(p) != 1 || p[0].Profile != "supervised" || p[0].Tool != "github__create_issue" ||
		string(p[0].Args) != string(aCall().Args) || p[0].By != anna {
		t.Errorf("proposed: %+v", p)
	}
	if got := v.proved("/rules/propose", "profile=p", "tool=x__y", "list=asklist", "why=because"); got.code != 303 ||
		len(w.rules.proposed) != 2 || w.rules.proposed[1].List != "asklist" {
		t.Errorf("proposing from a link: %d", got.code)
	}
	if got := v.form("/rules/validate", "path=codemode.json", "text={"); got.code != 422 ||
		!strings.Contains(got.body, "it is not JSON") {
		t.Errorf("validating what is wrong: %d", got.code)
	}
	if got := v.form("/rules/validate", "path=codemode.json", "text={}"); got.code != 200 ||
		!strings.Contains(got.body, "not saved yet") || w.rules.text != "{}\n" {
		t.Errorf("validating: %d", got.code)
	}
	if got := v.proved("/rules/save", "path=codemode.json", "why=more", "digest=3", "text={"); got.code != 422 ||
		w.rules.text != "{}\n" {
		t.Errorf("saving what is wrong: %d", got.code)
	}
	if got := v.proved("/rules/save", "path=codemode.json", "why=more", "digest=99", "text={}"); got.code != 422 ||
		w.rules.text != "{}\n" {
		t.Errorf("saving over a file that has changed: %d", got.code)
	}
	w.record.broken = true
	if got := v.proved("/rules/save", "path=codemode.json", "why=more", "digest=3", "text={\"a\": 1}"); got.code != 422 ||
		w.rules.text != "{}\n" {
		t.Errorf("saving without a record: %d", got.code)
	}
	w.record.broken = false
	if got := v.proved("/rules/save", "path=codemode.json", "why=more", "digest=3",
		"text={\"a\": 1}\r\n"); got.code != 303 ||
		w.rules.text != "{\"a\": 1}\n" {
		t.Errorf("saving: %d %q", got.code, w.rules.text)
	}
	if got := v.proved("/rules/session", "role=reviewer", "life=1 hour"); got.code != 200 ||
		!strings.Contains(got.body, "cms_made") {
		t.Errorf("a session: %d", got.code)
	}
	made := v.get("/rules").body
	for _, want := range []string{"<option>reviewer</option>", "as far as these overlays allow it too", "sha256:made1"} {
		if !strings.Contains(made, want) {
			t.Errorf("the rules lack %q", want)
		}
	}
	if got := v.form("/rules/session/end", "id=sha256:made1"); got.code != 303 ||
		strings.Contains(v.get("/rules").body, "sha256:made1") {
		t.Errorf("ending the session: %d %s", got.code, got.body)
	}
	if got := v.form("/rules/session/end", "id=sha256:made1"); got.code != 422 {
		t.Errorf("ending it again: %d", got.code)
	}
	if got := v.proved("/rules/session", "role=reviewer", "life=1 year"); got.code != 422 {
		t.Errorf("a session that is too long: %d", got.code)
	}
	if got := v.form("/rules", "do=save", "path=codemode.json", "digest=9", "text={}"); got.code != 405 ||
		w.rules.text != "{\"a\": 1}\n" {
		t.Errorf("something else: %d", got.code)
	}
	if states := strings.Join(w.record.states(audit.Policy), ", "); states != "edited "+anna+", session "+anna+", session "+anna {
		t.Errorf("the record has %s", states)
	}
}

// G6: nobody is let in whose login cannot be recorded.
func TestLoginIsRecorded(t *testing.T) {
	w := newWorld(t)
	w.record.broken = true
	_, secret, _ := strings.Cut(w.c.Link(anna), "#")
	v := &visitor{w: w}
	if got := v.send("POST", "/login", `{"secret":"`+secret+`"}`, "Content-Type: application/json"); got.code != 500 ||
		got.header.Get("Set-Cookie") != "" {
		t.Errorf("got %d %s", got.code, got.body)
	}
}

// The lengths of a grant count from the answer, so an offer names no end: the page may be open for hours before.
func TestOffersSayHowLongNotUntilWhen(t *testing.T) {
	w := newWorld(t)
	v := w.login(anna)
	w.ask(aCall(func(r *prompt.Request) {
		r.Terms = prompt.Terms{Scopes: []call.Scope{call.ForRun, call.ForTime}, Default: 5 * time.Minute, Max: time.Hour}
	}))
	page := v.get("/").body
	if !strings.Contains(page, "from your answer on, for") || !strings.Contains(page, ">5 minutes</option>") ||
		strings.Contains(page, "(5 minutes)") {
		t.Errorf("the page:\n%s", page)
	}
}
