package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/server"
)

// Clients that went away without a word are no news to an operator, however often the list of tools changes.
func TestADepartedClientIsNoWarning(t *testing.T) {
	h := open(t, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {}}}}`, server.Options{})
	url := h.listen()
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		transport := &http.Transport{}
		ctx, hangUp := context.WithCancel(t.Context())
		_, sdk := newClient(t, nil, nil)
		c, err := sdk.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url,
			HTTPClient: &http.Client{Transport: cut{transport, ctx}}, MaxRetries: -1},
			&mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "codemode_eval",
			Arguments: map[string]any{"code": "return 1"}}); err != nil {
			t.Fatal(err)
		}
		hangUp()
		transport.CloseIdleConnections()
	}
	knock{body: initializeBody}.send(t, url) // and one that never opened a stream
	stays := h.connectHTTPOn(url, nil, "2025-11-25")
	for _, profile := range []string{"b", "c", "d"} {
		h.write(`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {}, "` + profile + `": {}}}}`)
		eventually(t, "the profile "+profile, func() bool { return h.evaluator.Config().Profile(profile) != nil })
		soon(t, "the news of it", stays.changed)
	}
	if log := h.log.String(); strings.Contains(log, "level=WARN") || strings.Contains(log, "level=ERROR") {
		t.Errorf("warnings about clients that are gone:\n%s", log)
	}
}
