package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/codemode-project/codemode/config/servers"
	"github.com/codemode-project/codemode/internal/address"
)

// renewTime limits the exchange of a refresh token for a new access token.
const renewTime = 30 * time.Second

// scopesMax is how many scopes beyond the login's to remember.
const scopesMax = 100

// An Account is our login at one server; all connections to the server share
// it. It follows its file: another process may log in, or renew the token, at
// any time. Nil is the account of a server that needs none.
type Account struct {
	server, path string

	renewing chan struct{} // capacity 1; full while somebody changes the file
	dead     string        // a refresh token that the authorization server no longer accepts; guarded by renewing

	mu   sync.Mutex
	read fileStamp
	cred *credential // nil: nobody has logged in
}

// A fileStamp tells versions of a file apart.
type fileStamp struct {
	at   time.Time
	size int64
}

// An Error says that a person has to log in.
type Error struct{ server, why string }

func (e *Error) Error() string {
	return fmt.Sprintf("%s: run %s", e.why, servers.LoginCommand(e.server))
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
		return base.RoundTrip(r)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := base.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusForbidden {
		if scopes := missingScopes(resp.Header); len(scopes) > 0 {
			_ = resp.Body.Close()
			a.want(r.Context(), scopes)
			wants := strings.Join(scopes, " ")
			return resp, &Error{a.server, fmt.Sprintf("its login does not cover this (HTTP 403, it wants %.200q)", wants)}
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
	if a.cred == nil {
		return nil
	}
	return []string{a.cred.Access, a.cred.Refresh, a.cred.ClientSecret}
}

// State reports whether somebody has logged in, whether the login can be renewed, and when its access token expires;
// zero is unknown. An unreadable login is none.
func (a *Account) State() (done, renews bool, expires time.Time) {
	c, err := a.current()
	if c == nil || err != nil {
		return false, false, time.Time{}
	}
	return true, c.Refresh != "", c.Expiry
}

// current returns the credential, read again if its file has changed; nil if there is none.
func (a *Account) current() (*credential, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	info, err := os.Stat(a.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		a.cred, a.read = nil, fileStamp{}
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading its login: %w", err)
	}
	stamp := fileStamp{info.ModTime(), info.Size()}
	if stamp == a.read && a.cred != nil {
		return a.cred, nil
	}
	c, err := readCredential(a.path)
	if err != nil {
		return nil, err
	}
	a.cred, a.read = c, stamp
	return c, nil
}

// token returns an access token, renewed if it is about to expire; "" if nobody has logged in.
func (a *Account) token(ctx context.Context) (string, error) {
	c, err := a.current()
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

// lock is required to change the file: it excludes other goroutines and other processes.
func (a *Account) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case a.renewing <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	file, err := lockFile(ctx, a.path+".lock")
	if err != nil {
		<-a.renewing
		return nil, err
	}
	return func() {
		file()
		<-a.renewing
	}, nil
}

func (a *Account) exchange(ctx context.Context, bad string) (string, error) {
	unlock, err := a.lock(ctx)
	if err != nil {
		return "", fmt.Errorf("renewing its login: %w", err)
	}
	defer unlock()
	c, err := a.current()
	switch {
	case err != nil:
		return "", err
	case c == nil:
		return "", &Error{a.server, "it was logged out"}
	case c.Access != bad && c.fresh(time.Now()):
		return c.Access, nil // another goroutine or process was faster
	case c.Refresh == "" || c.Refresh == a.dead:
		return "", &Error{a.server, "its login has expired"}
	}
	t, err := c.refresh(ctx)
	if no, ok := errors.AsType[*oauth2.RetrieveError](err); ok && final(no) {
		a.dead = c.Refresh // do not send it again
		return "", &Error{a.server, fmt.Sprintf("its login has expired (%s)", refusal(no))}
	}
	if err != nil {
		return "", fmt.Errorf("renewing its login: %w", withoutURL(err))
	}
	renewed := *c
	renewed.Access, renewed.Expiry = t.AccessToken, t.Expiry
	if t.RefreshToken != "" {
		renewed.Refresh = t.RefreshToken
	}
	if err := renewed.write(a.path); err != nil {
		return "", err
	}
	return renewed.Access, nil
}

// want stores the scopes that a server requires beyond those of the login, for the next login.
func (a *Account) want(ctx context.Context, scopes []string) {
	unlock, err := a.lock(ctx)
	if err != nil {
		return
	}
	defer unlock()
	c, err := a.current()
	if err != nil || c == nil {
		return
	}
	more := *c
	more.Wanted = slices.Clone(c.Wanted)
	for _, s := range scopes {
		if !slices.Contains(more.Wanted, s) && len(more.Wanted) < scopesMax {
			more.Wanted = append(more.Wanted, s)
		}
	}
	if len(more.Wanted) > len(c.Wanted) {
		_ = more.write(a.path) // without it the next login gets no more than this one
	}
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
	request := clientcredentials.Config{
		ClientID: c.ClientID, ClientSecret: c.ClientSecret, TokenURL: c.TokenURL, AuthStyle: c.AuthStyle,
		EndpointParams: url.Values{"grant_type": {"refresh_token"}, "refresh_token": {c.Refresh}},
	}
	if c.Resource != "" {
		request.EndpointParams.Set("resource", c.Resource)
	}
	return request.Token(context.WithValue(ctx, oauth2.HTTPClient, authClient(nil)))
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
		return address.Hide(e.Err)
	}
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return errors.New("the authorization server failed: " + refusal(e))
	}
	return address.Hide(err)
}
