package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
)

// Every door says who can answer, in the same words: for what is configured, permitted and strong enough.
func TestEveryDoorSaysWhoCanAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, rule, ask string
		risk            call.Risk
		where           []string
		general         bool // also where no call is named
	}{
		{"a terminal and a page", `"time__*"`, `{"absent": "refuse"}`, call.Medium,
			[]string{approvals.InTerminal, approvals.OnPage}, true},
		{"only the page is permitted", `"time__*"`, `{"absent": "refuse", "channels": ["elicitation", "web"]}`, call.Medium,
			[]string{approvals.OnPage}, true},
		{"a critical risk", `{"tool": "time__*", "risk": "critical"}`, `{"absent": "refuse"}`, call.Critical,
			[]string{approvals.OnPage}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDoctorHere(t, "")
			write(t, d.config, `{"console": "127.0.0.1:0", "evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": [`+
				test.rule+`], "ask": `+test.ask+`}}}}`)
			want := approvals.WhoAnswers(test.where, test.risk)
			says := func(door, text string) {
				if !strings.Contains(text, want) {
					t.Errorf("%s does not say %q:\n%s", door, want, text)
				}
			}
			program := `return await codemode.time__now({})`
			run := func(words ...string) string {
				cmd := command(t, append(words, "--config", d.config)...)
				cmd.Env, cmd.Dir = d.environment, d.home
				out, _ := cmd.CombinedOutput() // a check of calls that are asked about is no failure, and others are told
				return string(out)
			}
			says("check", run("check", "-e", program))
			says("explain", run("explain", "p", "time__now", "{}", "--offline"))
			if test.general {
				says("doctor", run("doctor"))
			}
			serve := exec.Command(command(t).Path, "serve", "--config", d.config, "--state", filepath.Join(d.home, "s"))
			serve.Env = d.environment
			client, err := mcp.NewClient(&mcp.Implementation{Name: "gemini-cli", Version: "1"}, nil).Connect(t.Context(),
				&mcp.CommandTransport{Command: serve}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			tool := func(name string, args map[string]any) string {
				res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
				if err != nil {
					t.Fatal(err)
				}
				return res.Content[0].(*mcp.TextContent).Text
			}
			says("codemode_check", tool("codemode_check", map[string]any{"code": program}))
			says("the refusal", tool("codemode_eval", map[string]any{"code": program}))
			if test.general {
				says("search_tools", tool("search_tools", map[string]any{"query": "now"}))
			}
		})
	}
}
