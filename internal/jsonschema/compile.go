package jsonschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Compile reads a schema of draft-07 or 2020-12. It fetches nothing. It ignores the parts of a schema that it cannot
// use, and says so in Note. It takes the instructions of the patterns from room.
func Compile(raw json.RawMessage, room *int) *Schema { return compile(raw, room, false) }

// CompileArguments is [Compile] for a schema of arguments, which are an object.
func CompileArguments(raw json.RawMessage, room *int) *Schema { return compile(raw, room, true) }

func compile(raw json.RawMessage, room *int, args bool) *Schema {
	if len(raw) == 0 {
		return &Schema{}
	}
	if len(raw) > schemaBytes {
		return &Schema{Note: fmt.Sprintf("%d bytes long, more than %d", len(raw), schemaBytes)}
	}
	root, err := Decode(raw)
	if err != nil {
		return &Schema{Note: fmt.Sprintf("not JSON: %v", err)}
	}
	s, ok := root.(map[string]any)
	switch {
	case root == true, root == false: // false would make a tool that nobody can call
		return &Schema{}
	case !ok:
		return &Schema{Note: "neither an object nor true"}
	case deep(s, schemaDepth):
		return &Schema{Note: fmt.Sprintf("nested more than %d deep", schemaDepth)}
	}
	root, notes := repair(root, args)
	c := &Schema{Root: root, targets: map[uintptr]any{}, patterns: map[string]*pattern{}}
	version, _ := s["$schema"].(string)
	switch {
	case strings.Contains(version, "draft-07"):
		c.Draft7 = true
	case version != "" && !strings.Contains(version, "2020-12"):
		c.Draft7 = strings.Contains(version, "draft-0")
		notes = append(notes, fmt.Sprintf("version %q is unknown and read as the nearest that is known", cut(version, 60)))
	}
	g := gatherer{c: c, room: room}
	g.gather(root)
	l := linker{c: c, resources: map[string]any{}, anchors: map[string]any{}}
	l.find(root, place{base: new(url.URL)}, false)
	l.find(root, place{base: new(url.URL)}, true)
	l.cutCircles(root)
	c.Note = strings.Join(listed(slices.Concat(notes, g.notes, l.notes)), "; ")
	return c
}

// A gatherer compiles the patterns of a schema.
type gatherer struct {
	c     *Schema
	room  *int // the remaining budget of instructions, for all schemas of the server
	bytes int  // of the patterns so far
	size  int  // their instructions
	notes []string
}

func (g *gatherer) gather(v any) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	if s["unevaluatedProperties"] != nil || s["unevaluatedItems"] != nil {
		g.c.tracks = true
	}
	if p, ok := s["pattern"].(string); ok {
		g.add(p)
	}
	if m, ok := s["patternProperties"].(map[string]any); ok {
		for _, p := range slices.Sorted(maps.Keys(m)) {
			g.add(p)
		}
	}
	eachSubschema(s, g.gather)
}

func (g *gatherer) add(p string) {
	if _, known := g.c.patterns[p]; known {
		return
	}
	g.bytes += len(p)
	if g.bytes > patternsBytes {
		g.c.patterns[p] = nil
		g.notes = append(g.notes, "its patterns are too many to be used all")
		return
	}
	re, err := newPattern(p, min(patternSize, patternsSize-g.size, *g.room))
	g.c.patterns[p] = re
	if err != nil {
		g.notes = append(g.notes, err.Error())
		return
	}
	g.size += re.size
	*g.room -= re.size
}
