package signin

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/identity"
)

const redirect = "http://127.0.0.1:7391/signin/callback"

// newProvider is a Provider with a clock. What the identity provider itself says is tested with a real one, in
// cmd/codemode.
func newProvider(t *testing.T, issuer string, clock *time.Time) *Provider {
	t.Helper()
	p := New(&process.SignIn{Name: "acme", Issuer: issuer, Client: "page",
		SignInClaims: process.SignInClaims{Principal: "sub", Groups: "groups"},
		SignInRoles:  process.SignInRoles{Approver: []string{"leads"}, Auditor: []string{"audit"}, Admin: []string{"platform"}}}, "", nil)
	p.now = func() time.Time { return *clock }
	return p
}

// metadata serves the metadata of a provider, and counts the requests.
func metadata(t *testing.T, signsInAt string) (issuer string, asked *int) {
	t.Helper()
	asked = new(int)
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		*asked++
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"issuer": "` + server.URL + `", "authorization_endpoint": "` + signsInAt +
			`", "token_endpoint": "` + server.URL + `/token", "jwks_uri": "` + server.URL + `/keys"}`))
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func state(t *testing.T, err error) string {
	t.Helper()
	no, ok := errors.AsType[*Refusal](err)
	if !ok {
		t.Fatalf("%v is no refusal", err)
	}
	return no.State
}

// The address at the provider has what the specification wants, and no secret of the sign-in is in the cookie.
func TestBegin(t *testing.T) {
	now := time.Now()
	issuer, asked := metadata(t, "https://login.example.com/auth")
	p := newProvider(t, issuer, &now)
	address, binding, err := p.Begin(t.Context(), redirect, "/history?tool=x", "")
	checktest.OK(t, err)
	u, err := url.Parse(address)
	checktest.OK(t, err)
	q := u.Query()
	for name, want := range map[string]string{"response_type": "code", "client_id": "page", "redirect_uri": redirect,
		"scope": "openid", "code_challenge_method": "S256"} {
		if q.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, q.Get(name), want)
		}
	}
	for _, name := range []string{"state", "nonce", "code_challenge"} {
		if len(q.Get(name)) < 43 || strings.Contains(binding, q.Get(name)) {
			t.Errorf("%s is %q, with the cookie %q", name, q.Get(name), binding)
		}
	}
	again, other, err := p.Begin(t.Context(), redirect, "", "")
	if err != nil || again == address || other == binding || *asked != 1 {
		t.Errorf("a second sign-in is %s, %v, after %d requests", again, err, *asked)
	}
	now = now.Add(foundLife)
	if _, _, err := p.Begin(t.Context(), redirect, "", ""); err != nil || *asked != 2 {
		t.Errorf("after a minute: %v, %d requests", err, *asked)
	}
}

// A sign-in ends ten minutes after it began, and with its first callback; what the browser keeps cannot be changed, and
// is of no use to another process.
func TestASignInIsUsedOnce(t *testing.T) {
	now := time.Now()
	issuer, _ := metadata(t, "https://login.example.com/auth")
	p := newProvider(t, issuer, &now)
	begin := func() (url.Values, string) {
		t.Helper()
		address, binding, err := p.Begin(t.Context(), redirect, "/", "")
		checktest.OK(t, err)
		u, err := url.Parse(address)
		checktest.OK(t, err)
		return url.Values{"state": {u.Query().Get("state")}, "error": {"access_denied"}}, binding
	}
	ends := func(q url.Values, bindings ...string) string {
		t.Helper()
		_, err := p.Finish(t.Context(), redirect, q, bindings)
		return state(t, err)
	}
	q, binding := begin()
	if got := ends(q); got != "wrong_state" {
		t.Errorf("without a cookie: %s", got)
	}
	if got := ends(q, newBinding("/", "", now), binding+"A"); got != "wrong_state" {
		t.Errorf("with others' cookies: %s", got)
	}
	if got := ends(url.Values{"state": {q.Get("state"), q.Get("state")}}, binding); got != "wrong_state" {
		t.Errorf("with two states: %s", got)
	}
	if got := ends(q, "", "x", binding); got != "provider_error" {
		t.Errorf("the first callback, with cookies of other ports before it: %s", got)
	}
	if got := ends(q, binding); got != "used_state" {
		t.Errorf("the second callback: %s", got)
	}
	q, binding = begin()
	now = now.Add(flowLife - time.Second)
	if got := ends(q, binding); got != "provider_error" {
		t.Errorf("a moment before its end: %s", got)
	}
	q, binding = begin()
	now = now.Add(flowLife)
	if got := ends(q, binding); got != "late_sign_in" {
		t.Errorf("at its end: %s", got)
	}
	q, binding = begin()
	p = newProvider(t, issuer, &now)
	if got := ends(q, binding); got != "wrong_state" {
		t.Errorf("in another process: %s", got)
	}
}

// A provider that is away, or that says something dangerous, lets nobody in; it is asked again after a moment.
func TestProvidersThatAreDown(t *testing.T) {
	now := time.Now()
	p := newProvider(t, "http://127.0.0.1:1", &now)
	for range 2 {
		if _, _, err := p.Begin(t.Context(), redirect, "", ""); state(t, err) != "issuer_unreachable" {
			t.Errorf("a provider that is away: %v", err)
		}
	}
	issuer, asked := metadata(t, "http://login.example.com/auth")
	p = newProvider(t, issuer, &now)
	for range 2 {
		if _, _, err := p.Begin(t.Context(), redirect, "", ""); state(t, err) != "issuer_unreachable" {
			t.Errorf("a page for signing in without TLS: %v", err)
		}
	}
	if *asked != 1 {
		t.Errorf("it was asked %d times at once", *asked)
	}
	now = now.Add(failedLife)
	if _, _, err := p.Begin(t.Context(), redirect, "", ""); err == nil || *asked != 2 {
		t.Errorf("after a moment: %v, %d requests", err, *asked)
	}
}

// Groups give roles, and nothing else does.
func TestRoles(t *testing.T) {
	now := time.Now()
	p := newProvider(t, "https://login.example.com", &now)
	for _, x := range []struct{ claims, who, roles string }{
		{`{"sub": "ann", "groups": ["leads"]}`, "acme:ann", "approver"},
		{`{"sub": "ann", "groups": "audit"}`, "acme:ann", "auditor"},
		{`{"sub": "ann", "groups": ["x", "audit", "leads"]}`, "acme:ann", "approver auditor"},
		{`{"sub": "ann", "groups": ["platform"]}`, "acme:ann", "approver auditor admin"},
		{`{"sub": "a b:c", "groups": ["leads"]}`, "acme:a%20b:c", "approver"},
		{`{"sub": "ann", "groups": []}`, "", "no_role"},
		{`{"sub": "ann"}`, "", "no_role"},
		{`{"sub": "ann", "groups": ["Leads", "leads "]}`, "", "no_role"},
		{`{"sub": "ann", "groups": {"leads": true}}`, "", "no_role"},
		{`{"sub": "ann", "roles": ["approver"], "groups": ["approver"]}`, "", "no_role"},
		{`{"sub": "", "groups": ["leads"]}`, "", "no_principal"},
		{`{"groups": ["leads"]}`, "", "no_principal"},
		{`{"sub": "` + strings.Repeat("a", 200) + `", "groups": ["leads"]}`, "", "no_principal"},
	} {
		said, ok := identity.Parse([]byte(x.claims))
		if !ok {
			t.Fatal(x.claims)
		}
		who, err := p.identify(said)
		if err != nil {
			if got := state(t, err); got != x.roles || x.who != "" {
				t.Errorf("%s: %s, want %s %s", x.claims, got, x.who, x.roles)
			}
			continue
		}
		if got := strings.Join(who.Roles.Names(), " "); who.Principal != x.who || got != x.roles {
			t.Errorf("%s: %s %s, want %s %s", x.claims, who.Principal, got, x.who, x.roles)
		}
	}
}

// The states of callbacks are forgotten, oldest first, so that nobody fills the memory.
func TestUsedStatesAreBounded(t *testing.T) {
	var u useList
	for i := range maxUsed + 10 {
		if !u.use(string(rune('a'+i%26)) + time.Duration(i).String()) {
			t.Fatalf("state %d was there", i)
		}
	}
	if len(u.at) != maxUsed || len(u.order) != maxUsed {
		t.Errorf("%d and %d states are in memory", len(u.at), len(u.order))
	}
}

// A sign-in that has to be fresh asks the provider for a proof, and believes only a token that says when it was.
func TestFreshSignIns(t *testing.T) {
	now := time.Now()
	issuer, _ := metadata(t, "https://login.example.com/auth")
	p := newProvider(t, issuer, &now)
	for _, x := range []struct{ proves, acr, query string }{
		{"", "", ""}, {"", "phr", ""}, {"a question", "", "prompt=login max_age=0"},
		{"a question", "phr", "prompt=login max_age=0 acr_values=phr"},
	} {
		p.settings.ACR = x.acr
		address, binding, err := p.Begin(t.Context(), redirect, "/ask/q 1", x.proves)
		checktest.OK(t, err)
		u, err := url.Parse(address)
		checktest.OK(t, err)
		var got []string
		for _, name := range []string{"prompt", "max_age", "acr_values"} {
			if u.Query().Has(name) {
				got = append(got, name+"="+u.Query().Get(name))
			}
		}
		if strings.Join(got, " ") != x.query {
			t.Errorf("%+v: %s", x, address)
		}
		if began, to, proves := unbind(binding); proves != x.proves || to != "/ask/q 1" || began.Unix() != now.Unix() {
			t.Errorf("%+v: the binding says %v %q %q", x, began, to, proves)
		}
	}
	began := now.Add(-time.Minute)
	at := func(when time.Time, more string) string { return fmt.Sprintf(`{"auth_time": %d%s}`, when.Unix(), more) }
	for _, x := range []struct{ acr, claim, state string }{
		{"", at(now, ""), ""},
		{"", at(began, ""), ""},
		{"", at(began.Add(-freshSkew-time.Second), ""), "not_fresh"},
		{"", at(now.Add(freshSkew+time.Second), ""), "not_fresh"},
		{"", `{"auth_time": 0}`, "not_fresh"},
		{"", `{}`, "no_auth_time"},
		{"", `{"auth_time": "now"}`, "no_auth_time"},
		{"", `{"auth_time": null}`, "no_auth_time"},
		{"", at(now, `, "acr": "0"`), ""},
		{"phr", at(now, `, "acr": "phr"`), ""},
		{"phr", at(now, ""), "wrong_acr"},
		{"phr", at(now, `, "acr": "0"`), "wrong_acr"},
		{"phr", at(now, `, "acr": "phr mfa"`), "wrong_acr"},
		{"phr", at(now, `, "acr": ["phr"]`), "wrong_acr"},
		{"phr", `{"acr": "phr"}`, "no_auth_time"},
	} {
		p.settings.ACR = x.acr
		said, ok := identity.Parse([]byte(x.claim))
		if !ok {
			t.Fatal(x.claim)
		}
		got := ""
		if err := p.authenticatedSince(said, began); err != nil {
			got = err.State
		}
		if got != x.state {
			t.Errorf("%s: %q, want %q", x.claim, got, x.state)
		}
	}
}
