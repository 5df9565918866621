package analysis

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/visible"
)

// A Problem is a reason why a text cannot run.
type Problem struct {
	File string `json:"file"`
	Position
	// Length is how many code points of the line the problem covers; 0 means one place.
	Length  int    `json:"length,omitempty"`
	Message string `json:"message"`
	// Source is the line, or the part of a long line around the problem.
	// Characters that are invisible or act on a terminal are written as \u{...}.
	Source string `json:"source,omitempty"`
	Hint   string `json:"hint,omitempty"`

	caret, carets int // in Source
}

// String returns the problem as compilers print one: place and message, the
// line, and a line that points into it.
func (p Problem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
	if p.Source != "" {
		fmt.Fprintf(&b, "\n    %s\n    ", p.Source)
		n := 0
		for _, r := range p.Source {
			if n++; n > p.caret {
				break
			}
			if r != '\t' {
				r = ' '
			}
			b.WriteRune(r)
		}
		b.WriteString(strings.Repeat("^", max(p.carets, 1)))
	}
	if p.Hint != "" {
		fmt.Fprintf(&b, "\n  hint: %s", p.Hint)
	}
	return b.String()
}

// maxProblems bounds the report; people fix the first problems and try again.
const maxProblems = 10

// maxSource is how much of a long line is shown, in code points.
const maxSource = 120

func lastRunes(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	if i > 0 {
		return "…" + s[i:]
	}
	return s
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// readable escapes invisible characters.
func readable(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden is the opposite of [visible.Rune], except for tabs. Tabs stay, because the line under the source has them too.
func hidden(r rune) bool { return r != '\t' && !visible.Rune(r) }

// Problems are the reasons why a program cannot run.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}
