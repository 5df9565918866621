package prompt

import (
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How text is escaped. Characters that are invisible, or look like others, are written with a backslash. The
// backslash itself is escaped too, so that different texts never look the same and the escapes can be reversed:
//
//	\\  \"  \n  \r  \t
//	\u{202E}       the character U+202E
//	\u{20*4096}    the same character 4096 times
//	\x{FF}         a byte that is not UTF-8
//
// Nothing is removed or normalised.

const (
	spaceRun  = 16 // longest run of spaces shown as spaces; code is rarely indented deeper
	hiddenRun = 4  // shortest run of one hidden character that is written with a count
	lineRun   = 3  // shortest run of line ends that is written with a count
	markRun   = 3  // most marks on one letter
)

// A mode says in which context the text appears.
type mode int

const (
	quoted mode = iota // between quotation marks
	bare               // on its own, as one word: spaces are escaped too
	prose              // on its own, as a sentence: quotation marks are left alone
)

// A unit is the text shown for one character, or for a run of the same character.
type unit struct {
	r   rune // negative: -1-b for a byte b that is not UTF-8
	n   int
	raw bool // shown as itself
}

// Shorter, well-known escapes.
var short = map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`, '\\': `\\`, '"': `\"`}

func (u unit) text() string {
	switch {
	case u.raw:
		return string(u.r)
	case u.n == 1 && short[u.r] != "":
		return short[u.r]
	}
	letter, code := 'u', u.r
	if u.r < 0 {
		letter, code = 'x', -1-u.r
	}
	if u.n == 1 {
		return fmt.Sprintf(`\%c{%X}`, letter, code)
	}
	return fmt.Sprintf(`\%c{%X*%d}`, letter, code, u.n)
}

// width is the number of columns that u takes on a screen; an overestimate where unsure.
func (u unit) width() int {
	switch {
	case !u.raw:
		return len(u.text())
	case u.r < 0x1100:
		return 1
	case unicode.Is(unicode.Mn, u.r):
		return 0
	}
	return 2
}

// characters splits s into characters and invalid bytes, as units hold them.
func characters(s string) []rune {
	cs := make([]rune, 0, len(s))
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			r = -1 - rune(s[0])
		}
		cs = append(cs, r)
		s = s[n:]
	}
	return cs
}

// plain is the inverse of characters.
func plain(cs []rune) string {
	var b strings.Builder
	b.Grow(len(cs))
	for _, c := range cs {
		if c < 0 {
			b.WriteByte(byte(-1 - c))
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// units iterates over cs once. With markdown, it also escapes what a Markdown renderer would interpret.
func units(cs []rune, m mode, markdown bool) iter.Seq[unit] {
	return func(yield func(unit) bool) {
		letter, marks := false, 0 // whether a mark would sit on something, and how many do
		for i := 0; i < len(cs); {
			r, run := cs[i], 1
			for i+run < len(cs) && cs[i+run] == r {
				run++
			}
			u := unit{r: r, n: 1, raw: shows(r)}
			switch {
			case r == ' ' && m != bare && run <= spaceRun:
				u.raw = true
			case r == ' ':
				u.n = run
			case r == '\n' && run < lineRun:
			case !u.raw && run >= hiddenRun, r == '\n':
				u.n = run
			case unicode.Is(unicode.M, r) && run > markRun:
				u.raw, u.n = false, run
			case r == '\\', r == '"' && m != prose:
				u.raw = false
			case u.raw && unicode.Is(unicode.M, r):
				u.raw = letter && marks < markRun
				run = 1
			case markdown && acts(cs, i, run):
				u.raw = false
			}
			for range run / u.n {
				if !yield(u) {
					return
				}
			}
			switch i += run; {
			case !u.raw:
				letter, marks = false, 0
			case unicode.Is(unicode.M, r):
				marks++
			default:
				letter, marks = r != ' ', 0
			}
		}
	}
}

// acts reports whether the run of characters at i begins a link, a mention, an HTML tag, an entity or a code fence.
func acts(cs []rune, i, run int) bool {
	at := func(j int) rune {
		if j < 0 || j >= len(cs) {
			return 0
		}
		return cs[j]
	}
	word := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	next := at(i + run)
	switch cs[i] {
	case '`', '~':
		return run >= 3
	case ']':
		return next == '(' || next == '[' || next == ':'
	case '<':
		return word(next) || next == '/' || next == '!' || next == '?' || next == '@' || next == '#'
	case '@':
		return !word(at(i-1)) && word(next)
	case '&':
		j := i + run
		if at(j) == '#' {
			j++
		}
		for start := j; j-start < 32 && word(at(j)); j++ {
		}
		return at(j) == ';'
	}
	return false
}

// escape writes all of s.
func escape(s string, m mode) string {
	var b strings.Builder
	for u := range units(characters(s), m, false) {
		b.WriteString(u.text())
	}
	return b.String()
}

// Quote shows all of s between quotation marks, escaped.
func Quote(s string) string { return `"` + escape(s, quoted) + `"` }

// MaxWords is the length limit of a person's or a channel's words, in characters.
const MaxWords = 300

// Words turns what somebody wrote into one harmless line: escaped, and at most MaxWords characters long.
func Words(s string) string { return words(strings.TrimSpace(s), prose, false) }

// QuoteWords is Words between quotation marks.
func QuoteWords(s string) string { return `"` + words(strings.TrimSpace(s), quoted, false) + `"` }

func words(s string, m mode, markdown bool) string {
	var b strings.Builder
	n, safe := 0, 0
	for u := range units(characters(s), m, markdown) {
		t := u.text()
		if n += utf8.RuneCountInString(t); n > MaxWords {
			return b.String()[:safe] + "..."
		}
		b.WriteString(t)
		if n <= MaxWords-len("...") {
			safe = b.Len()
		}
	}
	return b.String()
}
