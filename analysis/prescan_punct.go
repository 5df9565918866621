package analysis

import (
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
)

// A prescanner determines the shape of a text.
type prescanner struct {
	shape
	lex   ecmascript.Lexer
	fault *fault

	stack  []frame
	below  int   // nested operators and statements in all frames but the top
	closed frame // the frame closed last

	before, prev ecmascript.Token
	prevText     string
	prevEnds     answer // does the token before end an operand?
	afterSemi    bool   // the token before was a semicolon
	doubtful     bool   // there was an ambiguous slash

	tokens int

	exportsFrom int  // where module.exports or exports begins a statement that may assign it, or -1
	exportsSeen bool // the word exports was there
}

func (s *prescanner) top() *frame { return &s.stack[len(s.stack)-1] }

func (s *prescanner) fail(t ecmascript.Token, message, hint string) {
	if s.fault == nil {
		s.fault = &fault{at: t.Start, len: t.End - t.Start, message: message, hint: hint}
	}
}

// operator counts a left-associative operator as a link, any other as nesting.
func (f *frame) operator(left bool) {
	if left {
		f.link()
	} else {
		f.expr++
	}
}

func (s *prescanner) punct(t *ecmascript.Token, text string, f *frame) bool {
	prevWord := s.prev.Kind == ecmascript.WordToken && s.lex.Text(s.before) != "." && s.lex.Text(s.before) != "?."
	if (text == "(" || text == ".") && prevWord && s.prevText == "import" && len(s.stack) == 1 {
		s.modules = s.modules[:len(s.modules)-1] // import() and import.meta
	}
	switch text {
	case "(":
		header := prevWord && isHeader(s.prevText) || s.prevText == "await" && s.lex.Text(s.before) == "for"
		s.push(*t, frame{open: '(', header: header, list: s.prevEnds != no})
	case "[":
		s.push(*t, frame{open: '[', list: true})
	case "{":
		enum := prevWord && s.lex.Text(s.before) == "enum"
		block := !enum && (prevWord && opensBlock(s.prevText) || s.prev.Kind != ecmascript.WordToken &&
			afterBlock(s.prevText))
		s.push(*t, frame{open: '{', block: block, object: s.prev.Kind == ecmascript.PunctuatorToken &&
			beforeObject(s.prevText), list: !block})
	case ")", "]", "}":
		return s.pop(t, text[0])
	case ";":
		f.expr, f.chain = 0, 0
		s.afterSemi = true
	case ",":
		f.expr = 0
		if f.list {
			f.chain = 0
		} else {
			f.link()
		}
	case "=>", "?", ":":
		f.expr++
	case ".", "?.", "<", ">", ">>", ">>>":
		f.link()
	case "@", "...":
	case "/", "/=":
		s.slash(*t)
		fallthrough
	default:
		f.operator(s.prevEnds != no && !ecmascript.RightAssociative(text))
	}
	return true
}

func (s *prescanner) push(t ecmascript.Token, f frame) {
	top := s.top()
	s.below += top.expr + top.stmt
	f.at = t.Start
	s.stack = append(s.stack, f)
}

// pop closes the innermost bracket. It reports false if c closes a different bracket, where esbuild stops too. A brace
// that closes a substitution turns t into the piece of template after it.
func (s *prescanner) pop(t *ecmascript.Token, c byte) bool {
	f := *s.top()
	if len(s.stack) == 1 || opener(c) != f.open && (c != '}' || f.open != '$') {
		if len(s.stack) == 1 { // it could close the wrapper around the text
			s.fail(*t, fmt.Sprintf("%q closes nothing", string(c)),
				"the program is the body of a function; what it opens it has to close, and nothing else")
		}
		return false
	}
	s.closed = f
	s.stack = s.stack[:len(s.stack)-1]
	top := s.top()
	s.below -= top.expr + top.stmt
	top.chain = max(top.chain, f.peak) // the content of the brackets is below what follows them
	top.link()
	if f.open == '$' {
		t.Kind = s.lex.ResumeTemplate()
		t.End = s.lex.Pos
		if t.Kind == ecmascript.TemplateMiddle {
			s.push(*t, frame{open: '$'})
		}
	}
	return t.Kind != ecmascript.InvalidToken
}

// ends reports whether t ends an operand.
func (s *prescanner) ends(t ecmascript.Token, text string) answer {
	switch t.Kind {
	case ecmascript.WordToken:
		switch {
		case s.prevText == "." || s.prevText == "?.":
			return yes
		case isPrefix(text):
			return no
		case isContextual(text):
			return maybe
		}
	case ecmascript.TemplateHead, ecmascript.TemplateMiddle:
		return no
	case ecmascript.PunctuatorToken:
		switch text {
		case ")":
			if s.closed.header {
				return no
			}
		case "]", "}":
		case ">", ">>", ">>>": // type arguments may end here
			return maybe
		case "++", "--", "!":
			if t.Newline {
				return no
			}
			return s.prevEnds
		default:
			return no
		}
	}
	return yes
}

// slash handles a slash. Only a parser knows for sure whether a slash divides or begins a regular expression. A wrong
// choice could hide half a text from this prescan. Nearly always the previous token decides. Where it does not, both
// readings must give the same result, or slash refuses the text.
func (s *prescanner) slash(t ecmascript.Token) {
	brace := s.prev.Kind == ecmascript.PunctuatorToken && s.prevText == "}" && !s.closed.object
	if s.prevEnds == maybe || s.prevEnds == yes && (t.Newline || brace) {
		s.doubtful = true
	}
	if !s.doubtful {
		return
	}
	lex := ecmascript.Lexer{Src: s.lex.Src, Pos: t.Start}
	r := lex.Next(true)
	if text := lex.Text(r); r.Kind == ecmascript.RegExpToken && !neutral(text[1:strings.LastIndexByte(text, '/')]) {
		t.End = t.Start + 1
		s.fail(t, "this slash may divide or begin a regular expression",
			"begin a new statement with a semicolon, or use new RegExp")
	}
}
