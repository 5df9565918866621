package process

import (
	"fmt"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Console is the key "console": the page on which people answer, and who they are.
type Console struct {
	Off bool `alone:"false"`
	// A port, or an address of this machine such as "127.0.0.1:7391". Without it the page is only beside codemode serve
	// --http.
	Address string `key:"address" alone:"text" form:"own"`
	Origin  string `key:"origin" form:"origin"` // Where browsers find the page, if something with TLS stands before it.
	// People, by principal such as local:anna: who may log in with a link besides whoever started the process, and for
	// whom each person answers.
	People map[string]Person `key:"people" by:"principal" like:"write {'local:anna': {'answersFor': ['ci']}}"`
	// An OpenID Connect provider at which people sign in to the page, besides login links (signin.md); none if left out.
	// It counts from the start of a process.
	SignIn *SignIn       `key:"signIn"`
	Idle   time.Duration `key:"idle"` // How long a login lasts without being used; 30m if left out.
	Life   time.Duration `key:"life"` // How long a login lasts at most; 12h if left out.
}

// A Person is an entry of the key "people".
type Person struct {
	// For whom they may answer besides themselves: principals, or * for all. Left out: only for themselves; but whoever
	// started the process, and people who sign in, answer for all.
	AnswersFor []string `key:"answersFor" each:"a principal"`
	Rules      bool     `key:"rules"` // They may see and change the configuration, and with it what is started here.
}

// SignIn is the key "console.signIn": at which identity provider people sign in to the page, and what they may do
// there. Package console/signin signs them in. Its words are those of "http.oauth".
type SignIn struct {
	// A name for the provider. It begins the principals of people who sign in: acme:anna. The name of the same issuer in
	// http.oauth, if it is there.
	Name string `key:"name" form:"issuer" need:""`
	// The address of the provider, as in the claim iss of its tokens, character by character.
	Issuer string `key:"issuer" form:"server" need:""`
	Client string `key:"client" form:"client" need:""` // The ID of the page's client at the provider.
	// "${VARIABLE}", "${cmd:...}" or "${file:...}": the secret of the client; without one it is a public client.
	Written settings.Secret `key:"secret" form:"secret"`
	// Scopes to ask for beside openid, such as profile.
	Scopes       []string       `key:"scopes" form:"scope" min:"1" max:"50"`
	SignInClaims `key:"claims"` // Which claims of the ID token say who somebody is: names, or JSON Pointers.
	// How a person signs in anew to allow a call of critical risk: an authentication context class of the provider, such
	// as phr (phishing-resistant). codemode asks for it (acr_values), and takes no ID token with another one (acr). The
	// provider chooses if left out.
	ACR         string                        `key:"acr" form:"acr"`
	SignInRoles `key:"roles" need:"" min:"1"` // Which groups give which role. Who is in none of them may do nothing.

	place settings.Problem // of the key; without a message yet
}

// Check reports roles that nobody has.
func (SignInRoles) Check(r *settings.Reader, n strictjson.Value, _ string) {
	if n.Len() == 0 {
		r.Wrong(n, `write {"approver": ["team-leads"]}`, "nobody who signs in would have a role")
	}
}

// Check notes the place of the key.
func (s *SignIn) Check(r *settings.Reader, n strictjson.Value, _ string) {
	s.place = r.ProblemAt(n.KeyOffset(), n.KeyOffset()+len(n.Key())+2, "", "")
}

// SignInClaims are the key "claims".
type SignInClaims struct {
	// Names the person; sub if left out, which never changes. With email, email_verified must be true.
	Principal string `key:"principal" usual:"sub"`
	Groups    string `key:"groups" usual:"groups"` // Has the groups, such as /realm_access/roles; groups if left out.
}

// SignInRoles are the groups that give a role.
type SignInRoles struct {
	Approver []string `key:"approver" min:"1" max:"1000" each:"a group"` // Groups whose people see and answer questions.
	// Groups whose people read history, running programs and sessions, and answer nothing.
	Auditor []string `key:"auditor" min:"1" max:"1000" each:"a group"`
	// Groups whose people do all of that, and change rules with a code of codemode console --confirm.
	Admin []string `key:"admin" min:"1" max:"1000" each:"a group"`
}

// Secret returns the secret of the client, "" for a client without one. The error is [settings.Problems].
func (s *SignIn) Secret(env settings.Lookup) (string, error) {
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
func (s *SignIn) Names(principal string) bool {
	return s != nil && strings.HasPrefix(principal, s.Name+":")
}

// Conflicts returns a problem for each way in which the names of people who sign in would not be theirs alone, or in
// which one person would have two names: then nobody could tell whether somebody answers their own question. oauth is
// the key "http.oauth", which may be nil. answering are the principals of tokens that answer; ruling, the people to
// whom "people" gives the rules.
func (s *SignIn) Conflicts(oauth *OAuth, answering, ruling []string) (all settings.Problems) {
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
