package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// The bounds of what one operation's schema reaches. Types beyond them are unknown.
const (
	typesMax      = 2000
	nestedMax     = 28        // schemas within schemas; package jsonschema takes 64 levels of JSON
	inputMax      = 900 << 10 // a longer schema would not be checked
	outputMax     = 64 << 10
	outputDepth   = 2       // types of types of a result that are shown
	describedText = 2 << 10 // bytes of a description within a schema
	resultText    = 120     // the same within that of a result
	shortOutput   = 6 << 10 // bytes of a result's schema, if it can be so short with less depth
)

// A translator writes schemas of a description as JSON Schema 2020-12: it leaves out what is only about documentation,
// and what is not in the form that its keyword needs.
type translator struct {
	doc   *Document
	input bool // of arguments: without what only the server sets; else of results
	out   []byte
	refs  []string
	err   error

	hidden map[string]bool // properties of the object that the next schema is a part of, which the server sets
	looked int             // bytes of components that were looked at, see follow
}

// schemaOf translates the schema of a component.
func (d *Document) schemaOf(ref string, input bool) *schema {
	key := fmt.Sprint(input, " ", ref)
	d.cache.mu.Lock()
	s := d.cache.schemas[key]
	d.cache.mu.Unlock()
	if s != nil {
		return s
	}
	t := &translator{doc: d, input: input}
	if v, err := d.component(ref); err != nil {
		t.out, t.err = append(t.out, "{}"...), err
	} else {
		t.schema(v, 0)
	}
	s = &schema{t.out, t.refs, t.err, t.looked + d.length(ref)}
	d.cache.mu.Lock()
	defer d.cache.mu.Unlock()
	d.cache.room(len(s.text))
	d.cache.schemas[key] = s
	return s
}

// definitions appends what the references reach as "$defs", and returns the first error of an input. depth is how many
// types of types of a result are shown; 0 is all, of an input.
func (d *Document) definitions(out []byte, from []string, depth int) ([]byte, error) {
	input, most := depth == 0, outputMax
	if input {
		most = inputMax
	}
	var err error
	cost, seen := 0, map[string]int{} // how deep a component is
	for _, ref := range from {
		seen[ref] = 1
	}
	queue := slices.Clone(from)
	for i := 0; i < len(queue); i++ {
		ref := queue[i]
		if i == 0 {
			out = append(out, `,"$defs":{`...)
		} else {
			out = append(out, ',')
		}
		out = append(strictjson.AppendString(out, definitionName(ref)), ':')
		var s *schema
		if shown := i < typesMax && len(out) < most && cost < lookedMax && (input || seen[ref] <= depth); shown {
			s = d.schemaOf(ref, input)
			cost += s.cost
		}
		if s == nil || len(out)+len(s.text) > most {
			out = append(out, `{"description":"not shown"}`...)
			continue
		}
		if err == nil && input {
			err = s.err
		}
		out = append(out, s.text...)
		for _, next := range s.refs {
			if seen[next] == 0 {
				seen[next] = seen[ref] + 1
				queue = append(queue, next)
			}
		}
	}
	if len(queue) > 0 {
		out = append(out, '}')
	}
	return out, err
}

// definitionName is the name of a component among the definitions of a schema: its own, if that is an identifier.
func definitionName(ref string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(ref, "#/components/schemas/"), "#/definitions/")
	plain := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r < 0x80 && (unicode.IsDigit(r) || unicode.IsLetter(r)) {
			return r
		}
		return '_'
	}, name)
	if plain != name {
		sum := sha256.Sum256([]byte(ref))
		plain += "_" + hex.EncodeToString(sum[:3])
	}
	return plain
}

// null is how a schema may be null too.
type null int

const (
	never  null = iota
	inType      // as one of its types
	beside      // as another schema
)

// schema appends a schema.
func (t *translator) schema(v strictjson.Value, depth int) {
	switch v.Kind() {
	case strictjson.True, strictjson.False:
		t.out = append(t.out, v.Source()...)
		return
	case strictjson.Object:
	default:
		t.out = append(t.out, "{}"...)
		return
	}
	if depth > nestedMax {
		t.out = append(t.out, "{}"...)
		return
	}
	if ref := word(v, "$ref"); ref != "" && !t.doc.siblings() {
		t.reference(ref, v)
		return
	}
	hidden := t.hiddenIn(v)
	how := nullOf(v)
	if how == beside {
		t.out = append(t.out, `{"anyOf":[`...)
	}
	t.out = append(t.out, '{')
	first, seen := true, map[string]bool{}
	for key, value := range v.Members() {
		if seen[key] {
			continue
		}
		seen[key] = true
		start := len(t.out)
		if !first {
			t.out = append(t.out, ',')
		}
		if t.hidden = nil; slices.Contains([]string{"required", "allOf", "anyOf", "oneOf"}, key) {
			t.hidden = hidden
		}
		if t.keyword(v, key, value, how, depth) {
			first = false
		} else {
			t.out = t.out[:start]
		}
	}
	t.hidden = nil
	t.out = append(t.out, '}')
	if how == beside {
		t.out = append(t.out, `,{"type":"null"}]}`...)
	}
}

// reference appends a reference of 3.0 to a component. Beside it, only a description and null mean something.
func (t *translator) reference(ref string, v strictjson.Value) {
	how := is(v, "nullable")
	if how {
		t.out = append(t.out, `{"anyOf":[`...)
	}
	t.out = append(t.out, '{')
	led := t.target(ref)
	if about := word(v, "description"); about != "" && !t.doc.swagger {
		if led {
			t.out = append(t.out, ',')
		}
		t.out = strictjson.AppendString(append(t.out, `"description":`...), t.words(about))
	}
	t.out = append(t.out, '}')
	if how {
		t.out = append(t.out, `,{"type":"null"}]}`...)
	}
}

// target appends "$ref". It reports false if that leads nowhere.
func (t *translator) target(ref string) bool {
	if err := t.doc.has(ref); err != nil {
		if t.err == nil {
			t.err = err
		}
		return false
	}
	if !slices.Contains(t.refs, ref) {
		t.refs = append(t.refs, ref)
	}
	t.out = strictjson.AppendString(append(t.out, `"$ref":`...), "#/$defs/"+definitionName(ref))
	return true
}

func nullOf(v strictjson.Value) null {
	if !is(v, "nullable") && !is(v, "x-nullable") {
		return never
	}
	if kind, _ := v.Member("type"); kind.Kind() == strictjson.String {
		return inType
	}
	return beside
}

// keyword appends a keyword with its value. It reports false if the keyword says nothing here.
func (t *translator) keyword(of strictjson.Value, key string, v strictjson.Value, how null, depth int) bool {
	name := func() { t.out = append(strictjson.AppendString(t.out, key), ':') }
	kind := v.Kind()
	switch key {
	case "$ref": // of 3.1
		return kind == strictjson.String && t.target(v.Text())
	case "type":
		return t.types(v, how)
	case "description", "title", "format", "pattern", "contentEncoding", "contentMediaType":
		if kind != strictjson.String || v.Text() == "" {
			return false
		}
		name()
		t.text(key, v)
	case "enum":
		return t.enum(v, how)
	case "minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties",
		"maxProperties", "exclusiveMinimum", "exclusiveMaximum":
		return t.number(of, key, v)
	case "const", "default", "uniqueItems":
		if key == "uniqueItems" && kind != strictjson.True {
			return false
		}
		name()
		t.out = v.AppendCompact(t.out)
	case "required":
		return t.required(of, v)
	case "properties", "patternProperties", "dependentSchemas":
		if kind != strictjson.Object {
			return false
		}
		name()
		t.properties(v, depth)
	case "items", "additionalProperties", "not", "propertyNames", "contains", "if", "then", "else":
		if kind == strictjson.Array && key == "items" {
			key = "prefixItems"
			name()
			t.list(v, depth)
			return true
		}
		if key == "additionalProperties" && kind == strictjson.False && t.extended(of) {
			return false
		}
		name()
		t.schema(v, depth+1)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		if kind != strictjson.Array || v.Len() == 0 {
			return false
		}
		name()
		t.list(v, depth)
	default:
		return false
	}
	return true
}

// text appends a text. Those for people are shortened.
func (t *translator) text(key string, v strictjson.Value) {
	if key == "description" || key == "title" {
		t.out = strictjson.AppendString(t.out, t.words(v.Text()))
	} else {
		t.out = append(t.out, v.Source()...)
	}
}

// words shortens a description. That of a part of a result is its first sentence.
func (t *translator) words(text string) string {
	if t.input {
		return cut(text, describedText)
	}
	if at := strings.Index(text, ". "); at > 0 {
		text = text[:at]
	}
	first, _, _ := strings.Cut(text, "\n")
	return cut(first, resultText)
}

// types appends the type. A file is a text.
func (t *translator) types(v strictjson.Value, how null) bool {
	var all []string
	add := func(name string) {
		switch name {
		case "file":
			name = "string"
		case "int", "long":
			name = "integer"
		case "string", "number", "integer", "boolean", "array", "object", "null":
		default:
			return
		}
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	add(v.Text())
	for _, e := range v.Elements() {
		add(e.Text())
	}
	if len(all) == 0 {
		return false
	}
	if how == inType {
		add("null")
	}
	t.out = append(t.out, `"type":`...)
	if len(all) == 1 {
		t.out = strictjson.AppendString(t.out, all[0])
		return true
	}
	t.out = append(t.out, '[')
	for i, name := range all {
		if i > 0 {
			t.out = append(t.out, ',')
		}
		t.out = strictjson.AppendString(t.out, name)
	}
	t.out = append(t.out, ']')
	return true
}

func (t *translator) enum(v strictjson.Value, how null) bool {
	if v.Kind() != strictjson.Array || v.Len() == 0 {
		return false
	}
	t.out = v.AppendCompact(append(t.out, `"enum":`...))
	if how == inType {
		for _, e := range v.Elements() {
			if e.Kind() == strictjson.Null {
				return true
			}
		}
		t.out = append(t.out[:len(t.out)-1], ",null]"...)
	}
	return true
}

// number appends a bound. In OpenAPI 3.0 exclusiveMinimum is true beside minimum.
func (t *translator) number(of strictjson.Value, key string, v strictjson.Value) bool {
	exclusive := map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}[key]
	if v.Kind() != strictjson.Number {
		return false
	}
	counts := !strings.HasSuffix(key, "imum") && key != "multipleOf"
	if n, err := strconv.ParseFloat(v.Source(), 64); counts && (err != nil || n < 0 || n != math.Trunc(n)) ||
		key == "multipleOf" && !(n > 0) {
		return false
	}
	if exclusive != "" && is(of, exclusive) {
		key = exclusive
	}
	t.out = append(append(strictjson.AppendString(t.out, key), ':'), v.Source()...)
	return true
}

func (t *translator) required(of, v strictjson.Value) bool {
	properties, _ := of.Member("properties")
	var all []string
	for _, e := range v.Elements() {
		property, known := properties.Member(e.Text())
		hidden := t.hidden[e.Text()] || known && t.hides(property)
		if e.Kind() == strictjson.String && !hidden && !slices.Contains(all, e.Text()) {
			all = append(all, e.Text())
		}
	}
	if len(all) == 0 {
		return false
	}
	t.out = append(t.out, `"required":[`...)
	for i, name := range all {
		if i > 0 {
			t.out = append(t.out, ',')
		}
		t.out = strictjson.AppendString(t.out, name)
	}
	t.out = append(t.out, ']')
	return true
}

func (t *translator) properties(v strictjson.Value, depth int) {
	t.out = append(t.out, '{')
	first, seen := true, map[string]bool{}
	for name, property := range v.Members() {
		if seen[name] || t.hides(property) {
			continue
		}
		seen[name] = true
		if !first {
			t.out = append(t.out, ',')
		}
		first = false
		t.out = append(strictjson.AppendString(t.out, name), ':')
		t.schema(property, depth+1)
	}
	t.out = append(t.out, '}')
}

func (t *translator) list(v strictjson.Value, depth int) {
	hidden := t.hidden
	t.out = append(t.out, '[')
	for i, e := range v.Elements() {
		if i > 0 {
			t.out = append(t.out, ',')
		}
		t.hidden = hidden
		t.schema(e, depth+1)
	}
	t.out = append(t.out, ']')
}
