package profiles

func (p *treeParser) word(at int32) {
	if p.err != nil {
		return
	}
	n := p.wordLength()
	switch word := p.src[p.at : p.at+n]; word {
	case "null":
		p.nodes[at].kind = kindNull
	case "true":
		p.nodes[at].kind = kindTrue
	case "false":
		p.nodes[at].kind = kindFalse
	default:
		p.notAValue(word)
		return
	}
	p.at += n
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (p *treeParser) wordLength() int {
	n := 0
	for p.at+n < len(p.src) && isWord(p.src[p.at+n]) {
		n++
	}
	return n
}

// number reads a number exactly as RFC 8259 has it.
func (p *treeParser) number() string {
	start := p.at
	if p.peek() == '-' {
		p.at++
	}
	switch {
	case p.peek() == '0':
		p.at++
	case !p.digits():
		return p.notANumber(start)
	}
	if p.peek() == '.' {
		p.at++
		if !p.digits() {
			return p.notANumber(start)
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if !p.digits() {
			return p.notANumber(start)
		}
	}
	if isWord(p.peek()) || p.peek() == '.' {
		return p.notANumber(start)
	}
	return p.src[start:p.at]
}

func (p *treeParser) digits() bool {
	start := p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.at > start
}
