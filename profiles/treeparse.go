package profiles

import (
	"strings"
	"unicode/utf8"
)

// parseArguments takes apart standard JSON in which no object has the same key twice.
func parseArguments(src string) (tree, *syntaxError) {
	p := treeParser{src: src, strict: true}
	return p.parse()
}

// parseFile takes apart JSON with comments and trailing commas. Keys that appear twice are
// left in the tree for the caller to report.
func parseFile(src string) (tree, *syntaxError) {
	p := treeParser{src: src}
	return p.parse()
}

type treeParser struct {
	src    string
	at     int
	depth  int
	strict bool // standard JSON, unique keys
	nodes  []node
	err    *syntaxError
}

func (p *treeParser) parse() (tree, *syntaxError) {
	p.nodes = make([]node, 0, 4+len(p.src)/16)
	p.space()
	if p.err == nil && p.at == len(p.src) {
		p.fail(p.at, 1, "there is nothing in it", "")
	}
	p.value()
	p.space()
	if p.err == nil && p.at < len(p.src) {
		p.fail(p.at, 1, "text after the end of the value", "a closing bracket or brace earlier in the text may be one too many")
	}
	if p.err != nil {
		return tree{}, p.err
	}
	return tree{src: p.src, nodes: p.nodes}, nil
}

// peek is the next byte, 0 at the end. A NUL in the text is no value either, so the two
// need not be told apart.
func (p *treeParser) peek() byte {
	if p.at < len(p.src) {
		return p.src[p.at]
	}
	return 0
}

func (p *treeParser) space() {
	for p.at < len(p.src) {
		switch p.src[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		case '/':
			if p.strict {
				return
			}
			if !p.comment() {
				return
			}
		default:
			return
		}
	}
}

func (p *treeParser) comment() bool {
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
	if !utf8.ValidString(rest[:length]) {
		p.fail(p.at, 2, "this comment is not UTF-8", "save the file as UTF-8")
		return false
	}
	p.at += length
	return true
}

// value reads one value and gives its index.
func (p *treeParser) value() int32 {
	at := int32(len(p.nodes))
	p.nodes = append(p.nodes, node{start: int32(p.at)})
	switch c := p.peek(); {
	case c == '{':
		p.object(at)
	case c == '[':
		p.array(at)
	case c == '"':
		p.nodes[at].kind = kindString
		p.nodes[at].text = p.quoted()
	case c == '-' || c >= '0' && c <= '9':
		p.nodes[at].kind = kindNumber
		p.nodes[at].text = p.number()
	default:
		p.word(at)
	}
	p.nodes[at].end = int32(p.at)
	return at
}

func (p *treeParser) object(at int32) {
	p.nodes[at].kind = kindObject
	if !p.enter() {
		return
	}
	open := p.at
	p.at++
	last := int32(0)
	for {
		p.space()
		if p.peek() == '}' && (!p.strict || last == 0) {
			break
		}
		keyStart := p.at
		if p.peek() != '"' {
			p.notAKey(open)
			return
		}
		key := p.quoted()
		keyEnd := p.at
		p.space()
		if p.peek() != ':' {
			p.missing(':', keyStart, keyEnd, "after a key")
			return
		}
		p.at++
		p.space()
		child := p.value()
		if p.err != nil {
			return
		}
		n := &p.nodes[child]
		n.key, n.keyStart, n.keyEnd = key, int32(keyStart), int32(keyEnd)
		p.link(at, last, child)
		last = child
		if !p.separator('}', open) {
			break
		}
	}
	if p.err != nil {
		return
	}
	p.at++
	p.depth--
	if p.strict {
		p.unique(at)
	}
}

func (p *treeParser) array(at int32) {
	p.nodes[at].kind = kindArray
	if !p.enter() {
		return
	}
	open := p.at
	p.at++
	last := int32(0)
	for {
		p.space()
		if p.peek() == ']' && (!p.strict || last == 0) {
			break
		}
		if p.at == len(p.src) && p.err == nil {
			p.fail(open, 1, "this [ is never closed", "")
		}
		child := p.value()
		if p.err != nil {
			return
		}
		p.link(at, last, child)
		last = child
		if !p.separator(']', open) {
			break
		}
	}
	if p.err != nil {
		return
	}
	p.at++
	p.depth--
}

func (p *treeParser) enter() bool {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.at, 1, "nested deeper than 64 levels", "")
		return false
	}
	return true
}

func (p *treeParser) link(parent, last, child int32) {
	if last == 0 {
		p.nodes[parent].child = child
	} else {
		p.nodes[last].next = child
	}
	p.nodes[parent].count++
}

// separator reads the comma after a member or an element. It reports false when the
// container ends here or the text is wrong.
func (p *treeParser) separator(closing byte, open int) bool {
	before := p.at
	p.space()
	switch c := p.peek(); {
	case p.err != nil:
		return false
	case c == ',':
		p.at++
		return true
	case c == closing:
		return false
	case p.at == len(p.src):
		p.fail(open, 1, "this "+p.src[open:open+1]+" is never closed", "")
		return false
	default:
		p.missing(',', before-1, before, "between two values")
		return false
	}
}

// unique refuses an object with the same key twice: decoders differ in which one they
// take, so nobody could say which one was decided on.
func (p *treeParser) unique(at int32) {
	n := p.nodes[at]
	if n.count < 2 {
		return
	}
	const small = 12 // below, comparing each with each is faster than a map
	var seen map[string]struct{}
	if n.count > small {
		seen = make(map[string]struct{}, n.count)
	}
	for i := n.child; i != 0; i = p.nodes[i].next {
		key := p.nodes[i].key
		twice := false
		if seen != nil {
			_, twice = seen[key]
			seen[key] = struct{}{}
		} else {
			for j := n.child; j != i && !twice; j = p.nodes[j].next {
				twice = p.nodes[j].key == key
			}
		}
		if twice {
			p.fail(int(p.nodes[i].keyStart), int(p.nodes[i].keyEnd-p.nodes[i].keyStart), "the same key twice in one object", "")
			return
		}
	}
}
