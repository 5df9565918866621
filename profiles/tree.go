package profiles

import "iter"

// A tree is a JSON text taken apart. It keeps where everything stood, numbers as they were
// written, and the order of members, so that one decoder serves both the configuration
// file and the arguments of a call.
type tree struct {
	src   string
	nodes []node // nodes[0] is the root

	folded map[*node]string // of long texts of a call's arguments, see [value.folded]
}

// A node is one value. Its children are linked through child and next; 0 ends a list,
// because the root is nobody's child.
type node struct {
	key              string // the member's name, decoded, if the parent is an object
	text             string // a string decoded, a number as written
	start, end       int32
	keyStart, keyEnd int32
	child, next      int32
	count            int32 // members or elements
	kind             kind  // last, which keeps a node at 64 bytes
}

type kind uint8

const (
	kindNull kind = iota
	kindFalse
	kindTrue
	kindNumber
	kindString
	kindArray
	kindObject
)

// String is how the kind is called in messages.
func (k kind) String() string {
	return [...]string{"null", "false", "true", "a number", "a string", "an array", "an object"}[k]
}

// maxDepth is how deep a JSON text may nest. Arguments that go deeper are not judged and a
// configuration file never needs it.
const maxDepth = 64

// children gives the members or elements of a value in order.
func (t *tree) children(n *node) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for i := n.child; i != 0; i = t.nodes[i].next {
			if !yield(&t.nodes[i]) {
				return
			}
		}
	}
}

// member gives the member of that name, nil if there is none.
func (t *tree) member(n *node, key string) *node {
	if n.kind != kindObject {
		return nil
	}
	for i := n.child; i != 0; i = t.nodes[i].next {
		if t.nodes[i].key == key {
			return &t.nodes[i]
		}
	}
	return nil
}

// source is the value as standard JSON, without comments, spaces and trailing commas.
func (t *tree) source(n *node) []byte { return t.appendSource(nil, n) }

func (t *tree) appendSource(b []byte, n *node) []byte {
	switch n.kind {
	case kindObject, kindArray:
		brackets := "[]"
		if n.kind == kindObject {
			brackets = "{}"
		}
		b = append(b, brackets[0])
		for child := range t.children(n) {
			if child != &t.nodes[n.child] {
				b = append(b, ',')
			}
			if n.kind == kindObject {
				b = append(b, t.src[child.keyStart:child.keyEnd]...)
				b = append(b, ':')
			}
			b = t.appendSource(b, child)
		}
		return append(b, brackets[1])
	default:
		return append(b, t.src[n.start:n.end]...)
	}
}
