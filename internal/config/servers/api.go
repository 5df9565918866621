package servers

import (
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// The effects of a tool of an API.
var effects = []string{"reads", "writes", "destroys", "sends"}

// An apiReader reads the entry of an API into s.
type apiReader struct {
	*entry
	s *Server
}

// read reads the keys of an API.
func (e apiReader) read() {
	s := e.s
	a := &API{Description: e.Expand(e.text("openapi")), Base: e.Expand(e.text("baseURL")),
		AllowPrivate: e.list("allowPrivate"), Slashes: e.list("slashes"), Effects: map[string]string{}}
	s.API = a
	if !IsAddress(a.Description) && a.Description != "" && !filepath.IsAbs(a.Description) && e.File != "" {
		a.Description = filepath.Join(filepath.Dir(e.File), a.Description)
	}
	for _, allowed := range a.AllowPrivate {
		if _, err := netip.ParsePrefix(allowed); strings.Contains(allowed, "/") && err != nil {
			e.fail("allowPrivate", `write a host, or a network such as "10.0.0.0/8"`, `"allowPrivate" has no network in %q`,
				allowed)
		}
	}
	for _, m := range e.strings("effects") {
		if a.Effects[m.key] = m.text; !slices.Contains(effects, m.text) {
			e.failAt("effects", m.at, "write one of "+strings.Join(effects, ", "), "the effect %q is unknown", m.text)
		}
	}
	s.URL = a.Base
	if u, err := url.Parse(a.Base); len(e.Missing) == 0 && a.Base != "" &&
		(err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil) {
		e.fail("baseURL", `write it as "https://api.example.com/v1"`,
			"its base URL must begin with http:// or https:// and a host, without a user name")
	}
	s.Headers = e.headers()
	e.credentials()
}

// IsAddress reports whether a description is fetched, and not read from a file.
func IsAddress(description string) bool {
	return strings.HasPrefix(description, "https://") || strings.HasPrefix(description, "http://")
}

// credentials reads "auth" of an API: one of its kinds.
func (e apiReader) credentials() {
	n := e.get("auth")
	if absent(n) {
		return
	}
	const hint = `write {"apiKey": "..."}, {"bearer": "..."}, {"basic": {...}}, {"clientCredentials": {...}} or ` +
		`{"oauth": {...}}`
	if n.Kind() != strictjson.Object {
		e.fail("auth", hint, `"auth" must be an object, this is %s`, n.Kind())
		return
	}
	in, s := apiReader{e.inside("auth", n), e.s}, e.s
	first := ""
	for child := range settings.Children(n) {
		if first != "" {
			in.WrongKey(child, "keep one", "%s", in.sentence("%q is a second credential, beside %q", child.Key(), first))
			continue
		}
		switch first = child.Key(); first {
		case "apiKey":
			s.API.Key = in.apiKey(child)
		case "bearer":
			in.bearer()
		case "basic":
			in.basic(child)
		case "clientCredentials":
			s.API.Client = in.clientCredentials(child)
		case "oauth":
			s.OAuth = in.code(child)
		default:
			in.WrongKey(child, hint, "%s", in.sentence("%q is no kind of credential", child.Key()))
		}
	}
	e.Missing = append(e.Missing, in.Missing...)
}

func (e apiReader) apiKey(n strictjson.Value) *Key {
	if n.Kind() == strictjson.String {
		return &Key{Value: e.ExpandValue(n.Text())}
	}
	in := e.object("apiKey", n, `write {"name": "X-API-Key", "in": "header", "value": "${KEY}"}`, "name", "in", "value")
	if in == nil {
		return nil
	}
	k := &Key{Name: in.text("name"), Value: in.ExpandValue(in.text("value"))}
	switch where := in.text("in"); where {
	case "header", "":
	case "query":
		k.Query = true
	default:
		in.fail("in", `write "header" or "query"`, `a key cannot be in %q`, where)
	}
	e.Missing = append(e.Missing, in.Missing...)
	return k
}

func (e apiReader) bearer() {
	s := e.s
	if s.Headers == nil {
		s.Headers = http.Header{}
	}
	s.Headers.Set("Authorization", "Bearer "+e.ExpandValue(e.text("bearer")))
}

func (e apiReader) basic(n strictjson.Value) {
	in := e.object("basic", n, `write {"username": "...", "password": "${PASSWORD}"}`, "username", "password")
	if in == nil {
		return
	}
	e.s.API.Username, e.s.API.Password = in.ExpandValue(in.text("username")), in.ExpandValue(in.text("password"))
	e.Missing = append(e.Missing, in.Missing...)
}

func (e apiReader) clientCredentials(n strictjson.Value) *ClientCredentials {
	in := e.object("clientCredentials", n, `write {"tokenUrl": "...", "clientId": "...", "clientSecret": "${SECRET}"}`,
		"tokenUrl", "clientId", "clientSecret", "scope", "audience")
	if in == nil {
		return nil
	}
	c := &ClientCredentials{TokenURL: in.Expand(in.text("tokenUrl")), ClientID: in.Expand(in.text("clientId")),
		ClientSecret: in.ExpandValue(in.text("clientSecret")), Audience: in.text("audience"),
		Scopes: strings.Fields(in.text("scope"))}
	in.needs(n, "clientId")
	in.tokenURL(n, c.TokenURL)
	e.Missing = append(e.Missing, in.Missing...)
	return c
}

// code reads the login of the authorization code: with both addresses, because an API announces none.
func (e apiReader) code(n strictjson.Value) *OAuth {
	in := e.object("oauth", n, `write {"authorizationUrl": "...", "tokenUrl": "...", "clientId": "..."}`,
		"authorizationUrl", "tokenUrl", "clientId", "clientSecret", "scope", "callbackPort", "per")
	if in == nil {
		return nil
	}
	o := in.login(e.s.URL)
	o.AuthorizationURL, o.TokenURL = in.Expand(in.text("authorizationUrl")), in.Expand(in.text("tokenUrl"))
	in.needs(n, "clientId", "authorizationUrl")
	in.tokenURL(n, o.TokenURL)
	e.Missing = append(e.Missing, in.Missing...)
	return o
}
