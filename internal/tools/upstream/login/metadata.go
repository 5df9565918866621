package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/codemode-project/codemode/internal/config/servers"
)

// documentMost limits a client metadata document. Authorization servers need not read more (section 8.7 of the draft).
const documentMost = 5 << 10

// A document is the metadata of a client (RFC 7591, section 2) whose client_id is the address of the document itself:
// draft-ietf-oauth-client-id-metadata-document-02, section 4.
type document struct {
	ClientID string `json:"client_id"`
	oauthex.ClientRegistrationMetadata
}

// ClientMetadata returns the client metadata document of a codemode, as JSON. address is where the document is
// published. back are the addresses to which browsers come back after a login, besides those on this machine. The error
// says that no document can have the address.
func ClientMetadata(address string, back ...string) ([]byte, error) {
	if message, hint := servers.CheckMetadataURL(address, address); message != "" {
		return nil, fmt.Errorf("the address %q %s: %s", address, message, hint)
	}
	home, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	d := document{ClientID: address, ClientRegistrationMetadata: oauthex.ClientRegistrationMetadata{
		ClientName: "codemode", ClientURI: home.ResolveReference(&url.URL{Path: "."}).String(),
		RedirectURIs:            append([]string{"http://127.0.0.1/callback", "http://localhost/callback"}, back...),
		GrantTypes:              []string{"authorization_code", "refresh_token"},
		ResponseTypes:           []string{"code"},
		TokenEndpointAuthMethod: "none",
		ApplicationType:         "native", // else the port of an address on this machine would count
	}}
	text, err := json.MarshalIndent(d, "", "  ")
	return append(text, '\n'), err
}

// A documentError says why a client metadata document is not used. Its text is ours, and quotes little of the document.
type documentError struct{ address, why string }

func (e *documentError) Error() string {
	return fmt.Sprintf(`"oauth": {"clientMetadataUrl": %q}: the document there %s; publish there what `+
		"codemode login --client-metadata %s prints", e.address, e.why, e.address)
}

// checkDocument fetches the client metadata document at an address, and checks that an authorization server can accept
// it for a login that ends at redirect. The error is a [*documentError].
func checkDocument(ctx context.Context, through http.RoundTripper, address, redirect string) error {
	fails := func(format string, args ...any) error {
		return &documentError{address, fmt.Sprintf(format, args...)}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fails("cannot be fetched: %v", withoutURL(err))
	}
	r.Header.Set("Accept", "application/json")
	client := &http.Client{Timeout: renewTime, Transport: through, // as authorization servers (section 5)
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		return fails("cannot be fetched: %v", withoutURL(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fails("cannot be fetched: HTTP %d", resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, documentMost+1))
	switch {
	case err != nil:
		return fails("cannot be fetched: %v", withoutURL(err))
	case len(text) > documentMost:
		return fails("has more than %d bytes, which authorization servers may refuse", documentMost)
	}
	var d document
	switch err := json.Unmarshal(text, &d); {
	case err != nil:
		return fails("is not the JSON of a client")
	case d.ClientID != address:
		return fails("is that of another client: its client_id is %.100q", d.ClientID)
	case d.TokenEndpointAuthMethod != "none":
		return fails("is that of a client with a secret: its token_endpoint_auth_method is %.40q, not \"none\"",
			d.TokenEndpointAuthMethod)
	case !slices.ContainsFunc(d.RedirectURIs, func(listed string) bool { return leadsTo(listed, redirect) }):
		return fails("does not have %s among its redirect_uris", redirect)
	}
	return nil
}

// leadsTo reports whether an authorization server sends browsers to redirect if a client lists an address. The port of
// an address on this machine may be any (RFC 8252, section 7.3).
func leadsTo(listed, redirect string) bool {
	a, err := url.Parse(listed)
	b, err2 := url.Parse(redirect)
	if err := errors.Join(err, err2); err != nil {
		return false
	}
	if host := b.Hostname(); b.Scheme == "http" && (host == "127.0.0.1" || host == "localhost") && a.Hostname() == host {
		a.Host, b.Host = "", ""
	}
	return a.String() == b.String()
}

// identify says which OAuth client we are, in the order of the MCP specification (2025-11-25, "Client Registration
// Approaches"): the registered one of the settings; else the one of a document, if the authorization server supports
// that; else one that registers itself.
func (s *Store) identify(config *auth.AuthorizationCodeHandlerConfig, settings *servers.OAuth) {
	if settings.ClientID != "" {
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: settings.ClientID}
		if settings.ClientSecret != "" {
			config.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: settings.ClientSecret}
		}
		return
	}
	if settings.MetadataURL != "" {
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: settings.MetadataURL}
	}
	config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{
		Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: s.o.Name, SoftwareVersion: s.o.Version,
			RedirectURIs: []string{config.RedirectURL}, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}}
}

// namedInBody sends requests, except those that name a client without a secret in an Authorization header, which it
// refuses itself. golang.org/x/oauth2 tries the header first, and after a refusal the body, where the
// token_endpoint_auth_method "none" has the name. An authorization server might take the code for used after the first.
func namedInBody(client string, base http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		name, secret, basic := r.BasicAuth()
		if !basic || secret != "" || name != url.QueryEscape(client) {
			return base.RoundTrip(r)
		}
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	})
}
