package catalog

import (
	"encoding/json"
	"strings"
)

// ValidateKnown checks arguments of which only a part is known yet: those that
// the text of a program shows. unknown are JSON Pointers to places where any
// value may come to stand, or none; open are those of objects that may get
// more members. It reports only what is wrong whatever comes.
func (t *Tool) ValidateKnown(args json.RawMessage, unknown, open []string) error {
	g := gaps{unknown: map[string]bool{}, open: map[string]bool{}}
	for _, p := range unknown {
		if p == "" {
			return nil
		}
		g.add(g.unknown, p)
	}
	for _, p := range open {
		g.add(g.open, p)
	}
	return t.validate(args, g)
}

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

// within reports whether a value is known in part only.
func (g *gaps) within(path string) bool { return g.above[path] }
