package jsonschema

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// A keyOrder has the keys of decoded objects in the order of the text. Authors put the most important first.
type keyOrder map[uintptr][]string

// decodeOrdered is [Decode] with the order of keys. It refuses nesting beyond schemaDepth.
func decodeOrdered(raw []byte) (any, keyOrder, error) {
	order := keyOrder{}
	v, err := Decode(raw) // it is strict, so that the second reading can trust the text
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

// read walks through v and its text at the same time.
func (o keyOrder) read(d *json.Decoder, v any) {
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

// Keys returns the keys of m in the order of its text, or sorted if m was not read from a text.
func (o keyOrder) Keys(m map[string]any) []string {
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
