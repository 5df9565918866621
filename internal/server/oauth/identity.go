package oauth

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/identity"
)

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

// scopes returns the scopes of a token: the claim scope (RFC 9068), or scp, as some issuers write it.
func scopes(c identity.Claims) (all []string) {
	for _, name := range []string{"scope", "scp"} {
		for _, text := range c.Texts(name) {
			all = append(all, strings.Fields(text)...)
		}
	}
	return all
}
