package login

import (
	"context"
	"net/url"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/codemode-project/codemode/internal/config/servers"
)

// OfClient returns the account of codemode itself at an API, whose tokens come for a client and its secret (RFC 6749,
// section 4.4). They are in memory only.
func OfClient(server, address string, of *servers.ClientCredentials) *Account {
	request := clientcredentials.Config{ClientID: of.ClientID, ClientSecret: of.ClientSecret, TokenURL: of.TokenURL,
		Scopes: of.Scopes}
	if of.Audience != "" {
		request.EndpointParams = url.Values{"audience": {of.Audience}}
	}
	c := &credential{Server: server, URL: address, TokenURL: of.TokenURL, ClientID: of.ClientID,
		ClientSecret: of.ClientSecret, Refresh: of.ClientSecret}
	c.get = func(ctx context.Context, _ *credential) (*oauth2.Token, error) {
		t, err := request.Token(context.WithValue(ctx, oauth2.HTTPClient, authClient(nil)))
		if err == nil {
			t.RefreshToken = ""
		}
		return t, err
	}
	return &Account{server: server, page: func() string { return "" },
		gets:   &getting{"getting a token for its client", "its authorization server gives this client no token"},
		keeper: &exchangeKeeper{busy: make(turn, 1), cred: c}}
}
