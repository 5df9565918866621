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

	"github.com/codemode-project/codemode/config/variables"
	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// The protocols of a [Collector], in the words of OpenTelemetry's variable OTEL_EXPORTER_OTLP_PROTOCOL.
const (
	HTTP = "http/protobuf"
	GRPC = "grpc"
)

// A Collector takes OTLP. In a file it is the URL, or an object:
//
//	{ "url": "https://otel.example.com:4317", "protocol": "grpc",
//	  "headers": { "Authorization": "Bearer ${OTEL_TOKEN}" } }
type Collector struct {
	URL      string // over HTTP with its path, such as http://localhost:4318/v1/traces; "" is none
	Protocol string // HTTP or GRPC
	Headers  map[string]string

	url      variables.Text
	headers  map[string]variables.Text
	protocol string // as the file has it; "" leaves it to the environment
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
		settings.Key("protocol", func(n strictjson.Value) {
			if text, ok := r.Text(n, `"protocol"`); ok && text != HTTP && text != GRPC {
				r.Wrong(n, fmt.Sprintf("write %q or %q", HTTP, GRPC), "%.40q is no protocol of OTLP", text)
			} else {
				c.protocol = text
			}
		}),
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

// With returns the collector with the variables of env. signal is TRACES or METRICS: without a protocol in the file,
// OTEL_EXPORTER_OTLP_TRACES_PROTOCOL and OTEL_EXPORTER_OTLP_PROTOCOL say which one it is, else it is HTTP.
func (c *Collector) With(env func(string) (string, bool), signal string, wrong *settings.Problems) Collector {
	full := *c
	full.URL, full.Headers, full.Protocol = c.url.Value(env, wrong), map[string]string{}, c.protocol
	for _, name := range slices.Sorted(maps.Keys(c.headers)) {
		h := c.headers[name]
		full.Headers[name] = h.Value(env, wrong)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if full.Protocol != "" || env == nil {
			break
		}
		switch value, _ := env(name); value {
		case "":
		case HTTP, GRPC:
			full.Protocol = value
		default:
			*wrong = append(*wrong, c.url.Wrong(fmt.Sprintf("the variable %s is %.40q", name, value),
				fmt.Sprintf("set it to %q or %q, or add \"protocol\" here", HTTP, GRPC)))
			return Collector{}
		}
	}
	if full.Protocol == "" {
		full.Protocol = HTTP
	}
	if u, err := url.Parse(full.URL); err == nil && full.Protocol == GRPC && strings.Trim(u.Path, "/") != "" {
		*wrong = append(*wrong, c.url.Wrong("over gRPC the URL has no path",
			`write it like "http://localhost:4317", or add "protocol": "`+HTTP+`"`))
	}
	return full
}
