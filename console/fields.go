package console

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// A field is one place in the arguments of a tool, as the form shows it that changes them. Its texts are visible
// characters, but for Pointer and the values of options, which are data.
type field struct {
	ID       int    // unique on its page
	Pointer  string // JSON Pointer; the item of a list has that of the list
	Label    string
	About    string // what the schema says of it
	Kind     string // one of those below
	Whole    bool   // a number without a fraction
	Required bool
	Null     bool     // null is a value
	Options  []option // of a choice
	Fields   []*field // of an object
	Item     *field   // of a list: each of its items
}

// Kinds of fields. What the form cannot express is other: people change it in the JSON beside the form.
const (
	textField   = "text"
	numberField = "number"
	choiceField = "choice" // a boolean is one
	objectField = "object"
	listField   = "list"
	otherField  = "other"
)

// An option is a value that a choice has.
type option struct {
	Value string // JSON
	Text  string
}

// What a form has at most. The rest is changed in the JSON.
const (
	maxFields  = 120
	maxNesting = 5
	maxOptions = 60
	maxRefs    = 8 // references from one schema to the next
)

// fieldsOf makes the fields of a form from the schema of a tool's arguments. Nil is that there is none to make.
func fieldsOf(input json.RawMessage) []*field {
	f := &fielder{root: input}
	root, ok := f.read(input)
	if !ok {
		return nil
	}
	f.in = []string{string(root.Properties)}
	return f.properties(root, "", 0)
}

// A fielder makes the fields of one form.
type fielder struct {
	root json.RawMessage
	n    int      // fields so far
	in   []string // the properties of each object around: one that holds its like is not shown again
}

// A fieldSchema is what a form needs of a JSON Schema. What is of another type than the standard says is left out.
type fieldSchema struct {
	Ref         string            `json:"$ref"`
	Type        schemaTypes       `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Properties  json.RawMessage   `json:"properties"`
	Required    []string          `json:"required"`
	Enum        []json.RawMessage `json:"enum"`
	Const       json.RawMessage   `json:"const"`
	Items       json.RawMessage   `json:"items"`
	AnyOf       []json.RawMessage `json:"anyOf"`
	OneOf       []json.RawMessage `json:"oneOf"`
	AllOf       []json.RawMessage `json:"allOf"`

	Minimum   json.Number `json:"minimum"`
	Maximum   json.Number `json:"maximum"`
	MinLength json.Number `json:"minLength"`
	MaxLength json.Number `json:"maxLength"`
	Format    string      `json:"format"`
	Pattern   string      `json:"pattern"`
}

// schemaTypes is one type or several.
type schemaTypes []string

func (t *schemaTypes) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = schemaTypes{one}
		return nil
	}
	var several []string
	_ = json.Unmarshal(raw, &several) // else none is known
	*t = several
	return nil
}

// read reads a schema, and follows references within the document.
func (f *fielder) read(raw json.RawMessage) (s fieldSchema, ok bool) {
	about := ""
	for range maxRefs {
		s = fieldSchema{}
		if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' {
			return s, false
		}
		_ = json.Unmarshal(raw, &s) // a keyword of another type than it should have is left out, and the others are read
		if about == "" {
			about = s.Description
		}
		switch {
		case strings.HasPrefix(s.Ref, "#"):
			raw = at(f.root, s.Ref[1:])
		case s.Ref != "":
			return s, false
		case len(s.AllOf) == 1 && s.Type == nil && s.Properties == nil:
			raw = s.AllOf[0]
		default:
			s.Description = about
			return s, true
		}
	}
	return s, false
}

// at is the value under a JSON Pointer, nil if there is none.
func at(raw json.RawMessage, pointer string) json.RawMessage {
	tokens, err := strictjson.Tokens(pointer)
	if err != nil {
		return nil
	}
	for _, token := range tokens {
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil {
			return nil
		}
		raw = object[token]
	}
	return raw
}

// properties are the fields of an object.
func (f *fielder) properties(s fieldSchema, pointer string, depth int) (fields []*field) {
	for key, raw := range members(s.Properties) {
		if f.n >= maxFields {
			break
		}
		one := f.field(raw, strictjson.AppendToken(pointer, key), depth+1)
		one.Label, one.Required = word(key), slices.Contains(s.Required, key)
		fields = append(fields, one)
	}
	return fields
}

// members goes through the members of an object in their order.
func members(raw json.RawMessage) func(yield func(string, json.RawMessage) bool) {
	return func(yield func(string, json.RawMessage) bool) {
		d := json.NewDecoder(bytes.NewReader(raw))
		if open, err := d.Token(); err != nil || open != json.Delim('{') {
			return
		}
		for d.More() {
			key, err := d.Token()
			var value json.RawMessage
			if err != nil || d.Decode(&value) != nil {
				return
			}
			if name, ok := key.(string); !ok || !yield(name, value) {
				return
			}
		}
	}
}

// field makes one field.
func (f *fielder) field(raw json.RawMessage, pointer string, depth int) *field {
	f.n++
	one := &field{ID: f.n, Pointer: pointer, Kind: otherField}
	s, ok := f.read(raw)
	if !ok {
		return one
	}
	s, one.Null = f.withoutNull(s)
	one.About = about(&s)
	if one.Options = f.options(&s); one.Options != nil {
		one.Kind = choiceField
		return one
	}
	if len(s.Type) != 1 && s.Properties == nil || s.AnyOf != nil || s.OneOf != nil || s.AllOf != nil {
		return one
	}
	kind := "object"
	if len(s.Type) == 1 {
		kind = s.Type[0]
	}
	switch kind {
	case "string":
		one.Kind = textField
	case "number", "integer":
		one.Kind, one.Whole = numberField, kind == "integer"
	case "object":
		if depth >= maxNesting || slices.Contains(f.in, string(s.Properties)) {
			break
		}
		f.in = append(f.in, string(s.Properties))
		inside := f.properties(s, pointer, depth)
		if slices.ContainsFunc(inside, func(x *field) bool { return x.Kind != otherField }) {
			one.Kind, one.Fields = objectField, inside
		}
		f.in = f.in[:len(f.in)-1]
	case "array":
		item := f.field(s.Items, pointer, depth+1)
		if slices.Contains([]string{textField, numberField, choiceField}, item.Kind) {
			one.Kind, one.Item = listField, item
		}
	}
	return one
}

// withoutNull takes null from the types of a schema, and says whether it was there.
func (f *fielder) withoutNull(s fieldSchema) (_ fieldSchema, null bool) {
	if i := slices.Index(s.Type, "null"); i >= 0 && len(s.Type) > 1 {
		s.Type = slices.Delete(slices.Clone(s.Type), i, i+1)
		s.Enum = slices.DeleteFunc(slices.Clone(s.Enum), func(raw json.RawMessage) bool { return string(raw) == "null" })
		return s, true
	}
	of := slices.Concat(s.AnyOf, s.OneOf)
	if len(of) != 2 || s.Type != nil || s.Properties != nil {
		return s, false
	}
	for i, raw := range of {
		other, ok := f.read(of[1-i])
		if one, is := f.read(raw); is && slices.Equal(one.Type, schemaTypes{"null"}) && ok {
			if s.Description != "" {
				other.Description = s.Description
			}
			return other, true
		}
	}
	return s, false
}

// options are the values of a schema that lists them; nil is that it does not.
func (f *fielder) options(s *fieldSchema) (all []option) {
	add := func(raw json.RawMessage, text string) bool {
		var compact bytes.Buffer
		if json.Compact(&compact, raw) != nil || len(all) >= maxOptions || raw[0] == '{' || raw[0] == '[' {
			all = nil
			return false
		}
		if text == "" {
			text = compact.String()
			if raw[0] == '"' {
				_ = json.Unmarshal(raw, &text) // it was read before
				text = word(text)
			}
		}
		all = append(all, option{compact.String(), text})
		return true
	}
	switch alternatives := slices.Concat(s.AnyOf, s.OneOf); {
	case s.Const != nil:
		add(s.Const, "")
	case len(s.Enum) > 0:
		for _, raw := range s.Enum {
			if !add(raw, "") {
				return nil
			}
		}
	case slices.Equal(s.Type, schemaTypes{"boolean"}):
		add(json.RawMessage("true"), "yes (true)")
		add(json.RawMessage("false"), "no (false)")
	case s.Properties == nil:
		for _, raw := range alternatives {
			one, ok := f.read(raw)
			if !ok || one.Const == nil || !add(one.Const, optionWords(&one)) {
				return nil
			}
		}
	}
	return all
}

// optionWords are those of an alternative that says what its value means.
func optionWords(s *fieldSchema) string {
	if s.Title == "" {
		return ""
	}
	return word(s.Title) + " (" + word(string(s.Const)) + ")"
}

// about is what a schema says of a value, for people.
func about(s *fieldSchema) string {
	text := s.Description
	if text == "" {
		text = s.Title
	}
	parts := []string{word(text)}
	bound := func(n json.Number, words string) {
		if n != "" {
			parts = append(parts, words+" "+word(n.String()))
		}
	}
	bound(s.Minimum, "at least")
	bound(s.Maximum, "at most")
	if n, err := strconv.Atoi(s.MinLength.String()); err == nil && n > 0 {
		bound(s.MinLength, "shortest:")
	}
	bound(s.MaxLength, "longest:")
	if s.Format != "" {
		parts = append(parts, "format "+word(s.Format))
	}
	if s.Pattern != "" {
		parts = append(parts, "fits "+word(s.Pattern))
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " · ")
}
