package oauth

import (
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/identity"
)

// scopes returns the scopes of a token: the claim scope (RFC 9068), or scp, as some issuers write it.
func scopes(c identity.Claims) (all []string) {
	for _, name := range []string{"scope", "scp"} {
		for _, text := range c.Texts(name) {
			all = append(all, strings.Fields(text)...)
		}
	}
	return all
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
