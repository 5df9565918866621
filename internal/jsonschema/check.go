package jsonschema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"reflect"
	"slices"
)

// A Checker checks one value against a schema and finds the first place that does not match. It is our own because
// untrusted servers write the schemas: two schemas that refer to each other overflow the stack of the usual validators
// and crash the process, and thirty lines of anyOf keep these validators busy for years.
//
// It counts steps of some 20 ns each before it does the work: for a schema, for a key, for an item that it compares,
// for a text that it matches. It counts repeated work each time.
type Checker struct {
	*Schema
	Gaps   Gaps
	Others []*Violation // beside the one that Run returned: more properties and items that do not match

	trying int // schemas that may fail without a violation: the forms of anyOf, not, if

	steps  int             // taken
	budget int             // of steps
	looked int             // steps when done was last checked
	done   <-chan struct{} // of the context
	gone   bool            // done is closed

	sorted map[uintptr][]string // the sorted keys of objects, by object
	own    map[string]*pattern  // patterns of schemas that only a reference reaches
	told   int                  // described schemas
}

// The budget of one check is stepsLeast plus stepsByte for each byte of the value, and stepsMost at most, which takes
// some tenths of a second.
const (
	stepsLeast = 4_000_000
	stepsByte  = 24
	stepsMost  = 16_000_000
	depthMax   = 10_000

	stepsSchema = 20      // for one schema, which has some twenty keywords to look up
	stepsLook   = 1 << 14 // between two checks of the context
)

// NewChecker returns a checker for a value of so many bytes.
func NewChecker(ctx context.Context, c *Schema, size int) *Checker {
	budget := min(stepsLeast+stepsByte*size, stepsMost)
	return &Checker{Schema: c, budget: budget, done: ctx.Done(), sorted: map[uintptr][]string{}}
}

// ErrCostly says that a check exceeds its budget.
var ErrCostly = errors.New("the schema is too costly to check this against")

// Run checks a value against the root of the schema. An error says that the check did not end: it is [ErrCostly] or the
// cause of ctx.
func (c *Checker) Run(ctx context.Context, v any) (*Violation, error) {
	m := c.check(c.Root, v, nil, 0, nil)
	if len(c.Others) > 0 {
		if m != nil {
			c.Others = append(c.Others, m)
		}
		m, c.Others = c.Others[0], c.Others[1:]
	}
	switch {
	case c.gone:
		return nil, context.Cause(ctx)
	case c.over():
		return nil, ErrCostly
	}
	return m, nil
}

// maxOthers is how many violations of one value are reported beside the first.
const maxOthers = 7

// collected notes a violation of a property or an item, so that the check goes on with the next one. It reports false
// where the violation decides whether a schema matches.
func (c *Checker) collected(m *Violation) bool {
	if c.trying > 0 || len(c.Others) == maxOthers {
		return false
	}
	c.Others = append(c.Others, m)
	return true
}

// try checks a value against a schema that need not match.
func (c *Checker) try(schema, v any, at *position, depth int, note *seen) *Violation {
	c.trying++
	defer func() { c.trying-- }()
	return c.check(schema, v, at, depth, note)
}

// spend counts steps. It reports whether the check may continue.
func (c *Checker) spend(n int) bool {
	c.steps = min(c.steps+max(n, 0), c.budget+1) // the sum cannot overflow
	if c.steps-c.looked > stepsLook {
		c.looked = c.steps
		select {
		case <-c.done:
			c.gone = true
		default:
		}
	}
	return !c.over()
}

// lookUp spends the cost of looking up, or comparing, a text of n bytes.
func (c *Checker) lookUp(n int) bool { return c.spend(1 + n/64) }

// over reports whether the check has used up its budget, or its context has ended.
func (c *Checker) over() bool { return c.gone || c.steps > c.budget }

// keys returns the keys of an object, sorted.
func (c *Checker) keys(m map[string]any) []string {
	if len(m) == 0 {
		return nil
	}
	at := reflect.ValueOf(m).Pointer()
	keys, ok := c.sorted[at]
	if !ok {
		c.spend(len(m) * bits.Len(uint(len(m))))
		keys = slices.Sorted(maps.Keys(m))
		c.sorted[at] = keys
	}
	c.spend(len(m))
	return keys
}

// A position is a place in the value; nil is its root. Its text, which is as long as all the keys above it, is made
// only when it is needed.
type position struct {
	up    *position
	key   string // of an object
	index int    // of an array, -1 for an object
	depth int    // 0 for the root
}

func (p *position) below() int {
	if p == nil {
		return 1
	}
	return p.depth + 1
}

func (p *position) member(key string) *position { return &position{p, key, -1, p.below()} }
func (p *position) item(i int) *position        { return &position{p, "", i, p.below()} }

// A Violation is one place that does not match. Want and Got are functions because only one violation is reported.
type Violation struct {
	At        *position
	Want, Got func() string
	constant  bool // Want begins with a text in quotation marks
}

func plainly(s string) func() string { return func() string { return s } }

// seen has the evaluated properties and items of a value, for the "unevaluated" keywords; a nil *seen records nothing.
type seen struct {
	properties map[string]bool
	items      map[int]bool
	all        bool
}

func (s *seen) property(k string) {
	if s != nil {
		if s.properties == nil {
			s.properties = map[string]bool{}
		}
		s.properties[k] = true
	}
}

func (s *seen) item(i int) {
	if s != nil {
		if s.items == nil {
			s.items = map[int]bool{}
		}
		s.items[i] = true
	}
}

// note adds o to s.
func (c *Checker) note(s, o *seen) {
	if s == nil || o == nil {
		return
	}
	if !c.spend(4 * (len(o.properties) + len(o.items))) {
		return
	}
	for k := range o.properties {
		c.lookUp(len(k))
		s.property(k)
	}
	for i := range o.items {
		s.item(i)
	}
	s.all = s.all || o.all
}

// fresh returns a new seen if the schema has an "unevaluated" keyword.
func (c *Checker) fresh() *seen {
	if c.tracks {
		return new(seen)
	}
	return nil
}

// check returns nil if v matches the schema. It adds to note what the schema has evaluated. The result is undefined
// if the check is over.
func (c *Checker) check(schema, v any, at *position, depth int, note *seen) *Violation {
	if depth > depthMax {
		c.steps = c.budget + 1
	}
	if !c.spend(stepsSchema) || c.unknown(at) {
		return nil
	}
	s, ok := schema.(map[string]any)
	if !ok {
		if schema == false {
			return &Violation{At: at, Want: plainly("nothing"), Got: shown(v)}
		}
		return nil
	}
	own := c.fresh()
	if ref, ok := s["$ref"].(string); ok {
		c.lookUp(8 * len(ref))
		if target, ok := c.referred(s); ok {
			if m := c.check(target, v, at, depth+1, own); m != nil {
				return m
			}
		}
		if c.Draft7 { // which ignores keywords beside a reference
			c.note(note, own)
			return nil
		}
	}
	if own != nil && s["$dynamicRef"] != nil { // it may evaluate everything
		own.all = true
	}
	if m := c.value(s, v, at, depth, own); m != nil {
		return m
	}
	if m := c.combined(s, v, at, depth, own); m != nil {
		return m
	}
	if !c.within(at) {
		if m := c.unevaluated(s, v, at, depth, own); m != nil {
			return m
		}
	}
	c.note(note, own)
	return nil
}

// value checks the value itself, its members and its items.
func (c *Checker) value(s map[string]any, v any, at *position, depth int, own *seen) *Violation {
	here := func() *Violation {
		want := func() string { return c.describe(s, 0) }
		return &Violation{At: at, Want: want, Got: shown(v), constant: c.leadsWithText(s)}
	}
	if !c.typeFits(s["type"], v) {
		return here()
	}
	partly := c.within(at)
	if enum, ok := s["enum"].([]any); ok && !partly {
		if !slices.ContainsFunc(enum, func(e any) bool { return c.over() || c.same(e, v) }) {
			return here()
		}
	}
	if constant, ok := s["const"]; ok && !partly && !c.same(constant, v) {
		return here()
	}
	switch v := v.(type) {
	case json.Number:
		return c.number(s, v, at)
	case string:
		return c.text(s, v, at)
	case []any:
		return c.array(s, v, at, depth, own)
	case map[string]any:
		return c.object(s, v, at, depth, own)
	}
	return nil
}

// combined checks allOf, anyOf, oneOf, not and if.
func (c *Checker) combined(s map[string]any, v any, at *position, depth int, own *seen) *Violation {
	all, _ := s["allOf"].([]any)
	for _, sub := range all {
		if m := c.check(sub, v, at, depth+1, own); m != nil {
			return m
		}
		if c.over() {
			return nil
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := s[key].([]any); ok && len(list) > 0 {
			if m := c.forms(key, list, v, at, depth, own); m != nil || c.over() {
				return m
			}
		}
	}
	if c.within(at) { // the unknown parts may change the outcome
		return nil
	}
	if not, ok := s["not"]; ok && c.try(not, v, at, depth+1, nil) == nil {
		return &Violation{At: at, Want: func() string { return "anything but " + c.describe(not, 0) }, Got: shown(v)}
	}
	if cond, ok := s["if"]; ok {
		note := c.fresh()
		branch := s["else"]
		if c.try(cond, v, at, depth+1, note) == nil {
			c.note(own, note)
			branch = s["then"]
		}
		if branch != nil {
			return c.check(branch, v, at, depth+1, own)
		}
	}
	return nil
}

// forms checks anyOf or oneOf.
func (c *Checker) forms(key string, list []any, v any, at *position, depth int, own *seen) *Violation {
	fits := 0
	var best *Violation
	for _, sub := range list {
		note := c.fresh()
		m := c.try(sub, v, at, depth+1, note)
		if c.over() {
			return nil
		}
		if m == nil {
			fits++
			c.note(own, note)
			if key == "anyOf" && !c.tracks {
				break
			}
		} else if best == nil || nearer(m, best, at) {
			best = m
		}
	}
	switch {
	case fits == 0 && best.At == at:
		form := map[string]any{key: list}
		want := func() string { return c.describe(form, 0) }
		return &Violation{At: at, Want: want, Got: shown(v), constant: c.leadsWithText(form)}
	case fits == 0:
		return best
	case fits > 1 && key == "oneOf" && !c.within(at):
		return &Violation{At: at, Want: plainly("exactly one of several forms"),
			Got: func() string { return fmt.Sprintf("a value that is %d of them at once", fits) }}
	}
	return nil
}

// nearer reports whether the violation m says more than n about which of several forms the author meant. A deeper
// violation does, and so does one that is not a wrong constant, because constants distinguish the forms.
func nearer(m, n *Violation, at *position) bool {
	rank := func(x *Violation) int {
		r := x.At.below()
		if x.constant && x.At != at {
			r -= 100
		}
		return r
	}
	return rank(m) > rank(n)
}

// leadsWithText reports whether the description of a schema begins with a string constant.
func (c *Checker) leadsWithText(schema any) bool {
	for range 4 {
		s, ok := schema.(map[string]any)
		if !ok {
			return false
		}
		c.spend(5)
		if ref, ok := s["$ref"].(string); ok {
			c.lookUp(8 * len(ref))
			if target, ok := c.referred(s); ok {
				schema = target
				continue
			}
		}
		if constant, ok := s["const"]; ok {
			_, text := constant.(string)
			return text
		}
		if enum, ok := s["enum"].([]any); ok && len(enum) > 0 {
			_, text := enum[0].(string)
			return text
		}
		list, _ := s["anyOf"].([]any)
		if len(list) == 0 {
			list, _ = s["oneOf"].([]any)
		}
		if len(list) == 0 {
			return false
		}
		schema = list[0]
	}
	return false
}
