package importtable

import (
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
)

// An area is a set of tools: those of one server or of all, whose names fit a shape.
type area struct {
	server shape
	tool   shape
}

// A shape is a set of names: those with characters of the given kinds in a row, or with
// Star those that begin with some and end with others. It can be intersected and turned
// inside out, which a pattern with several stars cannot; that one is kept as it is.
type shape struct {
	head, tail []letters
	star       bool
	pattern    string // with several stars; the rest is empty then
}

// letters is a set of characters: those given or, with Not, all others.
type letters struct {
	not bool
	of  string
}

var anyLetter = letters{not: true}

// all reports whether every name has the shape.
func (s shape) all() bool { return s.star && len(s.head)+len(s.tail) == 0 }

// anything is the shape of every name.
var anything = shape{star: true}

// exactly is the shape of one name as programs know it.
func exactly(name string) shape {
	var s shape
	for _, c := range call.Part(name) {
		s.head = append(s.head, letters{of: string(c)})
	}
	return s
}

// wildcard is the shape of a pattern in which * stands for any characters and case does
// not matter.
func wildcard(pattern string) shape {
	head, rest, star := strings.Cut(pattern, "*")
	rest = strings.TrimLeft(rest, "*") // stars side by side are one
	if strings.Contains(rest, "*") {
		return shape{pattern: pattern}
	}
	return shape{head: anyCase(head), star: star, tail: anyCase(rest)}
}

func anyCase(text string) []letters {
	var all []letters
	for _, c := range call.Part(text) {
		all = append(all, letters{of: bothCases(c)})
	}
	return all
}

func bothCases(c rune) string {
	written, lower, upper := string(c), strings.ToLower(string(c)), strings.ToUpper(string(c))
	switch written {
	case lower:
		return strings.Join(slices.Compact([]string{lower, upper}), "")
	default:
		return upper + lower
	}
}

func (r *tableRule) area() area {
	a := area{server: anything, tool: anything}
	if r.Server != "" {
		a.server = exactly(r.Server)
	}
	switch {
	case r.Tool != "":
		a.tool = exactly(r.Tool)
	case r.Pattern != "":
		a.tool = wildcard(r.Pattern)
	}
	return a
}

// meets reports whether some tool may be in both.
func (a area) meets(b area) bool { return a.server.meets(b.server) && a.tool.meets(b.tool) }

// meets may say yes too often for patterns with several stars, of which it compares only
// how names begin and end: that makes a profile stricter and no more.
func (s shape) meets(t shape) bool { return s.ends().and(t.ends()) != nil }

// ends is the shape around a pattern with several stars.
func (s shape) ends() shape {
	if s.pattern == "" {
		return s
	}
	return shape{head: anyCase(s.pattern[:strings.IndexByte(s.pattern, '*')]), star: true, tail: anyCase(s.pattern[strings.LastIndexByte(s.pattern, '*')+1:])}
}

// maxAreas is where writing around an exception stops being of use to anybody.
const maxAreas = 2000

// without gives what is left of the areas, false if that cannot be written.
func without(areas []area, b area) ([]area, bool) {
	var left []area
	for _, a := range areas {
		if !a.meets(b) {
			left = append(left, a)
			continue
		}
		if a.tool.pattern != "" || b.tool.pattern != "" {
			return nil, false
		}
		for _, outside := range b.server.inverted() {
			for _, server := range a.server.and(outside) {
				left = append(left, area{server, a.tool})
			}
		}
		for _, server := range a.server.and(b.server) {
			for _, outside := range b.tool.inverted() {
				for _, tool := range a.tool.and(outside) {
					left = append(left, area{server, tool})
				}
			}
		}
		if len(left) > maxAreas {
			return nil, false
		}
	}
	return left, true
}

// and gives the shapes of the names that both shapes have.
func (s shape) and(t shape) []shape {
	switch {
	case !s.star && !t.star:
		if len(s.head) != len(t.head) {
			return nil
		}
		return row(len(s.head), s, t)
	case !s.star:
		if len(s.head) < len(t.head)+len(t.tail) {
			return nil
		}
		return row(len(s.head), s, t)
	case !t.star:
		return t.and(s)
	}
	head, tail := max(len(s.head), len(t.head)), max(len(s.tail), len(t.tail))
	var all []shape
	for n := max(len(s.head)+len(s.tail), len(t.head)+len(t.tail)); n < head+tail; n++ {
		all = append(all, row(n, s, t)...)
	}
	long := shape{star: true}
	for i := range head {
		long.head = append(long.head, shared(at(s.head, i), at(t.head, i)))
	}
	for i := range tail {
		long.tail = append(long.tail, shared(at(s.tail, len(s.tail)-tail+i), at(t.tail, len(t.tail)-tail+i)))
	}
	if long.empty() {
		return all
	}
	return append(all, long)
}

// row gives the shape of the names of n characters that both shapes have, if there are any.
func row(n int, s, t shape) []shape {
	one := shape{head: make([]letters, n)}
	for i := range n {
		one.head[i] = shared(s.letter(i, n), t.letter(i, n))
	}
	if one.empty() {
		return nil
	}
	return []shape{one}
}

// letter is what may stand at place i of a name of n characters.
func (s shape) letter(i, n int) letters {
	x := at(s.head, i)
	if s.star {
		x = shared(x, at(s.tail, i-(n-len(s.tail))))
	}
	return x
}

func at(all []letters, i int) letters {
	if i < 0 || i >= len(all) {
		return anyLetter
	}
	return all[i]
}

func (s shape) empty() bool {
	none := func(l letters) bool { return !l.not && l.of == "" }
	return slices.ContainsFunc(s.head, none) || slices.ContainsFunc(s.tail, none)
}

// shared gives the characters that are in both sets.
func shared(a, b letters) letters {
	keep := func(of string, in func(rune) bool) string {
		return strings.Map(func(c rune) rune {
			if in(c) {
				return c
			}
			return -1
		}, of)
	}
	switch {
	case !a.not:
		return letters{of: keep(a.of, b.contains)}
	case !b.not:
		return letters{of: keep(b.of, a.contains)}
	default:
		return letters{not: true, of: a.of + keep(b.of, a.contains)}
	}
}

func (l letters) contains(c rune) bool { return strings.ContainsRune(l.of, c) != l.not }

// inverted gives the shapes of all names that the shape does not have.
func (s shape) inverted() []shape {
	var all []shape
	short := len(s.head) + len(s.tail)
	for n := 1; n < short; n++ {
		all = append(all, shape{head: anyLetters(n)})
	}
	if !s.star {
		for i, l := range s.head {
			x := shape{head: anyLetters(len(s.head))}
			x.head[i] = letters{!l.not, l.of}
			all = append(all, x)
		}
		return append(all, shape{head: anyLetters(len(s.head) + 1), star: true})
	}
	for i, l := range s.head {
		x := shape{head: anyLetters(i + 1), star: true}
		x.head[i] = letters{!l.not, l.of}
		all = append(all, x)
	}
	for i, l := range s.tail {
		x := shape{tail: anyLetters(len(s.tail) - i), star: true}
		x.tail[0] = letters{!l.not, l.of}
		all = append(all, x)
	}
	return slices.DeleteFunc(all, shape.empty)
}

func anyLetters(n int) []letters {
	return slices.Repeat([]letters{anyLetter}, n)
}

// glob writes the shape as a pattern. Wide counts every case of a letter, as the table
// does; an allow rule takes the case that is written, which is the narrower.
func (s shape) glob(wide bool) string {
	if s.pattern != "" {
		s.pattern = strings.Join(slices.Collect(func(yield func(string) bool) {
			for part := range strings.SplitSeq(s.pattern, "*") {
				if !yield((shape{head: anyCase(part)}).glob(wide)) {
					return
				}
			}
		}), "*")
		return s.pattern
	}
	var b strings.Builder
	write := func(all []letters) {
		for _, l := range all {
			switch {
			case l.not && l.of == "":
				b.WriteByte('?')
			case l.not:
				b.WriteString("[^" + l.of + "]")
			case len(l.of) == 1:
				b.WriteString(l.of)
			case wide:
				b.WriteString("[" + l.of + "]")
			default:
				b.WriteString(l.of[:1])
			}
		}
	}
	write(s.head)
	if s.star {
		b.WriteByte('*')
	}
	write(s.tail)
	return b.String()
}

func (a area) pattern(wide bool) string { return a.server.glob(wide) + "__" + a.tool.glob(wide) }
