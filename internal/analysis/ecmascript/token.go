package ecmascript

// A Kind says what a token is.
type Kind uint8

const (
	EOF             Kind = iota
	WordToken            // an identifier or a keyword; it may hold \u escapes
	PrivateToken         // #name
	NumericToken         // 1, .5, 0x1f, 1_000, 1n
	StringToken          // "a" or 'a'
	TemplateToken        // `a`
	TemplateHead         // `a${
	TemplateMiddle       // }a${
	TemplateTail         // }a`
	RegExpToken          // /a/g
	PunctuatorToken      // operators and brackets, the longest match
	InvalidToken         // not JavaScript, or a literal without an end
)

// A Token is one lexical unit, as a range of bytes.
type Token struct {
	Kind       Kind
	Newline    bool // a line ended between the token before and this one
	Start, End int
}

// A Lexer splits JavaScript or TypeScript into tokens. It never fails: text that it cannot read is one [InvalidToken]
// up to the end of the line.
//
// Only the caller knows whether a slash divides or begins a regular expression, and whether a brace resumes a template:
// see [Lexer.Next] and [Lexer.ResumeTemplate].
type Lexer struct {
	Src     string
	Pos     int
	Comment func(start, end int) // called for each comment, if not nil
}

// Text returns the text of a token.
func (l *Lexer) Text(t Token) string { return l.Src[t.Start:t.End] }

// at returns the byte i places on, or 0 behind the end.
func (l *Lexer) at(i int) byte {
	if l.Pos+i < len(l.Src) {
		return l.Src[l.Pos+i]
	}
	return 0
}
