package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"
)

// elements returns the elements of a JSON array, at most that many: an element of one byte takes twenty-four in the
// list. more says that there are others. null is an empty array. raw is valid JSON or empty; the elements share its
// bytes.
func elements(raw json.RawMessage, limit int) (list []json.RawMessage, more bool, err error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case bytes.Equal(raw, []byte("null")):
		return nil, false, nil
	case len(raw) == 0 || raw[0] != '[':
		return nil, false, errNoResult
	}
	split(raw, func(_, e json.RawMessage) bool {
		if more = len(list) == limit; !more {
			list = append(list, e)
		}
		return !more
	})
	return list, more, nil
}

// membersOf returns some members of an object; ok is false if raw, which is valid JSON or empty, is none. Of several
// members of one name the last counts, as for [json.Unmarshal]. They share the bytes of raw.
func membersOf(raw json.RawMessage, names ...string) (m map[string]json.RawMessage, ok bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return nil, false
	}
	m = make(map[string]json.RawMessage, len(names))
	split(raw, func(key, value json.RawMessage) bool {
		name := string(key[1 : len(key)-1])
		if (bytes.IndexByte(key, '\\') >= 0 || !utf8.Valid(key)) && json.Unmarshal(key, &name) != nil {
			return true
		}
		if slices.Contains(names, name) {
			m[name] = value
		}
		return true
	})
	return m, true
}

// split yields the elements of an array, or the members of an object with their keys, without copying them. raw is valid
// JSON and has no space around it.
func split(raw json.RawMessage, yield func(key, value json.RawMessage) bool) {
	var key json.RawMessage
	depth, from := 0, 1
	for at := 0; at < len(raw); at++ {
		switch raw[at] {
		case '"':
			at = stringEnd(raw, at)
		case '{', '[':
			depth++
		case ':':
			if depth == 1 {
				key, from = bytes.TrimSpace(raw[from:at]), at+1
			}
		case ',', '}', ']':
			if depth == 1 {
				if value := bytes.TrimSpace(raw[from:at]); len(value) > 0 && !yield(key, value) {
					return
				}
				from = at + 1
			}
			if raw[at] != ',' {
				depth--
			}
		}
	}
}

// stringEnd returns where the string that begins at a place ends: at its closing quote.
func stringEnd(raw []byte, at int) int {
	for at++; ; at++ {
		next := bytes.IndexByte(raw[at:], '"')
		if next < 0 {
			return len(raw)
		}
		at += next
		slashes := 0
		for raw[at-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return at
		}
	}
}

// objectOf returns the members of an object. An empty array is one without members: PHP writes it so.
func objectOf(raw json.RawMessage) (m map[string]json.RawMessage, ok bool) {
	if bytes.Equal(bytes.Join(bytes.Fields(raw), nil), []byte("[]")) {
		return nil, true
	}
	ok = json.Unmarshal(raw, &m) == nil && m != nil
	return m, ok
}

// errNoResult is the error for an answer that is no result of a tool.
var errNoResult = errors.New("it answered with something that is no tool result")
