package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	longestWord = 32 // characters of a key that are shown
	keysFrom    = 50 // elements of an array from which keys are named
)

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

// keysText names the given keys. If they are as many as are looked at, it says that there may be more.
func keysText(keys []string) string {
	switch len(keys) {
	case 0:
		return "no keys"
	case 1:
		return "the key " + shortened(keys[0])
	}
	all := make([]string, len(keys))
	for i, k := range keys {
		all[i] = shortened(k)
	}
	text := "the keys " + strings.Join(all, ", ")
	if len(keys) == someKeys {
		text += ", ..."
	}
	return text
}

// shortened shows a word that a program chose. A plain one is shown as it is.
func shortened(word string) string {
	if runes := []rune(word); len(runes) > longestWord {
		word = string(runes[:longestWord]) + "..."
	}
	plain := word != ""
	for _, c := range word {
		plain = plain && (c == '_' || c == '-' || c == '.' || c == '/' || c == '~' || c >= '0' && c <= '9' ||
			c|' ' >= 'a' && c|' ' <= 'z' && c < utf8.RuneSelf)
	}
	if plain {
		return word
	}
	return strconv.QuoteToASCII(word)
}

// plural counts things: "48,211 elements".
func plural(n int64, noun string) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if n != 1 {
		noun += "s"
	}
	return digits + " " + noun
}
