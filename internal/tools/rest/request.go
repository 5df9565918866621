package rest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/tools/openapi"
)

// A message is a request that can be sent again.
type message struct {
	method     string
	url        *url.URL // without the key
	header     http.Header
	body       []byte // nil: none
	repeatable bool   // after 429 and 503
	streams    bool   // its answer cannot be taken again
	acted      string // the method of an earlier request of the call, which has acted
	fixed      string // the query in the description
	sent       func() // nil: nobody wants to know
	once       sync.Once
}

// reads reports whether a request acts on nothing, by its method.
func (m *message) reads() bool {
	return m.method == http.MethodGet || m.method == http.MethodHead || m.method == http.MethodOptions
}

// A builder builds the request of a call.
type builder struct {
	c    *Client
	p    *openapi.Plan
	args strictjson.Value
	m    *message
}

// request builds the request for arguments.
func (c *Client) request(p *openapi.Plan, args strictjson.Value) (*message, error) {
	b := &builder{c, p, args, &message{method: p.Method, header: c.o.Headers.Clone()}}
	switch p.Method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions:
		b.m.repeatable = true
	case http.MethodPost, http.MethodPatch:
		b.m.repeatable = p.RepeatKey != ""
	default:
		return nil, fmt.Errorf("the method %.20q of the description is not supported", p.Method)
	}
	for _, step := range []func() error{b.known, b.path, b.query, b.headers, b.body} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return b.m, nil
}

// known refuses arguments that would not be sent.
func (b *builder) known() error {
	if b.args.Kind() != strictjson.Object {
		return &ArgumentError{"", "the arguments are " + b.args.Kind().String() + ", not an object"}
	}
	names := map[string]bool{nextName: true}
	for _, p := range b.p.Parameters {
		names[p.Argument] = true
	}
	if body := b.p.Body; body != nil {
		names[body.Argument] = body.Argument != ""
		for _, name := range body.Members {
			names[name] = true
		}
	}
	for name := range b.args.Members() {
		if !names[name] {
			return &ArgumentError{pointer(name), "the operation has no such argument"}
		}
	}
	return nil
}

// argument returns an argument, unless it is missing or null.
func (b *builder) argument(name string) (strictjson.Value, bool) {
	v, ok := b.args.Member(name)
	return v, ok && v.Kind() != strictjson.Null
}

// path builds the address, with the query that is a part of the template.
func (b *builder) path() error {
	path, query, _ := strings.Cut(b.p.Path, "?")
	path, err := b.expand(path, pathSigns, b.segment)
	if err != nil {
		return err
	}
	if path != "" && path[0] != '/' {
		path = "/" + path
	}
	if query, err = b.expand(query, querySigns, func(p openapi.Parameter, v strictjson.Value) (string, error) {
		list, err := items(v, pointer(p.Argument))
		return inline(p, v, list, escape), err
	}); err != nil {
		return err
	}
	u := b.c.base
	path = b.c.root + path
	u.Path, err = url.PathUnescape(path)
	u.RawPath, u.RawQuery = path, query
	b.m.url = b.c.withoutKey(&u)
	b.m.fixed = b.m.url.RawQuery
	// The escapes of RawPath are ignored if net/url finds anything wrong with them: then nothing may be sent.
	if err != nil || u.EscapedPath() != path || strings.HasPrefix(path, "//") || climbs(path) {
		return errors.New("the path of the description, with these arguments, may lead elsewhere")
	}
	return nil
}

// expand replaces each {name} in a template by a parameter.
func (b *builder) expand(template, signs string,
	write func(openapi.Parameter, strictjson.Value) (string, error)) (string, error) {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(template, "{")
		out.WriteString(literal(before, signs))
		if !found {
			return out.String(), nil
		}
		name, rest, _ := strings.Cut(after, "}")
		i := slices.IndexFunc(b.p.Parameters, func(p openapi.Parameter) bool {
			return p.In == openapi.InPath && (p.Name == name || "+"+p.Name == name)
		})
		if i < 0 {
			return "", fmt.Errorf("the path of the description has {%.60s}, which is not declared", name)
		}
		p := b.p.Parameters[i]
		v, ok := b.argument(p.Argument)
		if !ok {
			return "", &ArgumentError{pointer(p.Argument), "it is a part of the path and has to be given"}
		}
		text, err := write(p, v)
		if err != nil {
			return "", err
		}
		out.WriteString(text)
		template = rest
	}
}

// segment writes an argument into the path.
func (b *builder) segment(p openapi.Parameter, v strictjson.Value) (string, error) {
	list, err := items(v, pointer(p.Argument))
	if err != nil {
		return "", err
	}
	slashes := slices.Contains(b.c.o.Slashes, p.Argument)
	if len(list) == 0 {
		return "", &ArgumentError{pointer(p.Argument), "it is empty, and a part of the path"}
	}
	for _, it := range list {
		for _, text := range []string{it.text, it.name} {
			switch parts := strings.Split(it.text, "/"); {
			case it.text == "", slashes && slices.Contains(parts, ""):
				return "", &ArgumentError{it.at, "it has an empty segment of the path"}
			case climbs(text):
				return "", &ArgumentError{it.at, "servers may read it as the folder . or .. of the path"}
			case strings.ContainsFunc(unescape(text), unicode.IsControl) || !utf8.ValidString(text):
				return "", &ArgumentError{it.at, "it has a control character, which a path cannot have"}
			}
		}
	}
	return inline(p, v, list, func(s string) string {
		if slashes {
			return escapeBut(s, "/")
		}
		return escape(s)
	}), nil
}

// query adds the arguments in the query.
func (b *builder) query() error {
	var all []pair
	owner := map[string]string{} // of the name of a parameter; "" is the description's
	for _, p := range b.p.Parameters {
		if p.In == openapi.InQuery {
			owner[folded(p.Name)] = p.Argument
		}
	}
	for _, p := range queryPairs(b.m.url.RawQuery) {
		owner[folded(unescape(p.name))] = ""
	}
	if k := b.c.o.Key; k != nil && k.In == openapi.InQuery {
		owner[folded(k.Name)] = ""
	}
	for _, p := range b.p.Parameters {
		v, ok := b.argument(p.Argument)
		if p.In != openapi.InQuery || !ok || b.c.isKey(p.Name) {
			continue
		}
		list, err := pairs(p, v, pointer(p.Argument), 1)
		if err != nil {
			return err
		}
		for _, made := range list { // a member of an object may be any
			name := unescape(made.name)
			if of, ok := owner[folded(name)]; ok && of != p.Argument {
				return &ArgumentError{pointer(p.Argument), fmt.Sprintf("it cannot set the parameter %.60q", name)}
			}
		}
		all = append(all, list...)
	}
	more, err := b.c.opened(b.p.Method, b.m.url, b.args)
	if err != nil {
		return err
	}
	all = append(all, more...)
	if b.m.url.RawQuery != "" && len(all) > 0 {
		b.m.url.RawQuery += "&"
	}
	b.m.url.RawQuery += joinPairs(all)
	return nil
}

// headers adds our own headers and the arguments in headers. Those of the operator are there.
func (b *builder) headers() error {
	h := b.m.header
	if h.Get("Accept") == "" {
		h.Set("Accept", accept(b.p.Accept))
	}
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", "codemode")
	}
	if name := b.p.RepeatKey; name != "" && !b.c.operators[folded(name)] {
		if !isToken(name) || isReserved(name) {
			return fmt.Errorf("the description names the header %.60q for repetitions", name)
		}
		h.Set(name, rand.Text())
	}
	for _, p := range b.p.Parameters {
		v, ok := b.argument(p.Argument)
		if p.In != openapi.InHeader || !ok || b.c.operators[folded(p.Name)] {
			continue
		}
		at := pointer(p.Argument)
		list, err := items(v, at)
		if err != nil {
			return err
		}
		text := inline(p, v, list, func(s string) string { return s })
		switch {
		case !isToken(p.Name) || isReserved(p.Name) || h.Get(p.Name) != "":
			return &ArgumentError{at, fmt.Sprintf("no argument can set the header %.60q", p.Name)}
		case !isHeaderText(text):
			return &ArgumentError{at, "it has a sign that a header cannot have: only visible ASCII and spaces"}
		}
		h.Set(p.Name, text)
	}
	return nil
}

// body adds the body.
func (b *builder) body() error {
	if b.p.Body == nil {
		return nil
	}
	raw, media, err := writeBody(b.p.Body, b.args)
	if b.m.body = raw; media != "" {
		b.m.header.Set("Content-Type", media)
	}
	return err
}

// accept lists the media types that a description promises.
func accept(types []string) string {
	if types = slices.DeleteFunc(slices.Clone(types), func(t string) bool {
		return !isHeaderText(t) || strings.ContainsAny(t, ",\"")
	}); len(types) == 0 {
		return "application/json, */*;q=0.5"
	}
	return strings.Join(types[:min(len(types), 10)], ", ")
}
