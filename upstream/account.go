package upstream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/codemode-project/codemode/internal/address"
)

// renewTime bounds the exchange of a refresh token for a new access token.
const renewTime = 30 * time.Second

// An account is our login at one server, which all connections to it share. It
// follows its file: another process may log in, or renew the token, at any time.
type account struct {
	server, path string
	renewing     chan struct{} // holds one token while the access token is renewed

	mu   sync.Mutex
	read fileStamp
	cred *credential // nil: nobody has logged in
	dead string      // a refresh token that the authorization server no longer takes
}

// A fileStamp tells versions of a file apart.
type fileStamp struct {
	at   time.Time
	size int64
}

// A loginError says that a person has to log in.
type loginError struct{ server, why string }

func (e *loginError) Error() string {
	return fmt.Sprintf("%s: run %s", e.why, loginCommand(e.server))
}

// loginCommand is what a person types to log in.
func loginCommand(server string) string {
	if strings.ContainsFunc(server, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		server = strconv.Quote(server)
	}
	return "codemode login " + server
}

func newAccount(dir string, s *Server) *account {
	return &account{server: s.Name, path: credentialFile(dir, s.Name, s.URL), renewing: make(chan struct{}, 1)}
}

// current returns the credential, read again if its file has changed; nil if there is none.
func (a *account) current() (*credential, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	info, err := os.Stat(a.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
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

// token returns an access token, renewed if it is about to end; "" if nobody
// has logged in.
func (a *account) token(ctx context.Context) (string, error) {
	c, err := a.current()
	if err != nil || c == nil {
		return "", err
	}
	if c.fresh(time.Now()) {
		return c.Access, nil
	}
	return a.renew(ctx, c.Access)
}

// renew returns another access token than the one that is no good any more. It
// goes on when the caller gives up, until renewTime is over: a refresh token
// may work only once, so what came for it must be kept.
func (a *account) renew(ctx context.Context, bad string) (string, error) {
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

// lock is needed to change the file: of this process one may, and of all processes one.
func (a *account) lock(ctx context.Context) (unlock func(), err error) {
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

func (a *account) exchange(ctx context.Context, bad string) (string, error) {
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
		return "", &loginError{a.server, "it was logged out"}
	case c.Access != bad && c.fresh(time.Now()):
		return c.Access, nil // somebody else was faster
	case c.Refresh == "" || c.Refresh == a.refused():
		return "", &loginError{a.server, "its login has expired"}
	}
	t, err := c.refresh(ctx)
	if no, ok := errors.AsType[*oauth2.RetrieveError](err); ok && final(no) {
		a.mu.Lock()
		a.dead = c.Refresh // it is not sent again
		a.mu.Unlock()
		return "", &loginError{a.server, fmt.Sprintf("its login has expired (%s)", refusal(no))}
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

// want keeps the scopes that a server asks for beyond those of the login, for
// the next login.
func (a *account) want(ctx context.Context, scopes []string) {
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
		if !slices.Contains(more.Wanted, s) && len(more.Wanted) < 100 {
			more.Wanted = append(more.Wanted, s)
		}
	}
	if len(more.Wanted) > len(c.Wanted) {
		_ = more.write(a.path) // without it the next login gets no more than this one
	}
}

func (a *account) refused() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dead
}

// final reports whether asking again with the same refresh token is of no use.
func final(e *oauth2.RetrieveError) bool {
	code := 0
	if e.Response != nil {
		code = e.Response.StatusCode
	}
	return e.ErrorCode == "invalid_grant" || code/100 == 4 && code != http.StatusTooManyRequests && code != http.StatusRequestTimeout
}

// refresh asks the authorization server for another token. The oauth2 package
// sends no resource when it refreshes by itself, which MCP wants sent (RFC 8707).
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

// refusal is the authorization server's error code. What else it says may
// repeat what it was sent.
func refusal(e *oauth2.RetrieveError) string {
	if e.ErrorCode != "" {
		return fmt.Sprintf("%.60q", e.ErrorCode)
	}
	if e.Response != nil {
		return fmt.Sprintf("HTTP %d", e.Response.StatusCode)
	}
	return "no reason given"
}

// withoutURL leaves out of an error what was asked of whom.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return address.Hide(e.Err)
	}
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return errors.New("the authorization server failed: " + refusal(e))
	}
	return address.Hide(err)
}

// authClient talks to authorization servers. What is sent to one follows no
// redirect; what is only read follows those that stay encrypted.
func authClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Timeout: renewTime, Transport: transport,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if r.Method != http.MethodGet || via[0].Method != http.MethodGet ||
				r.URL.Scheme != "https" && originOf(r.URL) != originOf(via[0].URL) || len(via) >= 5 {
				return fmt.Errorf("it redirects to %s", originOf(r.URL))
			}
			return nil
		},
	}
}

// secrets are the values that must not be seen in a text.
func (a *account) secrets() []string {
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
