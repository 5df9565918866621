package oauth

import (
	"context"
	"slices"

	"github.com/codemode-project/codemode/internal/identity"
)

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

// isAudience reports whether a token for an audience is for this server, or for the profile of the path.
func (r *Resource) isAudience(audience, profile string) bool {
	return audience == r.settings.Resource || profile != "" && audience == r.settings.Resource+"/"+profile
}

// identify reads who holds a token, and what it allows.
func (i *issuer) identify(said identity.Claims) (*Identity, error) {
	who := &Identity{Issuer: i.URL, Subject: said.Named("sub"), scopes: scopes(said), access: i.Profiles}
	var err error
	if who.Principal, err = said.Principal(i.Name, i.Principal); err != nil {
		return nil, invalid("no_principal", err.Error())
	}
	if i.Roles != "" {
		who.Roles = said.Texts(i.Roles)
	}
	for _, a := range i.Profiles {
		if (a.Scope == "" || slices.Contains(who.scopes, a.Scope)) && who.hasRole(a) {
			who.Profiles = append(who.Profiles, a.Profile)
		}
	}
	return who, nil
}
