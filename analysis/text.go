package analysis

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Position is a place in the submitted text, counted from 1. A column is a Unicode code point.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

func comparePositions(a, b Position) int {
	if a.Line != b.Line {
		return a.Line - b.Line
	}
	return a.Column - b.Column
}

// program returns the part of the submitted text that is the program: without a byte order mark, Markdown fences, a
// line that begins with #! and the surrounding white space.
func program(text string) (start, end int) {
	start, end = trim(text, 0, len(text))
	if s, e, ok := unfence(text[start:end]); ok {
		start, end = trim(text, start+s, start+e)
	}
	if strings.HasPrefix(text[start:end], "#!") {
		n := strings.IndexAny(text[start:end], "\n\r\u2028\u2029")
		if n < 0 {
			n = end - start
		}
		start, end = trim(text, start+n, end)
	}
	return start, end
}

func trim(text string, start, end int) (int, int) {
	blank := func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' || r == 0x200b }
	end = start + len(strings.TrimRightFunc(text[start:end], blank))
	return end - len(strings.TrimLeftFunc(text[start:end], blank)), end
}

// unfence finds the content of a fenced code block. The block must be the whole text. unfence also removes a fence that
// is never closed, because answers that were cut or trimmed lose the closing one.
func unfence(text string) (start, end int, ok bool) {
	mark := text[:len(text)-len(strings.TrimLeft(text, "`"))]
	if mark == "" {
		mark = text[:len(text)-len(strings.TrimLeft(text, "~"))]
	}
	if len(mark) < 3 {
		return 0, 0, false
	}
	start = strings.IndexByte(text, '\n') + 1
	info := strings.TrimSpace(text[len(mark):max(start, len(mark))])
	if start == 0 || strings.ContainsAny(info, "`;(){}'\"") {
		return 0, 0, false
	}
	end = len(text)
	if body, ok := strings.CutSuffix(text, mark); ok && len(body) >= start {
		if line := body[strings.LastIndexByte(body, '\n')+1:]; strings.TrimSpace(line) == "" {
			end = len(body)
		}
	}
	return start, end, true
}

// An index finds lines and columns in a text, in time that does not depend on the length of its lines.
type index struct {
	text  string
	lines []int // where each begins; a line ends as in JavaScript
	// The text is divided into blocks of about blockSize bytes. These are the counts before each block.
	bytes, units, runes []int
}

const blockSize = 256

func newIndex(text string) *index {
	x := &index{text: text, lines: []int{0}}
	units, runes := 0, 0
	for i, r := range text {
		for len(x.bytes)*blockSize <= i {
			x.bytes = append(x.bytes, i)
			x.units = append(x.units, units)
			x.runes = append(x.runes, runes)
		}
		runes++
		if units++; r > 0xffff {
			units++
		}
		if r == '\n' && (i == 0 || text[i-1] != '\r') || r == '\r' || r == '\u2028' || r == '\u2029' {
			n := utf8.RuneLen(r)
			if strings.HasPrefix(text[i:], "\r\n") {
				n = 2
			}
			x.lines = append(x.lines, i+n)
		}
	}
	if len(text) == 0 {
		x.bytes, x.units, x.runes = []int{0}, []int{0}, []int{0}
	}
	return x
}

// line returns the line, from 0, that holds the byte at offset.
func (x *index) line(offset int) int {
	i, _ := slices.BinarySearch(x.lines, offset+1)
	return i - 1
}

// position returns the place of the byte at offset.
func (x *index) position(offset int) Position {
	offset = min(max(offset, 0), len(x.text))
	line := x.line(offset)
	return Position{line + 1, x.runesBefore(offset) - x.runesBefore(x.lines[line]) + 1}
}

// lineText returns a line, from 0, without its end.
func (x *index) lineText(line int) string {
	end := len(x.text)
	if line+1 < len(x.lines) {
		end = x.lines[line+1]
	}
	return strings.TrimRight(x.text[x.lines[line]:end], "\r\n\u2028\u2029")
}

func (x *index) runesBefore(offset int) int {
	b := x.blockOf(offset)
	return x.runes[b] + utf8.RuneCountInString(x.text[x.bytes[b]:offset])
}

func (x *index) unitsBefore(offset int) int {
	b := x.blockOf(offset)
	n := x.units[b]
	for _, r := range x.text[x.bytes[b]:offset] {
		if n++; r > 0xffff {
			n++
		}
	}
	return n
}

// offset returns the byte offset of a UTF-16 column, both from 0.
func (x *index) offset(line, column int) int {
	if line < 0 || line >= len(x.lines) {
		return len(x.text)
	}
	want := x.unitsBefore(x.lines[line]) + column
	b, _ := slices.BinarySearch(x.units, want+1)
	b = max(b-1, 0)
	n := x.units[b]
	i := x.bytes[b]
	for n < want && i < len(x.text) {
		r, size := utf8.DecodeRuneInString(x.text[i:])
		if n++; r > 0xffff {
			n++
		}
		i += size
	}
	return i
}

// blockOf returns the last block that begins at or before offset.
func (x *index) blockOf(offset int) int {
	b := min(offset/blockSize, len(x.bytes)-1)
	if x.bytes[b] > offset {
		b--
	}
	return b
}

func blank(b []byte) {
	for i := range b {
		if b[i] != '\n' && b[i] != '\r' {
			b[i] = ' '
		}
	}
}
