package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/hostedtest"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// hostedConfig starts a server that wants a login and returns a configuration with it.
func hostedConfig(t *testing.T, o hostedtest.Options) (*hostedtest.Server, string) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	one := mcp.NewServer(&mcp.Implementation{Name: "hosted", Version: "1"}, nil)
	mcp.AddTool(one, &mcp.Tool{Name: "greet"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult,
		any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}}, nil, nil
	})
	o.Serve = func(*http.Request) *mcp.Server { return one }
	h := mcptest.Host(t, o)
	return h, write(t, filepath.Join(t.TempDir(), "c.json"), fmt.Sprintf(`{"mcpServers": {"linear": {"url": %q}}}`, h.URL))
}

// logIn runs codemode login as a person with a browser would.
func logIn(t *testing.T, config string) (code int, said string) {
	t.Helper()
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	out, errs := &screen{}, &screen{}
	over := make(chan int, 1)
	go func() {
		over <- Main(ctx, []string{"login", "linear", "--no-browser", "--config", config},
			cli.Streams{In: strings.NewReader(""), Out: out, Err: errs})
	}()
	if !testwait.Holds(func() bool { return strings.HasSuffix(out.String(), "\n") }) {
		t.Fatalf("no address was printed: %s", errs)
	}
	address := strings.TrimSpace(out.String())
	if u, err := url.Parse(address); err != nil || u.Query().Get("code_challenge") == "" {
		t.Errorf("the address is %q", address)
	}
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	page, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK { // it was not the answer: the login waits on, until the person gives up
		select {
		case code = <-over:
			t.Errorf("the login ended, with exit code %d: %s", code, errs)
			return code, errs.String() + string(page)
		case <-time.After(300 * time.Millisecond):
		}
		giveUp()
	}
	return <-over, errs.String() + string(page)
}

// show runs a command and returns all that it prints.
func show(t *testing.T, args ...string) (int, string) {
	t.Helper()
	out := &screen{}
	code := runMain(t, cli.Streams{In: strings.NewReader(""), Out: out, Err: out}, args...)
	return code, out.String()
}

func TestLoginAndLogout(t *testing.T) {
	h, config := hostedConfig(t, hostedtest.Options{})
	wants := func(when, want string, code int, args ...string) string {
		t.Helper()
		got, text := show(t, append(args, "--config", config)...)
		if got != code || !strings.Contains(text, want) {
			t.Errorf("%s: codemode %s: exit code %d, %s\nwant %d and %q", when, strings.Join(args, " "), got, text, code, want)
		}
		return text
	}
	run := []string{"run", "-e", "return await codemode.linear__greet({})"}
	seen := wants("before the login", "run codemode login linear", cli.ExitOK, "tools")
	code, said := logIn(t, config)
	if code != cli.ExitOK || !strings.Contains(said, "Logged in to linear.") ||
		!strings.Contains(said, "codemode has the answer") {
		t.Fatalf("codemode login: exit code %d, %s", code, said)
	}
	seen += said
	seen += wants("after the login", "linear__greet", cli.ExitOK, "tools")
	seen += wants("after the login", `"hello"`, cli.ExitOK, run...)
	h.Revoke(false)
	seen += wants("with a token that has ended", `"hello"`, cli.ExitOK, run...)
	h.Revoke(true)
	seen += wants("with a login that has expired", "run codemode login linear", cli.ExitProgram, run...)
	seen += wants("", "Logged out of linear.", cli.ExitOK, "logout", "linear")
	seen += wants("a second time", "no login", cli.ExitUsage, "logout", "linear")
	seen += wants("", `there is no server "nobody"`, cli.ExitUsage, "login", "nobody")
	seen += wants("", "runs on this machine", cli.ExitInternal, "login", "time")
	for _, secret := range h.Secrets() {
		if strings.Contains(seen, secret) {
			t.Errorf("a token was printed:\n%s", seen)
		}
	}
}

// TestALoginThatIsNotOurs: an answer with another state does not end the login that waits, and nothing of it is kept.
func TestALoginThatIsNotOurs(t *testing.T) {
	_, config := hostedConfig(t, hostedtest.Options{Tamper: func(q url.Values) { q.Set("state", "guessed") }})
	if code, said := logIn(t, config); code == cli.ExitOK || !strings.Contains(said, "does not belong to this login") ||
		!strings.Contains(said, "It still waits.") {
		t.Errorf("exit code %d, %s", code, said)
	}
	if code, text := show(t, "logout", "linear", "--config", config); code != cli.ExitUsage || !strings.Contains(text,
		"no login") {
		t.Errorf("something was kept: exit code %d, %s", code, text)
	}
}

// TestTheClientMetadata: the document that the command prints is the one that the service serves, and lists where the
// browsers of the command and of the page come back to. It is printed for no address that it cannot have.
func TestTheClientMetadata(t *testing.T) {
	config := write(t, filepath.Join(t.TempDir(), "c.json"), `{"console": {"origin": "https://codemode.example.com"},
		"mcpServers": {"two": {"url": "https://two.example/mcp"},
			"one": {"url": "https://one.example/mcp", "oauth": {"clientMetadataUrl": "https://me.example/c/m.json"}}}}`)
	local := write(t, filepath.Join(t.TempDir(), "c.json"), `{"console": {"origin": "http://localhost:7391"}}`)
	broken := write(t, filepath.Join(t.TempDir(), "c.json"), `{"console": 7}`)
	const page = "https://codemode.example.com/console"
	for _, row := range []struct {
		config, where, id, uri string
		more                   []string // redirects, besides those on this machine
		fail                   string
	}{
		{config, "", page + "/client-metadata.json", page + "/", []string{page + "/accounts/callback"}, ""},
		{config, "one", "https://me.example/c/m.json", "https://me.example/c/", []string{page + "/accounts/callback"}, ""},
		{local, "https://me.example/m.json", "https://me.example/m.json", "https://me.example/", nil, ""},
		{config, "two", "", "", nil, `the server "two" has no "oauth": {"clientMetadataUrl"`},
		{config, "three", "", "", nil, `there is no server "three"`},
		{local, "", "", "", nil, "name the https address"},
		{config, "http://me.example/m.json", "", "", nil, "must begin with https://"},
		{config, "https://me.example", "", "", nil, "has no path"},
		{broken, "https://me.example/m.json", "", "", nil, "console"},
	} {
		args := []string{"login", "--client-metadata", "--config", row.config, row.where}
		if row.where == "" {
			args = args[:4]
		}
		code, text := show(t, args...)
		if row.fail != "" {
			if code != cli.ExitUsage || !strings.Contains(text, row.fail) {
				t.Errorf("%q: exit code %d, %s, want %q", row.where, code, text, row.fail)
			}
			continue
		}
		want := map[string]any{"client_id": row.id, "client_name": "codemode", "client_uri": row.uri,
			"redirect_uris": append([]string{"http://127.0.0.1/callback", "http://localhost/callback"}, row.more...),
			"grant_types":   []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
			"token_endpoint_auth_method": "none", "application_type": "native"}
		var got any
		if err := json.Unmarshal([]byte(text), &got); code != cli.ExitOK || err != nil {
			t.Errorf("%q: exit code %d, %s", row.where, code, text)
		} else if a, b := jsonOf(t, got), jsonOf(t, want); a != b {
			t.Errorf("%q: got\n%s\nwant\n%s", row.where, a, b)
		}
	}
	_, printed := show(t, "login", "--client-metadata", "--config", config)
	s := serveOverHTTP(t, "0", nil, "--config", config)
	defer s.end()
	address := strings.TrimSuffix(s.url, "/mcp") + "/console/client-metadata.json"
	if status, served := fetch(t, address); status != http.StatusOK || served != printed {
		t.Errorf("served: %d %s\nprinted: %s", status, served, printed)
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	checktest.OK(t, err)
	return string(text)
}
