package results

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/hostfns"
)

// A span is what a part selects of an array, an object or a text.
type span struct {
	from, count int64
	whole       bool // all of it
	lines       bool // of a text, by lines
	most        int  // bytes of JSON
}

// read returns the JSON of a part. Its error is a [*hostfns.ArgumentError] if the part does not exist, or is too large.
func (c *cursor) read(p *hostfns.Part, most int) ([]byte, error) {
	if err := c.jump(0); err != nil {
		return nil, err
	}
	if err := c.follow(p.Pointer); err != nil {
		return nil, err
	}
	s := span{count: math.MaxInt64, whole: p.From == nil && p.Count == nil && !p.Lines, lines: p.Lines, most: most}
	if p.From != nil {
		s.from = *p.From
	}
	if p.Count != nil {
		s.count = *p.Count
	}
	first, err := c.peek()
	switch {
	case err != nil:
		return nil, err
	case first == '"' && !s.whole:
		return c.text(s)
	case s.whole:
		return c.value(first, s)
	case s.lines:
		return nil, &hostfns.ArgumentError{Path: "/lines", Expected: "a text at the pointer", Got: kindOf(first)}
	case first == '[' || first == '{':
		return c.members(first, s)
	}
	return nil, &hostfns.ArgumentError{Path: "/from", Expected: "an array, an object or a text at the pointer",
		Got: kindOf(first)}
}

// follow moves to the value at a JSON Pointer.
func (c *cursor) follow(pointer string) error {
	wrong := func(expected, got string) error {
		return &hostfns.ArgumentError{Path: "/pointer", Expected: expected, Got: got}
	}
	if len(pointer) > longestPointer || pointer != "" && pointer[0] != '/' || badEscape(pointer) {
		return wrong(`a JSON Pointer such as "/items/0/name", with ~1 for / and ~0 for ~ in a key`, shortened(pointer))
	}
	at := "the value"
	for _, token := range strings.Split(pointer, "/")[1:] {
		key := strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		first, err := c.peek()
		if err != nil {
			return err
		}
		switch first {
		case '[':
			n, ok := index(key)
			if !ok {
				return wrong(at+" is an array, so a number from 0", shortened(key))
			}
			if err := c.enter(); err != nil {
				return err
			}
			there, left, err := c.member(n)
			if err != nil {
				return err
			}
			if !there {
				return wrong(fmt.Sprintf("%s has %s", at, plural(left, "element")), "number "+shortened(key))
			}
		case '{':
			if err := c.enter(); err != nil {
				return err
			}
			there, keys, err := c.find(key)
			if err != nil {
				return err
			}
			if !there {
				return wrong(fmt.Sprintf("%s has %s", at, keysText(keys)), shortened(key))
			}
		default:
			return wrong(fmt.Sprintf("%s is %s, which has no members", at, kindOf(first)), shortened(key))
		}
		at = "the member " + shortened(key)
	}
	return nil
}

// badEscape reports whether a pointer has a ~ that is neither ~0 nor ~1.
func badEscape(pointer string) bool {
	return strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(pointer), "~")
}

// value copies the value that begins here.
func (c *cursor) value(first byte, s span) ([]byte, error) {
	var out []byte
	d, passed := c.Depth, int64(0)
	for {
		over, err := c.ends(d)
		if over || err != nil {
			return out, err
		}
		if c.Depth == d+1 && !c.Text && c.rest[0] == ',' {
			passed++
		}
		unit, err := c.next()
		if err != nil {
			return nil, err
		}
		if out = append(out, unit...); len(out) > s.most {
			if first == '"' {
				passed = int64(s.most) / 4 // some take more than a byte
			}
			return nil, tooLarge(kindOf(first), passed, s)
		}
	}
}

// members copies members of the array or object that begins here.
func (c *cursor) members(first byte, s span) ([]byte, error) {
	closing := first + 2 // ] or }
	out := []byte{first}
	if err := c.enter(); err != nil {
		return nil, err
	}
	d, passed := c.Depth, int64(0)
	there, _, err := c.member(s.from)
	if err != nil {
		return nil, err
	}
	if b, err := c.peek(); err != nil || !there || b == closing || s.count == 0 {
		return append(out, closing), err
	}
	for {
		over, err := c.ends(d)
		if err != nil {
			return nil, err
		}
		if over {
			if passed++; passed == s.count || c.rest[0] != ',' {
				return append(out, closing), nil
			}
		}
		unit, err := c.next()
		if err != nil {
			return nil, err
		}
		if out = append(out, unit...); len(out) >= s.most {
			return nil, tooLarge(kindOf(first), passed, s)
		}
	}
}

// text copies characters or lines of the text that begins here.
func (c *cursor) text(s span) ([]byte, error) {
	from := c.place
	if err := c.enter(); err != nil {
		return nil, err
	}
	err := c.ahead(func(start *place) bool {
		return start.within(&from) && start.Text && start.Depth == from.Depth &&
			(s.lines && start.Lines < s.from || !s.lines && start.Chars <= s.from)
	})
	if err != nil {
		return nil, err
	}
	out, taken := []byte{'"'}, int64(0)
	for c.Text && taken < s.count {
		if err := c.more(); err != nil {
			return nil, err
		}
		before := c.place
		unit, err := c.next()
		switch {
		case err != nil:
			return nil, err
		case !c.Text:
			continue
		case s.lines && before.Lines < s.from:
		case s.lines:
			out, taken = append(out, unit...), c.Lines-s.from
		default:
			unit = runes(unit, max(0, s.from-before.Chars), s.count-taken)
			out, taken = append(out, unit...), min(s.count, max(0, c.Chars-s.from))
		}
		if len(out) >= s.most {
			return nil, tooLarge(kindOf('"'), taken, s)
		}
	}
	return append(out, '"'), nil
}

// runes returns characters of a unit of a text. An escaped character is one.
func runes(unit []byte, from, count int64) []byte {
	if unit[0] == '\\' {
		if from > 0 || count == 0 {
			return nil
		}
		return unit
	}
	for ; from > 0 && len(unit) > 0; from-- {
		_, n := utf8.DecodeRune(unit)
		unit = unit[n:]
	}
	end := 0
	for ; count > 0 && end < len(unit); count-- {
		_, n := utf8.DecodeRune(unit[end:])
		end += n
	}
	return unit[:end]
}

// tooLarge says how to read a part that does not fit.
func tooLarge(kind string, passed int64, s span) error {
	e := &hostfns.ArgumentError{Path: "/count"}
	e.Expected = fmt.Sprintf("a part of at most %d bytes of JSON: read %s in ranges, such as {from: %d, count: %d}",
		s.most,
		kind, s.from, max(1, passed))
	if passed == 0 {
		e.Expected = fmt.Sprintf("a part of at most %d bytes of JSON, and the first member alone is larger: add it to the "+
			"pointer, and read it in ranges with from and count", s.most)
	}
	return e
}

func kindOf(first byte) string {
	switch first {
	case '[':
		return "an array"
	case '{':
		return "an object"
	case '"':
		return "a text"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
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

// longestWord is how many characters of a key are shown.
const longestWord = 32

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
