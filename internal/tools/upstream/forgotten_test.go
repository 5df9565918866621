package upstream_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/tools/upstream"
)

const fine = `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"ok"}]}}`

// A server that has forgotten its session did nothing: the call is sent once more over a new one. What may have been
// done, and what the server says about the call itself, is not sent again.
func TestAForgottenSession(t *testing.T) {
	t.Parallel()
	problem := func(id, code, message string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":%q}}`, id, code, message)
	}
	for _, row := range []struct {
		status     int
		body, kind string
		again      bool
	}{
		{404, "", "", true}, // as the specification says
		{404, "session not found", "text/plain", true},
		{404, "<html>", "text/html", true},
		{404, problem("null", "-32001", "Session not found"), "", true}, // TypeScript
		{404, problem(`""`, "-32001", "Session not found"), "", true},   // C#
		{404, problem("@", "-32001", "Session not found"), "", true},
		{404, `{"error":"no"}`, "", true},
		{400, problem("null", "-32000", "Bad Request: No valid session ID provided"), "", true},
		{400, problem("null", "-32000", "Bad Request: Server not initialized"), "", true},
		{400, problem(`"server-error"`, "-32600", "Bad Request: Missing session ID"), "", true}, // Python
		{400, problem("@", "-32000", "Bad Request: Mcp-Session-Id header is required"), "", true},
		{400, "Invalid session ID", "text/plain", true},
		{400, "Session expired", "text/plain", true},
		{400, "Your session has expired. Please initialize again.", "text/plain", true},
		{400, "session 3f0a-11 not found", "text/plain", true},
		{400, "Unknown or expired session", "text/plain", true},
		{400, "Session does not exist", "text/plain", true},
		{400, `{"error":"invalid session"}`, "", true},
		{400, `{"message":"Session has been terminated"}`, "", true},
		{400, `{"detail":"Session with id abc not found"}`, "", true},
		{401, "Unauthorized: Session not found", "text/plain", true}, // Rust, before
		{410, "session gone", "text/plain", true},
		{422, "Unexpected message, expect initialize request", "text/plain", true},

		{404, problem("@", "-32601", "Method not found"), "", false},
		{404, problem("null", "-32601", "Method not found"), "", false},
		{404, problem("@", "-32602", "there is no such issue"), "", false},
		{404, problem("@", "-32603", "Session not found"), "", false}, // of a tool about its own sessions
		{400, problem("@", "-32603", "Session not found"), "", false},
		{400, problem("null", "-32602", "the browser session of tab 3 was not found, so half of the form was sent"), "", false},
		{400, "malformed", "text/plain", false},
		{400, "the session token may be in the url", "text/plain", false},
		{401, "", "", false}, {403, "Session not found", "text/plain", false}, {409, "session not found", "text/plain", false},
		{429, "session not found", "text/plain", false},
		{500, "session not found", "text/plain", false}, {502, "", "", false}, {503, "Session not found", "text/plain", false},
		{200, problem("@", "-32001", "Session not found"), "", false},
		{200, problem("null", "-32001", "Session not found"), "", false},
		{200, `{"jsonrpc":"2.0","id":@,"result":{"isError":true,"content":[{"type":"text","text":"Session not found"}]}}`, "", false},
		{200, "session not found", "text/plain", false},
	} {
		t.Run(fmt.Sprint(row.status, " ", row.body), func(t *testing.T) {
			t.Parallel()
			s := speak(t, nil)
			s.answer = func(w http.ResponseWriter, r *http.Request, id string) {
				if r.Header.Get("Mcp-Session-Id") == "s2" {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, fine, id)
					return
				}
				w.Header().Set("Content-Type", row.kind)
				if row.kind == "" {
					w.Header().Set("Content-Type", "application/json")
				}
				w.WriteHeader(row.status)
				fmt.Fprint(w, strings.ReplaceAll(row.body, "@", id))
			}
			m := manage(t, upstream.Options{}, httpServer("s", s.URL))
			r, err := call(t, m, "s", "x", `{}`)
			switch {
			case row.again && (err != nil || string(r.Value) != `"ok"` || s.calls.Load() != 2 || s.opened.Load() != 2):
				t.Errorf("got %v, %v; %d calls, %d sessions; want it once more", r, err, s.calls.Load(), s.opened.Load())
			case !row.again && (err == nil || s.calls.Load() != 1 || s.opened.Load() != 1):
				t.Errorf("got %v, %v; %d calls, %d sessions; want it once", r, err, s.calls.Load(), s.opened.Load())
			}
		})
	}
}

// A server without sessions has none to forget.
func TestNoSessionIsForgotten(t *testing.T) {
	t.Parallel()
	s := speak(t, func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(http.StatusNotFound) })
	s.sessionless = true
	m := manage(t, upstream.Options{}, httpServer("s", s.URL))
	_, err := call(t, m, "s", "x", `{}`)
	var e *upstream.Error
	if !errors.As(err, &e) || e.Unknown || s.calls.Load() != 1 || !strings.Contains(err.Error(), "HTTP 404 Not Found") {
		t.Errorf("got %v after %d calls", err, s.calls.Load())
	}
}

// It is sent once more and not oftener, and never if the server has defined the tool anew meanwhile.
func TestAForgottenSessionIsBegunOnce(t *testing.T) {
	t.Parallel()
	for _, redefines := range []bool{false, true} {
		s := speak(t, func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(http.StatusNotFound) })
		s.redefines = redefines
		m := manage(t, upstream.Options{}, httpServer("s", s.URL))
		_, err := call(t, m, "s", "x", `{}`)
		want, calls := "it has forgotten the session: it answered HTTP 404 Not Found", int32(2)
		if redefines {
			want, calls = "defines this tool in another way", 1
		}
		var e *upstream.Error
		if !errors.As(err, &e) || e.Unknown || s.calls.Load() != calls || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v after %d calls, want %q after %d", err, s.calls.Load(), want, calls)
		}
	}
}

// Of many calls at once each is sent again, and one whose answer still comes gets it.
func TestManyCallsOfAForgottenSession(t *testing.T) {
	t.Parallel()
	var forgot, done atomic.Int32
	s := speak(t, func(w http.ResponseWriter, r *http.Request, id string) {
		if r.Header.Get("Mcp-Session-Id") == "s1" {
			time.Sleep(time.Duration(forgot.Add(1)) * 5 * time.Millisecond) // one after the other
			w.WriteHeader(http.StatusNotFound)
			return
		}
		done.Add(1)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, fine, id)
	})
	m := manage(t, upstream.Options{}, httpServer("s", s.URL))
	slow := make(chan error, 1)
	go func() { _, err := m.Call(t.Context(), "s", "slow", nil, upstream.CallOptions{}); slow <- err }()
	eventually(t, "the slow call is under way", func() bool { return s.wanted.Load() == 1 })
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			if _, err := call(t, m, "s", "x", `{}`); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	close(s.release)
	if err := <-slow; err != nil {
		t.Errorf("the call of the old session: %v", err)
	}
	if n := s.opened.Load(); n != 2 || done.Load() != 8 {
		t.Errorf("%d sessions, %d calls done", n, done.Load())
	}
}

func TestRetryAfterAndTheServersWords(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status        int
		header        http.Header
		want, wantNot string
		after         time.Duration
	}{
		{429, http.Header{"Retry-After": {"30"}}, "HTTP 429 Too Many Requests: slow down; it says to try again in 30s", "log in",
			30 * time.Second},
		{503, http.Header{"Retry-After": {time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)}}, "slow down", "log in", time.Hour},
		{429, http.Header{"Retry-After": {"-3"}}, "slow down", "again", 0},
		{429, http.Header{"Retry-After": {"1e99"}}, "slow down", "again", 0},
		{500, nil, "HTTP 500 Internal Server Error: slow down", "log in", 0},
		{404, nil, "HTTP 404 Not Found: slow down", "log in", 0},
		{403, nil, "it refuses us (HTTP 403)", "log in", 0},
		{403, http.Header{"Www-Authenticate": {`Bearer error="insufficient_user"`}}, "log in as another user", "", 0},
		{403, http.Header{"Www-Authenticate": {`Basic realm="x"`}}, "slow down", "log in", 0},
		{401, nil, "it wants a login (HTTP 401)", "another user", 0},
	} {
		s := speak(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
			for name, values := range row.header {
				w.Header()[name] = values
			}
			w.WriteHeader(row.status)
			fmt.Fprint(w, "slow down")
		})
		s.sessionless = true
		m := manage(t, upstream.Options{Logins: t.TempDir()}, httpServer("s", s.URL))
		_, err := call(t, m, "s", "x", `{}`)
		var e *upstream.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), row.want) || e.Said != "slow down" ||
			row.wantNot != "" && strings.Contains(err.Error(), row.wantNot) || (e.RetryAfter-row.after).Abs() > 2*time.Second {
			t.Errorf("%d: got %v, after %v", row.status, err, e.RetryAfter)
		}
		// Of an earlier error nothing is left.
		s.answer = func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(http.StatusBadGateway) }
		if _, err = call(t, m, "s", "x", `{}`); err == nil || strings.Contains(err.Error(), "log in") ||
			strings.Contains(err.Error(), "login") || !strings.Contains(err.Error(), "HTTP 502") {
			t.Errorf("after %d: %v", row.status, err)
		}
	}
}
