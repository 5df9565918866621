package catalog

import (
	"context"
	"encoding/json"
	"errors"
)

// Check checks any value, not only an object, against a schema.
func Check(schema, value json.RawMessage, draft7 bool) error {
	c := compiled{draft7: draft7}
	c.compile(schema, newPatternRoom())
	if string(schema) == "false" {
		return errors.New("false")
	}
	v, err := decode(value)
	if err != nil {
		return err
	}
	m, err := newChecker(context.Background(), &c, len(value)).run(context.Background(), v)
	if m != nil {
		return &ArgumentError{Path: m.at.pointer(), Want: m.want(), Got: m.got()}
	}
	return err
}

// Busy makes the catalogue as it is while a new list is taken in, until the
// returned function is called.
func (c *Catalog) Busy() (done func()) {
	c.mu.Lock()
	return c.mu.Unlock
}
