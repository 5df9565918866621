package strictjson

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// EscapeToken writes a name as a token of a JSON Pointer: ~ as ~0 and / as ~1 (RFC 6901, section 3).
func EscapeToken(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// AppendToken is the pointer to the member with that name of the object that pointer leads to, or to the element with
// that index of an array: AppendToken("/a", "b/c") is "/a/b~1c". The pointer to a whole text is "".
func AppendToken(pointer, name string) string { return pointer + "/" + EscapeToken(name) }

// Tokens takes a pointer apart: "/a/b~1c" is a and b/c, "" is none. It is an error if a pointer does not begin with /,
// if a ~ is neither ~0 nor ~1, and if it is not UTF-8.
func Tokens(pointer string) ([]string, error) {
	p := jsontext.Pointer(pointer)
	if !p.IsValid() {
		return nil, fmt.Errorf("%q is not a JSON Pointer: it begins with /, and ~ is written ~0", pointer)
	}
	return slices.Collect(p.Tokens()), nil
}

// At gives the value that a JSON Pointer leads to from v; ok is false if there is none. The index of an element is
// written without leading zeros (RFC 6901, section 4).
func (v Value) At(pointer string) (at Value, ok bool) {
	p := jsontext.Pointer(pointer)
	if v.t == nil || !p.IsValid() {
		return Value{}, false
	}
	for token := range p.Tokens() {
		if v.Kind() == Array {
			v, ok = v.element(token)
		} else {
			v, ok = v.Member(token)
		}
		if !ok {
			return Value{}, false
		}
	}
	return v, true
}

// element gives the element with the index that the token says.
func (v Value) element(token string) (Value, bool) {
	index, err := strconv.Atoi(token)
	if err != nil || index < 0 || index >= v.Len() || strconv.Itoa(index) != token {
		return Value{}, false
	}
	i := v.i + 1
	for range index {
		i = v.t.nodes[i].after
	}
	return Value{v.t, i}, true
}

// Leaves calls f for every value in JSON that contains no other, with its JSON Pointer. It skips JSON that is not
// strict.
func Leaves(raw []byte, f func(pointer string, v Value)) {
	if v, err := Parse(raw, Options{}); err == nil {
		v.leaves("", f)
	}
}

func (v Value) leaves(at string, f func(pointer string, v Value)) {
	if v.Kind() != Object && v.Kind() != Array {
		f(at, v)
	}
	for key, member := range v.Members() {
		member.leaves(AppendToken(at, key), f)
	}
	for i, element := range v.Elements() {
		element.leaves(AppendToken(at, strconv.Itoa(i)), f)
	}
}
