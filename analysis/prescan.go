package analysis

import (
	"strings"

	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
)

// prescan returns the shape of text, or the reason why it must not be compiled.
func prescan(text string) (shape, *fault) {
	s := &prescanner{lex: ecmascript.Lexer{Src: text}, stack: []frame{{block: true}}}
	s.unclosed, s.exportsFrom = -1, -1
	s.lex.Comment = s.comment
	semi := false // there was a semicolon outside all brackets
	for s.fault == nil {
		t := s.lex.Next(s.prevEnds == no)
		if t.Kind == ecmascript.EOF || t.Kind == ecmascript.InvalidToken {
			break // esbuild gets no further than a bad token either
		}
		if s.first == "" {
			s.first = s.lex.Text(t)
		}
		if len(s.stack) == 1 && s.lex.Text(t) == ";" {
			semi = true
		} else {
			s.many = s.many || semi
			s.end = t.End
		}
		if !s.token(t) {
			break
		}
		if s.prev.Kind == ecmascript.TemplateTail {
			s.end = s.prev.End
		}
	}
	if n := len(s.stack); n > 1 {
		s.unclosed = s.stack[n-1].at
	}
	return s.shape, s.fault
}

// limit is fail for a text that may be correct but is too costly for esbuild.
func (s *prescanner) limit(t ecmascript.Token, message, hint string) {
	if s.fault == nil {
		s.fail(t, message, hint)
		s.fault.limit = true
	}
}

// token processes one token and reports whether to continue.
func (s *prescanner) token(t ecmascript.Token) bool {
	text := s.lex.Text(t)
	s.tokens++
	s.statement(t, text)
	s.assigns(t, text)
	ok := true
	switch f := s.top(); t.Kind {
	case ecmascript.WordToken:
		s.word(t, text, f)
	case ecmascript.PunctuatorToken:
		ok = s.punct(&t, text, f)
	case ecmascript.RegExpToken:
		s.slash(t)
	case ecmascript.TemplateHead:
		s.push(t, frame{open: '$'})
	case ecmascript.TemplateToken:
		f.link()
	}
	ends := s.ends(t, text)
	s.before, s.prev, s.prevText, s.prevEnds = s.prev, t, text, ends
	s.check(t)
	return ok
}

func (s *prescanner) check(t ecmascript.Token) {
	f := s.top()
	if s.tokens*len(s.lex.Src) > maxWork {
		s.limit(t, "the program is too large to compile", "pass data as input, or split the program")
	}
	if s.below+f.expr+f.stmt+len(s.stack) > maxDepth {
		s.limit(t, "nested too deeply", "split the program into functions, or pass data as input")
	}
	if f.chain > maxChain {
		s.limit(t, "the expression is too long", "split it into several statements, or join an array")
	}
}

// statement detects that a new statement begins, and resets the nesting of the one before. Detecting it too late would
// refuse good texts, and too early would accept bad ones. So it waits for a sure sign: an operand directly after
// another.
func (s *prescanner) statement(t ecmascript.Token, text string) {
	begins := s.afterSemi || s.prevEnds == yes
	s.afterSemi = false
	switch t.Kind {
	case ecmascript.WordToken:
		if goesOn(text) || s.prevText == "." || s.prevText == "?." {
			return
		}
	case ecmascript.NumericToken, ecmascript.StringToken, ecmascript.PrivateToken:
	default:
		return
	}
	if begins {
		s.top().newStatement()
	}
}

func (s *prescanner) word(t ecmascript.Token, text string, f *frame) {
	if s.prevText == "." || s.prevText == "?." {
		return
	}
	switch text {
	case "typeof", "void", "delete", "await", "yield", "new", "throw", "class", "function", "async", "keyof":
		f.expr++
	case "if":
		if s.prevText != "else" {
			f.stmt++
		}
	case "else", "for", "while", "do", "with":
		f.stmt++
	case "case", "default":
		if f.block && len(s.stack) > 1 {
			f.newStatement()
		}
	case "import", "export":
		if len(s.stack) == 1 {
			s.modules = append(s.modules, t.Start)
		}
	}
}

// assigns finds module.exports = and exports.name = where a statement begins.
func (s *prescanner) assigns(t ecmascript.Token, text string) {
	begins := s.prevText == "" || s.prevText == ";" || s.prevText == "}" || t.Newline
	switch {
	case len(s.stack) > 1:
		s.exportsFrom = -1
	case begins && (text == "module" || text == "exports"):
		s.exportsFrom, s.exportsSeen = t.Start, text == "exports"
	case s.exportsFrom < 0 || text == ".":
	case t.Kind == ecmascript.WordToken && s.prevText == ".":
		s.exportsSeen = s.exportsSeen || text == "exports"
	default:
		if text == "=" && s.exportsSeen {
			s.assigned = append(s.assigned, [2]int{s.exportsFrom, t.End})
		}
		s.exportsFrom = -1
	}
}

func (s *prescanner) comment(start, end int) {
	c := s.lex.Src[start:end]
	const mark = "sourceMappingURL"
	for at := 0; ; at++ {
		i := strings.Index(c[at:], mark)
		if i < 0 {
			break
		}
		at += i
		s.maps = append(s.maps, start+at)
	}
}
