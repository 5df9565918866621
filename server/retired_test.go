package server_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/server"
)

// withdrawing is a configuration whose profile p asks before it writes, and one that does not expose p any more.
const (
	exposing = `{"evaluation": {"expose": ["p", "q"], "profiles": {"p": {"asklist": ["filesystem__write_file"]}, "q": {"allowlist": ["time__*"]}}}, "http": %s}`
	tokensPQ = `{"tokens": [{"token": "${ANNA}", "principal": "anna"}, {"token": "${BERT}", "principal": "bert"}, {"token": "${CARL}", "principal": "anna", "profiles": ["q"]}]}`
)

// A tool that was taken away while one of its calls waits for a person takes that call back, and no new program: on
// neither generation of the protocol, over neither transport, whatever requestState comes with it.
func TestAToolThatWasTakenAwayTakesNoNewProgram(t *testing.T) {
	for _, transport := range []string{"HTTP", "HTTP with tokens", "memory"} {
		t.Run(transport, func(t *testing.T) {
			config := fmt.Sprintf(exposing, "{}")
			if transport == "HTTP with tokens" {
				config = fmt.Sprintf(exposing, tokensPQ)
			}
			h := open(t, config, server.Options{})
			h.variables = map[string]string{"ANNA": annasToken, "BERT": bertsToken, "CARL": carlsToken}
			url, token := "", ""
			if transport != "memory" {
				url = h.listen()
			}
			if transport == "HTTP with tokens" {
				token = annasToken
			}
			connect := func(token, version string) *mcp.ClientSession {
				_, sdk := newClient(t, says("accept", nil),
					func(o *mcp.ClientOptions) { o.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true} })
				var way mcp.Transport = &mcp.StreamableClientTransport{Endpoint: url,
					HTTPClient: mcptest.Bearer(token), MaxRetries: -1}
				if url == "" {
					here, there := mcp.NewInMemoryTransports()
					ctx, cancel := context.WithCancel(context.Background())
					done := make(chan error, 1)
					go func() { done <- h.server.Serve(ctx, there) }()
					t.Cleanup(func() { cancel(); <-done })
					way = here
				}
				session, err := sdk.Connect(t.Context(), way, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { session.Close() })
				return session
			}
			waits := &walker{t: t, ClientSession: connect(token, "2026-07-28"), tool: "codemode_eval_p"}
			old := connect(token, "2025-11-25")
			first := waits.begin(`await codemode.filesystem__write_file({path: "waited.md", content: "x"}); return "went on"`)
			if first.form == nil {
				t.Fatal(first)
			}
			h.write(strings.Replace(config, `"expose": ["p", "q"]`, `"expose": ["q"]`, 1))
			eventually(t, "the tool to go", func() bool {
				list, err := old.ListTools(t.Context(), nil)
				return err == nil && !slices.ContainsFunc(list.Tools,
					func(tool *mcp.Tool) bool { return tool.Name == "codemode_eval_p" })
			})
			const other = `await codemode.filesystem__create_directory({path: "new"}); return "ran"`
			strangers := []string{token}
			if token != "" {
				strangers = append(strangers, bertsToken, carlsToken)
			}
			for _, stranger := range strangers {
				for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
					c := connect(stranger, version)
					for _, state := range []string{"", "x", "v1.", first.state, first.state + "A", strings.ToUpper(first.state),
						strings.Repeat("v1.A", 100)} {
						for _, code := range []string{other, "return 1"} {
							for _, answer := range []mcp.InputResponseMap{nil, {"answer": yes}} {
								res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "codemode_eval_p",
									Arguments: map[string]any{"code": code}, RequestState: state, InputResponses: answer})
								if err == nil {
									t.Errorf("on %s with the state %.20q: %v", version, state, res.Content)
								}
							}
						}
					}
					if stranger != token || version != "2026-07-28" {
						res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "codemode_eval_p", Arguments: waits.args,
							RequestState: first.state, InputResponses: mcp.InputResponseMap{"answer": yes}})
						if err == nil {
							t.Errorf("on %s with %q the call was continued by somebody else: %v", version, stranger, res.Content)
						}
					}
				}
			}
			if h.holds("new") || h.holds("waited.md") {
				t.Fatal("something ran")
			}
			if last := waits.back(first, yes); !strings.Contains(last.text, "went on") || !h.holds("waited.md") {
				t.Errorf("the call that waited: %v", last)
			}
			if l := waits.begin("return 1"); l.err == nil {
				t.Errorf("a new one by the same client: %v", l)
			}
		})
	}
}

// What a token may use is looked at again when a call comes back: the principal may have another token, for less.
func TestAStateIsOfNoUseToATokenForLess(t *testing.T) {
	config := fmt.Sprintf(exposing, tokensPQ)
	h := open(t, config, server.Options{})
	h.variables = map[string]string{"ANNA": annasToken, "BERT": bertsToken, "CARL": carlsToken}
	url := h.listen()
	all, less := h.walk(url, annasToken, nil), h.walk(url, carlsToken, nil) // both are anna's
	all.tool = "codemode_eval_p"
	first := all.begin(writeNew)
	less.tool, less.args = all.tool, all.args
	if l := less.back(first, yes); l.err == nil || h.holds("new.md") {
		t.Errorf("the token for less: %v", l)
	}
	path := h.walk(url+"/p", annasToken, nil)
	path.tool, path.args = all.tool, all.args
	if l := path.back(first, yes); !l.refusedAs("it belongs to a call at another path") || h.holds("new.md") {
		t.Errorf("at a path: %v", l)
	}
	if l := all.back(first, yes); l.err != nil || !h.holds("new.md") {
		t.Errorf("who began it: %v", l)
	}
}
