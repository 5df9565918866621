package prompt

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// limits is how much of the arguments is shown.
type limits struct{ text, items, depth, lines int }

// fitting are tried in turn until the arguments fit into the lines; the last always do, or nearly.
var fitting = []limits{{800, 24, 6, 60}, {400, 12, 5, 60}, {240, 8, 4, 60}, {120, 6, 3, 60}, {60, 4, 2, 60}}

// ample is tried first where a person has to see everything before saying yes.
var ample = limits{16 << 10, 500, 64, 400}

// whole is everything. Calls nested deeper than 64 are refused before anyone is asked.
var whole = limits{1 << 30, 1 << 30, 128, 1 << 30}

// A printer lays out data and keeps count of what a reader should know about it.
type printer struct {
	limits
	masker   *masker
	width    int
	markdown bool
	oneLine  bool

	b      strings.Builder
	column int
	indent int

	sources map[string]string // remarks about where values come from, by pointer

	seen
}

// seen is what is unusual about the data shown.
type seen struct {
	cut    bool           // something is left out
	masked int            // values, or parts of them
	large  bool           // a masked value is too long to be a mere password
	odd    map[string]int // escaped characters by kind, but for the ordinary ones
	mixed  []string       // words of several alphabets
	rtl    bool           // letters that run from right to left
}

func (p *printer) put(s string) {
	p.b.WriteString(s)
	p.column += utf8.RuneCountInString(s)
}

func (p *printer) newline(indent int) {
	if p.oneLine {
		p.put(" ")
		return
	}
	p.b.WriteByte('\n')
	p.column, p.indent = 0, indent
	p.put(strings.Repeat(" ", indent))
}

// bar goes on in a line that shows by its beginning that it belongs to the one before.
func (p *printer) bar() {
	if p.oneLine {
		return
	}
	indent := p.indent
	p.newline(indent + 2)
	p.indent = indent
	p.put("| ")
}

// right is the column that lines do not pass, unless they begin near it.
func (p *printer) right() int { return max(p.width, p.indent+narrowest) }

// narrowest is the least room left for data, however deep it is nested.
const narrowest = 24

// say writes a remark of ours.
func (p *printer) say(remark string) {
	if p.column > p.indent && p.column+len(remark) > p.right() {
		p.bar()
	}
	p.put(remark)
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
