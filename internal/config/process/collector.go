package process

import (
	"maps"
	"slices"

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
	At settings.Text `key:"url" alone:"text" form:"web" need:"add 'url': 'http://localhost:4318/v1/metrics', say"`
	// Headers of the requests, such as {"Authorization": "Bearer ${OTEL_TOKEN}"}.
	Sent map[string]settings.Text `key:"headers" by:"header" form:"headerValue" like:"write {'NAME': 'VALUE'}"`
}

// With returns the collector with the variables of env.
func (c *Collector) With(env settings.Lookup, wrong *settings.Problems) Collector {
	full := *c
	full.URL, full.Headers = c.At.Value(env, wrong), map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Sent)) {
		h := c.Sent[name]
		full.Headers[name] = h.Value(env, wrong)
	}
	return full
}

// Tracing is the key "tracing": where the spans of runs, calls and questions go. It takes effect at the start of a
// process.
type Tracing struct {
	Collector // without a URL it is off
	// How many of a hundred runs are traced, where the caller does not say whether to; 100 if left out.
	Percent int `key:"percent" usual:"100" min:"0" max:"100"`
}

// Expand replaces the variables. The error is [settings.Problems].
func (t *Tracing) Expand(env settings.Lookup) (Tracing, error) {
	if t == nil {
		return Tracing{}, nil
	}
	var wrong settings.Problems
	full := Tracing{t.With(env, &wrong), t.Percent}
	if len(wrong) > 0 {
		return Tracing{}, wrong.Err()
	}
	return full, nil
}
