package match

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestGlobs is THREATS.md P02: one written grammar.
func TestGlobs(t *testing.T) {
	for _, row := range []struct {
		pattern string
		yes, no []string
	}{
		{"*", []string{"a", "fs__a/b", "é", "\n"}, nil},
		{"a", []string{"a"}, []string{"", "A", "aa", "b"}},
		{"fs__*", []string{"fs__", "fs__a", "fs__a/b", "fs__a__b"}, []string{"fs_", "xfs__a", "fs_a"}},
		{"*__x", []string{"__x", "a__x", "a__b__x"}, []string{"__xy", "x", "a_x"}},
		{"a*c", []string{"ac", "abc", "a/c", "acc"}, []string{"a", "c", "abcd"}},
		{"a*b*c", []string{"abc", "a_b_c", "abbc", "abcbc"}, []string{"acb", "ab", "acbcd"}},
		{"a**c", []string{"ac", "a/b/c"}, []string{"ab"}},
		{"**", []string{"a", "a/b"}, nil},
		{"a/**/b", []string{"a//b", "a/x/y/b"}, []string{"a/b"}},
		{"?", []string{"a", "é", "😀", "/"}, []string{"", "ab", "e\u0301"}},
		{"a?c", []string{"abc", "aéc"}, []string{"ac", "abbc"}},
		{"?*", []string{"a", "ab"}, []string{""}},
		{"*?", []string{"a", "aé"}, []string{""}},
		{"*??", []string{"ab", "aéb"}, []string{"a", "é"}},
		{"[abc]", []string{"a", "c"}, []string{"d", "", "ab"}},
		{"[a-c]x", []string{"ax", "cx"}, []string{"dx", "Ax"}},
		{"[!a-c]", []string{"d", "é", "/"}, []string{"a", "b", ""}},
		{"[^a]", []string{"b", "^"}, []string{"a"}},
		{"[a^]", []string{"a", "^"}, []string{"b"}},
		{"[a!]", []string{"a", "!"}, []string{"b"}},
		{"[a-]", []string{"a", "-"}, []string{"b"}},
		{"[-a]", []string{"a", "-"}, []string{"b"}},
		{`[\]]`, []string{"]"}, []string{"\\", "a"}},
		{`[\\]`, []string{`\`}, []string{"]"}},
		{"[é-ü]", []string{"ö"}, []string{"a", "o"}},
		{"[*]", []string{"*"}, []string{"a"}},
		{"[{}]", []string{"{", "}"}, []string{"a"}},
		{"*[0-9]", []string{"a1", "11"}, []string{"1a", ""}},
		{"{a,b}", []string{"a", "b"}, []string{"c", "ab", "{a,b}"}},
		{"x{a,}y", []string{"xay", "xy"}, []string{"xby"}},
		{"{a,b{c,d}}", []string{"a", "bc", "bd"}, []string{"b", "c"}},
		{"{a,b}{c,d}", []string{"ac", "ad", "bc", "bd"}, []string{"ab", "a"}},
		{"{a*,*b}", []string{"a", "ax", "b", "xb"}, []string{"xa", "bx"}},
		{"{[a-c],d?}", []string{"b", "dx"}, []string{"d"}},
		{"a,b", []string{"a,b"}, []string{"a", "b"}},
		{`a\*`, []string{"a*"}, []string{"ab", `a\*`}},
		{`a\?`, []string{"a?"}, []string{"ab"}},
		{`a\{b,c\}`, []string{"a{b,c}"}, []string{"ab"}},
		{`{a\,b,c}`, []string{"a,b", "c"}, []string{"a", "b"}},
		{`a\bc`, []string{"abc"}, []string{`a\bc`}},
		{"a.c", []string{"a.c"}, []string{"abc"}},
		{"a+", []string{"a+"}, []string{"aa"}},
		{"^a$", []string{"^a$"}, []string{"a"}},
		{"a!", []string{"a!"}, []string{"a"}},
		{"@a", []string{"@a"}, []string{"a"}},
		{"é", []string{"é"}, []string{"e\u0301"}},
	} {
		g, bad := ParseText(row.pattern)
		if bad != nil {
			t.Errorf("%q: %s", row.pattern, bad.Message)
			continue
		}
		for _, s := range row.yes {
			if !g.Match(s) {
				t.Errorf("%q does not match %q", row.pattern, s)
			}
		}
		for _, s := range row.no {
			if g.Match(s) {
				t.Errorf("%q matches %q", row.pattern, s)
			}
		}
	}
}

func TestFoldedGlobs(t *testing.T) {
	for _, row := range []struct {
		pattern, s string
		want       bool
	}{
		{"RM *", "rm -rf", true}, {"rm *", "RM -RF", true}, {"ｒｍ *", "rm x", true}, {"rm *", "ｒｍ x", true},
		{"[A-C]x", "bX", true}, {"[a-c]x", "BX", true}, {"[!a]x", "Ax", true}, {"stra?e", "STRAßE", false},
		{"straße", "STRASSE", true}, {"*K", "\u212a", true}, {"a", "b", false}, {"[s]", "ſ", true},
		{"[!a-z]x", "AX", true}, {"[!a-zA-Z]x", "AX", false}, {"[!a-zA-Z]x", "1X", true}, {"[A-C]x", "dX", false},
		{"＊x", "ax", false}, {"{a，b,c}", "A,B", true},
	} {
		g, bad := ParseText(row.pattern)
		if bad != nil {
			t.Fatal(bad.Message)
		}
		if got := g.MatchFolded(Fold(row.s)); got != row.want {
			t.Errorf("%q on %q: got %t, want %t", row.pattern, row.s, got, row.want)
		}
	}
}

// TestGlobsTakeLinearTime: what makes other matchers backtrack for ever, and as many ways through braces as are
// allowed.
func TestGlobsTakeLinearTime(t *testing.T) {
	long := strings.Repeat("a", 100_000)
	start := time.Now()
	for _, pattern := range []string{
		strings.Repeat("*a", 200) + "*b", strings.Repeat("a*", 200) + "b", strings.Repeat("*", 2000),
		strings.Repeat("?*", 500) + "b",
		"*" + strings.Repeat("[ab]", 200) + "*c", "{*a,*b}{*a,*b}{*a,*b}{*a,*b}c", "*" + strings.Repeat("{a,aa}", 8) + "b",
		strings.Repeat("*a?", 100) + "c",
	} {
		g, bad := ParseText(pattern)
		if bad != nil {
			t.Fatal(bad.Message)
		}
		if got := g.Match(long); got != (strings.Trim(pattern, "*") == "") {
			t.Errorf("%.20q...: got %t", pattern, got)
		}
	}
	if took := time.Since(start); took > time.Minute { // going back would take for ever
		t.Errorf("took %s", took)
	}
}

func FuzzGlob(f *testing.F) {
	for _, s := range []string{"*", "fs__[", "!x", "@(a|b)", "a{", "{a,b}", `\`, "[!]", "[a-", "{,}", "{1..3}",
		"[[:x:]]"} {
		f.Add(s, "fs__x")
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		g, bad := ParseName(pattern)
		if bad != nil {
			if bad.Message == "" || bad.At < 0 || bad.At+bad.Length > max(len(pattern), 1) {
				t.Fatalf("%q: a problem at %d+%d: %q", pattern, bad.At, bad.Length, bad.Message)
			}
			return
		}
		matched := g.Match(s)
		if strings.ContainsAny(pattern, `*?[]{}\`) || !isPlain(s) || !isPlain(pattern) {
			return
		}
		if matched != (pattern == s) {
			t.Fatalf("%q has no special characters and matches %q: %t", pattern, s, matched)
		}
	})
}

func isPlain(s string) bool { return s == strings.ToValidUTF8(s, "") }

// TestHowManyWaysThroughBraces: patterns stay small, and what looks like a range is told
// from what does not.
func TestHowManyWaysThroughBraces(t *testing.T) {
	list := func(n int) string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprint("n", i))
		}
		return "{" + strings.Join(names, ",") + "}"
	}
	for pattern, message := range map[string]string{
		strings.Repeat("{a,b}", 8): "", strings.Repeat("{a,b}", 9): "more than 256", list(256): "",
		list(257): "more than 256",
		strings.Repeat("{a,", 8) + "b" + strings.Repeat("}", 8): "", strings.Repeat("{a,", 9) + "b" + strings.Repeat("}",
			9): "more than 8 braces",
		"{1..3}": "ranges in braces", "{a..c}": "ranges in braces", "{..3}": "only one alternative",
		"{1..}": "only one alternative", "{a..b,c}": "", "{a..*}": "only one alternative",
	} {
		_, bad := ParseName(pattern)
		if (bad == nil) != (message == "") || bad != nil && !strings.Contains(bad.Message, message) {
			t.Errorf("%.40s: got %+v, want %q", pattern, bad, message)
		}
	}
}
