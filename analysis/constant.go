package analysis

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// infinite says whether n is a number that JSON does not have. esbuild prints
// a literal that is too large by its name.
func infinite(n *node) bool {
	if n.op == opUnary && n.name == "-" {
		n = n.a
	}
	return n.op == opName && n.bind == nil && (n.name == "Infinity" || n.name == "NaN")
}

// undefined says whether n is the value that JSON leaves out.
func undefined(n *node) bool {
	return n.op == opName && n.bind == nil && n.name == "undefined" || n.op == opUnary && n.name == "void" && n.a.op == opNumber
}

// object writes the members in the order that JavaScript has them: whole
// numbers by size, then the others as they came. The last of a name counts, at the
// place of the first.
func (w *writer) object(n *node) bool {
	var names []string
	values := make(map[string]*node, len(n.list))
	for _, p := range n.list {
		if p.op != opProperty || p.is(flagMethod|flagOdd) {
			return false
		}
		name := p.name
		if p.b != nil {
			var ok bool
			if name, ok = constant(p.b); !ok {
				return false
			}
		}
		if name == "__proto__" && p.b == nil && !p.is(flagShort) {
			return false
		}
		if _, ok := values[name]; !ok {
			names = append(names, name)
		}
		values[name] = p.a
	}
	slices.SortStableFunc(names, compareKeys)
	w.b = append(w.b, '{')
	first := true
	for _, name := range names {
		if undefined(values[name]) {
			continue
		}
		if !first {
			w.b = append(w.b, ',')
		}
		first = false
		w.string(name)
		w.b = append(w.b, ':')
		if !w.write(values[name]) {
			return false
		}
	}
	w.b = append(w.b, '}')
	return true
}

// compareKeys puts array indices first, by size.
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

// constant returns the text that n is known to be: a string, a template, a
// sum of them, a number as the key it makes, or a constant that is one of these.
func constant(n *node) (string, bool) {
	switch n.op {
	case opString:
		return n.name, !n.is(flagOdd)
	case opNumber:
		return numberKey(n.name), true
	case opTemplate:
		var b strings.Builder
		for _, e := range n.list {
			s, ok := constant(e)
			if !ok || b.Len()+len(s) > maxConstant && len(n.list) > 1 {
				return "", false
			}
			b.WriteString(s)
		}
		return b.String(), true
	case opBinary:
		if n.name == "+" && n.a.op != opNumber && n.b.op != opNumber {
			a, aok := constant(n.a)
			if !aok {
				return "", false
			}
			b, bok := constant(n.b)
			return a + b, bok && len(a)+len(b) <= maxConstant
		}
	case opName:
		if n.bind != nil {
			f := evaluated(n.bind)
			return f.text, f.isText
		}
	case opMember:
		if o := object(n.a); o != nil {
			return member(o, n.name)
		}
	case opIndex:
		if o := object(n.a); o != nil {
			if key, ok := constant(n.b); ok {
				return member(o, key)
			}
		}
	}
	return "", false
}

// object returns the object literal that a name stands for, if nothing can
// have changed it.
func object(n *node) *node {
	if n.op != opName || n.bind == nil || !n.bind.frozen() {
		return nil
	}
	if v := n.bind.value(); v != nil && v.op == opObject {
		return v
	}
	return nil
}

// member returns the text of a member of an object literal.
func member(o *node, name string) (string, bool) {
	var found *node
	for _, p := range o.list {
		if p.op != opProperty || p.b != nil || p.is(flagMethod) {
			return "", false
		}
		if p.name == name {
			found = p.a
		}
	}
	if found == nil || found.op != opString && found.op != opTemplate {
		return "", false
	}
	return constant(found)
}
