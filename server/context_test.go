package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/server"
)

// tokenBytes is how many bytes of such text make a token, roughly.
const tokenBytes = 4

// upstreams serves n tools, a hundred on each server, with the definitions of
// real ones, and returns a configuration that connects them. direct is the size
// of what a client would list without us.
func upstreams(t testing.TB, n int) (config string, direct int) {
	t.Helper()
	files, err := filepath.Glob("../internal/tools/catalog/testdata/tools/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tool lists: %v", err)
	}
	var real []*mcp.Tool
	for _, f := range files {
		data, err := os.ReadFile(f)
		checktest.OK(t, err)
		var list []struct {
			Name, Title, Description string
			Input                    json.RawMessage
		}
		checktest.OK(t, json.Unmarshal(data, &list))
		for _, e := range list {
			real = append(real, &mcp.Tool{Name: e.Name, Title: e.Title, Description: e.Description, InputSchema: e.Input})
		}
	}
	var servers []string
	for made := 0; made < n; {
		s := mcp.NewServer(&mcp.Implementation{Name: "many", Version: "1"}, nil)
		for range min(100, n-made) {
			tool := *real[made%len(real)]
			tool.Name = fmt.Sprintf("%s_%d", tool.Name, made)
			s.AddTool(&tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil
			})
			b, err := json.Marshal(&tool)
			checktest.OK(t, err)
			direct += len(b)
			made++
		}
		servers = append(servers, fmt.Sprintf(`"server%d": {"url": %q}`, len(servers), mcptest.Serve(t, s)))
	}
	return `{"mcpServers": {` + strings.Join(servers, ", ") + `}, "builtin": false,
		"evaluation": {"defaultProfile": "work", "profiles": {"work": {"asklist": ["server0__*"]}}}}`, direct
}

// listed is what a model is shown at the start, in bytes: the tools and the instructions.
func listed(t testing.TB, config string, tools int) int {
	t.Helper()
	engine, err := sharedEngine()
	checktest.OK(t, err)
	path := filepath.Join(t.TempDir(), "codemode.json")
	checktest.Write(t, path, config)
	e, err := codemode.New(t.Context(), codemode.Options{Engine: engine, ConfigPath: path})
	checktest.OK(t, err)
	s := server.New(e, server.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	here, there := mcp.NewInMemoryTransports()
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, there) }()
	defer func() {
		cancel()
		<-done
		s.Close()
		closing, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		if err := e.Close(closing); err != nil {
			t.Errorf("closing: %v", err)
		}
	}()
	e.Tools().Ready(t.Context(), time.Minute)
	known := 0
	for _, v := range e.Discovery().Servers([]string{""}) {
		known += v.Tools
	}
	if known != tools {
		t.Fatalf("%d upstream tools are known, want %d", known, tools)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), here, nil)
	checktest.OK(t, err)
	defer session.Close()
	res, err := session.ListTools(t.Context(), nil)
	checktest.OK(t, err)
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // as a model reads it
	checktest.OK(t, encoder.Encode(res.Tools))
	return b.Len() + len(session.InitializeResult().Instructions)
}

func TestWhatAModelSeesDoesNotGrowWithTheTools(t *testing.T) {
	few, fewDirect := upstreams(t, 20)
	many, manyDirect := upstreams(t, 1000)
	small, large := listed(t, few, 20), listed(t, many, 1000)
	t.Logf("20 tools: %d bytes (%d tokens), listed directly %d; 1000 tools: %d bytes (%d tokens), listed directly %d (%d tokens)",
		small, small/tokenBytes, fewDirect, large, large/tokenBytes, manyDirect, manyDirect/tokenBytes)
	if large > 5000 {
		t.Errorf("with 1000 tools a model is shown %d bytes, want at most 5000", large)
	}
	if large > small+1000 { // the names of nine more servers, three times
		t.Errorf("with 1000 tools a model is shown %d bytes, with 20 tools %d", large, small)
	}
	if manyDirect < 20*large {
		t.Errorf("1000 tools listed directly are only %d bytes: the test tests little", manyDirect)
	}
}

func BenchmarkContextCost(b *testing.B) {
	config, direct := upstreams(b, 1000)
	var bytes int
	for b.Loop() {
		bytes = listed(b, config, 1000)
	}
	b.ReportMetric(float64(bytes)/tokenBytes, "tokens")
	b.ReportMetric(float64(direct)/tokenBytes, "tokens-directly")
}
