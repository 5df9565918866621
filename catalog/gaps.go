package catalog

import (
	"strings"
)

// gaps are the places of a value that are not known. The zero value has none.
type gaps struct {
	unknown, open map[string]bool
	above         map[string]bool // every place with a gap at or below it
}

func (g *gaps) add(to map[string]bool, pointer string) {
	to[pointer] = true
	if g.above == nil {
		g.above = map[string]bool{"": true}
	}
	for p := pointer; p != ""; p = p[:strings.LastIndexByte(p, '/')] {
		g.above[p] = true
	}
}

// The three ask about a position of the value. Its text is made only where there are gaps at all.
func (c *checker) unknown(at *position) bool { return c.gap(c.gaps.unknown, at) }
func (c *checker) open(at *position) bool    { return c.gap(c.gaps.open, at) }

// within reports whether a value is known in part only.
func (c *checker) within(at *position) bool { return c.gap(c.gaps.above, at) }

func (c *checker) gap(of map[string]bool, at *position) bool {
	if len(of) == 0 {
		return false
	}
	path := at.pointer()
	c.spend(5*at.below() + len(path)/8)
	return of[path]
}
