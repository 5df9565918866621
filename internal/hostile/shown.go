package hostile

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Inert reports whether r may stand in what a person sees. It is stated by what must not appear, shows by what may.
func Inert(r rune) bool {
	switch {
	case r == '\n' || ' ' <= r && r <= '~':
		return true
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Cn, unicode.Zl, unicode.Zp, unicode.Zs,
		unicode.Me),
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Bidi_Control,
			unicode.Join_Control, unicode.White_Space):
		return false
	case strings.ContainsRune("\u3164\u115f\u1160\uffa0\u2800\u034f\u17b4\u17b5\u00ad\ufeff\u2028\u2029\u061c\u180e", r):
		return false
	}
	return true
}

// ShownInert holds what must be true of any text that a person sees, whoever wrote parts of it.
func ShownInert(t testing.TB, shown string) {
	t.Helper()
	if !utf8.ValidString(shown) {
		t.Errorf("%q is not UTF-8", shown)
	}
	mark := 0
	for i, r := range shown {
		if !Inert(r) {
			t.Errorf("U+%04X at byte %d of %q", r, i, shown)
			return
		}
		if mark++; !unicode.Is(unicode.M, r) {
			mark = 0
		} else if mark > 3 {
			t.Errorf("a heap of marks at byte %d of %q", i, shown)
			return
		}
	}
}

// RefusedArgs are arguments that two JSON readers may take for two different things.
var RefusedArgs = []string{
	`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, "{", `{"a":}`, "1 2", "{\"a\":\"\xff\"}", "\"\xed\xa0\x80\"", `{"a":"\ud800"}`,
	`{"\udc00":1}`,
	`"\udc00\ud800"`, `{"a":1e400}`, `1E99999999999999999999`, strings.Repeat("[", 65) + strings.Repeat("]", 65),
}
