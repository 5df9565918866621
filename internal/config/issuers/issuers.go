// Package issuers reads the key "http.oauth" of a configuration: whose access tokens callers may bring, and what these
// tokens allow. Package server/oauth verifies the tokens.
package issuers

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Settings are the key "http.oauth".
//
//	"oauth": {
//	  "resource": "https://codemode.example.com/mcp",
//	  "issuers": {
//	    "acme": {
//	      "issuer": "https://login.example.com/realms/acme",
//	      "claims": { "principal": "sub", "roles": "/realm_access/roles" },
//	      "profiles": {
//	        "readonly": { "scope": "codemode:read" },
//	        "supervised": { "scope": "codemode:write", "roles": ["developers"] }
//	      },
//	      "introspection": { "client": "codemode", "secret": "${INTROSPECTION_SECRET}" }
//	    }
//	  }
//	}
type Settings struct {
	Resource string // the address of /mcp as clients know it: the audience of tokens
	Issuers  []Issuer
}

// An Issuer is an authorization server, and what its tokens allow.
type Issuer struct {
	Name      string // begins the principals of its tokens: NAME:SUBJECT
	URL       string // as in the claim "iss"
	Principal string // the claim that names the principal
	Roles     string // the claim with the roles; "" is none. With a slash at its start it is a JSON Pointer
	Profiles  []ProfileAccess
	// Introspection verifies tokens that are no JWTs; nil refuses them.
	Introspection *Introspection
}

// ProfileAccess is what a token needs for a profile: the scope, and one of the roles.
type ProfileAccess struct {
	Profile string
	Scope   string   // "" needs none
	Roles   []string // nil needs none
}

// Introspection is an account of this server at an issuer (RFC 7662).
type Introspection struct {
	Client, Secret string
	URL            string // "" takes that of the issuer's metadata

	variable string           // that holds the secret
	place    settings.Problem // where the variable is named; without a message yet
}

const (
	// maxIssuers bounds the issuers, and maxAccess the profiles of one, so that a token costs little.
	maxIssuers, maxAccess = 50, 200
	// reservedNames begin principals that are none of an issuer: those of this machine, and fingerprints of tokens.
	reservedNames = "local sha256"
)

var (
	issuerName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)
	inVariable = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)
	scopeToken = regexp.MustCompile(`^[!#-\[\]-~]+$`) // RFC 6749, section 3.3
)

// Expand returns a copy with the secrets from the variables of env, and the problems with them. Nil stays nil.
func (o *Settings) Expand(env func(string) (string, bool)) (*Settings, settings.Problems) {
	if o == nil {
		return nil, nil
	}
	var wrong settings.Problems
	c := Settings{o.Resource, slices.Clone(o.Issuers)}
	for i := range c.Issuers {
		of := c.Issuers[i].Introspection
		if of == nil {
			continue
		}
		own := Introspection{Client: of.Client, URL: of.URL}
		if env != nil {
			own.Secret, _ = env(of.variable)
		}
		if own.Secret == "" {
			p := of.place
			p.Message, p.Hint = fmt.Sprintf("the variable %s is not set", of.variable), "set it to the secret of the client"
			wrong = append(wrong, p)
		}
		c.Issuers[i].Introspection = &own
	}
	return &c, wrong
}

// A reader reads the key.
type reader struct {
	*settings.Reader
	profiles []strictjson.Value
}

// Read reads the key and reports problems to r. It returns the names of profiles too, at their places.
func Read(r *settings.Reader, n strictjson.Value) (*Settings, []strictjson.Value) {
	b := &reader{Reader: r}
	return b.oauth(n), b.profiles
}

func (b *reader) oauth(n strictjson.Value) *Settings {
	o := &Settings{}
	ok := b.Object(n, `"oauth"`, []settings.Field{
		settings.Key("resource", func(n strictjson.Value) { o.Resource = b.resource(n) }),
		settings.Key("issuers", func(n strictjson.Value) { o.Issuers = b.issuers(n) }),
	})
	for _, key := range []string{"resource", "issuers"} {
		if ok && settings.Member(n, key).Kind() == strictjson.Missing {
			b.Wrong(n, `write {"resource": "https://codemode.example.com/mcp", "issuers": {...}}`, `"oauth" has no %q`, key)
		}
	}
	return o
}

// resource reads the address of /mcp in the one way of writing that clients use too.
func (b *reader) resource(n strictjson.Value) string {
	address, u := Address(b.Reader, n, `"resource"`)
	if u == nil {
		return address
	}
	canonical := *u
	canonical.Host = strings.ToLower(u.Host)
	if port := u.Port(); port == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		canonical.Host = strings.TrimSuffix(canonical.Host, ":"+port)
	}
	canonical.Path = strings.TrimRight(u.Path, "/")
	if written := canonical.String(); written != address || canonical.Path == "" {
		b.Wrong(n, "write it as clients connect: in lower case, with the path /mcp, and without a slash at its end",
			"%.80q is not the usual form of the address of /mcp", address)
	}
	return address
}

// Address reads the address of a server that tokens are about. Only this machine may do without TLS. The URL is nil if
// there is a problem.
func Address(b *settings.Reader, n strictjson.Value, what string) (string, *url.URL) {
	address, ok := b.Text(n, what)
	if !ok {
		return "", nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.Opaque != "" ||
		strings.ContainsAny(address, "?#"):
		b.Wrong(n, "write it as https://host/path, without a query", "%s must be the address of a server", what)
		return address, nil
	case u.Scheme == "http" && !thisMachine(u.Hostname()):
		b.Wrong(n, "begin it with https://", "%s is not encrypted, and %.80q is another machine", what, u.Hostname())
		return address, nil
	}
	return address, u
}

func thisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (b *reader) issuers(n strictjson.Value) (all []Issuer) {
	if n.Kind() != strictjson.Object || n.Len() == 0 {
		b.Wrong(n, `write {"acme": {"issuer": "https://login.example.com", "profiles": {...}}}`,
			`"issuers" must be an object with an entry for each issuer`)
		return nil
	}
	b.Unique(n)
	for name, child := range n.Members() {
		if len(all) == maxIssuers {
			b.WrongKey(child, "remove some", `"issuers" has more than %d entries`, maxIssuers)
			return all
		}
		if message, hint := CheckName(name); message != "" {
			b.WrongKey(child, hint, "%s", message)
		}
		one := b.issuer(child, name)
		for _, other := range all {
			if one.URL != "" && one.URL == other.URL {
				b.WrongKey(child, "keep one of the two", "%q has the same issuer as %q", name, other.Name)
			}
			if one.Introspection != nil && other.Introspection != nil {
				b.WrongKey(child, "a token that is no JWT does not say whose it is, and goes to one issuer only",
					"%q has an introspection, and so has %q", name, other.Name)
			}
		}
		all = append(all, one)
	}
	return all
}

// CheckName says what is wrong with the name of an issuer; "" is nothing.
func CheckName(name string) (message, hint string) {
	switch {
	case slices.Contains(strings.Fields(reservedNames), name):
		return fmt.Sprintf("principals that begin with %q are others", name+":"), "take another name"
	case !issuerName.MatchString(name):
		return fmt.Sprintf("%.40q is not a name for an issuer", name),
			"it has lower case letters, digits and -, and begins the names of principals: acme:anna"
	}
	return "", ""
}

func (b *reader) issuer(n strictjson.Value, name string) Issuer {
	of := Issuer{Name: name, Principal: "sub"}
	ok := b.Object(n, fmt.Sprintf("the issuer %q", name), []settings.Field{
		settings.Key("issuer", func(n strictjson.Value) { of.URL, _ = Address(b.Reader, n, `"issuer"`) }),
		settings.Key("claims", func(n strictjson.Value) {
			b.Object(n, `"claims"`, []settings.Field{
				settings.Key("principal", func(n strictjson.Value) { of.Principal = Claim(b.Reader, n, `"principal"`) }),
				settings.Key("roles", func(n strictjson.Value) { of.Roles = Claim(b.Reader, n, `"roles"`) }),
			})
		}),
		settings.Key("profiles", func(n strictjson.Value) { of.Profiles = b.access(n) }),
		settings.Key("introspection", func(n strictjson.Value) { of.Introspection = b.introspection(n) }),
	})
	for _, key := range []string{"issuer", "profiles"} {
		if ok && settings.Member(n, key).Kind() == strictjson.Missing {
			b.Wrong(n, fmt.Sprintf("add %q", key), "the issuer %q has no %q", name, key)
		}
	}
	for _, a := range of.Profiles {
		if a.Roles != nil && of.Roles == "" && ok {
			b.Wrong(n, `add "claims": {"roles": "groups"}`, "profile %q needs roles, and no claim has them", a.Profile)
		}
	}
	return of
}

// Claim reads the name of a claim, or a JSON Pointer to one.
func Claim(b *settings.Reader, n strictjson.Value, what string) string {
	name, ok := b.Text(n, what)
	if ok && name == "" {
		b.Wrong(n, `write the name of a claim, such as "groups", or a JSON Pointer`, "%s is empty", what)
	}
	return name
}

// access reads what tokens need for each profile.
func (b *reader) access(n strictjson.Value) (all []ProfileAccess) {
	if n.Kind() != strictjson.Object || n.Len() == 0 || n.Len() > maxAccess {
		b.Wrong(n, `write {"readonly": {"scope": "codemode:read"}}`,
			`"profiles" must be an object with 1 to %d profiles, and what a token needs for each`, maxAccess)
		return nil
	}
	b.Unique(n)
	for name, child := range n.Members() {
		a := ProfileAccess{Profile: name}
		b.profiles = append(b.profiles, b.TextAt(name, child.KeyOffset()))
		ok := b.Object(child, fmt.Sprintf("the access to %q", name), []settings.Field{
			settings.Key("scope", func(n strictjson.Value) {
				if a.Scope, _ = b.Text(n, `"scope"`); !scopeToken.MatchString(a.Scope) {
					b.Wrong(n, "one word without spaces, quotes and backslashes", "%.40q is not a scope", a.Scope)
				}
			}),
			settings.Key("roles", func(n strictjson.Value) {
				for one := range b.Elements(n, `"roles"`, false) {
					role, _ := b.Text(one, "a role")
					a.Roles = append(a.Roles, role)
				}
			}),
		})
		if ok && child.Len() == 0 {
			b.Wrong(child, `add "scope", "roles" or both`, "every token of the issuer would allow %q", name)
		}
		all = append(all, a)
	}
	return all
}

func (b *reader) introspection(n strictjson.Value) *Introspection {
	i := &Introspection{}
	ok := b.Object(n, `"introspection"`, []settings.Field{
		settings.Key("client", func(n strictjson.Value) { i.Client, _ = b.Text(n, `"client"`) }),
		settings.Key("secret", func(n strictjson.Value) {
			text, _ := b.Text(n, `"secret"`)
			if found := inVariable.FindStringSubmatch(text); found == nil {
				b.Wrong(n, `write "${VARIABLE}"`, "a secret must not stand in the file itself")
			} else {
				i.variable, i.place = found[1], b.ProblemAt(n.Offset(), n.End(), "", "")
			}
		}),
		settings.Key("url", func(n strictjson.Value) { i.URL, _ = Address(b.Reader, n, `"url"`) }),
	})
	for _, key := range []string{"client", "secret"} {
		if ok && settings.Member(n, key).Kind() == strictjson.Missing {
			b.Wrong(n, fmt.Sprintf("add %q", key), `"introspection" has no %q`, key)
		}
	}
	return i
}
