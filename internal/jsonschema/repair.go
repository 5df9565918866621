package jsonschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// repair reads a decoded schema as its author most likely meant it, in place, and returns it. Servers send type words
// of other languages, keywords of other drafts and of OpenAPI, and values of the wrong kind. What has one meaning is
// read so; what has none, and what no value can satisfy, is removed, and the notes name it. The check of values and the
// declaration both read the result, so they agree. args says that the schema is about arguments, which are an object.
func repair(root any, args bool) (repaired any, notes []string) {
	r := &repairer{args: args}
	s, ok := root.(map[string]any)
	if !ok {
		return root, nil
	}
	if args {
		s = unwrapped(s)
	}
	r.schema(s)
	if t, said := s["type"]; args && said && !hasType(t, "object") {
		r.drop(s, "type", "type %s, but arguments are an object")
	}
	return s, listed(r.notes)
}

type repairer struct {
	args  bool
	notes []string
}

func (r *repairer) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...)+" is not checked")
}

// drop removes a keyword; format has a verb for its value.
func (r *repairer) drop(s map[string]any, key, format string) {
	r.note(format, literal(s[key]))
	delete(s, key)
}

// unwrapped is the schema in {"jsonSchema": {...}}, or the one whose properties stand at its root.
func unwrapped(s map[string]any) map[string]any {
	if inner, ok := s["jsonSchema"].(map[string]any); ok && len(s) == 1 {
		return inner
	}
	for key, value := range s {
		sub, ok := value.(map[string]any)
		word, typed := sub["type"].(string)
		if !ok || !typed || wordOf(word) == "" || slices.Contains([]string{"items", "not", "if", "then", "else",
			"contains", "propertyNames", "additionalProperties"}, key) {
			return s
		}
	}
	if len(s) == 0 {
		return s
	}
	return map[string]any{"type": "object", "properties": s}
}

func (r *repairer) schema(s map[string]any) {
	r.types(s)
	r.containers(s)
	r.bounds(s)
	r.values(s)
	r.unsaid(s)
	r.null(s)
	r.required(s)
	eachSubschema(s, func(sub any) {
		if sub, ok := sub.(map[string]any); ok {
			r.schema(sub)
		}
	})
	r.forms(s)
}

// words are the types in other languages. A word for any value, and one with several meanings, is none.
var words = map[string]string{
	"str": "string", "text": "string", "char": "string", "varchar": "string",
	"int": "integer", "int32": "integer", "int64": "integer", "long": "integer", "short": "integer", "uint": "integer",
	"float": "number", "float32": "number", "float64": "number", "double": "number", "decimal": "number", "num": "number",
	"bool": "boolean", "list": "array", "dict": "object", "map": "object", "obj": "object", "none": "null", "nil": "null",
}

// wordOf is the type that a word means, "" if it is not clear.
func wordOf(word string) string {
	word = strings.ToLower(strings.TrimSpace(word))
	switch word {
	case "string", "number", "integer", "boolean", "null", "array", "object":
		return word
	}
	return words[word]
}

func hasType(t any, name string) bool {
	list, ok := t.([]any)
	return ok && slices.Contains(list, any(name)) || t == any(name)
}

func (r *repairer) types(s map[string]any) {
	switch t := s["type"].(type) {
	case string:
		if known := wordOf(t); known != "" {
			s["type"] = known
		} else if slices.Contains([]string{"any", "*", "mixed", "unknown"}, strings.ToLower(t)) {
			delete(s, "type")
		} else {
			r.drop(s, "type", "the type %s")
		}
	case []any:
		var all []any
		for _, e := range t {
			word, _ := e.(string)
			known := wordOf(word)
			if e == nil {
				known = "null"
			}
			if known == "" {
				r.drop(s, "type", "the type %s")
				return
			}
			if !slices.Contains(all, any(known)) {
				all = append(all, known)
			}
		}
		if s["type"] = all; len(all) == 0 {
			r.drop(s, "type", "the type %s")
		}
	default:
		if _, said := s["type"]; said {
			r.drop(s, "type", "the type %s")
		}
	}
}

// unsaid adds the type that the author of a schema of arguments left out, where the keywords are about one alone.
func (r *repairer) unsaid(s map[string]any) {
	if m, ok := s["properties"].(map[string]any); ok && len(m) == 0 {
		delete(s, "properties")
	}
	for _, key := range []string{"type", "$ref", "const", "enum", "allOf", "anyOf", "oneOf"} {
		if s[key] != nil || !r.args {
			return
		}
	}
	for _, about := range []struct{ kind, keys string }{{"object", "properties patternProperties propertyNames"},
		{"array", "items prefixItems minItems uniqueItems"}, {"string", "minLength maxLength pattern"},
		{"number", "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"}} {
		if slices.ContainsFunc(strings.Fields(about.keys), func(key string) bool { return s[key] != nil }) {
			s["type"] = about.kind
			return
		}
	}
}

// containers gives the keywords that hold schemas the kind of value that they need.
func (r *repairer) containers(s map[string]any) {
	for _, key := range []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"} {
		value, said := s[key]
		if list, ok := value.([]any); ok && len(list) == 0 { // as PHP writes an empty object
			s[key] = map[string]any{}
		} else if m, ok := value.(map[string]any); ok {
			for _, k := range slices.Sorted(maps.Keys(m)) {
				m[k] = r.subschema(m[k])
			}
		} else if said {
			r.drop(s, key, key+" %s")
		}
	}
	for _, key := range []string{"additionalProperties", "items", "not", "if", "then", "else", "contains", "propertyNames",
		"unevaluatedProperties", "unevaluatedItems", "additionalItems"} {
		switch value := s[key].(type) {
		case nil:
			delete(s, key)
		case bool, map[string]any:
		case string:
			if yes := strings.ToLower(value); yes == "true" || yes == "false" {
				s[key] = yes == "true"
			} else {
				s[key] = r.subschema(value)
			}
		case []any:
			if key != "items" {
				r.drop(s, key, key+" %s")
			}
			for i := range value {
				value[i] = r.subschema(value[i])
			}
		default:
			r.drop(s, key, key+" %s")
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		list, ok := s[key].([]any)
		for i := range list {
			list[i] = r.subschema(list[i])
		}
		if _, said := s[key]; said && !ok {
			r.drop(s, key, key+" %s")
		}
	}
}

// subschema reads the name of a type as a schema, and any other text as a description.
func (r *repairer) subschema(v any) any {
	switch v := v.(type) {
	case bool, map[string]any:
		return v
	case string:
		if known := wordOf(v); known != "" {
			return map[string]any{"type": known}
		}
		return map[string]any{"description": v}
	case nil:
		return true
	}
	r.note("the schema %s", literal(v))
	return true
}

// bounds makes numbers of the keywords that need one, and removes bounds that no value is within.
func (r *repairer) bounds(s map[string]any) {
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if strict, ok := s[exclusive].(bool); ok { // draft-04
			delete(s, exclusive)
			if n, ok := s[bound]; strict && ok {
				s[exclusive] = n
				delete(s, bound)
			}
		}
	}
	for _, key := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
		"maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"} {
		switch value := s[key].(type) {
		case nil:
			delete(s, key)
		case json.Number:
		case string:
			n, err := Decode([]byte(value))
			if number, ok := n.(json.Number); err == nil && ok {
				s[key] = number
			} else {
				r.drop(s, key, key+" %s")
			}
		default:
			r.drop(s, key, key+" %s")
		}
	}
	if n, ok := s["multipleOf"].(json.Number); ok && compare(n, "0") <= 0 {
		r.drop(s, "multipleOf", "multipleOf %s")
	}
	for _, pair := range [][2]string{{"minimum", "maximum"}, {"exclusiveMinimum", "maximum"}, {"minimum", "exclusiveMaximum"},
		{"exclusiveMinimum", "exclusiveMaximum"}, {"minLength", "maxLength"}, {"minItems", "maxItems"},
		{"minProperties", "maxProperties"}} {
		least, has := s[pair[0]].(json.Number)
		most, also := s[pair[1]].(json.Number)
		if !strings.HasSuffix(strings.ToLower(pair[1]), "imum") && also && compare(most, "0") < 0 {
			r.drop(s, pair[1], pair[1]+" %s")
			continue
		}
		if over := compareIf(has && also, least, most); over > 0 ||
			over == 0 && has && also && strings.HasPrefix(pair[0]+pair[1], "exclusive") ||
			over == 0 && has && also && strings.HasPrefix(pair[1], "exclusive") {
			r.note("%s %s with %s %s", pair[0], literal(least), pair[1], literal(most))
			delete(s, pair[0])
			delete(s, pair[1])
		}
	}
}

func compareIf(both bool, a, b json.Number) int {
	if !both {
		return -1
	}
	return compare(a, b)
}

// values repairs enum and const.
func (r *repairer) values(s map[string]any) {
	enum, said := s["enum"]
	list, ok := enum.([]any)
	switch {
	case !said:
	case enum == nil:
		delete(s, "enum")
	case !ok || len(list) == 0:
		r.drop(s, "enum", "enum %s")
	}
	constant, has := s["const"]
	if has && len(list) > 0 { // the constant says it all
		if !slices.ContainsFunc(list, func(v any) bool { return literal(v) == literal(constant) }) {
			r.note("enum without the const %s", literal(constant))
		}
		delete(s, "enum")
		list = nil
	}
	t, typed := s["type"]
	if !typed {
		return
	}
	fits := func(v any) bool {
		kind := kindOf(v)
		return hasType(t, kind) || kind == "integer" && hasType(t, "number")
	}
	if len(list) > 0 && slices.ContainsFunc(list, fits) {
		null := func(v any) bool { return v == nil && s["nullable"] == true }
		s["enum"] = slices.DeleteFunc(list, func(v any) bool { return !fits(v) && !null(v) })
		return
	}
	if len(list) > 0 || has && !fits(constant) {
		r.drop(s, "type", "the type %s, which none of the allowed values has,")
	}
}

// null reads "nullable" of OpenAPI, and a default of null, as another form that is null.
func (r *repairer) null(s map[string]any) {
	standard, defaulted := s["default"]
	nullable := s["nullable"] == true || defaulted && standard == nil
	delete(s, "nullable")
	if !nullable {
		return
	}
	if constant, ok := s["const"]; ok && constant != nil {
		s["enum"] = []any{constant}
		delete(s, "const")
	}
	if enum, ok := s["enum"].([]any); ok && !slices.Contains(kinds(enum), "null") {
		s["enum"] = append(slices.Clip(enum), nil)
	}
	switch t := s["type"].(type) {
	case string:
		if t != "null" {
			s["type"] = []any{t, "null"}
		}
	case []any:
		if !hasType(t, "null") {
			s["type"] = append(slices.Clip(t), "null")
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := s[key].([]any); ok && len(list) > 0 && !slices.ContainsFunc(list, takesNull) {
			s[key] = append(slices.Clip(list), map[string]any{"type": "null"})
		}
	}
	if s["$ref"] == nil && s["allOf"] == nil {
		return
	}
	rest := map[string]any{}
	for _, key := range []string{"$ref", "allOf", "properties", "required", "additionalProperties", "enum", "type"} {
		if v, ok := s[key]; ok {
			rest[key] = v
			delete(s, key)
		}
	}
	s["anyOf"] = []any{rest, map[string]any{"type": "null"}}
}

func kinds(list []any) (all []string) {
	for _, v := range list {
		all = append(all, kindOf(v))
	}
	return all
}

func takesNull(v any) bool {
	s, ok := v.(map[string]any)
	return ok && (hasType(s["type"], "null") || s["nullable"] == true || s["type"] == nil && s["$ref"] == nil)
}

// required makes a list of names of it, without those that no object can have.
func (r *repairer) required(s map[string]any) {
	value, said := s["required"]
	if !said {
		return
	}
	list, ok := value.([]any)
	if name, one := value.(string); one {
		list, ok = []any{name}, true
	}
	if !ok { // true and false in a property are draft-03
		if _, old := value.(bool); !old && value != nil {
			r.note("required %s", literal(value))
		}
		delete(s, "required")
		return
	}
	properties, _ := s["properties"].(map[string]any)
	var names []any
	for _, e := range list {
		name, ok := e.(string)
		sub, listed := properties[name]
		switch {
		case !ok:
			r.note("%s in required", literal(e))
		case listed && sub == false:
			r.note("the schema false of the required %q", cut(name, 60))
			properties[name] = true
			names = append(names, e)
		case !listed && s["additionalProperties"] == false && s["patternProperties"] == nil:
			r.note("%q in required, which is no property,", cut(name, 60))
		default:
			names = append(names, e)
		}
	}
	if s["required"] = names; len(names) == 0 {
		delete(s, "required")
	}
}

// forms makes anyOf of a oneOf with a form that is there twice: a value of that form would be one of them never.
func (r *repairer) forms(s map[string]any) {
	list, ok := s["oneOf"].([]any)
	if !ok || s["anyOf"] != nil {
		return
	}
	seen := map[string]bool{}
	for _, form := range list {
		sub, ok := form.(map[string]any)
		if !ok || sub["type"] == nil {
			continue
		}
		bare := maps.Clone(sub)
		for _, key := range []string{"title", "description", "format", "default", "examples", "example", "deprecated",
			"$comment"} {
			delete(bare, key)
		}
		text := string(mustMarshal(bare))
		if seen[text] {
			s["anyOf"] = list
			delete(s, "oneOf")
			return
		}
		seen[text] = true
	}
}
