package catalog_test

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// A generator makes values that a schema accepts, as far as the keywords go
// that servers use.
type generator struct {
	root any
	r    *rand.Rand
	most int // 0: only what is required, 1: about half of the rest, 2: everything
}

// deepest is where optional parts end, so that what refers to itself ends.
const deepest = 5

func (g *generator) value(schema any, depth int) any {
	s, ok := schema.(map[string]any)
	if !ok {
		return "anything"
	}
	if ref, ok := s["$ref"].(string); ok {
		return g.value(g.pointed(ref), depth+1)
	}
	if c, ok := s["const"]; ok {
		return c
	}
	if enum, ok := s["enum"].([]any); ok {
		return enum[g.r.IntN(len(enum))]
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := s[key].([]any); ok && s["properties"] == nil {
			form := list[g.r.IntN(len(list))]
			if depth > deepest {
				form = simplest(list)
			}
			if m, ok := form.(map[string]any); ok && m["type"] == nil && s["type"] != nil {
				both := map[string]any{"type": s["type"]}
				for k, v := range m {
					both[k] = v
				}
				form = both
			}
			return g.value(form, depth+1)
		}
	}
	if all, ok := s["allOf"].([]any); ok {
		out := map[string]any{}
		for _, part := range append([]any{without(s, "allOf")}, all...) {
			if m, ok := g.value(part, depth+1).(map[string]any); ok {
				for k, v := range m {
					out[k] = v
				}
			}
		}
		return out
	}
	kind, _ := s["type"].(string)
	if kinds, ok := s["type"].([]any); ok {
		kind, _ = kinds[g.r.IntN(len(kinds))].(string)
	}
	if kind == "" && s["properties"] != nil {
		kind = "object"
	}
	switch kind {
	case "string":
		return g.text(s)
	case "number", "integer":
		return g.number(s, kind == "integer")
	case "boolean":
		return g.r.IntN(2) == 0
	case "null":
		return nil
	case "array":
		return g.array(s, depth)
	case "object":
		return g.object(s, depth)
	}
	return "anything"
}

func (g *generator) object(s map[string]any, depth int) any {
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	keys := make([]string, 0, len(properties))
	for k := range properties {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		need := slices.Contains(required, any(k))
		want := depth < deepest && (g.most == 2 || g.most == 1 && g.r.IntN(2) == 0)
		if properties[k] != false && (need || want) {
			out[k] = g.value(properties[k], depth+1)
		}
	}
	for _, r := range required {
		if k, _ := r.(string); out[k] == nil && properties[k] == nil {
			out[k] = "anything"
		}
	}
	if extra, ok := s["additionalProperties"].(map[string]any); ok && g.most == 2 && len(keys) == 0 && depth < deepest {
		if names, ok := s["propertyNames"].(map[string]any); !ok || names["enum"] == nil && names["pattern"] == nil {
			out["extra"] = g.value(extra, depth+1)
		}
	}
	return out
}

func (g *generator) array(s map[string]any, depth int) any {
	least, n := whole(s["minItems"], 0), whole(s["minItems"], 0)
	if depth < deepest && g.most > 0 {
		n = max(least, min(2, whole(s["maxItems"], 2)))
	}
	out := []any{}
	first, _ := s["prefixItems"].([]any)
	if list, ok := s["items"].([]any); ok {
		first = list
	}
	if len(first) > 0 {
		for _, item := range first {
			out = append(out, g.value(item, depth+1))
		}
		return out
	}
	for len(out) < n {
		out = append(out, g.value(s["items"], depth+1))
	}
	if s["uniqueItems"] == true && len(out) > 1 {
		out = out[:max(1, least)]
	}
	return out
}

// number is a whole number wherever one fits.
func (g *generator) number(s map[string]any, integer bool) any {
	low, high := math.Inf(-1), math.Inf(1)
	for key, set := range map[string]func(float64){
		"minimum": func(x float64) { low = max(low, x) }, "exclusiveMinimum": func(x float64) { low = max(low, x+0.5) },
		"maximum": func(x float64) { high = min(high, x) }, "exclusiveMaximum": func(x float64) { high = min(high, x-0.5) },
	} {
		if x, ok := s[key].(float64); ok {
			set(x)
		}
	}
	x := float64(g.r.IntN(100))
	if step, ok := s["multipleOf"].(float64); ok && step > 0 {
		x *= step
	}
	x = min(max(x, low), high)
	if integer {
		x = math.Ceil(x)
	}
	return x
}

// formats are texts of the formats, and patterns, that occur.
var formats = map[string]string{
	"uri": "https://example.com/x", "url": "https://example.com/x", "email": "a@example.com", "date": "2026-01-02",
	"date-time": "2026-01-02T03:04:05Z",
	"uuid":      "8f14e45f-ceea-467f-a9a1-0a2b3c4d5e6f", "time": "03:04:05Z", "json": "{}",
}

func (g *generator) text(s map[string]any) any {
	if f, ok := s["format"].(string); ok && formats[f] != "" && s["pattern"] == nil {
		return formats[f]
	}
	if p, ok := s["pattern"].(string); ok {
		return matching(p)
	}
	text := "some text"
	if least := whole(s["minLength"], 0); len(text) < least {
		text += strings.Repeat("x", least-len(text))
	}
	return text[:min(len(text), whole(s["maxLength"], len(text)))]
}

func (g *generator) pointed(ref string) any {
	var at any = g.root
	for _, part := range strings.Split(strings.TrimPrefix(strings.TrimPrefix(ref, "#"), "/"), "/") {
		if part == "" {
			continue
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch v := at.(type) {
		case map[string]any:
			at = v[part]
		case []any:
			i := 0
			for _, r := range part {
				i = i*10 + int(r-'0')
			}
			at = v[i]
		}
	}
	return at
}

// simplest is the form that leads nowhere else.
func simplest(list []any) any {
	for _, form := range list {
		if m, ok := form.(map[string]any); ok && m["$ref"] == nil && m["properties"] == nil && m["items"] == nil {
			return form
		}
	}
	return list[0]
}

func without(s map[string]any, key string) map[string]any {
	out := map[string]any{}
	for k, v := range s {
		if k != key {
			out[k] = v
		}
	}
	return out
}

func whole(v any, byDefault int) int {
	if f, ok := v.(float64); ok {
		return int(min(f, 1000))
	}
	return byDefault
}

// matching is one of a few texts that the pattern accepts.
func matching(pattern string) string {
	for _, text := range []string{"name", "a1", "0", "abcdef0123", "2026-01-02", "https://example.com/x", "A"} {
		if ok, err := regexp.MatchString(pattern, text); err == nil && ok {
			return text
		}
	}
	return "some text"
}
