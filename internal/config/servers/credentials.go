package servers

import (
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// headers is what goes with every request: headers, and the bearer token and
// the headers that Codex takes out of variables.
func (e *entry) headers() http.Header {
	h := http.Header{}
	set := func(key string, at strictjson.Value, k, v string) {
		h.Set(k, v)
		impossible := textproto.TrimString(k) != k || k == "" || strings.ContainsAny(k, " \t\r\n:\x00")
		if impossible || strings.ContainsAny(v, "\r\n\x00") {
			e.failAt(key, at, "a name has no spaces or colons, a value no line breaks", "its header %q cannot be sent", k)
		}
	}
	for _, key := range []string{"http_headers", "headers"} {
		for _, s := range e.strings(key) {
			e.at(key+"."+s.key, s.at)
			set(key, s.at, s.key, e.ExpandValue(s.text))
		}
	}
	fromEnv := func(key string, at strictjson.Value, header, prefix, name string) {
		if v, ok := e.Variable(name); ok {
			set(key, at, header, prefix+v)
		} else {
			e.Miss("the variable %s is not set (for the header %s)", name, header)
		}
	}
	for _, s := range e.strings("env_http_headers") {
		fromEnv("env_http_headers", s.at, s.key, "", s.text)
	}
	for _, key := range []string{"bearerTokenEnvVar", "bearer_token_env_var"} { // the last one counts
		if name := e.text(key); name != "" {
			fromEnv(key, e.get(key), "Authorization", "Bearer ", name)
		}
	}
	if len(h) == 0 {
		return nil
	}
	return h
}

// oauth reads how to log in: "oauth" as most clients write it, "auth" as Cursor does. The server's own statements about
// its authorization server take precedence, so the addresses here have no effect. server is the server's own address.
func (e *entry) oauth(server string) (o *OAuth) {
	for _, key := range []string{"oauth", "auth"} {
		n := e.get(key)
		if n.Kind() != strictjson.Object {
			continue // false is meant for clients that would log in by themselves
		}
		if o != nil {
			e.fail(key, "put all of it into one of them", `it has "oauth" and "auth", which are the same key`)
			return o
		}
		in := e.inside(key, n)
		o = in.login(server)
		e.Missing = append(e.Missing, in.Missing...)
	}
	return o
}

// inside returns a reader of the object at a key.
func (e *entry) inside(key string, n strictjson.Value) *entry {
	in := &entry{Reader: e.Reader, name: e.name, within: e.within + strconv.Quote(key) + ": ", value: n,
		used: map[string]bool{}, bad: map[string]bool{}, Expander: settings.Expander{Env: e.Env}}
	in.at(key, n)
	return in
}

// login reads what is in "oauth".
func (e *entry) login(server string) *OAuth {
	o := &OAuth{
		ClientID:     e.Expand(e.oneOf("clientId", "client_id", "CLIENT_ID")),
		ClientSecret: e.ExpandValue(e.oneOf("clientSecret", "client_secret", "CLIENT_SECRET")),
	}
	if e.get("scopes").Kind() == strictjson.Array {
		o.Scopes = e.list("scopes")
	} else {
		o.Scopes = strings.Fields(e.oneOf("scope", "scopes"))
	}
	o.Port = int(e.duration("callbackPort", 1))
	if o.Port > 65535 {
		e.fail("callbackPort", "", `"callbackPort" must be at most 65535`)
	}
	o.MetadataURL = e.Expand(e.text(metadataURL))
	if o.MetadataURL != "" && len(e.Missing) == 0 {
		if message, hint := CheckMetadataURL(o.MetadataURL, server); message != "" {
			e.fail(metadataURL, hint, "%q %s", metadataURL, message)
		}
	}
	if o.Per = e.text("per"); e.has("per") && !e.bad["per"] && o.Per != Principal {
		e.fail("per", `write "principal", or leave it out: then all principals share one login`, `"per" is %q, which is unknown`,
			o.Per)
	}
	o.Exchange = e.exchange()
	for child := range settings.Children(e.value) {
		key := child.Key()
		if meant := e.meant(key); !e.used[key] && (meant == "per" || meant == "exchange") { // else all would share a login
			e.WrongKey(child, fmt.Sprintf("did you mean %q?", meant), "%s", e.sentence("%q is not a key of a login", key))
		}
	}
	return o
}

// exchange reads how to exchange the tokens of callers. It is a key of ours alone, so an unknown key in it is an error.
func (e *entry) exchange() *Exchange {
	n := e.get("exchange")
	if absent(n) {
		return nil
	}
	if n.Kind() != strictjson.Object {
		e.fail("exchange", `write {"tokenUrl": "...", "clientId": "..."}`, `"exchange" must be an object, this is %s`, n.Kind())
		return nil
	}
	in := e.inside("exchange", n)
	x := &Exchange{
		TokenURL: in.Expand(in.text("tokenUrl")), ClientID: in.Expand(in.text("clientId")),
		ClientSecret: in.ExpandValue(in.text("clientSecret")), Audience: in.Expand(in.text("audience")),
		Resource: in.Expand(in.text("resource")), Scopes: strings.Fields(in.text("scope")),
	}
	in.needs(n, "clientId")
	in.tokenURL(n, x.TokenURL)
	for child := range settings.Children(n) {
		if key := child.Key(); !in.used[key] {
			in.WrongKey(child, "", "%s", in.sentence("%q is not a key of an exchange", key))
		}
	}
	e.Missing = append(e.Missing, in.Missing...)
	return x
}

// object returns a reader of the object at a key, which has no other keys than those; nil for anything else.
func (e *entry) object(key string, n strictjson.Value, hint string, keys ...string) *entry {
	if n.Kind() != strictjson.Object {
		e.failAt(key, n, hint, "%q must be an object, this is %s", key, n.Kind())
		return nil
	}
	in := e.inside(key, n)
	for child := range settings.Children(n) {
		if !slices.Contains(keys, child.Key()) {
			in.WrongKey(child, hint, "%s", in.sentence("%q is not one of its keys", child.Key()))
		}
	}
	return in
}

// needs reports keys that are missing.
func (e *entry) needs(n strictjson.Value, keys ...string) {
	for _, key := range keys {
		if e.text(key) == "" && !e.bad[key] {
			e.WrongKey(n, "add it", "%s", e.sentence("%q is missing", key))
		}
	}
}

// tokenURL checks the address to which secrets are sent.
func (e *entry) tokenURL(n strictjson.Value, address string) {
	e.needs(n, "tokenUrl")
	u, err := url.Parse(address)
	local := err == nil && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1")
	if len(e.Missing) == 0 && address != "" &&
		(err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !local)) {
		e.fail("tokenUrl", "write https:// and a host",
			"tokens are sent to it, so its address must be https, or this machine")
	}
}
