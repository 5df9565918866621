package prompt

import (
	"slices"
	"strings"
	"unicode"
)

// The tables follow Unicode 15.0, the version of Go's package unicode. Characters of later versions are unassigned
// there, and therefore escaped.

// visible lists the categories of characters to show unescaped: letters, digits, punctuation, symbols and the
// marks that sit on letters. It excludes all of C (Cc, Cf, Co, Cs, Cn), Zl, Zp, Zs (a plain space has its own rule),
// and the enclosing marks (Me), which draw over their neighbours.
var visible = []*unicode.RangeTable{unicode.L, unicode.N, unicode.P, unicode.S, unicode.Mn, unicode.Mc}

// blank holds characters of visible categories that show nothing or next to nothing: Default_Ignorable_Code_Point as
// DerivedCoreProperties.txt defines it (Other_Default_Ignorable, Cf, the variation selectors; Cf is hidden by its
// category), and blanks that the standard does not include there.
var blank = []*unicode.RangeTable{
	unicode.Other_Default_Ignorable_Code_Point, // U+034F, U+115F, U+1160, U+3164, U+FFA0, U+E0000 and its plane, ...
	unicode.Variation_Selector,                 // U+180B, U+FE00, U+E0100, ...
	{
		R16: []unicode.Range16{
			{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // braille pattern blank
			{Lo: 0xFFFC, Hi: 0xFFFC, Stride: 1}, // object replacement
		},
		R32: []unicode.Range32{
			{Lo: 0x13441, Hi: 0x13446, Stride: 1}, // Egyptian blanks and lost signs
			{Lo: 0x16FE4, Hi: 0x16FE4, Stride: 1}, // Khitan filler
			{Lo: 0x1D159, Hi: 0x1D159, Stride: 1}, // musical null notehead
		},
	},
}

// deceptive holds characters that look like the quotation mark or the backslash. This package uses these two to mark
// the end of data and escapes.
var deceptive = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x02BA, Hi: 0x02BA, Stride: 1}, // modifier double prime
		{Lo: 0x02DD, Hi: 0x02DD, Stride: 1}, // double acute
		{Lo: 0x02EE, Hi: 0x02EE, Stride: 1}, // modifier double apostrophe
		{Lo: 0x02F6, Hi: 0x02F6, Stride: 1}, // modifier double acute
		{Lo: 0x05F2, Hi: 0x05F2, Stride: 1}, // Yiddish double yod
		{Lo: 0x05F4, Hi: 0x05F4, Stride: 1}, // Hebrew gershayim
		{Lo: 0x1CD3, Hi: 0x1CD3, Stride: 1}, // Vedic nihshvasa
		{Lo: 0x201C, Hi: 0x201F, Stride: 1}, // curly quotes
		{Lo: 0x2033, Hi: 0x2033, Stride: 1}, // double prime
		{Lo: 0x2036, Hi: 0x2036, Stride: 1}, // reversed double prime
		{Lo: 0x2216, Hi: 0x2216, Stride: 1}, // set minus
		{Lo: 0x275D, Hi: 0x275E, Stride: 1}, // heavy quotes
		{Lo: 0x27CD, Hi: 0x27CD, Stride: 1}, // falling diagonal
		{Lo: 0x29F5, Hi: 0x29F5, Stride: 1}, // reverse solidus operator
		{Lo: 0x29F9, Hi: 0x29F9, Stride: 1}, // big reverse solidus
		{Lo: 0x2F02, Hi: 0x2F02, Stride: 1}, // dot radical
		{Lo: 0x3003, Hi: 0x3003, Stride: 1}, // ditto
		{Lo: 0x301D, Hi: 0x301F, Stride: 1}, // double prime quotes
		{Lo: 0x31D4, Hi: 0x31D4, Stride: 1}, // CJK stroke
		{Lo: 0x4E36, Hi: 0x4E36, Stride: 1}, // CJK dot
		{Lo: 0xFE68, Hi: 0xFE68, Stride: 1}, // small reverse solidus
		{Lo: 0xFF02, Hi: 0xFF02, Stride: 1}, // fullwidth quote
		{Lo: 0xFF3C, Hi: 0xFF3C, Stride: 1}, // fullwidth reverse solidus
	},
	R32: []unicode.Range32{
		{Lo: 0x1F676, Hi: 0x1F678, Stride: 1}, // ornamental quotes
	},
}

// shows reports whether a person can see on the screen that r is there, and which character it is.
func shows(r rune) bool {
	if r < unicode.MaxASCII {
		return r > ' '
	}
	return unicode.In(r, visible...) && !unicode.In(r, blank...) && !unicode.Is(deceptive, r)
}

// kind names what is unusual about an invisible character.
func kind(r rune) string {
	switch {
	case r < 0:
		return "broken UTF-8"
	case unicode.Is(unicode.Cs, r):
		return "half a surrogate pair"
	case unicode.Is(unicode.Cc, r):
		return "control"
	case unicode.Is(unicode.Bidi_Control, r):
		return "text direction"
	case unicode.Is(unicode.Variation_Selector, r):
		return "variation selector"
	case unicode.Is(unicode.Cf, r):
		return "format"
	case unicode.Is(unicode.Co, r):
		return "private use"
	case unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp):
		return "unusual space"
	case unicode.In(r, blank...):
		return "blank"
	case unicode.Is(deceptive, r):
		return "look-alike quote or backslash"
	case unicode.In(r, unicode.M):
		return "stray mark"
	case unicode.In(r, visible...):
		return "markup"
	}
	return "unassigned"
}

// rightToLeft reports whether r makes the text around it run from right to left. The ranges are the blocks that Unicode
// reserves for such scripts.
func rightToLeft(r rune) bool {
	return 0x0590 <= r && r <= 0x08FF || 0xFB1D <= r && r <= 0xFDFF || 0xFE70 <= r && r <= 0xFEFF ||
		0x10800 <= r && r <= 0x10FFF || 0x1E800 <= r && r <= 0x1EFFF
}

// alike holds the alphabets with easily confused letters. A word that mixes two of them is suspicious. Japanese is not:
// it mixes three scripts, and none of them looks like Latin.
var alike = map[string]*unicode.RangeTable{
	"Armenian": unicode.Armenian, "Cherokee": unicode.Cherokee, "Coptic": unicode.Coptic, "Cyrillic": unicode.Cyrillic,
	"Greek": unicode.Greek, "Latin": unicode.Latin, "Lisu": unicode.Lisu,
}

// mixed returns the first word of cs that mixes letters of several alphabets that look alike, and their names.
func mixed(cs []rune) (word, alphabets string) {
	for start := 0; start < len(cs); {
		end, ascii := start, true
		for end < len(cs) && (unicode.IsLetter(cs[end]) || unicode.Is(unicode.M, cs[end])) {
			ascii = ascii && cs[end] <= unicode.MaxASCII
			end++
		}
		if !ascii {
			if names := scripts(cs[start:end]); len(names) > 1 {
				return string(cs[start:end]), strings.Join(names, " and ")
			}
		}
		start = end + 1
	}
	return "", ""
}

func scripts(cs []rune) []string {
	var names []string
	for name, table := range alike {
		if slices.ContainsFunc(cs, func(c rune) bool { return unicode.Is(table, c) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// foreign reports whether a name has letters beyond a to z. Such a letter may look like another one.
func foreign(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII })
}
