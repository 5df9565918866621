//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/testwait"
)

// An effects is an upstream that counts what it did, by task, and can be made to wait.
type effects struct {
	url string

	mu     sync.Mutex
	done   map[string]int
	began  chan string   // gets what calls of wait began
	finish chan struct{} // closed, or sent to, ends calls of wait
	left   chan struct{} // gets one for each request that codemode gives up
	takes  time.Duration // of each call of do
}

func newEffects(t *testing.T, takes time.Duration) *effects {
	u := &effects{done: map[string]int{}, began: make(chan string, 100), finish: make(chan struct{}),
		left: make(chan struct{}, 100), takes: takes}
	s := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	for _, name := range []string{"do", "wait", "ask"} {
		do := func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			what := name + " " + string(r.Params.Arguments)
			u.mu.Lock()
			u.done[what]++
			u.mu.Unlock()
			if name == "wait" {
				u.began <- what
				<-u.finish
			} else {
				time.Sleep(u.takes) // a server that takes so long
			}
			return &mcp.CallToolResult{StructuredContent: r.Params.Arguments}, nil
		}
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, do)
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer context.AfterFunc(r.Context(), func() { u.left <- struct{}{} })()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(u.end)
	u.url = server.URL
	return u
}

// end lets all calls of wait finish.
func (u *effects) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	select {
	case <-u.finish:
	default:
		close(u.finish)
	}
}

func (u *effects) times() map[string]int {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := map[string]int{}
	for what, n := range u.done {
		all[what] = n
	}
	return all
}

// once wants each effect done once, and so many of them.
func (u *effects) once(t *testing.T, want int) {
	t.Helper()
	done := u.times()
	for what, n := range done {
		if n != 1 {
			t.Errorf("%s was done %d times", what, n)
		}
	}
	if len(done) != want {
		t.Errorf("%d effects were done, want %d: %v", len(done), want, done)
	}
}

// replicas are what processes have in common that are replicas of each other.
func (u *effects) replicas(t *testing.T, store string) (flags []string) {
	state := t.TempDir()
	config := fmt.Sprintf(`{"mcpServers": {"up": {"type": "http", "url": %q}}, "store": %q,
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {"allowlist": ["up__do", "up__wait"]}}}}`, u.url, store)
	return []string{"--config", write(t, filepath.Join(state, "codemode.json"), config), "--state", state}
}

// A knocking sends requests as the oldest clients do: one POST each.
type knocking struct {
	t       *testing.T
	s       *served
	modern  bool
	session string
	token   string // "" sends none
}

type said struct {
	status int
	header http.Header
	text   string // of the result, or what the body is
	failed bool
	state  string // requestState
	err    error
}

// messages numbers the messages of all of them.
var messages atomic.Int64

// post sends one message, with a key unless it is "".
func (k *knocking) post(ctx context.Context, method string, params map[string]any, key string) said {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": messages.Add(1), "method": method, "params": params})
	if err != nil {
		return said{err: err}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, k.s.url, strings.NewReader(string(body)))
	if err != nil {
		return said{err: err}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if k.modern {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", method)
		if name, ok := params["name"].(string); ok {
			r.Header.Set("Mcp-Name", name)
		}
	}
	if k.token != "" {
		r.Header.Set("Authorization", "Bearer "+k.token)
	}
	if k.session != "" {
		r.Header.Set("Mcp-Session-Id", k.session)
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", `"`+key+`"`)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return said{err: err}
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	got := said{status: res.StatusCode, header: res.Header, text: string(all), err: err}
	for line := range strings.Lines(string(all)) {
		data, _ := strings.CutPrefix(line, "data: ")
		var message struct {
			Error  *struct{ Message string }
			Result *struct {
				Content      []struct{ Text string }
				IsError      bool
				RequestState string
			}
		}
		if json.Unmarshal([]byte(data), &message) != nil {
			continue
		}
		switch r := message.Result; {
		case message.Error != nil:
			got.text, got.failed = message.Error.Message, true
		case r != nil:
			got.failed, got.state, got.text = r.IsError, r.RequestState, ""
			for _, c := range r.Content {
				got.text += c.Text
			}
		}
	}
	return got
}

// eval runs a program. An old client opens its session first.
func (k *knocking) eval(ctx context.Context, code, key, state string) said {
	params := map[string]any{"name": "codemode_eval", "arguments": map[string]any{"code": code}}
	if k.modern {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "knocking", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
		}
		if state != "" {
			params["requestState"] = state
		}
	} else if k.session == "" {
		got := k.post(ctx, "initialize", map[string]any{
			"protocolVersion": "2025-11-25", "capabilities": map[string]any{},
			"clientInfo": map[string]any{"name": "knocking", "version": "1"},
		}, "")
		if got.err != nil || got.status != http.StatusOK {
			return got
		}
		k.session = got.header.Get("Mcp-Session-Id")
	}
	return k.post(ctx, "tools/call", params, key)
}

var generations = map[string]bool{"2025-11-25": false, "2026-07-28": true}

// probe reads one of the end points for whoever looks after the process; 0 is that nobody is there.
func (s *served) probe(path string) (status int) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, strings.TrimSuffix(s.url, "/mcp")+path, nil)
	checktest.OK(s.t, err)
	r.Host = "10.1.2.3:8808" // as the one who probes may know it
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	res.Body.Close()
	return res.StatusCode
}

// signal sends a signal, and waits until the process is not ready any more.
func (s *served) signal() {
	s.t.Helper()
	checktest.OK(s.t, s.cmd.Process.Signal(syscall.SIGTERM))
	if !testwait.Holds(func() bool { return s.probe("/readyz") != http.StatusOK }) {
		s.t.Fatalf("it is still ready:\n%s", s.log)
	}
}

// exits waits until the process has ended, which is no failure.
func (s *served) exits() {
	s.t.Helper()
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Errorf("it ended with %v\n%s", err, s.log)
		}
	case <-time.After(2 * time.Minute):
		s.t.Fatalf("it did not end\n%s", s.log)
	}
}

// Told to stop, the process is not ready at once; a program that runs finishes, and its client gets the answer; new
// programs and sessions are refused with 503 and Retry-After.
func TestToldToStopItLetsProgramsFinish(t *testing.T) {
	for version, modern := range generations {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			up := newEffects(t, 0)
			s := serveOverHTTP(t, "0", nil, append(up.replicas(t, "codemode.db"), "--grace", "5m")...)
			if ready, well := s.probe("/readyz"), s.probe("/healthz"); ready != http.StatusOK || well != http.StatusOK {
				t.Errorf("/readyz says %d and /healthz %d", ready, well)
			}
			c := &knocking{t: t, s: s, modern: modern}
			if got := c.eval(t.Context(), `return 1`, "", ""); got.text != "1\n" && !strings.HasPrefix(got.text, "1") {
				t.Fatalf("%+v", got)
			}
			answered := make(chan said, 1)
			go func() {
				answered <- c.eval(context.WithoutCancel(t.Context()), `return (await codemode.up__wait({n: 1})).n`, "", "")
			}()
			<-up.began
			s.signal()
			ready, well := s.probe("/readyz"), s.probe("/healthz")
			if ready != http.StatusServiceUnavailable || well != http.StatusOK {
				t.Errorf("/readyz says %d and /healthz %d", ready, well)
			}
			for what, got := range map[string]said{
				"a program":     c.eval(t.Context(), `return await codemode.up__do({n: 2})`, "", ""),
				"a new session": (&knocking{t: t, s: s}).eval(t.Context(), `return 1`, "", ""),
			} {
				after, told := got.header.Get("Retry-After"), strings.Contains(got.text, "this server is stopping")
				if got.status != http.StatusServiceUnavailable || after == "" || !told {
					t.Errorf("%s got %d %q: %s (%v)", what, got.status, after, got.text, got.err)
				}
			}
			up.end()
			if got := <-answered; got.err != nil || got.failed || !strings.HasPrefix(got.text, "1\n") {
				t.Errorf("the answer is %+v", got)
			}
			s.exits()
			up.once(t, 1)
		})
	}
}

// A second signal ends what runs, and so does the end of the grace. The client is told what was done.
func TestASecondSignalAndTheGraceEndPrograms(t *testing.T) {
	for name, grace := range map[string]string{"a second signal": "5m", "the grace is over": "100ms"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := newEffects(t, 0)
			s := serveOverHTTP(t, "0", nil, append(up.replicas(t, "codemode.db"), "--grace", grace)...)
			c := &knocking{t: t, s: s, modern: true}
			answered := make(chan said, 1)
			go func() {
				const program = `await codemode.up__do({n: 1}); return await codemode.up__wait({n: 2})`
				answered <- c.eval(context.WithoutCancel(t.Context()), program, "", "")
			}()
			<-up.began
			if name == "a second signal" {
				s.signal()
			}
			checktest.OK(t, s.cmd.Process.Signal(syscall.SIGTERM))
			got := <-answered
			told := strings.Contains(got.text, "up__wait unknown") && strings.Contains(got.text, "up__do done")
			if got.err != nil || !got.failed || !told {
				t.Errorf("the answer is %+v", got)
			}
			s.exits()
			up.once(t, 2)
		})
	}
}

// A run that waits for a person is put away, and its client is told how to come back: with the requestState, with
// its key, or with the name of the run.
func TestARunThatWaitsIsPutAwayAndComeBackFor(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts several processes")
	}
	for version, modern := range generations {
		for _, key := range []string{"", "7f0c"} {
			t.Run(version+" "+key, func(t *testing.T) {
				t.Parallel()
				const profile = `{"allowlist": ["up__do"], "asklist": ["up__ask"], "ask": {"timeout": "5m"}}`
				h, up := newHouse(t, profile), newEffects(t, 0)
				write(t, h.config, fmt.Sprintf(`{"mcpServers": {"up": {"type": "http", "url": %q}},
					"evaluation": {"defaultProfile": "p", "profiles": {"p": %s}}}`, up.url, profile))
				start := func() *served {
					return serveOverHTTP(t, "0", h.environment, "--config", h.config, "--grace", "5m")
				}
				const program = `await codemode.up__do({n: 1}); return await codemode.up__ask({n: 2})`
				first := start()
				c := &knocking{t: t, s: first, modern: modern}
				answered := make(chan said, 1)
				go func() { answered <- c.eval(context.WithoutCancel(t.Context()), program, key, "") }()
				asked := atThePage(t, h.environment).one()
				first.signal() // whether it is put away already or not
				got := <-answered
				first.exits()
				back := &knocking{t: t, s: start(), modern: modern}
				state := ""
				switch {
				case modern:
					if state = got.state; state == "" || got.text != "" {
						t.Fatalf("no requestState: %+v", got)
					}
				case !got.failed || !strings.Contains(got.text, "waits for a person, and this process stops"):
					t.Fatalf("it is told %+v", got)
				case key == "":
					if key = asked.Run; !strings.Contains(got.text, fmt.Sprintf("idempotency key %q", key)) {
						t.Fatalf("it is told %+v", got)
					}
				}
				go func() { answered <- back.eval(context.WithoutCancel(t.Context()), program, key, state) }()
				p := atThePage(t, h.environment)
				if result := p.allow(p.one(), "60s"); !result.OK {
					t.Errorf("the page is told %+v", result)
				}
				if got := <-answered; got.err != nil || got.failed || !strings.Contains(got.text, `"n"`) {
					t.Errorf("the answer is %+v\n%s", got, back.s.log)
				}
				up.once(t, 2)
				back.s.end()
			})
		}
	}
}

// A call with a key goes on when its client's connection ends, and the client gets the answer when it comes back.
// Without one it ends with its client.
func TestACallWithAKeyGoesOnWithoutItsClient(t *testing.T) {
	for version, modern := range generations {
		for _, key := range []string{"", "7f0c"} {
			t.Run(version+" "+key, func(t *testing.T) {
				t.Parallel()
				up := newEffects(t, 0)
				s := serveOverHTTP(t, "0", nil, up.replicas(t, "codemode.db")...)
				c := &knocking{t: t, s: s, modern: modern}
				const program = `await codemode.up__wait({n: 1}); return (await codemode.up__do({n: 2})).n`
				ctx, hangUp := context.WithCancel(t.Context())
				answered := make(chan said, 1)
				go func() { answered <- c.eval(ctx, program, key, "") }()
				<-up.began
				hangUp()
				if got := <-answered; got.err == nil {
					t.Fatalf("it has its answer already: %+v", got)
				}
				if key == "" {
					<-up.left // so the run has ended, and no answer lets it go on
					up.end()
					s.end() // what it did is recorded by then
					up.once(t, 1)
					return
				}
				go func() { answered <- c.eval(context.WithoutCancel(t.Context()), program, key, "") }()
				again := func() bool { return strings.Contains(s.log.String(), "a repeated request gets the run") }
				if !testwait.Holds(again) {
					t.Fatalf("it did not come again:\n%s", s.log)
				}
				up.end()
				if got := <-answered; got.err != nil || got.failed || !strings.HasPrefix(got.text, "2\n") {
					t.Errorf("the answer is %+v", got)
				}
				up.once(t, 2)
				s.end()
			})
		}
	}
}
