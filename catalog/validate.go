package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/jsonschema"
	"github.com/codemode-project/codemode/internal/strictjson"
)

func (t *Tool) schema() *jsonschema.Schema { return t.schemaWithin(jsonschema.NewRoom()) }

// schemaWithin is schema with what the patterns of a whole list may take.
func (t *Tool) schemaWithin(room *int) *jsonschema.Schema {
	c := t.compiled
	if c == nil { // a Tool that never was in a catalogue
		c = new(jsonschema.Schema)
	}
	c.Once.Do(func() { c.Compile(t.Input, room) })
	return c
}

// ValidateKnown checks arguments of which only a part is known yet: those that
// the text of a program shows. unknown are JSON Pointers to places where any
// value may come to stand, or none; open are those of objects that may get
// more members. It reports only what is wrong whatever comes.
func (t *Tool) ValidateKnown(ctx context.Context, args call.Arguments, unknown, open []string) error {
	g := jsonschema.Gaps{Unknown: map[string]bool{}, Open: map[string]bool{}}
	for _, p := range unknown {
		if p == "" {
			return nil
		}
		g.Add(g.Unknown, p)
	}
	for _, p := range open {
		g.Add(g.Open, p)
	}
	return t.validate(ctx, args, g)
}

// Validate checks arguments against the tool's input schema. The error is an
// [*ArgumentError] for the first place that does not fit. Arguments are always
// an object, even when the tool has no schema or one that cannot be used. Arguments that cannot be checked within the steps that a check may take
// do not fit either. If ctx ends first, the error is its cause.
func (t *Tool) Validate(ctx context.Context, args call.Arguments) error {
	return t.validate(ctx, args, jsonschema.Gaps{})
}

func (t *Tool) validate(ctx context.Context, args call.Arguments, g jsonschema.Gaps) error {
	wrong := func(path, want, got string) error {
		return &ArgumentError{Tool: t.Name, Path: path, Want: want, Got: got}
	}
	tree, bad := args.Tree()
	if bad != nil {
		return wrong("", "one JSON object", "something that is no strict JSON: "+bad.Error())
	}
	v := jsonschema.FromTree(tree)
	if tree.Kind() != strictjson.Object {
		return wrong("", "an object", jsonschema.Show(v))
	}
	c := jsonschema.NewChecker(ctx, t.schema(), len(args.JSON()))
	c.Gaps = g
	m, err := c.Run(ctx, v)
	switch {
	case errors.Is(err, jsonschema.ErrCostly):
		return wrong("", "arguments that can be checked against the tool's schema", "some for which that is too costly: send less, or ask who runs the server for a simpler schema")
	case err != nil:
		return err
	case m != nil:
		return wrong(m.At.Pointer(), m.Want(), m.Got())
	}
	return nil
}

// parameters visits the properties of an input schema with their descriptions.
func parameters(input json.RawMessage, each func(name, description string)) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(input, &s) != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		raw := s.Properties[name]
		var p struct {
			Description string `json:"description"`
		}
		_ = json.Unmarshal(raw, &p) // a description of another type is none
		each(name, p.Description)
	}
}
