package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/internal/jsonschema"
)

// ValidateResult checks the structured content of a result against the tool's output schema; nil is a result without
// structured content. The error is a [*ResultError] for the first place that does not match. A tool without a usable
// output schema accepts every result. ValidateResult also refuses a result that is too costly to check. If ctx ends
// first, the error is its cause.
func (t *Tool) ValidateResult(ctx context.Context, structured json.RawMessage) error {
	if t.saysNothing() {
		return nil
	}
	schema := t.compiledOutput(jsonschema.NewRoom())
	if schema.Root == nil {
		return nil
	}
	if len(structured) == 0 {
		return &ResultError{Tool: t.Name, Want: "structured content", Got: "none"}
	}
	v, err := jsonschema.Decode(structured)
	if err != nil {
		return &ResultError{Tool: t.Name, Want: "one JSON value", Got: "something that is no JSON: " + err.Error()}
	}
	m, err := jsonschema.NewChecker(ctx, schema, len(structured)).Run(ctx, v)
	switch {
	case errors.Is(err, jsonschema.ErrCostly):
		return &ResultError{Tool: t.Name, Want: "a result that can be checked against the output schema",
			Got: "one for which that is too costly"}
	case err != nil:
		return err
	case m != nil:
		return &ResultError{Tool: t.Name, Path: m.At.Pointer(), Want: m.Want(), Got: m.Got()}
	}
	return nil
}

// A ResultError says which part of a result does not match the tool's output schema.
type ResultError struct {
	Tool string // canonical name
	Path string // JSON Pointer into the structured content, "" for all of it
	Want string // what the schema expects there, in words
	Got  string // the actual value, shortened
}

func (e *ResultError) Error() string {
	at := "the result"
	if e.Path != "" {
		at = e.Path
	}
	return fmt.Sprintf("%s: %s: expected %s, got %s", e.Tool, at, e.Want, e.Got)
}
