package rest

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/tools/openapi"
)

// A change is what other arguments are for the next page; nil removes one.
type change map[string]json.RawMessage

// A pager finds the arguments of the next page in an answer. The answer is not trusted: an address in it gives
// arguments of the same operation, and nothing else.
type pager struct {
	c      *Client
	p      *openapi.Plan
	args   strictjson.Value
	at     *url.URL // of this page
	fixed  string   // the query in the description
	raw    json.RawMessage
	seen   map[string]json.RawMessage // see [index]
	hidden *secrets.Values
}

// addressMax is how long the address of a next page may be.
const addressMax = 16 << 10

// follow turns the address of a next page into arguments; nil if it is not for this API. If its path is another one,
// such as one with numbers for names, it gives only arguments that page.
func (g *pager) follow(address string) change {
	u, err := g.at.Parse(address)
	if err != nil || len(address) > addressMax || u.User != nil || secrets.SchemeHostPort(u) != secrets.SchemeHostPort(g.at) ||
		climbs(u.EscapedPath()) || !strings.HasPrefix(u.EscapedPath(), g.c.root+"/") {
		return nil
	}
	rest := without(queryPairs(g.c.withoutKey(u).RawQuery), queryPairs(g.fixed))
	for text, i := joinPairs(rest), 0; i < decodings; i++ { // the API may have escaped a credential again
		if strings.Contains(text, secrets.Mask) || g.hidden.Hide(text) != text {
			return nil
		}
		text = unescape(text)
	}
	same := slices.EqualFunc(strings.Split(u.EscapedPath(), "/"), strings.Split(g.at.EscapedPath(), "/"),
		func(a, b string) bool { return unescape(a) == unescape(b) })
	set := change{}
	var loose []pair // of parameters whose type is not known
	for _, p := range g.p.Parameters {
		if p.In != openapi.InQuery || !same && !pages(p.Name) || g.c.isKey(p.Name) {
			continue
		}
		old, given := g.args.Member(p.Argument)
		before, _ := pairs(p, old, "", 1)
		if left := without(rest, before); len(before) > 0 && len(left) == len(rest)-len(before) {
			rest = left
			continue
		}
		if given && same {
			set[p.Argument] = nil
		}
		found := slices.DeleteFunc(slices.Clone(rest), func(q pair) bool { return q.name != escape(p.Name) })
		if len(found) != 1 {
			continue
		}
		if raw := typed(p.Name, unescape(found[0].value), old); raw != nil {
			set[p.Argument], rest = raw, without(rest, found)
		} else {
			loose = append(loose, found...)
		}
	}
	if !same {
		rest = loose
	}
	if !same && len(set)+len(rest) == 0 {
		return nil
	}
	if query := joinPairs(rest); query != "" {
		set[nextName], _ = json.Marshal(sealed{query, g.c.sign(g.p.Method, g.at, query)})
	} else if _, had := g.args.Member(nextName); had {
		set[nextName] = nil
	}
	return set
}

// without removes pairs, each once.
func without(list, remove []pair) []pair {
	list = slices.Clone(list)
	for _, p := range remove {
		if i := slices.Index(list, p); i >= 0 {
			list = slices.Delete(list, i, i+1)
		}
	}
	return list
}

// typed gives a text the type that the argument had; nil if that is not known.
func typed(name, text string, old strictjson.Value) json.RawMessage {
	v, err := strictjson.Parse(text, strictjson.Options{})
	plain := err == nil && v.Len() == 0 && v.Kind() != strictjson.String
	switch kind := old.Kind(); {
	case kind == strictjson.String:
		return quote(text)
	case plain && (kind == strictjson.True || kind == strictjson.False) && v.Source() == text,
		plain && v.Kind() == strictjson.Number && (kind == strictjson.Number || kind == strictjson.Missing && counts(name)):
		return json.RawMessage(text)
	case !plain && kind == strictjson.Missing:
		return quote(text)
	}
	return nil
}
