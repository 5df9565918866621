package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/cachetest"
)

// A server that forgets its session costs no approval: the person is asked once, and the call is executed once. What an
// HTTP error says reaches the program.
func TestAForgottenSessionSpendsNoApproval(t *testing.T) {
	t.Parallel()
	var opened, executed atomic.Int32
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if json.Unmarshal(body, &m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `{}`
		switch {
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", opened.Add(1)))
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
		case m.Method == "tools/list":
			result = `{"tools":[{"name":"send"},{"name":"busy"}]}`
		case m.Params.Name == "busy":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, "one a minute")
			return
		case r.Header.Get("Mcp-Session-Id") == "s1":
			w.WriteHeader(http.StatusNotFound)
			return
		case m.Params.Name == "send":
			executed.Add(1)
			result = `{"content":[{"type":"text","text":"sent"}]}`
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	defer ts.Close()
	cfg, err := config.Parse("rules.json", []byte(fmt.Sprintf(`{"mcpServers": {"mail": {"url": %q}},
		"evaluation": {"profiles": {"p": {"asklist": ["mail__*"]}}}}`, ts.URL)))
	if err != nil {
		t.Fatal(err)
	}
	e, err := codemode.New(t.Context(), codemode.Options{Config: cfg, CacheDir: cachetest.Dir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	var asked atomic.Int32
	person := approvals.Approver("chat", func(context.Context, *prompt.Request) (call.Answer, error) {
		asked.Add(1)
		return call.Answer{Allowed: true}, nil
	})
	r, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Channels: []approvals.Channel{person},
		Code: `return await codemode.mail__send({})`})
	if err != nil || string(r.Value) != `"sent"` || asked.Load() != 1 || executed.Load() != 1 || opened.Load() != 2 ||
		len(r.Calls) != 1 || r.Calls[0].State != "done" {
		t.Errorf("%v: %s\nasked %d times, executed %d times, %d sessions", err, r.Text(err), asked.Load(), executed.Load(),
			opened.Load())
	}
	r, err = e.Eval(t.Context(), codemode.Request{Profile: "p", Channels: []approvals.Channel{person}, Code: `
		return await codemode.mail__busy({}).catch(e => [e.name, e.outcome, e.retryAfter, e.detail, e.message.includes("log in")])`})
	if want := `["UpstreamError","not_sent",7,"one a minute",false]`; err != nil || string(r.Value) != want {
		t.Errorf("got %s, %v, want %s", r.Value, err, want)
	}
	if text := r.Text(err); !strings.Contains(text, "HTTP 429 Too Many Requests: one a minute; it says to try again in 7s") {
		t.Errorf("the reply: %s", text)
	}
}
