package prompt

import (
	"slices"
	"strings"
)

// A View is a question as data: what a person reads before they answer, in parts. The terminal, the page, forms and
// messages render it. Whatever the question contains, the lines of a View consist of visible characters and plain
// spaces. They are laid out for a width and have no margin, see [View.Lines].
type View struct {
	Notice  [][]Span `json:"notice,omitempty"`  // why it cannot be answered here, from package approvals
	Opening [][]Span `json:"opening"`           // what is asked, in our words
	Blocks  []Block  `json:"blocks"`            // at least one
	Preview [][]Span `json:"preview,omitempty"` // the calls that the program's text shows
	Plan    [][]Span `json:"plan,omitempty"`    // the calls that a person can allow with it
	Closing [][]Span `json:"closing,omitempty"` // of an Inquiry: what to mind

	Cut    bool `json:"cut"`    // something is left out; a warning says how much, and how to identify the whole
	Masked int  `json:"masked"` // values, or parts of them, that are not shown because they look like secrets
	// Complete says that a person saw all there is to judge: nothing is cut, and nothing masked is longer than secrets
	// are. Without it nobody can approve a call of high risk.
	Complete bool `json:"complete"`

	each []bool // Complete for each call
}

// A Block is the part of a View about one call or a table of similar ones, about the plan of a program, or about an
// Inquiry.
type Block struct {
	Heading   [][]Span `json:"heading"`
	Facts     [][]Span `json:"facts"`
	Arguments [][]Span `json:"arguments,omitempty"` // what a yes is about; of an Inquiry the words of the program
	Rows      [][]Span `json:"rows,omitempty"`      // of a table: the arguments that are not the same in all calls
	Warnings  [][]Span `json:"warnings,omitempty"`  // what a reader would miss
	Foreign   [][]Span `json:"foreign,omitempty"`   // the server's own words
}

// A Span is a piece of a line; a line is a list of them. Only our own words have a tone, never data.
type Span struct {
	Tone string `json:"tone,omitempty"` // title, label, caution or danger
	Text string `json:"text"`
}

// Tones of our own words.
const title, label, caution, danger = "title", "label", "caution", "danger"

// ours are lines of our own words.
func ours(tone string, texts ...string) (lines [][]Span) {
	for _, text := range texts {
		lines = append(lines, []Span{{tone, text}})
	}
	return lines
}

// Lines are all lines in the order of reading, with the empty lines between the parts. Every line with data has a
// margin, which makes it a part of a code block where Markdown is rendered.
func (v View) Lines() (all [][]Span) {
	indented := func(parts ...[][]Span) {
		for _, line := range slices.Concat(parts...) {
			all = append(all, append([]Span{{Text: strings.Repeat(" ", margin)}}, line...))
		}
	}
	if all = append(all, v.Notice...); len(all) > 0 {
		all = append(all, nil)
	}
	all = append(all, v.Opening...)
	for _, b := range v.Blocks {
		all = append(all, nil)
		indented(b.Heading, b.Facts, b.Arguments, b.Rows, b.Warnings, b.Foreign)
	}
	indented(v.Preview, v.Plan, v.Closing)
	return all
}

// Text is v as plain text.
func (v View) Text() string {
	var b strings.Builder
	for _, line := range v.Lines() {
		for _, s := range line {
			b.WriteString(s.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// RenderOptions fit a question to the place that shows it. They change its layout. What is escaped, cut and masked
// stays the same, unless it is shown whole.
type RenderOptions struct {
	Width    int  // columns; 0 is 96, less than 40 is 40
	Markdown bool // links, mentions, tags and fences in data are escaped
	Whole    bool // nothing is cut, and nothing masked
}

const (
	defaultWidth = 96
	leastWidth   = 40
	margin       = 4
	labels       = 10
	maxName      = 96
	maxClaim     = 300 // of the upstream's words
	maxCalls     = 20  // lines of the preview
)
