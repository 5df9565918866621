package console

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/console/signin"
)

// forRoles has a row for each route: the roles that it is for. The role admin has all of them.
var forRoles = map[string]string{
	"GET /{$}":                       "approver admin",
	"GET /ask/{id}":                  "approver admin",
	"GET /prove/{id}":                "approver admin",
	"GET /running":                   "auditor admin",
	"GET /sessions":                  "auditor admin",
	"GET /sessions/{id}":             "auditor admin",
	"GET /sessions/{id}/{action}":    "admin",
	"GET /history":                   "auditor admin",
	"GET /run/{run}":                 "auditor admin",
	"GET /grants":                    "approver auditor admin",
	"GET /rules":                     "admin",
	"POST /answer":                   "approver admin",
	"POST /answer/propose":           "admin",
	"POST /grants/revoke":            "approver admin",
	"POST /sessions/{id}/{action}":   "admin",
	"POST /rules/validate":           "admin",
	"POST /rules/save":               "admin",
	"POST /rules/propose":            "admin",
	"POST /rules/session":            "admin",
	"GET /accounts":                  "approver auditor admin",
	"POST /accounts/connect":         "approver auditor admin",
	"POST /accounts/disconnect":      "approver auditor admin",
	"POST /logout":                   "approver auditor admin",
	"GET /api/session":               "approver auditor admin",
	"GET /api/pending":               "approver admin",
	"GET /api/pending/{id}":          "approver admin",
	"GET /api/events":                "approver auditor admin",
	"GET /api/entries":               "auditor admin",
	"GET /api/grants":                "approver auditor admin",
	"POST /api/answer":               "approver admin",
	"POST /api/grants/revoke":        "approver admin",
	"POST /api/answer/propose":       "admin",
	"GET /rules/profile/{name}":      "admin",
	"GET /rules/overlays":            "admin",
	"POST /rules/explain":            "admin",
	"POST /rules/preview":            "admin",
	"GET /api/rules":                 "admin",
	"GET /api/rules/profiles/{name}": "admin",
	"GET /api/rules/overlays":        "admin",
	"POST /api/rules/explain":        "admin",
	"POST /api/rules/preview":        "admin",
	"POST /api/rules/save":           "admin",
	"POST /api/rules/propose":        "admin",
	"POST /api/rules/session":        "admin",
	"GET /api/rules/sessions":        "admin",
	"POST /api/rules/session/end":    "admin", "POST /rules/session/end": "admin",
	"GET /servers": "auditor admin", "POST /servers/reconnect": "admin", "POST /servers/accept": "admin",
	"GET /api/running":  "auditor admin",
	"GET /api/sessions": "auditor admin", "GET /api/sessions/{id}": "auditor admin",
	"POST /api/sessions/{id}/{action}": "admin",
	"GET /api/accounts":                "approver auditor admin",
	"POST /api/accounts/connect":       "approver auditor admin",
	"POST /api/accounts/disconnect":    "approver auditor admin",
	"POST /api/logout":                 "approver auditor admin",
	"GET /api/servers":                 "auditor admin",
	"POST /api/servers/reconnect":      "admin",
	"POST /api/servers/accept":         "admin",
	"GET /api/openapi.json":            "approver auditor admin",
	"GET /records/{kind}":              "auditor admin", "GET /api/entries/events": "auditor admin",
}

// try sends a request to a route in a new session, with all that it needs but a role.
func (w *world) try(x route, open func() (key, id string, s *session)) *httptest.ResponseRecorder {
	w.t.Helper()
	key, id, s := open()
	ctx, cancel := context.WithTimeout(w.t.Context(), 100*time.Millisecond) // ends a stream of events
	defer cancel()
	path := strings.NewReplacer("{$}", "", "{id}", "q_none", "{name}", "work", "{run}", "r_none", "{action}", "close", "{kind}", "runs").Replace(x.path)
	body, kind := "csrf="+url.QueryEscape(s.csrf), "application/x-www-form-urlencoded"
	if strings.HasPrefix(path, "/api/") {
		body, kind = "{}", "application/json"
	}
	r := httptest.NewRequestWithContext(ctx, x.method, w.origin+w.c.sessionPath(key)+path, strings.NewReader(body))
	r.Header.Set("Cookie", securePrefix+w.c.cookie+"="+id)
	r.Header.Set("Content-Type", kind)
	r.Header.Set("X-CSRF-Token", s.csrf)
	r.Header.Set("Accept", "application/json")
	answer := httptest.NewRecorder()
	w.c.Handler().ServeHTTP(answer, r)
	w.c.logins.end(s)
	return answer
}

// TestEveryRouteIsForRoles walks every route with every role. A new route needs a row in forRoles, and serves nobody
// until it says whom.
func TestEveryRouteIsForRoles(t *testing.T) {
	w, _ := withBook(t)
	as := func(roles signin.Roles) func() (string, string, *session) {
		return func() (string, string, *session) {
			return w.c.logins.openAs(&signin.Identity{Principal: "acme:" + strings.Join(roles.Names(), "-"), Roles: roles}, nil)
		}
	}
	people := map[string]func() (string, string, *session){
		"approver": as(signin.Approver), "auditor": as(signin.Auditor), "admin": as(signin.All), "": as(0),
		"link": func() (string, string, *session) { return w.c.logins.open(anna) },
	}
	var routes []string
	for _, x := range w.c.inside() {
		name := x.method + " " + x.path
		routes = append(routes, name)
		for role, open := range people {
			got := w.try(x, open)
			refused := got.Code == http.StatusForbidden && strings.Contains(got.Body.String(), "this needs the role") ||
				got.Code == http.StatusSeeOther && x.path == "/{$}"
			allowed := role == "link" || role != "" && slices.Contains(strings.Fields(forRoles[name]), role)
			if refused == allowed {
				t.Errorf("%s as %q: %d %s, want allowed=%t", name, role, got.Code, got.Body, allowed)
			}
		}
	}
	without := slices.IndexFunc(routes, func(r string) bool { return forRoles[r] == "" })
	if len(routes) != len(forRoles) || without >= 0 {
		t.Errorf("the routes are %q, and %d have rows", routes, len(forRoles))
	}
	if (route{}).roles.Has(signin.All) {
		t.Error("a route that says nothing serves somebody")
	}
}

// overREST has the path of the API for a path of the page where that is not the same below /api.
var overREST = map[string]string{
	"GET /{$}": "GET /api/pending", "GET /ask/{id}": "GET /api/pending/{id}",
	"GET /history": "GET /api/entries", "GET /run/{run}": "GET /api/entries", "GET /records/{kind}": "GET /api/entries",
	"GET /rules/profile/{name}":   "GET /api/rules/profiles/{name}",
	"POST /rules/validate":        "POST /api/rules/preview",
	"GET /sessions/{id}/{action}": "", // asks before the POST
	"GET /prove/{id}":             "", // leads a browser to the identity provider
}

// What the page shows and does is in the API, with the same power and for the same roles.
func TestThePageAndTheAPIAreForTheSame(t *testing.T) {
	w, _ := withBook(t)
	all := map[string]route{}
	for _, x := range w.c.inside() {
		all[x.method+" "+x.path] = x
	}
	for name, x := range all {
		if strings.HasPrefix(x.path, "/api/") {
			continue
		}
		at, other := overREST[name]
		if !other {
			at = x.method + " /api" + x.path
		}
		if of, ok := all[at]; at != "" && (!ok || of.roles != x.roles || of.power != x.power) {
			t.Errorf("%s is not %s: roles %q and %q, power %v and %v", name, at, x.roles.Names(), of.roles.Names(), x.power,
				of.power)
		}
	}
}

// enterAs makes a session for somebody who signed in.
func (w *world) enterAs(who string, roles signin.Roles) *visitor {
	w.t.Helper()
	key, id, s := w.c.logins.openAs(&signin.Identity{Principal: who, Subject: who, Roles: roles}, nil)
	return &visitor{w: w, path: w.c.sessionPath(key), cookie: securePrefix + w.c.cookie + "=" + id, csrf: s.csrf}
}

// An auditor does not count as somebody who is there, not even for their own calls, sees no question in the stream, and
// has no seat that could answer. An approver does all of that.
func TestAuditorsAnswerNothing(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.May = func(string, string) bool { return true } })
	auditor := w.enterAs("acme:eve", signin.Auditor)
	w.ask(aCall(func(r *prompt.Request) { r.Principal = "acme:eve" }))
	var q Asked
	{
		seat := w.queue.Sit("nobody")
		open := seat.Pending()
		seat.Leave()
		q = Asked{ID: open[0].Request.ID, Digest: open[0].Request.Digest}
	}
	if n := w.queue.Present(); n != 0 {
		t.Errorf("%d people are there, although an auditor answers nothing", n)
	}
	for _, s := range w.c.logins.ofPerson("acme:eve") {
		if err := s.seat.Answer(q.ID, q.Digest, "", call.Answer{Typed: true}); err == nil {
			t.Error("the seat of an auditor answers")
		}
		if list := (questions{w.c}).listing(s); len(list.Pending) != 0 {
			t.Errorf("an auditor sees %+v", list)
		}
	}
	if got := auditor.get("/history"); got.code != http.StatusOK || strings.Contains(got.body, `id="count"`) ||
		!strings.Contains(got.body, `/history"`) {
		t.Errorf("the history of an auditor: %d %s", got.code, got.body)
	}
	if got := auditor.get("/"); got.code != http.StatusSeeOther || got.header.Get("Location") != auditor.path+"/history" {
		t.Errorf("the first page of an auditor: %d %s", got.code, got.header.Get("Location"))
	}
	got := auditor.get("/rules")
	if got.code != http.StatusForbidden ||
		!strings.Contains(got.body, "you are acme:eve with the role auditor, and this needs the role admin") {
		t.Errorf("the rules, to an auditor: %d %s", got.code, got.body)
	}
	if states := w.record.states("access"); !slices.Contains(states, "refused acme:eve") {
		t.Errorf("the record has %q", states)
	}
	approver := w.enterAs("acme:dan", signin.Approver)
	list := approver.pending()
	if len(list) != 1 || w.queue.Present() == 0 {
		t.Fatalf("an approver sees %+v, and %d are there", list, w.queue.Present())
	}
	if got, code := approver.answer(Answered{ID: q.ID, Digest: q.Digest, Decision: "deny"}); !got.OK {
		t.Errorf("an approver: %d %+v", code, got)
	}
	var said Session
	approver.get("/api/session").json(&said)
	if js, err := json.Marshal(said.Roles); err != nil || string(js) != `["approver"]` {
		t.Errorf("the session has the roles %s", js)
	}
}

// A rule is changed by the role admin with a code, and not by what the configuration says of a person of that name.
func TestTheRoleChangesRules(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Admin = func(person string) bool { return person == "acme:dan" } })
	propose := []string{"profile=p", "tool=x__y", "list=allowlist", "why=because"}
	got := w.enterAs("acme:dan", signin.Approver|signin.Auditor).form("/rules/propose", propose...)
	if got.code != http.StatusForbidden ||
		!strings.Contains(got.body, "needs the role admin") {
		t.Errorf("without the role: %d %s", got.code, got.body)
	}
	if got := w.enterAs("acme:dan", signin.Approver).get("/"); strings.Contains(got.body, `/rules"`) {
		t.Errorf("somebody without the role is shown the way to the rules: %s", got.body)
	}
	admin := w.enterAs("acme:ada", signin.All)
	if got := admin.form("/rules/propose", propose...); got.code != http.StatusForbidden || w.rules.changes() != 0 {
		t.Errorf("without a code: %d %s", got.code, got.body)
	}
	codes := w.c.Confirm("acme:ada")
	if len(codes) != 1 {
		t.Fatalf("%d changes wait", len(codes))
	}
	if got := admin.form("/rules/propose", append(propose, "proof="+codes[0].Code)...); w.rules.changes() != 1 {
		t.Errorf("with the code: %d %s", got.code, got.body)
	}
}

// Who logs in again and again pushes out their own sessions, and nobody else's.
func TestNobodyPushesOthersOut(t *testing.T) {
	w := newWorld(t)
	other := w.login(anna)
	for range maxSessions + 1 {
		w.enterAs("acme:eve", signin.Auditor)
	}
	if got := other.get("/api/session"); got.code != http.StatusOK {
		t.Errorf("the session of somebody else: %d %s", got.code, got.body)
	}
	if n := len(w.c.logins.ofPerson("acme:eve")); n != maxOwn {
		t.Errorf("one person has %d sessions", n)
	}
}
