// Package login logs in at MCP servers over HTTP (OAuth 2.1 with PKCE), stores
// the tokens, and renews them.
//
// A [Store] has one file for each login. [Store.LogIn] makes one with the help
// of a person; [Account.RoundTrip] sends requests with its token. A token goes
// to the server it was issued for and to no other, and is in no error.
package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/secrets"
)

// A Target is the server to log in at.
type Target struct {
	Server string // its name in the configuration
	// Principal is whose login it becomes; "" is the operator's.
	Principal string
	URL       string
	SSE       bool           // it speaks the HTTP transport of protocol 2024-11-05
	Settings  *servers.OAuth // nil discovers everything
	Client    *http.Client   // for requests to URL; it sends no token
	Protocol  string         // MCP version of the requests to URL
}

// ErrNotNeeded is the error of a login at a server that requires none.
var ErrNotNeeded = errors.New("it answers without a login")

// probeTime limits how long the server may take to answer a request without a login.
const probeTime = time.Minute

// LogIn logs in at a server and stores the tokens. It discovers the authorization server from the server itself (RFC
// 9728, RFC 8414), registers with it if necessary (RFC 7591, or with a client metadata document), and waits, until ctx
// ends, for the browser of the person to come back.
func (s *Store) LogIn(ctx context.Context, t Target, o Browser) error {
	var keep keeper = newFileKeeper(s.file(t.Server, t.URL))
	switch {
	case t.Principal != "":
		keep = s.ofPrincipal(t.Principal, t.Server, t.URL, "")
	case s.o.Dir == "":
		return errors.New("there is no directory to keep logins in")
	}
	settings := cmp.Or(t.Settings, new(servers.OAuth))
	back, err := o.callback(settings.Port)
	if err != nil {
		return err
	}
	defer back.close()

	if settings.TokenURL != "" {
		return s.logInWith(ctx, t, back, keep, o)
	}
	var more []string // scopes that the server wanted beyond those of the previous login
	if before, err := keep.read(ctx); err == nil && before != nil {
		more = before.Wanted
	}
	var resource string
	transport := authTransport(ctx, t.URL)
	byDocument := func(client string) bool {
		return settings.ClientID == "" && client != "" && client == settings.MetadataURL
	}
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:           back.address,
		RequestRefreshToken:   true,
		AcceptUnadvertisedIss: true, // refuse a wrong issuer anyway
		Client:                authClient(transport),
		AuthorizationCodeFetcher: func(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			u, err := url.Parse(a.URL)
			if err != nil {
				return nil, err
			}
			if byDocument(u.Query().Get("client_id")) && settings.MetadataURL != o.Served {
				if err := checkDocument(ctx, documentTransport(ctx, t.URL), settings.MetadataURL, back.address); err != nil {
					return nil, err
				}
			}
			resource = u.Query().Get("resource")
			back.expect(u.Query().Get("state"))
			o.Open(a.URL)
			return back.wait(ctx, o)
		},
		NewTokenSource: func(ctx context.Context, c *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			cred := &credential{
				Server: t.Server, URL: t.URL, Resource: resource,
				ClientID: c.ClientID, ClientSecret: c.ClientSecret,
				TokenURL: c.Endpoint.TokenURL, AuthStyle: c.Endpoint.AuthStyle,
				Wanted: more, // the next login requests them again, granted or not
				Access: token.AccessToken, Refresh: token.RefreshToken, Expiry: token.Expiry,
			}
			if byDocument(c.ClientID) {
				cred.AuthStyle = oauth2.AuthStyleInParams
			}
			return oauth2.StaticTokenSource(token), keep.put(ctx, cred)
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
	s.identify(config, settings)
	if config.ClientIDMetadataDocumentConfig != nil {
		config.Client = authClient(namedInBody(settings.MetadataURL, transport))
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return err
	}
	req, resp, err := s.challenge(ctx, t)
	if err != nil {
		return err
	}
	return withoutEcho(handler.Authorize(ctx, req, resp))
}

// logInWith logs in with the addresses of an authorization server that the configuration names: an API announces none.
// It is the authorization code of RFC 6749, section 4.1, with PKCE (RFC 7636).
func (s *Store) logInWith(ctx context.Context, t Target, back *callback, keep keeper, o Browser) error {
	of := t.Settings
	config := oauth2.Config{ClientID: of.ClientID, ClientSecret: of.ClientSecret, RedirectURL: back.address,
		Scopes:   of.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: of.AuthorizationURL, TokenURL: of.TokenURL}}
	state, verifier := oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
	back.expect(state)
	o.Open(config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier)))
	answer, err := back.wait(ctx, o)
	if err != nil {
		return err
	}
	client := authClient(http.DefaultTransport)
	token, err := config.Exchange(context.WithValue(ctx, oauth2.HTTPClient, client), answer.Code,
		oauth2.VerifierOption(verifier))
	if err != nil {
		return withoutEcho(err)
	}
	if !strings.EqualFold(token.Type(), "Bearer") {
		return errNotAsked
	}
	return keep.put(ctx, &credential{
		Server: t.Server, URL: t.URL, ClientID: of.ClientID, ClientSecret: of.ClientSecret, TokenURL: of.TokenURL,
		Access: token.AccessToken, Refresh: token.RefreshToken, Expiry: token.Expiry,
	})
}

// challenge returns the server's answer to a client without a login. Some
// servers require a login only when the client lists the tools, and some only
// when it calls one.
func (s *Store) challenge(ctx context.Context, t Target) (*http.Request, *http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	method, bodies := http.MethodPost, []string{
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+
			`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":%q,"version":%q}}}`, t.Protocol, s.o.Name, s.o.Version),
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
	}
	if t.SSE {
		method, bodies = http.MethodGet, []string{""}
	}
	var req *http.Request
	session := ""
	for _, body := range bodies {
		var err error
		if req, err = http.NewRequestWithContext(ctx, method, t.URL, strings.NewReader(body)); err != nil {
			return nil, nil, err
		}
		req.Header.Set("Accept", "application/json, text/event-stream")
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
			req.Header.Set("Mcp-Protocol-Version", t.Protocol)
		}
		resp, err := t.Client.Do(req)
		if err != nil {
			return nil, nil, fmt.Errorf("it cannot be reached: %w", withoutURL(err))
		}
		_ = resp.Body.Close() // only its header counts
		session = cmp.Or(session, resp.Header.Get("Mcp-Session-Id"))
		switch {
		case resp.StatusCode == http.StatusUnauthorized,
			resp.StatusCode/100 != 2 && resp.Header.Get("WWW-Authenticate") != "":
			return req, &http.Response{StatusCode: http.StatusUnauthorized, Header: resp.Header, Body: http.NoBody}, nil
		case resp.StatusCode/100 != 2 && body == bodies[0]:
			return nil, nil, fmt.Errorf("it does not ask for a login but answers HTTP %d", resp.StatusCode)
		}
	}
	if u, err := url.Parse(t.URL); err == nil {
		u.Path = "/.well-known/oauth-protected-resource/" + strings.TrimLeft(u.Path, "/")
		client := authClient(authTransport(ctx, t.URL))
		if _, err := oauthex.GetProtectedResourceMetadata(ctx, u.String(), t.URL, client); err == nil {
			return req, &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{}, Body: http.NoBody}, nil
		}
	}
	return nil, nil, ErrNotNeeded
}

// withoutEcho removes from an error what an authorization server wrote at
// length: it may repeat what it received.
func withoutEcho(err error) error {
	if err == nil {
		return nil
	}
	if no, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return errors.New("the authorization server gave no token: " + refusal(no))
	}
	if unfit, ok := errors.AsType[*documentError](err); ok {
		return unfit
	}
	text := secrets.HideAddress(err).Error()
	if strings.Contains(text, "no configured client registration methods") {
		return errors.New("its authorization server registers nobody by itself: register codemode there, and put what it " +
			`gives you into the configuration: "oauth": {"clientId": "...", "callbackPort": 8123}; ` +
			`if it supports client metadata documents, {"clientMetadataUrl": "https://..."} does without`)
	}
	if len(text) > 400 {
		text = strings.ToValidUTF8(text[:400], "") + "…"
	}
	return errors.New(text)
}
