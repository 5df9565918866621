// Package text prepares texts of programs and servers for the page: it shows everything and hides nothing. html/template
// escapes them once more.
package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/codemode-project/codemode/approvals/prompt"
)

// Spans joins parts of a question.
func Spans(parts ...[][]prompt.Span) (all []prompt.Span) {
	for _, line := range slices.Concat(parts...) {
		if all != nil {
			all = append(all, prompt.Span{Text: "\n"})
		}
		all = append(all, line...)
	}
	return all
}

// visible reports whether package approvals shows a character as itself.
func visible(r rune) bool {
	if r < utf8.RuneSelf {
		return ' ' <= r && r <= '~'
	}
	return unicode.IsGraphic(r) && prompt.Quote(string(r)) == `"`+string(r)+`"`
}

// Lines shows a multi-line text unchanged, except for a mark in place of each invisible character.
func Lines(text string) []prompt.Span {
	var all []prompt.Span
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			all = append(all, prompt.Span{Text: plain.String()})
			plain.Reset()
		}
	}
	for i, n := 0, 0; i < len(text); i += n {
		r, size := utf8.DecodeRuneInString(text[i:])
		n = size
		switch {
		case r == '\n' || visible(r) && !(r == utf8.RuneError && size == 1):
			plain.WriteRune(r)
		case r == '\t':
			plain.WriteString("    ")
		case r == '\r' && strings.HasPrefix(text[i+1:], "\n"):
		case r == utf8.RuneError && size == 1:
			flush()
			all = append(all, prompt.Span{Tone: "odd", Text: fmt.Sprintf("byte %02X", text[i])})
		default:
			flush()
			all = append(all, prompt.Span{Tone: "odd", Text: fmt.Sprintf("U+%04X", r)})
		}
	}
	flush()
	return all
}

// Editable indents JSON for editing: it hides nothing, and the value stays the same.
func Editable(args json.RawMessage) string {
	var laid bytes.Buffer
	if err := json.Indent(&laid, args, "", "  "); err != nil {
		return InText(string(args))
	}
	return InText(laid.String())
}

// InText writes invisible characters as JSON escapes.
func InText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || visible(r):
			b.WriteRune(r)
		case r == '\r':
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
