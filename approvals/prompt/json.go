package prompt

import (
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/codemode-project/codemode/internal/strictjson"
	spelling "github.com/codemode-project/codemode/internal/visible" // visible is a table here
)

// parseArgs reads the arguments of a call as the Gate does; no bytes are null. Arguments that JSON readers interpret
// differently are an error: they have no digest, so they are neither shown for approval nor covered by a grant.
func parseArgs(raw []byte) (strictjson.Value, error) {
	if len(raw) == 0 {
		return strictjson.Parse("null", strictjson.Options{})
	}
	return strictjson.Parse(raw, strictjson.Options{})
}

// canonical returns the form of arguments that digests are computed from.
func canonical(raw []byte) ([]byte, error) {
	v, err := parseArgs(raw)
	if err != nil {
		return nil, fmt.Errorf("the arguments have no canonical form: %w", err)
	}
	return v.AppendCanonical(make([]byte, 0, len(raw))), nil
}

func nested(v strictjson.Value) bool {
	return v.Kind() == strictjson.Object || v.Kind() == strictjson.Array
}

// children iterates over the members of an object or the elements of an array, each with its step of a JSON Pointer.
func children(v strictjson.Value) iter.Seq2[string, strictjson.Value] {
	if v.Kind() == strictjson.Object {
		return v.Members()
	}
	return func(yield func(string, strictjson.Value) bool) {
		for i, e := range v.Elements() {
			if !yield(strconv.Itoa(i), e) {
				return
			}
		}
	}
}

// places iterates over the values that a path leads to, with the pointer of each. The step * matches every child.
func places(v strictjson.Value, path []string, at string) iter.Seq2[string, strictjson.Value] {
	return func(yield func(string, strictjson.Value) bool) {
		if len(path) == 0 {
			yield(at, v)
			return
		}
		for step, child := range children(v) {
			if path[0] != "*" && path[0] != step {
				continue
			}
			for at, found := range places(child, path[1:], strictjson.AppendToken(at, step)) {
				if !yield(at, found) {
					return
				}
			}
		}
	}
}

// lookAlike is the error of a value with a key that looks like one of the path: an upstream that ignores case, or a
// reader, may take it for that one. This pairs with the conditions of rules.
func lookAlike(v strictjson.Value, path []string) error {
	if len(path) == 0 {
		return nil
	}
	for step, child := range children(v) {
		if v.Kind() == strictjson.Object && path[0] != "*" && spelling.Alike(step, path[0]) {
			return fmt.Errorf("%w: the arguments have %s, which looks like %s", errNotOffered, Quote(step), Quote(path[0]))
		}
		if path[0] != "*" && path[0] != step {
			continue
		}
		if err := lookAlike(child, path[1:]); err != nil {
			return err
		}
	}
	return nil
}

// valueAt returns the value at a JSON Pointer, where a segment * matches every child: canonical JSON, or "" if there is
// none. A key that looks like one of the pointer is an error.
func valueAt(args strictjson.Value, pointer string) (string, error) {
	path, err := strictjson.Tokens(pointer)
	if err == nil {
		err = lookAlike(args, path)
	}
	if err != nil {
		return "", err
	}
	var b []byte
	for at, value := range places(args, path, "") {
		if len(b) > 0 {
			b = append(b, ' ')
		}
		if slices.Contains(path, "*") {
			b = append(append(b, at...), '=')
		}
		b = value.AppendCanonical(b)
	}
	return string(b), nil
}
