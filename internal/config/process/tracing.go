package process

import (
	"github.com/codemode-project/codemode/internal/config/variables"
	"github.com/codemode-project/codemode/internal/settings"
)

// Tracing is the key "tracing": where the spans of runs, calls and questions go. It takes effect at the start of a
// process.
type Tracing struct {
	Collector // without a URL it is off
	// How many of a hundred runs are traced, where the caller does not say whether to; 100 if left out.
	Percent int `key:"percent" usual:"100" min:"0" max:"100"`
}

// Expand replaces the variables. The error is [settings.Problems].
func (t *Tracing) Expand(env variables.Lookup) (Tracing, error) {
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
