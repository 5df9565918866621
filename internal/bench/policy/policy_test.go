package policy_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/bench/policy"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
)

var update = flag.Bool("update", false, "write the findings into the files of testdata")

// A process of this test binary with the first variable is an MCP server with the tools of that file. It notes every
// call in the file of the second one.
const (
	listVariable = "CODEMODE_POLICY_TEST_TOOLS"
	callVariable = "CODEMODE_POLICY_TEST_CALLS"
)

func TestMain(m *testing.M) {
	if list := os.Getenv(listVariable); list != "" {
		serve(list, os.Getenv(callVariable))
		return
	}
	os.Exit(m.Run())
}

func serve(list, calls string) {
	text, err := os.ReadFile(list)
	if err != nil {
		log.Fatal(err)
	}
	var tools []*mcp.Tool
	if err := json.Unmarshal(text, &tools); err != nil {
		log.Fatal(err)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "planted", Version: "1"}, nil)
	for _, t := range tools {
		s.AddTool(t, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			f, err := os.OpenFile(calls, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				_, err = fmt.Fprintln(f, t.Name)
				f.Close()
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, err
		})
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

// A bed is an Evaluator with a configuration, in front of real servers.
type bed struct {
	*codemode.Evaluator
	calls string // the file that says which calls reached a server
}

// open starts a configuration of the archive; nil if there is none of that name. Each file tools/NAME.json is a server.
func open(t *testing.T, a *txtar.Archive, configuration string) *bed {
	t.Helper()
	dir := t.TempDir()
	b := &bed{calls: filepath.Join(dir, "calls")}
	var text []byte
	entries := map[string]any{}
	for _, f := range a.Files {
		name, isTools := strings.CutPrefix(f.Name, "tools/")
		if f.Name == configuration {
			text = f.Data
		}
		if !isTools {
			continue
		}
		list := filepath.Join(dir, name)
		checktest.OK(t, os.WriteFile(list, f.Data, 0o600))
		entries[strings.TrimSuffix(name, ".json")] = map[string]any{"command": os.Args[0],
			"env": map[string]string{listVariable: list, callVariable: b.calls}}
	}
	if text == nil {
		return nil
	}
	servers, err := json.Marshal(entries)
	checktest.OK(t, err)
	text = []byte(strings.Replace(string(text), "SERVERS", string(servers), 1)) // in its line: no other one moves
	cfg, err := config.Parse("codemode.json", text)
	checktest.OK(t, err)
	b.Evaluator, err = codemode.New(t.Context(), codemode.Options{Config: cfg, CacheDir: cachetest.Dir()})
	checktest.OK(t, err)
	t.Cleanup(func() { b.Close(context.Background()) })
	checktest.OK(t, b.Tools().Manager.Ready(t.Context()))
	return b
}

// run runs the suite, which must call no server.
func run(t *testing.T, b *bed) *policy.Report {
	t.Helper()
	report, err := policy.Run(t.Context(), b.Evaluator, policy.Options{CacheDir: cachetest.Dir()})
	checktest.OK(t, err)
	if len(report.Unclear) > 0 {
		t.Errorf("without arguments: %v", report.Unclear)
	}
	if made, err := os.ReadFile(b.calls); err == nil {
		t.Errorf("calls reached a server: %s", made)
	}
	return report
}

// described is what the tests compare of the findings.
func described(r *policy.Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s, %s: %s %s %s\n%s\n", f.Severity, f.Family, f.Position(), f.Tool, f.Argument, f.Program)
	}
	return b.String()
}

// Each file of testdata has a configuration, with the findings that the suite makes there, in their order and no
// others. Many have it mended, as the findings say: then there are none.
func TestPlantedWeaknesses(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	seen := map[policy.Family]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			checktest.OK(t, err)
			report := run(t, open(t, a, "codemode.json"))
			for _, f := range report.Findings {
				seen[f.Family] = true
			}
			last := &a.Files[len(a.Files)-1]
			if last.Name != "findings" {
				t.Fatal("the last file has to be findings")
			}
			if *update {
				last.Data = []byte(described(report))
				checktest.OK(t, os.WriteFile(file, txtar.Format(a), 0o644))
			}
			if diff := cmp.Diff(string(last.Data), described(report)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			mended := open(t, a, "mended.json")
			if (mended == nil) != (len(report.Findings) == 0) {
				t.Error("a configuration with findings, and no other one, has to come with a mended one")
			} else if mended != nil {
				if left := described(run(t, mended)); left != "" {
					t.Errorf("when it is mended:\n%s", left)
				}
			}
		})
	}
	for _, f := range policy.Families {
		if !seen[f] {
			t.Errorf("no file has a weakness of the family %q", f)
		}
	}
}

// The servers of these tests note what reaches them: a call that is no part of the suite does.
func TestAServerNotesWhatReachesIt(t *testing.T) {
	a, err := txtar.ParseFile("testdata/flood.txtar")
	checktest.OK(t, err)
	b := open(t, a, "codemode.json")
	program := `await codemode.tickets__create_ticket({title: "x"})`
	if _, err := b.Eval(t.Context(), codemode.Request{Unrestricted: true, Code: program}); err != nil {
		t.Fatal(err)
	}
	if made, err := os.ReadFile(b.calls); err != nil || string(made) != "create_ticket\n" {
		t.Errorf("got %q, %v", made, err)
	}
}
