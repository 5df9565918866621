package builtin

import (
	"strings"
	"testing"
)

func TestPatterns(t *testing.T) {
	for _, row := range []struct{ pattern, matches, not string }{ // names, apart by blanks
		{"*.md", "a.md .md", "a.txt d/a.md"},
		{"**/*.md", "a.md d/a.md d/e/a.md", "a.txt md"},
		{"**", "a d/a d/e/a", ""},
		{"d/**", "d d/a d/e/a", "a dd/a"},
		{"d/**/a", "d/a d/e/a d/e/f/a", "a d/b"},
		{"d**", "d da", "d/a"},
		{"[!a-c]?", "dx", "ax d"},
		{`\*`, "*", "a"},
		{"{a,b}", "a b", "ab c"},
		{"a{,b}", "a ab", "b aa"},
		{"a{b,}", "a ab", "b aa"},
		{"a{b,}{c,}", "a ab ac abc", "acb"},
		{"{d,e/**}", "d e e/a", "d/a"},
		{"{a,b}/**", "a a/x/y b/x", "c a1"},
		{"{**/,}a", "a d/a d/e/a", "b"},
		{"a[{,}]b", "a{b a,b a}b", "ab"},
	} {
		p, err := newPattern(row.pattern)
		if err != nil {
			t.Errorf("%s: %v", row.pattern, err)
			continue
		}
		for name := range strings.FieldsSeq(row.matches) {
			if !p.match(name) {
				t.Errorf("%s does not match %s", row.pattern, name)
			}
		}
		for name := range strings.FieldsSeq(row.not) {
			if p.match(name) {
				t.Errorf("%s matches %s", row.pattern, name)
			}
		}
	}
}

func TestCostlyPatternsAreRefused(t *testing.T) {
	for _, s := range []string{
		strings.Repeat("{a,aa}", 9), strings.Repeat("{a}", 17), strings.Repeat("{a,", 17) + strings.Repeat("}", 17),
		"{" + strings.Repeat(",", 300) + "}", `{[}],a}{[\]}],a}` + strings.Repeat("{a,aa}", 7),
		strings.Repeat("*", patternMax+1),
	} {
		if _, err := newPattern(s); err == nil {
			t.Errorf("%.60s: no error", s)
		}
	}
	for _, s := range []string{strings.Repeat("{a,aa}", 8), "*.{" + strings.Repeat("x,", 200) + "y}",
		strings.Repeat("a,", 400)} {
		if _, err := newPattern(s); err != nil {
			t.Errorf("%.60s: %v", s, err)
		}
	}
}
