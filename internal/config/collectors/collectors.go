// Package collectors reads where a process sends its traces and figures: collectors that speak OTLP, the protocol of
// OpenTelemetry.
package collectors

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/codemode-project/codemode/internal/config/variables"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Collector takes OTLP over HTTP, in JSON. In a file it is the URL, or an object:
//
//	{ "url": "https://otel.example.com/v1/traces", "headers": { "Authorization": "Bearer ${OTEL_TOKEN}" } }
type Collector struct {
	URL     string // with its path, such as http://localhost:4318/v1/traces; "" is none
	Headers map[string]string

	url     variables.Text
	headers map[string]variables.Text
}

// Read reads a collector. what is its key, example a URL for hints, and more are further keys of its object.
func Read(r *settings.Reader, n strictjson.Value, what, example string, more ...settings.Field) *Collector {
	c := &Collector{headers: map[string]variables.Text{}}
	at := func(n strictjson.Value) { c.url = variables.ReadText(r, n, `"url"`, webURL) }
	if n.Kind() == strictjson.String {
		at(n)
		return c
	}
	ok := r.Object(n, what, append([]settings.Field{
		settings.Key("url", at),
		settings.Key("headers", func(n strictjson.Value) { c.readHeaders(r, n) }),
	}, more...))
	if ok && settings.Member(n, "url").Kind() == strictjson.Missing {
		r.Wrong(n, fmt.Sprintf(`add "url": %q`, example), "%s has no url", what)
	}
	return c
}

func webURL(text string) (message, hint string) {
	if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return `"url" must be the URL of a server`, "begin it with https:// or http://"
	}
	return "", ""
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*$`)

func (c *Collector) readHeaders(r *settings.Reader, n strictjson.Value) {
	if n.Kind() != strictjson.Object {
		r.Wrong(n, `write {"Authorization": "Bearer ${VARIABLE}"}`, `"headers" must be an object, this is %s`, n.Kind())
		return
	}
	r.Unique(n)
	for name, child := range n.Members() {
		if !headerName.MatchString(name) {
			r.WrongKey(child, "", "%.40q is not the name of a header", name)
		}
		c.headers[name] = variables.ReadText(r, child, fmt.Sprintf("%q", name), func(value string) (message, hint string) {
			if strings.ContainsFunc(value, unicode.IsControl) {
				return fmt.Sprintf("the value of %q cannot be sent in a header", name), ""
			}
			return "", ""
		})
	}
}

// With returns the collector with the variables of env.
func (c *Collector) With(env func(string) (string, bool), wrong *settings.Problems) Collector {
	full := *c
	full.URL, full.Headers = c.url.Value(env, wrong), map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.headers)) {
		h := c.headers[name]
		full.Headers[name] = h.Value(env, wrong)
	}
	return full
}
