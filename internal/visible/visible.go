// Package visible escapes text from servers, programs and clients, so that a person sees all of it and the text can
// neither move a cursor nor look like a line of codemode. It is used where text leaves codemode, for terminals, logs
// and files that people open; stored data, and data that decisions depend on, is never changed.
//
// There is one form for each kind of place:
//
//   - [Line], for data in a line of text: line ends and tabs are escaped too. [Sprintf] does that to all its arguments.
//   - [Text], for lines with data that is escaped already.
//   - [JSON], for JSON: it stays JSON and means the same.
//   - [Markdown], for data in a line of Markdown.
//
// It also compares texts as people read and write them: [Alike] finds those that look the same, [Nearest] the word that
// somebody meant to type.
//
// Invisible are control characters, format characters (text direction, zero width, tags), line and paragraph
// separators, blanks other than the space, variation selectors, code points for private use or without a meaning, and
// bytes that are not UTF-8. In text they become \n, \r, \t, \u{202e} or \x{9b}. A backslash stays: the form is for
// reading, not for parsing. Package approvals/prompt has a stricter form, in which two different texts never look the
// same.
package visible

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// blank holds characters that unicode.IsPrint accepts and a person cannot see.
var blank = []*unicode.RangeTable{
	unicode.Other_Default_Ignorable_Code_Point, // U+034F, U+115F, U+3164, ...
	unicode.Variation_Selector,                 // U+FE00, U+E0100, ...
	// braille blank, object replacement
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}, {Lo: 0xFFFC, Hi: 0xFFFC, Stride: 1}}},
}

// Rune reports whether a person can see r.
func Rune(r rune) bool {
	if r < utf8.RuneSelf {
		return ' ' <= r && r <= '~'
	}
	return unicode.IsPrint(r) && !unicode.In(r, blank...)
}

// Line escapes s for one line.
func Line(s string) string { return escape(s, false) }

// Text escapes s and keeps its lines: line ends stay, and a tab becomes four spaces. Line ends in data would begin new
// lines, so Text is for text with data that is escaped already, and for source text behind a margin.
func Text(s string) string { return escape(s, true) }

// Short shortens s to n runes and escapes it for one line.
func Short(s string, n int) string {
	var b strings.Builder
	count := 0
	for _, c := range s {
		if count++; count > n {
			fmt.Fprintf(&b, "… (%d more characters)", utf8.RuneCountInString(s)-n)
			break
		}
		if c == '\n' || c == '\t' {
			c = ' '
		}
		b.WriteString(Line(string(c)))
	}
	return b.String()
}

func escape(s string, lines bool) string {
	stays := func(r rune, size int) bool {
		return Rune(r) && (r != utf8.RuneError || size != 1) || lines && r == '\n'
	}
	clean := 0
	for clean < len(s) {
		r, n := utf8.DecodeRuneInString(s[clean:])
		if !stays(r, n) {
			break
		}
		clean += n
	}
	if clean == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:clean])
	for rest := s[clean:]; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		switch {
		case stays(r, n):
			b.WriteString(rest[:n])
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x{%02x}`, rest[0])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t' && lines:
			b.WriteString("    ")
		case r == '\t':
			b.WriteString(`\t`)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
		rest = rest[n:]
	}
	return b.String()
}

// JSON escapes invisible characters of a JSON text in the notation of JSON strings. Line ends between values stay.
func JSON(text string) string {
	var b strings.Builder
	from := 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if r != '\n' && !Rune(r) {
			b.WriteString(text[from:i])
			from = i + n
			if r > 0xffff {
				fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
			} else {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		} else if r == utf8.RuneError && n == 1 { // as JSON readers decode it
			b.WriteString(text[from:i])
			from = i + n
			b.WriteRune(r)
		}
		i += n
	}
	if from == 0 {
		return text
	}
	b.WriteString(text[from:])
	return b.String()
}

// Sprintf is fmt.Sprintf with [Line] applied to each text among the arguments. format must be a constant.
func Sprintf(format string, args ...any) string { return fmt.Sprintf(format, escaped(args)...) }

// Fprintf is fmt.Fprintf with [Line] applied to each text among the arguments. format must be a constant.
func Fprintf(w io.Writer, format string, args ...any) {
	_, _ = io.WriteString(w, Sprintf(format, args...)) // like fmt.Fprintf, callers ignore the error
}

// escaped applies Line to arguments that print as text, and keeps numbers.
func escaped(args []any) []any {
	safe := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case nil:
		case string:
			safe[i] = Line(v)
		case []byte:
			safe[i] = Line(string(v))
		case error:
			safe[i] = Line(v.Error())
		case fmt.Stringer:
			safe[i] = Line(v.String())
		default:
			safe[i] = a
			switch reflect.TypeOf(a).Kind() {
			case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint,
				reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
			case reflect.String:
				safe[i] = Line(reflect.ValueOf(a).String())
			default:
				safe[i] = Line(fmt.Sprint(a))
			}
		}
	}
	return safe
}
