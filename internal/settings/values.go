package settings

import (
	"encoding/json"
	"errors"
	"iter"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// ParseArguments reads the arguments of a call: standard JSON that all readers interpret alike. A number may exceed the
// range of a double; conditions compare it exactly.
func ParseArguments(text string) (strictjson.Value, *strictjson.SyntaxError) {
	return parseText(text, strictjson.Options{AllowHugeNumbers: true})
}

// ParseCall is [ParseArguments] for a call that may have no arguments: they are then an empty object.
func ParseCall(args json.RawMessage) (strictjson.Value, *strictjson.SyntaxError) {
	if len(args) == 0 || string(args) == "null" {
		return ParseArguments("{}")
	}
	return ParseArguments(string(args))
}

// ParseFile reads JSON with comments and trailing commas. It accepts duplicate keys; the caller reports them.
func ParseFile(text string) (strictjson.Value, *strictjson.SyntaxError) {
	return parseText(text, strictjson.Options{Comments: true, AllowDuplicates: true, AllowHugeNumbers: true})
}

func parseText(text string, o strictjson.Options) (strictjson.Value, *strictjson.SyntaxError) {
	v, err := strictjson.Parse(text, o)
	var bad *strictjson.SyntaxError
	errors.As(err, &bad)
	return v, bad
}

// Children returns the members or elements of a value in order.
func Children(v strictjson.Value) iter.Seq[strictjson.Value] {
	return func(yield func(strictjson.Value) bool) {
		for _, child := range v.Members() {
			if !yield(child) {
				return
			}
		}
		for _, child := range v.Elements() {
			if !yield(child) {
				return
			}
		}
	}
}

// Member returns the member with that name; it is missing if there is none.
func Member(v strictjson.Value, name string) strictjson.Value {
	m, _ := v.Member(name)
	return m
}

// Source is the value as standard JSON, without comments, spaces and trailing commas.
func Source(v strictjson.Value) []byte { return []byte(v.Compact()) }
