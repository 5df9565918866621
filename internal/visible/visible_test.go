package visible

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/hostile"
)

func TestMarkdown(t *testing.T) {
	for _, row := range []struct{ what, s, want string }{
		{"plain text stays", "a é (b) 50%", "a é (b) 50%"},
		{"a link", "[a](b)", `\[a](b)`},
		{"a link behind a backslash", `\[a](b)`, `\\\[a](b)`},
		{"the end of a cell", `a|b\|c`, `a\|b\\\|c`},
		{"an element", "<img>", "&lt;img>"},
		{"text that looks like an entity", "&lt;img>", "&amp;lt;img>"},
		{"code", "`a`", "'a'"},
		{"what nobody sees", "\u202e\n", `\\u{202e}\\n`},
	} {
		if got := Markdown(row.s); got != row.want {
			t.Errorf("%s: %q becomes %q, want %q", row.what, row.s, got, row.want)
		}
	}
}

func TestLine(t *testing.T) {
	for _, row := range []struct{ what, s, want string }{
		{"plain text stays", "a é 漢 🙂 \\ \"x\"", "a é 漢 🙂 \\ \"x\""},
		{"line ends", "a\nb\r\nc", `a\nb\r\nc`},
		{"a tab", "a\tb", `a\tb`},
		{"an escape sequence", "\x1b[31m\x7f", `\u{1b}[31m\u{7f}`},
		{"control characters of eight bits, as UTF-8", "\u009b31m\u0085", `\u{9b}31m\u{85}`},
		{"the same as bytes", "\x9b31m", `\x{9b}31m`},
		{"bytes that are no text, behind text", "é\xff\xfe", `é\x{ff}\x{fe}`},
		{"text direction", "a\u202eb\u2066", `a\u{202e}b\u{2066}`},
		{"separators", "\u2028\u2029", `\u{2028}\u{2029}`},
		{"zero width", "\u200b\u200d\ufeff\u2060", `\u{200b}\u{200d}\u{feff}\u{2060}`},
		{"tags", "\U000E0041", `\u{e0041}`},
		{"variation selectors", "\ufe0f\U000E0100", `\u{fe0f}\u{e0100}`},
		{"letters that show nothing", "\u3164\u115f\u2800", `\u{3164}\u{115f}\u{2800}`},
		{"blanks other than the space", "\u00a0\u3000", `\u{a0}\u{3000}`},
		{"private use and no meaning", "\ue000\U0010ffff", `\u{e000}\u{10ffff}`},
		{"the character for what is no text", "\ufffd", "\ufffd"},
	} {
		if got := Line(row.s); got != row.want {
			t.Errorf("%s: %q becomes %q, want %q", row.what, row.s, got, row.want)
		}
	}
	if got := Text("a\n\tb\r\x1b"); got != "a\n    b\\r\\u{1b}" {
		t.Errorf("lines become %q", got)
	}
}

// Every code point, in each form.
func TestNothingHiddenIsLeft(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	hidden := []*unicode.RangeTable{unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		// where all are alike: not assigned, or for private use
		if !utf8.ValidRune(r) || r >= 0x40000 && r&0xfff != 0 && r>>12 != 0xe0 {
			continue
		}
		s := string(r)
		for form, got := range map[string]string{"a line": Line(s), "a cell of JSON": JSON(s),
			"an argument": Sprintf("%v", []string{s})} {
			if strings.ContainsFunc(got, func(c rune) bool {
				return unicode.In(c, hidden...) &&
					!(form == "a cell of JSON" && c == '\n')
			}) {
				t.Fatalf("U+%04X stays in %s: %q", r, form, got)
			}
		}
	}
}

func TestJSON(t *testing.T) {
	for _, s := range []string{"a\u202eb", "\u009b\U000E0041\u2028", "plain é", "\u007f", "back\\slash \\u202e"} {
		raw, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]string
		if err := json.Unmarshal([]byte(JSON(string(raw))), &back); err != nil || back[s] != s {
			t.Errorf("%q comes back as %q, %v", s, back, err)
		}
	}
}

type named string

func (named) String() string { return "a\nb" }

type kind string

func TestSprintf(t *testing.T) {
	got := Sprintf("%s %v %s %s %s %d %t\n", "\n", errors.New("\r"), named(""), kind("\t"), []byte("\x1b"), 7, true)
	if want := "\\n \\r a\\nb \\t \\u{1b} 7 true\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
