package jsonschema

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// A KeyOrder remembers in which order the keys of decoded objects were
// written. Authors put first what matters most.
type KeyOrder map[uintptr][]string

// DecodeOrdered is decode with the order of keys; nesting beyond schemaDepth is refused.
func DecodeOrdered(raw []byte) (any, KeyOrder, error) {
	order := KeyOrder{}
	v, err := Decode(raw) // for its strictness: what follows trusts the input
	if err != nil {
		return nil, nil, err
	}
	if deep(v, schemaDepth) {
		return nil, nil, errTooDeep
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	order.read(d, v)
	return v, order, nil
}

// read goes through the text of v beside v itself.
func (o KeyOrder) read(d *json.Decoder, v any) {
	if _, err := d.Token(); err != nil { // a scalar, or the opening of what follows
		return
	}
	switch v := v.(type) {
	case map[string]any:
		var keys []string
		for d.More() {
			t, err := d.Token()
			key, ok := t.(string)
			if err != nil || !ok {
				return
			}
			keys = append(keys, key)
			o.read(d, v[key])
		}
		_, _ = d.Token() // the closing one
		o[reflect.ValueOf(v).Pointer()] = keys
	case []any:
		for i := 0; i < len(v) && d.More(); i++ {
			o.read(d, v[i])
		}
		_, _ = d.Token() // the closing one
	}
}

// Keys returns the keys of m as they were written, or sorted if m was not read from a text.
func (o KeyOrder) Keys(m map[string]any) []string {
	written := o[reflect.ValueOf(m).Pointer()]
	var out []string
	seen := map[string]bool{}
	for _, k := range written {
		if _, ok := m[k]; ok && !seen[k] {
			out = append(out, k)
			seen[k] = true
		}
	}
	if len(out) != len(m) {
		return slices.Sorted(maps.Keys(m))
	}
	return out
}
