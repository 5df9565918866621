// Package signin reads the key "console.signIn" of a configuration: at which identity provider people sign in to the
// page, and what they may do there. Package console/signin signs them in.
package signin

import (
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/internal/config/issuers"
	"github.com/codemode-project/codemode/internal/config/variables"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Settings are the key "console.signIn". Its words are those of "http.oauth".
type Settings struct {
	// A name for the provider. It begins the principals of people who sign in: acme:anna. The name of the same issuer in
	// http.oauth, if it is there.
	Name string `key:"name" form:"issuer" need:""`
	// The address of the provider, as in the claim iss of its tokens, character by character.
	Issuer string `key:"issuer" form:"server" need:""`
	Client string `key:"client" form:"client" need:""` // The ID of the page's client at the provider.
	// "${VARIABLE}", "${cmd:...}" or "${file:...}": the secret of the client; without one it is a public client.
	Written variables.Secret `key:"secret" form:"secret"`
	// Scopes to ask for beside openid, such as profile.
	Scopes []string       `key:"scopes" form:"scope" min:"1" max:"50"`
	Claims `key:"claims"` // Which claims of the ID token say who somebody is: names, or JSON Pointers.
	// How a person signs in anew to allow a call of critical risk: an authentication context class of the provider, such
	// as phr (phishing-resistant). codemode asks for it (acr_values), and takes no ID token with another one (acr). The
	// provider chooses if left out.
	ACR   string                        `key:"acr" form:"acr"`
	Roles `key:"roles" need:"" min:"1"` // Which groups give which role. Who is in none of them may do nothing.

	place settings.Problem // of the key; without a message yet
}

// Claims are the key "claims".
type Claims struct {
	// Names the person; sub if left out, which never changes. With email, email_verified must be true.
	Principal string `key:"principal" usual:"sub"`
	Groups    string `key:"groups" usual:"groups"` // Has the groups, such as /realm_access/roles; groups if left out.
}

// Roles are the groups that give a role.
type Roles struct {
	Approver []string `key:"approver" min:"1" max:"1000" each:"a group"` // Groups whose people see and answer questions.
	// Groups whose people read history, running programs and sessions, and answer nothing.
	Auditor []string `key:"auditor" min:"1" max:"1000" each:"a group"`
	// Groups whose people do all of that, and change rules with a code of codemode console --confirm.
	Admin []string `key:"admin" min:"1" max:"1000" each:"a group"`
}

// Check reports roles that nobody has.
func (Roles) Check(r *settings.Reader, n strictjson.Value, _ string) {
	if n.Len() == 0 {
		r.Wrong(n, `write {"approver": ["team-leads"]}`, "nobody who signs in would have a role")
	}
}

// Check notes the place of the key.
func (s *Settings) Check(r *settings.Reader, n strictjson.Value, _ string) {
	s.place = r.ProblemAt(n.KeyOffset(), n.KeyOffset()+len(n.Key())+2, "", "")
}

// Secret returns the secret of the client, "" for a client without one. The error is [settings.Problems].
func (s *Settings) Secret(env variables.Lookup) (string, error) {
	if s.Written.Written == "" {
		return "", nil
	}
	var wrong settings.Problems
	secret := s.Written.Value(env, &wrong)
	if len(wrong) > 0 {
		return "", wrong
	}
	return secret, nil
}

// Names reports whether a principal is one of the people who sign in here.
func (s *Settings) Names(principal string) bool {
	return s != nil && strings.HasPrefix(principal, s.Name+":")
}

// Conflicts returns a problem for each way in which the names of people who sign in would not be theirs alone, or in
// which one person would have two names: then nobody could tell whether somebody answers their own question. oauth is
// the key "http.oauth", which may be nil. answering are the principals of tokens that answer; ruling, the people to
// whom "people" gives the rules.
func (s *Settings) Conflicts(oauth *issuers.Settings, answering, ruling []string) (all settings.Problems) {
	wrong := func(hint, format string, args ...any) {
		p := s.place
		p.Message, p.Hint = fmt.Sprintf(format, args...), hint
		all = append(all, p)
	}
	if oauth != nil {
		for _, of := range oauth.Issuers {
			switch {
			case of.URL == s.Issuer && of.Name != s.Name:
				wrong(fmt.Sprintf(`write "name": %q`, of.Name),
					"this issuer has the name %q in \"http.oauth\": one person would have two names", of.Name)
			case of.URL == s.Issuer && of.Principal != s.Principal:
				wrong(fmt.Sprintf(`write "claims": {"principal": %q}`, of.Principal),
					"\"http.oauth\" names people of this issuer by the claim %q: one person would have two names", of.Principal)
			case of.URL != s.Issuer && of.Name == s.Name:
				wrong("take another name",
					"another issuer has the name %q in \"http.oauth\": two people could have one name", s.Name)
			}
		}
	}
	for _, principal := range answering {
		if s.Names(principal) {
			wrong(`remove "answers", or take another principal`,
				"a token of \"http.tokens\" answers as %.80q, who has to sign in for that", principal)
		}
	}
	for _, principal := range ruling {
		if s.Names(principal) {
			wrong(`remove "rules", and give the role "admin" to one of their groups`,
				"%.80q gets the rules by \"people\", but who signs in gets them by the role \"admin\" alone", principal)
		}
	}
	return all
}
