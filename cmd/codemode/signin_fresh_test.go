//go:build unix

package main

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/testwait"
)

// begins begins a new sign-in for a question: the address at the provider, and the cookie of the browser.
func (m *member) begins(question string) (address, cookie string) {
	m.t.Helper()
	res, text := m.get(m.path+"/prove/"+question, m.cookie)
	address = res.Header.Get("Location")
	u, err := url.Parse(address)
	if err != nil || res.StatusCode != http.StatusSeeOther || u.Query().Get("prompt") != "login" ||
		u.Query().Get("max_age") != "0" || u.Query().Get("acr_values") != "phr" {
		m.t.Fatalf("%s to %q: %s", res.Status, address, text)
	}
	return address, cookieOf(res)
}

// nextIDToken makes the next ID token of the provider a special one.
func (c *crew) nextIDToken(be string) {
	c.t.Helper()
	if _, err := http.Post(c.issuer+"/test/idtoken?be="+be, "", nil); err != nil {
		c.t.Fatal(err)
	}
}

// A person who has signed in allows a critical call after a new sign-in for it, and in no other way. The record has all
// of it.
func TestACriticalCallIsAllowedAfterANewSignIn(t *testing.T) {
	t.Parallel()
	c := startCrew(t, `"acr": "phr", "roles": {"approver": ["developers", "guests"]}`,
		`{"asklist": [{"tool": "filesystem__write_file", "risk": "critical"}], "ask": {"timeout": "5m"}}`)
	const person, another = "test-user@127.0.0.1", "test-user2"
	var asked []url.Values
	caller, _ := c.enter("2025-11-25", "", "jwt", person, &asked)
	m := c.signsIn(person)
	answer := runs(t, caller, writesAFile)
	var list struct {
		Pending []struct {
			ID, Digest, Code string
			NeedsSignIn      bool
		}
	}
	if !testwait.Holds(func() bool { m.json("GET", "/api/pending", "", &list); return len(list.Pending) == 1 }) {
		t.Fatal("nobody is asked", c.log)
	}
	q := list.Pending[0]
	body := fmt.Sprintf(`{"id": %q, "digest": %q, "decision": "allow", "code": %q, "wait": "10s"}`, q.ID, q.Digest, q.Code)
	var said struct {
		OK            bool
		Error, SignIn string
	}
	refused := func(why string) {
		t.Helper()
		if status := m.json("POST", "/api/answer", body, &said); status != http.StatusForbidden || said.OK ||
			!strings.HasSuffix(m.path+"/prove/"+q.ID, said.SignIn) || said.SignIn == "" {
			t.Fatalf("%s: %d %+v", why, status, said)
		}
	}
	if !q.NeedsSignIn {
		t.Errorf("the question is %+v", q)
	}
	refused("the session alone")
	var states []string
	for _, x := range []struct{ state, be, person, says string }{
		{"no_auth_time", "no_auth_time", person, "does not say when you have signed in"},
		{"not_fresh", "old_auth_time", person, "did not have you sign in again"},
		{"wrong_acr", "other_acr", person, "did not sign in as a call of critical risk needs it"},
		{"wrong_acr", "no_acr", person, "did not sign in as a call of critical risk needs it"},
		{"wrong_nonce", "wrong_nonce", person, "is of another sign-in"},
		{"other_person", "acr", another, "you are acme:id2, and acme:id1 began this sign-in"},
	} {
		address, cookie := m.begins(q.ID)
		back := c.comesBack(address, x.person)
		c.nextIDToken(x.be)
		res, text := c.get(back, cookie)
		if res.StatusCode != http.StatusForbidden || !strings.Contains(text, x.says) ||
			strings.Contains(fmt.Sprint(res.Header), "/s/") {
			t.Errorf("%s: %s\n%s", x.be, res.Status, text)
		}
		states = append(states, `"state":"`+x.state+`"`)
		refused(x.be)
	}
	address, cookie := m.begins(q.ID)
	back := c.comesBack(address, person)
	c.nextIDToken("acr")
	if res, text := c.get(back, ""); res.StatusCode != http.StatusForbidden {
		t.Errorf("in another browser: %s %s", res.Status, text)
	}
	again := c.enters(back, cookie)
	if res, _ := c.get(back, cookie); res.StatusCode != http.StatusForbidden {
		t.Errorf("the same sign-in once more: %s", res.Status)
	}
	if res, _ := m.get(m.path+"/api/session", m.cookie); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("the session before it goes on: %s", res.Status)
	}
	if status := again.json("POST", "/api/answer", body, &said); status != http.StatusOK || !said.OK {
		t.Fatalf("after the new sign-in: %d %+v", status, said)
	}
	if got := answerOf(t, answer); !strings.HasPrefix(got, `"written"`) {
		t.Errorf("the program got %s", got)
	}
	record := c.record()
	for _, want := range append(states, `"principal":"acme:id1","proof":"sign-in"},`, `as approver, to allow this call`) {
		if !strings.Contains(record, want) {
			t.Errorf("the record lacks %s:\n%s", want, record)
		}
	}
}

// The name localhost has two addresses. The page takes both, or does not start.
func TestThePageAtLocalhostHasBothAddresses(t *testing.T) {
	t.Parallel()
	endToEnd(t)
	beside, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6: ", err)
	}
	defer beside.Close()
	_, port, _ := net.SplitHostPort(beside.Addr().String())
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"),
		fmt.Sprintf(`{"console": {"address": %q, "origin": "http://localhost:%s"}}`, port, port))
	out, err := command(t, "serve", "--config", config, "--root", t.TempDir(), "--state", t.TempDir(),
		"--console", port).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "has the address [::1]:"+port+" too") ||
		!strings.Contains(string(out), "take another port") {
		t.Errorf("another program has the other address: %v\n%s", err, out)
	}
}
