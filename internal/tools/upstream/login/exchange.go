package login

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// Names of RFC 8693, sections 2.1 and 3.
const (
	exchangeGrant   = "urn:ietf:params:oauth:grant-type:token-exchange"
	accessTokenType = "urn:ietf:params:oauth:token-type:access_token"
)

// exchangedLife is how long a token counts whose issuer does not say how long it is valid.
const exchangedLife = 5 * time.Minute

// A Bearer is the access token with which a caller came in. It goes to the token endpoint of an exchange and nowhere
// else; no text shows it. The zero value is none.
type Bearer struct{ token string }

// NewBearer returns a token that its issuer has vouched for.
func NewBearer(token string) Bearer { return Bearer{token} }

func (b Bearer) String() string   { return "[token]" }
func (b Bearer) GoString() string { return "[token]" }

// IsZero reports whether there is no token.
func (b Bearer) IsZero() bool { return b.token == "" }

// ID tells tokens apart.
func (b Bearer) ID() string {
	sum := sha256.Sum256([]byte(b.token))
	return hex.EncodeToString(sum[:])
}

// An exchangeKeeper keeps, in memory, the token that was exchanged for that of a caller.
type exchangeKeeper struct {
	busy turn

	mu   sync.Mutex
	cred *credential
}

func (k *exchangeKeeper) read(context.Context) (*credential, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cred, nil
}

func (k *exchangeKeeper) change(ctx context.Context, f func(*credential) (*credential, error)) error {
	if err := k.busy.take(ctx); err != nil {
		return err
	}
	defer k.busy.end()
	c, _ := k.read(ctx) // from memory
	next, err := f(c)
	if err != nil || next == nil { // the account does not send the caller's token again
		return err
	}
	return k.put(ctx, next)
}

func (k *exchangeKeeper) put(_ context.Context, c *credential) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cred = c
	return nil
}

// errNotAsked says that an authorization server gave another token than it was asked for.
var errNotAsked = errors.New("the authorization server gave another token than it was asked for")

// trade exchanges the token of the caller (RFC 8693, section 2.1), and checks that the answer is what was asked for.
func (c *credential) trade(ctx context.Context) (*oauth2.Token, error) {
	x := c.exchange
	form := url.Values{
		"grant_type": {exchangeGrant}, "subject_token": {c.Refresh}, "subject_token_type": {accessTokenType},
		"requested_token_type": {accessTokenType},
	}
	form.Set("resource", x.Resource)
	if x.Resource == "" {
		form.Set("resource", c.URL)
	}
	if x.Audience != "" {
		form.Set("audience", x.Audience)
	}
	request := clientcredentials.Config{ClientID: c.ClientID, ClientSecret: c.ClientSecret, TokenURL: c.TokenURL,
		AuthStyle: c.AuthStyle, Scopes: x.Scopes, EndpointParams: form}
	t, err := request.Token(context.WithValue(ctx, oauth2.HTTPClient, authClient(nil)))
	if err != nil {
		return nil, err
	}
	said := func(key string) string { s, _ := t.Extra(key).(string); return s }
	switch {
	case !strings.EqualFold(t.TokenType, "Bearer"): // N_A is a token that gives no access
		return nil, fmt.Errorf("%w: its token_type is %.40q", errNotAsked, t.TokenType)
	case said("issued_token_type") != accessTokenType:
		return nil, fmt.Errorf("%w: its issued_token_type is %.80q", errNotAsked, said("issued_token_type"))
	case t.AccessToken == c.Refresh:
		return nil, fmt.Errorf("%w: it is the caller's own, which must not go further", errNotAsked)
	}
	for _, scope := range strings.Fields(said("scope")) {
		if len(x.Scopes) > 0 && !slices.Contains(x.Scopes, scope) {
			return nil, fmt.Errorf("%w: its scope has %.80q besides", errNotAsked, scope)
		}
	}
	if t.Expiry.IsZero() {
		t.Expiry = time.Now().Add(exchangedLife)
	}
	t.RefreshToken = "" // a new one is exchanged for the caller's token
	return t, nil
}
