package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/hostedtest"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// personalServer is a server that answers with the user whose token came with the call.
func personalServer(t *testing.T) *hostedtest.Server {
	t.Helper()
	var h *hostedtest.Server
	h = mcptest.Host(t, hostedtest.Options{Serve: func(*http.Request) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "hosted", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "whoami"}, func(_ context.Context, r *mcp.CallToolRequest,
			_ struct{}) (*mcp.CallToolResult, any, error) {
			user := h.User(&http.Request{Header: r.Extra.Header})
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "you are " + user}}}, nil, nil
		})
		return s
	}})
	return h
}

// logInAs runs codemode login with a browser that is signed in at the server as a user.
func logInAs(t *testing.T, user string, args ...string) (code int, said string) {
	t.Helper()
	out, errs := &screen{}, &screen{}
	over := make(chan int, 1)
	go func() {
		over <- Main(t.Context(), append([]string{"login", "linear", "--no-browser"}, args...),
			cli.Streams{In: strings.NewReader(""), Out: out, Err: errs})
	}()
	if !testwait.Holds(func() bool { return strings.HasSuffix(out.String(), "\n") }) {
		t.Fatalf("no address was printed: %s", errs)
	}
	resp, err := http.Get(strings.TrimSpace(out.String()) + "&user=" + user)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return <-over, errs.String()
}

// TestLoginOfAPrincipal: with "per": "principal" a call uses the login of whoever makes it, and says which is missing.
func TestLoginOfAPrincipal(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	h := personalServer(t)
	config := write(t, filepath.Join(t.TempDir(), "c.json"), fmt.Sprintf(`{
		"mcpServers": {"linear": {"url": %q, "oauth": {"per": "principal"}}},
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["linear__*"]},
			"asks": {"asklist": ["linear__*"]}, "denies": {"denylist": ["linear__*"]}}}}`, h.URL))
	program := []string{"run", "--config", config, "-e",
		"try { return await codemode.linear__whoami({}) } catch (e) { return [e.name, e.outcome, e.reason, e.message] }"}
	if code, said := logInAs(t, "operator", "--config", config); code != cli.ExitOK {
		t.Fatalf("the login of the operator: %d, %s", code, said)
	}
	me := launch.Principal()
	wants := func(when string, args []string, parts ...string) {
		t.Helper()
		code, text := show(t, args...)
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%s: exit code %d, %s\nwant %q", when, code, text, part)
			}
		}
	}
	missing := []string{"UpstreamError", "not_sent", "login_required", me + " has no login there",
		"codemode login linear --principal " + me}
	wants("before the login", program, missing...)
	wants("nobody is asked in vain", append(program, "--profile", "asks"), missing...)
	wants("a denial comes first", append(program, "--profile", "denies"), "ToolCallDeniedError", "the profile denies it")
	if code, said := logInAs(t, "anna", "--config", config, "--principal", me); code != cli.ExitOK ||
		!strings.Contains(said, "Logged in to linear for "+me) {
		t.Fatalf("the login of the principal: %d, %s", code, said)
	}
	wants("after the login", program, "you are anna")
	wants("the record", []string{"audit", "list", "--json", "--kind", "access", "--config", config}, `"login_made"`, me)
	wants("another principal", []string{"logout", "linear", "--principal", "acme:ben", "--config", config}, "no login")
	wants("the logout", []string{"logout", "linear", "--principal", me, "--config", config}, "Logged out of linear.")
	wants("after the logout", program, missing...)
	code, all := show(t, "audit", "list", "--json", "--config", config)
	for _, secret := range h.Secrets() {
		if code != cli.ExitOK || strings.Contains(all, secret) {
			t.Errorf("a token is in the record, or it cannot be read: %d", code)
		}
	}
}
