package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// startIssuer starts the identity provider of testdata/issuer as a process of its own and returns its address.
func startIssuer(t *testing.T, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "issuer")
	build := exec.Command("go", "-C", "../../testdata/issuer", "build", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("the identity provider of testdata/issuer does not build here: %v\n%s", err, out)
	}
	cmd := exec.Command(program, flags...)
	out := &screen{}
	cmd.Stdout = out
	checktest.OK(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	address := ""
	if !testwait.Holds(func() bool {
		_, after, _ := strings.Cut(out.String(), "issuer=")
		line, _, whole := strings.Cut(after, "\n")
		address = line
		return whole
	}) {
		t.Fatal("the identity provider does not listen")
	}
	return address
}

// A team is codemode serve --http whose people sign in at an identity provider.
type team struct {
	*served
	issuer, state string
}

func startTeam(t *testing.T) *team {
	t.Helper()
	issuer, address := startIssuer(t), mcptest.FreeAddress(t)
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"), fmt.Sprintf(`{
		"evaluation": {"defaultProfile": "readonly", "profiles": {
			"readonly": {"unmatched": "deny"}, "writes": {}, "admin": {}}},
		"http": {
			"tokens": [{"token": "${CI_TOKEN}", "principal": "ci"}],
			"oauth": {
				"resource": "http://%s/mcp",
				"issuers": {"acme": {
					"issuer": %q,
					"claims": {"roles": "groups"},
					"profiles": {
						"readonly": {"scope": "codemode:read"},
						"writes": {"scope": "codemode:write", "roles": ["developers"]},
						"admin": {"roles": ["admins"]}},
					"introspection": {"client": "codemode", "secret": "${INTROSPECTION}"}}}}}}`, address, issuer))
	state := t.TempDir()
	s := serveOverHTTP(t, address, []string{"CI_TOKEN=the-token-of-the-build", "INTROSPECTION=introspection-secret"},
		"--config", config, "--root", t.TempDir(), "--state", state)
	return &team{s, issuer, state}
}

// record ends the server and returns what it recorded.
func (s *team) record() string {
	s.t.Helper()
	s.end()
	out, err := command(s.t, "audit", "list", "--state", s.state, "--json").CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// atProvider does what a person does in a browser: it opens an address, fills in the form, and returns the address that
// the provider sends the browser to, with a code.
func atProvider(address, person string) (*url.URL, error) {
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	next := func(res *http.Response, err error) (*url.URL, error) {
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		to, err := res.Location()
		if err != nil {
			text, _ := io.ReadAll(res.Body)
			return nil, fmt.Errorf("%s: %s %s", res.Request.URL, res.Status, text)
		}
		return to, nil
	}
	at, err := next(browser.Get(address))
	if err != nil {
		return nil, err
	}
	form := url.Values{"id": {at.Query().Get("authRequestID")}, "username": {person}, "password": {"verysecure"}}
	at, err = next(browser.PostForm(at.Scheme+"://"+at.Host+"/login/username", form))
	for err == nil && at.Query().Get("code") == "" {
		at, err = next(browser.Get(at.String()))
	}
	return at, err
}

// signIn is the browser of a client of MCP.
func signIn(t *testing.T, person string, asked *[]url.Values) auth.AuthorizationCodeFetcher {
	return func(_ context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
		opened, err := url.Parse(a.URL)
		if err != nil {
			return nil, err
		}
		*asked = append(*asked, opened.Query())
		at, err := atProvider(a.URL, person)
		if err != nil {
			return nil, err
		}
		q := at.Query()
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	}
}

// enter connects a client of the Go SDK that knows nothing but the address. It returns the token that it got.
func (s *team) enter(version, path, client, person string, asked *[]url.Values) (*mcp.ClientSession, string) {
	s.t.Helper()
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		PreregisteredClient:      &oauthex.ClientCredentials{ClientID: client},
		RedirectURL:              "http://127.0.0.1/callback",
		AuthorizationCodeFetcher: signIn(s.t, person, asked),
	})
	checktest.OK(s.t, err)
	c, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(s.t.Context(),
		&mcp.StreamableClientTransport{Endpoint: s.url + path, OAuthHandler: handler, MaxRetries: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		s.t.Fatalf("%s as %s: %v\n%s", path, person, err, s.log)
	}
	source, err := handler.TokenSource(s.t.Context())
	checktest.OK(s.t, err)
	token, err := source.Token()
	checktest.OK(s.t, err)
	return c, token.AccessToken
}

// try sends a request with a token and returns the status.
func (s *team) try(token string) int {
	s.t.Helper()
	const body = `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
		"capabilities": {}, "clientInfo": {"name": "tester", "version": "1"}}}`
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url, strings.NewReader(body))
	checktest.OK(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	checktest.OK(s.t, err)
	res.Body.Close()
	return res.StatusCode
}

// sorted orders scopes, which have no order.
func sorted(scopes string) string {
	words := strings.Fields(scopes)
	slices.Sort(words)
	return strings.Join(words, " ")
}

func evalTools(t *testing.T, c *mcp.ClientSession) []string {
	t.Helper()
	res, err := c.ListTools(t.Context(), nil)
	checktest.OK(t, err)
	var names []string
	for _, tool := range res.Tools {
		if strings.HasPrefix(tool.Name, "codemode_eval") {
			names = append(names, tool.Name)
		}
	}
	slices.Sort(names)
	return names
}

// A client that knows the address alone finds the issuer, a person signs in, and the token allows the profiles that its
// scopes and the person's groups allow: with JWTs and with opaque tokens, in each version of the protocol.
func TestPeopleSignIn(t *testing.T) {
	t.Parallel()
	s := startTeam(t)
	var secrets []string
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, kind := range []string{"jwt", "opaque"} {
			var asked []url.Values
			c, token := s.enter(version, "", kind, "test-user@127.0.0.1", &asked)
			secrets = append(secrets, token)
			if q := asked[0]; q.Get("resource") != s.url || sorted(q.Get("scope")) != "codemode:read codemode:write" ||
				q.Get("code_challenge_method") != "S256" {
				t.Errorf("%s: the client asked for %v", version, q)
			}
			if got := fmt.Sprint(evalTools(t, c)); got != "[codemode_eval codemode_eval_writes]" {
				t.Errorf("%s, %s: a developer sees %s", version, kind, got)
			}
			if got := callText(t, c, "return 6 * 7"); !strings.HasPrefix(got, "42") {
				t.Errorf("%s, %s: %s", version, kind, got)
			}
			c, token = s.enter(version, "", kind, "test-user2", &asked)
			secrets = append(secrets, token)
			if got := fmt.Sprint(evalTools(t, c)); got != "[codemode_eval]" {
				t.Errorf("%s, %s: a guest sees %s", version, kind, got)
			}
			c, token = s.enter(version, "/writes", kind, "test-user@127.0.0.1", &asked)
			secrets = append(secrets, token)
			if q := asked[len(asked)-1]; q.Get("resource") != s.url+"/writes" || q.Get("scope") != "codemode:write" {
				t.Errorf("%s: for one profile the client asked for %v", version, q)
			}
			if got := fmt.Sprint(evalTools(t, c)); got != "[codemode_eval_writes]" {
				t.Errorf("%s, %s: at the address of one profile there is %s", version, kind, got)
			}
			if status := s.try(token); status != http.StatusUnauthorized {
				t.Errorf("%s, %s: a token for one profile at the address of all: status %d", version, kind, status)
			}
		}
	}
	if status := s.try("the-token-of-the-build"); status != http.StatusOK {
		t.Errorf("a static token: status %d", status)
	}
	log := s.log.String()
	record := s.record()
	for _, want := range []string{`"acme:id1"`, `"acme:id2"`, `as \"id1\" of ` + s.issuer, `"wrong_audience"`} {
		if !strings.Contains(record, want) {
			t.Errorf("the record does not have %s:\n%s", want, record)
		}
	}
	for _, secret := range append(secrets, "introspection-secret") {
		if strings.Contains(record, secret) || strings.Contains(log, secret) {
			t.Errorf("a secret is in the record or the log: %.20s...", secret)
		}
	}
}

// A new key of the issuer counts at once and the old one no longer; a revoked token does not count for long.
func TestIssuersChangeTheirMinds(t *testing.T) {
	t.Parallel()
	s := startTeam(t)
	var asked []url.Values
	_, before := s.enter("", "", "jwt", "test-user2", &asked)
	if _, err := http.Post(s.issuer+"/test/rotate", "", nil); err != nil {
		t.Fatal(err)
	}
	_, after := s.enter("", "", "jwt", "test-user2", &asked)
	if a, b := s.try(after), s.try(before); a != http.StatusOK || b != http.StatusUnauthorized {
		t.Errorf("after the rotation: status %d with the new key, %d with the old one", a, b)
	}
	_, opaque := s.enter("", "", "opaque", "test-user2", &asked)
	if status := s.try(opaque); status != http.StatusOK {
		t.Errorf("an opaque token: status %d", status)
	}
	res, err := http.PostForm(s.issuer+"/revoke", url.Values{"token": {opaque}, "client_id": {"opaque"}})
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	revoked := time.Now()
	for s.try(opaque) == http.StatusOK {
		if time.Since(revoked) > 20*time.Second {
			t.Fatal("a revoked token still counts")
		}
		time.Sleep(500 * time.Millisecond) // the server keeps an answer of the issuer for a while
	}
	record := s.record()
	for _, want := range []string{`"bad_signature"`, `"inactive"`} {
		if !strings.Contains(record, want) {
			t.Errorf("the record does not have %s", want)
		}
	}
}

// The clients of the TypeScript SDKs sign in too.
func TestTypeScriptClientsSignIn(t *testing.T) {
	t.Parallel()
	dir := npmDir(t)
	s := startTeam(t)
	for _, sdk := range []string{"v1", "v2"} {
		for _, kind := range []string{"jwt", "opaque"} {
			cmd := exec.CommandContext(t.Context(), "node", "oauth.mjs", sdk, s.url, kind)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "PERSON=test-user@127.0.0.1")
			out, err := cmd.Output()
			if err != nil {
				failed, _ := err.(*exec.ExitError)
				t.Errorf("%s, %s: %v\n%s\n%s", sdk, kind, err, failed.Stderr, s.log)
				continue
			}
			var said struct {
				Tools []string
				Text  string
				Asked []struct{ Resource, Scope string }
			}
			if err := json.Unmarshal(out, &said); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			slices.Sort(said.Tools)
			if fmt.Sprint(said.Tools) != "[codemode_eval codemode_eval_writes]" || !strings.HasPrefix(said.Text, "42") ||
				len(said.Asked) != 1 || said.Asked[0].Resource != s.url ||
				sorted(said.Asked[0].Scope) != "codemode:read codemode:write" {
				t.Errorf("%s, %s: %s", sdk, kind, out)
			}
		}
	}
}
