package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/store"
)

// scopesMax is how many scopes beyond the login's to remember.
const scopesMax = 100

// An Account is a login at one server: the operator's, or that of a principal. All connections with it share it. Nil is
// the account of a server that needs none.
type Account struct {
	server    string
	principal string // "" is the operator
	keeper    keeper
	gets      *getting      // its tokens belong to no login, but are got in this way; nil: to a login
	page      func() string // where the principal connects; "" is nowhere

	mu   sync.Mutex
	dead string      // a refresh token that the authorization server no longer accepts
	over error       // why
	last *credential // the last one that was read; nil if there was none
}

// A getting is a way to get tokens without a login, in words.
type getting struct{ doing, refused string }

// Exchanged returns the account of a principal at a server that it reaches with a token in exchange for its own.
func Exchanged(principal, server, address string, x *servers.Exchange, own Bearer) *Account {
	c := &credential{Server: server, URL: address, TokenURL: x.TokenURL, ClientID: x.ClientID,
		ClientSecret: x.ClientSecret, AuthStyle: oauth2.AuthStyleInHeader, Refresh: own.token, exchange: x}
	if x.ClientSecret == "" {
		c.AuthStyle = oauth2.AuthStyleInParams
	}
	c.get = func(ctx context.Context, c *credential) (*oauth2.Token, error) { return c.trade(ctx) }
	return &Account{server: server, principal: principal, page: func() string { return "" },
		gets: &getting{"exchanging the token of the caller",
			"its authorization server gives no token in exchange for that of the caller"},
		keeper: &exchangeKeeper{busy: make(turn, 1), cred: c}}
}

// An Error says that a person has to log in.
type Error struct {
	Server    string
	Principal string // "" is the operator
	Page      string // where the principal does it; "" is nowhere
	why       string

	exchanges bool // no login helps
}

func (e *Error) Error() string {
	command := servers.LoginCommand(e.Server)
	switch {
	case e.exchanges:
		return e.why
	case e.Principal == "":
		return fmt.Sprintf("%s: run %s", e.why, command)
	case e.Page == "":
		return fmt.Sprintf("%s: the operator runs %s --principal %s", e.why, command, e.Principal)
	}
	return fmt.Sprintf("%s: connect the account at %s", e.why, e.Page)
}

// fails makes the error that somebody has to log in.
func (a *Account) fails(why string) *Error {
	e := &Error{Server: a.server, Principal: a.principal, why: why, exchanges: a.gets != nil}
	if a.principal != "" && a.gets == nil {
		e.Page = a.page()
	}
	return e
}

// ID names the login: after another login of the principal it is another one. The error, an [*Error], says that there
// is none.
func (a *Account) ID(ctx context.Context) (string, error) {
	c, err := a.made(ctx)
	if err != nil {
		return "", err
	}
	return c.account, nil
}

// Usable renews the token of the login if it is about to expire. The error is an [*Error] if somebody has to log in:
// there is no login, or it has expired.
func (a *Account) Usable(ctx context.Context) error {
	c, err := a.made(ctx)
	if err == nil && !c.fresh(time.Now()) {
		_, err = a.renew(ctx, c.Access)
	}
	return err
}

// made returns the login of a principal. The error is an [*Error] if there is none.
func (a *Account) made(ctx context.Context) (*credential, error) {
	c, err := a.current(ctx)
	switch {
	case errors.Is(err, errOtherAddress):
		return nil, a.fails(fmt.Sprintf("the login of %s is for an earlier address of it", a.principal))
	case err == nil && c == nil:
		return nil, a.fails(fmt.Sprintf("%s has no login there", a.principal))
	}
	return c, err
}

// RoundTrip sends a request with the login, if there is one. When the server no longer accepts the token, RoundTrip
// renews it and sends the request once more: a server that answers 401 has done nothing. Besides an error, RoundTrip
// may return the response that caused it, with a closed body.
func (a *Account) RoundTrip(base http.RoundTripper, r *http.Request) (*http.Response, error) {
	if a == nil {
		return base.RoundTrip(r)
	}
	token, err := a.token(r.Context())
	if err != nil {
		return nil, err
	}
	if token == "" {
		if a.principal != "" { // nothing is sent without the principal's own token
			return nil, a.fails(fmt.Sprintf("%s has no login there", a.principal))
		}
		return base.RoundTrip(r)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := base.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusForbidden {
		if scopes := missingScopes(resp.Header); len(scopes) > 0 {
			_ = resp.Body.Close()
			a.want(r.Context(), scopes)
			wants := strings.Join(scopes, " ")
			return resp, a.fails(fmt.Sprintf("the login does not cover this (HTTP 403, it wants %.200q)", wants))
		}
	}
	if err != nil || resp.StatusCode != http.StatusUnauthorized || r.Body != nil && r.GetBody == nil {
		return resp, err
	}
	_ = resp.Body.Close()
	if token, err = a.renew(r.Context(), token); err != nil {
		return resp, err
	}
	r = r.Clone(r.Context())
	if r.GetBody != nil {
		if r.Body, err = r.GetBody(); err != nil {
			return resp, err
		}
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return base.RoundTrip(r)
}

// missingScopes returns the scopes that a server requires beyond those of the login.
func missingScopes(h http.Header) []string {
	challenges, err := oauthex.ParseWWWAuthenticate(h["Www-Authenticate"])
	if err != nil {
		return nil
	}
	for _, c := range challenges {
		if c.Scheme == "bearer" && c.Params["error"] == "insufficient_scope" {
			return strings.Fields(c.Params["scope"])
		}
	}
	return nil
}

// Secrets are the values that no text may show.
func (a *Account) Secrets() []string {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		return nil
	}
	return []string{a.last.Access, a.last.Refresh, a.last.ClientSecret}
}

// State reports whether somebody has logged in, whether the login can be renewed, and when its access token expires;
// zero is unknown. An unreadable login is none.
func (a *Account) State() (done, renews bool, expires time.Time) {
	c, err := a.current(context.Background()) // from a file, at once
	if c == nil || err != nil {
		return false, false, time.Time{}
	}
	return true, c.Refresh != "", c.Expiry
}

// current returns the credential, as its keeper has it now; nil if there is none.
func (a *Account) current(ctx context.Context) (*credential, error) {
	c, err := a.keeper.read(ctx)
	if err == nil {
		a.note(c)
	}
	return c, err
}

// note notes the secrets of a credential.
func (a *Account) note(c *credential) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = c
}

// token returns an access token, renewed if it is about to expire; "" if nobody has logged in.
func (a *Account) token(ctx context.Context) (string, error) {
	c, err := a.current(ctx)
	if err != nil || c == nil {
		return "", err
	}
	if c.fresh(time.Now()) {
		return c.Access, nil
	}
	return a.renew(ctx, c.Access)
}

// renew returns another access token than bad. It continues when the caller
// gives up, until renewTime is over: a refresh token may work only once, so
// the tokens that it buys must be stored.
func (a *Account) renew(ctx context.Context, bad string) (string, error) {
	type outcome struct {
		token string
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime)
		defer cancel()
		token, err := a.exchange(ctx, bad)
		done <- outcome{token, err}
	}()
	select {
	case o := <-done:
		return o.token, o.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// isDead returns why the authorization server has refused a refresh token, nil if it has not.
func (a *Account) isDead(refresh string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if refresh != a.dead {
		return nil
	}
	return a.over
}

// bury notes a refresh token that must not be sent again.
func (a *Account) bury(refresh string, why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dead, a.over = refresh, why
}

func (a *Account) exchange(ctx context.Context, bad string) (token string, err error) {
	var over error // the login is
	err = a.keeper.change(ctx, func(c *credential) (*credential, error) {
		switch {
		case c == nil:
			return nil, a.fails("it was logged out")
		case c.Access != bad && c.fresh(time.Now()):
			token = c.Access // another goroutine or process was faster
			return c, nil
		case c.Refresh == "":
			over = a.fails(a.ended(""))
			return nil, nil
		}
		if over = a.isDead(c.Refresh); over != nil {
			return nil, nil
		}
		t, err := c.refresh(ctx)
		no, ok := errors.AsType[*oauth2.RetrieveError](err)
		switch {
		case ok && final(no):
			over = a.fails(a.ended(" (" + refusal(no) + ")"))
		case errors.Is(err, errNotAsked):
			over = a.fails(err.Error())
		}
		if over != nil {
			a.bury(c.Refresh, over)
			return nil, nil
		}
		if err != nil {
			return nil, withoutURL(err)
		}
		renewed := *c
		renewed.Access, renewed.Expiry = t.AccessToken, t.Expiry
		if t.RefreshToken != "" {
			renewed.Refresh = t.RefreshToken
		}
		token = renewed.Access
		a.note(&renewed)
		return &renewed, nil
	})
	switch {
	case errors.Is(err, store.ErrTaken): // meanwhile the principal logged out, or in again
		return "", a.fails("its login has changed: repeat the call")
	case err != nil:
		if needed, ok := errors.AsType[*Error](err); ok {
			return "", needed
		}
		if a.gets != nil {
			return "", fmt.Errorf("%s: %w", a.gets.doing, err)
		}
		return "", fmt.Errorf("renewing its login: %w", err)
	case over != nil:
		return "", over
	}
	return token, nil
}

// ended says that a login is over.
func (a *Account) ended(why string) string {
	if a.gets != nil {
		return a.gets.refused + why
	}
	return "its login has expired" + why
}

// want stores the scopes that a server requires beyond those of the login, for the next login.
func (a *Account) want(ctx context.Context, scopes []string) {
	// Without it the next login gets no more than this one.
	_ = a.keeper.change(ctx, func(c *credential) (*credential, error) {
		if c == nil {
			return nil, errors.New("there is no login")
		}
		more := *c
		more.Wanted = slices.Clone(c.Wanted)
		for _, s := range scopes {
			if !slices.Contains(more.Wanted, s) && len(more.Wanted) < scopesMax {
				more.Wanted = append(more.Wanted, s)
			}
		}
		if len(more.Wanted) == len(c.Wanted) {
			return c, nil
		}
		return &more, nil
	})
}

// final reports whether another request with the same refresh token is useless.
func final(e *oauth2.RetrieveError) bool {
	code := 0
	if e.Response != nil {
		code = e.Response.StatusCode
	}
	return e.ErrorCode == "invalid_grant" ||
		code/100 == 4 && code != http.StatusTooManyRequests && code != http.StatusRequestTimeout
}

// refresh requests another token from the authorization server. The oauth2
// package sends no resource when it refreshes by itself; MCP requires it (RFC 8707).
func (c *credential) refresh(ctx context.Context) (*oauth2.Token, error) {
	if c.get != nil {
		return c.get(ctx, c)
	}
	request := clientcredentials.Config{
		ClientID: c.ClientID, ClientSecret: c.ClientSecret, TokenURL: c.TokenURL, AuthStyle: c.AuthStyle,
		EndpointParams: url.Values{"grant_type": {"refresh_token"}, "refresh_token": {c.Refresh}},
	}
	if c.Resource != "" {
		request.EndpointParams.Set("resource", c.Resource)
	}
	return request.Token(context.WithValue(ctx, oauth2.HTTPClient, authClient(authTransport(ctx, c.URL))))
}

// refusal is the authorization server's error code. The rest of its answer may repeat what it received.
func refusal(e *oauth2.RetrieveError) string {
	if e.ErrorCode != "" {
		return fmt.Sprintf("%.60q", e.ErrorCode)
	}
	if e.Response != nil {
		return fmt.Sprintf("HTTP %d", e.Response.StatusCode)
	}
	return "no reason given"
}

// withoutURL removes from an error the address and the content of the request.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return secrets.HideAddress(e.Err)
	}
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return errors.New("the authorization server failed: " + refusal(e))
	}
	return secrets.HideAddress(err)
}
