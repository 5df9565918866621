package analysis

import "strings"

// The bound on esbuild's cost uses counts of bytes anywhere in the text: in code, in strings, in comments. So it does
// not depend on a lexer of ours that could read a text differently from esbuild. The counts exceed what the parser
// sees, because each of its steps consumes a byte of a counted kind. The factors come from the worst known constructs,
// measured for esbuild v0.28.2. The worst text that a random search found within the bound took 2.7 times its estimate,
// and less than a second. Measure again for a new version.
const (
	// maxHere bounds the texts that this process reads, in bytes.
	maxHere = 64 << 10
	// maxTokens bounds nesting of any kind: each token takes 3.4 KiB of stack.
	maxTokens = 8000
	// maxNanoseconds bounds the estimate of the time.
	maxNanoseconds = 1_000_000_000
	// maxCopied bounds the bytes that string concatenation copies: each "+" may copy everything before it.
	maxCopied = 64 << 20
)

// exceeds returns why text may be too much for this process, or nil.
func exceeds(text string) *fault {
	c := count(text)
	if len(text) <= maxHere && c.tokens <= maxTokens && c.nanoseconds() <= maxNanoseconds &&
		c.copied(len(text)) <= maxCopied {
		return nil
	}
	return &fault{
		limit: true, message: "the program is too large or too intricate to read here",
		hint: "write it as the body of a function that begins with const, let or return; or split it, or pass data as input",
	}
}

// counts are upper bounds on elements of a text.
type counts struct {
	tokens  int // words and single characters of punctuation
	scopes  int // what may begin a scope
	parens  int // "("
	angles  int // "<"
	retries int // constructs that esbuild may parse twice, with all of their content
	joins   int // possible string concatenations
	enum    bool
}

func count(text string) counts {
	var c counts
	asked, arrows, dots := 0, 0, 0
	inWord, inNumber := false, false
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case b >= 0x80 || isLetter(b):
			if !inWord || inNumber { // digits may end where a letter begins
				c.tokens++
			}
			inWord, inNumber = true, false
			continue
		case '0' <= b && b <= '9':
			if !inWord {
				c.tokens++
				inNumber = true
			}
			inWord = true
			continue
		}
		inWord, inNumber = false, false
		switch b {
		case ' ', '\t', '\n', '\r', '\v', '\f':
			continue
		case '{':
			c.scopes++
		case '(':
			c.parens++
		case '<':
			c.angles++
		case '>':
			if i > 0 && text[i-1] == '=' {
				arrows++
			}
		case '?':
			if followedByParen(text[i+1:]) {
				asked++
			}
		case '.':
			dots++
		case '+', '`':
			c.joins++
		}
		c.tokens++
	}
	c.scopes += 2*arrows + strings.Count(text, "for")
	if strings.Contains(text, "namespace") || strings.Contains(text, "module") {
		c.scopes += 2 * dots // namespace a.b.c {}
	}
	// "a ? (b) : c => d", and "infer T extends", which may contain escapes.
	c.retries = min(asked, arrows) + min(strings.Count(text, "infer")+strings.Count(text, `\u`),
		strings.Count(text, "extends"))
	c.enum = hasWord(text, "enum")
	return c
}

// followedByParen reports whether an opening parenthesis may be the next token.
func followedByParen(s string) bool {
	s = strings.TrimLeft(s, " \t\n\r\v\f")
	return s == "" || s[0] == '(' || s[0] == '/' || s[0] == '<' || s[0] >= 0x80 || strings.HasPrefix(s, "async")
}

// nanoseconds estimates esbuild's time for the worst text with these counts. Each retry doubles the time of the parse.
// esbuild tries type arguments at each "<", for the rest of the text, and searches all enclosing scopes for each name.
func (c counts) nanoseconds() int {
	if c.retries > 16 {
		return maxNanoseconds + 1
	}
	parse := c.tokens * (300 + 50*min(c.tokens, 2*c.angles) + c.parens*c.angles/2)
	return parse<<c.retries + c.tokens*(5*c.tokens+3*c.scopes*c.scopes/2)
}

// copied is how many bytes string concatenation may copy. esbuild inlines the members of enums: each concatenation may
// double them, and one of any two tokens may be such a name.
func (c counts) copied(size int) int {
	if c.enum {
		return size << min(c.joins, 20) * max(c.tokens/2, 1)
	}
	return size * c.joins
}

// hasWord reports whether a keyword may stand in text.
func hasWord(text, keyword string) bool {
	for {
		before, after, found := strings.Cut(text, keyword)
		if !found {
			return false
		}
		if (before == "" || !isLetter(before[len(before)-1])) && (after == "" || !isLetter(after[0])) {
			return true
		}
		text = after
	}
}

// isLetter reports whether b is an ASCII letter, "_" or "$".
func isLetter(b byte) bool { return b == '_' || b == '$' || 'a' <= b|0x20 && b|0x20 <= 'z' }
