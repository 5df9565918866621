package server_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/server"
)

const bensToken = "the-token-of-ben-who-collects"

// openCollecting is a house with a page, where calls are answered after 300 ms. anna and ben have tokens.
func openCollecting(t *testing.T) (h *house, page *approvals.Queue) {
	t.Helper()
	page = approvals.NewQueue("web")
	h = open(t, `{"evaluation": {"returnAfter": "300ms", "defaultProfile": "p", "profiles": {"p": {
		"asklist": ["filesystem__write_file"], "ask": {"absent": "wait"}}}},
		"http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}, {"token": "${BEN}", "principal": "ben"}]}}`,
		server.Options{}, func(o *codemode.Options) {
			o.RecordDir, o.Channels = t.TempDir(), []approvals.Channel{page}
		})
	h.variables = map[string]string{"ANNA": annasToken, "BEN": bensToken}
	return h, page
}

func textOf(t *testing.T, c *mcp.ClientSession, tool string, arguments map[string]any) string {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	return r.Content[0].(*mcp.TextContent).Text
}

// A client that ends calls early gets the result all the same: on both generations, and only who asked for the run.
func TestARunOutlastsItsCall(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			h, page := openCollecting(t)
			url := h.listen()
			connect := func(token string) *mcp.ClientSession {
				c, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
					Capabilities: &mcp.ClientCapabilities{}}).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url,
					HTTPClient: mcptest.Bearer(token)}, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
				return c
			}
			anna, ben := connect(annasToken), connect(bensToken)
			first := textOf(t, anna, "codemode_eval", map[string]any{
				"code": `await codemode.filesystem__write_file({path: "a.txt", content: "x"}); return "written"`})
			name := regexp.MustCompile(`^Not over yet: run (\S+) is waiting until .* person`).FindStringSubmatch(first)
			if name == nil {
				t.Fatal(first)
			}
			run := map[string]any{"run": name[1], "wait": 0}
			if got, want := textOf(t, anna, "codemode_collect", run), name[1]+": not over. Collect again."; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if got := textOf(t, ben, "codemode_collect", run); !strings.Contains(got, "there is no such run") {
				t.Errorf("ben got %s", got)
			}
			seat := page.Sit("local:anna")
			defer seat.Leave()
			var open []approvals.Open
			for len(open) == 0 {
				time.Sleep(10 * time.Millisecond) // the question comes to the page
				open = seat.Pending()
			}
			if h.holds("a.txt") {
				t.Error("it was written before anybody said yes")
			}
			if err := seat.Answer(open[0].Request.ID, open[0].Request.Digest, "", call.Answer{Allowed: true}); err != nil {
				t.Fatal(err)
			}
			got := ""
			for range 100 {
				if got = textOf(t, anna, "codemode_collect", run); !strings.HasSuffix(got, "Collect again.") {
					break
				}
				time.Sleep(20 * time.Millisecond) // the run ends
			}
			if !strings.HasPrefix(got, `"written"`) || !h.holds("a.txt") {
				t.Errorf("got %s", got)
			}
			if again := textOf(t, anna, "codemode_collect", run); again != got {
				t.Errorf("collected again: got %s, want %s", again, got)
			}
		})
	}
}

// What is short is answered at once, and a client that shows a form is not answered before its person.
func TestOnlyWhatOutlastsACallIsCollected(t *testing.T) {
	h, _ := openCollecting(t)
	shows := h.connect(func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		time.Sleep(time.Second) // a person thinks for longer than a call takes
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow_once"}}, nil
	}, "2025-11-25")
	for _, row := range []struct{ code, want string }{
		{`return 1`, "1\n"},
		{`await codemode.filesystem__write_file({path: "b.txt", content: "x"}); return "written"`, `"written"`},
		{`for (let i = 0; i < 4; i++) await new Promise(r => setTimeout(r, 200)); return 2`, "Not over yet: run "},
	} {
		if got := textOf(t, shows.ClientSession, "codemode_eval", map[string]any{"code": row.code}); !strings.HasPrefix(got, row.want) {
			t.Errorf("%s: got %s, want %s", row.code, got, row.want)
		}
	}
}
