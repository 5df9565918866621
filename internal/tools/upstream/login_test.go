package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/hostedtest"
	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/tools/upstream/builtin"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// host serves sdkServer to those who have logged in.
func host(t *testing.T, o hostedtest.Options) *hostedtest.Server {
	t.Helper()
	one := sdkServer(nil)
	o.Serve = func(*http.Request) *mcp.Server { return one }
	return mcptest.Host(t, o)
}

// browser goes where it is sent.
func browser(t *testing.T) func(string) {
	return func(address string) {
		go func() {
			resp, err := http.Get(address)
			if err != nil {
				t.Errorf("the browser: %v", err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}()
	}
}

func logIn(t *testing.T, m *upstream.Manager) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return m.Login(ctx, "hosted", "", login.Browser{Open: browser(t)})
}

func works(t *testing.T, m *upstream.Manager) error {
	t.Helper()
	_, err := call(t, m, "hosted", "big", `{}`)
	return err
}

func TestALogin(t *testing.T) {
	t.Parallel()
	h, dir := host(t, hostedtest.Options{}), filepath.Join(t.TempDir(), "logins")
	var log testwait.Buffer
	m := manage(t, upstream.Options{Logins: dir,
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, httpServer("hosted", h.URL))
	if s := status(t, m, "hosted"); !strings.Contains(s.Error, "codemode login hosted") ||
		!strings.Contains(s.Error, "401") {
		t.Errorf("before the login it says %q", s.Error)
	}
	if got, want := status(t, m, "hosted").Login, (upstream.Login{Possible: true, Needed: true}); got != want {
		t.Errorf("before the login it is %+v", got)
	}
	checktest.OK(t, logIn(t, m))
	eventually(t, "it is ready after the login", func() bool { return status(t, m, "hosted").State == upstream.Ready })
	if got := status(t, m, "hosted").Login; !got.Possible || !got.Done || got.Needed || !got.Renews {
		t.Errorf("after the login it is %+v", got)
	}
	checktest.OK(t, works(t, m))
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	if len(files) != 1 {
		t.Fatalf("files %q", files)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the tokens: %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory with the tokens: %v, %v", info.Mode(), err)
	}

	h.Revoke(false)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := works(t, m); err != nil {
				t.Errorf("with a token that has to be renewed: %v", err)
			}
		})
	}
	wg.Wait()
	if h.Renewed() != 1 {
		t.Errorf("the token was renewed %d times, want once", h.Renewed())
	}

	// Another process has logged in since; two processes renew the same token.
	other := manage(t, upstream.Options{Logins: dir}, httpServer("hosted", h.URL))
	for range 3 {
		h.Revoke(false)
		if err := errors.Join(works(t, m), works(t, other)); err != nil {
			t.Errorf("two processes with one login: %v", err)
		}
	}

	h.Revoke(true)
	err := works(t, m)
	var e *upstream.Error
	if !errors.As(err, &e) || e.Unknown || !strings.Contains(err.Error(), "its login has expired") ||
		!strings.Contains(err.Error(), "run codemode login hosted") {
		t.Errorf("with a login that has expired: %v", err)
	}
	if got := status(t, m, "hosted").Login; !got.Needed {
		t.Errorf("with a login that has expired it is %+v", got)
	}
	before := h.Refused()
	for range 3 {
		_ = works(t, m)
	}
	if h.Refused() != before {
		t.Errorf("a refresh token that was refused was sent %d times more", h.Refused()-before)
	}
	checktest.OK(t, logIn(t, m))
	eventually(t, "it works after another login", func() bool { return works(t, m) == nil })

	if found, err := m.Logout("hosted"); err != nil || !found {
		t.Errorf("Logout: %v, %v", found, err)
	}
	if _, err := os.Stat(files[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the logout: %v", err)
	}
	if err := works(t, m); err == nil {
		t.Error("it still works after the logout")
	}
	if found, _ := m.Logout("hosted"); found {
		t.Error("there was a second login")
	}
	seen := log.String() + fmt.Sprintf("%v %+v", err, m.Status())
	for _, secret := range h.Secrets() {
		if strings.Contains(seen, secret) {
			t.Errorf("a token is in an error, the status or the log:\n%s", seen)
		}
	}
}

func TestATokenThatEndsSoonIsRenewedBefore(t *testing.T) {
	t.Parallel()
	h := host(t, hostedtest.Options{ExpiresIn: 5}) // less than a token must have left
	m := manage(t, upstream.Options{Logins: t.TempDir()}, httpServer("hosted", h.URL))
	checktest.OK(t, logIn(t, m))
	eventually(t, "it is ready", func() bool { return status(t, m, "hosted").State == upstream.Ready })
	if err := works(t, m); err != nil || h.Renewed() == 0 {
		t.Errorf("renewed %d times: %v", h.Renewed(), err)
	}
}

func browserThatMayFail(address string) {
	go func() {
		if resp, err := http.Get(address); err == nil {
			_ = resp.Body.Close()
		}
	}()
}

// TestForgedAnswersDoNotEndALogin: whoever can reach the address for the answer, a program on this machine or a page
// that the browser shows, sends what is not the answer. The login that waits takes none of it, and then the right one.
func TestForgedAnswersDoNotEndALogin(t *testing.T) {
	t.Parallel()
	h := host(t, hostedtest.Options{})
	m := manage(t, upstream.Options{Logins: t.TempDir()}, httpServer("hosted", h.URL))
	open := func(address string) {
		u, err := url.Parse(address)
		if err != nil {
			t.Error(err)
			return
		}
		back, state := u.Query().Get("redirect_uri"), url.QueryEscape(u.Query().Get("state"))
		go func() {
			for _, row := range []struct{ method, rest, host string }{
				{"GET", "", ""},
				{"GET", "?error=access_denied", ""},
				{"GET", "?error=access_denied&state=", ""},
				{"GET", "?error=access_denied&state=guessed", ""},
				{"GET", "?code=stolen", ""},
				{"GET", "?code=stolen&state=guessed", ""},
				{"GET", "?code=stolen&state=" + state + "x", ""},
				{"GET", "?code=stolen&state=" + state + "&state=guessed", ""},
				{"GET", "?code=stolen&state=guessed&state=" + state, ""},
				{"GET", "?code=stolen&code=another&state=" + state, ""},
				{"GET", "?code=stolen&STATE=" + state, ""},
				{"GET", "?code=stolen&state=" + state + "&%zz", ""},
				{"GET", "?code=stolen;state=" + state, ""},
				{"POST", "?code=stolen&state=" + state, ""},
				{"HEAD", "?code=stolen&state=" + state, ""},
				{"OPTIONS", "?code=stolen&state=" + state, ""},
				{"GET", "/?code=stolen&state=" + state, ""},
				{"GET", "/../callback2?code=stolen&state=" + state, ""},
				{"GET", "?code=stolen&state=" + state, "rebound.example"},
				{"GET", "?code=stolen&state=" + state, "127.0.0.1"},
			} {
				req, err := http.NewRequest(row.method, back+row.rest, nil)
				if err != nil {
					continue // not even that
				}
				if row.host != "" {
					req.Host = row.host
				}
				resp, err := http.DefaultTransport.RoundTrip(req)
				if err != nil {
					t.Errorf("%s %s: %v", row.method, row.rest, err)
					continue
				}
				_ = resp.Body.Close()
				if resp.StatusCode < 400 {
					t.Errorf("%s %s to %q was answered %s", row.method, row.rest, row.host, resp.Status)
				}
			}
			var conns []net.Conn // that say nothing
			for range 100 {
				if c, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(back, "http://"), "/callback")); err == nil {
					conns = append(conns, c)
				}
			}
			browserThatMayFail(address)
			time.Sleep(100 * time.Millisecond) // the kernel hands the connections over
			for _, c := range conns {
				_ = c.Close()
			}
		}()
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := m.Login(ctx, "hosted", "", login.Browser{Open: open}); err != nil {
		t.Fatalf("the login did not wait for its answer: %v", err)
	}
	eventually(t, "it is ready", func() bool { return status(t, m, "hosted").State == upstream.Ready })
	if err := works(t, m); err != nil {
		t.Error(err)
	}
}

func TestLoginsThatFail(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		how  hostedtest.Options
		want string
	}{
		{"another state", hostedtest.Options{Tamper: func(q url.Values) { q.Set("state", "guessed") }},
			"does not belong to this login"},
		{"no state", hostedtest.Options{Tamper: func(q url.Values) { q.Del("state") }}, "does not belong to this login"},
		{"another code", hostedtest.Options{Tamper: func(q url.Values) { q.Set("code", "stolen") }}, "invalid_grant"},
		{"no code", hostedtest.Options{Tamper: func(q url.Values) { q.Del("code") }}, "no code"},
		{"another issuer", hostedtest.Options{Tamper: func(q url.Values) { q.Set("iss", "https://else.invalid") }}, "issuer"},
		{"the person says no", hostedtest.Options{Tamper: func(q url.Values) {
			q.Del("code")
			q.Set("error", "access_denied")
			q.Set("error_description", "no\u202e")
		}}, `"access_denied" "no\u202e"`},
		{"an authorization server without PKCE", hostedtest.Options{NoPKCE: true}, "PKCE"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h, dir := host(t, row.how), t.TempDir()
			m := manage(t, upstream.Options{Logins: dir}, httpServer("hosted", h.URL))
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			if strings.HasSuffix(row.name, "state") { // the login waits for an answer that is its own
				ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second)
			}
			defer cancel()
			if err := m.Login(ctx, "hosted", "", login.Browser{Open: browserThatMayFail}); err == nil ||
				!strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
			if files, _ := filepath.Glob(filepath.Join(dir, "*.json")); len(files) > 0 {
				t.Errorf("something was kept: %q", files)
			}
		})
	}
}

// Some servers ask for a login late, and some for more of it later still.
func TestALoginThatIsAskedForLate(t *testing.T) {
	t.Parallel()
	h := host(t, hostedtest.Options{Anonymous: true, More: true})
	m := manage(t, upstream.Options{Logins: t.TempDir()}, httpServer("hosted", h.URL))
	if s := status(t, m, "hosted"); !strings.Contains(s.Error, "codemode login hosted") {
		t.Errorf("before the login it says %q", s.Error)
	}
	checktest.OK(t, logIn(t, m))
	eventually(t, "it is ready", func() bool { return status(t, m, "hosted").State == upstream.Ready })
	err := works(t, m)
	var e *upstream.Error
	if !errors.As(err, &e) || e.Unknown || !strings.Contains(err.Error(), `it wants "write"`) ||
		!strings.Contains(err.Error(), "run codemode login hosted") {
		t.Errorf("a call that wants more: %v", err)
	}
	checktest.OK(t, logIn(t, m))
	eventually(t, "the next login is for more", func() bool { return works(t, m) == nil })
}

func TestAClientThatIsRegistered(t *testing.T) {
	t.Parallel()
	_, port, _ := strings.Cut(mcptest.FreeAddress(t), ":")
	c := hostedtest.Client{ID: "us", Secret: "canary-of-the-client", Redirect: "http://localhost:" + port + "/callback"}
	h, dir := host(t, hostedtest.Options{Client: &c}), t.TempDir()
	unregistered := manage(t, upstream.Options{Logins: dir}, httpServer("hosted", h.URL))
	if err := logIn(t, unregistered); err == nil || !strings.Contains(err.Error(), `"oauth": {"clientId"`) {
		t.Errorf("without the client: got %v, want what to write", err)
	}
	s, warnings, err := servers.Parse("hosted", []byte(fmt.Sprintf(
		`{"url":%q,"oauth":{"clientId":"us","clientSecret":"${SECRET}","callbackPort":%s,"scopes":["read"]}}`, h.URL, port)),
		func(string) (string, bool) { return c.Secret, true })
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	m := manage(t, upstream.Options{Logins: dir}, upstream.Server{Server: s})
	checktest.OK(t, logIn(t, m))
	eventually(t, "it works", func() bool { return works(t, m) == nil })
	h.Revoke(false)
	if err := works(t, m); err != nil {
		t.Errorf("after the token was renewed: %v", err)
	}
}

func TestWhereNoLoginIsWanted(t *testing.T) {
	t.Parallel()
	open := httptest.NewServer(handwritten(func(http.ResponseWriter, string, int) (string, bool) { return "", true }))
	defer open.Close()
	withHeader := httpServer("header", open.URL)
	withHeader.Headers = http.Header{"Authorization": {"Bearer of-the-configuration"}}
	m := manage(t, upstream.Options{Logins: t.TempDir()}, httpServer("open", open.URL), withHeader,
		upstream.BuiltIn(builtin.Time()))
	for server, want := range map[string]string{
		"open": login.ErrNotNeeded.Error(), "header": "remove that first", "time": "runs on this machine",
		"nobody": "no such server",
	} {
		if err := m.Login(t.Context(), server, "", login.Browser{Open: browser(t)}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", server, err, want)
		}
	}
}

func TestATokenGoesWhereItWasGivenFor(t *testing.T) {
	t.Parallel()
	h, dir := host(t, hostedtest.Options{}), t.TempDir()
	m := manage(t, upstream.Options{Logins: dir}, httpServer("hosted", h.URL))
	checktest.OK(t, logIn(t, m))
	got := make(chan string, 100)
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Authorization")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer thief.Close()
	s := httpServer("hosted", h.URL)
	s.URL = thief.URL + "/mcp" // the same name, at another address
	moved := manage(t, upstream.Options{Logins: dir}, s)
	if st := status(t, moved, "hosted"); !strings.Contains(st.Error, "codemode login hosted") {
		t.Errorf("at another address it says %q", st.Error)
	}
	for range len(got) {
		if a := <-got; a != "" {
			t.Errorf("another address was sent %q", a)
		}
	}
	s = httpServer("hosted", h.URL)
	s.Headers = http.Header{"Authorization": {"Bearer of-the-configuration"}}
	if st := status(t, manage(t, upstream.Options{Logins: dir}, s), "hosted"); !strings.Contains(st.Error,
		"does not take the Authorization header") {
		t.Errorf("a header of the configuration counts: got %q", st.Error)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	checktest.OK(t, os.Chmod(files[0], 0o644))
	if st := status(t, manage(t, upstream.Options{Logins: dir}, httpServer("hosted", h.URL)),
		"hosted"); !strings.Contains(st.Error, "can be read by others") {
		t.Errorf("a file that others can read: got %q", st.Error)
	}
}

func TestAnAddressThatIsPasted(t *testing.T) {
	t.Parallel()
	h := host(t, hostedtest.Options{})
	m := manage(t, upstream.Options{Logins: t.TempDir()}, httpServer("hosted", h.URL))
	pasted := make(chan string, 1)
	err := m.Login(t.Context(), "hosted", "", login.Browser{Pasted: pasted, Open: func(address string) {
		far := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := far.Get(address)
		if err != nil {
			t.Error(err)
			return
		}
		_ = resp.Body.Close()
		pasted <- resp.Header.Get("Location") + "\n"
	}})
	checktest.OK(t, err)
	eventually(t, "it works", func() bool { return works(t, m) == nil })
}

func TestAServerThatEchoesItsSecrets(t *testing.T) {
	t.Parallel()
	s := fakeServer(t, "s", "plain")
	s.Env["API_KEY"], s.Env["GIT_AUTHOR_NAME"] = "canary-0123456789\"x", "Ada Lovelace the Great"
	m := manage(t, upstream.Options{}, s)
	r, err := call(t, m, "s", "env", `{}`)
	checktest.OK(t, err)
	if text := string(r.Value) + string(r.Content); strings.Contains(text, "canary") ||
		!strings.Contains(text, "API_KEY=[secret]") || !strings.Contains(text, "Lovelace") {
		t.Errorf("the environment as programs see it:\n%s", text)
	}
	_, err = call(t, m, "s", "deny", `{}`)
	var failed *upstream.ToolError
	if !errors.As(err, &failed) || failed.Message != "bad key [secret]" || strings.Contains(string(failed.Result.Value),
		"canary") {
		t.Errorf("got %v", err)
	}
}
