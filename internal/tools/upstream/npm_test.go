package upstream_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// npmServers returns the folder whose node_modules hold the real servers.
func npmServers(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CODEMODE_NPM_SERVERS")
	if dir == "" {
		t.Skip("CODEMODE_NPM_SERVERS names no folder with the npm servers in its node_modules")
	}
	return dir
}

func bin(dir, name string) string { return filepath.Join(dir, "node_modules", ".bin", name) }

// lists collects what a manager tells about tools.
type lists struct {
	mu    sync.Mutex
	tools map[string][]upstream.Tool
	told  map[string]int
}

func (l *lists) changed(server string, tools []upstream.Tool, _ string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tools == nil {
		l.tools, l.told = map[string][]upstream.Tool{}, map[string]int{}
	}
	l.tools[server] = tools
	l.told[server]++
}

func (l *lists) of(server string) []upstream.Tool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tools[server]
}

func TestNPMServersAnswerAsTheyAre(t *testing.T) {
	dir := npmServers(t)
	files := t.TempDir()
	checktest.OK(t, os.WriteFile(filepath.Join(files, "a.txt"), []byte("hello"), 0o600))
	l := new(lists)
	m := upstream.NewManager(upstream.Options{ToolsChanged: l.changed})
	t.Cleanup(func() {
		if err := m.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Errorf("Close: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m.Set([]upstream.Server{
		{Server: servers.Server{Name: "everything", Transport: upstream.Stdio, Command: bin(dir, "mcp-server-everything"),
			Args: []string{"stdio"}}},
		{Server: servers.Server{Name: "files", Transport: upstream.Stdio, Command: bin(dir, "mcp-server-filesystem"),
			Args: []string{files}}},
		{Server: servers.Server{Name: "memory", Transport: upstream.Stdio, Command: bin(dir, "mcp-server-memory"),
			Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.json")}}},
	})
	checktest.OK(t, m.Ready(ctx))
	for _, s := range m.Status() {
		if s.State != upstream.Ready {
			t.Fatalf("%s is %s: %s\n%s", s.Name, s.State, s.Error, s.Stderr)
		}
		t.Logf("%s: %d tools, %s, protocol %s", s.Name, s.Tools, s.Implementation, s.Protocol)
	}
	for _, row := range []struct{ server, tool, args, want string }{
		{"files", "read_text_file", `{"path":"` + filepath.Join(files, "a.txt") + `"}`, `{"content":"hello"}`},
		{"everything", "echo", `{"message":"hi"}`, `"Echo: hi"`},
		{"memory", "create_entities",
			`{"entities":[{"name":"Ada","entityType":"person","observations":["wrote a program"]}]}`,
			`{"entities":[{"name":"Ada","entityType":"person","observations":["wrote a program"]}]}`},
	} {
		r, err := m.Call(ctx, row.server, row.tool, json.RawMessage(row.args), upstream.CallOptions{})
		if err != nil {
			t.Errorf("%s %s: %v", row.server, row.tool, err)
			continue
		}
		if got := string(r.Value); got != row.want {
			t.Errorf("%s %s: got %s, want %s", row.server, row.tool, got, row.want)
		}
	}
	r, err := m.Call(ctx, "everything", "get-tiny-image", nil, upstream.CallOptions{})
	checktest.OK(t, err)
	if len(r.Blocks) != 1 || strings.Contains(string(r.Value), "iVBOR") || !strings.Contains(string(r.Content), "iVBOR") {
		t.Errorf("the image is not behind one handle: value %s, %d blocks", r.Value, len(r.Blocks))
	}
	r, err = m.Call(ctx, "everything", "get-resource-links", json.RawMessage(`{"count":1}`), upstream.CallOptions{})
	checktest.OK(t, err)
	var blocks []struct{ Type, URI string }
	checktest.OK(t, json.Unmarshal(r.Value, &blocks))
	for _, b := range blocks {
		if b.Type != "resource_link" {
			continue
		}
		r, err := m.ReadResource(ctx, "everything", b.URI, upstream.CallOptions{})
		if err != nil || len(r.Blocks) != 1 || !strings.Contains(string(r.Value), b.URI) {
			t.Errorf("reading %s: got %v, %v", b.URI, r, err)
		}
	}
}
