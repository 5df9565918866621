package jsonschema

import (
	"bytes"
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

// A position is a place in the value; nil is its root. Its text, which is as long as all the keys above it, is made
// only when it is needed.
type position struct {
	up    *position
	key   string // of an object
	index int    // of an array, -1 for an object
	depth int    // 0 for the root
}

func (p *position) below() int {
	if p == nil {
		return 1
	}
	return p.depth + 1
}

func (p *position) member(key string) *position { return &position{p, key, -1, p.below()} }
func (p *position) item(i int) *position        { return &position{p, "", i, p.below()} }

// pointerMax bounds the JSON Pointer in an error: untrusted servers and programs choose its keys.
const pointerMax = 2000

// Pointer writes the position as a JSON Pointer, and cuts the middle of a very long one.
func (p *position) Pointer() string {
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

// Show describes a value in few words.
func Show(v any) string {
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

// shown is a lazy [Show].
func shown(v any) func() string { return func() string { return Show(v) } }

// quoted shows a string in quotation marks, and cuts the middle of a long one.
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

// cut shortens a text to max characters.
func cut(s string, max int) string {
	if at := runesEnd(s, max); at < len(s) {
		return s[:at] + "…"
	}
	return s
}

// runesEnd is the offset of the end of the first n characters. It reads only those.
func runesEnd(s string, n int) int {
	at := 0
	for ; n > 0 && at < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}

// Decode reads exactly one JSON value, and keeps numbers as json.Number.
func Decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(raw[d.InputOffset():])) > 0 {
		return nil, errTrailing
	}
	return v, nil
}

// FromTree is what [Decode] makes of the text of a value, without reading the text again.
func FromTree(v strictjson.Value) any {
	switch v.Kind() {
	case strictjson.Object:
		members := make(map[string]any, v.Len())
		for name, member := range v.Members() {
			members[name] = FromTree(member)
		}
		return members
	case strictjson.Array:
		items := make([]any, 0, v.Len())
		for _, item := range v.Elements() {
			items = append(items, FromTree(item))
		}
		return items
	case strictjson.String:
		return v.Text()
	case strictjson.Number:
		return json.Number(v.Text())
	case strictjson.True, strictjson.False:
		return v.Kind() == strictjson.True
	}
	return nil
}

var (
	errTrailing = errors.New("more than one JSON value")
	errTooDeep  = errors.New("nested too deep")
)

// literal shows a constant as JSON, shortened.
func literal(v any) string { return cut(string(appendLiteral(nil, v, 4*60+8)), 60) }

// appendLiteral appends JSON, about up to most bytes of it.
func appendLiteral(to []byte, v any, most int) []byte {
	switch v := v.(type) {
	case string:
		return append(to, mustMarshal(cut(v, most))...)
	case json.Number:
		return append(to, cut(v.String(), most)...)
	case []any:
		to = append(to, '[')
		for i, e := range v {
			if i > 0 {
				to = append(to, ',')
			}
			if len(to) > most {
				break
			}
			to = appendLiteral(to, e, most)
		}
		return append(to, ']')
	case map[string]any:
		if len(v) > most { // sorting them would take long
			return append(to, "{…"...)
		}
		to = append(to, '{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				to = append(to, ',')
			}
			if len(to) > most {
				break
			}
			to = appendLiteral(append(append(to, mustMarshal(cut(k, most))...), ':'), v[k], most)
		}
		return append(to, '}')
	}
	return append(to, mustMarshal(v)...)
}

// mustMarshal encodes what was decoded from JSON.
func mustMarshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("jsonschema: encoding decoded JSON: " + err.Error())
	}
	return b
}
