package profiles

import "strings"

// A syntaxError says where a JSON text is wrong, and what to do about it.
type syntaxError struct {
	at, length int // bytes
	message    string
	hint       string
}

func (p *treeParser) fail(at, length int, message, hint string) {
	if p.err == nil {
		p.err = &syntaxError{at: at, length: length, message: message, hint: hint}
	}
	p.at = len(p.src) // nothing more is read
}

// missing reports a comma or colon that is not there. The place is the end of what stands
// before it, which is where it has to be written.
func (p *treeParser) missing(what byte, start, end int, where string) {
	if p.err != nil {
		return
	}
	if p.peek() == '=' {
		p.fail(p.at, 1, "a colon is missing "+where, "write : and not =")
		return
	}
	name := "a comma is missing "
	if what == ':' {
		name = "a colon is missing "
	}
	p.fail(start, end-start, name+where, "write "+string(what)+" after it")
}

func (p *treeParser) notAKey(open int) {
	c := p.peek()
	switch {
	case p.err != nil:
	case p.at == len(p.src):
		p.fail(open, 1, "this { is never closed", "")
	case c == '\'':
		p.fail(p.at, 1, "a key in single quotes", `write it in double quotes: "..."`)
	case c == '#':
		p.fail(p.at, 1, "# does not begin a comment here", "write // instead")
	case c == ',':
		p.fail(p.at, 1, "a comma too many", "")
	case c == '}':
		p.fail(p.at, 1, "a comma too many before }", "")
	case isWord(c):
		n := p.wordLength()
		p.fail(p.at, n, "a key without quotes", `write "`+p.src[p.at:p.at+n]+`"`)
	default:
		p.fail(p.at, 1, "a key is expected here", `keys are text in double quotes: "..."`)
	}
}

func (p *treeParser) notAValue(word string) {
	switch c := p.peek(); {
	case p.at == len(p.src):
		p.fail(p.at, 1, "the text ends where a value is expected", "")
	case word == "True" || word == "False" || word == "None" || word == "TRUE" || word == "FALSE":
		instead := map[string]string{"True": "true", "TRUE": "true", "False": "false", "FALSE": "false", "None": "null"}[word]
		p.fail(p.at, len(word), "not a JSON value", "write "+instead)
	case word != "":
		p.fail(p.at, len(word), "not a JSON value", `text needs double quotes: "`+word+`"`)
	case c == '\'':
		p.fail(p.at, 1, "text in single quotes", `write it in double quotes: "..."`)
	case c == '#':
		p.fail(p.at, 1, "# does not begin a comment here", "write // instead")
	case c == ',':
		p.fail(p.at, 1, "a comma too many", "")
	case c == ']' || c == '}':
		p.fail(p.at, 1, "a value is missing before "+string(c), "")
	case c == '.' || c == '+':
		p.fail(p.at, 1, "not a JSON value", "a number begins with a digit or with - and a digit")
	case c == 0:
		p.fail(p.at, 1, "a NUL byte", "this does not look like a text file: save it as UTF-8 text")
	default:
		p.fail(p.at, 1, "a value is expected here", "")
	}
}

func (p *treeParser) notANumber(start int) string {
	p.at = start + 1
	for isWord(p.peek()) || p.peek() == '.' {
		p.at++
	}
	text := p.src[start:p.at]
	hint := ""
	if digits := strings.TrimPrefix(text, "-"); len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		hint = "a number does not begin with 0"
	} else if len(text) > 1 {
		hint = `if it is text, put it in double quotes`
	}
	p.fail(start, len(text), "not a JSON number", hint)
	return ""
}
