package analysis

import (
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/analysis/ecmascript"
)

// maxLiteral and maxLiterals bound the JSON of one argument and of all. A
// constant that holds others twice, which hold others twice, and so on, is
// short in the text and has no end as JSON.
const (
	maxLiteral  = 512 << 10
	maxLiterals = 1 << 20
	maxConstant = 4 << 10 // of a text that constants add up to
)

// A writer writes literals as JSON.stringify does.
type writer struct {
	b     []byte
	depth int
}

// write appends the JSON of n, and says no if n is not a literal through and through.
func (w *writer) write(n *ecmascript.Node) bool {
	if w.depth++; w.depth > maxDepth || n == nil || len(w.b) > maxLiteral {
		return false
	}
	defer func() { w.depth-- }()
	if infinite(n) {
		w.b = append(w.b, "null"...)
		return true
	}
	if s, ok := constant(n); ok && n.Op != ecmascript.OpNumber {
		w.string(s)
		return true
	}
	switch n.Op {
	case ecmascript.OpNumber:
		f, ok := ecmascript.ParseNumber(n.Name)
		w.b = append(w.b, ecmascript.FormatNumber(f)...)
		return ok
	case ecmascript.OpKeyword:
		w.b = append(w.b, n.Name...)
		return true
	case ecmascript.OpUnary:
		switch n.Name {
		case "-", "+":
			if n.A.Op == ecmascript.OpNumber {
				f, ok := ecmascript.ParseNumber(n.A.Name)
				if n.Name == "-" {
					f = -f
				}
				w.b = append(w.b, ecmascript.FormatNumber(f)...)
				return ok
			}
		case "!": // esbuild prints true and false as !0 and !1
			if n.A.Op == ecmascript.OpNumber {
				f, ok := ecmascript.ParseNumber(n.A.Name)
				w.b = strconv.AppendBool(w.b, f == 0)
				return ok
			}
		}
	case ecmascript.OpArray:
		return w.array(n)
	case ecmascript.OpObject:
		return w.object(n)
	case ecmascript.OpName:
		if n.Bind == nil {
			return false
		}
		if v := n.Bind.Value(); v != nil && (v.Op != ecmascript.OpObject && v.Op != ecmascript.OpArray || n.Bind.Whole()) {
			return w.write(v)
		}
	}
	return false
}

// string appends s as JSON.stringify prints it: json.Marshal escapes more.
func (w *writer) string(s string) {
	const hex = "0123456789abcdef"
	w.b = append(w.b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			w.b = append(w.b, '\\', c)
		case c >= ' ':
			w.b = append(w.b, c)
		default:
			if short := strings.IndexByte("\b\t\n\f\r", c); short >= 0 {
				w.b = append(w.b, '\\', "btnfr"[short])
			} else {
				w.b = append(w.b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
		}
	}
	w.b = append(w.b, '"')
}

func (w *writer) array(n *ecmascript.Node) bool {
	w.b = append(w.b, '[')
	for i, e := range n.List {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		if e == nil || undefined(e) {
			w.b = append(w.b, "null"...)
		} else if e.Op == ecmascript.OpSpread || !w.write(e) {
			return false
		}
	}
	w.b = append(w.b, ']')
	return true
}
