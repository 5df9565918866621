package catalog

import (
	"encoding/json"
	"errors"
)

// Check checks any value, not only an object, against a schema.
func Check(schema, value json.RawMessage, draft7 bool) error {
	c := compiled{draft7: draft7}
	c.compile(schema)
	if string(schema) == "false" {
		return errors.New("false")
	}
	v, err := decode(value)
	if err != nil {
		return err
	}
	k := checker{compiled: &c}
	if m := k.check(c.root, v, "", 0, nil); m != nil {
		return &ArgumentError{Path: m.path, Want: m.want, Got: m.got}
	}
	if k.over() {
		return errors.New("too much work")
	}
	return nil
}

// Busy makes the catalogue as it is while a new list is taken in, until the
// returned function is called.
func (c *Catalog) Busy() (done func()) {
	c.mu.Lock()
	return c.mu.Unlock
}
