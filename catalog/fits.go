package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/codemode-project/codemode/internal/jsonschema"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Fits checks a value against a JSON Schema that a person wrote. What does not
// fit is an [*ArgumentError]; any other error says that the schema cannot be
// used, in whole or in part, or takes too long, or that ctx has ended. Where a part of a tool's schema, which is a
// stranger's, then says nothing, here nothing fits.
func Fits(ctx context.Context, schema, value json.RawMessage) error {
	c := new(jsonschema.Schema)
	if c.Compile(schema, jsonschema.NewRoom()); c.Note != "" {
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
