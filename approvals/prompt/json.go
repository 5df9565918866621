package prompt

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"strconv"

	"github.com/codemode-project/codemode/internal/strictjson"
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

func digest(b []byte) []byte {
	d := sha256.Sum256(b)
	return d[:]
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
