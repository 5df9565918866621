package prompt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Lists, and tables of similar calls, have no room for nested arguments. Arguments are flattened there: each value
// follows a JSON Pointer to it. In the pointer, a key that is not a plain word has quotation marks, and an array index
// is a bare number, so that two different arguments never look alike.

// A leaf is a value that is shown separately: a text, a number, an array of only texts and numbers, or an empty
// container.
type leaf struct {
	label string // the pointer as shown; at the top of an object only the key
	id    string // the whole pointer
	at    secrets.Place
	value strictjson.Value
}

// flat lists the values of an object or array in source order.
func (p *printer) flat(v strictjson.Value) []leaf {
	var all []leaf
	var walk func(of leaf)
	walk = func(of leaf) {
		v, depth := of.value, len(of.at.Path)
		if v.Kind() != strictjson.Object && !nests(v) || depth > 0 && v.Len() == 0 {
			all = append(all, of)
			return
		}
		for place, value := range p.masker.Children(v, of.at) {
			in := leaf{label: place.Step, id: of.id + "/" + place.Step, at: place, value: value}
			if value.KeyEnd() > 0 {
				in.label, in.id = p.keyText(place.Step), of.id+"/"+strconv.Quote(place.Step)
			}
			switch depth {
			case 0:
			case 1:
				in.label = "/" + of.label + "/" + in.label
			default:
				in.label = of.label + "/" + in.label
			}
			walk(in)
		}
	}
	walk(leaf{at: p.masker.Root(), value: v})
	return all
}

// nests reports whether an array contains objects or arrays.
func nests(v strictjson.Value) bool {
	for _, e := range v.Elements() {
		if nested(e) {
			return true
		}
	}
	return false
}

// keyText is a key as [printer.key] writes it.
func (p *printer) keyText(key string) string {
	alone := &printer{limits: p.limits, masker: p.masker, markdown: p.markdown, oneLine: true}
	alone.key(characters(key))
	p.cut = p.cut || alone.cut
	return alone.b.String()
}

// leaf writes a value after its pointer.
func (p *printer) leaf(l leaf, indent int) {
	if l.label != "" {
		p.put(l.label + ": ")
	}
	p.value(l.value, l.at, 0, indent)
}

// inline writes at most most values on one line, while there is room up to a column.
func (p *printer) inline(all []leaf, most, column int) {
	for i, l := range all {
		if i == most || i > 0 && p.column > column {
			p.cut = true
			p.put(fmt.Sprintf(" (%d more)", len(all)-i))
			return
		}
		if i > 0 {
			p.put(", ")
		}
		p.leaf(l, p.indent)
	}
}

// leaves writes at most most values, one a line.
func (p *printer) leaves(all []leaf, most, indent int) {
	for i, l := range all {
		if p.begins(i, len(all), most, indent, "value", "values") {
			p.leaf(l, indent)
		}
	}
}

// fits reports whether values fit into the rest of a line, with room for escapes in them.
func (p *printer) fits(all []leaf) bool {
	room := p.width - p.column
	for _, l := range all {
		room -= utf8.RuneCountInString(l.label) + len(l.value.Source()) + len(l.value.Source())/8 + len(": , ")
		if strings.Contains(l.value.Source(), `\`) || l.at.Level != secrets.Open {
			return false
		}
	}
	return room >= 0
}

// common splits the values of similar calls into those that all calls share and, for each call, those that differ. named
// says whether the keys of a call are whole.
func (p *printer) common(calls []*Request) (same []leaf, rest [][]leaf, named []bool) {
	times := map[string]int{}
	key := func(l leaf) string { return l.id + ": " + l.value.Source() }
	for _, r := range calls {
		v, _ := parseArgs(r.Args) // see tabular
		var all []leaf
		named = append(named, p.whole(func() { all = p.flat(v) }))
		for _, l := range all {
			times[key(l)]++
		}
		rest = append(rest, all)
	}
	everywhere := func(l leaf) bool { return times[key(l)] == len(calls) }
	for _, l := range rest[0] {
		if everywhere(l) {
			same = append(same, l)
		}
	}
	for i := range rest {
		rest[i] = slices.DeleteFunc(rest[i], everywhere)
	}
	return same, rest, named
}
