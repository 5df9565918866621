// Package oauth verifies access tokens of other people's authorization servers, as the MCP authorization specification
// wants it of an OAuth 2.1 resource server. It issues no tokens.
//
//	r := oauth.New(settings, log)
//	defer r.Close()
//	who, err := r.Verify(ctx, token, "") // the error is a *Refusal
//
// A token counts only if an issuer of the configuration vouches for it at this moment, with a signature or over
// introspection, and if it was issued for this server. Whatever cannot be checked is refused. The package stores and
// logs no token.
package oauth

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/identity"
)

// A Resource is this server as a protected resource of its process. Many goroutines may call its methods.
type Resource struct {
	settings *process.OAuth
	address  *url.URL           // of /mcp
	issuers  map[string]*issuer // by their addresses
	opaque   *issuer            // verifies tokens that are no JWTs; nil if none does
	now      func() time.Time

	refreshing sync.WaitGroup
	cancel     context.CancelFunc
}

// New makes a Resource from settings that package config has checked. End it with Close. log may be nil.
func New(s *process.OAuth, log *slog.Logger) *Resource {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	address, err := url.Parse(s.Resource)
	if err != nil {
		panic("oauth: the address of the resource is none: " + s.Resource)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &Resource{settings: s, address: address, issuers: map[string]*issuer{}, now: time.Now, cancel: cancel}
	client := identity.Client(issuerWait)
	for _, of := range s.Issuers {
		i := newIssuer(ctx, of, client, log)
		i.now, i.refreshing = func() time.Time { return r.now() }, &r.refreshing
		r.issuers[of.URL] = i
		if of.Introspection != nil {
			r.opaque = i
		}
	}
	return r
}

// Try reads the metadata and the keys of an issuer, and returns how many of the keys can verify tokens.
func (r *Resource) Try(ctx context.Context, issuer string) (keys int, err error) {
	p, err := r.issuers[issuer].fetch(ctx)
	if err != nil {
		return 0, err
	}
	return len(p.keys), nil
}

// Close ends and awaits requests to issuers that no caller waits for. Callers may call it twice.
func (r *Resource) Close() {
	r.cancel()
	for _, i := range r.issuers {
		i.mu.Lock()
		i.closed = true
		i.mu.Unlock()
	}
	r.refreshing.Wait()
}

// Bearer returns the bearer token of a request, "" if it has none.
func Bearer(h http.Header) string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(h.Get("Authorization")), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return token
}

// MetadataPath is where clients look for the metadata of a protected resource, with the path of the resource behind it
// (RFC 9728, section 3.1).
const MetadataPath = "/.well-known/oauth-protected-resource"

// ServeHTTP answers with the metadata of this server, or of one of its profiles. It is public.
func (r *Resource) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path := strings.TrimPrefix(req.URL.Path, MetadataPath)
	profile, below := strings.CutPrefix(path, r.address.Path+"/")
	if path != "" && path != r.address.Path && (!below || !r.offers(profile)) {
		http.NotFound(w, req)
		return
	}
	if !below {
		profile = ""
	}
	gives := func(a process.ProfileAccess) bool { return profile == "" || a.Profile == profile }
	m := &oauthex.ProtectedResourceMetadata{
		Resource: r.settings.Resource, ScopesSupported: r.scopes(profile), ResourceName: "codemode",
		BearerMethodsSupported: []string{"header"},
	}
	if profile != "" {
		m.Resource += "/" + profile
	}
	for _, i := range r.settings.Issuers {
		if slices.ContainsFunc(i.Profiles, gives) {
			m.AuthorizationServers = append(m.AuthorizationServers, i.URL)
		}
	}
	auth.ProtectedResourceMetadataHandler(m).ServeHTTP(w, req)
}

// metadataAddress is where the metadata of the server or of a profile is.
func (r *Resource) metadataAddress(profile string) string {
	u := *r.address
	u.Path = MetadataPath + u.Path
	if r.offers(profile) {
		u.Path += "/" + profile
	}
	return u.String()
}

func (r *Resource) offers(profile string) bool {
	return slices.ContainsFunc(r.settings.Issuers, func(i process.Issuer) bool {
		return slices.ContainsFunc(i.Profiles, func(a process.ProfileAccess) bool { return a.Profile == profile })
	})
}

// scopes returns the scopes for a profile, or, with "", for all.
func (r *Resource) scopes(profile string) []string {
	var all []string
	for _, i := range r.settings.Issuers {
		for _, a := range i.Profiles {
			if a.Scope != "" && (a.Profile == profile || profile == "") {
				all = append(all, a.Scope)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Challenge returns the header WWW-Authenticate for a refusal, here or of a request without a token. It is "" if
// another token would not help.
func (r *Resource) Challenge(profile string, no *Refusal) string {
	if no.code == "" && no.Status != http.StatusUnauthorized {
		return ""
	}
	parts, scopes := []string{`Bearer realm="codemode"`}, r.scopes(profile)
	if no.code != "" {
		parts = append(parts, `error="`+no.code+`"`, `error_description="`+no.Why+`"`)
	}
	if no.Scopes != nil {
		scopes = no.Scopes
	}
	parts = append(parts, `resource_metadata="`+r.metadataAddress(profile)+`"`)
	if len(scopes) > 0 {
		parts = append(parts, `scope="`+strings.Join(scopes, " ")+`"`)
	}
	return strings.Join(parts, ", ")
}
