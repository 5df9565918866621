// Package form makes a form from the JSON Schema of a tool's arguments, for people who change them. If the form cannot
// express a value, people change it in the JSON beside the form.
package form

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Field is one place in the arguments of a tool, in the form that changes them. Its texts are visible characters,
// except Pointer and the values of options, which are data.
type Field struct {
	ID       int    // unique on its page
	Pointer  string // JSON Pointer; the item of a list has that of the list
	Label    string
	About    string // the schema's description
	Kind     string // one of those below
	Whole    bool   // a number without a fraction
	Required bool
	Null     bool     // null is a value
	Options  []Option // of a choice
	Fields   []*Field // of an object
	Item     *Field   // of a list: each of its items
}

// Kinds of fields. Other is a value that the form cannot express: people change it in the JSON beside the form.
const (
	textField   = "text"
	numberField = "number"
	choiceField = "choice" // a boolean is one
	objectField = "object"
	listField   = "list"
	otherField  = "other"
)

// An Option is a value that a choice has.
type Option struct {
	Value string // JSON
	Text  string
}

// Limits of a form. People change the rest in the JSON.
const (
	maxFields  = 120
	maxNesting = 5
	maxOptions = 60
	maxRefs    = 8 // references from one schema to the next
)

// Fields makes the fields of a form from the schema of a tool's arguments. It returns nil if there are none.
func Fields(input json.RawMessage) []*Field {
	root, err := strictjson.Parse(input, strictjson.Options{})
	f := &reader{root: root}
	s, ok := f.read(root)
	if err != nil || !ok {
		return nil
	}
	f.in = []string{s.get("properties").Source()}
	return f.properties(s, "", 0)
}

// A reader makes the fields of one form.
type reader struct {
	root strictjson.Value
	n    int      // fields so far
	in   []string // the properties of each enclosing object: the form does not show a recursive object again
}

// A schema is the part of a JSON Schema that a form needs. It ignores a keyword with a value of the wrong type.
type schema struct {
	strictjson.Value
	about string // its description, or that of the first reference to it
	types []string
	enum  []strictjson.Value
}

func (s *schema) get(key string) strictjson.Value {
	v, _ := s.Member(key)
	return v
}

// has reports whether any of these keywords is there.
func (s *schema) has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return s.get(key).Kind() != strictjson.Missing })
}

func (s *schema) text(key string) string { return textOf(s.get(key)) }

func textOf(v strictjson.Value) string {
	if v.Kind() != strictjson.String {
		return ""
	}
	return v.Text()
}

func elements(v strictjson.Value) (all []strictjson.Value) {
	for _, e := range v.Elements() {
		all = append(all, e)
	}
	return all
}

// read reads a schema, and follows references within the document.
func (f *reader) read(v strictjson.Value) (s schema, ok bool) {
	for range maxRefs {
		if v.Kind() != strictjson.Object {
			return s, false
		}
		s = schema{Value: v, about: s.about}
		s.about = cmp.Or(s.about, s.text("description"))
		ref, allOf := s.text("$ref"), elements(s.get("allOf"))
		switch {
		case strings.HasPrefix(ref, "#"):
			v, _ = f.root.At(ref[1:])
		case ref != "":
			return s, false
		case len(allOf) == 1 && !s.has("type", "properties"):
			v = allOf[0]
		default:
			for _, t := range append(elements(s.get("type")), s.get("type")) { // one or several
				if one := textOf(t); one != "" {
					s.types = append(s.types, one)
				}
			}
			s.enum = elements(s.get("enum"))
			return s, true
		}
	}
	return s, false
}

// is reports whether a schema has exactly this type.
func (s *schema) is(kind string) bool { return len(s.types) == 1 && s.types[0] == kind }

// properties are the fields of an object.
func (f *reader) properties(s schema, pointer string, depth int) (fields []*Field) {
	required := elements(s.get("required"))
	for key, v := range s.get("properties").Members() {
		if f.n >= maxFields {
			break
		}
		one := f.field(v, strictjson.AppendToken(pointer, key), depth+1)
		one.Label = prompt.Words(key)
		one.Required = slices.ContainsFunc(required, func(r strictjson.Value) bool { return textOf(r) == key })
		fields = append(fields, one)
	}
	return fields
}

// field makes one field.
func (f *reader) field(v strictjson.Value, pointer string, depth int) *Field {
	f.n++
	one := &Field{ID: f.n, Pointer: pointer, Kind: otherField}
	s, ok := f.read(v)
	if !ok {
		return one
	}
	s, one.Null = f.withoutNull(s)
	one.About = about(&s)
	if one.Options = f.options(&s); one.Options != nil {
		one.Kind = choiceField
		return one
	}
	if len(s.types) != 1 && !s.has("properties") || s.has("anyOf", "oneOf", "allOf") {
		return one
	}
	kind := "object"
	if len(s.types) == 1 {
		kind = s.types[0]
	}
	switch kind {
	case "string":
		one.Kind = textField
	case "number", "integer":
		one.Kind, one.Whole = numberField, kind == "integer"
	case "object":
		properties := s.get("properties").Source()
		if depth >= maxNesting || slices.Contains(f.in, properties) {
			break
		}
		f.in = append(f.in, properties)
		inside := f.properties(s, pointer, depth)
		if slices.ContainsFunc(inside, func(x *Field) bool { return x.Kind != otherField }) {
			one.Kind, one.Fields = objectField, inside
		}
		f.in = f.in[:len(f.in)-1]
	case "array":
		item := f.field(s.get("items"), pointer, depth+1)
		if slices.Contains([]string{textField, numberField, choiceField}, item.Kind) {
			one.Kind, one.Item = listField, item
		}
	}
	return one
}

// withoutNull removes null from the types of a schema, and reports whether null was there.
func (f *reader) withoutNull(s schema) (_ schema, null bool) {
	if i := slices.Index(s.types, "null"); i >= 0 && len(s.types) > 1 {
		s.types = slices.Delete(s.types, i, i+1)
		s.enum = slices.DeleteFunc(s.enum, func(v strictjson.Value) bool { return v.Kind() == strictjson.Null })
		return s, true
	}
	alternatives := s.alternatives()
	if len(alternatives) != 2 || s.has("type", "properties") {
		return s, false
	}
	for i, v := range alternatives {
		other, ok := f.read(alternatives[1-i])
		if one, is := f.read(v); is && one.is("null") && ok {
			other.about = cmp.Or(s.about, other.about)
			return other, true
		}
	}
	return s, false
}

func (s *schema) alternatives() []strictjson.Value {
	return append(elements(s.get("anyOf")), elements(s.get("oneOf"))...)
}

// options returns the values that a schema lists; nil if it lists none.
func (f *reader) options(s *schema) (all []Option) {
	values, texts := s.enum, []string{}
	switch {
	case s.has("const"):
		values = []strictjson.Value{s.get("const")}
	case len(values) > 0:
	case s.is("boolean"):
		return []Option{{"true", "yes (true)"}, {"false", "no (false)"}}
	case !s.has("properties"):
		for _, v := range s.alternatives() {
			one, ok := f.read(v)
			if !ok || !one.has("const") {
				return nil
			}
			text := ""
			if title := one.text("title"); title != "" {
				text = prompt.Words(title) + " (" + prompt.Words(one.get("const").Source()) + ")"
			}
			values, texts = append(values, one.get("const")), append(texts, text)
		}
	}
	if len(values) > maxOptions {
		return nil
	}
	for i, v := range values {
		if v.Kind() == strictjson.Object || v.Kind() == strictjson.Array {
			return nil
		}
		o := Option{Value: v.Compact(), Text: v.Compact()}
		switch {
		case i < len(texts) && texts[i] != "":
			o.Text = texts[i]
		case v.Kind() == strictjson.String:
			o.Text = prompt.Words(v.Text())
		}
		all = append(all, o)
	}
	return all
}

// about is what a schema says about a value, for people.
func about(s *schema) string {
	parts := []string{prompt.Words(cmp.Or(s.about, s.text("title")))}
	bound := func(key, words string) {
		if n := s.get(key); n.Kind() == strictjson.Number {
			parts = append(parts, words+" "+prompt.Words(n.Source()))
		}
	}
	bound("minimum", "at least")
	bound("maximum", "at most")
	if n, err := strconv.Atoi(s.get("minLength").Source()); err == nil && n > 0 {
		bound("minLength", "shortest:")
	}
	bound("maxLength", "longest:")
	if format := s.text("format"); format != "" {
		parts = append(parts, "format "+prompt.Words(format))
	}
	if pattern := s.text("pattern"); pattern != "" {
		parts = append(parts, "fits "+prompt.Words(pattern))
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " · ")
}
