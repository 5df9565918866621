package catalog

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// What a schema from a stranger may cost. Real ones stay far below.
const (
	schemaBytes = 1 << 20
	schemaDepth = 64
)

// A compiled is a tool's input schema, ready to be checked against. Nothing in
// it changes once it is made.
type compiled struct {
	once     sync.Once
	root     any                       // the schema as plain JSON; nil accepts any object
	draft7   bool                      // else 2020-12
	tracks   bool                      // it has an "unevaluated" keyword somewhere
	targets  map[uintptr]any           // by schema that is a reference: what it refers to
	patterns map[string]*regexp.Regexp // nil for one that cannot be compiled
	note     string                    // what of the schema cannot be used, "" if nothing
}

func (t *Tool) schema() *compiled {
	c := t.compiled
	if c == nil { // a Tool that never was in a catalogue
		c = new(compiled)
	}
	c.once.Do(func() { c.compile(t.Input) })
	return c
}

// compile reads a schema of draft-07 or 2020-12. It loads nothing from
// elsewhere. What of a schema cannot be used is noted and left out; the rest counts.
func (c *compiled) compile(raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	if len(raw) > schemaBytes {
		c.note = fmt.Sprintf("%d bytes long, more than %d", len(raw), schemaBytes)
		return
	}
	root, err := decode(raw)
	if err != nil {
		c.note = fmt.Sprintf("not JSON: %v", err)
		return
	}
	s, ok := root.(map[string]any)
	switch {
	case root == true, root == false: // false would make a tool that cannot be called
		return
	case !ok:
		c.note = "neither an object nor true"
		return
	case deep(s, schemaDepth):
		c.note = fmt.Sprintf("nested more than %d deep", schemaDepth)
		return
	}
	c.root, c.targets, c.patterns = root, map[uintptr]any{}, map[string]*regexp.Regexp{}
	var notes []string
	version, _ := s["$schema"].(string)
	switch {
	case strings.Contains(version, "draft-07"):
		c.draft7 = true
	case version != "" && !strings.Contains(version, "2020-12"):
		c.draft7 = strings.Contains(version, "draft-0")
		notes = append(notes, fmt.Sprintf("version %q is unknown and read as the nearest that is known", cut(version, 60)))
	}
	c.gather(root)
	l := linker{c: c, resources: map[string]any{}, anchors: map[string]any{}}
	l.find(root, new(url.URL), false)
	l.find(root, new(url.URL), true)
	notes = append(notes, l.notes...)
	for p, re := range c.patterns {
		if re == nil {
			notes = append(notes, fmt.Sprintf("pattern %q is not in the syntax of RE2", cut(p, 60)))
		}
	}
	slices.Sort(notes)
	c.note = strings.Join(slices.Compact(notes), "; ")
}

// gather collects what the check needs to look up.
func (c *compiled) gather(v any) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	if s["unevaluatedProperties"] != nil || s["unevaluatedItems"] != nil {
		c.tracks = true
	}
	if p, ok := s["pattern"].(string); ok {
		c.patterns[p], _ = expression(p)
	}
	if m, ok := s["patternProperties"].(map[string]any); ok {
		for p := range m {
			c.patterns[p], _ = expression(p)
		}
	}
	eachSubschema(s, c.gather)
}

// unicodeEscape is how the regular expressions of schemas write a character by
// its number; those of Go write it differently.
var unicodeEscape = regexp.MustCompile(`\\u([0-9A-Fa-f]{4})`)

func expression(p string) (*regexp.Regexp, error) {
	return regexp.Compile(unicodeEscape.ReplaceAllString(p, `\x{$1}`))
}

// pattern returns the expression, nil if it cannot be used.
func (c *compiled) pattern(p string) *regexp.Regexp {
	if re, ok := c.patterns[p]; ok {
		return re
	}
	re, _ := expression(p) // of a schema that only a reference leads to
	return re
}

// eachSubschema visits the schemas directly inside a schema.
func eachSubschema(s map[string]any, visit func(any)) {
	for _, key := range []string{"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items",
		"not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"} {
		if list, ok := s[key].([]any); ok {
			for _, sub := range list {
				visit(sub)
			}
		} else if sub, ok := s[key]; ok {
			visit(sub)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		if list, ok := s[key].([]any); ok {
			for _, sub := range list {
				visit(sub)
			}
		}
	}
	for _, key := range []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"} {
		if m, ok := s[key].(map[string]any); ok {
			for _, sub := range m {
				visit(sub)
			}
		}
	}
}

func deep(v any, levels int) bool {
	if levels == 0 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if deep(e, levels-1) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if deep(e, levels-1) {
				return true
			}
		}
	}
	return false
}

// mustMarshal encodes what was decoded from JSON.
func mustMarshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("catalog: encoding decoded JSON: " + err.Error())
	}
	return b
}
