package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/internal/jsonschema"
)

// Fits checks a value against a JSON Schema that a person wrote. What does not
// fit is an [*ArgumentError]; any other error says that the schema cannot be
// used, in whole or in part, or takes too long, or that ctx has ended. Where a part of a tool's schema, which is a
// stranger's, then says nothing, here nothing fits.
func Fits(ctx context.Context, schema, value json.RawMessage) error {
	c := jsonschema.Compile(schema, jsonschema.NewRoom())
	if c.Note != "" {
		return fmt.Errorf("the schema cannot be used: %s", c.Note)
	}
	v, err := jsonschema.Decode(value)
	if err != nil {
		return &ArgumentError{Want: "JSON", Got: err.Error()}
	}
	if at := jsonschema.DoubleKey(value); at != nil {
		return &ArgumentError{Path: at.Pointer(), Want: "each key once", Got: "the same key again"}
	}
	m, err := jsonschema.NewChecker(ctx, c, len(value)).Run(ctx, v)
	switch {
	case errors.Is(err, jsonschema.ErrCostly):
		return fmt.Errorf("checking against the schema takes too long")
	case err != nil:
		return err
	case m != nil:
		return &ArgumentError{Path: m.At.Pointer(), Want: m.Want(), Got: m.Got()}
	}
	return nil
}
