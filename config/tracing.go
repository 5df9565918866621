package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/codemode-project/codemode/config/variables"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Tracing is the key "tracing": where the spans of runs, calls and questions go. It takes effect at the start of a
// process, and is a URL such as "http://localhost:4318/v1/traces", or
//
//	{ "url": "https://otel.example.com/v1/traces",
//	  "headers": { "Authorization": "Bearer ${OTEL_TOKEN}" },
//	  "percent": 10 }
type Tracing struct {
	URL     string // "" is off
	Headers map[string]string
	Percent int // of the runs whose caller does not say whether to trace them

	url     variables.Text
	headers map[string]variables.Text
}

// Tracing returns the key "tracing" with the variables of env. The error is [Problems].
func (c *Config) Tracing(env func(string) (string, bool)) (Tracing, error) {
	if c == nil || c.tracing == nil {
		return Tracing{}, nil
	}
	var wrong settings.Problems
	t := *c.tracing
	t.URL, t.Headers = t.url.Value(env, &wrong), map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(t.headers)) {
		h := t.headers[name]
		t.Headers[name] = h.Value(env, &wrong)
	}
	if len(wrong) > 0 {
		sortProblems(wrong)
		return Tracing{}, wrong
	}
	return t, nil
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*$`)

func (b *builder) tracing(n strictjson.Value) Tracing {
	t := Tracing{Percent: 100, headers: map[string]variables.Text{}}
	at := func(n strictjson.Value) { t.url = b.text(n, `"url"`, webURL(`"url"`)) }
	if n.Kind() == strictjson.String {
		at(n)
		return t
	}
	ok := b.Object(n, `"tracing"`, []settings.Field{
		settings.Key("url", at),
		settings.Key("headers", func(n strictjson.Value) { b.tracingHeaders(n, t.headers) }),
		settings.Key("percent", func(n strictjson.Value) {
			if t.Percent = int(b.Whole(n, `"percent"`, 0)); t.Percent > 100 {
				b.Wrong(n, "", `"percent" must be at most 100`)
			}
		}),
	})
	if ok && settings.Member(n, "url").Kind() == strictjson.Missing {
		b.Wrong(n, `add "url": "http://localhost:4318/v1/traces"`, `"tracing" has no url`)
	}
	return t
}

func (b *builder) tracingHeaders(n strictjson.Value, to map[string]variables.Text) {
	if n.Kind() != strictjson.Object {
		b.Wrong(n, `write {"Authorization": "Bearer ${VARIABLE}"}`, `"headers" must be an object, this is %s`, n.Kind())
		return
	}
	b.Unique(n)
	for name, child := range n.Members() {
		if !headerName.MatchString(name) {
			b.WrongKey(child, "", "%.40q is not the name of a header", name)
		}
		to[name] = b.text(child, fmt.Sprintf("%q", name), func(value string) (message, hint string) {
			if strings.ContainsFunc(value, unicode.IsControl) {
				return fmt.Sprintf("the value of %q cannot be sent in a header", name), ""
			}
			return "", ""
		})
	}
}
