package responder

import (
	"regexp"
	"testing"
	"unicode"

	"github.com/codemode-project/codemode/approvals/prompt"
)

// styles are the colours of our own words.
var styles = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// Words of strangers on the screen where people answer.
func TestStrangersWordsOnTheScreen(t *testing.T) {
	for what, text := range map[string]string{
		"line ends": "a\rb\nc\vd\fe\u0085f\u2028g\u2029h", "escape sequences": "\x1b[2J\x1b[31m\x1b]0;title\x07\x7f\b",
		"control characters of eight bits": "\u009b31m\u009d0;x\u009c", "text direction": "\u202egnp.exe\u202c \u2066x\u2069",
		"tags, zero width": "a\U000E0041\u200b\u200d\ufeff\u2060", "private use": "\ue000\U000F0000",
	} {
		s, w := newScreen(), waiting{}
		w.ID, w.Kind, w.Risk, w.Summary, w.Tool = "q", text, text, text, text
		one := [][]prompt.Span{{{Tone: text, Text: text}}}
		w.View = prompt.View{Notice: one, Opening: one, Blocks: []prompt.Block{
			{Heading: one, Facts: one, Arguments: one, Warnings: one, Foreign: one}},
			Preview: one, Plan: one, Closing: one}
		s.inbox.waiting = []waiting{w}
		s.list.items, s.list.chosen = s.inbox.items(), "q"
		shown := s.content()
		for _, r := range styles.ReplaceAllString(shown, "") {
			if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) {
				t.Errorf("%s on the screen where people answer: U+%04X", what, r)
				break
			}
		}
	}
}
