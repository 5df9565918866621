//go:build unix

package main

import (
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/authenticator"
	"github.com/codemode-project/codemode/internal/testwait"
)

// startPasskeys starts a service whose page people sign in to, at the name localhost, with passkeys.
func startPasskeys(t *testing.T) *crew {
	t.Helper()
	address := freeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	origin := "http://localhost:" + port
	issuer := startIssuer(t, "-redirect", origin+"/console/signin/callback")
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"), fmt.Sprintf(`{
		"evaluation": {"profiles": {"p": {"asklist": [{"tool": "filesystem__write_file", "risk": "critical"}]}}, "expose": ["p"]},
		"console": {"origin": %q, "passkeys": true, "signIn": {"name": "acme", "issuer": %q, "client": "page",
			"secret": "${PAGE_SECRET}", "roles": {"approver": ["developers"]}}},
		"http": {"oauth": {"resource": "http://%s/mcp", "issuers": {"acme": {"issuer": %q,
			"profiles": {"p": {"scope": "codemode:write"}}}}}}}`, origin, issuer, address, issuer))
	state := t.TempDir()
	s := serveOverHTTP(t, address, []string{"PAGE_SECRET=page-secret"}, "--config", config, "--root", t.TempDir(),
		"--state", state)
	return &crew{&team{s, issuer, state}, origin}
}

// signsInAnew is signsIn with a sign-in that has to be fresh.
func (c *crew) signsInAnew(person string) *member {
	c.t.Helper()
	res, text := c.get(c.origin+"/console/signin?fresh=1&to=/passkeys", "")
	address := res.Header.Get("Location")
	if u, err := url.Parse(address); err != nil || u.Query().Get("prompt") != "login" || u.Query().Get("max_age") != "0" {
		c.t.Fatalf("%s to %q: %s", res.Status, address, text)
	}
	return c.enters(c.comesBack(address, person), cookieOf(res))
}

var optionsOf = regexp.MustCompile(`data-passkey="([^"]+)"`)

// form sends a form of the page, and returns the answer.
func (m *member) form(path string, fields url.Values) (*http.Response, string) {
	m.t.Helper()
	fields.Set("csrf", m.csrf)
	return m.send(http.MethodPost, m.path+path, m.cookie, fields.Encode(), "Content-Type: application/x-www-form-urlencoded",
		"Origin: "+m.origin)
}

// addsPasskey adds a passkey after a fresh sign-in.
func (m *member) addsPasskey() *authenticator.Key {
	m.t.Helper()
	k := authenticator.New(m.t, "localhost", m.origin)
	res, text := m.form("/passkeys/new", url.Values{"name": {"laptop"}})
	found := optionsOf.FindStringSubmatch(text)
	if res.StatusCode != http.StatusOK || found == nil {
		m.t.Fatalf("%s %s", res.Status, text)
	}
	res, text = m.form("/passkeys/add", url.Values{"credential": {k.Create([]byte(html.UnescapeString(found[1])))}})
	if res.StatusCode != http.StatusSeeOther {
		m.t.Fatalf("%s %s", res.Status, text)
	}
	return k
}

// A person signs in at a provider, adds a passkey after a fresh sign-in, and allows a critical call with it. The record
// has all of it.
func TestACriticalCallIsAllowedWithAPasskey(t *testing.T) {
	t.Parallel()
	c := startPasskeys(t)
	const person = "test-user@127.0.0.1"
	var asked []url.Values
	caller, _ := c.enter("2025-11-25", "", "jwt", person, &asked)
	m := c.signsIn(person)
	if res, text := m.form("/passkeys/new", url.Values{"name": {"laptop"}}); res.StatusCode != http.StatusForbidden ||
		!strings.Contains(text, "sign in again with acme") {
		t.Errorf("after a sign-in that need not be fresh: %s %s", res.Status, text)
	}
	k := c.signsInAnew(person).addsPasskey()

	answer := runs(t, caller, writesAFile)
	var list struct {
		Pending []struct {
			ID, Digest, Code string
			NeedsPasskey     bool
		}
	}
	if !testwait.Holds(func() bool { m.json("GET", "/api/pending", "", &list); return len(list.Pending) == 1 }) {
		t.Fatal("nobody is asked", c.log)
	}
	q := list.Pending[0]
	body := fmt.Sprintf(`{"id": %q, "digest": %q, "decision": "allow", "code": %q, "wait": "10s"}`, q.ID, q.Digest, q.Code)
	var said struct {
		OK      bool
		Error   string
		Passkey rawText
	}
	if status := m.json("POST", "/api/answer", body, &said); status != http.StatusForbidden || said.OK || said.Passkey == "" ||
		!q.NeedsPasskey {
		t.Fatalf("the session alone: %d %+v", status, said)
	}
	res, text := m.send(http.MethodPost, m.path+"/api/answer", m.cookie, body, "Content-Type: application/json",
		"X-CSRF-Token: "+m.csrf, "X-Proof: "+k.Get([]byte(said.Passkey)))
	if res.StatusCode != http.StatusOK {
		t.Fatalf("with the passkey: %s %s", res.Status, text)
	}
	if got := answerOf(t, answer); !strings.HasPrefix(got, `"written"`) {
		t.Errorf("the program got %s", got)
	}
	record := c.record()
	for _, want := range []string{
		`"detail":"the passkey \"laptop\"","kind":"access"`, `"state":"passkey_added"`,
		`"state":"passkey_used"`, `"principal":"acme:id1","proof":"passkey"},`,
	} {
		if !strings.Contains(record, want) {
			t.Errorf("the record lacks %s:\n%s", want, record)
		}
	}
}

// A rawText is JSON as it came.
type rawText string

func (r *rawText) UnmarshalJSON(text []byte) error { *r = rawText(text); return nil }

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
		fmt.Sprintf(`{"console": {"address": %q, "origin": "http://localhost:%s", "passkeys": true}}`, port, port))
	out, err := command(t, "serve", "--config", config, "--root", t.TempDir(), "--state", t.TempDir(), "--console", port).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "has the address [::1]:"+port+" too") ||
		!strings.Contains(string(out), "take another port") {
		t.Errorf("another program has the other address: %v\n%s", err, out)
	}
}
