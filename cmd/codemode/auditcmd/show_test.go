package auditcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

// answers is a person who gives the same answer to every question, a while after it was asked.
type answers struct {
	call.Answer
	after time.Duration
}

func (a answers) Name() string { return "desktop" }
func (a answers) Edits() bool  { return true }

func (a answers) Ask(ctx context.Context, _ *approvals.Showing) (call.Answer, error) {
	select {
	case <-time.After(a.after):
		a.Typed = true
		return a.Answer, nil
	case <-ctx.Done():
		return call.Answer{}, context.Cause(ctx)
	}
}

// noticeable is a wait that is told: one of less than a millisecond is not.
const noticeable = 50 * time.Millisecond

// A shown run is one whose text of "codemode audit show" is in testdata/audit-show.
type shown struct {
	name, code, profile string
	person              approvals.Channel
}

var shownRuns = []shown{
	{name: "edited", code: `return await codemode.up__send({to: "everybody", text: "hello"})`,
		person: answers{Answer: call.Answer{Allowed: true, By: "local:anna",
			Args: json.RawMessage(`{"to":"bert","text":"hello"}`)}, after: noticeable}},
	{name: "refused", code: `await codemode.up__read({}); await codemode.up__send({to: "bert", password: "hunter2hunter2"})`,
		person: answers{Answer: call.Answer{By: "local:anna", Reason: "not on a Sunday"}, after: noticeable}},
	{name: "not checked", code: `return 1`, profile: "checked"},
	{name: "parked and resumed",
		code:   `const first = await codemode.up__read({}); const sent = await codemode.up__send({to: "bert", first}); return [first, sent]`,
		person: answers{Answer: call.Answer{Allowed: true, By: "local:anna"}, after: 2500 * time.Millisecond}},
	{name: "timeout", code: `await codemode.up__read({}); for (;;) {}`, profile: "hasty"},
	{name: "unknown outcome", code: `await codemode.up__hang({order: 7})`, profile: "hasty"},
}

// TestAuditShow runs programs whose runs have something to tell, and compares what a person reads of each afterwards.
func TestAuditShow(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	released := make(chan struct{})
	for _, name := range []string{"read", "send", "hang"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				if name == "hang" {
					select {
					case <-released:
					case <-ctx.Done():
					}
				}
				return &mcp.CallToolResult{StructuredContent: map[string]any{"done": name}}, nil
			})
	}
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() {
		server.CloseClientConnections() // the call that hangs
		server.Close()
	})
	cfg, err := config.Parse("codemode.json", fmt.Appendf(nil, `{"mcpServers": {"up": {"type": "http", "url": %q}}, "limits": {"cpu": "1s", "call": "2s"}, "evaluation": {"defaultProfile": "p", "profiles": {
	"p": {"allowlist": ["up__read"], "asklist": [{"id": "people-first", "tool": "up__send"}], "ask": {"edit": true}},
	"hasty": {"allowlist": ["up__*"]},
	"checked": {"requirePreflight": true}
}}}`, server.URL))
	checktest.OK(t, err)
	dir := t.TempDir()
	e, err := codemode.New(t.Context(), codemode.Options{Config: cfg, RecordDir: dir,
		CacheDir: cachetest.Dir(), GoOn: true})
	checktest.OK(t, err)
	for _, run := range shownRuns {
		r := codemode.Request{Name: "program.ts", Code: run.code, Profile: run.profile, Principal: "local:anna",
			Client: "claude-code 2.1"}
		if run.person != nil {
			r.Channels = []approvals.Channel{run.person}
		}
		r.ClientSession = "session of " + run.name
		_, _ = e.Eval(t.Context(), r) // how it ends is in the record
	}
	close(released)
	checktest.OK(t, e.Close(t.Context()))
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "codemode.db"), ReadOnly: true})
	checktest.OK(t, err)
	defer db.Close()
	runs := map[string][]*audit.Entry{}
	checktest.OK(t, audit.Entries(t.Context(), db, store.Query{}, func(e *audit.Entry) error {
		if name, ok := strings.CutPrefix(e.Session, "session of "); ok {
			runs[name] = append(runs[name], e)
		}
		return nil
	}))
	for _, run := range shownRuns {
		t.Run(run.name, func(t *testing.T) {
			name, entries := run.name, runs[run.name]
			if len(entries) == 0 {
				t.Fatal("it is not in the record")
			}
			if name != "parked and resumed" { // on a busy machine others may be parked too, before the answer is there
				entries = slices.DeleteFunc(entries, func(e *audit.Entry) bool {
					return e.Kind == audit.Run &&
						e.State == audit.Parked
				})
			}
			sameText(t, filepath.Join("..", "..", "..", "testdata", "audit-show", strings.ReplaceAll(name, " ", "-")+".txt"),
				lasting(runText(entries)))
		})
	}
}

// changing is what differs from run to run.
var changing = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`r_[a-z0-9]+`), "r_1"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \S+`), "2026-11-21 12:00:00.000 UTC"},
	{regexp.MustCompile(`(sha256|hmac):[0-9a-f]+`), "$1:…"},
	{regexp.MustCompile(`\+\d+\.\d{3}s`), "+…s"},
	{regexp.MustCompile(`\d+(\.\d+)? (ms|s)\b`), "… $2"},
	{regexp.MustCompile(`\d+ bytes \(`), "… bytes ("},
	{regexp.MustCompile(`; \d+ bytes`), "; … bytes"},
}

func lasting(text string) string {
	for _, c := range changing {
		text = c.what.ReplaceAllString(text, c.with)
	}
	return text
}

// sameText compares with a file, or writes it if UPDATE_STORIES says so.
func sameText(t *testing.T, path, got string) {
	t.Helper()
	if os.Getenv("UPDATE_STORIES") != "" {
		checktest.OK(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	checktest.OK(t, err)
	if got != string(want) {
		t.Errorf("%s has\n%s\nand it is now\n%s", path, want, got)
	}
}
