package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/internal/jsonschema"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Fits checks a value against a JSON Schema that a person wrote. A value that does not match gives an [*ArgumentError].
// Any other error says that the schema, or a part of it, is unusable, that the check takes too long, or that ctx has
// ended. It is stricter than [Tool.Validate], which ignores the parts of an upstream's schema that it cannot use.
func Fits(ctx context.Context, schema, value json.RawMessage) error {
	c := jsonschema.Compile(schema, jsonschema.NewRoom())
	if c.Note != "" {
		return fmt.Errorf("the schema cannot be used: %s", c.Note)
	}
	tree, err := strictjson.Parse(value, strictjson.Options{AllowHugeNumbers: true})
	if err != nil {
		return &ArgumentError{Want: "strict JSON", Got: err.Error()}
	}
	m, err := jsonschema.NewChecker(ctx, c, len(value)).Run(ctx, jsonschema.FromTree(tree))
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
