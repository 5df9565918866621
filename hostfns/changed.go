package hostfns

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// mostChanged is how many places in the arguments a report lists as changed by a person.
const mostChanged = 10

// changed lists the differences between two JSON texts as JSON Pointers. Arrays of different lengths differ as a whole.
func changed(was, is json.RawMessage) []string {
	a, _ := decoded(was)
	b, _ := decoded(is)
	all := differences(nil, "", a, b)
	return all[:min(len(all), mostChanged)]
}

// differences appends the places where two values differ, up to the limit.
func differences(all []string, at string, a, b any) []string {
	if len(all) >= mostChanged {
		return all
	}
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return append(all, at)
		}
		keys := maps.Clone(x)
		maps.Copy(keys, y)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			v, had := x[key]
			w, has := y[key]
			if had && has {
				all = differences(all, member(at, key), v, w)
			} else {
				all = append(all, member(at, key))
			}
		}
		return all
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return append(all, at)
		}
		for i := range x {
			all = differences(all, element(at, i), x[i], y[i])
		}
		return all
	}
	if !reflect.DeepEqual(a, b) {
		all = append(all, at)
	}
	return all
}

var pointerSteps = strings.NewReplacer("~", "~0", "/", "~1")

// member is the JSON Pointer of a member of the object at another one, element that of an element of a list (RFC 6901).
func member(at, key string) string    { return at + "/" + pointerSteps.Replace(key) }
func element(at string, i int) string { return at + "/" + strconv.Itoa(i) }

func decoded(raw json.RawMessage) (any, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	return v, d.Decode(&v) == nil
}
