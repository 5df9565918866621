package config

import (
	"github.com/codemode-project/codemode/internal/config/collectors"
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
	collectors.Collector     // without a URL it is off
	Percent              int // of the runs whose caller does not say whether to trace them
}

// Tracing returns the key "tracing" with the variables of env. The error is [Problems].
func (c *Config) Tracing(env func(string) (string, bool)) (Tracing, error) {
	if c == nil || c.tracing == nil {
		return Tracing{}, nil
	}
	var wrong settings.Problems
	t := *c.tracing
	if t.Collector = t.With(env, &wrong); len(wrong) > 0 {
		sortProblems(wrong)
		return Tracing{}, wrong
	}
	return t, nil
}

func (b *builder) tracing(n strictjson.Value) Tracing {
	percent := 100
	c := collectors.Read(b.Reader, n, `"tracing"`, "http://localhost:4318/v1/traces",
		settings.Key("percent", func(n strictjson.Value) {
			if percent = int(b.Whole(n, `"percent"`, 0)); percent > 100 {
				b.Wrong(n, "", `"percent" must be at most 100`)
			}
		}))
	return Tracing{Collector: *c, Percent: percent}
}
