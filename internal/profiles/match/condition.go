package match

import (
	"strconv"
	"strings"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/visible"
)

// A Result is the result of a rule or a condition. Unknown is a separate result: a condition that cannot be evaluated
// must not allow anything, and a call must not slip past a deny rule through it. The order is that of Kleene's logic:
// "and" is the minimum and "or" the maximum.
type Result int8

const (
	No Result = iota
	Unknown
	Yes
)

// String is the text of the result in reasons.
func (r Result) String() string { return [...]string{"false", "unknown", "true"}[r] }

// An Outcome is a result, with the reason if it is not plainly yes or no.
type Outcome struct {
	Result Result
	Why    string
}

// And returns the minimum of two outcomes, with its reason.
func And(a, b Outcome) Outcome {
	if b.Result < a.Result {
		return b
	}
	return a
}

func or(a, b Outcome) Outcome {
	if b.Result > a.Result {
		return b
	}
	return a
}

// MaxText, in bytes, keeps a list of a thousand values out of reasons.
const MaxText = 200

// Shortened shortens a text for a reason to at most MaxText bytes and an ellipsis.
func Shortened(s string) string {
	if len(s) <= MaxText {
		return s
	}
	return strings.ToValidUTF8(s[:MaxText], "") + "..."
}

// A Condition is one member of "when": a test of a JSON Pointer's target.
type Condition struct {
	Pointer string
	Steps   []Step
	test    *test
	Text    string // the condition as written
}

// A Step is one token of a JSON Pointer.
type Step struct {
	Key    string
	Folded string
	Any    bool // "*": every element of an array
	Index  int  // the token as an array index, -1 if it is none
}

// Arguments are the parsed arguments of a call.
type Arguments struct {
	Root   strictjson.Value
	folded map[strictjson.Value]string // of long texts, see [value.folded]
}

// A value is the operand of an operator. Node is missing if the pointer has no target.
//
// Wide is set if a rule should match too much rather than too little: in deny and ask rules, and inside "not" in allow
// rules.
type value struct {
	args *Arguments
	node strictjson.Value
	wide bool
}

// Judge evaluates the condition for the arguments of a call. If a pointer matches several elements, a deny or ask rule
// (wide) holds if any of them satisfies the test; an allow rule holds only if there is at least one and all do.
func (c *Condition) Judge(args *Arguments, wide bool) Outcome {
	return c.walk(value{args, args.Root, wide}, c.Steps)
}

func (c *Condition) walk(v value, steps []Step) Outcome {
	if len(steps) == 0 {
		return c.test.eval(v)
	}
	s := &steps[0]
	switch v.node.Kind() {
	case strictjson.Null: // treat it as absent, like upstreams do
		return c.missing(v)
	case strictjson.Array:
		if s.Any {
			return c.each(v, steps[1:])
		}
		return c.element(v, steps)
	case strictjson.Object:
		if s.Any {
			return Outcome{Unknown, "is an object where an array is expected"}
		}
		return c.member(v, steps)
	default:
		return Outcome{Unknown, "leads through a plain value"}
	}
}

func (c *Condition) missing(v value) Outcome {
	v.node = strictjson.Value{}
	return c.test.eval(v)
}

func (c *Condition) each(v value, rest []Step) Outcome {
	if v.node.Len() == 0 {
		return Outcome{No, "has no elements"}
	}
	all, any := Outcome{Result: Yes}, Outcome{Result: No}
	for child := range settings.Children(v.node) {
		o := c.walk(value{v.args, child, v.wide}, rest)
		all, any = And(all, o), or(any, o)
	}
	if v.wide {
		return any
	}
	return all
}

func (c *Condition) element(v value, steps []Step) Outcome {
	if steps[0].Index < 0 {
		return Outcome{Unknown, "is an array where an object is expected"}
	}
	i := 0
	for child := range settings.Children(v.node) {
		if i == steps[0].Index {
			return c.walk(value{v.args, child, v.wide}, steps[1:])
		}
		i++
	}
	return c.missing(v)
}

// member follows a step into an object. An upstream may ignore the case of keys (Go's decoder does), so member does not
// ignore a key that differs only in case: it counts where rules match widely, and makes the condition unknown where
// they match narrowly.
func (c *Condition) member(v value, steps []Step) Outcome {
	s := &steps[0]
	var exact strictjson.Value
	alike := Outcome{Result: No}
	lookalikes := false
	for child := range settings.Children(v.node) {
		switch {
		case child.Key() == s.Key:
			exact = child
		case looksLike(child.Key(), s):
			lookalikes = true
			if v.wide {
				alike = or(alike, c.walk(value{v.args, child, true}, steps[1:]))
			}
		}
	}
	switch {
	case lookalikes && !v.wide:
		return Outcome{Unknown, "has a look-alike among the arguments"}
	case lookalikes && exact.Kind() == strictjson.Missing:
		return or(alike, Outcome{Unknown, "has only a look-alike among the arguments"})
	case exact.Kind() == strictjson.Missing:
		return c.missing(v)
	default:
		return or(c.walk(value{v.args, exact, v.wide}, steps[1:]), alike)
	}
}

func looksLike(key string, s *Step) bool {
	if IsASCII(key) && IsASCII(s.Folded) {
		return equalFoldASCII(key, s.Folded)
	}
	return Fold(key) == s.Folded || visible.Alike(key, s.Key)
}

// equalFoldASCII compares ASCII text with folded ASCII text.
func equalFoldASCII(s, folded string) bool {
	if len(s) != len(folded) {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != folded[i] {
			return false
		}
	}
	return true
}

func arrayIndex(token string) int {
	i, _ := strconv.Atoi(token)
	if strconv.Itoa(i) != token { // not a number, or not in the form of an index
		return -1
	}
	return i
}

// A test is a condition object: all of its operators must hold.
type test struct {
	operators []operator
	ifMissing Result
	decided   bool // the file sets ifMissing: it is the answer if there is no value
}

// An operator tests one value.
type operator interface {
	eval(v value) Outcome
	// judgesAbsence reports whether the operator applies to a missing value. decided means that the condition itself
	// defines that result.
	judgesAbsence(decided bool) bool
}

func (x *test) eval(v value) Outcome {
	all := Outcome{Result: Yes}
	for _, op := range x.operators {
		var o Outcome
		switch {
		case v.node.Kind() != strictjson.Missing || op.judgesAbsence(x.decided):
			o = op.eval(v)
		case x.decided:
			o = Outcome{x.ifMissing, "is missing"}
		default:
			o = Outcome{Unknown, "is missing"}
		}
		all = And(all, o)
	}
	return all
}

// foldedMost is the maximum length of a text that folded folds again for each rule.
const foldedMost = 1 << 10

// folded is the folded text of a value. It caches the result for a long text, because there may be many rules.
func (v value) folded() string {
	if len(v.node.Text()) <= foldedMost || v.args == nil {
		return Fold(v.node.Text())
	}
	folded, ok := v.args.folded[v.node]
	if !ok {
		folded = Fold(v.node.Text())
		if v.args.folded == nil {
			v.args.folded = map[strictjson.Value]string{}
		}
		v.args.folded[v.node] = folded
	}
	return folded
}
