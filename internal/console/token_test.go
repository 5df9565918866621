package console

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/record/audit"
)

const (
	annasAnswers = "the-token-with-which-anna-answers"
	evesAnswers  = "the-token-with-which-eve-answers"
)

// withTokens is a page at which Anna and Eve answer with tokens too. Eve answers for ci besides herself.
func withTokens(t *testing.T, change ...func(*Options)) *world {
	return newWorld(t, append([]func(*Options){func(o *Options) {
		o.Bearer = func(_ *http.Request, token string) (string, int, string) {
			switch token {
			case annasAnswers:
				return "anna", 0, ""
			case evesAnswers:
				return "eve", 0, ""
			}
			return "", http.StatusUnauthorized, "this token is not known"
		}
		o.May = func(person, principal string) bool { return person == "eve" && principal == "ci" }
	}}, change...)...)
}

// byTokenOf sends what a program sends: no cookie, no path of a session, no X-CSRF-Token.
func (w *world) byTokenOf(token, method, path, body string, headers ...string) *response {
	w.t.Helper()
	if method == "POST" {
		headers = append(headers, "Content-Type: application/json")
	}
	return (&visitor{w: w}).send(method, path, body, append(headers, "Authorization: Bearer "+token)...)
}

func (w *world) seenBy(token string) (list []Asked) {
	w.t.Helper()
	var got struct{ Pending []Asked }
	w.byTokenOf(token, "GET", "/api/pending", "").json(&got)
	return got.Pending
}

func (w *world) answeredBy(token string, a Answered) (Result, int) {
	w.t.Helper()
	js, err := json.Marshal(a)
	checktest.OK(w.t, err)
	got := w.byTokenOf(token, "POST", "/api/answer", string(js))
	var result Result
	got.json(&result)
	return result, got.code
}

func of(principal string, change ...func(*prompt.Request)) *prompt.Request {
	return aCall(append([]func(*prompt.Request){func(r *prompt.Request) {
		r.Principal, r.Run = principal,
			"r_"+principal
	}}, change...)...)
}

func risky(risk string) func(*prompt.Request) {
	return func(r *prompt.Request) { r.Risk = call.Risk(risk) }
}

// A token sees and answers what its principal may answer; everything else is as if it were not there.
func TestATokenAnswersForItsPrincipalAlone(t *testing.T) {
	w := withTokens(t)
	annas, cis := w.ask(of("anna")), w.ask(of("ci"))
	w.ask(of("bert"))
	list := w.seenBy(annasAnswers)
	if len(list) != 1 || list[0].Principal != "anna" {
		t.Fatalf("anna sees %+v", list)
	}
	var ci Asked
	for _, a := range w.seenBy(evesAnswers) {
		if a.Principal != "ci" {
			t.Errorf("eve sees a question of %s", a.Principal)
		}
		ci = a
	}
	if got := w.byTokenOf(annasAnswers, "GET", "/api/pending/"+ci.ID, ""); got.code != 404 ||
		strings.Contains(got.body, "acme") {
		t.Errorf("the question of another principal: %d %s", got.code, got.body)
	}
	for _, decision := range []string{"allow", "deny"} {
		if got, code := w.answeredBy(annasAnswers, Answered{ID: ci.ID, Digest: ci.Digest, Decision: decision}); code != 404 ||
			got.OK {
			t.Errorf("%s for another principal: %d %+v", decision, code, got)
		}
	}
	if got := w.byTokenOf(annasAnswers, "GET", "/api/pending/"+list[0].ID, ""); got.code != 200 ||
		!strings.Contains(got.body, "acme") {
		t.Errorf("its own question: %d %s", got.code, got.body)
	}
	if got, code := w.answeredBy(annasAnswers, Answered{ID: list[0].ID, Digest: list[0].Digest,
		Decision: "allow"}); code != 200 || !got.OK {
		t.Errorf("its own question: %d %+v", code, got)
	}
	if got := answerOf(t, annas)[0]; !got.Allowed || got.By != "anna" || got.Channel != ChannelName {
		t.Errorf("the answer is %+v", got)
	}
	if got, code := w.answeredBy(evesAnswers, Answered{ID: ci.ID, Digest: ci.Digest, Decision: "deny"}); code != 200 ||
		!got.OK {
		t.Errorf("eve for ci: %d %+v", code, got)
	}
	answerOf(t, cis)
}

// A token that an agent holds must not approve what the agent does at the highest risk: neither its own calls, nor
// those of others unless the configuration says for whom its principal answers. To deny is always possible.
func TestATokenDoesNotApproveItsOwnCriticalCalls(t *testing.T) {
	for _, test := range []struct {
		name, principal, risk string
		vouched               bool
		decision              string
		status                int
		says                  string
	}{
		{"its own, critical", "eve", "critical", true, "allow", 403, "its own principal"},
		{"its own, of a risk that nobody knows", "eve", "catastrophic", true, "allow", 403, "its own principal"},
		{"its own, critical, denied", "eve", "critical", true, "deny", 200, ""},
		{"its own, high", "eve", "high", false, "allow", 200, ""},
		{"of another, critical", "ci", "critical", false, "allow", 403, "the configuration says"},
		{"of another for whom the page's rules say that it answers", "ci", "critical", true, "allow", 200, ""},
	} {
		w := withTokens(t, func(o *Options) {
			o.Vouched = func(person, principal string) bool { return test.vouched }
		})
		w.login(anna) // somebody has to be there who may approve it
		answers := w.ask(of(test.principal, risky(test.risk)))
		a := w.seenBy(evesAnswers)[0]
		said := Answered{ID: a.ID, Digest: a.Digest, Decision: test.decision, Code: a.Code, Whole: true}
		got, code := w.answeredBy(evesAnswers, said)
		if code != test.status || got.OK != (test.status == 200) || !strings.Contains(got.Error, test.says) {
			t.Errorf("%s: %d %+v", test.name, code, got)
		}
		if test.status == 200 {
			answerOf(t, answers)
			continue
		}
		if len(w.seenBy(evesAnswers)) != 1 {
			t.Errorf("%s: the question is gone", test.name)
		}
		if states := w.record.states(audit.Access); !slices.Contains(states, "refused eve") {
			t.Errorf("%s: the record has %q", test.name, states)
		}
		said.Scope = call.ForRun
		if got, code := w.answeredBy(evesAnswers, said); code == 200 || got.OK {
			t.Errorf("%s, for the run: %d %+v", test.name, code, got)
		}
	}
}

// A token that cannot approve a question is nobody who is there for it.
func TestATokenIsNotThereForWhatItCannotApprove(t *testing.T) {
	w := withTokens(t)
	w.seenBy(annasAnswers)
	got := w.desk.AskAll(t.Context(), []*prompt.Request{of("anna", risky("critical"))}, []approvals.Channel{w.queue},
		approvals.Options{Timeout: 5 * time.Second})
	if got[0].Allowed || got[0].Code == call.CodeTimeout {
		t.Errorf("got %+v", got[0])
	}
	w.until("the question is gone", func() bool { return w.waiting() == 0 })
	answers := w.ask(of("anna", risky("high"), func(r *prompt.Request) { r.Run = "r_other" }))
	a := w.seenBy(annasAnswers)[0]
	if got, code := w.answeredBy(annasAnswers, Answered{ID: a.ID, Digest: a.Digest, Decision: "deny"}); code != 200 {
		t.Errorf("%d %+v", code, got)
	}
	answerOf(t, answers)
}

// Where a profile wants somebody else to answer than who asked, a token is nobody else.
func TestATokenIsNobodyElse(t *testing.T) {
	w := withTokens(t)
	go w.desk.AskAll(t.Context(), []*prompt.Request{of("anna")}, []approvals.Channel{w.queue, silent{}},
		approvals.Options{Timeout: time.Minute, OtherOnly: true})
	w.until("the call waits", func() bool { return w.waiting() == 1 })
	a := w.seenBy(annasAnswers)[0]
	for _, decision := range []string{"allow", "deny"} {
		if got, code := w.answeredBy(annasAnswers, Answered{ID: a.ID, Digest: a.Digest, Decision: decision}); code != 403 ||
			got.OK {
			t.Errorf("%s: %d %+v", decision, code, got)
		}
	}
}

// A token reaches the API and nothing else of the page, whatever a request looks like.
func TestATokenReachesNothingElse(t *testing.T) {
	w := withTokens(t)
	w.ask(of("anna"))
	open := map[string]bool{}
	for _, x := range w.c.inside() {
		path := strings.NewReplacer("{$}", "", "{id}", "q_none", "{name}", "work", "{run}", "r_none", "{action}", "delete",
			"{kind}", "runs").Replace(x.path)
		if path == "/api/events" || path == "/api/entries/events" {
			open[x.method+" "+x.path] = x.token // TestEventsOfATokenEndWithIt
			continue
		}
		got := w.byTokenOf(annasAnswers, x.method, path, "{}")
		if got.header.Get("Set-Cookie") != "" || got.code == 200 && strings.Contains(got.body, "csrf") {
			t.Errorf("%s %s gives a session", x.method, x.path)
		}
		if open[x.method+" "+x.path] = got.code != 401 && got.code != 403; !open[x.method+" "+x.path] &&
			strings.Contains(got.body, "acme") {
			t.Errorf("%s %s shows a question: %d %s", x.method, x.path, got.code, got.body)
		}
	}
	var reached []string
	for at, is := range open {
		if is {
			reached = append(reached, at)
		}
	}
	slices.Sort(reached)
	want := []string{
		"GET /api/entries", "GET /api/entries/events", "GET /api/events", "GET /api/grants", "GET /api/pending", "GET /api/pending/{id}",
		"POST /api/answer", "POST /api/grants/revoke",
	}
	if !slices.Equal(reached, want) {
		t.Errorf("a token reaches %q, want %q", reached, want)
	}

	person := w.login("anna")
	for _, test := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
	}{
		{"an unknown token", "GET", "/api/pending", "", []string{"Authorization: Bearer a-token-of-an-mcp-client"}, 401},
		{"no token", "GET", "/api/pending", "", nil, 401},
		{"an empty token", "GET", "/api/pending", "", []string{"Authorization: Bearer "}, 401},
		{"another scheme", "GET", "/api/pending", "", []string{"Authorization: Basic " + annasAnswers}, 401},
		{"two tokens", "GET", "/api/pending", "", []string{"Authorization: Bearer " + annasAnswers,
			"Authorization: Bearer " + evesAnswers}, 401},
		{"the token as a cookie", "GET", "/api/pending", "", []string{"Cookie: " + person.cookie + "; codemode=" +
			annasAnswers}, 401},
		{"the token in the address", "GET", "/api/pending?access_token=" + annasAnswers, "", nil, 401},
		{"the path of a session, without its cookie", "GET", person.path + "/api/pending", "",
			[]string{"Authorization: Bearer " + annasAnswers}, 401},
		{"the path of a session, a page", "GET", person.path + "/", "", []string{"Authorization: Bearer " + annasAnswers},
			401},
		{"a form", "POST", "/api/answer", "id=x&decision=allow", []string{"Authorization: Bearer " + annasAnswers,
			"Content-Type: application/x-www-form-urlencoded"}, 415},
		{"a form that revokes", "POST", "/api/grants/revoke", "grant=x", []string{"Authorization: Bearer " + annasAnswers,
			"Content-Type: application/x-www-form-urlencoded"}, 415},
		{"a login", "POST", "/login", `{"secret": "` + annasAnswers + `"}`, []string{"Authorization: Bearer " + annasAnswers,
			"Content-Type: application/json"}, 403},
		{"another host", "GET", "/api/pending", "", []string{"Authorization: Bearer " + annasAnswers, "Host: evil.test"},
			403},
		{"a page of another origin", "GET", "/api/pending", "", []string{"Authorization: Bearer " + annasAnswers,
			"Origin: https://evil.test"}, 403},
		{"a page of another site", "POST", "/api/answer", "{}", []string{"Authorization: Bearer " + annasAnswers,
			"Content-Type: application/json", "Sec-Fetch-Site: cross-site"}, 403},
		{"another method", "PUT", "/api/answer", "{}", []string{"Authorization: Bearer " + annasAnswers}, 405},
		{"another way of writing the path", "GET", "/x/../api/pending", "", []string{"Authorization: Bearer " + annasAnswers},
			404},
		{"something behind the path", "GET", "/api/pending/../session", "", []string{"Authorization: Bearer " + annasAnswers},
			404},
	} {
		got := (&visitor{w: w}).send(test.method, test.path, test.body, test.headers...)
		if got.code != test.status || strings.Contains(got.body, "acme") || got.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d, want %d: %s", test.name, got.code, test.status, got.body)
		}
		if asked := strings.Contains(got.header.Get("Www-Authenticate"),
			"Bearer"); asked != (test.name == "an unknown token") {
			t.Errorf("%s: WWW-Authenticate is %q", test.name, got.header.Get("Www-Authenticate"))
		}
	}
	// Without the option it is as it was.
	closed := newWorld(t)
	if got := closed.byTokenOf(annasAnswers, "GET", "/api/pending", ""); got.code != 401 ||
		!strings.Contains(got.body, "log in") {
		t.Errorf("a page that takes no tokens: %d %s", got.code, got.body)
	}
	if got := w.byTokenOf(annasAnswers, "POST", "/api/answer",
		`{"id": "q_none", "decision": "allow", "propose": "any"}`); got.code != 403 {
		t.Errorf("a rule is proposed: %d %s", got.code, got.body)
	}
}

// A token sees the entries and grants of its principal alone.
func TestATokenSeesTheRecordOfItsPrincipal(t *testing.T) {
	w := withTokens(t)
	for _, principal := range []string{"anna", "ci"} {
		checktest.OK(t, w.record.note(t.Context(), call.Entry{Kind: audit.Call, State: audit.OK, Principal: principal,
			Tool: "of__" + principal}))
		r := of(principal)
		g, err := r.Draft(call.Answer{Scope: call.ForTime}, r.Time)
		if err == nil {
			err = w.grants.Give(t.Context(), g)
		}
		checktest.OK(t, err)
	}
	var entries struct{ Entries []struct{ Principal string } }
	w.byTokenOf(annasAnswers, "GET", "/api/entries", "").json(&entries)
	var grants struct {
		Grants []struct{ ID, Principal string }
	}
	w.byTokenOf(annasAnswers, "GET", "/api/grants", "").json(&grants)
	if len(entries.Entries) != 1 || entries.Entries[0].Principal != "anna" || len(grants.Grants) > 1 ||
		len(grants.Grants) == 1 && grants.Grants[0].Principal != "anna" {
		t.Errorf("anna sees %+v and %+v", entries, grants)
	}
}

// A stream of events ends when its token is taken out of the configuration, before anything more is said.
func TestEventsOfATokenEndWithIt(t *testing.T) {
	var gone atomic.Bool
	w := withTokens(t, func(o *Options) {
		known := o.Bearer
		o.Bearer = func(r *http.Request, token string) (string, int, string) {
			if gone.Load() {
				return "", http.StatusUnauthorized, "this token is not known"
			}
			return known(r, token)
		}
	})
	w.ask(of("anna"))
	w.ask(of("ci"))
	req, err := http.NewRequestWithContext(t.Context(), "GET", w.origin+"/api/events", nil)
	checktest.OK(t, err)
	req.Header.Set("Authorization", "Bearer "+annasAnswers)
	res, err := http.DefaultClient.Do(req)
	checktest.OK(t, err)
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	next := func() (got struct{ Pending []Asked }, ok bool) {
		for lines.Scan() {
			if data, is := strings.CutPrefix(lines.Text(), "data: "); is {
				checktest.OK(t, json.Unmarshal([]byte(data), &got))
				return got, true
			}
		}
		return got, false
	}
	if got, ok := next(); !ok || len(got.Pending) != 1 || got.Pending[0].Principal != "anna" {
		t.Fatalf("the stream says %+v, %t", got, ok)
	}
	gone.Store(true)
	w.ask(of("anna", func(r *prompt.Request) { r.Call = 2 }))
	if got, ok := next(); ok {
		t.Errorf("a token that is gone is told %+v", got)
	}
	if got := w.byTokenOf(annasAnswers, "GET", "/api/pending", ""); got.code != 401 {
		t.Errorf("a token that is gone: %d", got.code)
	}
}

// What was seen whole with a token counts for its next request, and for no other token.
func TestATokenRemembersWhatWasSeenWhole(t *testing.T) {
	w := withTokens(t)
	long := func(r *prompt.Request) {
		r.Risk, r.Args = "high", json.RawMessage(fmt.Sprintf(`{"text": %q}`, strings.Repeat("lorem ipsum ", 2000)))
	}
	answers := w.ask(of("eve", long))
	a := w.seenBy(evesAnswers)[0]
	if !a.MustSee {
		t.Fatalf("it need not be seen whole: %+v", a)
	}
	if got, code := w.answeredBy(evesAnswers, Answered{ID: a.ID, Digest: a.Digest, Decision: "allow",
		Code: a.Code}); code != 422 || got.OK {
		t.Errorf("unseen: %d %+v", code, got)
	}
	if got, code := w.answeredBy(evesAnswers, Answered{ID: a.ID, Digest: a.Digest, Decision: "allow", Code: a.Code,
		Whole: true}); code != 200 || !got.OK {
		t.Errorf("seen: %d %+v", code, got)
	}
	answerOf(t, answers)
}
