package strictjson

import (
	"errors"
	"strings"
	"testing"
)

// What is wrong is shown between « and »; || is a place between two bytes.
func TestProblems(t *testing.T) {
	comments := Options{Comments: true}
	for _, row := range []struct {
		text    string
		o       Options
		message string
		hint    string
	}{
		{`||`, Options{}, "there is nothing in it", ""},
		{` ||`, Options{}, "there is nothing in it", ""},
		{"// only this\n||", comments, "there is nothing in it", ""},
		{"[ // one\r\n1, // two«\r»2\n]", comments, "a carriage return in this comment: editors show what follows as a line of its own",
			"end the line with a line feed"},
		{`{"a":1}«}»`, Options{}, "text after the end of the value",
			"a closing bracket or brace earlier in the text may be one too many"},
		{`1 «é»`, Options{}, "text after the end of the value",
			"a closing bracket or brace earlier in the text may be one too many"},

		// brackets
		{`{"a": «[»1, 2`, Options{}, "this [ is never closed", ""},
		{`«[»1,`, Options{}, "this [ is never closed", ""},
		{`«[»`, Options{}, "this [ is never closed", ""},
		{`«{»`, Options{}, "this { is never closed", ""},
		{`«{»"a":1`, Options{}, "this { is never closed", ""},
		{`«{»"a":1,`, Options{}, "this { is never closed", ""},
		{`{"a":||`, Options{}, "the text ends where a value is expected", ""},
		{`[1, 2«}»`, Options{}, "} where a [ has to be closed", "write ] before it, or instead of it"},
		{`{"a": 1«]»`, Options{}, "] where a { has to be closed", "write } before it, or instead of it"},
		{`{"a":«}»`, Options{}, "a value is missing before }", ""},
		{`[«}»`, Options{}, "a value is missing before }", ""},
		{`«]»`, Options{}, "a value is missing before ]", ""},
		{`[[«[»]]]`, Options{MaxDepth: 2}, "nested deeper than 2 levels", ""},

		// commas and colons
		{`{"a":«1» "b":2}`, Options{}, "a comma is missing between two values", "write , after it"},
		{"[\"a«\"»\n\"b\"]", Options{}, "a comma is missing between two values", "write , after it"},
		{`[1«;» 2]`, Options{}, "a semicolon between two values", "write , instead"},
		{`["a"«:» 2]`, Options{}, ": where a comma is expected", ""},
		{`{"a":1«=»2}`, Options{}, "= where a comma is expected", ""},
		{`{«"a"» 1}`, Options{}, "a colon is missing after a key", "write : after it"},
		{`{«"a"»}`, Options{}, "a colon is missing after a key", "write : after it"},
		{`{"a" «=» 1}`, Options{}, "a colon is missing after a key", "write : and not ="},
		{`{"a":1«,»}`, Options{}, "a comma too many before }", ""},
		{`[1«,» ]`, Options{}, "a comma too many before ]", ""},
		{`[«,»1]`, Options{}, "a comma too many", ""},
		{`[1,«,»2]`, Options{}, "a comma too many", ""},
		{`[1,«,»]`, comments, "a comma too many", ""},
		{`{«,»}`, comments, "a comma too many", ""},

		// keys
		{`{«'»a':1}`, Options{}, "a key in single quotes", `write it in double quotes: "..."`},
		{"{«`»a`:1}", Options{}, "a key in backquotes", `write it in double quotes: "..."`},
		{`{«name»: 1}`, Options{}, "a key without quotes", `write "name"`},
		{`{«12»: 1}`, Options{}, "a key without quotes", `write "12"`},
		{`{«[»1]: 1}`, Options{}, "a key is expected here", `keys are text in double quotes: "..."`},
		{`{«é»: 1}`, Options{}, "a key is expected here", `keys are text in double quotes: "..."`},
		{`{"a":1,"b":2,«"a"»:3}`, Options{}, "the same key twice in one object", "keep one of the two"},
		{`{"a":1,«"\u0061"»:3}`, Options{}, "the same key twice in one object", "keep one of the two"},
		{manyMembers(1000) + `,«"m500"»:1,"m501":1}`, Options{}, "the same key twice in one object", "keep one of the two"},

		// text
		{`{"a": «"»b}`, Options{}, "this text never ends", `close it with "`},
		{`«"»b\"`, Options{}, "this text never ends", `close it with "`},
		{"«\"»b\n\"", Options{}, "this text does not end on its line", `close it with ", or write \n for a new line`},
		{"«\"»\\tb\r\n\"", Options{}, "this text does not end on its line", `close it with ", or write \n for a new line`},
		{"\"a«\t»b\"", Options{}, "a control character inside text", `write it as an escape, for example \t or \u0000`},
		{"\"\\ta«\x00»b\"", Options{}, "a control character inside text", `write it as an escape, for example \t or \u0000`},
		{`"C:«\d»ir"`, Options{}, "no such escape", `a backslash is written \\; the others are \" \/ \b \f \n \r \t \u0000`},
		{`"«\é»"`, Options{}, "no such escape", `a backslash is written \\; the others are \" \/ \b \f \n \r \t \u0000`},
		{`"\t«\u»12g4"`, Options{}, "no such escape",
			`a backslash is written \\; the others are \" \/ \b \f \n \r \t \u0000`},
		{`"ab«\ud800»\u0041"`, Options{}, "half a surrogate pair",
			`write both halves, for example \ud83d\ude00, or the character itself`},
		{`"\ud83d\ude00«\ude00»"`, Options{}, "half a surrogate pair",
			`write both halves, for example \ud83d\ude00, or the character itself`},
		{"[«\"»a\xff\"]", Options{}, "this text is not UTF-8", "save the file as UTF-8"},
		{"[«\"»\\t\xff\"]", Options{}, "this text is not UTF-8", "save the file as UTF-8"},
		{`[«'»a']`, Options{}, "text in single quotes", `write it in double quotes: "..."`},
		{"[«`»a`]", Options{}, "text in backquotes", `write it in double quotes: "..."`},
		{`[«“»a”]`, Options{}, "typographic quotes", `write straight ones: "..."`},
		{`{«“»a”:1}`, Options{}, "typographic quotes", `write straight ones: "..."`},

		// words and numbers
		{`[«True»]`, Options{}, "not a JSON value", "write true"},
		{`[«FALSE»]`, Options{}, "not a JSON value", "write false"},
		{`[«None»]`, Options{}, "not a JSON value", "write null"},
		{`[«undefined»]`, Options{}, "not a JSON value", "write null"},
		{`[«NaN»]`, Options{}, "not a JSON value", "JSON has no such number"},
		{`[«-Infinity»]`, Options{}, "not a JSON number", "JSON has no such number"},
		{`[«yes»]`, Options{}, "not a JSON value", `text needs double quotes: "yes"`},
		{`[«007»]`, Options{}, "not a JSON number", "a number does not begin with 0"},
		{`[«1.2.3»]`, Options{}, "not a JSON number", "if it is text, put it in double quotes"},
		{`[«1h»]`, Options{}, "not a JSON number", "if it is text, put it in double quotes"},
		{`[«-»]`, Options{}, "not a JSON number", ""},
		{`[«.»5]`, Options{}, "not a JSON value", "a number begins with a digit or with - and a digit"},
		{`[«+»5]`, Options{}, "not a JSON value", "a number begins with a digit or with - and a digit"},
		{`[«1e400»]`, Options{}, "a number that is out of range",
			"the largest is 1.7976931348623157e308; write a larger one as text"},
		{`[«1e1234567890123456»]`, Options{}, "a number with an exponent of more than 15 digits", ""},
		{`[«é»]`, Options{}, "a value is expected here", ""},
		{`«*»`, Options{}, "a value is expected here", ""},

		// what no JSON text has
		{"{\n  «//» c\n}", Options{}, "a comment", "JSON has no comments"},
		{`[1 «/*» c */]`, Options{}, "a comment", "JSON has no comments"},
		{`{"a" «/*» c */:1}`, Options{}, "a comment", "JSON has no comments"},
		{`{} «//» c`, Options{}, "a comment", "JSON has no comments"},
		{"[«#» c\n]", Options{}, "# does not begin a comment here", "JSON has no comments"},
		{"[«#» c\n]", comments, "# does not begin a comment here", "write // instead"},
		{"{«#» c\n}", comments, "# does not begin a comment here", "write // instead"},
		{`[1, «/*» c ]`, comments, "this comment never ends", "close it with */"},
		{`{} «/*»`, comments, "this comment never ends", "close it with */"},
		{"[«//» \xff\n]", comments, "this comment is not UTF-8", "save the file as UTF-8"},
		{"«\ufeff»{}", Options{}, "a byte order mark", "save the file as UTF-8 without one"},
		{"{«\u00a0»}", Options{}, "the character U+00A0 outside of text",
			"JSON has no other white space than spaces, tabs and line ends"},
		{"[1«\f»]", Options{}, "the character U+000C outside of text",
			"JSON has no other white space than spaces, tabs and line ends"},
		{"[«\x00»]", Options{}, "a NUL byte", "this does not look like a text file: save it as UTF-8 text"},
		{"[«\xff»]", Options{}, "a byte that is not UTF-8", "save the file as UTF-8"},
	} {
		text, at, length := place(row.text)
		_, err := Parse(text, row.o)
		var e *SyntaxError
		if !errors.As(err, &e) {
			t.Errorf("%q: got %v, want %s", text, err, row.message)
			continue
		}
		if e.Offset != at || e.Length != length || e.Message != row.message || e.Hint != row.hint {
			t.Errorf("%q:\n got %q %q at %d, length %d\nwant %q %q at %d, length %d", text, e.Message, e.Hint, e.Offset,
				e.Length, row.message, row.hint, at, length)
		}
	}
	if err := error(&SyntaxError{Offset: 7, Message: "a comment", Hint: "x"}); err.Error() != "a comment, at byte 7" {
		t.Error(err)
	}
}

// place takes the marks out of a text.
func place(marked string) (text string, at, length int) {
	if before, after, ok := strings.Cut(marked, "||"); ok {
		return before + after, len(before), 0
	}
	before, rest, _ := strings.Cut(marked, "«")
	wrong, after, _ := strings.Cut(rest, "»")
	return before + wrong + after, len(before), len(wrong)
}
