package analysis

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
)

func (c *compiler) report(faults []fault) {
	seen := map[fault]bool{}
	for _, f := range faults {
		if len(c.problems) == maxProblems {
			break
		}
		if !seen[f] {
			c.problems = append(c.problems, c.problem(f))
		}
		seen[f] = true
	}
}

// problem shows a fault in the submitted text.
func (c *compiler) problem(f fault) Problem {
	x := c.whole
	at := min(max(c.start+f.at, 0), len(x.text))
	line := x.line(at)
	text := x.lineText(line)
	column := min(at-x.lines[line], len(text))
	length := min(f.len, len(text)-column)
	p := Problem{
		File:     c.file,
		Position: x.position(at),
		Length:   utf8.RuneCountInString(text[column : column+max(length, 0)]),
		Message:  f.message,
		Hint:     f.hint,
	}
	before, around, after := text[:column], text[column:column+max(length, 0)], text[column+max(length, 0):]
	if utf8.RuneCountInString(text) > maxSource {
		before = lastRunes(before, maxSource/2)
		around = firstRunes(around, maxSource/2)
		after = firstRunes(after, maxSource/2)
	}
	before, around, after = readable(before), readable(around), readable(after)
	p.Source = strings.TrimRight(before+around+after, " \t")
	p.caret, p.carets = utf8.RuneCountInString(before), utf8.RuneCountInString(around)
	return p
}

// faults returns the errors that esbuild found. The text begins on the given line of its input.
func (c *compiler) faults(out output, first int) []fault {
	var faults []fault
	x := newIndex(c.text)
	for _, e := range out.errors {
		f := fault{at: c.shape.end, message: e.Text}
		if e.Location != nil {
			f.at, f.len = locate(x, e.Location, first), e.Location.Length
		}
		if f.at >= len(c.text) {
			f.at, f.len = c.shape.end, 0
		}
		if strings.HasPrefix(e.Text, "panic") { // the rest is a Go stack
			return []fault{{at: f.at, message: "esbuild cannot read this", hint: "write it in a simpler way"}}
		}
		c.plain(&f)
		for _, n := range e.Notes {
			if f.hint == "" && n.Text != "" {
				f.hint = c.note(n, x, first)
			}
		}
		faults = append(faults, f)
		if len(faults) == 2*maxProblems {
			break
		}
	}
	return faults
}

// locate returns the offset of a place that esbuild reports: lines from 1, columns in bytes from 0.
func locate(x *index, l *api.Location, first int) int {
	line := l.Line - 1 - first
	if line < 0 {
		return 0
	}
	if line >= len(x.lines) {
		return len(x.text)
	}
	return min(x.lines[line]+l.Column, len(x.text))
}

// plain rewrites esbuild's message for a reader who does not see the wrapper around the text.
func (c *compiler) plain(f *fault) {
	m := f.message
	// For templates and comments without an end, esbuild reports the place before the preceding space.
	rest := strings.TrimLeft(c.text[f.at:], " \t")
	switch {
	case m == "Unterminated string literal" && strings.HasPrefix(rest, "`"), m == "Unterminated template literal":
		f.message = "the template is never closed"
		f.at = len(c.text) - len(rest)
	case m == "Unterminated string literal":
		f.message, f.hint = "the string is not closed on its line", "use a template, `text`, for more than one line"
	case m == "Unterminated regular expression" && f.at > 0 && c.text[f.at-1] == '<':
		f.message, f.hint = "there is no JSX", "return text or objects"
	case m == "Unterminated regular expression":
		f.message = "the regular expression is not closed on its line"
	case strings.HasPrefix(m, `Expected "*/"`):
		f.message = "the comment is never closed"
		f.at = len(c.text) - len(rest)
	case strings.Contains(m, "end of file"), f.at >= c.shape.end &&
		(strings.HasPrefix(m, "Unexpected") || strings.HasPrefix(m, "Expected")):
		f.message, f.hint = "the program ends in the middle of something", c.unclosed()
		f.at, f.len = c.shape.end, 0
	default:
		f.message = strings.TrimSuffix(lower(m), ":")
		f.hint = c.advice(m)
	}
	f.message = readable(f.message)
}

func (c *compiler) unclosed() string {
	u := c.shape.unclosed
	if u < 0 {
		return ""
	}
	p := c.whole.position(c.start + u)
	return fmt.Sprintf("the %q on line %d, column %d is never closed", c.text[u:u+1], p.Line, p.Column)
}

// advice returns a hint for one of esbuild's messages.
func (c *compiler) advice(m string) string {
	switch {
	case strings.ContainsAny(m, "“”„‘’"):
		return `write strings with straight quotes: "text"`
	case strings.Contains(c.text, "```"):
		return "submit the program alone, without text around it"
	case m == `Unexpected "..."`:
		return "write the program out: three dots cannot stand for what is left out"
	case strings.HasPrefix(m, `Expected "}" but`), strings.HasPrefix(m, `Expected ")" but`),
		strings.HasPrefix(m, `Expected "]" but`):
		if hint := c.unclosed(); hint != "" {
			return hint
		}
		return "a comma or an operator may be missing in front of it"
	}
	return ""
}

func lower(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[size:]
}

// note turns one of esbuild's notes into a hint.
func (c *compiler) note(n api.Note, x *index, first int) string {
	text := strings.TrimRight(readable(n.Text), ":. ")
	text = strings.TrimSuffix(text, " here")
	text = lower(text)
	if n.Location != nil {
		p := c.whole.position(c.start + locate(x, n.Location, first))
		text += fmt.Sprintf(" on line %d, column %d", p.Line, p.Column)
	}
	return text
}
