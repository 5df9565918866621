package catalog

import (
	"encoding/json"
	"fmt"
	"sync"
)

// ValidateResult checks the structured content of a result against the tool's
// output schema; nil is a result without structured content. The error is a
// [*ResultError] for the first place that does not fit. A tool without an output
// schema, or with one that cannot be used, accepts every result.
func (t *Tool) ValidateResult(structured json.RawMessage) error {
	if len(t.Output) == 0 {
		return nil
	}
	c := checker{compiled: t.outputSchema()}
	if c.root == nil {
		return nil
	}
	if len(structured) == 0 {
		return &ResultError{Tool: t.Name, Want: "structured content", Got: "none"}
	}
	v, err := decode(structured)
	if err != nil {
		return &ResultError{Tool: t.Name, Want: "one JSON value", Got: "something that is no JSON: " + err.Error()}
	}
	m := c.check(c.root, v, "", 0, nil)
	if m == nil || c.over() {
		return nil
	}
	return &ResultError{Tool: t.Name, Path: m.path, Want: m.want, Got: m.got}
}

// A ResultError says which part of a result does not fit the tool's output schema.
type ResultError struct {
	Tool string // canonical name
	Path string // JSON Pointer into the structured content, "" for all of it
	Want string // what the schema expects there, in words
	Got  string // what came, shortened
}

func (e *ResultError) Error() string {
	at := "the result"
	if e.Path != "" {
		at = e.Path
	}
	return fmt.Sprintf("%s: %s: expected %s, got %s", e.Tool, at, e.Want, e.Got)
}

// outputs holds what ValidateResult needs, made when a result is first checked.
type outputs struct {
	once sync.Once
	compiled
}

func (t *Tool) outputSchema() *compiled {
	o := t.outputs
	if o == nil { // a Tool that never was in a catalogue
		o = new(outputs)
	}
	o.once.Do(func() { o.compile(t.Output) })
	return &o.compiled
}
