//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// A crew is codemode serve --http whose page lets people in at an identity provider.
type crew struct {
	*team
	origin string
}

// startCrew starts both. signIn and profile are JSON: members of "console.signIn", and the profile p.
func startCrew(t *testing.T, signIn, profile string) *crew {
	t.Helper()
	address := mcptest.FreeAddress(t)
	issuer := startIssuer(t, "-redirect", "http://"+address+"/console/signin/callback")
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"), fmt.Sprintf(`{
		"evaluation": {"profiles": {"p": %s}, "expose": ["p"]},
		"console": {"signIn": {"name": "acme", "issuer": %q, "client": "page", "secret": "${PAGE_SECRET}", %s}},
		"http": {"oauth": {"resource": "http://%s/mcp", "issuers": {"acme": {"issuer": %q,
			"profiles": {"p": {"scope": "codemode:write"}}}}}}}`, profile, issuer, signIn, address, issuer))
	state := t.TempDir()
	s := serveOverHTTP(t, address, []string{"PAGE_SECRET=page-secret"}, "--config", config, "--root", t.TempDir(),
		"--state", state)
	return &crew{&team{s, issuer, state}, "http://" + address}
}

// get opens an address with a cookie, as a browser does that follows no redirects.
func (c *crew) get(address, cookie string) (*http.Response, string) {
	c.t.Helper()
	return c.send(http.MethodGet, address, cookie, "")
}

func (c *crew) send(method, address, cookie, body string, headers ...string) (*http.Response, string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, address, strings.NewReader(body))
	checktest.OK(c.t, err)
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	checktest.OK(c.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	checktest.OK(c.t, err)
	return res, string(text)
}

// cookieOf is the cookie that an answer sets, as browsers send it.
func cookieOf(res *http.Response) string {
	cookie, _, _ := strings.Cut(res.Header.Get("Set-Cookie"), ";")
	return cookie
}

// begin begins a sign-in: the address at the provider, and the cookie of the browser.
func (c *crew) begin() (address, cookie string) {
	c.t.Helper()
	res, text := c.get(c.origin+"/console/signin", "")
	address = res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(address, c.issuer) {
		c.t.Fatalf("%s to %q: %s\n%s", res.Status, address, text, c.log)
	}
	return address, cookieOf(res)
}

// comesBack has a person sign in at the provider: the address that the browser is sent to.
func (c *crew) comesBack(address, person string) string {
	c.t.Helper()
	at, err := atProvider(address, person)
	checktest.OK(c.t, err)
	return at.String()
}

// answeredBy finds an answer of a person at the page in the record.
func answeredBy(principal string) *regexp.Regexp {
	return regexp.MustCompile(`"decidedBy":\{"channel":"web","how":"person","latencyMs":[0-9.]+,"principal":"` +
		regexp.QuoteMeta(principal) + `"\},"kind":"approval"`)
}

// A member is a person with a session of the page.
type member struct {
	*crew
	path, cookie, csrf string // path has the origin in front
	roles              []string
}

var continuing = regexp.MustCompile(`id="continue" href="([^"]+)"`)

// signsIn lets a person in.
func (c *crew) signsIn(person string) *member {
	c.t.Helper()
	address, cookie := c.begin()
	return c.enters(c.comesBack(address, person), cookie)
}

// enters follows the address that the provider sends a browser to, into a session.
func (c *crew) enters(back, cookie string) *member {
	c.t.Helper()
	res, text := c.get(back, cookie)
	found := continuing.FindStringSubmatch(text)
	if res.StatusCode != http.StatusOK || found == nil {
		c.t.Fatalf("%s: %s\n%s", res.Status, text, c.log)
	}
	base, _, _ := strings.Cut(strings.TrimPrefix(found[1], "/console/s/"), "/")
	m := &member{crew: c, path: c.origin + "/console/s/" + base}
	for _, one := range res.Header.Values("Set-Cookie") {
		if strings.Contains(one, "Path=/console/s/") {
			m.cookie, _, _ = strings.Cut(one, ";")
			if !strings.Contains(one, "SameSite=Strict") || !strings.Contains(one, "HttpOnly") {
				c.t.Errorf("the cookie of the session is %s", one)
			}
		}
	}
	var said struct {
		CSRF  string
		Roles []string
	}
	m.json(http.MethodGet, "/api/session", "", &said)
	m.csrf, m.roles = said.CSRF, said.Roles
	return m
}

// json sends a request of the session and reads the answer.
func (m *member) json(method, path, body string, into any) (status int) {
	m.t.Helper()
	res, text := m.send(method, m.path+path, m.cookie, body, "Content-Type: application/json", "X-CSRF-Token: "+m.csrf)
	if err := json.Unmarshal([]byte(text), into); err != nil {
		m.t.Fatalf("%s %s: %s: %v: %s", method, path, res.Status, err, text)
	}
	return res.StatusCode
}

// Each way in which a sign-in can be forged, replayed or meant for somebody else ends without a session, with a reason
// on the page and in the record.
func TestSignInsThatAreRefused(t *testing.T) {
	t.Parallel()
	const guest = "test-user2"
	leads := `"roles": {"approver": ["developers"]}`
	type attempt struct {
		state, says string
		do          func(c *crew) (*http.Response, string)
	}
	// forged is a sign-in at the end of which the provider gives a wrong ID token.
	forged := func(be string) func(c *crew) (*http.Response, string) {
		return func(c *crew) (*http.Response, string) {
			address, cookie := c.begin()
			back := c.comesBack(address, "test-user@127.0.0.1")
			if _, err := http.Post(c.issuer+"/test/idtoken?be="+be, "", nil); err != nil {
				c.t.Fatal(err)
			}
			return c.get(back, cookie)
		}
	}
	// changed is a sign-in whose callback has other parameters; a value of "" takes one away.
	changed := func(pairs ...string) func(c *crew) (*http.Response, string) {
		return func(c *crew) (*http.Response, string) {
			address, cookie := c.begin()
			u, err := url.Parse(c.comesBack(address, "test-user@127.0.0.1"))
			checktest.OK(c.t, err)
			q := u.Query()
			for i := 0; i < len(pairs); i += 2 {
				if q.Set(pairs[i], pairs[i+1]); pairs[i+1] == "" {
					q.Del(pairs[i])
				}
			}
			u.RawQuery = q.Encode()
			return c.get(u.String(), cookie)
		}
	}
	for name, attempts := range map[string][]attempt{
		"tokens": {
			{"bad_algorithm", "has an algorithm that is not accepted", forged("alg_none")},
			{"bad_signature", "no key of the provider has signed", forged("bad_signature")},
			{"wrong_audience", "was issued for another client", forged("wrong_audience")},
			{"wrong_audience", "was issued to another client", forged("another_party")},
			{"expired", "has expired", forged("expired")},
			{"wrong_issuer", "is of another issuer", forged("wrong_issuer")},
			{"wrong_nonce", "is of another sign-in", forged("wrong_nonce")},
			{"wrong_nonce", "is of another sign-in", forged("no_nonce")},
		},
		"callbacks": {
			{"wrong_state", "has not begun this sign-in", changed("state", "another")},
			{"wrong_state", "has not begun this sign-in", changed("state", "")},
			{"wrong_state", "has not begun this sign-in", func(c *crew) (*http.Response, string) { // in another browser
				address, _ := c.begin()
				_, cookie := c.begin()
				return c.get(c.comesBack(address, guest), cookie)
			}},
			{"used_state", "was used already", func(c *crew) (*http.Response, string) {
				address, cookie := c.begin()
				back := c.comesBack(address, "test-user@127.0.0.1")
				if res, text := c.get(back, cookie); res.StatusCode != http.StatusOK {
					c.t.Errorf("the first time: %s %s", res.Status, text)
				}
				return c.get(back, cookie)
			}},
			{"wrong_issuer", "another provider has answered", changed("iss", "https://login.example.com")},
			{"provider_error", "the identity provider refused: access_denied: &lt;b&gt;not today",
				changed("code", "", "error", "access_denied", "error_description", "<b>not today")},
			{"malformed_callback", "sent no code", changed("code", "")},
			{"code_refused", "does not accept the sign-in", changed("code", "made-up")},
			{"no_role", "you are acme:id2, and none of your groups has a role here: guests",
				func(c *crew) (*http.Response, string) {
					address, cookie := c.begin()
					return c.get(c.comesBack(address, guest), cookie)
				}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCrew(t, leads, `{"asklist": ["filesystem__write_file"]}`)
			for _, x := range attempts {
				res, text := x.do(c)
				if res.StatusCode != http.StatusForbidden || !strings.Contains(text, x.says) {
					t.Errorf("%s: %s, want 403 with %q:\n%s", x.state, res.Status, x.says, text)
				}
				for _, cookie := range res.Header.Values("Set-Cookie") {
					if strings.Contains(cookie, "/s/") {
						t.Errorf("%s: it made a session: %s", x.state, cookie)
					}
				}
			}
			log, record := c.log.String(), c.record()
			for _, x := range attempts {
				if !strings.Contains(record, `"state":"`+x.state+`"`) || !strings.Contains(log, x.state) {
					t.Errorf("the record or the log does not have %s:\n%s\n%s", x.state, record, log)
				}
			}
			if strings.Contains(record+log, "page-secret") || strings.Contains(record+log, "code=") {
				t.Error("a secret is in the record or the log")
			}
		})
	}
}

// Who made a call does not answer for it where the profile wants somebody else, by whatever way they come; the question
// stays open for others. The record names both.
func TestNobodyWhoSignsInAnswersTheirOwnCalls(t *testing.T) {
	t.Parallel()
	c := startCrew(t, `"roles": {"approver": ["developers"], "admin": ["guests"]}`,
		`{"asklist": ["filesystem__write_file"], "ask": {"approver": "other", "timeout": "5m"}}`)
	var asked []url.Values
	caller, _ := c.enter("2025-11-25", "", "jwt", "test-user@127.0.0.1", &asked)
	own, other := c.signsIn("test-user@127.0.0.1"), c.signsIn("test-user2")
	if fmt.Sprint(own.roles, other.roles) != "[approver] [approver auditor admin]" {
		t.Errorf("the roles are %v and %v", own.roles, other.roles)
	}
	answer := runs(t, caller, writesAFile)
	var list struct {
		Pending []struct{ ID, Digest, Principal string }
	}
	if !testwait.Holds(func() bool { own.json("GET", "/api/pending", "", &list); return len(list.Pending) == 1 }) {
		t.Fatal("nobody is asked", c.log)
	}
	q := list.Pending[0]
	var said struct {
		OK    bool
		Error string
	}
	for _, decision := range []string{"allow", "deny"} {
		body := fmt.Sprintf(`{"id": %q, "digest": %q, "decision": %q}`, q.ID, q.Digest, decision)
		status := own.json("POST", "/api/answer", body, &said)
		if status != http.StatusForbidden || said.OK ||
			!strings.Contains(said.Error, "somebody else to answer than who asked") {
			t.Errorf("%s: %d, %+v", decision, status, said)
		}
	}
	status := other.json("POST", "/api/answer",
		fmt.Sprintf(`{"id": %q, "digest": %q, "decision": "allow", "wait": "10s"}`, q.ID, q.Digest), &said)
	if status != http.StatusOK || !said.OK {
		t.Errorf("somebody else: %d, %+v", status, said)
	}
	if got := answerOf(t, answer); !strings.HasPrefix(got, `"written"`) {
		t.Errorf("the program got %s", got)
	}
	if q.Principal != "acme:id1" {
		t.Errorf("the call is of %s", q.Principal)
	}
	if status := own.json("POST", "/logout", "{}", &said); status != http.StatusOK {
		t.Errorf("logging out: %d", status)
	}
	if res, _ := c.get(own.path+"/api/pending", own.cookie); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("after it: %s", res.Status)
	}
	if out, err := command(t, "console", "--state", c.state, "--as", "acme:id1").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "signs in on the page") {
		t.Errorf("a link in the name of somebody who signs in: %v: %s", err, out)
	}
	record := c.record()
	if !answeredBy("acme:id2").MatchString(record) {
		t.Errorf("the record does not say that acme:id2 answered:\n%s", record)
	}
	for _, want := range []string{
		`who asks for a call may not answer for it`,
		`a login to the page at the identity provider acme, as approver`,
	} {
		if !strings.Contains(record, want) {
			t.Errorf("the record does not have %s:\n%s", want, record)
		}
	}
}

// A person signs in at the provider, which is another site for the browser, sees a question, answers it and leaves, all
// with the keyboard. The record has their name.
func TestAPersonSignsInWithTheKeyboard(t *testing.T) {
	t.Parallel()
	address := mcptest.FreeAddress(t)
	h := newHouse(t, personsProfile, "--console", address)
	issuer := startIssuer(t, "-host", "localhost", "-redirect", "http://"+address+"/signin/callback")
	write(t, h.config, `{
		"console": {"signIn": {"name": "acme", "issuer": "`+issuer+`", "client": "page", "secret": "${PAGE_SECRET}",
			"scopes": ["profile"], "claims": {"principal": "preferred_username"}, "roles": {"approver": ["developers"]}}},
		"evaluation": {"profiles": {"p": `+personsProfile+`}, "expose": ["p"]}}`)
	h.environment = append(h.environment, "PAGE_SECRET=page-secret")
	h.tells()
	out, err := h.command("doctor", "--config", h.config)
	if !strings.Contains(out, "people can sign in to the page at "+issuer) {
		t.Errorf("doctor: %v: %s", err, out)
	}
	client := h.connect()
	b := newTab(t, "signin")
	press := func(what, keys string) {
		t.Helper()
		b.Do(what, chromedp.KeyEvent(keys))
	}
	focus := func(where string) {
		t.Helper()
		for range 30 {
			there, err := chromedp.Run(b.Ctx,
				chromedp.Evaluate[bool](fmt.Sprintf(`document.activeElement?.matches(%q) === true`, where)))
			if err == nil && there {
				return
			}
			press("move on", kb.Tab)
		}
		b.Fail("the keyboard does not reach "+where, nil)
	}
	answer := runs(t, client, writesAFile)
	b.Do("open the page", chromedp.Navigate("http://"+address+"/"))
	b.Until("the page asks for a login", `document.activeElement?.id === "sign-in"`)
	b.look("login")
	press("sign in", kb.Enter)
	b.Until("the provider asks who it is",
		`location.hostname === "localhost" && document.querySelector("input[name=username]") !== null`)
	focus("input[name=username]")
	press("the name", "test-user@localhost")
	focus("input[name=password]")
	press("the password", "verysecure")
	press("send it", kb.Enter)
	b.Until("the page says who it is", `document.querySelector("main")?.textContent.includes("acme:test-user@localhost")`)
	b.look("signed-in")
	focus("#continue")
	press("go on", kb.Enter)
	b.Until("the question is there", `document.querySelectorAll(".ask").length === 1`)
	b.Until("what is not theirs is not there",
		`[...document.querySelectorAll("nav a")].map((a) => a.textContent.match(/[A-Z][a-z]+/)[0]).join() ===
			"Waiting,Grants"`)
	b.Settle()
	focus(".ask button.yes")
	press("allow it", kb.Enter)
	b.says(".given.good .state", "done")
	if got := answerOf(t, answer); !strings.HasPrefix(got, `"written"`) {
		t.Errorf("the program got %s", got)
	}
	if _, err := os.Stat(filepath.Join(h.files, "a.md")); err != nil {
		t.Error(err)
	}
	at := b.Text(`document.body.dataset.base`)
	focus(".who button:not([type=button])")
	press("log out", kb.Enter)
	b.Until("the login is there", `document.getElementById("sign-in") !== null`)
	b.Do("go back", chromedp.Navigate("http://"+address+at+"/"))
	b.Until("the session is over",
		`document.getElementById("sign-in") !== null && document.querySelector(".ask") === null`)
	client.Close()
	out, err = h.command("audit", "list", "--json")
	if err != nil || !answeredBy("acme:test-user@localhost").MatchString(out) {
		t.Errorf("%v: the record does not have the person's name:\n%s", err, out)
	}
}

// codemode doctor says what would keep people from signing in, and where.
func TestDoctorLooksAtTheSignIn(t *testing.T) {
	t.Parallel()
	d := newDoctorHere(t, "")
	for _, x := range []struct{ signIn, says string }{
		{`"issuer": "http://127.0.0.1:1", "secret": "${NOT_SET_ANYWHERE}"`, "the variable NOT_SET_ANYWHERE is not set"},
		{`"issuer": "http://127.0.0.1:1"`, "connection refused"},
	} {
		config := write(t, filepath.Join(d.home, "signin.json"),
			`{"console": {"signIn": {"name": "acme", "client": "page", "roles": {"approver": ["x"]}, `+x.signIn+`}}}`)
		cmd := exec.Command(os.Args[0], "doctor", "--config", config)
		cmd.Env, cmd.Dir = d.environment, d.home
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), x.says) {
			t.Errorf("%s: %v: %s", x.signIn, err, out)
		}
	}
}
