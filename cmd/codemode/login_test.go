package main

import (
	"context"
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
