package prompt

import (
	"strings"
	"unicode/utf8"
)

// limits say how much of the arguments to show.
type limits struct{ text, items, depth, lines int }

// fitting holds limits to try in turn until the arguments fit into the lines; the last one always fits, or nearly.
var fitting = []limits{{800, 24, 6, 60}, {400, 12, 5, 60}, {240, 8, 4, 60}, {120, 6, 3, 60}, {60, 4, 2, 60}}

// ample is tried first where a person has to see everything before approving.
var ample = limits{16 << 10, 500, 64, 400}

// whole shows everything. Calls nested deeper than 64 are refused before anyone is asked.
var whole = limits{1 << 30, 1 << 30, 128, 1 << 30}

func narrow(limit, to int) int {
	if to > 0 {
		return min(limit, to)
	}
	return limit
}

// A printer lays out data and counts what the reader should know about it.
type printer struct {
	limits
	masker   *masker
	width    int
	markdown bool
	oneLine  bool

	b      strings.Builder // the span under construction
	line   []Span          // the spans before it
	done   [][]Span        // the lines before that one
	column int
	indent int

	sources map[string]string // remarks about where values come from, by pointer

	seen
}

// complete reports whether a reader sees all there is to judge.
func (s *seen) complete() bool { return !s.cut && !s.large }

// whole reports whether a reader sees all that put writes.
func (s *seen) whole(put func()) bool {
	cut, large := s.cut, s.large
	s.cut, s.large = false, false
	put()
	all := s.complete()
	s.cut, s.large = s.cut || cut, s.large || large
	return all
}

// seen records what is unusual about the data shown.
type seen struct {
	cut    bool           // something is left out
	masked int            // values, or parts of them
	large  bool           // a masked value is too long to be a mere password
	odd    map[string]int // escaped characters by kind, without the ordinary ones
	mixed  []string       // words of several alphabets
	rtl    bool           // letters that run from right to left
}

func (p *printer) put(s string) {
	p.b.WriteString(s)
	p.column += utf8.RuneCountInString(s)
}

// paint writes a word of ours in a tone.
func (p *printer) paint(tone, s string) {
	p.span("")
	p.put(s)
	p.span(tone)
}

// span ends a span.
func (p *printer) span(tone string) {
	if p.b.Len() > 0 {
		p.line = append(p.line, Span{tone, p.b.String()})
		p.b.Reset()
	}
}

// take ends the line, and returns the lines since it was last called.
func (p *printer) take() [][]Span {
	if p.span(""); p.line != nil {
		p.done = append(p.done, p.line)
	}
	lines := p.done
	p.line, p.done = nil, nil
	return lines
}

// newline begins a line. Its indent includes the margin, which a View does not have.
func (p *printer) newline(indent int) {
	if p.oneLine {
		p.put(" ")
		return
	}
	p.done = p.take()
	p.b.WriteString(strings.Repeat(" ", indent-margin))
	p.column, p.indent = indent, indent
}

// bar begins a continuation line, which starts with a bar to show that it belongs to the line before.
func (p *printer) bar() {
	if p.oneLine {
		return
	}
	indent := p.indent
	p.newline(indent + 2)
	p.indent = indent
	p.put("| ")
}

// right is the last column of a line, unless the line begins near it.
func (p *printer) right() int { return max(p.width, p.indent+narrowest) }

// narrowest is the least width for data, at any nesting.
const narrowest = 24

// say writes a remark of ours.
func (p *printer) say(remark string) {
	if p.column > p.indent && p.column+len(remark) > p.right() {
		p.bar()
	}
	p.put(remark)
}
