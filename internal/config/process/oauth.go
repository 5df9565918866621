package process

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// OAuth is the key "http.oauth": whose access tokens callers may bring, and what these tokens allow. Package
// server/oauth verifies the tokens.
type OAuth struct {
	// The address of /mcp as clients know it, such as https://codemode.example.com/mcp. Tokens must be for it: it stands
	// in their claim aud.
	Resource string `key:"resource" form:"resource" need:"add 'resource': 'https://codemode.example.com/mcp'"`
	// The authorization servers, by names that begin the principals of their tokens: acme:SUBJECT.
	Issuers issuers `key:"issuers" by:"issuer" each:"the issuer %q" min:"1" max:"50" need:"" like:"write {'acme': {...}}"`
}

// An Issuer is an authorization server, and what its tokens allow.
type Issuer struct {
	Name string `key:"*"` // begins the principals of its tokens: NAME:SUBJECT
	// The issuer as in the claim iss of its tokens, character by character. Its metadata is found below it.
	URL    string         `key:"issuer" form:"server" need:""`
	Claims `key:"claims"` // Which claims say who somebody is: names, or JSON Pointers.
	// The profiles that its tokens allow, and what a token needs for each.
	Profiles []ProfileAccess `key:"profiles" by:"named" min:"1" max:"200" need:"" like:"write {'readonly': {...}}"`
	// How to ask the issuer about tokens that are no JWTs; they are refused if left out. One issuer may have it.
	Introspection *Introspection `key:"introspection"`
}

// Claims are the key "claims".
type Claims struct {
	// Names the principal; sub if left out, which never changes. With email, email_verified must be true.
	Principal string `key:"principal" usual:"sub"`
	Roles     string `key:"roles"` // Has the roles, such as groups or /realm_access/roles; none if left out.
}

// Introspection is an account of this server at an issuer (RFC 7662).
type Introspection struct {
	Client string   `key:"client" need:""`    // The name of this server's account at the issuer.
	Hidden variable `key:"secret" need:""`    // "${VARIABLE}", which holds its secret.
	URL    string   `key:"url" form:"server"` // Where to ask; as the issuer's metadata says if left out.

	Secret string
}

// ProfileAccess is what a token needs for a profile.
type ProfileAccess struct {
	Profile string   `key:"*"`
	Scope   string   `key:"scope" form:"scope"` // The scope that the token needs.
	Roles   []string `key:"roles" min:"1"`      // The token needs one of these roles.
}

// A variable holds a secret.
type variable struct {
	name  string
	place settings.Problem // where it is named; without a message yet
}

var inVariable = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)

// ReadKey reads the value of a key.
func (v *variable) ReadKey(r *settings.Reader, n strictjson.Value, what string, _ *settings.Spec) {
	text, _ := r.Text(n, what)
	if found := inVariable.FindStringSubmatch(text); found == nil {
		r.Wrong(n, `write "${VARIABLE}"`, "a secret must not stand in the file itself")
	} else {
		v.name, v.place = found[1], r.ProblemAt(n.Offset(), n.End(), "", "")
	}
}

// Schema is its JSON Schema.
func (variable) Schema() string {
	return `{"type": "string", "pattern": ` + strconv.Quote(inVariable.String()) + `}`
}

// Check reports access that every token has.
func (ProfileAccess) Check(r *settings.Reader, n strictjson.Value, _ string) {
	if n.Len() == 0 {
		r.Wrong(n, `add "scope", "roles" or both`, "every token of the issuer would allow %q", n.Key())
	}
}

// Schema is what its JSON Schema has besides the keys.
func (ProfileAccess) Schema() string { return `"minProperties": 1` }

// Check reports roles that no token can have.
func (of *Issuer) Check(r *settings.Reader, n strictjson.Value, _ string) {
	for _, a := range of.Profiles {
		if a.Roles != nil && of.Roles == "" {
			r.Wrong(n, `add "claims": {"roles": "groups"}`, "profile %q needs roles, and no claim has them", a.Profile)
		}
	}
}

type issuers []Issuer

// Check reports issuers that are there twice, and a second introspection.
func (all issuers) Check(r *settings.Reader, n strictjson.Value, _ string) {
	for i, one := range all {
		child := settings.Member(n, one.Name)
		for _, other := range all[:i] {
			if one.URL != "" && one.URL == other.URL {
				r.WrongKey(child, "keep one of the two", "%q has the same issuer as %q", one.Name, other.Name)
			}
			if one.Introspection != nil && other.Introspection != nil {
				r.WrongKey(child, "a token that is no JWT does not say whose it is, and goes to one issuer only",
					"%q has an introspection, and so has %q", one.Name, other.Name)
			}
		}
	}
}

// Expand returns a copy with the secrets from the variables of env, and the problems with them. Nil stays nil.
func (o *OAuth) Expand(env func(string) (string, bool)) (*OAuth, settings.Problems) {
	if o == nil {
		return nil, nil
	}
	var wrong settings.Problems
	c := OAuth{o.Resource, slices.Clone(o.Issuers)}
	for i := range c.Issuers {
		of := c.Issuers[i].Introspection
		if of == nil {
			continue
		}
		own := Introspection{Client: of.Client, URL: of.URL}
		if env != nil {
			own.Secret, _ = env(of.Hidden.name)
		}
		if own.Secret == "" {
			p := of.Hidden.place
			p.Message, p.Hint = fmt.Sprintf("the variable %s is not set", of.Hidden.name), "set it to the secret of the client"
			wrong = append(wrong, p)
		}
		c.Issuers[i].Introspection = &own
	}
	return &c, wrong
}
