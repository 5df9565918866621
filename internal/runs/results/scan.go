package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"
)

// chunkSize is how much of a result is read at once.
const chunkSize = 256 << 10

// mostLevels is how many levels of arrays and objects the index tells apart. Deeper parts are found by reading.
const mostLevels = 16

// levels has a number for each of the outermost levels.
type levels [mostLevels]int64

// A place is a place in a JSON text, as an index holds the beginning of each chunk.
type place struct {
	At    int64  `json:"at"`             // offset
	Depth int    `json:"depth"`          // how many arrays and objects are open
	Path  levels `json:"path"`           // the numbers of the current members in the outermost of them
	Text  bool   `json:"text,omitempty"` // it is inside a text
	Chars int64  `json:"chars,omitempty"`
	Lines int64  `json:"lines,omitempty"` // ends of lines in the text before
}

var errDamaged = errors.New("the kept result is damaged")

// within reports whether the place is inside the current member of the innermost container of p, or in the outermost
// value if p is in no container.
func (q *place) within(p *place) bool {
	return p.Depth <= mostLevels && q.Depth >= p.Depth && q.At > p.At && slices.Equal(q.Path[:p.Depth], p.Path[:p.Depth])
}

// step moves the place behind the first unit of b, and returns the length of the unit: a bracket, a comma or a
// quotation mark, what is between them, or in a text one escaped character or a run of others of at most longest bytes,
// or a little more.
func (p *place) step(b []byte, longest int) (n int, err error) {
	if p.Text {
		n, chars, lines := textUnit(b, longest)
		if n == 0 {
			p.Text, n = false, 1
		}
		p.At, p.Chars, p.Lines = p.At+int64(n), p.Chars+chars, p.Lines+lines
		return n, nil
	}
	n = 1
	switch b[0] {
	case '"':
		p.Text, p.Chars, p.Lines = true, 0, 0
	case '[', '{':
		if p.Depth++; p.Depth <= mostLevels {
			p.Path[p.Depth-1] = 0
		}
	case ']', '}':
		if p.Depth == 0 {
			return 0, errDamaged
		}
		p.Depth--
	case ',':
		if p.Depth > 0 && p.Depth <= mostLevels {
			p.Path[p.Depth-1]++
		}
	default:
		for n < len(b) && !isMark[b[n]] {
			n++
		}
	}
	p.At += int64(n)
	return n, nil
}

var isMark = [256]bool{'"': true, '[': true, ']': true, '{': true, '}': true, ',': true}

// textUnit measures the first unit of the rest of a text: its bytes, its characters, and the ends of lines in it. Zero
// bytes are the end of the text.
func textUnit(b []byte, longest int) (n int, chars, lines int64) {
	switch b[0] {
	case '"':
		return 0, 0, 0
	case '\\':
		switch {
		case len(b) < 2:
			return len(b), 1, 0
		case b[1] == 'n':
			return 2, 1, 1
		case b[1] != 'u':
			return 2, 1, 0
		case len(b) >= 12 && isSurrogate(b, "89abAB") && isSurrogate(b[6:], "cdefCDEF"):
			return 12, 1, 0 // the two halves of one character
		case len(b) >= 6 && bytes.EqualFold(b[2:6], []byte("000a")):
			return 6, 1, 1
		}
		return min(6, len(b)), 1, 0
	}
	end := min(len(b), longest)
	for n = 1; n < end && b[n] != '"' && b[n] != '\\'; n++ {
	}
	for n < len(b) && !utf8.RuneStart(b[n]) { // the rest of the last character
		n++
	}
	return n, int64(utf8.RuneCount(b[:n])), 0
}

// isSurrogate reports whether b begins with half of a character, \uD8.. to \uDB.. or \uDC.. to \uDF...
func isSurrogate(b []byte, kinds string) bool {
	return b[0] == '\\' && b[1] == 'u' && b[2]|' ' == 'd' && bytes.IndexByte([]byte(kinds), b[3]) >= 0
}

// split divides a value into chunks of about size bytes, and says where each begins.
func split(value []byte, size int) (chunks [][]byte, starts []place, err error) {
	if !json.Valid(value) {
		return nil, nil, errors.New("the value is no JSON")
	}
	var p place
	starts, cut := append(starts, p), 0
	for at := 0; at < len(value); at = int(p.At) {
		mark := isMark[value[at]]
		if _, err := p.step(value[at:], size); err != nil {
			return nil, nil, err
		}
		if end := int(p.At); end-cut >= size && end < len(value) && (p.Text || mark) {
			chunks, cut = append(chunks, value[cut:end]), end
			starts = append(starts, p)
		}
	}
	return append(chunks, value[cut:]), starts, nil
}
