package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Validate checks arguments against the tool's input schema. The error is an
// [*ArgumentError] for the first place that does not fit. Arguments are always
// an object in which no key occurs twice, even when the tool has no schema or
// one that cannot be used.
func (t *Tool) Validate(args json.RawMessage) error { return t.validate(args, gaps{}) }

func (t *Tool) validate(args json.RawMessage, g gaps) error {
	wrong := func(path, want, got string) error {
		return &ArgumentError{Tool: t.Name, Path: path, Want: want, Got: got}
	}
	v, err := decode(args)
	if err != nil {
		return wrong("", "one JSON object", "something that is no JSON: "+err.Error())
	}
	if _, ok := v.(map[string]any); !ok {
		return wrong("", "an object", show(v))
	}
	if path, twice := doubleKey(args); twice {
		return wrong(path, "each key once", "the same key again")
	}
	c := checker{compiled: t.schema(), gaps: g}
	m := c.check(c.root, v, "", 0, nil)
	if m == nil || c.over() {
		return nil
	}
	return wrong(m.path, m.want, m.got)
}

// doubleKey finds an object that has a key twice: two readers of it could see
// two different values.
func doubleKey(raw []byte) (path string, found bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value func(path string) (string, bool)
	value = func(path string) (string, bool) {
		tok, err := d.Token()
		if err != nil {
			return "", false
		}
		switch tok {
		case json.Delim('{'):
			seen := map[string]bool{}
			for d.More() {
				k, _ := d.Token() // decode has read it before
				key, _ := k.(string)
				at := path + "/" + escapePointer(key)
				if seen[key] {
					return at, true
				}
				seen[key] = true
				if at, twice := value(at); twice {
					return at, true
				}
			}
			_, _ = d.Token()
		case json.Delim('['):
			for i := 0; d.More(); i++ {
				if at, twice := value(path + "/" + strconv.Itoa(i)); twice {
					return at, true
				}
			}
			_, _ = d.Token()
		}
		return "", false
	}
	return value("")
}

// pointerSteps is made once: to make it takes longer than a schema takes to check.
var pointerSteps = strings.NewReplacer("~", "~0", "/", "~1")

func escapePointer(key string) string { return pointerSteps.Replace(key) }

// show describes a value in few words.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return "the number " + cut(v.String(), 40)
	case string:
		return "the string " + quoted(v)
	case []any:
		return fmt.Sprintf("an array of %d", len(v))
	case map[string]any:
		if len(v) == 0 {
			return "an empty object"
		}
		return "an object"
	}
	return fmt.Sprintf("%v", v)
}

// quoted shows a string as JSON, cut in the middle.
func quoted(s string) string {
	if r := []rune(s); len(r) > 60 {
		s = string(r[:40]) + "…" + string(r[len(r)-15:])
	}
	return strconv.Quote(s)
}

func cut(s string, max int) string {
	if r := []rune(s); len(r) > max {
		return string(r[:max]) + "…"
	}
	return s
}

// parameters visits the properties of an input schema with their descriptions.
func parameters(input json.RawMessage, each func(name, description string)) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(input, &s) != nil {
		return
	}
	for name, raw := range s.Properties {
		var p struct {
			Description string `json:"description"`
		}
		_ = json.Unmarshal(raw, &p) // a description of another type is none
		each(name, p.Description)
	}
}
