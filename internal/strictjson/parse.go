package strictjson

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	defaultDepth = 64
	firstRoom    = 256     // initial number of nodes, before the density of a text is known
	maxLength    = 1 << 30 // bytes of a text; offsets have 32 bits
)

// Parse reads one JSON value, with white space around it, from a string or from bytes, which it copies. The error is a
// [*SyntaxError]: the first mistake in the text.
//
// The time that it takes is proportional to the length of the text, whatever the text is.
func Parse[Text ~string | ~[]byte](src Text, o Options) (Value, error) {
	return parse(string(src), o, maxLength)
}

func parse(src string, o Options, longest int) (Value, error) {
	if o.MaxDepth <= 0 {
		o.MaxDepth = defaultDepth
	}
	t := &tree{src: src}
	t.nodes = t.few[:0]
	p := parser{tree: t, Options: o}
	if len(src) > longest {
		p.fail(0, 0, "longer than 1 GiB", "")
	} else if room := min(4+len(src)/12, firstRoom); room > len(t.few) {
		t.nodes = make([]node, 0, room)
	}
	p.whole()
	if p.err != nil {
		return Value{}, p.err
	}
	t.compact = !p.blank
	return Value{t: t}, nil
}

// whole reads the whole text.
func (p *parser) whole() {
	p.space()
	if p.at == len(p.src) {
		p.fail(p.at, 0, "there is nothing in it", "")
		return
	}
	if !p.value(node{}) {
		return
	}
	if p.space(); p.at < len(p.src) {
		p.afterTheEnd()
	}
}

// space skips white space and comments.
func (p *parser) space() {
	if c := p.peek(); c <= ' ' || c == '/' {
		p.skip()
	}
}

func (p *parser) skip() {
	start := p.at
	for p.at < len(p.src) {
		switch p.src[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
			continue
		case '/':
			if p.Comments && p.comment() {
				continue
			}
		}
		break
	}
	p.blank = p.blank || p.at > start
}

// comment skips a comment, up to the line's end or with its end.
func (p *parser) comment() bool {
	rest := p.src[p.at:]
	length := 0
	switch {
	case strings.HasPrefix(rest, "//"):
		length = strings.IndexByte(rest, '\n')
		if length < 0 {
			length = len(rest)
		}
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			p.fail(p.at, 2, "this comment never ends", "close it with */")
			return false
		}
		length = end + 4
	default:
		return false
	}
	// Some readers end a line at a carriage return: for them, what follows is no comment.
	if at := strings.IndexByte(strings.TrimSuffix(rest[:length], "\r"), '\r'); at >= 0 && rest[1] == '/' {
		p.fail(p.at+at, 1, "a carriage return in this comment: editors show what follows as a line of its own",
			"end the line with a line feed")
		return false
	}
	if !utf8.ValidString(rest[:length]) {
		p.fail(p.at, 2, "this comment is not UTF-8", "save the file as UTF-8")
		return false
	}
	p.at += length
	return true
}

// value reads one value. n has its name, if it is a member.
func (p *parser) value(n node) bool {
	n.start = int32(p.at)
	ok := false
	switch c := p.peek(); {
	case c == '"':
		n.kind = String
		n.count, ok = p.quoted()
	case c == '{' || c == '[':
		return p.container(n, c)
	case c == '-' || c >= '0' && c <= '9':
		n.kind = Number
		ok = p.number()
	default:
		n.kind, ok = p.word()
	}
	n.end = int32(p.at)
	n.after = int32(len(p.nodes) + 1)
	p.add(n)
	return ok
}

// container reads an object or an array with bracket as its first byte. n has its start and its name.
func (p *parser) container(n node, bracket byte) bool {
	n.kind = Array
	if bracket == '{' {
		n.kind = Object
	}
	closing := bracket + 2 // in ASCII, } and ] come two after { and [
	open, index := p.at, int32(len(p.nodes))
	p.add(n)
	if p.depth++; p.depth > p.MaxDepth {
		p.tooDeep()
		return false
	}
	p.at++
	p.space()
	comma := -1
	for {
		if p.peek() == closing && (comma < 0 || p.Comments) {
			p.blank = p.blank || comma >= 0
			break
		}
		var child node
		if n.kind == Object && !p.name(&child, open, comma) {
			return false
		}
		if p.at == len(p.src) && n.kind == Array {
			p.neverClosed(open)
			return false
		}
		if p.peek() == closing {
			p.missingValue(comma)
			return false
		}
		if !p.value(child) {
			return false
		}
		n.count++
		end := p.at
		p.space()
		if c := p.peek(); c == closing {
			break
		} else if c != ',' {
			p.notSeparated(open, end)
			return false
		}
		comma = p.at
		p.at++
		p.space()
	}
	p.at++
	p.depth--
	done := &p.nodes[index]
	done.end, done.count, done.after = int32(p.at), n.count, int32(len(p.nodes))
	return n.kind == Array || p.AllowDuplicates || n.count < 2 || p.unique(index)
}

// name reads the name of a member and the colon after it.
func (p *parser) name(n *node, open, comma int) (ok bool) {
	if p.peek() != '"' {
		p.notAKey(open, comma)
		return false
	}
	n.keyStart = int32(p.at)
	if n.keyText, ok = p.quoted(); !ok {
		return false
	}
	n.keyEnd = int32(p.at)
	p.space()
	if p.peek() != ':' {
		p.noColon(n)
		return false
	}
	p.at++
	p.space()
	return true
}

// fewMembers is up to how many members comparing each name with each is faster than a map.
const fewMembers = 12

// unique refuses an object that has two members with the same name: readers differ in which one they take.
func (p *parser) unique(object int32) bool {
	var seen map[string]struct{}
	n := &p.nodes[object]
	if n.count > fewMembers {
		seen = make(map[string]struct{}, n.count)
	}
	for i := object + 1; i < n.after; i = p.nodes[i].after {
		key, twice := p.key(&p.nodes[i]), false
		if seen != nil {
			_, twice = seen[key]
			seen[key] = struct{}{}
		} else {
			for j := object + 1; j < i && !twice; j = p.nodes[j].after {
				twice = p.key(&p.nodes[j]) == key
			}
		}
		if twice {
			from, to := int(p.nodes[i].keyStart), int(p.nodes[i].keyEnd)
			p.fail(from, to-from, "the same key twice in one object", "keep one of the two")
			return false
		}
	}
	return true
}

// Problem says at which place and why a text is not strict JSON; "" if it is.
func Problem(text string) (at, why string) {
	_, err := Parse(text, Options{})
	if wrong, ok := errors.AsType[*SyntaxError](err); ok {
		line, column := wrong.Place(text)
		return fmt.Sprintf("line %d, column %d", line, column), wrong.Message
	}
	return "", ""
}
