package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Fits checks a value against a JSON Schema that a person wrote. What does not
// fit is an [*ArgumentError]; any other error says that the schema cannot be
// used, in whole or in part, or takes too long, or that ctx has ended. Where a part of a tool's schema, which is a
// stranger's, then says nothing, here nothing fits.
func Fits(ctx context.Context, schema, value json.RawMessage) error {
	c := new(compiled)
	if c.compile(schema, newPatternRoom()); c.note != "" {
		return fmt.Errorf("the schema cannot be used: %s", c.note)
	}
	v, err := decode(value)
	if err != nil {
		return &ArgumentError{Want: "JSON", Got: err.Error()}
	}
	if at := doubleKey(value); at != nil {
		return &ArgumentError{Path: at.pointer(), Want: "each key once", Got: "the same key again"}
	}
	m, err := newChecker(ctx, c, len(value)).run(ctx, v)
	switch {
	case errors.Is(err, errCostly):
		return fmt.Errorf("checking against the schema takes too long")
	case err != nil:
		return err
	case m != nil:
		return &ArgumentError{Path: m.at.pointer(), Want: m.want(), Got: m.got()}
	}
	return nil
}
