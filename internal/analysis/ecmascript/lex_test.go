package ecmascript

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTokens(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"a $b _c é d1 #e", "a $b _c é d1 #e"},
		{`a\u0062 \u{63}d`, `a\u0062 \u{63}d`},
		{"1 1.5 .5 5. 1e5 1e+5 1E-5 0x1F 0b1 0o7 1_000 1n 0x1fn 010",
			"1 1.5 .5 5. 1e5 1e+5 1E-5 0x1F 0b1 0o7 1_000 1n 0x1fn 010"},
		{"1.5.a 1..a 1e5.a 1.e5 0x1e+1 .5.a", "1.5 . a 1. . a 1e5 . a 1.e5 0x1e + 1 .5 . a"},
		{`"a\"b" 'c\'d' "\` + "\n" + `x"`, `"a\"b" 'c\'d' "\` + "\n" + `x"`},
		{"`a` `\\`` `$` `${", "`a` `\\`` `$` `${"},
		{"a=b==c===d!=e!==f=>g", "a = b == c === d != e !== f => g"},
		{"a<<b<<=c>>d>>>e>>>=f>=g<=h", "a << b <<= c >> d >>> e >>>= f >= g <= h"},
		{"a??b??=c||d||=e&&f&&=g", "a ?? b ??= c || d ||= e && f &&= g"},
		{"a?.b a?.5:c a?b:c", "a ?. b a ? .5 : c a ? b : c"},
		{"a++ + ++b - --c ** d**=e", "a ++ + ++ b - -- c ** d **= e"},
		{"[...a] @b ~c !d", "[ ... a ] @ b ~ c ! d"},
		{"a /* b */ c // d\n e <!-- f\n--> g\nh-->i", "a c e h -- > i"},
		{"a\u00a0\ufeff\u2003b\u2028c", "a b c"},
		{"a / b /= c", "a / b /= c"},
	} {
		l := Lexer{Src: test.text}
		var got []string
		for {
			tok := l.Next(false)
			if tok.Kind == EOF {
				break
			}
			if got = append(got, l.Text(tok)); tok.Kind == InvalidToken {
				t.Errorf("%q: %q is bad", test.text, l.Text(tok))
			}
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q: -want +got\n%s", test.text, diff)
		}
	}
}

func TestRegularExpressionTokens(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"/a/", "/a/"},
		{"/a/gi.b", "/a/gi"},
		{`/\//.b`, `/\//`},
		{"/[/]/.b", "/[/]/"},
		{`/[\]/]/.b`, `/[\]/]/`},
		{"/=/", "/=/"},
	} {
		l := Lexer{Src: test.text}
		if tok := l.Next(true); tok.Kind != RegExpToken || l.Text(tok) != test.want {
			t.Errorf("%s: got %q of kind %d", test.text, l.Text(tok), tok.Kind)
		}
	}
}

func TestBadTokens(t *testing.T) {
	for _, text := range []string{`"a`, "'a\nb'", "`a", "/*a", "/a", "/[/", "/a\n/", "#", "# a", "\\", "\x00"} {
		l := Lexer{Src: text}
		tok := l.Next(true)
		for range text {
			if tok.Kind == InvalidToken || tok.Kind == EOF {
				break
			}
			tok = l.Next(true)
		}
		if tok.Kind != InvalidToken {
			t.Errorf("%q: got kind %d", text, tok.Kind)
		}
	}
}

func TestCook(t *testing.T) {
	for _, test := range []struct {
		raw, want string
		ok        bool
	}{
		{`a`, "a", true},
		{`é😀`, "é😀", true},
		{`\n\r\t\b\f\v\0\\\'\"\a\é`, "\n\r\t\b\f\v\x00\\'\"aé", true},
		{`\x41\u0042\u{43}`, "ABC", true},
		{`\ud83d\ude00`, "😀", true},
		{"a\\\nb\\\r\nc", "abc", true},
		{`\ud83d`, "", false},
		{`\ud83dx`, "", false},
		{`\ude00`, "", false},
		{`\ud83d\x41`, "", false},
		{`\1`, "", false},
		{`\00`, "", false},
		{`\u{110000}`, "", false},
		{`\u{`, "", false},
		{`\x4`, "", false},
		{`\u004`, "", false},
		{`\`, "", false},
	} {
		if got, ok := cook(test.raw); ok != test.ok || ok && got != test.want {
			t.Errorf("%q: got %q, %v", test.raw, got, ok)
		}
	}
}
