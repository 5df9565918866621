package match

import (
	"iter"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// valueOperator is for operators that apply only to existing values.
type valueOperator struct{}

func (valueOperator) judgesAbsence(bool) bool { return false }

// Holds converts a Go bool into an outcome.
func Holds(b bool) Outcome {
	if b {
		return Outcome{Result: Yes}
	}
	return Outcome{Result: No}
}

func wrongKind(n strictjson.Value, want string) Outcome {
	return Outcome{Unknown, "is " + n.Kind().String() + ", not " + want}
}

// existsOperator is "exists".
type existsOperator struct{ want bool }

func (existsOperator) judgesAbsence(bool) bool { return true }
func (o existsOperator) eval(v value) Outcome {
	return Holds((v.node.Kind() != strictjson.Missing) == o.want)
}

// notOperator is "not". Its content matches the other way round: if a rule should match widely, the negated test must
// match narrowly.
type notOperator struct{ test *test }

func (notOperator) judgesAbsence(decided bool) bool { return !decided }

func (o notOperator) eval(v value) Outcome {
	v.wide = !v.wide
	inner := o.test.eval(v)
	return Outcome{Yes - inner.Result, inner.Why}
}

// anyOperator is "any".
type anyOperator struct{ tests []*test }

func (anyOperator) judgesAbsence(decided bool) bool { return !decided }

func (o anyOperator) eval(v value) Outcome {
	any := Outcome{Result: No}
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

// typeNames are the valid values of "type".
var typeNames = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

func (o typeOperator) eval(v value) Outcome {
	return Holds(slices.ContainsFunc(o.names, func(name string) bool {
		switch v.node.Kind() {
		case strictjson.String:
			return name == "string"
		case strictjson.Number:
			return name == "number" || name == "integer" && isInteger(v.node.Text())
		case strictjson.True, strictjson.False:
			return name == "boolean"
		case strictjson.Object:
			return name == "object"
		case strictjson.Array:
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
	kind strictjson.Kind
	most int64
}

func (o lengthOperator) eval(v value) Outcome {
	switch {
	case v.node.Kind() != o.kind:
		return wrongKind(v.node, o.kind.String())
	case o.kind == strictjson.Array:
		return Holds(int64(v.node.Len()) <= o.most)
	default:
		return Holds(int64(utf8.RuneCountInString(v.node.Text())) <= o.most)
	}
}

// A comparison is "lt", "lte", "gt" or "gte".
type comparison struct {
	valueOperator
	bound decimal
	holds func(order int) bool // of the value's order to the bound
}

func (o comparison) eval(v value) Outcome {
	if v.node.Kind() != strictjson.Number && v.node.Kind() != strictjson.String {
		return wrongKind(v.node, "a number")
	}
	d, ok := parseDecimal(v.node.Text())
	if !ok {
		return Outcome{Unknown, "is not a decimal number"}
	}
	return Holds(o.holds(d.compare(o.bound)))
}

// textOperator is "prefix" and "suffix".
type textOperator struct {
	valueOperator
	want, folded string
	holds        func(s, part string) bool
}

func (o textOperator) eval(v value) Outcome {
	if v.node.Kind() != strictjson.String {
		return wrongKind(v.node, "a string")
	}
	return Holds(o.holds(v.node.Text(), o.want) || v.wide && o.holds(v.folded(), o.folded))
}

// globOperator is "glob".
type globOperator struct {
	valueOperator
	glob *Pattern
}

func (o globOperator) eval(v value) Outcome {
	if v.node.Kind() != strictjson.String {
		return wrongKind(v.node, "a string")
	}
	return Holds(o.glob.Match(v.node.Text()) || v.wide && o.glob.MatchFolded(v.folded()))
}

// regexOperator is "regex". The expressions have anchors at both ends. In anyLine and anyCase "." is any character; in
// exact it is none that ends a line, as RE2 has it.
type regexOperator struct {
	valueOperator
	exact, anyLine, anyCase *regexp.Regexp
}

func (o regexOperator) eval(v value) Outcome {
	if v.node.Kind() != strictjson.String {
		return wrongKind(v.node, "a string")
	}
	s := v.node.Text()
	exact := o.exact.MatchString(s)
	switch {
	case v.wide:
		return Holds(exact || o.anyCase.MatchString(s) || o.anyCase.MatchString(v.folded()))
	case !exact && o.anyLine.MatchString(s):
		return Outcome{Unknown, `has a line end, and a shell reads what follows as another command: "(?s)" lets "." match it`}
	}
	return Holds(exact)
}

// equalOperator is "eq" (one constant) and "in" (several).
type equalOperator struct {
	valueOperator
	constants []constant
}

// A constant is a JSON value of the configuration file.
type constant struct {
	node   strictjson.Value
	folded string // of a string
}

// eval compares. If no constant has the kind of the value, the value is not simply different: the upstream may convert
// it (["main"] to "main", "5" to 5), so the result is unknown.
func (o equalOperator) eval(v value) Outcome {
	comparable := false
	folded := ""
	if v.wide && v.node.Kind() == strictjson.String {
		folded = v.folded()
	}
	for i := range o.constants {
		c := &o.constants[i]
		if c.equals(v, folded) {
			return Outcome{Result: Yes}
		}
		comparable = comparable || c.node.Kind() == strictjson.Null || sameKind(c.node.Kind(), v.node.Kind())
	}
	if !comparable {
		return wrongKind(v.node, o.constants[0].node.Kind().String())
	}
	return Outcome{Result: No}
}

func sameKind(a, b strictjson.Kind) bool {
	boolean := func(k strictjson.Kind) bool { return k == strictjson.True || k == strictjson.False }
	return a == b || boolean(a) && boolean(b)
}

// equals compares. folded is the folded text of a string value, where rules match widely.
func (c *constant) equals(v value, folded string) bool {
	if c.node.Kind() == strictjson.String && v.node.Kind() == strictjson.String {
		return c.node.Text() == v.node.Text() || v.wide && c.folded == folded
	}
	return equalValues(c.node, v.node)
}

// equalValues compares two JSON values: numbers by value, objects in any order.
func equalValues(a, b strictjson.Value) bool {
	if a.Kind() != b.Kind() || a.Len() != b.Len() {
		return false
	}
	switch a.Kind() {
	case strictjson.String:
		return a.Text() == b.Text()
	case strictjson.Number:
		x, ok := parseDecimal(a.Text())
		y, okToo := parseDecimal(b.Text())
		return ok && okToo && x.compare(y) == 0
	case strictjson.Object:
		for child := range settings.Children(a) {
			if other := settings.Member(b, child.Key()); other.Kind() == strictjson.Missing || !equalValues(child, other) {
				return false
			}
		}
	case strictjson.Array:
		others, stop := iter.Pull(settings.Children(b))
		defer stop()
		for child := range settings.Children(a) {
			if other, _ := others(); !equalValues(child, other) {
				return false
			}
		}
	}
	return true
}

// DecidesAbsence reports whether the condition itself defines the result without a value.
func (c *Condition) DecidesAbsence() bool {
	x := c.test
	return x.decided || slices.ContainsFunc(x.operators, func(o operator) bool {
		_, ok := o.(existsOperator)
		return ok
	})
}
