package prompt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/hostile"
)

// readBack undoes escape. It is written from the description of the escapes, not from their code.
func readBack(s string) ([]rune, error) {
	var cs []rune
	for len(s) > 0 {
		if s[0] != '\\' {
			r, n := utf8.DecodeRuneInString(s)
			cs, s = append(cs, r), s[n:]
			continue
		}
		if inner, rest, ok := strings.Cut(s, "}"); ok && (strings.HasPrefix(inner, `\u{`) || strings.HasPrefix(inner,
			`\x{`)) {
			hex, times, counted := strings.Cut(inner[3:], "*")
			code, err := strconv.ParseUint(hex, 16, 21)
			n := 1
			if counted && err == nil {
				n, err = strconv.Atoi(times)
			}
			if err != nil {
				return nil, err
			}
			c := rune(code)
			if s[1] == 'x' {
				c = -1 - c
			}
			cs = append(cs, slices.Repeat([]rune{c}, n)...)
			s = rest
			continue
		}
		if len(s) < 2 {
			return nil, fmt.Errorf("a backslash at the end")
		}
		i := strings.IndexByte(`nrt\"`, s[1])
		if i < 0 {
			return nil, fmt.Errorf("unknown escape %q", s[:2])
		}
		cs, s = append(cs, rune("\n\r\t\\\""[i])), s[2:]
	}
	return cs, nil
}

func TestUnicodeVersion(t *testing.T) {
	if unicode.Version != "15.0.0" {
		t.Errorf("Go's tables are of Unicode %s now: look at blank and deceptive in unicode.go again, and change the comment there", unicode.Version)
	}
}

// Every code point there is, in every mode: visible, and not changed by the way there and back.
func TestEveryCodePoint(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	t.Parallel()
	hidden := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		var s string
		cs := []rune{'a', r, 'b'}
		for _, m := range []mode{quoted, bare, prose} {
			if m != quoted && r > 0x3000 { // the modes differ in ASCII
				continue
			}
			var b strings.Builder
			for u := range units(cs, m, false) {
				b.WriteString(u.text())
			}
			s = b.String()
			for _, c := range s {
				if !inert(c) || c == '\n' || m == bare && c == ' ' {
					t.Fatalf("U+%04X in mode %d is shown as %q", r, m, s)
				}
			}
			if back, err := readBack(s); err != nil || string(back) != string(cs) || back[1] != r {
				t.Fatalf("U+%04X in mode %d is shown as %q, which is read back as %U, %v", r, m, s, back, err)
			}
		}
		if !inert(r) {
			hidden++
			if want := fmt.Sprintf(`a\u{%X}b`, r); s != want && short[r] == "" {
				t.Fatalf("U+%04X is shown as %q, want %q", r, s, want)
			}
			if r != '\n' && kind(r) == "markup" {
				t.Fatalf("U+%04X has no kind", r)
			}
		}
	}
	if hidden < 900000 { // unassigned, private and so on
		t.Errorf("only %d code points were escaped", hidden)
	}
}

func TestEscape(t *testing.T) {
	tests := []struct{ why, in, want string }{
		{"plain", "hello, wörld: 你好", "hello, wörld: 你好"},
		{"lines and tabs", "a\tb\r\nc", `a\tb\r\nc`},
		{"a written escape is no escape", `\u{202E}`, `\\u{202E}`},
		{"an override", "\u202egpj.exe", `\u{202E}gpj.exe`},
		{"tag characters", "\U000e0041\U000e0042", `\u{E0041}\u{E0042}`},
		{"zero width", "pass\u200bword", `pass\u{200B}word`},
		{"many zero width", strings.Repeat("\u200b", 5000), `\u{200B*5000}`},
		{"fillers", "\u3164\u115f\uffa0\u2800", `\u{3164}\u{115F}\u{FFA0}\u{2800}`},
		{"sixteen spaces", "a" + strings.Repeat(" ", 16) + "b", "a" + strings.Repeat(" ", 16) + "b"},
		{"ten thousand spaces", "a" + strings.Repeat(" ", 10000) + "b", `a\u{20*10000}b`},
		{"two line ends", "a\n\nb", `a\n\nb`},
		{"a thousand line ends", "a" + strings.Repeat("\n", 1000) + "b", `a\u{A*1000}b`},
		{"unusual spaces", "a\u00a0b\u3000c\u2007d", `a\u{A0}b\u{3000}c\u{2007}d`},
		{"terminal control", "\x1b]0;x\x07\u009b2J", `\u{1B}]0;x\u{7}\u{9B}2J`},
		{"broken UTF-8", "a\xff\xfe\x80b", `a\x{FF}\x{FE}\x{80}b`},
		{"much broken UTF-8", strings.Repeat("\xff", 100), `\x{FF*100}`},
		{"the replacement character is itself", "\ufffd", "\ufffd"},
		{"look-alike quotes", "\u201cx\u201d \uff02", `\u{201C}x\u{201D} \u{FF02}`},
		{"look-alike backslashes", "\uff3c\u2216", `\u{FF3C}\u{2216}`},
		{"a mark on a letter", "e\u0301", "e\u0301"},
		{"a mark on nothing", "\u0301e", `\u{301}e`},
		{"a mark on a space", " \u0301", ` \u{301}`},
		{"a mark on an escape", "\n\u0301", `\n\u{301}`},
		{"a heap of marks", "a\u0301\u0302\u0303\u0304\u0305", "a\u0301\u0302\u0303" + `\u{304}\u{305}`},
		{"a heap of one mark", "a" + strings.Repeat("\u0301", 1000), `a\u{301*1000}`},
		{"an enclosing mark", "a\u20dd", `a\u{20DD}`},
		{"a private character", "\ue000", `\u{E000}`},
		{"an unassigned one", "\u0378", `\u{378}`},
		{"of a later Unicode", "\U0001c400", `\u{1C400}`},
		{"quotes", `say "hi"`, `say \"hi\"`},
		{"emoji keep their parts", "👩\u200d💻", `👩\u{200D}💻`},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			if got := escape(test.in, quoted); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if back, err := readBack(test.want); err != nil || plain(back) != test.in {
				t.Errorf("%s is read back as %q, %v", test.want, plain(back), err)
			}
		})
	}
}

func TestMarkdownIsInert(t *testing.T) {
	tests := []struct{ why, in, want string }{
		{"a link", "[x](http://evil)", `[x\u{5D}(http://evil)`},
		{"a reference", "[x][y] [x]: http://evil", `[x\u{5D}[y] [x\u{5D}: http://evil`},
		{"an image", "![x](y)", `![x\u{5D}(y)`},
		{"a fence", "a```js", `a\u{60}\u{60}\u{60}js`},
		{"a longer fence", "````", `\u{60}\u{60}\u{60}\u{60}`},
		{"a tilde fence", "~~~", `\u{7E}\u{7E}\u{7E}`},
		{"a tag", "<script>a</script><!-- x", `\u{3C}script>a\u{3C}/script>\u{3C}!-- x`},
		{"two of them", "<<b>", `\u{3C}\u{3C}b>`},
		{"an autolink", "<http://evil>", `\u{3C}http://evil>`},
		{"a chat mention", "<@U123> <!here> <#C1>", `\u{3C}\u{40}U123> \u{3C}!here> \u{3C}#C1>`},
		{"a mention", "@everyone hi @you", `\u{40}everyone hi \u{40}you`},
		{"an address is left alone", "anna@example.com", "anna@example.com"},
		{"an entity", "&#x202E; &lt;b&gt; &amp;", `\u{26}#x202E; \u{26}lt;b\u{26}gt; \u{26}amp;`},
		{"a query is left alone", "?a=1&b=2 a < b && c > d", "?a=1&b=2 a < b && c > d"},
		{"code is left alone", "`ls` a[0] ~/x", "`ls` a[0] ~/x"},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			var b strings.Builder
			for u := range units(characters(test.in), quoted, true) {
				b.WriteString(u.text())
			}
			if got := b.String(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// Different texts are shown differently: what is shown can be read back.
func TestEscapeIsInjective(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{" ", "  ", "\n", "\t", "a", "\\", "\"", "u", "{", "20", "*", "5", "}", "\u200b", "\u202e",
		"\u0301", "\xff", "\xe2\x80", "é", "<", "`", "@", "[", "](", "&", ";"}
	for range 8000 {
		var b strings.Builder
		for range rng.IntN(12) {
			b.WriteString(strings.Repeat(alphabet[rng.IntN(len(alphabet))], 1+rng.IntN(5)*rng.IntN(5)))
		}
		in := b.String()
		for _, markdown := range []bool{false, true} {
			for _, m := range []mode{quoted, bare, prose} {
				var shown strings.Builder
				for u := range units(characters(in), m, markdown) {
					shown.WriteString(u.text())
				}
				if back, err := readBack(shown.String()); err != nil || plain(back) != in {
					t.Fatalf("%q is shown as %s and read back as %q, %v", in, shown.String(), plain(back), err)
				}
			}
		}
	}
}

// A hostile text must not make the work grow faster than itself.
func TestUnitsAreLinear(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	const n = 1 << 20
	for _, s := range []string{"\u0301", " \u0301", "\u0301\u0302", "&a", "&", "@", "`", "<", "\n\u200b",
		"a\u0301\u0301\u0301"} {
		count := 0
		for range units(characters(strings.Repeat(s, n/len(s))), quoted, true) {
			count++
		}
		if count == 0 {
			t.Errorf("%q: nothing is shown", s)
		}
	}
}
