package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// An exchanger is the token endpoint of an authorization server (RFC 8693), and a server that takes the tokens of it.
// The tokens of callers are "own-NAME".
type exchanger struct {
	endpoint, server *httptest.Server

	mu     sync.Mutex
	asked  []url.Values
	answer func(form url.Values, answer map[string]any) int // changes an answer; nil changes nothing
	valid  map[string]string                                // who has a token
	passed []string                                         // what came to the server and is no token of it
}

func newExchanger(t *testing.T) (*exchanger, upstream.Server) {
	t.Helper()
	x := &exchanger{valid: map[string]string{}}
	x.endpoint = httptest.NewServer(http.HandlerFunc(x.token))
	t.Cleanup(x.endpoint.Close)
	mux := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "whoami"}, func(_ context.Context, r *mcp.CallToolRequest,
			_ struct{}) (*mcp.CallToolResult, any, error) {
			who := x.who(r.Extra.Header)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: who}}}, nil, nil
		})
		return s
	}, &mcp.StreamableHTTPOptions{Stateless: true})
	x.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" && x.who(r.Header) == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r) // lists tools to everybody
	}))
	t.Cleanup(func() { x.server.CloseClientConnections(); x.server.Close() })
	s := httpServer("x", x.server.URL)
	s.OAuth = &servers.OAuth{Exchange: &servers.Exchange{TokenURL: x.endpoint.URL, ClientID: "codemode", ClientSecret: "s3cret",
		Audience: "the-server", Scopes: []string{"read"}}}
	return x, s
}

func (x *exchanger) who(h http.Header) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	token := strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
	if who := x.valid[token]; who != "" {
		return who
	}
	x.passed = append(x.passed, token)
	return ""
}

func (x *exchanger) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // an unreadable form is empty
	id, secret, _ := r.BasicAuth()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked = append(x.asked, r.PostForm)
	name, ok := strings.CutPrefix(r.PostForm.Get("subject_token"), "own-")
	code, answer := http.StatusOK, map[string]any{"access_token": fmt.Sprintf("exchanged-%s-%d", name, len(x.asked)),
		"token_type": "Bearer", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "expires_in": 3600}
	if id != "codemode" || secret != "s3cret" || !ok || name == "nobody" {
		code, answer = http.StatusBadRequest, map[string]any{"error": "invalid_grant",
			"error_description": "you sent " + r.PostForm.Get("subject_token")}
	} else if x.answer != nil {
		code = x.answer(r.PostForm, answer)
	}
	if token, ok := answer["access_token"].(string); ok {
		x.valid[token] = name
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer) // a disconnected client needs no answer
}

func (x *exchanger) count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.asked)
}

func whoAs(t *testing.T, m *upstream.Manager, principal, token string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	o := upstream.CallOptions{Principal: principal}
	if token != "" {
		o.Token = login.NewBearer(token)
	}
	r, err := m.Call(ctx, "x", "whoami", nil, o)
	if err != nil {
		return "", err
	}
	return string(r.Value), nil
}

func TestTokensAreExchanged(t *testing.T) {
	t.Parallel()
	x, s := newExchanger(t)
	var log testwait.Buffer
	m := manage(t, upstream.Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, s)
	is := func(principal, token, want string) {
		t.Helper()
		if got, err := whoAs(t, m, principal, token); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s is %q there (%v), want %q", principal, got, err, want)
		}
	}
	is("acme:anna", "own-anna", "anna")
	is("acme:ben", "own-ben", "ben")
	want := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {"own-anna"},
		"subject_token_type":   {"urn:ietf:params:oauth:token-type:access_token"},
		"requested_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
		"audience":             {"the-server"}, "resource": {s.URL}, "scope": {"read"}}
	if got := x.asked[0]; got.Encode() != want.Encode() {
		t.Errorf("the request is %v, want %v", got, want)
	}
	before := x.count()
	var calls sync.WaitGroup
	for i := range 200 { // the token of one principal for another
		calls.Go(func() { name := []string{"anna", "ben"}[i%2]; is("acme:"+name, "own-"+name, name) })
	}
	calls.Wait()
	if n := x.count() - before; n != 0 {
		t.Errorf("%d tokens more were exchanged, want those of before", n)
	}
	x.mu.Lock()
	clear(x.valid) // 401 on the way
	x.mu.Unlock()
	is("acme:anna", "own-anna", "anna")
	if n := x.count() - before; n != 1 {
		t.Errorf("after 401 %d tokens were exchanged, want 1", n)
	}
	for _, token := range []string{"", "own-nobody"} {
		for range 2 {
			_, err := whoAs(t, m, "acme:eve", token)
			failed, ok := errors.AsType[*upstream.Error](err)
			if want := map[string]string{"": "this call has none", "own-nobody": "gives no token in exchange"}[token]; !ok ||
				failed.Unknown || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "own-") {
				t.Errorf("with the token %q: %v, want %q", token, err, want)
			}
		}
	}
	if _, err := whoAs(t, m, "", "own-anna"); err == nil || !strings.Contains(err.Error(), "nobody has verified") {
		t.Errorf("without a principal: %v", err)
	}
	if n := x.count() - before; n != 2 {
		t.Errorf("a token that was refused was sent %d times, want once", n-1)
	}
	if err := m.Login(t.Context(), "x", "acme:anna", login.Browser{}); err == nil {
		t.Error("somebody logs in there")
	}
	for _, passed := range x.passed {
		if strings.HasPrefix(passed, "own-") {
			t.Errorf("the server got the caller's own token %s", passed)
		}
	}
	if text := log.String() + fmt.Sprintf("%v %+v %#v", login.NewBearer("own-anna"),
		upstream.CallOptions{Token: login.NewBearer("own-anna")}, login.NewBearer("own-anna")); strings.Contains(text, "own-") ||
		strings.Contains(text, "exchanged-") {
		t.Error("a token is in the log, or is printed")
	}
}

// TestAttacksOnExchange: an authorization server that gives another token than it was asked for.
func TestAttacksOnExchange(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(form url.Values, answer map[string]any){
		"a wider scope": func(_ url.Values, a map[string]any) { a["scope"] = "read write" },
		"another token type": func(_ url.Values, a map[string]any) {
			a["issued_token_type"] = "urn:ietf:params:oauth:token-type:refresh_token"
		},
		"no issued type":            func(_ url.Values, a map[string]any) { delete(a, "issued_token_type") },
		"a token without access":    func(_ url.Values, a map[string]any) { a["token_type"] = "N_A" },
		"a token bound to a key":    func(_ url.Values, a map[string]any) { a["token_type"] = "DPoP" },
		"the caller's own (passed)": func(f url.Values, a map[string]any) { a["access_token"] = f.Get("subject_token") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, s := newExchanger(t)
			x.answer = func(form url.Values, answer map[string]any) int { change(form, answer); return http.StatusOK }
			m := manage(t, upstream.Options{}, s)
			for range 2 {
				got, err := whoAs(t, m, "acme:anna", "own-anna")
				if failed, ok := errors.AsType[*upstream.Error](err); !ok || failed.Unknown ||
					!strings.Contains(err.Error(), "another token than it was asked for") {
					t.Errorf("got %q, %v", got, err)
				}
			}
			if n := x.count(); n != 1 {
				t.Errorf("the token was sent %d times, want once", n)
			}
		})
	}
	t.Run("the same or a narrower scope is fine", func(t *testing.T) {
		t.Parallel()
		x, s := newExchanger(t)
		x.answer = func(_ url.Values, a map[string]any) int { a["scope"] = "read"; return http.StatusOK }
		if got, err := whoAs(t, manage(t, upstream.Options{}, s), "acme:anna", "own-anna"); err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
