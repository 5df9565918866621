package process

import (
	"maps"
	"slices"

	"github.com/codemode-project/codemode/internal/config/variables"
	"github.com/codemode-project/codemode/internal/settings"
)

// A Collector takes traces or figures in OTLP, the protocol of OpenTelemetry, over HTTP and in JSON.
type Collector struct {
	URL     string // with its path; "" is none
	Headers map[string]string
	writtenCollector
}

// A writtenCollector is a collector before its variables are replaced.
type writtenCollector struct {
	// Such as http://localhost:4318/v1/traces, or /v1/metrics for figures. ${VARIABLE} and ${VARIABLE:-default} are
	// replaced.
	At variables.Text `key:"url" alone:"text" form:"web" need:"add 'url': 'http://localhost:4318/v1/metrics', say"`
	// Headers of the requests, such as {"Authorization": "Bearer ${OTEL_TOKEN}"}.
	Sent map[string]variables.Text `key:"headers" by:"header" form:"headerValue" like:"write {'NAME': 'VALUE'}"`
}

// With returns the collector with the variables of env.
func (c *Collector) With(env variables.Lookup, wrong *settings.Problems) Collector {
	full := *c
	full.URL, full.Headers = c.At.Value(env, wrong), map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Sent)) {
		h := c.Sent[name]
		full.Headers[name] = h.Value(env, wrong)
	}
	return full
}
