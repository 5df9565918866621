package strictjson

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A SyntaxError says where a text is wrong, and what to write instead. Offset and Length are bytes within the text; a
// Length of 0 is a place between two bytes, such as the end.
type SyntaxError struct {
	Offset, Length int
	Message        string // what is wrong, in a few words
	Hint           string // what to do about it; empty if that is plain
}

// Error is the message and its place, without the hint.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s, at byte %d", e.Message, e.Offset) }

// Place returns the line and the column, in characters from 1, of the error in the text that was parsed.
func (e *SyntaxError) Place(text string) (line, column int) {
	before := text[:e.Offset]
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

// fail keeps the first problem and ends the reading: what comes after it is at the end of the text.
func (p *parser) fail(at, length int, message, hint string) {
	if p.err == nil {
		p.err = &SyntaxError{Offset: at, Length: length, Message: message, Hint: hint}
	}
	p.at = len(p.src)
}

func (p *parser) tooDeep() {
	p.fail(p.at, 1, fmt.Sprintf("nested deeper than %d levels", p.MaxDepth), "")
}

func (p *parser) neverClosed(open int) {
	p.fail(open, 1, "this "+p.src[open:open+1]+" is never closed", "")
}

// notSeparated reports what stands where a comma or the closing bracket should. The place of a missing comma is the
// end of what stands before it, where the comma belongs.
func (p *parser) notSeparated(open, end int) {
	c := p.peek()
	switch {
	case p.at == len(p.src):
		p.neverClosed(open)
	case p.foreign():
	case c == ']' || c == '}':
		opening, closing := p.src[open:open+1], string(p.src[open]+2)
		p.fail(p.at, 1, string(c)+" where a "+opening+" has to be closed", "write "+closing+" before it, or instead of it")
	case c == '=' || c == ':':
		p.fail(p.at, 1, string(c)+" where a comma is expected", "")
	case c == ';':
		p.fail(p.at, 1, "a semicolon between two values", "write , instead")
	default:
		p.fail(end-1, 1, "a comma is missing between two values", "write , after it")
	}
}

func (p *parser) noColon(n *node) {
	switch c := p.peek(); {
	case c == '=':
		p.fail(p.at, 1, "a colon is missing after a key", "write : and not =")
	case p.at < len(p.src) && p.foreign():
	default:
		p.fail(int(n.keyStart), int(n.keyEnd-n.keyStart), "a colon is missing after a key", "write : after it")
	}
}

// notAKey reports what stands where a key should. The object begins at open, the comma before is at comma, -1 if there
// is none.
func (p *parser) notAKey(open, comma int) {
	c := p.peek()
	switch {
	case p.at == len(p.src):
		p.neverClosed(open)
	case p.foreign():
	case c == '\'' || c == '`':
		p.fail(p.at, 1, "a key in "+quotes(c), `write it in double quotes: "..."`)
	case c == ',':
		p.fail(p.at, 1, "a comma too many", "")
	case c == '}':
		p.fail(comma, 1, "a comma too many before }", "")
	case isWord(c):
		n := p.wordLength()
		p.fail(p.at, n, "a key without quotes", `write "`+p.src[p.at:p.at+n]+`"`)
	default:
		p.fail(p.at, p.runeLength(), "a key is expected here", `keys are text in double quotes: "..."`)
	}
}

// missingValue reports a closing bracket where a value should be.
func (p *parser) missingValue(comma int) {
	bracket := p.src[p.at : p.at+1]
	if bracket == "]" && comma >= 0 {
		p.fail(comma, 1, "a comma too many before ]", "")
		return
	}
	p.fail(p.at, 1, "a value is missing before "+bracket, "")
}

// notAValue reports what stands where a value should.
func (p *parser) notAValue() {
	c := p.peek()
	word := p.src[p.at : p.at+p.wordLength()]
	switch {
	case p.at == len(p.src):
		p.fail(p.at, 0, "the text ends where a value is expected", "")
	case word != "":
		p.fail(p.at, len(word), "not a JSON value", insteadOf(word))
	case p.foreign():
	case c == '\'' || c == '`':
		p.fail(p.at, 1, "text in "+quotes(c), `write it in double quotes: "..."`)
	case c == ',':
		p.fail(p.at, 1, "a comma too many", "")
	case c == ']' || c == '}':
		p.fail(p.at, 1, "a value is missing before "+string(c), "")
	case c == '.' || c == '+':
		p.fail(p.at, 1, "not a JSON value", "a number begins with a digit or with - and a digit")
	default:
		p.fail(p.at, p.runeLength(), "a value is expected here", "")
	}
}

// insteadOf says what to write for a word that other languages have.
func insteadOf(word string) string {
	switch word {
	case "True", "TRUE":
		return "write true"
	case "False", "FALSE":
		return "write false"
	case "None", "NULL", "Null", "nil", "undefined":
		return "write null"
	case "NaN", "Infinity":
		return "JSON has no such number"
	}
	return `text needs double quotes: "` + word + `"`
}

func (p *parser) afterTheEnd() {
	if !p.foreign() {
		hint := "a closing bracket or brace earlier in the text may be one too many"
		p.fail(p.at, p.runeLength(), "text after the end of the value", hint)
	}
}

// foreign reports what no JSON text has outside strings, whatever is expected.
func (p *parser) foreign() bool {
	rest := p.src[p.at:]
	r, length := utf8.DecodeRuneInString(rest)
	switch {
	case strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*"):
		p.fail(p.at, 2, "a comment", "JSON has no comments")
	case r == '#':
		hint := "JSON has no comments"
		if p.Comments {
			hint = "write // instead"
		}
		p.fail(p.at, 1, "# does not begin a comment here", hint)
	case r == utf8.RuneError && length == 1:
		p.fail(p.at, 1, "a byte that is not UTF-8", "save the file as UTF-8")
	case r == 0:
		p.fail(p.at, 1, "a NUL byte", "this does not look like a text file: save it as UTF-8 text")
	case r == '\ufeff':
		p.fail(p.at, length, "a byte order mark", "save the file as UTF-8 without one")
	case r < ' ' || r == 0x7f || r == '\u00a0' || r == '\u2028' || r == '\u2029':
		message := fmt.Sprintf("the character U+%04X outside of text", r)
		p.fail(p.at, length, message, "JSON has no other white space than spaces, tabs and line ends")
	case r == '\u201c' || r == '\u201d' || r == '\u201e':
		p.fail(p.at, length, "typographic quotes", `write straight ones: "..."`)
	default:
		return false
	}
	return true
}

func quotes(c byte) string {
	if c == '`' {
		return "backquotes"
	}
	return "single quotes"
}

func (p *parser) runeLength() int {
	_, n := utf8.DecodeRuneInString(p.src[p.at:])
	return n
}

func (p *parser) notANumber(start int) bool {
	p.at = start + 1
	for p.peek() == '.' || isWord(p.peek()) {
		p.at++
	}
	text := p.src[start:p.at]
	digits := strings.TrimPrefix(text, "-")
	hint := ""
	switch {
	case digits == "NaN" || digits == "Infinity":
		hint = "JSON has no such number"
	case len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9':
		hint = "a number does not begin with 0"
	case len(text) > 1:
		hint = "if it is text, put it in double quotes"
	}
	p.fail(start, len(text), "not a JSON number", hint)
	return false
}

func (p *parser) neverEnds(open int) { p.fail(open, 1, "this text never ends", `close it with "`) }

func (p *parser) notUTF8(open int) {
	p.fail(open, 1, "this text is not UTF-8", "save the file as UTF-8")
}

// controlInText reports a control character inside the text that begins at open.
func (p *parser) controlInText(open int) {
	if c := p.peek(); c == '\n' || c == '\r' {
		p.fail(open, 1, "this text does not end on its line", `close it with ", or write \n for a new line`)
		return
	}
	p.fail(p.at, 1, "a control character inside text", `write it as an escape, for example \t or \u0000`)
}

func (p *parser) noSuchEscape() {
	_, n := utf8.DecodeRuneInString(p.src[p.at+1:])
	p.fail(p.at, 1+n, "no such escape", `a backslash is written \\; the others are \" \/ \b \f \n \r \t \u0000`)
}

func (p *parser) halfPair() {
	p.fail(p.at, 6, "half a surrogate pair", `write both halves, for example \ud83d\ude00, or the character itself`)
}
