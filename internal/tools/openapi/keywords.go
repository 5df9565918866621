package openapi

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// null is how a schema may be null too.
type null int

const (
	never  null = iota
	inType      // as one of its types
	beside      // as another schema
)

func nullOf(v strictjson.Value) null {
	if !is(v, "nullable") && !is(v, "x-nullable") {
		return never
	}
	if kind, _ := v.Member("type"); kind.Kind() == strictjson.String {
		return inType
	}
	return beside
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
