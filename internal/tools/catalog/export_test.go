package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/codemode-project/codemode/internal/jsonschema"
)

// Check checks any value, not only an object, against a schema.
func Check(schema, value json.RawMessage, draft7 bool) error {
	// a version of the schema's own comes later, and counts
	if rest, ok := bytes.CutPrefix(schema, []byte("{")); ok && draft7 {
		comma := ","
		if bytes.HasPrefix(bytes.TrimSpace(rest), []byte("}")) {
			comma = ""
		}
		schema = slices.Concat([]byte(`{"$schema": "http://json-schema.org/draft-07/schema#"`+comma), rest)
	}
	c := jsonschema.Compile(schema, jsonschema.NewRoom())
	if string(schema) == "false" {
		return errors.New("false")
	}
	v, err := jsonschema.Decode(value)
	if err != nil {
		return err
	}
	m, err := jsonschema.NewChecker(context.Background(), c, len(value)).Run(context.Background(), v)
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
