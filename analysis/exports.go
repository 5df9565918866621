package analysis

import (
	"strings"

	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
)

// exports are what a text exports as a module would. There are no modules, so the exported function is the program.
type exports struct {
	at    int      // where takeModules wrote return for export default or module.exports =; -1 if there is none
	names []string // of the other exported functions and values
}

// takeExport handles an export at an offset of text that is no type: it blanks the keyword, so that the declaration
// behind it stays, and writes return for a default export. ok is false where nothing can stand for it.
func (x *exports) takeExport(text []byte, at int) (ok bool) {
	l := ecmascript.Lexer{Src: string(text), Pos: at}
	keyword := l.Next(false)
	first := l.Next(false)
	switch word := l.Text(first); word {
	case "default", "=":
		after := l
		if next := after.Text(after.Next(true)); next == "class" || next == "abstract" || next == "interface" {
			return false
		}
		return x.returnAt(text, at, first.End)
	case "function", "async", "const", "let", "var":
		for t := first; ; t = l.Next(false) {
			if name := l.Text(t); t.Kind == ecmascript.WordToken && name != "async" && name != "function" && name != word {
				x.names = append(x.names, name)
			} else if t.Kind == ecmascript.WordToken || name == "*" {
				continue
			}
			break
		}
		blank(text[at:keyword.End])
		return true
	case "class", "enum", "abstract", "namespace":
		blank(text[at:keyword.End])
		return true
	case "{":
		return x.takeList(text, at, &l)
	}
	return false
}

// takeList handles export { a, b as c }.
func (x *exports) takeList(text []byte, at int, l *ecmascript.Lexer) bool {
	local := true
	for {
		t := l.Next(false)
		switch word := l.Text(t); {
		case word == "}":
			after := *l
			if next := after.Next(false); after.Text(next) == "from" {
				return false
			}
			blank(text[at:t.End])
			return true
		case word == ",":
			local = true
		case t.Kind != ecmascript.WordToken:
			return false
		case local:
			x.names, local = append(x.names, word), false
		}
	}
}

// returnAt writes return where a text gives its default export: a return at the end of the span, blanks before it.
func (x *exports) returnAt(text []byte, from, to int) bool {
	const keyword = "return"
	if x.at >= 0 || to-from < len(keyword) || strings.ContainsAny(string(text[from:to]), "\r\n") {
		return false
	}
	blank(text[from:to])
	x.at = to - len(keyword)
	copy(text[x.at:], keyword)
	return true
}

// takeAssigned handles module.exports = and exports.name =, at a place where a statement begins.
func (x *exports) takeAssigned(text []byte, spans [][2]int) {
	if len(spans) == 1 && !ownModule().Match(text) {
		x.returnAt(text, spans[0][0], spans[0][1])
	}
}

// ownModule finds a program that declares what its exports are assigned to.
var ownModule = pattern(`\b(const|let|var|function|class)\s+(module|exports)\b`)
