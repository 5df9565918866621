package upstream_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// A spoken is a server over HTTP that answers a call of "x" with what its test says, and one of "slow" late.
type spoken struct {
	*httptest.Server
	opened, calls atomic.Int32
	wanted        atomic.Int32 // calls of "slow" that wait
	release       chan struct{}

	answer      func(w http.ResponseWriter, r *http.Request, id string)
	sessionless bool
	redefines   bool // with each session
}

// speak serves such a server. answer gets the id of the call as JSON.
func speak(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, id string)) *spoken {
	t.Helper()
	s := &spoken{release: make(chan struct{}), answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if json.Unmarshal(body, &m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := func(text string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, text)
		}
		switch {
		case m.Method == "initialize":
			if n := s.opened.Add(1); !s.sessionless {
				w.Header().Set("Mcp-Session-Id", fmt.Sprintf("s%d", n))
			}
			result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
		case m.Method == "tools/list":
			about := "the same"
			if s.redefines {
				about = fmt.Sprint("number ", s.opened.Load())
			}
			result(fmt.Sprintf(`{"tools":[{"name":"x","description":%q},{"name":"slow"}]}`, about))
		case m.Params.Name == "slow":
			s.wanted.Add(1)
			<-s.release
			result(`{"content":[{"type":"text","text":"slow"}]}`)
		case m.Params.Name == "x":
			s.calls.Add(1)
			s.answer(w, r, string(m.ID))
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()
}

// An answer that cannot be read fails its call alone, whatever it is. Those that can be read are, whatever they are
// called.
func TestAnAnswerConcernsItsCallAlone(t *testing.T) {
	t.Parallel()
	const good = `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"ok"}]}}`
	const asJSON, html = "application/json", "text/html; charset=utf-8"
	for _, row := range []struct {
		name, kind, body string
		header           http.Header
		status           int
		value            string // of the call, "" if it fails
		want             string // in its error
		refused          bool   // the server did nothing
	}{
		{name: "an array", kind: asJSON, body: "[" + good + "]", value: `"ok"`},
		{name: "an array with a notice", kind: asJSON, value: `"ok"`,
			body: `[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}},` + good + "]"},
		{name: "a byte order mark", kind: asJSON, body: "\xef\xbb\xbf" + good, value: `"ok"`},
		{name: "text/plain", kind: "text/plain", body: good, value: `"ok"`},
		{name: "no content type", kind: "-", body: good, value: `"ok"`},
		{name: "an invalid content type", kind: ";;", body: good, value: `"ok"`},
		{name: "text/html that is JSON", kind: html, body: good, value: `"ok"`},
		{name: "202 with a body", status: 202, kind: asJSON, body: good, value: `"ok"`},
		{name: "the id as text", kind: asJSON, body: strings.Replace(good, "ID", `"ID"`, 1), value: `"ok"`},
		{name: "the id as fraction", kind: asJSON, body: strings.Replace(good, "ID", `ID.0`, 1), value: `"ok"`},
		{name: "the id as text in an event", kind: "text/event-stream", value: `"ok"`,
			body: "data: " + strings.Replace(good, "ID", `"ID"`, 1) + "\n\n"},
		{name: "error: null beside the result", kind: asJSON, body: strings.Replace(good, `"result"`, `"error":null,"result"`, 1),
			value: `"ok"`},
		{name: "two objects", kind: asJSON, body: good + "\n" + strings.Replace(good, "ok", "no", 1), value: `"ok"`},
		{name: "gzip", kind: asJSON, body: zipped(good), header: http.Header{"Content-Encoding": {"gzip"}}, value: "zip"},
		{name: "gzip that is none", kind: asJSON, body: good, header: http.Header{"Content-Encoding": {"gzip"}}, value: `"ok"`},
		{name: "another session", kind: asJSON, body: good, header: http.Header{"Mcp-Session-Id": {"other"}}, value: `"ok"`},
		{name: "a broken event before the answer", kind: "text/event-stream", value: `"ok"`,
			body: "data: {\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{NaN}}\n\ndata: " + good + "\n\n"},
		{name: "an answer for another call before the answer", kind: "text/event-stream", value: `"ok"`,
			body: "data: {\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{\"content\":[]}}\n\ndata: " + good + "\n\n"},

		{name: "NaN", kind: asJSON, body: strings.Replace(good, `"ok"`, "NaN", 1), want: `"text":NaN`},
		{name: "an HTML page", kind: html, body: "<html>Sign in\x1b[31m</html>",
			want: `(HTTP 200 OK, content type text/html): <html>Sign in\u{1b}[31m</html>`},
		{name: "nothing", kind: asJSON, want: "(HTTP 200 OK, content type application/json): it is empty"},
		{name: "204", status: 204, kind: "-", want: "HTTP 204 No Content, no content type): it is empty"},
		{name: "202 without a body", status: 202, kind: "-", want: "HTTP 202 Accepted, no content type): it is empty"},
		{name: "202 with words", status: 202, kind: "text/plain", body: "queued", want: "queued"},
		{name: "an unknown content type", kind: "application/msgpack", body: "\x81\xa1", want: "application/msgpack"},
		{name: "half of it", kind: asJSON, body: good[:len(good)-5], want: `{"type":"text","text":"ok`},
		{name: "half of it, and a message inside", kind: asJSON,
			body: `{"jsonrpc":"2.0","id":ID,"result":{"log":` + good + `,`, want: "cannot be read"},
		{name: "for another call", kind: asJSON, body: strings.Replace(good, "ID", "77", 1), want: `"id":77`},
		{name: "for nobody", kind: asJSON, body: strings.Replace(good, "ID", "null", 1), want: `"id":null`},
		{name: "result and error", kind: asJSON, body: strings.Replace(good, `"result"`, `"error":{"code":1,"message":"x"},"result"`, 1),
			want: "cannot be read"},
		{name: "an error that is text", kind: asJSON, body: `{"jsonrpc":"2.0","id":ID,"error":"disk full"}`, want: "disk full"},
		{name: "no version", kind: asJSON, body: strings.Replace(good, `"jsonrpc":"2.0",`, "", 1), want: "cannot be read"},
		{name: "a list of nothing", kind: asJSON, body: "[]", want: "[]"},
		{name: "no JSON-RPC", kind: asJSON, body: `{"status":"ok"}`, want: `{"status":"ok"}`},
		{name: "a secret", kind: html, body: strings.Repeat("x", 195) + "hush-hush-hush", want: "[sec"},
		{name: "gzip that breaks off", kind: asJSON, body: zipped(good)[:20], want: "cannot be read"},
		{name: "a broken event", kind: "text/event-stream", body: "data: " + strings.Replace(good, `"ok"`, "NaN", 1) + "\n\n",
			want: `"text":NaN`},
		{name: "events that are no messages", kind: "text/event-stream", body: "data: sorry, not now\n\n", want: "sorry, not now"},
		{name: "no event", kind: "text/event-stream", body: ": hello\n\n", want: "its event stream ended before the answer"},

		{name: "400 in words", status: 400, kind: "text/plain", body: "malformed", want: "HTTP 400 Bad Request: malformed", refused: true},
		{name: "404 of a page", status: 405, kind: html, body: "<h1>no</h1>", want: "405 Method Not Allowed (text/html): <h1>no</h1>",
			refused: true},
		{name: "413", status: 413, kind: asJSON, body: `{"error":"too large"}`, want: "too large", refused: true},
		{name: "418", status: 418, kind: "-", want: "HTTP 418", refused: true},
		{name: "500 with a JSON-RPC error", status: 500, kind: asJSON, want: "500 Internal Server Error: it broke",
			body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"it broke"}}`},
		{name: "501", status: 501, kind: "-", want: "HTTP 501"},
		{name: "520", status: 520, kind: html, body: "<html>", want: "HTTP 520 (text/html): <html>"},
		{name: "300", status: 300, kind: "-", want: "HTTP 300"},
		{name: "304", status: 304, kind: "-", want: "HTTP 304"},
		{name: "302 without a place", status: 302, kind: "-", want: "HTTP 302"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var broken atomic.Bool
			broken.Store(true)
			s := speak(t, func(w http.ResponseWriter, _ *http.Request, id string) {
				if !broken.Load() {
					w.Header().Set("Content-Type", asJSON)
					fmt.Fprint(w, strings.ReplaceAll(good, "ID", id))
					return
				}
				w.Header().Set("Content-Type", row.kind)
				if row.kind == "-" {
					w.Header()["Content-Type"] = nil
				}
				for name, values := range row.header {
					w.Header()[name] = values
				}
				if row.status != 0 {
					w.WriteHeader(row.status)
				}
				body := row.body
				if row.value == "zip" {
					body = zipped(strings.ReplaceAll(good, "ID", id))
				}
				fmt.Fprint(w, strings.ReplaceAll(body, "ID", id))
			})
			one := httpServer("s", s.URL)
			one.Headers = http.Header{"X-Api-Key": {"hush-hush-hush"}}
			m := manage(t, upstream.Options{}, one)
			slow := make(chan error, 1)
			go func() { _, err := m.Call(t.Context(), "s", "slow", nil, upstream.CallOptions{}); slow <- err }()
			eventually(t, "the slow call is under way", func() bool { return s.wanted.Load() == 1 })

			r, err := call(t, m, "s", "x", `{}`)
			var e *upstream.Error
			switch {
			case row.value == "" && (!errors.As(err, &e) || e.Unknown == row.refused || !strings.Contains(err.Error(), row.want) ||
				strings.Contains(err.Error(), "hush")):
				t.Errorf("got %v, want %q, outcome unknown: %v", err, row.want, !row.refused)
			case row.value != "" && (err != nil || string(r.Value) != `"ok"`):
				t.Errorf("got %v, %v, want %s", r, err, row.value)
			}
			broken.Store(false)
			if r, err := call(t, m, "s", "x", `{}`); err != nil || string(r.Value) != `"ok"` {
				t.Errorf("the next call: %v", err)
			}
			close(s.release)
			if err := <-slow; err != nil {
				t.Errorf("the call beside it: %v", err)
			}
			if n := s.opened.Load(); n != 1 {
				t.Errorf("%d sessions, want one", n)
			}
			if n := s.calls.Load(); n != 2 {
				t.Errorf("the calls were sent %d times, want 2", n)
			}
		})
	}
}

// What the server refuses of our notices, and of the stream of its own messages, ends no session either.
func TestARefusedNoticeEndsNoSession(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	for _, status := range []int{400, 401, 404, 405, 429, 500, 503} {
		inner := handwritten(func(_ http.ResponseWriter, method string, _ int) (string, bool) {
			if method == "initialize" {
				opened.Add(1)
			}
			return "", true
		})
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if r.Method == http.MethodGet || bytes.Contains(body, []byte("notifications/")) {
				w.WriteHeader(status)
				return
			}
			inner.ServeHTTP(w, r)
		}))
		m := manage(t, upstream.Options{}, httpServer("s", ts.URL))
		if _, err := call(t, m, "s", "x", `{}`); err != nil {
			t.Errorf("%d: %v", status, err)
		}
		ts.Close()
	}
	if n := opened.Load(); n != 7 {
		t.Errorf("%d sessions, want 7", n)
	}
}

// A stream of the server's own messages that ends, again and again, ends no call.
func TestAStreamThatEndsEndsNoCall(t *testing.T) {
	t.Parallel()
	var streams atomic.Int32
	s := speak(t, func(http.ResponseWriter, *http.Request, string) {})
	inner := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if r.Header.Get("Last-Event-Id") != "" {
				t.Errorf("it resumes at %q", r.Header.Get("Last-Event-Id"))
			}
			if streams.Add(1) > 1 {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			return
		}
		inner.ServeHTTP(w, r)
	})
	m := manage(t, upstream.Options{}, httpServer("s", s.URL))
	slow := make(chan error, 1)
	go func() { _, err := m.Call(t.Context(), "s", "slow", nil, upstream.CallOptions{}); slow <- err }()
	eventually(t, "it was opened again", func() bool { return streams.Load() > 1 && s.wanted.Load() == 1 })
	time.Sleep(100 * time.Millisecond) // what would end the session has the time to
	close(s.release)
	if err := <-slow; err != nil {
		t.Errorf("the call: %v", err)
	}
	if n := s.opened.Load(); n != 1 {
		t.Errorf("%d sessions", n)
	}
}
