package jsonschema

import (
	"strings"
)

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
