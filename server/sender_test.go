package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/server"
)

const internsRead = `{"evaluation": {"profiles": {"p": {}}, "overlays": [{"id": "interns", "role": "intern", "denylist": ["filesystem__write_*"]}]}}`

// A client over HTTP names the session that a person made for it in a header, on all versions of the protocol, and its
// programs are narrowed as its role is.
func TestS46ASessionForARoleByHeader(t *testing.T) {
	h := open(t, internsRead, server.Options{})
	url := h.listen()
	made, err := h.evaluator.Rules().NewSession(t.Context(), "intern", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	const write = `try { await codemode.filesystem__write_file({path: "n.md", content: "x"}); return "wrote" } catch (e) { return e.reason }`
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		c, sdk := newClient(t, nil, nil)
		session, err := sdk.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url,
			HTTPClient: mcptest.Sends("Codemode-Session", made.ID)},
			&mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(version, err)
		}
		defer session.Close()
		c.ClientSession = session
		c.want("codemode_eval_p", write, `"denied"`)
		if text, _ := c.call("search_tools", map[string]any{}); strings.Contains(text, "filesystem__write_file") ||
			!strings.Contains(text, "filesystem__read_text_file") {
			t.Errorf("%s: finds %s", version, text)
		}
		h.connectHTTPOn(url, nil, version).want("codemode_eval_p", write, `"wrote"`)
	}
	// Whoever opened a session of the protocol in it cannot leave it there, and no other id will do.
	_, _, session := knock{body: initializeBody, header: map[string]string{"Codemode-Session": made.ID}}.send(t, url)
	call := fmt.Sprintf(callBody, "return 1")
	for name, test := range map[string]struct {
		header map[string]string
		status int
		says   string
	}{
		"in it": {map[string]string{"Mcp-Session-Id": session, "Codemode-Session": made.ID}, http.StatusOK,
			""},
		"without it": {map[string]string{"Mcp-Session-Id": session}, http.StatusForbidden,
			"belongs to somebody else"},
		"an id that nobody made":   {map[string]string{"Codemode-Session": "cms_MADEUP"}, http.StatusForbidden, "never made"},
		"a name":                   {map[string]string{"Codemode-Session": "s1"}, http.StatusBadRequest, "cms_..."},
		"as the protocol's header": {map[string]string{"Mcp-Session-Id": made.ID}, http.StatusNotFound, "Codemode-Session"},
	} {
		test.header["Mcp-Protocol-Version"] = "2025-11-25"
		status, body, _ := knock{body: call, header: test.header}.send(t, url)
		if status != test.status || !strings.Contains(body, test.says) {
			t.Errorf("%s: status %d, want %d with %q: %s", name, status, test.status, test.says, body)
		}
	}
	if err := h.evaluator.Rules().EndSession(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	if status, body, _ := (knock{body: call, header: map[string]string{"Mcp-Session-Id": session,
		"Codemode-Session": made.ID, "Mcp-Protocol-Version": "2025-11-25"}}).send(t, url); status != http.StatusForbidden {
		t.Errorf("after its end: %d: %s", status, body)
	}
	if strings.Contains(h.log.String(), made.ID) {
		t.Errorf("the id is in the log:\n%s", h.log)
	}
}
