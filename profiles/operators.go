package profiles

import (
	"regexp"
	"slices"
	"unicode/utf8"
)

// An operator tests one value.
type operator interface {
	eval(v value) outcome
	// judgesAbsence reports whether the operator has something to say about a value that is
	// not there. decided tells that the condition says itself what it means then.
	judgesAbsence(decided bool) bool
}

// valueOperator is for operators that only look at values that are there.
type valueOperator struct{}

func (valueOperator) judgesAbsence(bool) bool { return false }

// is turns a Go bool into an outcome.
func is(b bool) outcome {
	if b {
		return outcome{result: yes}
	}
	return outcome{result: no}
}

func wrongKind(n *node, want string) outcome {
	return outcome{unknown, "is " + n.kind.String() + ", not " + want}
}

// existsOperator is "exists".
type existsOperator struct{ want bool }

func (existsOperator) judgesAbsence(bool) bool { return true }
func (o existsOperator) eval(v value) outcome  { return is((v.node != nil) == o.want) }

// notOperator is "not". What it contains is matched the other way round: where a rule
// should match widely, the negated test has to match narrowly.
type notOperator struct{ test *test }

func (notOperator) judgesAbsence(decided bool) bool { return !decided }

func (o notOperator) eval(v value) outcome {
	v.wide = !v.wide
	inner := o.test.eval(v)
	return outcome{yes - inner.result, inner.why}
}

// anyOperator is "any".
type anyOperator struct{ tests []*test }

func (anyOperator) judgesAbsence(decided bool) bool { return !decided }

func (o anyOperator) eval(v value) outcome {
	any := outcome{result: no}
	for _, x := range o.tests {
		any = or(any, x.eval(v))
	}
	return any
}

// typeOperator is "type".
type typeOperator struct {
	valueOperator
	names []string
}

// typeNames are what "type" may say.
var typeNames = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

func (o typeOperator) eval(v value) outcome {
	return is(slices.ContainsFunc(o.names, func(name string) bool {
		switch v.node.kind {
		case kindString:
			return name == "string"
		case kindNumber:
			return name == "number" || name == "integer" && isInteger(v.node.text)
		case kindTrue, kindFalse:
			return name == "boolean"
		case kindObject:
			return name == "object"
		case kindArray:
			return name == "array"
		default:
			return name == "null"
		}
	}))
}

func isInteger(number string) bool {
	d, ok := parseDecimal(number)
	return ok && d.isInteger()
}

// lengthOperator is "maxLength" (characters) and "maxItems".
type lengthOperator struct {
	valueOperator
	kind kind
	most int64
}

func (o lengthOperator) eval(v value) outcome {
	switch {
	case v.node.kind != o.kind:
		return wrongKind(v.node, o.kind.String())
	case o.kind == kindArray:
		return is(int64(v.node.count) <= o.most)
	default:
		return is(int64(utf8.RuneCountInString(v.node.text)) <= o.most)
	}
}

// A comparison is "lt", "lte", "gt" or "gte".
type comparison struct {
	valueOperator
	bound decimal
	holds func(order int) bool // of the value's order to the bound
}

func (o comparison) eval(v value) outcome {
	if v.node.kind != kindNumber && v.node.kind != kindString {
		return wrongKind(v.node, "a number")
	}
	d, ok := parseDecimal(v.node.text)
	if !ok {
		return outcome{unknown, "is not a decimal number"}
	}
	return is(o.holds(d.compare(o.bound)))
}

// textOperator is "prefix" and "suffix".
type textOperator struct {
	valueOperator
	want, folded string
	holds        func(s, part string) bool
}

func (o textOperator) eval(v value) outcome {
	if v.node.kind != kindString {
		return wrongKind(v.node, "a string")
	}
	return is(o.holds(v.node.text, o.want) || v.wide && o.holds(v.folded(), o.folded))
}

// globOperator is "glob".
type globOperator struct {
	valueOperator
	glob *glob
}

func (o globOperator) eval(v value) outcome {
	if v.node.kind != kindString {
		return wrongKind(v.node, "a string")
	}
	return is(o.glob.match(v.node.text) || v.wide && o.glob.matchFolded(v.folded()))
}

// regexOperator is "regex". Both expressions are anchored at both ends.
type regexOperator struct {
	valueOperator
	exact, anyCase *regexp.Regexp
}

func (o regexOperator) eval(v value) outcome {
	if v.node.kind != kindString {
		return wrongKind(v.node, "a string")
	}
	s := v.node.text
	return is(o.exact.MatchString(s) || v.wide && (o.anyCase.MatchString(s) || o.anyCase.MatchString(v.folded())))
}

// equalOperator is "eq" (one constant) and "in" (several).
type equalOperator struct {
	valueOperator
	constants []constant
}

// A constant is a JSON value of the configuration file.
type constant struct {
	t      *tree
	node   *node
	folded string // of a string
}

// eval compares. A value of another kind than every constant is not simply different: the
// upstream may convert it (["main"] to "main", "5" to 5), so the result is unknown.
func (o equalOperator) eval(v value) outcome {
	comparable := false
	folded := ""
	if v.wide && v.node.kind == kindString {
		folded = v.folded()
	}
	for i := range o.constants {
		c := &o.constants[i]
		if c.equals(v, folded) {
			return outcome{result: yes}
		}
		comparable = comparable || c.node.kind == kindNull || sameKind(c.node.kind, v.node.kind)
	}
	if !comparable {
		return wrongKind(v.node, o.constants[0].node.kind.String())
	}
	return outcome{result: no}
}

func sameKind(a, b kind) bool {
	boolean := func(k kind) bool { return k == kindTrue || k == kindFalse }
	return a == b || boolean(a) && boolean(b)
}

// equals compares. folded is that of a value that is a text, where rules match widely.
func (c *constant) equals(v value, folded string) bool {
	if c.node.kind == kindString && v.node.kind == kindString {
		return c.node.text == v.node.text || v.wide && c.folded == folded
	}
	return equalNodes(c.t, c.node, v.t, v.node)
}

// equalNodes compares two JSON values: numbers by value, objects without regard to order.
func equalNodes(t *tree, a *node, u *tree, b *node) bool {
	if a.kind != b.kind || a.count != b.count {
		return false
	}
	switch a.kind {
	case kindString:
		return a.text == b.text
	case kindNumber:
		x, ok := parseDecimal(a.text)
		y, okToo := parseDecimal(b.text)
		return ok && okToo && x.compare(y) == 0
	case kindObject:
		for child := range t.children(a) {
			if other := u.member(b, child.key); other == nil || !equalNodes(t, child, u, other) {
				return false
			}
		}
	case kindArray:
		i, j := a.child, b.child
		for i != 0 {
			if !equalNodes(t, &t.nodes[i], u, &u.nodes[j]) {
				return false
			}
			i, j = t.nodes[i].next, u.nodes[j].next
		}
	}
	return true
}
