package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// C1, with the Go SDK's own client over stdio: two questions one after the other, and one form for five of the same
// moment.
func TestC1GoClientOverStdio(t *testing.T) {
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			root := t.TempDir()
			config := write(t, filepath.Join(t.TempDir(), "codemode.json"),
				`{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["filesystem__write_file"]}}}}`)
			var decisions []int
			client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					schema, _ := r.Params.RequestedSchema.(map[string]any)
					required, _ := schema["required"].([]any)
					content := map[string]any{}
					for _, field := range required {
						content[fmt.Sprint(field)] = "allow_once"
					}
					decisions = append(decisions, len(required))
					return &mcp.ElicitResult{Action: "accept", Content: content}, nil
				},
			})
			server := command(t, "serve", "--project", "none", "--state", t.TempDir(), "--config", config, "--root", root)
			session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: server},
				&mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "codemode_eval", Arguments: map[string]any{"code": `
				const write = path => codemode.filesystem__write_file({ path, content: "x" });
				await write("a1.md");
				await write("a2.md");
				await Promise.all(["b1.md", "b2.md", "b3.md", "b4.md", "b5.md"].map(write));
				return "all written"`}})
			if err != nil {
				t.Fatal(err)
			}
			text := res.Content[0].(*mcp.TextContent).Text
			if fmt.Sprint(decisions) != "[1 1 5]" || !strings.HasPrefix(text, `"all written"`) {
				t.Errorf("decisions %v, result %s", decisions, text)
			}
			if files, err := os.ReadDir(root); err != nil || len(files) != 7 {
				t.Errorf("%d files were written, want 7 (%v)", len(files), err)
			}
		})
	}
}
