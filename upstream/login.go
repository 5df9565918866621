package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/codemode-project/codemode/internal/address"
)

// An OAuth is what the configuration says about logging in at a server over
// HTTP. The zero value finds everything out.
type OAuth struct {
	ClientID     string // registered with the authorization server beforehand; "" registers one at each login
	ClientSecret string
	Scopes       []string // "" asks for those that the server names
	Port         int      // of the address on this machine that a registered client returns to; 0 is any
}

// LoginOptions are about one login.
type LoginOptions struct {
	// Open is told the address at which a person logs in. It must not wait.
	Open func(address string)

	// Pasted is for people whose browser cannot reach this machine: it receives
	// the address that the browser was sent to in the end. May be nil.
	Pasted <-chan string
}

// ErrNoLogin is the error of a login at a server that wants none.
var ErrNoLogin = errors.New("it answers without a login")

// Login logs in at a configured server over HTTP (OAuth 2.1 with PKCE) and
// keeps what that gives in [Options.Logins]. It finds out where to go from the server itself (RFC 9728, RFC
// 8414), registers with the authorization server if need be (RFC 7591), and
// waits, until ctx ends, for a person to be sent back to an address on this machine.
func (m *Manager) Login(ctx context.Context, server string, o LoginOptions) error {
	m.mu.Lock()
	k := m.keepers[server]
	m.mu.Unlock()
	switch {
	case k == nil:
		return errNoServer
	case m.o.Logins == "":
		return errors.New("there is no directory to keep logins in")
	}
	if err := m.host.login(ctx, &k.server, o); err != nil {
		return k.mask(err)
	}
	k.hurry()
	return nil
}

func (h *host) login(ctx context.Context, s *Server, o LoginOptions) error {
	if s.Transport != HTTP && s.Transport != SSE {
		return errors.New("it runs on this machine: logins are for servers over http")
	}
	switch {
	case s.Problem != "":
		return errors.New(s.Problem)
	case s.Disabled:
		return errors.New("it is disabled in the configuration")
	}
	if s.Headers.Get("Authorization") != "" {
		return errors.New("its configuration has an Authorization header, which would be sent instead: remove that first")
	}
	settings := cmp.Or(s.OAuth, new(OAuth))
	back, err := newCallback(settings.Port)
	if err != nil {
		return err
	}
	defer back.close()

	var more []string // that the server asked for under the last login
	if before, err := readCredential(credentialFile(h.logins, s.Name, s.URL)); err == nil {
		more = before.Wanted
	}
	var resource string
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:           back.address,
		RequestRefreshToken:   true,
		AcceptUnadvertisedIss: true, // one that is not the right issuer is refused all the same
		Client:                authClient(loginTransport(ctx, s.URL)),
		AuthorizationCodeFetcher: func(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			u, err := url.Parse(a.URL)
			if err != nil {
				return nil, err
			}
			resource = u.Query().Get("resource")
			back.expect(u.Query().Get("state"))
			o.Open(a.URL)
			return back.wait(ctx, o.Pasted)
		},
		NewTokenSource: func(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			cred := &credential{
				Server: s.Name, URL: s.URL, Resource: resource,
				TokenURL: c.Endpoint.TokenURL, ClientID: c.ClientID, ClientSecret: c.ClientSecret, AuthStyle: c.Endpoint.AuthStyle,
				Wanted: more, // granted or not, it is asked for again
				Access: t.AccessToken, Refresh: t.RefreshToken, Expiry: t.Expiry,
			}
			return oauth2.StaticTokenSource(t), cred.write(credentialFile(h.logins, s.Name, s.URL))
		},
	}
	config.ScopeFilter = func(found []string) []string {
		if len(settings.Scopes) > 0 {
			found = settings.Scopes
		}
		found = append(slices.Clone(found), more...)
		slices.Sort(found)
		return slices.Compact(found)
	}
	if settings.ClientID != "" {
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: settings.ClientID}
		if settings.ClientSecret != "" {
			config.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: settings.ClientSecret}
		}
	} else {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: h.name, SoftwareVersion: h.version,
			RedirectURIs: []string{back.address}, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}}
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return err
	}
	req, resp, err := h.challenge(ctx, s)
	if err != nil {
		return err
	}
	return shortened(handler.Authorize(ctx, req, resp))
}

// challenge is the server's answer to somebody who has not logged in. Some
// ask for a login only when their tools are listed, and some only when one is called.
func (h *host) challenge(ctx context.Context, s *Server) (*http.Request, *http.Response, error) {
	wire, err := newHTTPWire(s, nil)
	if err != nil {
		return nil, nil, err
	}
	defer wire.close()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	method, bodies := http.MethodPost, []string{
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":%q,"version":%q}}}`,
			pinned, h.name, h.version),
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
	}
	if s.Transport == SSE || s.SSEFirst {
		method, bodies = http.MethodGet, []string{""}
	}
	var req *http.Request
	session := ""
	for _, body := range bodies {
		if req, err = http.NewRequestWithContext(ctx, method, s.URL, strings.NewReader(body)); err != nil {
			return nil, nil, err
		}
		req.Header.Set("Accept", "application/json, text/event-stream")
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
			req.Header.Set("Mcp-Protocol-Version", pinned)
		}
		resp, err := wire.client().Do(req)
		if err != nil {
			return nil, nil, fmt.Errorf("it cannot be reached: %w", withoutURL(err))
		}
		_ = resp.Body.Close() // only its header counts
		session = cmp.Or(session, resp.Header.Get("Mcp-Session-Id"))
		switch {
		case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode/100 != 2 && resp.Header.Get("WWW-Authenticate") != "":
			return req, &http.Response{StatusCode: http.StatusUnauthorized, Header: resp.Header, Body: http.NoBody}, nil
		case resp.StatusCode/100 != 2 && body == bodies[0]:
			return nil, nil, fmt.Errorf("it does not ask for a login but answers HTTP %d", resp.StatusCode)
		}
	}
	if u, err := url.Parse(s.URL); err == nil {
		u.Path = "/.well-known/oauth-protected-resource/" + strings.TrimLeft(u.Path, "/")
		if _, err := oauthex.GetProtectedResourceMetadata(ctx, u.String(), s.URL, authClient(loginTransport(ctx, s.URL))); err == nil {
			return req, &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{}, Body: http.NoBody}, nil
		}
	}
	return nil, nil, ErrNoLogin
}

// loginTransport is what authorization servers are reached by. A server says
// itself where its authorization server is, so that one on the internet must
// not point us into our own network, which the default checks; one that is in
// there may.
func loginTransport(ctx context.Context, server string) http.RoundTripper {
	u, err := url.Parse(server)
	if err != nil {
		return nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return nil
	}
	for _, ip := range ips {
		if !ip.Unmap().IsPrivate() && !ip.IsLoopback() && !isCarrierGrade(ip) {
			return nil
		}
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	return t
}

func isCarrierGrade(ip netip.Addr) bool { return netip.MustParsePrefix("100.64.0.0/10").Contains(ip) }

// shortened leaves out of an error what an authorization server wrote at
// length, which may repeat what it was sent.
func shortened(err error) error {
	if err == nil {
		return nil
	}
	if no, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return errors.New("the authorization server gave no token: " + refusal(no))
	}
	text := address.Hide(err).Error()
	if strings.Contains(text, "no configured client registration methods") {
		return errors.New(`its authorization server registers nobody by itself: register codemode there, and put what it gives you into the configuration: "oauth": {"clientId": "...", "callbackPort": 8123}`)
	}
	if len(text) > 400 {
		text = strings.ToValidUTF8(text[:400], "") + "…"
	}
	return errors.New(text)
}
