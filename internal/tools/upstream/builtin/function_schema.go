package builtin

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// inputSchema infers the schema of arguments.
func inputSchema(t reflect.Type) (json.RawMessage, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s, err := infer(t, true)
	if err != nil {
		return nil, fmt.Errorf("its arguments have no schema: %w", err)
	}
	if s.Type == "" && s.Types == nil && (t.Kind() == reflect.Interface || t == reflect.TypeFor[json.RawMessage]()) {
		s.Type = "object"
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("its arguments are a %v, and programs call a tool with one object: use a struct", t)
	}
	return json.Marshal(s)
}

// outputSchema infers the schema of a result.
func outputSchema(t reflect.Type) (json.RawMessage, error) {
	s, err := infer(t, false)
	if err != nil {
		return nil, fmt.Errorf("its result has no schema: %w", err)
	}
	schema, err := json.Marshal(s)
	if string(schema) == "true" { // any value, in the form that all readers know
		schema = json.RawMessage("{}")
	}
	return schema, err
}

// infer returns the schema of a type: that of package jsonschema, with corrections for types whose JSON that package
// does not know.
func infer(t reflect.Type, input bool) (*jsonschema.Schema, error) {
	n := inference{input: input, known: map[reflect.Type]*jsonschema.Schema{}, seen: map[reflect.Type]bool{}}
	for of, s := range map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[json.Number]():     {Type: "number"},
		reflect.TypeFor[big.Int]():         {Type: "integer"},
	} {
		n.add(of, s)
	}
	if err := n.learn(t); err != nil {
		return nil, err
	}
	return n.schema(t)
}

// An inference collects the types whose schemas package jsonschema would get wrong. That package gets a stub for each,
// which restore replaces: it can make some schemas nullable, for pointers, and not others, such as an enum.
type inference struct {
	known map[reflect.Type]*jsonschema.Schema // stubs, whose comment is a number
	own   []*jsonschema.Schema                // by that number
	input bool                                // values are read
	seen  map[reflect.Type]bool
}

func (n *inference) add(t reflect.Type, s *jsonschema.Schema) {
	n.known[t] = &jsonschema.Schema{Comment: strconv.Itoa(len(n.own))}
	n.own = append(n.own, s)
}

func (n *inference) schema(t reflect.Type) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: n.known})
	if err != nil {
		return nil, fmt.Errorf("%w; give the type a method JSONSchema() string, or use another one", err)
	}
	return n.restore(s), nil
}

// restore replaces the stubs in a schema.
func (n *inference) restore(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	if i, err := strconv.Atoi(s.Comment); err == nil {
		real := *n.own[i]
		null := len(s.Types) > 0 // of a pointer
		switch plain := real.Enum == nil && real.Const == nil; {
		case null && plain && real.Type != "":
			real.Type, real.Types = "", []string{"null", real.Type}
		case null && !reflect.DeepEqual(real, jsonschema.Schema{}):
			of := real
			real = jsonschema.Schema{AnyOf: []*jsonschema.Schema{&of, {Type: "null"}}}
		}
		real.Description = cmp.Or(s.Description, real.Description)
		return &real
	}
	for name, of := range s.Properties {
		s.Properties[name] = n.restore(of)
	}
	s.Items, s.AdditionalProperties = n.restore(s.Items), n.restore(s.AdditionalProperties)
	return s
}

// learn finds the types below t that have a schema of their own, or methods that make their JSON.
func (n *inference) learn(t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n.seen[t] || n.known[t] != nil {
		return nil
	}
	n.seen[t] = true
	if text := ownSchema(t); text != "" {
		s := new(jsonschema.Schema)
		if err := json.Unmarshal([]byte(text), s); err != nil {
			return fmt.Errorf("the method JSONSchema of %v gives no schema: %w", t, err)
		}
		n.add(t, s)
		return nil
	}
	if s := methods(t); s != nil {
		n.add(t, s)
		return nil
	}
	switch t.Kind() {
	case reflect.Interface:
		if n.input && t.NumMethod() > 0 {
			return fmt.Errorf("no JSON says which type is meant by the interface %v", t)
		}
	case reflect.Struct:
		if err := strictjson.Unmarshal([]byte("{}"), reflect.New(t).Interface()); err != nil { // two fields of one name
			return err
		}
		for i := range t.NumField() {
			if err := n.field(t.Field(i)); err != nil {
				return fmt.Errorf("%v.%s: %w", t, t.Field(i).Name, err)
			}
		}
	case reflect.Array, reflect.Map:
		return n.learn(t.Elem())
	case reflect.Slice:
		return n.slice(t)
	}
	return nil
}

// slice learns a slice: nil is an empty array, where package jsonschema has null.
func (n *inference) slice(t reflect.Type) error {
	if t.Elem().Kind() == reflect.Uint8 {
		n.add(t, &jsonschema.Schema{Type: "string", ContentEncoding: "base64"})
		return nil
	}
	if err := n.learn(t.Elem()); err != nil {
		return err
	}
	items, err := n.schema(t.Elem())
	if err == nil {
		n.add(t, &jsonschema.Schema{Type: "array", Items: items})
	}
	return err
}

// field learns the type of a field. It refuses what package jsonschema understands differently than encoding/json.
func (n *inference) field(f reflect.StructField) error {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" && options == "" || !f.IsExported() && !f.Anonymous {
		return nil
	}
	for option := range strings.SplitSeq(options, ",") {
		if option != "" && option != "omitempty" && option != "omitzero" {
			return fmt.Errorf("the option %q of its tag is not supported: use another type", option)
		}
	}
	of := f.Type
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if f.Anonymous && (name != "" || of.Kind() != reflect.Struct) {
		return errors.New("it is embedded and has a name in JSON: give the field a name in Go too")
	}
	return n.learn(f.Type)
}

// methods returns the schema of a type with methods that make its JSON, nil for other types.
func methods(t reflect.Type) *jsonschema.Schema {
	has := func(method reflect.Type) bool {
		return t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(method)
	}
	switch {
	case has(reflect.TypeFor[json.Marshaler]()), has(reflect.TypeFor[json.Unmarshaler]()):
		return &jsonschema.Schema{}
	case has(reflect.TypeFor[encoding.TextMarshaler]()), has(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

// own is the method by which a type gives its schema.
type own interface{ JSONSchema() string }

// ownSchema returns the schema that a type gives itself, "" if it gives none.
func ownSchema(t reflect.Type) string {
	of := reflect.PointerTo(t)
	if !of.Implements(reflect.TypeFor[own]()) {
		return ""
	}
	s, _ := reflect.New(t).Interface().(own)
	return cmp.Or(s.JSONSchema(), "(nothing)")
}
