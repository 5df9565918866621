package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/console/signin"
	"github.com/codemode-project/codemode/internal/hostedtest"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/sandbox"
)

type openAPI struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Content map[string]struct{ Schema json.RawMessage }
		}
	}
	Components struct{ Schemas map[string]json.RawMessage }

	checked map[string]bool // "get /login 200"
}

// check holds that an answer is what the file says of a path and a status.
func (o *openAPI) check(t *testing.T, path, method string, got *response) {
	t.Helper()
	described, ok := o.Paths[path][method].Responses[fmt.Sprint(got.code)]
	if !ok {
		t.Errorf("%s %s answers %d, which the file does not list: %s", method, path, got.code, got.body)
		return
	}
	o.checked[fmt.Sprint(method, " ", path, " ", got.code)] = true
	text := strings.ReplaceAll(string(described.Content["application/json"].Schema), "#/components/schemas/", "#/$defs/")
	defs, err := json.Marshal(o.Components.Schemas)
	checktest.OK(t, err)
	var schema jsonschema.Schema
	all := fmt.Sprintf(`{"allOf": [%s], "$defs": %s}`, text, strings.ReplaceAll(string(defs), "#/components/schemas/",
		"#/$defs/"))
	if err := json.Unmarshal([]byte(all), &schema); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	var value any
	got.json(&value)
	if err := resolved.Validate(value); err != nil {
		t.Errorf("%s %s, %d: %v\n%s", method, path, got.code, err, got.body)
	}
}

// The OpenAPI file names every path of the API and no other, and the server answers as it says.
func TestTheServerAnswersAsTheOpenAPIFileSays(t *testing.T) {
	text, err := os.ReadFile("../../docs/openapi.json")
	checktest.OK(t, err)
	o := openAPI{checked: map[string]bool{}}
	checktest.OK(t, json.Unmarshal(text, &o))
	w := withTokens(t, func(o *Options) { o.Servers = someServers() })
	signed := newWorld(t, signsIn)
	var want []string
	for _, x := range signed.c.inside() {
		if strings.HasPrefix(x.path, "/api/") {
			want = append(want, strings.ToLower(x.method)+" /s/{session}"+x.path)
		}
		if x.token {
			want = append(want, strings.ToLower(x.method)+" "+x.path)
		}
	}
	want = append(want, "post /login")
	var got []string
	for path, methods := range o.Paths {
		for method := range maps.Keys(methods) {
			got = append(got, method+" "+path)
		}
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the file has %q, the server %q", got, want)
	}

	history(w)
	v := w.login(anna)
	const in = "/s/{session}/api/"
	read := func(path, under string) *response {
		t.Helper()
		got := v.get(under)
		o.check(t, path, "get", got)
		return got
	}
	post := func(path, under, body string, headers ...string) *response {
		t.Helper()
		got := v.send("POST", under, body, append(headers, "Content-Type: application/json", "X-CSRF-Token: "+v.csrf)...)
		o.check(t, path, "post", got)
		return got
	}
	w.ask(aCall(func(r *prompt.Request) { r.Call = 2; r.Edit = func(json.RawMessage) error { return nil } }), aCall())
	w.ask(aCall(func(r *prompt.Request) { r.Run, r.Risk = "r_a", "high" }))
	w.ask(&prompt.Request{
		Name: prompt.InquiryTool, Risk: "low", Principal: anna, Run: "r_z", Call: 9, Args: json.RawMessage(`{}`),
		Inquiry: &prompt.Inquiry{Header: "Release", Question: "Which?",
			Options: []prompt.Option{{Label: "main"}, {Label: "stable"}}},
	})
	list := v.pending()
	for i, a := range list {
		if i > 0 && (a.Since.Before(list[i-1].Since) || a.Since.Equal(list[i-1].Since) && a.Call < list[i-1].Call) {
			t.Errorf("question %d is out of order", i)
		}
		if !a.Expires.After(time.Now()) {
			t.Errorf("question %d waits until %s", i, a.Expires)
		}
	}
	read(in+"session", "/api/session")
	read(in+"openapi.json", "/api/openapi.json")
	read(in+"pending", "/api/pending")
	for _, a := range list {
		read(in+"pending/{id}", "/api/pending/"+a.ID)
	}
	read(in+"pending/{id}", "/api/pending/q_none")
	read(in+"entries", "/api/entries?limit=5")
	read(in+"entries", "/api/entries?record=access&since=1h&limit=1")
	read(in+"entries", "/api/entries?record=everything")
	read(in+"entries/events", "/api/entries/events?since=tomorrow")
	post(in+"answer", "/api/answer", `{"id": "q_none", "digest": "x", "decision": "deny"}`)
	post(in+"answer", "/api/answer", `{"ids": 1}`)
	answer := func(fields string) {
		t.Helper()
		a := v.pending()[0]
		post(in+"answer", "/api/answer", fmt.Sprintf(`{"id": %q, "digest": %q, %s}`, a.ID, a.Digest, fields))
	}
	answer(`"decision": "perhaps"`)
	answer(`"decision": "allow", "scope": "time", "length": "100h"`)
	answer(`"decision": "allow", "propose": "any"`)
	a := v.pending()[0]
	propose := fmt.Sprintf(`{"id": %q, "digest": %q, "decision": "allow", "propose": "any"}`, a.ID, a.Digest)
	post(in+"answer/propose", "/api/answer/propose", propose)
	post(in+"answer/propose", "/api/answer/propose", propose, "X-Proof: "+w.code())
	answer(`"decision": "allow", "scope": "time", "length": "10m", "uses": 3, "wait": "1ms"`)
	give := func(to *prompt.Request) *prompt.Grant {
		t.Helper()
		g, err := to.Draft(call.Answer{Scope: call.ForTime}, time.Now())
		if err == nil {
			err = w.grants.Give(t.Context(), g)
		}
		checktest.OK(t, err)
		return g
	}
	g := give(aCall())
	if got := read(in+"grants", "/api/grants"); !strings.Contains(got.body, `"allows":"github.create_issue with exactly`) {
		t.Errorf("grants: %s", got.body)
	}
	post(in+"grants/revoke", "/api/grants/revoke", `{"grant": "g_none"}`)
	post(in+"grants/revoke", "/api/grants/revoke", `{"grant": "`+g.ID+`"}`)
	if states := w.record.states("grant"); !slices.Contains(states, "revoked "+anna) {
		t.Errorf("the record has %q", states)
	}
	checkProgramsAPI(t, &o)
	checkAccountsAPI(t, &o)
	ruled, d := withBook(t)
	ruled.checkRulesAPI(t, &o, ruled.login(anna), d)
	read(in+"servers", "/api/servers")
	post(in+"servers/reconnect", "/api/servers/reconnect", `{"server": "nobody"}`)
	post(in+"servers/reconnect", "/api/servers/reconnect", `{"server": "files"}`)
	accept := `{"tool": "files__read", "digest": "sha256:new", "why": "it is fine"}`
	post(in+"servers/accept", "/api/servers/accept", `{"tool": "files__read"}`)
	post(in+"servers/accept", "/api/servers/accept", accept)
	post(in+"servers/accept", "/api/servers/accept", accept, "X-Proof: "+w.codeFor("files__read"))
	// A program that answers by token.
	byToken := func(path, method, under, body string) {
		t.Helper()
		o.check(t, path, strings.ToLower(method), w.byTokenOf(annasAnswers, method, under, body))
	}
	w.ask(of("anna"), of("anna", func(r *prompt.Request) { r.Call = 2; r.Risk = "high" }))
	own := w.seenBy(annasAnswers)
	byToken("/api/pending", "GET", "/api/pending", "")
	byToken("/api/pending/{id}", "GET", "/api/pending/"+own[0].ID, "")
	byToken("/api/pending/{id}", "GET", "/api/pending/q_none", "")
	byToken("/api/entries", "GET", "/api/entries?limit=5", "")
	byToken("/api/grants", "GET", "/api/grants", "")
	byToken("/api/grants/revoke", "POST", "/api/grants/revoke", `{"grant": "g_none"}`)
	byToken("/api/grants/revoke", "POST", "/api/grants/revoke", `{"grant": "`+give(of("anna")).ID+`"}`)
	for _, body := range []string{
		`{"ids": 1}`, `{"id": "q_none", "digest": "x", "decision": "deny"}`,
		fmt.Sprintf(`{"id": %q, "digest": %q, "decision": "allow"}`, own[1].ID, own[1].Digest),
		fmt.Sprintf(`{"id": %q, "digest": %q, "decision": "allow", "propose": "any"}`, own[0].ID, own[0].Digest),
		fmt.Sprintf(`{"id": %q, "digest": %q, "decision": "allow", "wait": "1ms"}`, own[0].ID, own[0].Digest),
	} {
		byToken("/api/answer", "POST", "/api/answer", body)
	}
	// An answer that needs a new sign-in.
	k := signed.enterAs("acme:anna", signin.Approver)
	signed.ask(critical())
	grave := k.pending()[0]
	o.check(t, in+"pending", "get", k.get("/api/pending"))
	yes, err := json.Marshal(yes(grave))
	checktest.OK(t, err)
	for range 2 {
		headers := []string{"Content-Type: application/json", "X-CSRF-Token: " + k.csrf}
		o.check(t, in+"answer", "post", k.send("POST", "/api/answer", string(yes), headers...))
		k = k.anew(grave)
	}
	o.check(t, "/api/pending", "get", w.byTokenOf("a-token-of-an-mcp-client", "GET", "/api/pending", ""))
	// A token opens no session.
	o.check(t, in+"pending", "get", (&visitor{w: w, path: v.path}).send("GET", "/api/pending", "",
		"Authorization: Bearer a-token-of-an-mcp-client"))
	_, secret, _ := strings.Cut(w.c.Link(anna), "#")
	for range 2 {
		o.check(t, "/login", "post", (&visitor{w: w}).send("POST", "/login", `{"secret": "`+secret+`"}`,
			"Content-Type: application/json"))
	}
	stranger := &visitor{w: signed, path: k.path}
	for _, x := range signed.c.inside() {
		if method := strings.ToLower(x.method); strings.HasPrefix(x.path, "/api/") {
			under := strings.NewReplacer("{", "", "}", "").Replace(x.path)
			o.check(t, "/s/{session}"+x.path, method, stranger.send(x.method, under, "{}", "Content-Type: application/json"))
		}
	}
	for path, methods := range o.Paths {
		for method := range methods {
			if done := fmt.Sprint(method, " ", path, " ", 200); !o.checked[done] && !strings.HasSuffix(path, "/events") {
				t.Errorf("the test gets no %s", done)
			}
		}
	}
}

// asks sends a request to the API, and checks the answer. id is that of the path.
func (o *openAPI) asks(t *testing.T, v *visitor, method, path, id, body string, headers ...string) *response {
	t.Helper()
	got := v.send(method, strings.ReplaceAll(path, "{id}", id), body, append(headers, "Content-Type: application/json",
		"X-CSRF-Token: "+v.csrf)...)
	for _, action := range []string{"fork", "rollback", "delete"} {
		path = strings.Replace(path, "{id}/"+action, "{id}/{action}", 1)
	}
	o.check(t, "/s/{session}"+path, strings.ToLower(method), got)
	return got
}

// checkProgramsAPI checks the answers about programs: those that run, and their sessions.
func checkProgramsAPI(t *testing.T, o *openAPI) {
	t.Helper()
	now := time.Now()
	f := &fakeRuns{elsewhere: []runs.Running{{Run: "r_there", Principal: "anna", Began: now, Parked: true, Holder: "host/17"}}}
	f.set(with(runs.Running{Run: "r_here", Principal: "anna", Client: "cli", Profile: "p", Began: now, Outcome: "threw"},
		[]RunningCall{{Number: 1, Tool: "a__b"}, {Number: 2, Tool: "a__b", State: "done", Ended: true},
			{Number: 3, Tool: "a__b", State: "asking", Asked: true}}, line("log", "\u202e")))
	w, stored := worldOfSessions(t, func(o *Options) { o.Runs = f })
	id := stored.put("anna", "work", 3, sandbox.Name{Name: "n", Kind: "let", Type: "number"})
	v, without := w.login("anna"), newWorld(t).login("anna")
	o.asks(t, v, "GET", "/api/running", "", "")
	o.asks(t, v, "GET", "/api/sessions", "", "")
	o.asks(t, v, "GET", "/api/sessions/{id}", id, "")
	o.asks(t, v, "GET", "/api/sessions/{id}", "nothing", "")
	for _, body := range []string{`{"version": 2, "as": "try"}`, `{"version": 9, "as": "x"}`, `{"version": "2"}`, `{}`} {
		o.asks(t, v, "POST", "/api/sessions/{id}/fork", id, body)
	}
	o.asks(t, v, "POST", "/api/sessions/{id}/rollback", id, `{"version": 1}`)
	o.asks(t, v, "POST", "/api/sessions/{id}/delete", id, `{}`)
	o.asks(t, v, "POST", "/api/sessions/{id}/delete", id, `{}`)
	o.asks(t, without, "GET", "/api/running", "", "")
	o.asks(t, without, "GET", "/api/sessions", "", "")
	approver := w.enterAs("acme:dan", signin.Approver)
	for _, path := range []string{"/api/running", "/api/sessions", "/api/sessions/{id}"} {
		o.asks(t, approver, "GET", path, id, "")
	}
	o.asks(t, approver, "POST", "/api/sessions/{id}/delete", id, "{}")
	for _, csrf := range []string{"", v.csrf} {
		v.csrf = csrf
		o.asks(t, v, "POST", "/api/logout", "", "{}")
	}
}

// checkAccountsAPI checks the answers about accounts at servers.
func checkAccountsAPI(t *testing.T, o *openAPI) {
	t.Helper()
	c := newConnecting(t, hostedtest.Options{})
	v := c.login(anna)
	ask := func(method, path, body string) *response {
		t.Helper()
		return o.asks(t, v, method, "/api/accounts"+path, "", body)
	}
	ask("GET", "", "")
	for _, body := range []string{`{"server": "nobody"}`, `{"host": "linear"}`} {
		ask("POST", "/connect", body)
		ask("POST", "/disconnect", body)
	}
	ask("POST", "/disconnect", `{"server": "linear"}`)
	var to loginAddress
	got := ask("POST", "/connect", `{"server": "linear"}`)
	got.json(&to)
	cookie, _, _ := strings.Cut(got.header.Get("Set-Cookie"), ";")
	c.comeBack(c.consent(to.Address, "anna"), cookie)
	if got := ask("GET", "", ""); !strings.Contains(got.body, `"connected":"2`) {
		t.Errorf("an account that is connected: %s", got.body)
	}
	ask("POST", "/disconnect", `{"server": "linear"}`)
	c.h.Close()
	ask("POST", "/connect", `{"server": "linear"}`)
	o.asks(t, newWorld(t).login(anna), "GET", "/api/accounts", "", "")
}
