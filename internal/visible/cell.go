package visible

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ParseJSON gives back the canonical JSON of which [JSON] made a text.
func ParseJSON(cell string) string {
	if !strings.Contains(cell, `\u`) {
		return cell
	}
	var b strings.Builder
	for i := 0; i < len(cell); {
		if cell[i] != '\\' || i+1 == len(cell) {
			b.WriteByte(cell[i])
			i++
			continue
		}
		r, n := escapedRune(cell[i:])
		if utf16.IsSurrogate(r) {
			low, more := escapedRune(cell[i+n:])
			r = utf16.DecodeRune(r, low)
			n += more
		}
		if r < 0x7f || r == utf8.RuneError { // canonical JSON has these escapes itself
			b.WriteString(cell[i : i+2])
			i += 2
			continue
		}
		b.WriteRune(r)
		i += n
	}
	return b.String()
}

// escapedRune reads the \uXXXX at the beginning of s; 0 if there is none.
func escapedRune(s string) (rune, int) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, 0
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil {
		return 0, 0
	}
	return rune(n), 6
}

// Cell makes a text visible, see [Line], and keeps spreadsheets from taking it for a formula: those begin with one of a
// few characters, in some programs behind blanks too. They are kept apart by an apostrophe, which such programs do not show.
func Cell(s string) string {
	s = Line(s)
	if trimmed := strings.TrimLeft(s, " "); trimmed != "" && strings.ContainsAny(firstRune(trimmed), "=+-@＝＋－＠|%") {
		return "'" + s
	}
	return s
}

func firstRune(s string) string {
	for _, r := range s {
		return string(r)
	}
	return ""
}
