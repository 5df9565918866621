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

	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/identity"
)

// A Resource is this server as a protected resource of its issuers. Many goroutines may call its methods.
type Resource struct {
	settings *process.OAuth
	address  *url.URL           // of /mcp
	issuers  map[string]*issuer // by their addresses
	opaque   *issuer            // verifies tokens that are no JWTs; nil if none does
	now      func() time.Time

	refreshing sync.WaitGroup
	cancel     context.CancelFunc
}

// An Identity is what a verified token says about its holder.
type Identity struct {
	Principal string // NAME:SUBJECT, with the name of the issuer in the configuration
	Issuer    string
	Subject   string
	Roles     []string
	Profiles  []string // that it allows
	Expires   time.Time

	scopes []string
	access []process.ProfileAccess // of the issuer
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
		i := newIssuer(of, r, ctx, client, log)
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

// maxToken bounds a token, in bytes.
const maxToken = 16 << 10

// Verify returns the holder of a token. profile is the one that the path of the request names; "" names none. The error
// is a [*Refusal].
func (r *Resource) Verify(ctx context.Context, token, profile string) (*Identity, error) {
	if len(token) > maxToken {
		return nil, invalid("malformed_token", "the token is too long")
	}
	var of *issuer
	var said identity.Claims
	var err error
	if isJWT(token) {
		of, said, err = r.verifyJWT(ctx, token)
	} else if of = r.opaque; of == nil {
		err = invalid("unknown_token", "the token is not known")
	} else {
		said, err = of.introspect(ctx, token)
	}
	if err != nil {
		return nil, err
	}
	who, err := r.accept(of, said, profile)
	if err != nil {
		return nil, err
	}
	return who, who.require(profile)
}

// accept checks what a genuine token says: for whom it is, when, and who holds it.
func (r *Resource) accept(of *issuer, said identity.Claims, profile string) (*Identity, error) {
	who, err := of.identify(said)
	if err != nil {
		return nil, err
	}
	refuse := func(state, why string) (*Identity, error) {
		no := invalid(state, why)
		no.Principal = who.Principal
		return nil, no
	}
	if said.Has("cnf") {
		return refuse("bound_token", "the token is bound to a key, and this server takes bearer tokens only")
	}
	if !slices.ContainsFunc(said.Texts("aud"), func(a string) bool { return r.isAudience(a, profile) }) {
		return refuse("wrong_audience", "the token was issued for another server")
	}
	now := r.now()
	expires, _, err := said.Moment("exp")
	if err != nil {
		return refuse("malformed_token", err.Error())
	}
	if !expires.IsZero() && !now.Before(expires.Add(leeway)) {
		return refuse("expired", "the token has expired")
	}
	for _, claim := range []string{"nbf", "iat"} {
		begins, _, err := said.Moment(claim)
		if err != nil {
			return refuse("malformed_token", err.Error())
		}
		if now.Add(leeway).Before(begins) {
			return refuse("not_yet_valid", "the token is not valid yet")
		}
	}
	who.Expires = expires
	return who, nil
}

// leeway is how far the clock of an issuer may be off.
const leeway = 30 * time.Second

// isAudience reports whether a token for an audience is for this server, or for the profile of the path.
func (r *Resource) isAudience(audience, profile string) bool {
	return audience == r.settings.Resource || profile != "" && audience == r.settings.Resource+"/"+profile
}

// require returns the refusal of a token that does not allow the profile, or, with "", that allows none.
func (who *Identity) require(profile string) error {
	if profile == "" && len(who.Profiles) > 0 || slices.Contains(who.Profiles, profile) {
		return nil
	}
	if no := who.Missing(profile); no != nil {
		return no
	}
	if profile != "" {
		return nil // for the caller: to a holder without the role it is as if there were no such profile
	}
	return &Refusal{Status: http.StatusForbidden, State: "no_profile", Principal: who.Principal,
		Why: "this account may use no profile here"}
}

// Missing returns the refusal of a call for which the holder needs a token with more scopes: those for a profile, or,
// with "", for any. It is nil if scopes are not what the holder lacks.
func (who *Identity) Missing(profile string) *Refusal {
	var scopes []string
	for _, a := range who.access {
		if (profile == "" || a.Profile == profile) && !slices.Contains(who.Profiles, a.Profile) && who.hasRole(a) {
			scopes = append(scopes, a.Scope)
		}
	}
	if len(scopes) == 0 {
		return nil
	}
	slices.Sort(scopes)
	return &Refusal{Status: http.StatusForbidden, State: "insufficient_scope", Principal: who.Principal,
		Why: "the token lacks a scope", Scopes: slices.Compact(scopes), code: "insufficient_scope"}
}

func (who *Identity) hasRole(a process.ProfileAccess) bool {
	has := func(role string) bool { return slices.Contains(who.Roles, role) }
	return a.Roles == nil || slices.ContainsFunc(a.Roles, has)
}

// A Refusal says why a token does not count. Its text holds nothing of the token.
type Refusal struct {
	Status    int
	State     string // for the record
	Why       string // for the client
	Principal string // "" if the token proved none
	Scopes    []string

	code string // of RFC 6750, section 3.1
}

func (no *Refusal) Error() string { return no.Why }

func invalid(state, why string) *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, State: state, Why: why, code: "invalid_token"}
}

// unreachable refuses a token that nobody can check at the moment.
func unreachable() *Refusal {
	return &Refusal{Status: http.StatusServiceUnavailable, State: "issuer_unreachable",
		Why: "the issuer of the token cannot be asked at the moment; send the request again later"}
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
