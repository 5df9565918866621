package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// Validate checks arguments against the tool's input schema. The error is an
// [*ArgumentError] for the first place that does not fit. Arguments are always
// an object in which no key occurs twice, even when the tool has no schema or
// one that cannot be used. Arguments that cannot be checked within the steps that a check may take
// do not fit either. If ctx ends first, the error is its cause.
func (t *Tool) Validate(ctx context.Context, args json.RawMessage) error {
	return t.validate(ctx, args, gaps{})
}

func (t *Tool) validate(ctx context.Context, args json.RawMessage, g gaps) error {
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
	if at := doubleKey(args); at != nil {
		return wrong(at.pointer(), "each key once", "the same key again")
	}
	c := newChecker(ctx, t.schema(), len(args))
	c.gaps = g
	m, err := c.run(ctx, v)
	switch {
	case errors.Is(err, errCostly):
		return wrong("", "arguments that can be checked against the tool's schema", "some for which that is too costly: send less, or ask who runs the server for a simpler schema")
	case err != nil:
		return err
	case m != nil:
		return wrong(m.at.pointer(), m.want(), m.got())
	}
	return nil
}

// doubleKey finds an object that has a key twice: two readers of it could see
// two different values. It returns nil if there is none.
func doubleKey(raw []byte) *position {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value func(at *position) *position
	value = func(at *position) *position {
		tok, err := d.Token()
		if err != nil {
			return nil
		}
		switch tok {
		case json.Delim('{'):
			seen := map[string]bool{}
			for d.More() {
				k, _ := d.Token() // decode has read it before
				key, _ := k.(string)
				below := at.member(key)
				if seen[key] {
					return below
				}
				seen[key] = true
				if twice := value(below); twice != nil {
					return twice
				}
			}
			_, _ = d.Token()
		case json.Delim('['):
			for i := 0; d.More(); i++ {
				if twice := value(at.item(i)); twice != nil {
					return twice
				}
			}
			_, _ = d.Token()
		}
		return nil
	}
	return value(nil)
}

// pointerMax is how long a JSON Pointer of an error gets: its keys are a stranger's, or a program's.
const pointerMax = 2000

// pointer writes the position as a JSON Pointer. The middle of a very long one is left out.
func (p *position) pointer() string {
	var steps []string
	for ; p != nil; p = p.up {
		if p.index >= 0 {
			steps = append(steps, strconv.Itoa(p.index))
		} else {
			steps = append(steps, strictjson.EscapeToken(p.key))
		}
	}
	var b strings.Builder
	for _, s := range slices.Backward(steps) {
		b.WriteString("/" + s)
	}
	s := b.String()
	if len(s) > pointerMax {
		s = strings.ToValidUTF8(s[:pointerMax/2], "") + "…" + strings.ToValidUTF8(s[len(s)-pointerMax/4:], "")
	}
	return s
}

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

// shown is show, for later.
func shown(v any) func() string { return func() string { return show(v) } }

// quoted shows a string as JSON, cut in the middle.
func quoted(s string) string {
	if at := runesEnd(s, 60); at < len(s) {
		tail := len(s)
		for range 15 {
			_, n := utf8.DecodeLastRuneInString(s[:tail])
			tail -= n
		}
		s = s[:runesEnd(s, 40)] + "…" + s[tail:]
	}
	return strconv.Quote(s)
}

func cut(s string, max int) string {
	if at := runesEnd(s, max); at < len(s) {
		return s[:at] + "…"
	}
	return s
}

// runesEnd is where the first n characters of a text end. It does not read on.
func runesEnd(s string, n int) int {
	at := 0
	for ; n > 0 && at < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}

// parameters visits the properties of an input schema with their descriptions.
func parameters(input json.RawMessage, each func(name, description string)) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(input, &s) != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		raw := s.Properties[name]
		var p struct {
			Description string `json:"description"`
		}
		_ = json.Unmarshal(raw, &p) // a description of another type is none
		each(name, p.Description)
	}
}
