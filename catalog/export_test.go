package catalog

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/codemode-project/codemode/internal/jsonschema"
)

// Check checks any value, not only an object, against a schema.
func Check(schema, value json.RawMessage, draft7 bool) error {
	c := jsonschema.Schema{Draft7: draft7}
	c.Compile(schema, jsonschema.NewRoom())
	if string(schema) == "false" {
		return errors.New("false")
	}
	v, err := jsonschema.Decode(value)
	if err != nil {
		return err
	}
	m, err := jsonschema.NewChecker(context.Background(), &c, len(value)).Run(context.Background(), v)
	if m != nil {
		return &ArgumentError{Path: m.At.Pointer(), Want: m.Want(), Got: m.Got()}
	}
	return err
}

// Busy makes the catalogue as it is while a new list is taken in, until the
// returned function is called.
func (c *Catalog) Busy() (done func()) {
	c.mu.Lock()
	return c.mu.Unlock
}
