package strictjson

import "strings"

// Options relax what [Parse] refuses. The zero Options are the strictest.
type Options struct {
	// Comments accepts // and /* */ comments wherever white space may stand, and a comma after the last member or
	// element, as configuration files have them. Offsets are those of the text with its comments.
	Comments bool

	// MaxDepth is how many arrays and objects may stand inside each other; 0 is 64. Parse and most methods of [Value]
	// call themselves once for each level: keep it below 100,000.
	MaxDepth int

	// AllowDuplicates accepts members with the same name, for a reader that reports them in its own words. All of them
	// are in [Value.Members]. Such a reader must refuse them itself.
	AllowDuplicates bool

	// AllowHugeNumbers accepts numbers beyond the range of a double, such as 1e400. JavaScript reads them as Infinity.
	AllowHugeNumbers bool
}

type parser struct {
	*tree
	Options
	at      int
	depth   int
	builder strings.Builder // of tree.decoded
	blank   bool            // something was left out: white space, a comment, a trailing comma
	err     *SyntaxError
}

// add appends a node. A full slice grows to what the text so far predicts for the whole text, but at most fourfold.
func (p *parser) add(n node) {
	if have := len(p.nodes); have == cap(p.nodes) {
		expected := int(float64(have) * 1.1 * float64(len(p.src)) / float64(p.at+1))
		p.nodes = append(make([]node, 0, min(max(expected, 2*have), 4*have)), p.nodes...)
	}
	p.nodes = append(p.nodes, n)
}

// peek returns the next byte, 0 at the end. A NUL in the text is not a value either, so the two need not be
// distinguished.
func (p *parser) peek() byte {
	if p.at < len(p.src) {
		return p.src[p.at]
	}
	return 0
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (p *parser) wordLength() int {
	n := 0
	for p.at+n < len(p.src) && isWord(p.src[p.at+n]) {
		n++
	}
	return n
}
