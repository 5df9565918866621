package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/server"
)

// TestCodemodeIsNoServerOfItself: an address in the configuration leads back to the process that reads it.
func TestCodemodeIsNoServerOfItself(t *testing.T) {
	h := open(t, `{}`, server.Options{})
	address := h.listen()
	h.write(fmt.Sprintf(`{"mcpServers": {"me": {"url": %q}, "old": {"url": %q, "type": "sse"}}}`, address, address))
	known := func(name string) bool {
		return slices.ContainsFunc(h.evaluator.Tools().Manager.Status(),
			func(st upstream.Status) bool { return st.Name == name })
	}
	eventually(t, "the servers are known", func() bool { return known("me") && known("old") })
	h.evaluator.Tools().Ready(t.Context(), 20*time.Second)
	for _, st := range h.evaluator.Tools().Manager.Status() {
		switch st.Name {
		case "me":
			if st.State == upstream.Ready || !strings.Contains(st.Error, "this server is codemode, and so is its client") {
				t.Errorf("%s is %s: %s", st.Name, st.State, st.Error)
			}
		case "old":
			if st.State == upstream.Ready {
				t.Errorf("%s is %s", st.Name, st.State)
			}
		}
	}
}

// TestCodemodeIsRefusedAsClient: whatever the protocol and the transport, and whoever stands between.
func TestCodemodeIsRefusedAsClient(t *testing.T) {
	h := open(t, `{}`, server.Options{})
	url := h.listen()
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, overHTTP := range []bool{false, true} {
			for _, codemode := range []bool{true, false} {
				capabilities := &mcp.ClientCapabilities{}
				if codemode {
					capabilities.Experimental = map[string]any{upstream.GateCapability: map[string]any{}}
				}
				client := mcp.NewClient(&mcp.Implementation{Name: "codemode (via a-proxy 1.0)", Version: "1"},
					&mcp.ClientOptions{Capabilities: capabilities})
				var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1}
				if !overHTTP {
					inner, outer := mcp.NewInMemoryTransports()
					go h.server.Serve(t.Context(), inner)
					transport = outer
				}
				cs, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err == nil {
					_, err = cs.ListTools(t.Context(), nil)
					if err == nil {
						_, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "codemode_eval",
							Arguments: map[string]any{"code": "return 1"}})
					}
					cs.Close()
				}
				if codemode != (err != nil) || codemode && !strings.Contains(err.Error(), "one codemode behind another") {
					t.Errorf("version %s, HTTP %t, codemode %t: %v", version, overHTTP, codemode, err)
				}
			}
		}
	}
}
