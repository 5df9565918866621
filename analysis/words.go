package analysis

import "strings"

// These functions say what a word means to its neighbours, as far as that can
// be said without a parser.

// goesOn says whether a word may go on with the statement before it.
func goesOn(w string) bool {
	switch w {
	case "else", "while", "catch", "finally", "in", "of", "instanceof", "as", "satisfies", "is", "extends", "implements",
		"from", "asserts":
		return true
	}
	return false
}

// isPrefix says whether a word stands before an operand or a name and never
// ends an operand.
func isPrefix(w string) bool {
	switch w {
	case "typeof", "void", "delete", "new", "return", "throw", "case", "in", "instanceof", "class", "function", "extends",
		"const", "var", "do", "else", "default", "import", "export", "enum", "try", "finally",
		"if", "for", "while", "with", "switch", "catch":
		return true
	}
	return false
}

// isContextual says whether a word may be a prefix in one place and a name in another.
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

// isHeader says whether the parenthesis behind a word belongs to a statement.
func isHeader(w string) bool {
	return w == "if" || w == "for" || w == "while" || w == "with"
}

// opensBlock says whether a brace behind a word holds statements or members.
func opensBlock(w string) bool {
	switch w {
	case "return", "typeof", "void", "delete", "new", "throw", "case", "in", "instanceof", "of", "await", "yield", "as",
		"satisfies", "extends", "default":
		return false
	}
	return true
}

// afterBlock says whether a brace behind this operator holds statements.
func afterBlock(op string) bool {
	switch op {
	case "", ")", "=>", ";", "{", "}":
		return true
	}
	return false
}

// beforeObject says whether a brace behind this operator can only be an object
// literal, or a type that ends with its line.
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

// neutral says whether a piece of text leaves a lexer as it was, taken as code
// and as part of a literal.
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
