package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/visible"
)

// A Position is a place in a configuration file.
type Position = call.Position

// A Problem is something wrong (or, as a warning, doubtful) in a configuration file.
type Problem struct {
	Position
	Length  int    // how many code points the problem covers, at least 1
	Message string // what is wrong
	Source  string // the whole source line, without its end
	Hint    string // the way out; "" if there is nothing better than the message

	Shadowed bool // a warning about a rule without effect, because of others
}

// String prints the place and the message, then the source line with a caret under the
// place, then the hint. What the file contains is escaped, so that printing a problem of a
// hostile file cannot move a terminal's cursor.
func (p Problem) String() string {
	var b strings.Builder
	visible.Fprintf(&b, "%s: %s", p.Position, p.Message)
	if line, caret := p.excerpt(); line != "" {
		fmt.Fprintf(&b, "\n    %s\n    %s", line, caret)
	}
	if p.Hint != "" {
		visible.Fprintf(&b, "\n    %s", p.Hint)
	}
	return b.String()
}

// ExcerptWidth is how much of a long source line is shown around the caret.
const ExcerptWidth = 120

func (p Problem) excerpt() (line, caret string) {
	if p.Line == 0 || strings.TrimSpace(p.Source) == "" {
		return "", ""
	}
	source := []rune(p.Source)
	at := min(max(p.Column-1, 0), len(source))
	from, to := 0, len(source)
	if to > ExcerptWidth {
		from = max(0, at-ExcerptWidth/2)
		to = min(len(source), from+ExcerptWidth)
	}
	var text, mark strings.Builder
	if from > 0 {
		text.WriteString("... ")
		mark.WriteString("    ")
	}
	end := at + max(p.Length, 1)
	for i, r := range source[from:to] {
		shown := " "
		if r != '\t' {
			shown = visible.Line(string(r))
		}
		text.WriteString(shown)
		fill := " "
		if i+from >= at && i+from < end {
			fill = "^"
		}
		mark.WriteString(strings.Repeat(fill, utf8.RuneCountInString(shown)))
	}
	if to < len(source) {
		text.WriteString(" ...")
	}
	if at >= to {
		mark.WriteString("^")
	}
	return text.String(), strings.TrimRight(mark.String(), " ")
}

// Problems is everything wrong with a file, in the order of the file. It is the error
// for a file that must not be used.
type Problems []Problem

// ProblemsShown is how many problems Error prints.
const ProblemsShown = 50

// Error prints the first problems, one below the other.
func (ps Problems) Error() string {
	var b strings.Builder
	for i, p := range ps {
		if i == ProblemsShown {
			fmt.Fprintf(&b, "\n... and %d more problems", len(ps)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.String())
	}
	return b.String()
}

// Sort puts the problems into the order of the file.
func (ps Problems) Sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
}

// Err returns the problems as an error, in the order of the file; nil if there are none.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	ps.Sort()
	return ps
}
