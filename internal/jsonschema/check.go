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

// A Checker checks one value against a schema and finds the first place where
// it does not fit. It is our own because a schema is a stranger's: two that
// refer to each other end a whole process through the stack of the validators
// at hand, and thirty lines of anyOf keep them busy for years.
//
// Whatever it does costs steps, of some 20 ns each, before it is done: a schema looked at, a key looked up,
// an item compared, a text matched. What a schema makes it do again and again is thus counted again and again.
type Checker struct {
	*Schema
	Gaps Gaps

	steps  int             // taken
	budget int             // of steps
	looked int             // steps at which done was looked at last
	done   <-chan struct{} // closed when nobody waits any more; nil is never
	gone   bool            // it was closed

	sorted map[uintptr][]string // the keys of objects, by object
	own    map[string]*pattern  // those of schemas that only a reference leads to
	told   int                  // schemas that have been described
}

// What one check may take: stepsLeast, and stepsByte more for each byte of the value, but not more than stepsMost,
// which take some tenths of a second.
const (
	stepsLeast = 4_000_000
	stepsByte  = 24
	stepsMost  = 16_000_000
	depthMax   = 10_000

	stepsSchema = 20      // to look at one schema: some twenty keywords are looked up
	stepsLook   = 1 << 14 // between two looks at the context
)

// NewChecker returns a checker for a value of so many bytes.
func NewChecker(ctx context.Context, c *Schema, size int) *Checker {
	return &Checker{Schema: c, budget: min(stepsLeast+stepsByte*size, stepsMost), done: ctx.Done(), sorted: map[uintptr][]string{}}
}

var ErrCostly = errors.New("the schema is too costly to check this against")

// Run checks the root of the schema. An error says that the check came to no end: the schema is too costly, or ctx
// has ended.
func (c *Checker) Run(ctx context.Context, v any) (*Misfit, error) {
	m := c.check(c.Root, v, nil, 0, nil)
	switch {
	case c.gone:
		return nil, context.Cause(ctx)
	case c.over():
		return nil, ErrCostly
	}
	return m, nil
}

// spend counts steps. It reports whether the check may go on.
func (c *Checker) spend(n int) bool {
	c.steps = min(c.steps+max(n, 0), c.budget+1) // what is not done any more costs nothing
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

// lookUp spends what it takes to look a text of n bytes up, or to compare it.
func (c *Checker) lookUp(n int) bool { return c.spend(1 + n/64) }

// over reports whether the check has cost all it may, or nobody waits for it.
func (c *Checker) over() bool { return c.gone || c.steps > c.budget }

// keys returns the keys of an object in order.
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

// A position is where in the value something is; nil is its root. Its text is made only where it is needed: it is as
// long as all the keys above it.
type position struct {
	up    *position
	key   string // of an object
	index int    // of an array, -1 for an object
	depth int    // of the root it is 0
}

func (p *position) below() int {
	if p == nil {
		return 1
	}
	return p.depth + 1
}

func (p *position) member(key string) *position { return &position{p, key, -1, p.below()} }
func (p *position) item(i int) *position        { return &position{p, "", i, p.below()} }

// A Misfit is one place that does not fit. Its words are made only for the one that is reported.
type Misfit struct {
	At        *position
	Want, Got func() string
	constant  bool // want begins with a text in quotation marks
}

func plainly(s string) func() string { return func() string { return s } }

// seen notes which properties and items of a value were checked by the schema
// at hand or those beside it; a nil *seen notes nothing.
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

// note adds to s what o has.
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

// fresh returns a new note if anything needs notes.
func (c *Checker) fresh() *seen {
	if c.tracks {
		return new(seen)
	}
	return nil
}

// check returns nil if v fits the schema. Where it is given a note, it adds
// what the schema has looked at. What it returns means nothing if the check is over.
func (c *Checker) check(schema, v any, at *position, depth int, note *seen) *Misfit {
	if depth > depthMax {
		c.steps = c.budget + 1
	}
	if !c.spend(stepsSchema) || c.unknown(at) {
		return nil
	}
	s, ok := schema.(map[string]any)
	if !ok {
		if schema == false {
			return &Misfit{At: at, Want: plainly("nothing"), Got: shown(v)}
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
		if c.Draft7 { // there nothing beside a reference counts
			c.note(note, own)
			return nil
		}
	}
	if own != nil && s["$dynamicRef"] != nil { // it may look at all, for all we know
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

// value checks what concerns the value itself and what is inside it.
func (c *Checker) value(s map[string]any, v any, at *position, depth int, own *seen) *Misfit {
	here := func() *Misfit {
		return &Misfit{At: at, Want: func() string { return c.describe(s, 0) }, Got: shown(v), constant: c.leadsWithText(s)}
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
func (c *Checker) combined(s map[string]any, v any, at *position, depth int, own *seen) *Misfit {
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
	if c.within(at) { // what fits so far may not in the end
		return nil
	}
	if not, ok := s["not"]; ok && c.check(not, v, at, depth+1, nil) == nil {
		return &Misfit{At: at, Want: func() string { return "anything but " + c.describe(not, 0) }, Got: shown(v)}
	}
	if cond, ok := s["if"]; ok {
		note := c.fresh()
		branch := s["else"]
		if c.check(cond, v, at, depth+1, note) == nil {
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
func (c *Checker) forms(key string, list []any, v any, at *position, depth int, own *seen) *Misfit {
	fits := 0
	var best *Misfit
	for _, sub := range list {
		note := c.fresh()
		m := c.check(sub, v, at, depth+1, note)
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
		return &Misfit{At: at, Want: func() string { return c.describe(form, 0) }, Got: shown(v), constant: c.leadsWithText(form)}
	case fits == 0:
		return best
	case fits > 1 && key == "oneOf" && !c.within(at):
		return &Misfit{At: at, Want: plainly("exactly one of several forms"),
			Got: func() string { return fmt.Sprintf("a value that is %d of them at once", fits) }}
	}
	return nil
}

// nearer reports whether the misfit m tells more than n about which of several
// forms was meant: one deeper inside, and best one that is no wrong constant,
// because the constant is what tells the forms apart.
func nearer(m, n *Misfit, at *position) bool {
	rank := func(x *Misfit) int {
		r := x.At.below()
		if x.constant && x.At != at {
			r -= 100
		}
		return r
	}
	return rank(m) > rank(n)
}

// leadsWithText reports whether the words for a schema begin with a text that the value has to be.
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
