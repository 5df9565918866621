package analysis

import "strings"

// These functions say how a word relates to its neighbours, as far as that is possible without a parser.

// goesOn reports whether a word may continue the statement before it.
func goesOn(w string) bool {
	switch w {
	case "else", "while", "catch", "finally", "in", "of", "instanceof", "as", "satisfies", "is", "extends", "implements",
		"from", "asserts":
		return true
	}
	return false
}

// isPrefix reports whether a word precedes an operand or a name and never ends an operand.
func isPrefix(w string) bool {
	switch w {
	case "typeof", "void", "delete", "new", "return", "throw", "case", "in", "instanceof", "class", "function", "extends",
		"const", "var", "do", "else", "default", "import", "export", "enum", "try", "finally",
		"if", "for", "while", "with", "switch", "catch":
		return true
	}
	return false
}

// isContextual reports whether a word may be a prefix in one place and a name in another.
func isContextual(w string) bool {
	switch w {
	case "async", "await", "yield", "let", "of", "as", "satisfies", "is", "keyof", "readonly", "unique", "infer",
		"asserts", "abstract",
		"get", "set", "static", "public", "private", "protected", "declare", "override", "accessor", "type", "interface",
		"namespace", "module", "global", "implements", "from", "using", "out":
		return true
	}
	return false
}

// isHeader reports whether the parenthesis after a word belongs to a statement.
func isHeader(w string) bool {
	return w == "if" || w == "for" || w == "while" || w == "with"
}

// opensBlock reports whether a brace after a word holds statements or members.
func opensBlock(w string) bool {
	switch w {
	case "return", "typeof", "void", "delete", "new", "throw", "case", "in", "instanceof", "of", "await", "yield", "as",
		"satisfies", "extends", "default":
		return false
	}
	return true
}

// afterBlock reports whether a brace after this operator holds statements.
func afterBlock(op string) bool {
	switch op {
	case "", ")", "=>", ";", "{", "}":
		return true
	}
	return false
}

// beforeObject reports whether a brace after this operator can only be an object literal, or a type that ends with its
// line.
func beforeObject(op string) bool {
	switch op {
	case "(", ",", "[", "=", "?", "&&", "||", "??", "+", "-", "*", "/", "%", "==", "===", "!=", "!==", "!", "...":
		return true
	}
	return false
}

func opener(c byte) byte {
	switch c {
	case ')':
		return '('
	case ']':
		return '['
	}
	return '{'
}

// neutral reports whether a piece of text leaves the state of a lexer unchanged, both as code and as part of a literal.
func neutral(s string) bool {
	var open []byte
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\'', '`', '/', '\\':
			return false
		case '(', '[', '{':
			open = append(open, c)
		case ')', ']', '}':
			if len(open) == 0 || open[len(open)-1] != opener(c) {
				return false
			}
			open = open[:len(open)-1]
		}
	}
	return len(open) == 0 && !strings.Contains(s, "<!--")
}

// begins holds the words that begin a statement and no expression: a text that begins with one of them is a function
// body.
var begins = map[string]bool{
	"const": true, "let": true, "var": true, "return": true, "if": true, "for": true, "while": true, "do": true,
	"switch": true, "try": true, "throw": true,
}
