package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/jsonschema"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// ValidateKnown checks arguments that are known in part, such as those that the text of a program shows. unknown are
// JSON Pointers to places that may get any value or none; open are those of objects that may get more members. It
// reports only errors that are certain.
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

// Validate checks arguments against the tool's input schema. The error is an [*ArgumentError] for the first places that
// do not match. Arguments must be an object without duplicate keys, even if the tool has no usable schema. Validate
// also refuses arguments that are too costly to check. If ctx ends first, the error is its cause.
func (t *Tool) Validate(ctx context.Context, args call.Arguments) error {
	return t.validate(ctx, args, jsonschema.Gaps{})
}

func (t *Tool) validate(ctx context.Context, args call.Arguments, g jsonschema.Gaps) error {
	wrong := func(path, want, got string) *ArgumentError {
		return &ArgumentError{Tool: t.Name, Path: path, Want: want, Got: got, Takes: t.takes()}
	}
	tree, bad := args.Tree()
	if bad != nil {
		return wrong("", "one JSON object", "something that is no strict JSON: "+bad.Error())
	}
	v := jsonschema.FromTree(tree)
	if tree.Kind() != strictjson.Object {
		return wrong("", t.takes(), notObject(v))
	}
	c := t.checker(ctx, args)
	c.Gaps = g
	m, err := c.Run(ctx, v)
	switch {
	case errors.Is(err, jsonschema.ErrCostly):
		return wrong("", "arguments that can be checked against the tool's schema",
			"some for which that is too costly: send less, or ask who runs the server for a simpler schema")
	case err != nil:
		return err
	case m != nil:
		err := wrong(m.At.Pointer(), m.Want(), m.Got())
		for _, m := range c.Others {
			err.More = append(err.More, &ArgumentError{Path: m.At.Pointer(), Want: m.Want(), Got: m.Got()})
		}
		return err
	}
	return nil
}

// checker returns a checker of arguments.
func (t *Tool) checker(ctx context.Context, args call.Arguments) *jsonschema.Checker {
	return jsonschema.NewChecker(ctx, t.compiledInput(jsonschema.NewRoom()), len(args.JSON()))
}

// notObject shows what a program gave in place of an object.
func notObject(v any) string {
	text, ok := v.(string)
	var object map[string]json.RawMessage
	if ok && json.Unmarshal([]byte(text), &object) == nil && object != nil {
		return "the text of an object: pass the object itself, without JSON.stringify and quotes"
	}
	return jsonschema.Show(v)
}

// WithoutNulls returns the arguments without the properties that are null, optional, and must not be null by the
// tool's schema. changed is false if there are none. unknown are JSON Pointers to places that only look like null.
func (t *Tool) WithoutNulls(ctx context.Context, args call.Arguments, unknown []string) (_ json.RawMessage,
	changed bool) {
	if !bytes.Contains(args.JSON(), []byte("null")) {
		return nil, false
	}
	tree, bad := args.Tree()
	if bad != nil || tree.Kind() != strictjson.Object {
		return nil, false
	}
	c := t.checker(ctx, args)
	return c.WithoutNulls(tree, unknown)
}

// parameters calls each with the properties of an input schema and their descriptions.
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

// A NotFoundError says that no tool has the name.
type NotFoundError struct {
	Name    string
	Nearest []string // similar canonical names, best first
}

func (e *NotFoundError) Error() string {
	if len(e.Nearest) == 0 {
		return fmt.Sprintf("no tool is named %q", e.Name)
	}
	return fmt.Sprintf("no tool is named %q; the nearest names are %s", e.Name, strings.Join(e.Nearest, ", "))
}

// A WithheldError says that the tool exists, and why programs cannot call it.
type WithheldError struct {
	Name string
	Code string // "withheld", or "name_collision" for a name that tools of several servers have
	Why  string
	Tool *Tool // nil for several
}

func (e *WithheldError) Error() string {
	return fmt.Sprintf("%q is withheld, because %s", e.Name, e.Why)
}

// An ArgumentError says which parts of a call's arguments do not match the tool's input schema.
type ArgumentError struct {
	Tool  string           // canonical name
	Path  string           // JSON Pointer into the arguments, "" for the arguments as a whole
	Want  string           // what the schema expects there, in words
	Got   string           // the actual value, shortened
	Takes string           // the type of all arguments, in TypeScript
	More  []*ArgumentError // the other places, without Takes
}

func (e *ArgumentError) Error() string {
	at := "the arguments"
	if e.Path != "" {
		at = e.Path
	}
	text := fmt.Sprintf("%s: expected %s, got %s", at, e.Want, e.Got)
	for _, other := range e.More {
		text += "; " + other.Error()
	}
	if e.Takes != "" && e.Path != "" {
		text += "; it takes " + e.Takes
	}
	if e.Tool != "" {
		text = e.Tool + ": " + text
	}
	return text
}
