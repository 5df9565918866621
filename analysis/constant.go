package analysis

import (
	"math"
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
)

// maxLiteral and maxLiterals bound the JSON of one argument and of all. A constant that contains another twice, which
// contains another twice, and so on, is short in the text and unbounded as JSON.
const (
	maxLiteral  = 512 << 10
	maxLiterals = 1 << 20
	maxConstant = 4 << 10 // of a text concatenated from constants
)

// infinite reports whether n is a number that JSON cannot represent. esbuild prints a literal that is too large as
// Infinity.
func infinite(n *ecmascript.Node) bool {
	if n.Op == ecmascript.OpUnary && n.Name == "-" {
		n = n.A
	}
	return n.Op == ecmascript.OpName && n.Bind == nil && (n.Name == "Infinity" || n.Name == "NaN")
}

// undefined reports whether n is undefined, which JSON leaves out.
func undefined(n *ecmascript.Node) bool {
	return n.Op == ecmascript.OpName && n.Bind == nil && n.Name == "undefined" ||
		n.Op == ecmascript.OpUnary && n.Name == "void" && n.A.Op == ecmascript.OpNumber
}

// compareKeys orders array indices first, by value.
func compareKeys(a, b string) int {
	i, aok := arrayIndex(a)
	j, bok := arrayIndex(b)
	switch {
	case aok && bok:
		return int(i - j)
	case aok:
		return -1
	case bok:
		return 1
	}
	return 0
}

func arrayIndex(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return int64(n), err == nil && n < math.MaxUint32 && strconv.FormatUint(n, 10) == s
}

// constant returns the constant text of n: a string, a template, a concatenation of these, a number as a property key,
// or a constant variable with one of these values.
func constant(n *ecmascript.Node) (string, bool) {
	switch n.Op {
	case ecmascript.OpString:
		return n.Name, !n.Is(ecmascript.FlagOdd)
	case ecmascript.OpNumber:
		return ecmascript.NumberKey(n.Name), true
	case ecmascript.OpTemplate:
		var b strings.Builder
		for _, e := range n.List {
			s, ok := constant(e)
			if !ok || b.Len()+len(s) > maxConstant && len(n.List) > 1 {
				return "", false
			}
			b.WriteString(s)
		}
		return b.String(), true
	case ecmascript.OpBinary:
		if n.Name == "+" && n.A.Op != ecmascript.OpNumber && n.B.Op != ecmascript.OpNumber {
			a, aok := constant(n.A)
			if !aok {
				return "", false
			}
			b, bok := constant(n.B)
			return a + b, bok && len(a)+len(b) <= maxConstant
		}
	case ecmascript.OpName:
		if n.Bind != nil {
			f := evaluated(n.Bind)
			return f.text, f.isText
		}
	case ecmascript.OpMember:
		if o := object(n.A); o != nil {
			return member(o, n.Name)
		}
	case ecmascript.OpIndex:
		if o := object(n.A); o != nil {
			if key, ok := constant(n.B); ok {
				return member(o, key)
			}
		}
	}
	return "", false
}

// object returns the object literal that a name refers to, if nothing can have changed it.
func object(n *ecmascript.Node) *ecmascript.Node {
	if n.Op != ecmascript.OpName || n.Bind == nil || !n.Bind.Frozen() {
		return nil
	}
	if v := n.Bind.Value(); v != nil && v.Op == ecmascript.OpObject {
		return v
	}
	return nil
}

// member returns the text of a member of an object literal.
func member(o *ecmascript.Node, name string) (string, bool) {
	var found *ecmascript.Node
	for _, p := range o.List {
		if p.Op != ecmascript.OpProperty || p.B != nil || p.Is(ecmascript.FlagMethod) {
			return "", false
		}
		if p.Name == name {
			found = p.A
		}
	}
	if found == nil || found.Op != ecmascript.OpString && found.Op != ecmascript.OpTemplate {
		return "", false
	}
	return constant(found)
}

func spread(n *ecmascript.Node) bool { return n != nil && n.Op == ecmascript.OpSpread }
