package jsonschema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func (w *typeWriter) enumTypes(enum []any) []string {
	w.spend(len(enum))
	var union []string
	for i, v := range enum {
		if i == enumMax { // the rest only by its kind
			for _, v := range enum[i:] {
				switch k := kindOf(v); k {
				case "integer":
					union = append(union, "number")
				case "array", "object":
					union = append(union, "unknown")
				default:
					union = append(union, k)
				}
			}
			break
		}
		union = append(union, w.literalType(v))
	}
	return w.compact(union)
}

// literalType is the type of exactly one value.
func (w *typeWriter) literalType(v any) string {
	if !w.spend(2) {
		return "unknown"
	}
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		w.spend(len(v))
		return string(mustMarshal(v))
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		if _, err := strconv.ParseFloat(v.String(), 64); err != nil {
			return "number"
		}
		return v.String()
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, w.literalType(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		if len(v) == 0 {
			return "{}"
		}
		var parts []string
		w.spend(20 * len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, PropertyName(k)+": "+w.literalType(v[k]))
		}
		return "{ " + strings.Join(parts, "; ") + " }"
	}
	return "unknown"
}
