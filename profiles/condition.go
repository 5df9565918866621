package profiles

import (
	"strconv"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/profiles/pattern"
)

// A result is how a rule or a condition comes out. Unknown is a result of its own: what
// cannot be judged must not allow anything, and must not slip past a rule that denies.
// The order is that of Kleene's logic, where "and" is the least and "or" the greatest.
type result int8

const (
	no result = iota
	unknown
	yes
)

func (r result) String() string { return [...]string{"false", "unknown", "true"}[r] }

// An outcome is a result and, if it is not plainly yes or no, why.
type outcome struct {
	result result
	why    string
}

func and(a, b outcome) outcome {
	if b.result < a.result {
		return b
	}
	return a
}

func or(a, b outcome) outcome {
	if b.result > a.result {
		return b
	}
	return a
}

// A condition is one member of "when": a test of what a JSON Pointer leads to.
type condition struct {
	pointer string
	steps   []step
	test    *test
	text    string // the condition as written
}

// A step is one token of a JSON Pointer.
type step struct {
	key    string
	folded string
	any    bool // "*": every element of an array
	index  int  // the token as an array index, -1 if it is none
}

// arguments are those of a call, taken apart.
type arguments struct {
	root   strictjson.Value
	folded map[strictjson.Value]string // of long texts, see [value.folded]
}

// A value is what an operator looks at. Node is missing where the pointer leads nowhere.
//
// Wide is set where a rule should rather match too much than too little: in deny and ask
// rules, and inside "not" in allow rules.
type value struct {
	args *arguments
	node strictjson.Value
	wide bool
}

// eval judges the condition for the arguments of a call. Where a pointer stands for many
// elements, a deny or ask rule (wide) holds if any of them satisfies the test, an allow
// rule only if there are some and all do.
func (c *condition) eval(args *arguments, wide bool) outcome {
	return c.walk(value{args, args.root, wide}, c.steps)
}

func (c *condition) walk(v value, steps []step) outcome {
	if len(steps) == 0 {
		return c.test.eval(v)
	}
	s := &steps[0]
	switch v.node.Kind() {
	case strictjson.Null: // as if it were not there, which is how upstreams take it
		return c.missing(v)
	case strictjson.Array:
		if s.any {
			return c.each(v, steps[1:])
		}
		return c.element(v, steps)
	case strictjson.Object:
		if s.any {
			return outcome{unknown, "is an object where an array is expected"}
		}
		return c.member(v, steps)
	default:
		return outcome{unknown, "leads through a plain value"}
	}
}

func (c *condition) missing(v value) outcome {
	v.node = strictjson.Value{}
	return c.test.eval(v)
}

func (c *condition) each(v value, rest []step) outcome {
	if v.node.Len() == 0 {
		return outcome{no, "has no elements"}
	}
	all, any := outcome{result: yes}, outcome{result: no}
	for child := range settings.Children(v.node) {
		o := c.walk(value{v.args, child, v.wide}, rest)
		all, any = and(all, o), or(any, o)
	}
	if v.wide {
		return any
	}
	return all
}

func (c *condition) element(v value, steps []step) outcome {
	if steps[0].index < 0 {
		return outcome{unknown, "is an array where an object is expected"}
	}
	i := 0
	for child := range settings.Children(v.node) {
		if i == steps[0].index {
			return c.walk(value{v.args, child, v.wide}, steps[1:])
		}
		i++
	}
	return c.missing(v)
}

// member follows a step into an object. An upstream may read keys without regard to case
// (Go's decoder does), so a key that only looks like the wanted one is not ignored: it
// counts where rules match widely, and makes the condition unknown where they match
// narrowly.
func (c *condition) member(v value, steps []step) outcome {
	s := &steps[0]
	var exact strictjson.Value
	alike := outcome{result: no}
	lookalikes := false
	for child := range settings.Children(v.node) {
		switch {
		case child.Key() == s.key:
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
		return outcome{unknown, "has a look-alike among the arguments"}
	case lookalikes && exact.Kind() == strictjson.Missing:
		return or(alike, outcome{unknown, "has only a look-alike among the arguments"})
	case exact.Kind() == strictjson.Missing:
		return c.missing(v)
	default:
		return or(c.walk(value{v.args, exact, v.wide}, steps[1:]), alike)
	}
}

func looksLike(key string, s *step) bool {
	if pattern.IsASCII(key) && pattern.IsASCII(s.folded) {
		return equalFoldASCII(key, s.folded)
	}
	return pattern.Fold(key) == s.folded
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
	if strconv.Itoa(i) != token { // no number, or written in a way that is no index
		return -1
	}
	return i
}

// A test is a condition object: all of its operators have to hold.
type test struct {
	operators []operator
	ifMissing result
	decided   bool // ifMissing is written: it is the answer wherever nothing is there
}

func (x *test) eval(v value) outcome {
	all := outcome{result: yes}
	for _, op := range x.operators {
		var o outcome
		switch {
		case v.node.Kind() != strictjson.Missing || op.judgesAbsence(x.decided):
			o = op.eval(v)
		case x.decided:
			o = outcome{x.ifMissing, "is missing"}
		default:
			o = outcome{unknown, "is missing"}
		}
		all = and(all, o)
	}
	return all
}

// foldedMost is how long a text may be that is folded anew for each rule that asks.
const foldedMost = 1 << 10

// folded is the text of a value, folded. That of a long one is remembered: there may be many rules.
func (v value) folded() string {
	if len(v.node.Text()) <= foldedMost || v.args == nil {
		return pattern.Fold(v.node.Text())
	}
	folded, ok := v.args.folded[v.node]
	if !ok {
		folded = pattern.Fold(v.node.Text())
		if v.args.folded == nil {
			v.args.folded = map[strictjson.Value]string{}
		}
		v.args.folded[v.node] = folded
	}
	return folded
}
