package visible

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ParseJSON restores the canonical JSON from the text that [JSON] made of it.
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

// Cell escapes a text, see [Line], and keeps spreadsheets from reading it as a formula. Formulas begin with one of a
// few characters, in some programs after blanks. An apostrophe before the text prevents that, and spreadsheets do not
// show it.
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

// Markdown escapes a text, see [Line], for a line or a cell of a table in Markdown: nothing of it is a link, a picture,
// an element of HTML, code or the end of a cell.
func Markdown(s string) string { return markdown.Replace(Line(s)) }

// MarkdownRow is a line of a table in Markdown, with its line end. Its cells are escaped, see [Markdown].
func MarkdownRow(cells ...string) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString("| " + Markdown(c) + " ")
	}
	return b.String() + "|\n"
}

// Extensions of GitHub make links of bare addresses (https://github.github.com/gfm/#autolinks-extension-).
var markdown = strings.NewReplacer(`\`, `\\`, "|", `\|`, "[", `\[`, "<", "&lt;", "&", "&amp;", "`", "'", "*", `\*`,
	"://", `\://`, "www.", `www\.`)
