package openapi

import (
	"slices"

	"github.com/codemode-project/codemode/internal/strictjson"
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
		return t.inner(of, key, v, depth)
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

// inner appends a keyword whose value is a schema. A list of items is prefixItems since 2020-12.
func (t *translator) inner(of strictjson.Value, key string, v strictjson.Value, depth int) bool {
	switch kind := v.Kind(); {
	case key == "items" && kind == strictjson.Array:
		t.out = append(t.out, `"prefixItems":`...)
		t.list(v, depth)
	case key == "additionalProperties" && kind == strictjson.False && t.extended(of):
		return false
	default:
		t.out = append(strictjson.AppendString(t.out, key), ':')
		t.schema(v, depth+1)
	}
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
