package oauth

import (
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/codemode-project/codemode/internal/config/process"
)

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
