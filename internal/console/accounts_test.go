package console

import (
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/console/accounts"
	"github.com/codemode-project/codemode/internal/hostedtest"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
	_ "github.com/codemode-project/codemode/store/sqlite"
)

// upstreams are one server with accounts of principals, behind a real manager and store.
type upstreams struct{ *upstream.Manager }

func (u upstreams) Any() bool { return true }

func (u upstreams) Servers(ctx context.Context, principal string) ([]accounts.Server, error) {
	one := accounts.Server{Name: "linear"}
	all, err := u.Logins(ctx, principal)
	for _, l := range all {
		one.Connected = l.Created
	}
	return []accounts.Server{one}, err
}

func (u upstreams) LogIn(ctx context.Context, server, principal, redirect string, open func(string),
	back <-chan url.Values) error {
	return u.Login(ctx, server, principal, login.Browser{Open: open, Redirect: redirect, Answer: back, Served: document})
}

func (u upstreams) LogOut(ctx context.Context, server, principal string) (bool, error) {
	return u.LogoutOf(ctx, server, principal)
}

func (u upstreams) Connected(context.Context, string, string) {}

// document is the address of the page's client metadata document, as authorization servers know it.
const document = "https://codemode.example.com" + ClientMetadataPath

// A connecting is a page over which people connect accounts.
type connecting struct {
	*world
	h *hostedtest.Server
	u upstreams
}

func newConnecting(t *testing.T, o hostedtest.Options) *connecting {
	t.Helper()
	o.Serve = func(*http.Request) *mcp.Server {
		return mcp.NewServer(&mcp.Implementation{Name: "h", Version: "1"}, nil)
	}
	h := hostedtest.New(o)
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "db"), SealKey: make([]byte, 32)})
	checktest.OK(t, err)
	m := upstream.NewManager(upstream.Options{Lazy: true, Principals: login.Options{
		DB: func(context.Context) (*store.DB, error) { return db, nil }}})
	m.Set([]upstream.Server{{Server: servers.Server{Name: "linear", Transport: upstream.HTTP, URL: h.URL,
		OAuth: &servers.OAuth{Per: servers.Principal}}}})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Error(err)
		}
		h.Close()
		db.Close()
	})
	return &connecting{newWorld(t, func(o *Options) {
		o.Accounts = upstreams{m}
		o.ClientMetadata, err = login.ClientMetadata(document, o.Origins[0]+ConnectedPath)
		checktest.OK(t, err)
	}), h, upstreams{m}}
}

var onward1 = regexp.MustCompile(`href="([^"]+)" rel="noreferrer"`)

// begin presses Connect, and returns the address of the authorization server and the cookie of the browser.
func (c *connecting) begin(v *visitor) (address, cookie string) {
	c.t.Helper()
	got := v.form("/accounts/connect", "server=linear")
	found := onward1.FindStringSubmatch(got.body)
	if got.code != http.StatusOK || found == nil {
		c.t.Fatalf("connecting: %d %s", got.code, got.body)
	}
	set := got.header.Get("Set-Cookie")
	if !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Lax") ||
		!strings.Contains(set, "Path=/accounts/callback") || !strings.Contains(set, "Secure") {
		c.t.Errorf("the cookie is %s", set)
	}
	cookie, _, _ = strings.Cut(set, ";")
	return strings.ReplaceAll(found[1], "&amp;", "&"), cookie
}

// consent logs in at the authorization server as a user, and returns the address that the browser is sent back to.
func (c *connecting) consent(address, user string) string {
	c.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(address + "&user=" + user)
	checktest.OK(c.t, err)
	res.Body.Close()
	return res.Header.Get("Location")
}

// comeBack opens the address with a cookie, as a browser does that comes from another site.
func (c *connecting) comeBack(address, cookie string) *response {
	v := &visitor{w: c.world, cookie: cookie}
	return v.send("GET", strings.TrimPrefix(address, c.origin), "", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate",
		"Sec-Fetch-Dest: document")
}

// of lists whose logins are stored.
func (c *connecting) of() string {
	c.t.Helper()
	all, err := c.u.Logins(c.t.Context(), "")
	checktest.OK(c.t, err)
	var names []string
	for _, l := range all {
		names = append(names, l.Principal)
	}
	return strings.Join(names, " ")
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestAPageIsAClientByItsDocument: an authorization server that registers nobody reads the document that the page serves
// to everybody, and sends the person back to the page.
func TestAPageIsAClientByItsDocument(t *testing.T) {
	var c *connecting
	c = newConnecting(t, hostedtest.Options{Closed: true, Documents: &http.Client{
		Transport: transport(func(r *http.Request) (*http.Response, error) { // something with TLS stands before the page
			u, err := url.Parse(c.origin)
			checktest.OK(t, err)
			r = r.Clone(r.Context())
			r.URL.Scheme, r.URL.Host, r.Host = u.Scheme, u.Host, u.Host
			return http.DefaultTransport.RoundTrip(r)
		})}})
	c.u.Set([]upstream.Server{{Server: servers.Server{Name: "linear", Transport: upstream.HTTP, URL: c.h.URL,
		OAuth: &servers.OAuth{Per: servers.Principal, MetadataURL: document}}}})
	address, cookie := c.begin(c.login(anna))
	back := c.consent(address, "anna-at-h")
	if got := c.comeBack(back, cookie); got.code != http.StatusOK || c.of() != anna || c.h.LastClient() != document {
		t.Errorf("at %s the login of %q is by %s: %d %s", back, c.of(), c.h.LastClient(), got.code, got.body)
	}
	if mistakes := c.h.Mistakes(); len(mistakes) > 0 {
		t.Errorf("the server found: %q", mistakes)
	}
}

func TestPeopleConnectTheirAccounts(t *testing.T) {
	c := newConnecting(t, hostedtest.Options{})
	v := c.login(anna)
	if got := v.get("/accounts"); !strings.Contains(got.body, "not connected") || !strings.Contains(got.body, ">Connect<") {
		t.Errorf("before: %d %s", got.code, got.body)
	}
	address, cookie := c.begin(v)
	q, _ := url.Parse(address)
	if q.Query().Get("redirect_uri") != c.origin+"/accounts/callback" || q.Query().Get("code_challenge_method") != "S256" ||
		q.Query().Get("resource") != c.h.URL {
		t.Errorf("the browser is sent to %s", address)
	}
	back := c.consent(address, "anna")
	got := c.comeBack(back, cookie)
	if got.code != http.StatusOK || !strings.Contains(got.body, "Connected") || !strings.Contains(got.body, v.path+"/accounts") ||
		c.of() != anna {
		t.Fatalf("the return: %d %s\nlogins of %q", got.code, got.body, c.of())
	}
	if got := v.get("/accounts"); !strings.Contains(got.body, "connected since") {
		t.Errorf("after: %s", got.body)
	}
	if got := c.comeBack(back, cookie); got.code != http.StatusForbidden {
		t.Errorf("the return a second time: %d %s", got.code, got.body)
	}
	if got := v.form("/accounts/disconnect", "server=linear"); got.code != http.StatusSeeOther || c.of() != "" {
		t.Errorf("disconnecting: %d %s, logins of %q", got.code, got.body, c.of())
	}
	if got := v.form("/accounts/connect", "server=other"); got.code != http.StatusNotFound {
		t.Errorf("a server that there is not: %d", got.code)
	}
	var of []string
	for _, e := range c.record.entries {
		if strings.HasPrefix(e.State, "login_") && e.Principal == anna {
			of = append(of, e.State)
		}
	}
	if states := strings.Join(of, " "); states != "login_made login_removed" {
		t.Errorf("the record has %q", states)
	}
}

// Over REST a front end connects the account of its person: the browser with the cookie of the answer comes back.
func TestPeopleConnectTheirAccountsOverREST(t *testing.T) {
	c := newConnecting(t, hostedtest.Options{})
	v, ben := c.login(anna), c.login("local:ben")
	const linear = `{"server": "linear"}`
	if got := v.get("/api/accounts"); got.body != `{"servers":[{"name":"linear"}]}`+"\n" {
		t.Errorf("before: %d %s", got.code, got.body)
	}
	got := v.post("/api/accounts/connect", linear)
	var to loginAddress
	got.json(&to)
	at, err := url.Parse(to.Address)
	if err != nil || to.Server != "linear" || to.Host != at.Host ||
		at.Query().Get("redirect_uri") != c.origin+"/accounts/callback" {
		t.Fatalf("connecting: %d %s", got.code, got.body)
	}
	set := got.header.Get("Set-Cookie")
	cookie, _, _ := strings.Cut(set, ";")
	if !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "Path=/accounts/callback") {
		t.Errorf("the cookie is %s", set)
	}
	if got := c.comeBack(c.consent(to.Address, "eve"), ""); got.code != http.StatusForbidden || c.of() != "" {
		t.Errorf("another browser comes back: %d, logins of %q", got.code, c.of())
	}
	if got := c.comeBack(c.consent(to.Address, "anna"), cookie); got.code != http.StatusOK || c.of() != anna {
		t.Fatalf("the return: %d %s\nlogins of %q", got.code, got.body, c.of())
	}
	if got := v.get("/api/accounts"); !strings.Contains(got.body, `"connected":"`) {
		t.Errorf("after: %s", got.body)
	}
	if got := ben.get("/api/accounts"); strings.Contains(got.body, "connected") {
		t.Errorf("ben sees %s", got.body)
	}
	for why, got := range map[string]*response{
		"of somebody else":        ben.post("/api/accounts/disconnect", linear),
		"of another server":       v.post("/api/accounts/disconnect", `{"server": "other"}`),
		"naming a principal":      ben.post("/api/accounts/disconnect", `{"server": "linear", "principal": "local:anna"}`),
		"without a session token": v.send("POST", "/api/accounts/disconnect", linear, "Content-Type: application/json"),
	} {
		if got.code < 400 || c.of() != anna {
			t.Errorf("disconnecting the account %s: %d %s, logins of %q", why, got.code, got.body, c.of())
		}
	}
	if got := v.post("/api/accounts/disconnect", linear); got.code != http.StatusOK || c.of() != "" ||
		!strings.Contains(got.body, `"ok":true`) {
		t.Errorf("disconnecting: %d %s, logins of %q", got.code, got.body, c.of())
	}
	if got := v.post("/api/accounts/disconnect", linear); got.code != http.StatusNotFound {
		t.Errorf("disconnecting twice: %d %s", got.code, got.body)
	}
}

// TestAttacksOnConnecting: nobody connects an account for somebody else, and nothing of an attack is kept.
func TestAttacksOnConnecting(t *testing.T) {
	const ben = "local:ben"
	for _, attack := range []struct {
		name string
		o    hostedtest.Options
		do   func(c *connecting, v *visitor) *response
		code int
	}{
		{"login CSRF: ben opens the address that anna's page gave her, and comes back in his own browser", hostedtest.Options{},
			func(c *connecting, v *visitor) *response {
				address, _ := c.begin(v)
				_, bens := c.begin(c.login(ben))
				return c.comeBack(c.consent(address, "ben"), bens)
			}, http.StatusForbidden},
		{"a return without the cookie", hostedtest.Options{}, func(c *connecting, v *visitor) *response {
			address, _ := c.begin(v)
			return c.comeBack(c.consent(address, "eve"), "")
		}, http.StatusForbidden},
		{"anna's browser is led back with the state of ben and a code of his", hostedtest.Options{},
			func(c *connecting, v *visitor) *response {
				_, annas := c.begin(v)
				address, _ := c.begin(c.login(ben))
				return c.comeBack(c.consent(address, "ben"), annas)
			}, http.StatusForbidden},
		{"a made-up state", hostedtest.Options{}, func(c *connecting, v *visitor) *response {
			_, cookie := c.begin(v)
			return c.comeBack(c.origin+"/accounts/callback?code=x&state=guessed", cookie)
		}, http.StatusForbidden},
		{"two states", hostedtest.Options{}, func(c *connecting, v *visitor) *response {
			address, cookie := c.begin(v)
			return c.comeBack(c.consent(address, "anna")+"&state=x", cookie)
		}, http.StatusForbidden},
		{"a code of another login", hostedtest.Options{}, func(c *connecting, v *visitor) *response {
			address, cookie := c.begin(v)
			other, _ := c.begin(c.login(ben))
			at, _ := url.Parse(c.consent(address, "anna"))
			evil, _ := url.Parse(c.consent(other, "ben"))
			q := at.Query()
			q.Set("code", evil.Query().Get("code"))
			at.RawQuery = q.Encode()
			return c.comeBack(at.String(), cookie)
		}, http.StatusBadGateway},
		{"another issuer than the one that was asked", hostedtest.Options{Tamper: func(q url.Values) {
			q.Set("iss", "https://evil.invalid")
		}}, func(c *connecting, v *visitor) *response {
			address, cookie := c.begin(v)
			return c.comeBack(c.consent(address, "anna"), cookie)
		}, http.StatusBadGateway},
		{"the session has ended meanwhile", hostedtest.Options{}, func(c *connecting, v *visitor) *response {
			address, cookie := c.begin(v)
			back := c.consent(address, "anna")
			v.form("/logout")
			return c.comeBack(back, cookie)
		}, http.StatusForbidden},
		{"a form of another site begins it", hostedtest.Options{}, func(c *connecting, v *visitor) *response {
			return v.send("POST", "/accounts/connect", "server=linear", "Content-Type: application/x-www-form-urlencoded",
				"Origin: https://evil.invalid", "Sec-Fetch-Site: cross-site")
		}, http.StatusForbidden},
	} {
		t.Run(attack.name, func(t *testing.T) {
			c := newConnecting(t, attack.o)
			got := attack.do(c, c.login(anna))
			if got.code != attack.code && !(attack.code == http.StatusForbidden && got.code == http.StatusBadGateway) {
				t.Errorf("the answer is %d %s, want %d", got.code, got.body, attack.code)
			}
			if of := c.of(); of != "" {
				t.Errorf("a login of %s is kept", of)
			}
			for _, secret := range c.h.Secrets() {
				if strings.Contains(got.body, secret) {
					t.Error("a code or a token is on the page")
				}
			}
		})
	}
}

// TestFlowsAreBounded: whoever begins many logins ends the own oldest ones, and nobody else's.
func TestFlowsAreBounded(t *testing.T) {
	c := newConnecting(t, hostedtest.Options{})
	bens, cookie := c.begin(c.login("local:ben"))
	v := c.login(anna)
	first, old := c.begin(v)
	for range 5 {
		c.begin(v)
	}
	if got := c.comeBack(c.consent(first, "anna"), old); got.code != http.StatusForbidden {
		t.Errorf("the oldest: %d %s", got.code, got.body)
	}
	if got := c.comeBack(c.consent(bens, "ben"), cookie); got.code != http.StatusOK || c.of() != "local:ben" {
		t.Errorf("somebody else's: %d %s, logins of %q", got.code, got.body, c.of())
	}
}
