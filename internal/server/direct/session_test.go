package direct_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/server/direct"
)

// A sessionTester is a tester for sessions, with one of them.
type sessionTester struct {
	*tester
	stateful http.Handler
	direct   bool // whether it serves calls directly where it can
	session  direct.Session
	took     atomic.Int64
	url, id  string
}

// openSession opens a session on MCP 2025-11-25 whose client can ask its person.
func openSession(t *testing.T, direct bool) *sessionTester {
	t.Helper()
	s := &sessionTester{tester: newTester(), direct: direct}
	s.stateful = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.server },
		&mcp.StreamableHTTPOptions{Logger: slog.New(slog.DiscardHandler)})
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	r := s.send(t, t.Context(), `{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
		"clientInfo": {"name": "c", "version": "1"}, "capabilities": {"elicitation": {}}}}`, nil)
	_ = answer(t, r)
	s.id = r.Header.Get("Mcp-Session-Id")
	_ = answer(t, s.send(t, t.Context(), `{"jsonrpc": "2.0", "method": "notifications/initialized"}`, nil))
	return s
}

func (s *sessionTester) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	for of := range s.server.Sessions() {
		if s.direct && of.ID() != "" && of.ID() == r.Header.Get("Mcp-Session-Id") &&
			s.session.Serve(whole{w}, r, body, s.server, of, &mcp.RequestExtra{Header: r.Header}) {
			s.took.Add(1)
			return
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	status := &firstStatus{ResponseWriter: w}
	s.stateful.ServeHTTP(status, r)
	if status.is == http.StatusAccepted {
		s.session.Take(body)
	}
}

// firstStatus is a response that knows its status.
type firstStatus struct {
	http.ResponseWriter
	is int
}

func (f *firstStatus) WriteHeader(status int) {
	f.is = status
	f.ResponseWriter.WriteHeader(status)
}

func (f *firstStatus) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// send sends a message in the session, with other headers too. A header that is "" is not sent.
func (s *sessionTester) send(t *testing.T, ctx context.Context, text string, headers map[string]string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", s.url, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2025-11-25"}, "X-Caller": {"anna"}}
	if s.id != "" {
		r.Header.Set("Mcp-Session-Id", s.id)
	}
	for header, value := range headers {
		if r.Header.Del(header); value != "" {
			r.Header.Set(header, value)
		}
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return &http.Response{Body: http.NoBody}
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// answer is a whole response as text.
func answer(t *testing.T, r *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return fmt.Sprintf("%d %s %s\n%s", r.StatusCode, r.Header.Get("Content-Type"), r.Header.Get("Cache-Control"),
		withoutPointers(body))
}

// event returns the message of the next event of a response.
func event(t *testing.T, stream *bufio.Scanner) string {
	t.Helper()
	for stream.Scan() {
		if message, ok := strings.CutPrefix(stream.Text(), "data: "); ok {
			return message
		}
	}
	t.Error("the response ended:", stream.Err())
	return ""
}

func callInSession(tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": %q, "arguments": %s}}`, tool,
		arguments)
}

func TestAsTheSDKInASession(t *testing.T) {
	echo := callInSession("echo", `{"x": "ä\u2028<>"}`)
	changed := func(old, new string) string { return strings.Replace(echo, old, new, 1) }
	for _, test := range []struct {
		name    string
		body    string
		headers map[string]string
		direct  bool
	}{
		{name: "a call", body: echo, direct: true},
		{name: "a call whose id is a text", body: changed(`7`, `"call-1-1"`), direct: true},
		{name: "an error of the tool", body: callInSession("fail", `{}`), direct: true},
		{name: "an error of the protocol", body: callInSession("refuse", `{}`), direct: true},
		{name: "progress", body: callInSession("progress", `{}`), direct: true},
		{name: "an unknown tool", body: callInSession("none", `{}`), direct: true},
		{name: "arguments that are no object", body: callInSession("echo", `[1]`), direct: true},
		{name: "no arguments", body: changed(`, "arguments": {"x": "ä\u2028<>"}`, ``), direct: true},
		{name: "meta", body: changed(`"name"`, `"_meta": {"progressToken": 3, "a": {}}, "name"`), direct: true},
		{name: "the version before", body: echo, headers: map[string]string{"Mcp-Protocol-Version": "2025-06-18"}, direct: true},

		{name: "a version without this header", body: echo, headers: map[string]string{"Mcp-Protocol-Version": ""}},
		{name: "an early version", body: echo, headers: map[string]string{"Mcp-Protocol-Version": "2025-03-26"}},
		{name: "no such version", body: echo, headers: map[string]string{"Mcp-Protocol-Version": "2025-11-26"}},
		{name: "another session", body: echo, headers: map[string]string{"Mcp-Session-Id": "none"}},
		{name: "no session", body: echo, headers: map[string]string{"Mcp-Session-Id": ""}},
		{name: "the version without sessions in the body",
			body: changed(`"name"`, `"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}, "name"`)},
		{name: "meta that is no object", body: changed(`"name"`, `"_meta": 1, "name"`)},
		{name: "one media type accepted", body: echo, headers: map[string]string{"Accept": "application/json"}},
		{name: "another content type", body: echo, headers: map[string]string{"Content-Type": "text/plain"}},
		{name: "a header of a later version", body: echo, headers: map[string]string{"Mcp-Name": "fail"}},
		{name: "an event to resume at", body: echo, headers: map[string]string{"Last-Event-Id": "1"}},
		{name: "another parameter", body: changed(`"name"`, `"task": {}, "name"`)},
		{name: "a batch", body: "[" + echo + "]"},
		{name: "two names", body: changed(`"name"`, `"name": "fail", "name"`)},
		{name: "another member", body: changed(`"id"`, `"result": {}, "id"`)},
		{name: "no id", body: changed(`"id": 7,`, ``)},
		{name: "another method", body: changed(`tools/call`, `ping`)},
		{name: "an answer to no question", body: `{"jsonrpc": "2.0", "id": "call-1-1", "result": {}}`},
		{name: "a cancellation of no call",
			body: `{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 8}}`},
		{name: "not JSON", body: "{"},
		{name: "nothing", body: ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := openSession(t, true)
			sdk := openSession(t, false)
			want := answer(t, sdk.send(t, t.Context(), test.body, test.headers))
			if text := answer(t, got.send(t, t.Context(), test.body, test.headers)); text != want {
				t.Errorf("the SDK's handler answers\n%s\nand this package\n%s", want, text)
			}
			if served := got.took.Load() == 1; served != test.direct {
				t.Errorf("served directly: %v", served)
			}
		})
	}
}

// Two calls at the same time each ask, and get the answer to their own question.
func TestQuestionsInASession(t *testing.T) {
	for _, direct := range []bool{false, true} {
		s := openSession(t, direct)
		ask := func(id int) (*bufio.Scanner, string) {
			body := strings.Replace(callInSession("choose", `{}`), `7`, fmt.Sprint(id), 1)
			stream := bufio.NewScanner(s.send(t, t.Context(), body, nil).Body)
			_, rest, _ := strings.Cut(event(t, stream), `"id":`)
			question, _, _ := strings.Cut(rest, `,"method":"elicitation/create"`)
			return stream, question
		}
		reply := func(question, choice string) string {
			return answer(t, s.send(t, t.Context(), fmt.Sprintf(`{"jsonrpc": "2.0", "id": %s, "result": {"action": %q}}`, question,
				choice), nil))
		}
		one, first := ask(1)
		two, second := ask(2)
		for _, got := range []string{reply(second, "decline"), reply(first, "cancel")} {
			if !strings.HasPrefix(got, "202 ") {
				t.Errorf("directly %v: a reply got %s", direct, got)
			}
		}
		for stream, want := range map[*bufio.Scanner]string{one: "cancel", two: "decline"} {
			if got := event(t, stream); !strings.Contains(got, `"text":"`+want+`"`) {
				t.Errorf("directly %v: got %s, want %s", direct, got, want)
			}
		}
		if got := s.took.Load(); direct && got != 2 {
			t.Errorf("%d calls were served directly", got)
		}
	}
}

// Whatever the SDK's handler takes as an answer to a question reaches the call that asked.
func TestEachReplyCountsInASession(t *testing.T) {
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	accept := `{"action": "accept", "content": {"a": "x"}}`
	for _, test := range []struct {
		name, result string
		headers      map[string]string
	}{
		{"plain", accept, nil},
		{"half of a character", `{"action": "accept", "content": {"a": "x\ud83d"}}`, nil},
		{"no UTF-8", "{\"action\": \"accept\", \"content\": {\"a\": \"x\xff\"}}", nil},
		{"a member twice", `{"action": "accept", "content": {"a": "x", "a": "y"}}`, nil},
		{"deep", `{"action": "accept", "content": {"a": "x"}, "_meta": {"m": ` + deep + `}}`, nil},
		{"without the version", accept, map[string]string{"Mcp-Protocol-Version": ""}},
		{"with a charset", accept, map[string]string{"Content-Type": "application/json; charset=utf-8"}},
		{"takes any media type", accept, map[string]string{"Accept": "*/*"}},
		{"with a header of a later version", accept, map[string]string{"Mcp-Method": "x"}},
	} {
		for _, direct := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, directly %v", test.name, direct), func(t *testing.T) {
				s := openSession(t, direct)
				stream := bufio.NewScanner(s.send(t, t.Context(), callInSession("choose", `{}`), nil).Body)
				_, rest, _ := strings.Cut(event(t, stream), `"id":`)
				question, _, _ := strings.Cut(rest, `,"method":"elicitation/create"`)
				reply := fmt.Sprintf(`{"jsonrpc": "2.0", "id": %s, "result": %s}`, question, test.result)
				if got := answer(t, s.send(t, t.Context(), reply, test.headers)); !strings.HasPrefix(got, "202 ") {
					t.Error("the reply got", got)
				}
				if got := event(t, stream); !strings.Contains(got, `"text":"accept"`) {
					t.Error("the call got", got)
				}
			})
		}
	}
}

// What the SDK's handler refuses reaches no call.
func TestARefusedReplyInASession(t *testing.T) {
	s := openSession(t, true)
	stream := bufio.NewScanner(s.send(t, t.Context(), callInSession("choose", `{}`), nil).Body)
	_ = event(t, stream)
	const reply = `{"jsonrpc": "2.0", "id": "call-1-1", "result": {"action": %q}}`
	for _, headers := range []map[string]string{{"Content-Type": "text/plain"}, {"Last-Event-Id": "1"},
		{"Mcp-Protocol-Version": "2025-11-26"}} {
		got := answer(t, s.send(t, t.Context(), fmt.Sprintf(reply, "accept"), headers))
		if strings.HasPrefix(got, "2") {
			t.Errorf("%v: %s", headers, got)
		}
	}
	_ = answer(t, s.send(t, t.Context(), fmt.Sprintf(reply, "decline"), nil))
	if got := event(t, stream); !strings.Contains(got, `"text":"decline"`) {
		t.Error(got)
	}
}

// A question that ends is taken back by its own id.
func TestAQuestionIsTakenBackInASession(t *testing.T) {
	s := openSession(t, true)
	stream := bufio.NewScanner(s.send(t, t.Context(), callInSession("hurry", `{}`), nil).Body)
	if got := event(t, stream); !strings.Contains(got, `"id":"call-1-1","method":"elicitation/create"`) {
		t.Error(got)
	}
	if got := event(t, stream); !strings.Contains(got, `"method":"notifications/cancelled"`) ||
		!strings.Contains(got, `"requestId":"call-1-1"`) {
		t.Error(got)
	}
}

func TestACancellationInASession(t *testing.T) {
	for _, params := range []string{`{"requestId": 7}`, `{"requestId": 7.0}`, `{"requestId": 7, "reason": "x\ud83d"}`} {
		s := openSession(t, true)
		done := make(chan string)
		go func() { done <- answer(t, s.send(t, t.Context(), callInSession("wait", `{}`), nil)) }()
		<-s.waits
		got := answer(t, s.send(t, t.Context(),
			`{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": `+params+`}`, nil))
		if !strings.HasPrefix(got, "202 ") {
			t.Error(got)
		}
		if err := <-s.canceled; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		<-done
		if got := s.took.Load(); got != 1 {
			t.Errorf("%s: %d calls were served directly", params, got)
		}
	}
}

// A client that does not read its answer holds up nothing that it says of the call.
func TestAnUnreadAnswerInASession(t *testing.T) {
	s := openSession(t, true)
	_ = s.send(t, t.Context(), callInSession("large", `{}`), nil) // nobody reads its body
	for range 3 {
		_ = answer(t, s.send(t, t.Context(),
			`{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}`, nil))
	}
}

// A second call with the id of one in progress does not run, also when the client of the first has left: that call goes
// on, and its answer goes nowhere.
func TestAClientThatLeavesInASession(t *testing.T) {
	s := openSession(t, true)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		r, _ := http.NewRequestWithContext(ctx, "POST", s.url, strings.NewReader(callInSession("wait", `{}`)))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {"2025-11-25"}, "Mcp-Session-Id": {s.id}}
		if res, err := http.DefaultClient.Do(r); err == nil {
			res.Body.Close()
		}
	}()
	<-s.waits
	leave()
	<-left
	if got := answer(t, s.send(t, t.Context(), callInSession("echo", `{}`), nil)); !strings.HasPrefix(got, "400 ") ||
		!strings.Contains(got, "duplicate in-flight request ID 7") {
		t.Error(got)
	}
	select {
	case err := <-s.canceled:
		t.Error("the call was cancelled:", err)
	default:
	}
	_ = answer(t, s.send(t, t.Context(),
		`{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}`, nil))
	if err := <-s.canceled; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A second call with the id of one in progress gets the same answer as from the SDK's handler. The id is free when the
// client has its answer.
func TestOneIDInASession(t *testing.T) {
	var second [2]string
	for i, direct := range []bool{false, true} {
		s := openSession(t, direct)
		for range 20 {
			if got := answer(t, s.send(t, t.Context(), callInSession("echo", `{}`), nil)); !strings.HasPrefix(got, "200 ") {
				t.Fatalf("directly %v: %s", direct, got)
			}
		}
		done := make(chan string)
		go func() { done <- answer(t, s.send(t, t.Context(), callInSession("wait", `{}`), nil)) }()
		<-s.waits
		second[i] = answer(t, s.send(t, t.Context(), callInSession("echo", `{}`), nil))
		_ = answer(t, s.send(t, t.Context(),
			`{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}`, nil))
		<-s.canceled
		<-done
	}
	if second[0] != second[1] || !strings.HasPrefix(second[0], "400 ") {
		t.Errorf("the SDK's handler answers\n%s\nand this package\n%s", second[0], second[1])
	}
}

// Whatever a session takes as a call, the SDK reads as the same call, and not as one of the version without sessions.
func FuzzReadInSession(f *testing.F) {
	f.Add([]byte(callInSession("echo", `{"a": [1, 2.5e3, "\ud83d\ude00"]}`)))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo","_meta":{"progressToken":1}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",` + meta + `}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got := direct.ReadInSession(body)
		if got == nil {
			return
		}
		sameCall(t, got, body)
		if bytes.Contains(got.Params, []byte("io.modelcontextprotocol/protocolVersion")) {
			var params mcp.CallToolParamsRaw
			_ = json.Unmarshal(got.Params, &params)
			if _, ok := params.Meta[mcp.MetaKeyProtocolVersion]; ok {
				t.Fatalf("it says the version: %s", got.Params)
			}
		}
	})
}
