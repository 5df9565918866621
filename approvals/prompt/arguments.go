package prompt

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// Arguments are laid out one entry a line. A text that does not fit continues on lines that begin with a bar, so that
// no line of data can pass for one of ours. Text between quotation marks is data; text in parentheses outside of them
// is ours.

const maxKey = 80

// arguments writes the arguments of a call. The caller has written their label.
func (p *printer) arguments(raw json.RawMessage, indent int) {
	if len(raw) == 0 {
		p.say(" none")
		return
	}
	switch v, err := parseArgs(raw); {
	case err != nil:
		p.say(fmt.Sprintf(" (not strict JSON, %d bytes) ", len(raw)))
		p.text(characters(string(raw)), nil)
	case v.Kind() == strictjson.Object && v.Len() > 0:
		p.members(v, p.masker.Root(), 0, indent)
	default:
		p.put(" ")
		p.value(v, p.masker.Root(), 0, indent)
	}
}

func (p *printer) value(v strictjson.Value, at secrets.Place, depth, indent int) {
	switch v.Kind() {
	case strictjson.Object, strictjson.Array:
		p.container(v, at, depth, indent)
	case strictjson.String:
		p.text(characters(v.Text()), p.masker.in(v.Text(), at.Level))
		p.source(at)
	default:
		p.literal(v, at.Level)
		p.source(at)
	}
}

// source writes the source of the value at a place.
func (p *printer) source(at secrets.Place) {
	if p.sources == nil {
		return
	}
	pointer := ""
	for _, step := range at.Path {
		pointer = strictjson.AppendToken(pointer, step)
	}
	if remark := p.sources[pointer]; remark != "" {
		p.put(" ")
		p.say(remark)
	}
}

// container writes an object or array: on the same line if it is short and plain, else one entry a line.
func (p *printer) container(v strictjson.Value, at secrets.Place, depth, indent int) {
	opening, closing, kind := "[", "]", "array"
	if v.Kind() == strictjson.Object {
		opening, closing, kind = "{", "}", "object"
	}
	switch {
	case v.Len() == 0:
		p.put(opening + closing)
	case depth >= p.depth:
		p.cut = true
		p.say(fmt.Sprintf("(%s hidden: %s, %d bytes)", kind, counted(v.Len(), "entry", "entries"), len(v.Source())))
	case p.oneLine && v.Len() <= p.items, !p.oneLine && p.column+2*len(v.Source()) < p.width && p.simple(v.Source()):
		p.put(opening)
		first := true
		for place, value := range p.masker.Children(v, at) {
			if !first {
				p.put(", ")
			}
			first = false
			p.entry(value, place, depth+1, indent)
		}
		p.put(closing)
	default:
		p.put(opening)
		p.members(v, at, depth+1, indent)
		p.newline(indent)
		p.put(closing)
	}
}

// simple reports whether a container holds nothing but a few simple values.
func (p *printer) simple(source string) bool {
	return len(source) <= 40 && strings.Count(source, ",") < p.items && !strings.ContainsFunc(source[1:len(source)-1],
		func(r rune) bool {
			return r < ' ' || r > '~' || strings.ContainsRune(`{}[]\`, r)
		})
}

// members writes the entries of a container.
func (p *printer) members(v strictjson.Value, at secrets.Place, depth, indent int) {
	i := 0
	for place, value := range p.masker.Children(v, at) {
		if p.begins(i, v.Len(), p.items, indent+2, "entry", "entries") {
			p.entry(value, place, depth, indent+2)
		}
		i++
	}
}

// begins begins a line for thing i of n, if it is to be shown: of more than most, those in the middle are left out.
func (p *printer) begins(i, n, most, indent int, one, many string) bool {
	head, tail := n, 0
	if n > most {
		head, tail = most-most/3, most/3
	}
	shown := i < head || i >= n-tail
	if shown || i == head {
		p.newline(indent)
	}
	if !shown && i == head {
		p.cut = true
		p.say(fmt.Sprintf("(%s hidden)", counted(n-head-tail, one, many)))
	}
	return shown
}

func (p *printer) entry(value strictjson.Value, at secrets.Place, depth, indent int) {
	if value.KeyEnd() > 0 {
		p.key(characters(at.Step))
		p.put(": ")
	}
	p.value(value, at, depth, indent)
}

// key writes a key, without quotes if it is a plain word.
func (p *printer) key(cs []rune) {
	for i, c := range cs {
		if c != '_' && c != '$' && (c < 'A' || c > 'z' || c > 'Z' && c < 'a') && (i == 0 ||
			c != '-' && (c < '0' || c > '9')) || i >= maxKey {
			full := p.limits.text
			if full < whole.text {
				p.limits.text = min(full, maxKey)
			}
			p.text(cs, nil)
			p.limits.text = full
			return
		}
	}
	if len(cs) == 0 {
		p.put(`""`)
	}
	p.put(string(cs))
}

// literal writes a number as the source has it, or true, false, null.
func (p *printer) literal(v strictjson.Value, level secrets.Level) {
	s := v.Source()
	switch digits := len(s); {
	case v.Kind() == strictjson.Number && level == secrets.Phrase && !p.masker.reveal:
		p.masked++
		p.say(fmt.Sprintf("(hidden: a number, %d characters)", digits))
	case digits > p.limits.text:
		p.cut = true
		tail := p.limits.text / 3
		head := p.limits.text - tail
		p.digits(s[:head])
		p.say(fmt.Sprintf(" (%d digits hidden) ", digits-head-tail))
		p.digits(s[digits-tail:])
	default:
		p.digits(s)
	}
}

func (p *printer) digits(s string) {
	for !p.oneLine && p.column+len(s) > p.right() {
		if room := p.right() - p.column; room > 0 {
			p.put(s[:room])
			s = s[room:]
		}
		p.bar()
	}
	p.put(s)
}
