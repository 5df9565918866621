package jsonschema

import (
	"context"
	"errors"
	"maps"
	"math/bits"
	"reflect"
	"slices"
	"strings"
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

// Gaps are the unknown places of a value. The zero value has none.
type Gaps struct {
	Unknown, Open map[string]bool
	above         map[string]bool // the places with a gap at or below them
}

// Add adds a place to Unknown or Open.
func (g *Gaps) Add(to map[string]bool, pointer string) {
	to[pointer] = true
	if g.above == nil {
		g.above = map[string]bool{"": true}
	}
	for p := pointer; p != ""; p = p[:strings.LastIndexByte(p, '/')] {
		g.above[p] = true
	}
}

// ErrCostly says that a check exceeds its budget.
var ErrCostly = errors.New("the schema is too costly to check this against")

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

// matches reports whether a text has a match of a pattern. known is false if the pattern cannot be used.
func (c *Checker) matches(p, text string) (fits, known bool) {
	re := c.pattern(p)
	if re == nil || !c.spend(re.cost(len(text))) {
		return false, false
	}
	return re.re.MatchString(text), true
}

// pattern returns the expression, nil if it cannot be used.
func (c *Checker) pattern(p string) *pattern {
	if c.lookUp(len(p)); c.over() {
		return nil
	}
	if re, ok := c.patterns[p]; ok {
		return re
	}
	re, ok := c.own[p] // of a schema that only a reference reaches
	if !ok {
		if !c.spend(1000 + 50*min(len(p), patternBytes) + 50*patternSize/10) {
			return nil
		}
		re, _ = newPattern(p, patternSize/10)
		if c.own == nil {
			c.own = map[string]*pattern{}
		}
		c.own[p] = re
	}
	return re
}

// A Violation is one place that does not match. Want and Got are functions because only one violation is reported.
type Violation struct {
	At        *position
	Want, Got func() string
	constant  bool // Want begins with a text in quotation marks
}

func plainly(s string) func() string { return func() string { return s } }

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

// These three look up a position of the value. They make its text only if there are gaps.
func (c *Checker) unknown(at *position) bool { return c.gap(c.Gaps.Unknown, at) }
func (c *Checker) open(at *position) bool    { return c.gap(c.Gaps.Open, at) }

// within reports whether a part of the value is unknown.
func (c *Checker) within(at *position) bool { return c.gap(c.Gaps.above, at) }

func (c *Checker) gap(of map[string]bool, at *position) bool {
	if len(of) == 0 {
		return false
	}
	path := at.Pointer()
	c.spend(5*at.below() + len(path)/8)
	return of[path]
}
