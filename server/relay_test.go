package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/server"
)

// A busybody is an upstream that asks, reports, and tells what it was told.
type busybody struct {
	url      string
	started  chan struct{} // a call of "hang" has begun
	canceled chan struct{} // and was canceled
}

var colour = json.RawMessage(`{"type":"object","required":["colour"],"properties":{"colour":{"type":"string","enum":["red","blue"]}}}`)

// serveBusybody serves one over HTTP: with sessions it asks by a request of its
// own in the stream of the call, without them by the answer to the call.
func serveBusybody(t *testing.T, stateless bool) *busybody {
	return serveBusybodyWith(t, &mcp.StreamableHTTPOptions{Stateless: stateless, PropagateRequestCancellation: stateless})
}

func serveBusybodyWith(t *testing.T, o *mcp.StreamableHTTPOptions) *busybody {
	t.Helper()
	stateless := o.Stateless
	b := &busybody{started: make(chan struct{}, 10), canceled: make(chan struct{}, 10)}
	s := mcp.NewServer(&mcp.Implementation{Name: "busybody", Version: "1"}, nil)
	object := json.RawMessage(`{"type":"object"}`)
	text := func(format string, args ...any) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
	}
	form := func(message string) *mcp.ElicitParams {
		return &mcp.ElicitParams{Message: message, RequestedSchema: colour}
	}
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: object}, func(ctx context.Context,
		req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args struct{ Message string }
		if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
			return nil, err
		}
		if stateless {
			if a, ok := req.Params.InputResponses["q"].(*mcp.ElicitResult); ok {
				return text("%s %v, state %s", a.Action, a.Content["colour"], req.Params.RequestState), nil
			}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": form(args.Message)}, RequestState: "s1"}, nil
		}
		a, err := req.Session.Elicit(ctx, form(args.Message))
		if err != nil {
			return text("not asked: %v", err), nil
		}
		return text("%s %v", a.Action, a.Content["colour"]), nil
	})
	s.AddTool(&mcp.Tool{Name: "sample", InputSchema: object}, func(ctx context.Context,
		req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		//lint:file-ignore SA1019 servers that ask for sampling are still there, and must not get it
		caps := req.ClientCapabilities()
		_, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
		return text("offered %v, error %v", caps != nil && caps.Sampling != nil, err != nil), nil
	})
	s.AddTool(&mcp.Tool{Name: "work", InputSchema: object}, func(ctx context.Context,
		req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			if token := req.Params.GetProgressToken(); token != nil {
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(i + 1),
					Total: 3, Message: "step\u202e"})
			}
			time.Sleep(100 * time.Millisecond) // a server that takes so long between two reports
		}
		return text("%v %v", req.Params.Meta["traceparent"], req.Params.Meta["secret"]), nil
	})
	s.AddTool(&mcp.Tool{Name: "hang", InputSchema: object}, func(ctx context.Context,
		_ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		b.started <- struct{}{}
		<-ctx.Done()
		b.canceled <- struct{}{}
		return nil, ctx.Err()
	})
	ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o))
	t.Cleanup(ts.CloseClientConnections)
	b.url = ts.URL
	return b
}

// soon waits for something that another goroutine brings about.
func soon[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("waited in vain: %s", what)
	}
	return v
}

func (b *busybody) config() string {
	return fmt.Sprintf(`{"mcpServers": {"busy": {"type": "http", "url": %q, "timeout": %d}}}`, b.url,
		busyTime.Milliseconds())
}

// busyTime is how long one call may take: much longer than any does without a person.
const busyTime = 4 * time.Second

func ask(message string) map[string]any {
	return map[string]any{"code": fmt.Sprintf(`return await codemode.busy__ask({Message: %q})`, message)}
}

var below = mcptest.BelowSummary

// value is the first part of an eval tool's answer.
func value(text string) string {
	v, _, _ := strings.Cut(below(text), "\n\n")
	return v
}

func TestQuestionsOfUpstreamsReachTheCaller(t *testing.T) {
	t.Parallel() // it waits
	slowly := func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		time.Sleep(busyTime + time.Second) // longer than a call may take: a person's time does not count
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"colour": "blue"}}, nil
	}
	for _, stateless := range []bool{false, true} {
		t.Run(fmt.Sprintf("stateless %v", stateless), func(t *testing.T) {
			t.Parallel() // it waits
			h := open(t, serveBusybody(t, stateless).config(), server.Options{})
			state := ""
			if stateless {
				state = ", state s1"
			}
			for _, row := range []struct {
				name string
				who  person
				want string
			}{
				{"a person answers in their own time", slowly, `"accept blue` + state + `"`},
				{"a person declines", says("decline", nil), `"decline \u003cnil\u003e` + state + `"`},
				{"a client that cannot ask was not asked", nil, `"cancel \u003cnil\u003e` + state + `"`},
			} {
				c := h.connect(row.who, "")
				text, failed := c.call("codemode_eval", ask("Which \u202ecolour?\nAllow this call"))
				want := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(row.want)
				if got := value(text); failed || got != want {
					t.Errorf("%s: got %s, want %s", row.name, text, want)
				}
				if row.who == nil {
					continue
				}
				if len(c.questions()) != 1 || !strings.HasPrefix(c.questions()[0],
					`The server "busy" asks. This is its own question`) ||
					!strings.Contains(c.questions()[0], `\u{202E}colour?`) {
					t.Errorf("%s: it was asked %q", row.name, c.questions())
				}
			}
		})
	}
}

// A server whose answers are no streams asks in a stream of its own, as over
// stdio: then nothing says to which call a question belongs.
func TestAQuestionThatCouldBeAnybodysIsNobodys(t *testing.T) {
	b := serveBusybodyWith(t, &mcp.StreamableHTTPOptions{JSONResponse: true})
	h := open(t, b.config(), server.Options{})
	other, asking := h.connect(says("accept", map[string]any{"colour": "red"}), ""),
		h.connect(says("accept", map[string]any{"colour": "blue"}), "")
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = other.CallTool(ctx, &mcp.CallToolParams{Name: "codemode_eval",
			Arguments: map[string]any{"code": `await codemode.busy__hang({})`}})
	}()
	soon(t, "the other call has begun", b.started)
	text, _ := asking.call("codemode_eval", ask("Which?"))
	if got := value(text); !strings.Contains(got, "not passed on: calls of several sessions are in flight") {
		t.Errorf("got %s, want the reason for which nobody was asked", got)
	}
	if len(other.questions())+len(asking.questions()) > 0 {
		t.Errorf("asked were %q and %q", other.questions(), asking.questions())
	}
	cancel()
	soon(t, "the other run is over", over)
	soon(t, "the other call is canceled", b.canceled)
	if text, _ := asking.call("codemode_eval", ask("Which?")); value(text) != `"accept blue"` {
		t.Errorf("alone: got %s", text)
	}
}

// Two sessions ask for the same at once, and each gets its own question.
func TestQuestionsOfTwoSessionsAreKeptApart(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		h := open(t, serveBusybody(t, stateless).config(), server.Options{})
		var both sync.WaitGroup // dialogs that are open
		both.Add(2)
		got := map[string]chan string{}
		for _, c := range []string{"red", "blue"} {
			got[c] = make(chan string, 1)
			session := h.connect(func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				both.Done()
				both.Wait()
				if !strings.Contains(p.Message, c+"?") {
					t.Errorf("the session of %s was asked %q", c, p.Message)
				}
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"colour": c}}, nil
			}, "")
			go func() {
				res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "codemode_eval", Arguments: ask(c + "?")})
				if err != nil {
					got[c] <- err.Error()
					return
				}
				got[c] <- res.Content[0].(*mcp.TextContent).Text
			}()
		}
		for c, text := range got {
			if text := value(soon(t, "an answer", text)); !strings.HasPrefix(text, `"accept `+c) {
				t.Errorf("stateless %v: the session of %s got %s", stateless, c, text)
			}
		}
	}
}

func TestNoUpstreamSpendsTheModel(t *testing.T) {
	c := open(t, serveBusybody(t, false).config(), server.Options{}).connect(nil, "")
	if text, _ := c.call("codemode_eval",
		map[string]any{"code": `return await codemode.busy__sample({})`}); value(text) != `"offered false, error true"` {
		t.Errorf("got %s", text)
	}
}

func TestProgressAndTraceGoThrough(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		h := open(t, serveBusybody(t, stateless).config(), server.Options{})
		here, there := mcp.NewInMemoryTransports()
		told := make(chan *mcp.ProgressNotificationParams, 100)
		_, sdk := newClient(t, nil, func(o *mcp.ClientOptions) {
			o.ProgressNotificationHandler = func(_ context.Context,
				r *mcp.ProgressNotificationClientRequest) {
				told <- r.Params
			}
		})
		go func() { _ = h.server.Serve(t.Context(), there) }() // ends with the test
		session, err := sdk.Connect(t.Context(), here, nil)
		if err != nil {
			t.Fatal(err)
		}
		const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		p := &mcp.CallToolParams{Name: "codemode_eval",
			Arguments: map[string]any{"code": `return await codemode.busy__work({})`}}
		p.Meta = mcp.Meta{"traceparent": parent, "secret": "not for upstreams"}
		p.SetProgressToken("mine")
		r, err := session.CallTool(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if text := r.Content[0].(*mcp.TextContent).Text; value(text) != `"`+parent+` <nil>"` {
			t.Errorf("stateless %v: the upstream saw %s", stateless, text)
		}
		session.Close()
		close(told)
		last, steps := -1.0, 0
		for n := range told {
			if n.ProgressToken != "mine" || n.Progress <= last {
				t.Errorf("progress %v of %v after %v", n.Progress, n.ProgressToken, last)
			}
			last = n.Progress
			if strings.HasPrefix(n.Message, "busy__work: ") && strings.HasSuffix(n.Message, ` of 3: step\u{202E}`) {
				steps++
			}
		}
		if steps == 0 {
			t.Errorf("stateless %v: no report of the upstream came through", stateless)
		}
	}
}

func TestACanceledRunCancelsItsCalls(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		b := serveBusybody(t, stateless)
		c := open(t, b.config(), server.Options{}).connect(nil, "")
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "codemode_eval",
				Arguments: map[string]any{"code": `await codemode.busy__hang({})`}})
			over <- err
		}()
		soon(t, "the call has begun", b.started)
		cancel()
		if err := soon(t, "the run is over", over); err == nil {
			t.Error("the canceled call returned")
		}
		soon(t, "the upstream is told", b.canceled)
	}
}

// A question is withdrawn when the call that it is about is over, and questions come one by one.
func TestQuestionsEndWithTheirCall(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		h := open(t, serveBusybody(t, stateless).config(), server.Options{})
		shown, withdrawn := make(chan struct{}, 10), make(chan struct{}, 10)
		c := h.connect(func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			shown <- struct{}{}
			<-ctx.Done()
			withdrawn <- struct{}{}
			return nil, ctx.Err()
		}, "")
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() {
			defer close(over)
			_, _ = c.CallTool(ctx, &mcp.CallToolParams{Name: "codemode_eval", Arguments: map[string]any{
				"code": `await Promise.all([codemode.busy__ask({Message: "a"}), codemode.busy__ask({Message: "b"})])`,
			}})
		}()
		soon(t, "the question is shown", shown)
		select {
		case <-shown:
			t.Errorf("stateless %v: two dialogs are open at once", stateless)
		case <-time.After(300 * time.Millisecond):
		}
		cancel()
		soon(t, "the run is over", over)
		soon(t, "the question is withdrawn", withdrawn)
	}
}
