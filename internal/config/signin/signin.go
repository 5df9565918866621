// Package signin reads the key "console.signIn" of a configuration: at which identity provider people sign in to the
// page, and what they may do there. Package console/signin signs them in.
package signin

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/config/issuers"
	"github.com/codemode-project/codemode/internal/config/variables"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Settings are the key "console.signIn". Its words are those of "http.oauth".
//
//	"signIn": {
//	  "name": "acme",
//	  "issuer": "https://login.example.com/realms/acme",
//	  "client": "codemode-page",
//	  "secret": "${PAGE_SECRET}",
//	  "scopes": ["profile"],
//	  "claims": { "principal": "sub", "groups": "/realm_access/roles" },
//	  "acr": "phr",
//	  "roles": { "approver": ["team-leads"], "auditor": ["audit"], "admin": ["platform"] }
//	}
type Settings struct {
	Name      string // begins the principals of people who sign in: NAME:CLAIM
	Issuer    string // as in the claim "iss"
	Client    string
	Scopes    []string // asked for beside openid
	Principal string   // the claim that names the principal
	Groups    string   // the claim with the groups
	ACR       string   // how a person has to sign in anew to allow a call of critical risk; "" is as the provider wants

	// The groups that give a role. Nobody has a role that no group gives.
	Approver, Auditor, Admin []string

	secret variables.Text
	place  settings.Problem // of the key; without a message yet
}

const (
	// maxScopes and maxGroups bound the lists.
	maxScopes, maxGroups = 50, 1000
	longestClient        = 256
)

var scopeToken = regexp.MustCompile(`^[!#-\[\]-~]+$`) // RFC 6749, section 3.3

// Read reads the key and reports problems to r.
func Read(r *settings.Reader, n strictjson.Value) *Settings {
	s := &Settings{Principal: "sub", Groups: "groups"}
	s.place = r.ProblemAt(n.KeyOffset(), n.KeyOffset()+len(n.Key())+2, "", "")
	ok := r.Object(n, `"signIn"`, []settings.Field{
		settings.Key("name", func(n strictjson.Value) { s.Name = name(r, n) }),
		settings.Key("issuer", func(n strictjson.Value) { s.Issuer, _ = issuers.Address(r, n, `"issuer"`) }),
		settings.Key("client", func(n strictjson.Value) {
			s.Client, _ = r.Text(n, `"client"`)
			if len(s.Client) > longestClient || strings.ContainsFunc(s.Client, unprintable) {
				r.Wrong(n, "write it as the provider shows it", `"client" is not the ID of a client`)
			}
		}),
		settings.Key("secret", func(n strictjson.Value) {
			s.secret = variables.ReadText(r, n, `"secret"`, nil)
			if s.secret.Written != "" && !strings.Contains(s.secret.Written, "${") {
				r.Wrong(n, `write "${VARIABLE}", "${cmd:...}" or "${file:...}"`, `"secret" must not stand in the file itself`)
			}
		}),
		settings.Key("scopes", func(n strictjson.Value) {
			s.Scopes = list(r, n, `"scopes"`, "a scope", maxScopes)
			if slices.ContainsFunc(s.Scopes, func(scope string) bool { return !scopeToken.MatchString(scope) }) {
				r.Wrong(n, "one word each, without spaces, quotes and backslashes", `an entry of "scopes" is not a scope`)
			}
		}),
		settings.Key("claims", func(n strictjson.Value) {
			r.Object(n, `"claims"`, []settings.Field{
				settings.Key("principal", func(n strictjson.Value) { s.Principal = issuers.Claim(r, n, `"principal"`) }),
				settings.Key("groups", func(n strictjson.Value) { s.Groups = issuers.Claim(r, n, `"groups"`) }),
			})
		}),
		settings.Key("acr", func(n strictjson.Value) {
			s.ACR, _ = r.Text(n, `"acr"`)
			if strings.ContainsFunc(s.ACR, func(c rune) bool { return c == ' ' || unprintable(c) }) {
				r.Wrong(n, "write one value, as the provider names it", `"acr" is not an authentication context class`)
			}
		}),
		settings.Key("roles", func(n strictjson.Value) { s.roles(r, n) }),
	})
	for _, key := range []string{"name", "issuer", "client", "roles"} {
		if ok && settings.Member(n, key).Kind() == strictjson.Missing {
			r.Wrong(n, fmt.Sprintf("add %q", key), `"signIn" has no %q`, key)
		}
	}
	return s
}

func unprintable(c rune) bool { return c < ' ' || c > '~' }

func name(r *settings.Reader, n strictjson.Value) string {
	text, ok := r.Text(n, `"name"`)
	if !ok {
		return ""
	}
	if message, hint := issuers.CheckName(text); message != "" {
		r.Wrong(n, hint, "%s", message)
	}
	return text
}

func (s *Settings) roles(r *settings.Reader, n strictjson.Value) {
	groups := func(role string, to *[]string) settings.Field {
		return settings.Key(role, func(n strictjson.Value) {
			*to = list(r, n, fmt.Sprintf("%q", role), "a group", maxGroups)
		})
	}
	ok := r.Object(n, `"roles"`, []settings.Field{
		groups("approver", &s.Approver), groups("auditor", &s.Auditor), groups("admin", &s.Admin),
	})
	if ok && n.Len() == 0 {
		r.Wrong(n, `write {"approver": ["team-leads"]}`, "nobody who signs in would have a role")
	}
}

func list(r *settings.Reader, n strictjson.Value, what, one string, most int) (all []string) {
	for child := range r.Elements(n, what, false) {
		text, _ := r.Text(child, one)
		all = append(all, text)
	}
	if len(all) > most {
		r.Wrong(n, "remove some", "%s has more than %d entries", what, most)
	}
	return all
}

// Secret returns the secret of the client, "" for a client without one. The error is [settings.Problems].
func (s *Settings) Secret(env variables.Lookup) (string, error) {
	if s.secret.Written == "" {
		return "", nil
	}
	var wrong settings.Problems
	secret := s.secret.Value(env, &wrong)
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
