package approvals

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Arguments are laid out one entry a line. A text that does not fit goes on in lines of its own that begin with a bar, so that no
// line that data begins can be taken for one of ours. What stands between quotation marks is data; what stands in parentheses
// outside of them is said by us.

const maxKey = 80

// arguments writes the arguments of a call, whose label has been written already.
func (p *printer) arguments(raw json.RawMessage, indent int) {
	switch {
	case len(raw) == 0:
		p.say(" none")
	case !json.Valid(raw):
		p.say(fmt.Sprintf(" (not JSON, %d bytes) ", len(raw)))
		p.text(characters(string(raw)), nil)
	default:
		raw = bytes.TrimSpace(raw)
		if raw[0] == '{' && !empty(raw) {
			p.members(raw, 0, indent, open)
			return
		}
		p.put(" ")
		p.value(raw, 0, indent, open)
	}
}

func empty(raw []byte) bool {
	for range entries(raw) {
		return false
	}
	return true
}

func (p *printer) value(raw []byte, depth, indent int, s secrecy) {
	switch raw[0] {
	case '{', '[':
		p.container(raw, depth, indent, s)
	case '"':
		cs := unquote(raw)
		p.text(cs, p.masker.in(raw, cs, s))
		p.source()
	default:
		p.literal(string(raw), s)
		p.source()
	}
}

// source says where the value at p.path comes from.
func (p *printer) source() {
	if p.sources == nil {
		return
	}
	var pointer strings.Builder
	for _, step := range p.path {
		pointer.WriteString("/" + pointerStep(step))
	}
	if remark := p.sources[pointer.String()]; remark != "" {
		p.put(" ")
		p.say(remark)
	}
}

// container writes an object or array: in the same line if it is short and plain, else one entry a line.
func (p *printer) container(raw []byte, depth, indent int, s secrecy) {
	opening, closing, kind := "[", "]", "array"
	if raw[0] == '{' {
		opening, closing, kind = "{", "}", "object"
	}
	switch {
	case empty(raw):
		p.put(opening + closing)
	case depth >= p.depth:
		n := 0
		for range entries(raw) {
			n++
		}
		p.cut = true
		p.say(fmt.Sprintf("(%s hidden: %s, %d bytes)", kind, count(n, "entry", "entries"), len(raw)))
	case p.oneLine && !more(raw, p.items), !p.oneLine && p.column+2*len(raw) < p.width && p.simple(raw):
		p.put(opening)
		i, named := 0, p.named(raw)
		for key, value := range entries(raw) {
			if i > 0 {
				p.put(", ")
			}
			p.entry(i, key, value, depth+1, indent, named, s)
			i++
		}
		p.put(closing)
	default:
		p.put(opening)
		p.members(raw, depth+1, indent, s)
		p.newline(indent)
		p.put(closing)
	}
}

// more reports whether a container has more than n entries.
func more(raw []byte, n int) bool {
	for range entries(raw) {
		if n--; n < 0 {
			return true
		}
	}
	return false
}

// simple reports whether a container holds nothing but a few simple values.
func (p *printer) simple(raw []byte) bool {
	return len(raw) <= 40 && bytes.Count(raw, []byte(",")) < p.items && !slices.ContainsFunc(raw[1:len(raw)-1], func(b byte) bool {
		return b < ' ' || b > '~' || strings.IndexByte(`{}[]\`, b) >= 0
	})
}

// members writes the entries of a container, those in the middle left out if there are too many.
func (p *printer) members(raw []byte, depth, indent int, s secrecy) {
	n := 0
	for range entries(raw) {
		n++
	}
	named := p.named(raw)
	head, tail := n, 0
	if n > p.items {
		head, tail = p.items-p.items/3, p.items/3
	}
	i := 0
	for key, value := range entries(raw) {
		if i < head || i >= n-tail {
			p.newline(indent + 2)
			p.entry(i, key, value, depth, indent+2, named, s)
		} else if i == head {
			p.newline(indent + 2)
			p.cut = true
			p.say(fmt.Sprintf("(%s hidden)", count(n-head-tail, "entry", "entries")))
		}
		i++
	}
}

// named reports whether an entry of raw says that its sibling "value" is a secret.
func (p *printer) named(raw []byte) bool {
	for key, value := range entries(raw) {
		if key != nil && value[0] == '"' && len(value) < 100 {
			switch text(key) {
			case "name", "key", "header":
				if p.masker.key(text(value)) != open {
					return true
				}
			}
		}
	}
	return false
}

// within is the secrecy of what stands under key in something of secrecy s.
func (p *printer) within(s secrecy, key string, named bool) secrecy {
	if named && key == "value" {
		s = max(s, token)
	}
	return max(s, p.masker.key(key))
}

func (p *printer) entry(i int, key, value []byte, depth, indent int, named bool, s secrecy) {
	step := strconv.Itoa(i)
	if key != nil {
		step = text(key)
		p.key(unquote(key))
		p.put(": ")
		s = p.within(s, step, named)
	}
	p.path = append(p.path, step)
	p.value(value, depth, indent, max(s, p.masker.pointer(p.path)))
	p.path = p.path[:len(p.path)-1]
}

// key writes a key, without quotes if it is a plain word.
func (p *printer) key(cs []rune) {
	for i, c := range cs {
		if c != '_' && c != '$' && (c < 'A' || c > 'z' || c > 'Z' && c < 'a') && (i == 0 || c != '-' && (c < '0' || c > '9')) || i >= maxKey {
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

// literal writes a number as it was written, or true, false, null.
func (p *printer) literal(s string, sec secrecy) {
	switch digits := len(s); {
	case s[0] != 't' && s[0] != 'f' && s[0] != 'n' && sec == phrase && !p.masker.reveal:
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
