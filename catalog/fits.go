package catalog

import (
	"encoding/json"
	"fmt"
)

// Fits checks a value against a JSON Schema that a person wrote. What does not
// fit is an [*ArgumentError]; any other error says that the schema cannot be
// used, in whole or in part, or takes too long. Where tools' schemas, which are
// strangers', then say nothing, here nothing fits.
func Fits(schema, value json.RawMessage) error {
	c := new(compiled)
	if c.compile(schema); c.note != "" {
		return fmt.Errorf("the schema cannot be used: %s", c.note)
	}
	v, err := decode(value)
	if err != nil {
		return &ArgumentError{Want: "JSON", Got: err.Error()}
	}
	if path, twice := doubleKey(value); twice {
		return &ArgumentError{Path: path, Want: "each key once", Got: "the same key again"}
	}
	check := checker{compiled: c}
	m := check.check(c.root, v, "", 0, nil)
	switch {
	case check.over():
		return fmt.Errorf("checking against the schema takes too long")
	case m != nil:
		return &ArgumentError{Path: m.path, Want: m.want, Got: m.got}
	}
	return nil
}
