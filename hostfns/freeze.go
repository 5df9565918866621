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
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return nil, errors.New("the arguments are not JSON")
	}
	if out.String() == "null" {
		return json.RawMessage("{}"), nil
	}
	if err := halfSurrogate(out.Bytes()); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(out.Bytes()))
	d.UseNumber()
	if err := plain(d, 1); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// plain reads one value from d, which holds valid JSON.
func plain(d *json.Decoder, depth int) error {
	tok, err := d.Token()
	if err != nil {
		return errors.New("the arguments are not JSON")
	}
	switch t := tok.(type) {
	case json.Number:
		if _, err := strconv.ParseFloat(t.String(), 64); err != nil {
			return fmt.Errorf("the number %.40s is out of range", t)
		}
	case json.Delim:
		if depth > maxDepth {
			return fmt.Errorf("the arguments nest deeper than %d", maxDepth)
		}
		seen := map[string]bool{}
		for d.More() {
			if t == '{' {
				key, err := d.Token()
				if err != nil {
					return errors.New("the arguments are not JSON")
				}
				name, _ := key.(string)
				if seen[name] {
					return fmt.Errorf("the key %.60q appears twice", name)
				}
				seen[name] = true
			}
			if err := plain(d, depth+1); err != nil {
				return err
			}
		}
		_, err := d.Token() // the closing bracket
		return err
	}
	return nil
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
