package results

import (
	"fmt"
	"slices"
	"strings"
)

// keysFrom is how many elements of an array keys are named from.
const keysFrom = 50

// shapeOf describes a value in a few words: "an array of 48,211 objects with the keys a, b, c". It does not read parts
// below the members of the value.
func shapeOf(c *cursor) (string, error) {
	if err := c.jump(0); err != nil {
		return "", err
	}
	first, err := c.peek()
	if err != nil {
		return "", err
	}
	switch first {
	case '[':
		return c.arrayShape()
	case '{':
		if err := c.enter(); err != nil {
			return "", err
		}
		_, keys, err := c.find(noKey)
		return "an object with " + keysText(keys), err
	case '"':
		if err := c.enter(); err != nil {
			return "", err
		}
		chars, lines := int64(0), int64(0)
		for c.Text {
			if _, err := c.next(); err != nil {
				return "", err
			}
			chars, lines = c.Chars, c.Lines
		}
		return fmt.Sprintf("a text of %s and %s", plural(chars, "character"), plural(lines+1, "line")), nil
	}
	return kindOf(first), nil
}

// noKey is longer than what is read of a key, so no member has it.
var noKey = strings.Repeat("\x00", 2*longestPointer)

func (c *cursor) arrayShape() (string, error) {
	if err := c.enter(); err != nil {
		return "", err
	}
	n, kinds, keys := int64(0), map[string]int64{}, []string{}
	for {
		first, err := c.peek()
		if err != nil || first == ']' {
			break
		}
		if n++; first == '{' && n <= keysFrom {
			if keys, err = c.elementKeys(keys); err != nil {
				return "", err
			}
		} else if err := c.skip(); err != nil {
			return "", err
		}
		kinds[strings.TrimPrefix(strings.TrimPrefix(kindOf(first), "an "), "a ")]++
		if unit, err := c.next(); err != nil || unit[0] != ',' {
			break
		}
	}
	for kind, of := range kinds {
		switch {
		case of < n:
			return "an array of " + plural(n, "element"), nil
		case kind == "object":
			return fmt.Sprintf("an array of %s with %s", plural(n, kind), keysText(keys)), nil
		case kind == "text", kind == "number", kind == "array":
			return "an array of " + plural(n, kind), nil
		}
	}
	return "an array of " + plural(n, "element"), nil
}

// elementKeys adds the keys of the object that begins here to keys, and moves behind it.
func (c *cursor) elementKeys(keys []string) ([]string, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	d := c.Depth
	_, more, err := c.find(noKey)
	if err != nil {
		return nil, err
	}
	for _, key := range more {
		if len(keys) < someKeys && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if c.Depth == d { // it is empty, and not closed yet
		_, err = c.next()
	}
	return keys, err
}
