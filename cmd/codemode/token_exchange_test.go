package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/mcptest"
)

// TestTheTokenOfACallerIsExchanged: a person signs in at an identity provider and calls codemode serve --http. The token
// endpoint gets the person's token, the upstream gets what comes back, and nothing else has either.
func TestTheTokenOfACallerIsExchanged(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var subjects []string
	passed := false
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // an unreadable form is empty
		mu.Lock()
		defer mu.Unlock()
		subjects = append(subjects, r.PostForm.Get("subject_token"))
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": fmt.Sprintf("exchanged-token-%d", len(subjects)),
			"token_type": "Bearer", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "expires_in": 300})
	}))
	defer endpoint.Close()
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "whose"}, func(_ context.Context, r *mcp.CallToolRequest,
			_ struct{}) (*mcp.CallToolResult, any, error) {
			given := r.Extra.Header.Get("Authorization")
			mu.Lock()
			defer mu.Unlock()
			passed = passed || !strings.HasPrefix(given, "Bearer exchanged-token-")
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "number " +
				given[strings.LastIndexByte(given, '-')+1:]}}}, nil, nil
		})
		return s
	}, &mcp.StreamableHTTPOptions{Stateless: true}))
	defer func() { server.CloseClientConnections(); server.Close() }()
	issuer, address := startIssuer(t), mcptest.FreeAddress(t)
	config := write(t, filepath.Join(t.TempDir(), "codemode.json"), fmt.Sprintf(`{
		"mcpServers": {"x": {"url": %q, "oauth": {"exchange": {"tokenUrl": %q, "clientId": "codemode",
			"clientSecret": "${EXCHANGE}", "scope": "read"}}}},
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["x__*"]}}},
		"http": {"tokens": [{"token": "${CI_TOKEN}", "principal": "ci"}],
			"oauth": {"resource": "http://%s/mcp", "issuers": {"acme": {"issuer": %q,
				"profiles": {"p": {"scope": "codemode:read"}}}}}}}`, server.URL, endpoint.URL, address, issuer))
	state := t.TempDir()
	s := &team{serveOverHTTP(t, address, []string{"CI_TOKEN=the-token-of-the-build", "EXCHANGE=exchange-secret"}, "--config",
		config, "--root", t.TempDir(), "--state", state), issuer, state}
	const program = `try { return await codemode.x__whose({}) } catch (e) { return e.message }`
	var secrets []string
	for i, version := range []string{"2025-11-25", "2026-07-28"} {
		var asked []url.Values
		c, token := s.enter(version, "", "jwt", "test-user@127.0.0.1", &asked)
		secrets = append(secrets, token)
		for range 2 { // the second call uses what was exchanged
			if got := callText(t, c, program); !strings.Contains(got, fmt.Sprintf("number %d", i+1)) {
				t.Errorf("%s: %s", version, got)
			}
		}
	}
	build, err := s.connect("2025-11-25", "the-token-of-the-build", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := callText(t, build, program); !strings.Contains(got, "this call has none") {
		t.Errorf("a static token: %s", got)
	}
	mu.Lock()
	if fmt.Sprint(subjects) != fmt.Sprint(secrets) || passed {
		t.Errorf("%d tokens were exchanged, want those of the two sign-ins; the upstream got a caller's own: %t",
			len(subjects), passed)
	}
	mu.Unlock()
	log, record := s.log.String(), s.record()
	kept, err := os.ReadFile(filepath.Join(state, "codemode.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range append(secrets, "exchanged-token", "exchange-secret") {
		for where, text := range map[string]string{"log": log, "record": record, "database": string(kept)} {
			if strings.Contains(text, secret) {
				t.Errorf("a token is in the %s", where)
			}
		}
	}
}
