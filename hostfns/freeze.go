package hostfns

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// maxDepth is how deep arguments may nest: what no person can read and no
// schema asks for is refused before anything looks at it.
const maxDepth = 64

// freeze turns the argument of a call into the one byte string that is
// decided on, shown, hashed and sent. A missing argument becomes {}. Input
// that two JSON readers could take for two different things (duplicate keys,
// invalid UTF-8, half a surrogate pair, numbers out of range) is an error.
func freeze(raw json.RawMessage, limit int) (json.RawMessage, error) {
	if len(raw) > limit {
		return nil, fmt.Errorf("the arguments take %d bytes, the limit is %d", len(raw), limit)
	}
	if !utf8.Valid(raw) {
		return nil, errors.New("the arguments are not valid UTF-8")
	}
	if !json.Valid(raw) {
		return nil, errNotJSON
	}
	args := withoutSpace(raw)
	if string(args) == "null" {
		return json.RawMessage("{}"), nil
	}
	if err := halfSurrogate(args); err != nil {
		return nil, err
	}
	if _, err := plain(args, 1); err != nil {
		return nil, err
	}
	return args, nil
}

var errNotJSON = errors.New("the arguments are not JSON")

// withoutSpace leaves out the space between the parts of valid JSON. What has
// none, as all that programs pass, is not copied: it may be megabytes.
func withoutSpace(raw json.RawMessage) json.RawMessage {
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			i += stringLen(raw[i:])
		case ' ', '\t', '\n', '\r':
			var out bytes.Buffer
			_ = json.Compact(&out, raw) // it is valid
			return out.Bytes()
		default:
			i++
		}
	}
	return raw
}

// stringLen is the length of the string that valid JSON begins with, with its quotes.
func stringLen(b []byte) int {
	for i := 1; ; i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// plain checks the value that b begins with, which is valid JSON without
// space, and returns what comes after it.
func plain(b []byte, depth int) (rest []byte, err error) {
	switch b[0] {
	case '"':
		return b[stringLen(b):], nil
	case 't', 'n':
		return b[len("true"):], nil
	case 'f':
		return b[len("false"):], nil
	case '{', '[':
		return plainItems(b, depth)
	}
	number := b
	if end := bytes.IndexAny(b, ",]}"); end >= 0 {
		number = b[:end]
	}
	if _, err := strconv.ParseFloat(string(number), 64); err != nil {
		return nil, fmt.Errorf("the number %.40s is out of range", number)
	}
	return b[len(number):], nil
}

// plainItems is plain for an object or an array.
func plainItems(b []byte, depth int) (rest []byte, err error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the arguments nest deeper than %d", maxDepth)
	}
	object, end := b[0] == '{', b[0]+2 // in ASCII, } and ] come two after { and [
	var seen map[string]bool
	if object {
		seen = map[string]bool{}
	}
	for b = b[1:]; b[0] != end; {
		if b[0] == ',' {
			b = b[1:]
		}
		if object {
			n := stringLen(b)
			var name string
			if err := json.Unmarshal(b[:n], &name); err != nil {
				return nil, errNotJSON
			}
			if seen[name] {
				return nil, fmt.Errorf("the key %.60q appears twice", name)
			}
			seen[name] = true
			b = b[n+1:] // the colon too
		}
		if b, err = plain(b, depth+1); err != nil {
			return nil, err
		}
	}
	return b[1:], nil
}

// halfSurrogate finds an escape such as "\ud800" without its other half. Go
// reads it as U+FFFD and JavaScript as it is written, so it would be decided as one
// text and sent as another. A backslash occurs in valid JSON only inside strings.
func halfSurrogate(b []byte) error {
	unit := func(i int) rune {
		if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' {
			return -1
		}
		n, err := strconv.ParseUint(string(b[i+2:i+6]), 16, 32)
		if err != nil {
			return -1
		}
		return rune(n)
	}
	for i := 0; i < len(b); {
		if b[i] != '\\' {
			i++
			continue
		}
		u := unit(i)
		switch {
		case u >= 0xd800 && u < 0xdc00:
			if low := unit(i + 6); low < 0xdc00 || low > 0xdfff {
				return fmt.Errorf(`the arguments hold half a surrogate pair, \u%04x`, u)
			}
			i += 12
		case u >= 0xdc00 && u < 0xe000:
			return fmt.Errorf(`the arguments hold half a surrogate pair, \u%04x`, u)
		case u >= 0:
			i += 6
		default:
			i += 2
		}
	}
	return nil
}
