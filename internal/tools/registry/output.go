package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/tools/catalog"

	"github.com/codemode-project/codemode/call"
)

// The ways to handle results that do not match the output schema of their tool ("outputValidation" in the
// configuration).
const (
	outputOff    = "off"    // they are not checked
	outputWarn   = "warn"   // the program gets them, and the reply says so
	outputStrict = "strict" // the program gets an InvalidResultError
)

// outputValidation returns the configured way for the tools of a server.
func outputValidation(cfg *config.Config, server string) string {
	if cfg == nil {
		return outputWarn
	}
	for _, s := range cfg.Servers {
		if s.Name == server && s.OutputValidation != "" {
			return s.OutputValidation
		}
	}
	return cmp.Or(cfg.OutputValidation, outputWarn)
}

// checkOutput tells the Gate how results of a tool are checked.
func (g *Registry) checkOutput(t *catalog.Tool, to *call.Tool) {
	if len(t.Output) == 0 {
		return
	}
	want := outputValidation(g.rules.Config(), t.Server)
	if want == outputOff {
		return
	}
	to.StrictOutput = want == outputStrict
	to.ValidateOutput = func(ctx context.Context, structured json.RawMessage) error {
		err := t.ValidateResult(ctx, structured)
		if wrong, ok := errors.AsType[*catalog.ResultError](err); ok {
			return &hostfns.ArgumentError{Path: wrong.Path, Expected: wrong.Want, Got: wrong.Got}
		}
		return err
	}
}
