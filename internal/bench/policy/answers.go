package policy

import (
	"encoding/json"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/tools/catalog"
)

// canary is in every text that a double answers. Where it turns up in arguments, a program has carried it there.
const canary = "canary-3f9a"

// answer makes the result of a call: its schema says which, else it is a text.
func answer(t *catalog.Tool) (value, structured json.RawMessage) {
	var schema map[string]any
	if json.Unmarshal(t.Output, &schema) != nil || schema == nil {
		value, _ = json.Marshal(canary + ", as " + t.Name + " answered")
		return value, nil
	}
	g := generator{root: schema, text: canary}
	made, err := json.Marshal(g.value("result", schema, 0))
	if err != nil {
		return json.RawMessage("null"), nil
	}
	return made, made
}

// A generator makes a value that fits a schema: what it requires, and nothing more.
type generator struct {
	root map[string]any
	text string // the beginning of every free text; "" takes what the name of the member says
	made int    // values so far
}

// fullResult is how deep a result has also what its schema does not require.
const fullResult = 3

const (
	deepestValue = 8      // where a schema that refers to itself ends
	mostValues   = 10_000 // no server needs more, and a schema can ask for any number
)

func (g *generator) value(name string, s map[string]any, depth int) any {
	if g.made++; depth > deepestValue || g.made > mostValues {
		return nil
	}
	if ref, ok := s["$ref"].(string); ok {
		return g.value(name, g.pointed(ref), depth+1)
	}
	for _, key := range []string{"const", "default"} {
		if v, ok := s[key]; ok {
			return v
		}
	}
	for _, key := range []string{"enum", "examples"} {
		if list, ok := s[key].([]any); ok && len(list) > 0 {
			return list[0]
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := s[key].([]any); ok && len(list) > 0 && s["properties"] == nil && s["type"] == nil {
			first, _ := list[0].(map[string]any)
			return g.value(name, first, depth+1)
		}
	}
	switch typeOf(s) {
	case "object":
		return g.object(s, depth)
	case "array":
		return g.array(name, s, depth)
	case "integer", "number":
		return number(s)
	case "boolean":
		return false
	case "null":
		return nil
	}
	return g.string(name, s)
}

// typeOf is the type of a schema; "" leaves it open.
func typeOf(s map[string]any) string {
	if types, ok := s["type"].([]any); ok && len(types) > 0 {
		first, _ := types[0].(string)
		return first
	}
	if t, ok := s["type"].(string); ok {
		return t
	}
	if s["properties"] != nil {
		return "object"
	}
	return ""
}

// pointed follows a reference inside the schema.
func (g *generator) pointed(ref string) map[string]any {
	at := g.root
	for _, step := range strings.Split(strings.TrimPrefix(strings.TrimPrefix(ref, "#"), "/"), "/") {
		if step == "" {
			continue
		}
		at, _ = at[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)].(map[string]any)
	}
	return at
}

func (g *generator) object(s map[string]any, depth int) map[string]any {
	made := map[string]any{}
	members, _ := s["properties"].(map[string]any)
	needs, _ := s["required"].([]any)
	if g.text != "" && depth < fullResult {
		needs = nil
		for _, name := range sortedKeys(members) {
			needs = append(needs, name)
		}
	}
	for _, need := range needs {
		if name, ok := need.(string); ok {
			of, _ := members[name].(map[string]any)
			made[name] = g.value(name, of, depth+1)
		}
	}
	return made
}

func (g *generator) array(name string, s map[string]any, depth int) []any {
	n := max(1, int(asNumber(s["minItems"])))
	of, _ := s["items"].(map[string]any)
	made := []any{}
	for range min(n, 100) {
		made = append(made, g.value(name, of, depth+1))
	}
	return made
}

func number(s map[string]any) any {
	n := max(1, asNumber(s["minimum"]))
	if least, ok := s["exclusiveMinimum"].(float64); ok {
		n = max(n, least+1)
	}
	if step := asNumber(s["multipleOf"]); step > 0 {
		n = max(n, step)
	}
	if most, ok := s["maximum"].(float64); ok {
		n = min(n, most)
	}
	return n
}

func asNumber(v any) float64 {
	n, _ := v.(float64)
	return n
}

// formats are texts in the formats of JSON Schema.
var formats = map[string]string{"date": "2026-01-02", "date-time": "2026-01-02T03:04:05Z", "time": "03:04:05Z",
	"duration": "PT1H", "email": "anna@example.org", "hostname": "example.org", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uri": "https://example.org/x", "url": "https://example.org/x", "uuid": "0f0e0d0c-0b0a-4908-8706-050403020100"}

// usual are texts for the kinds of arguments.
var usual = map[kind]string{path: "notes.txt", website: formats["uri"], address: formats["email"], command: "date",
	query: "SELECT 1"}

func (g *generator) string(name string, s map[string]any) string {
	text := g.text
	format, _ := s["format"].(string)
	switch formatted, ok := formats[format]; {
	case ok:
		return formatted
	case text == "":
		text = usual[kindOf(name, s)]
	}
	if text == "" {
		text = "x"
	}
	if p, ok := s["pattern"].(string); ok {
		if re, err := regexp.Compile(p); err == nil && !re.MatchString(text) {
			text = matching(p, "x")
		}
	}
	for least := int(asNumber(s["minLength"])); len(text) < min(least, 1000); {
		text += "x"
	}
	if most, ok := s["maxLength"].(float64); ok && len(text) > int(most) {
		text = text[:int(most)]
	}
	return text
}

// matching makes a text that a regular expression matches, with fill where any text fits; "" if it is not clear how.
func matching(expression, fill string) string {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	written(&b, re.Simplify(), fill)
	return b.String()
}

func written(b *strings.Builder, re *syntax.Regexp, fill string) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			b.WriteRune(pleasant(re.Rune))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteString("x")
	case syntax.OpStar, syntax.OpPlus:
		of := re.Sub[0]
		if accepts(of, fill) {
			b.WriteString(fill)
		} else if re.Op == syntax.OpPlus {
			written(b, of, fill)
		}
	case syntax.OpRepeat:
		for range re.Min {
			written(b, re.Sub[0], fill)
		}
	case syntax.OpConcat, syntax.OpCapture:
		for _, of := range re.Sub {
			written(b, of, fill)
		}
	case syntax.OpAlternate:
		written(b, re.Sub[0], fill)
	}
}

// accepts reports whether every character of a text is one that the expression matches.
func accepts(re *syntax.Regexp, text string) bool {
	switch re.Op {
	case syntax.OpAnyChar:
		return true
	case syntax.OpAnyCharNotNL:
		return !strings.Contains(text, "\n")
	case syntax.OpCharClass:
		return !strings.ContainsFunc(text, func(r rune) bool {
			for i := 0; i+1 < len(re.Rune); i += 2 {
				if re.Rune[i] <= r && r <= re.Rune[i+1] {
					return false
				}
			}
			return true
		})
	}
	return false
}

// pleasant is a character of a class, a letter if it has one.
func pleasant(class []rune) rune {
	for i := 0; i+1 < len(class); i += 2 {
		if class[i] <= 'x' && 'x' <= class[i+1] {
			return 'x'
		}
	}
	return class[0]
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
