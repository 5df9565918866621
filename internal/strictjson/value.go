package strictjson

import "iter"

// A Kind says what a [Value] is.
type Kind uint8

// The kinds of values. Missing is the kind of the zero Value, which stands for a member that is not there.
const (
	Missing Kind = iota
	Null
	False
	True
	Number
	String
	Array
	Object
)

// String is the kind in a message: "null", "a number", "an object".
func (k Kind) String() string {
	return [...]string{"nothing", "null", "false", "true", "a number", "a string", "an array", "an object"}[k]
}

// A Value is a handle to one value of a parsed text. It is small, never changes, and keeps the text in memory. Any
// number of goroutines may use it.
//
// The zero Value is of kind [Missing]: it has no text, members, elements or source.
type Value struct {
	t *tree
	i int32 // of its node
}

// A tree is a text that was parsed. Its nodes stand in the order of the text, and hold no pointers: the garbage
// collector need not look at them.
type tree struct {
	src     string
	nodes   []node // nodes[0] is the root
	decoded string // the texts of strings that have escapes, one after the other
	escaped []span // where each of them stands in decoded; escaped[0] is not used
	compact bool   // no white space, comment or trailing comma in src

	few [8]node // the first room of nodes: a small text takes one allocation
}

// A node is one value. Its first member or element is the node after it.
type node struct {
	start, end       int32 // in src
	keyStart, keyEnd int32 // of a member's name with its quotes; both 0 for others
	keyText          int32 // index in escaped of a name that has escapes, else 0
	count            int32 // of members or elements; of a string that has escapes, its index in escaped
	after            int32 // the node after this one and all that is inside it
	kind             Kind  // last, which keeps a node at 32 bytes
}

type span struct{ from, to int32 }

func (t *tree) key(n *node) string {
	if n.keyText != 0 {
		s := t.escaped[n.keyText]
		return t.decoded[s.from:s.to]
	}
	if n.keyEnd == 0 {
		return ""
	}
	return t.src[n.keyStart+1 : n.keyEnd-1]
}

// text is the text of a string.
func (t *tree) text(n *node) string {
	if n.count != 0 {
		s := t.escaped[n.count]
		return t.decoded[s.from:s.to]
	}
	return t.src[n.start+1 : n.end-1]
}

var missing = &node{}

func (v Value) node() *node {
	if v.t == nil {
		return missing
	}
	return &v.t.nodes[v.i]
}

// Kind says what the value is.
func (v Value) Kind() Kind { return v.node().kind }

// Text is the text of a string with its escapes decoded, or a number as it is written. It is empty for other kinds.
// Parse has decoded it, so Text does not allocate.
func (v Value) Text() string {
	switch n := v.node(); n.kind {
	case String:
		return v.t.text(n)
	case Number:
		return v.t.src[n.start:n.end]
	}
	return ""
}

// Len is the number of members of an object or elements of an array, 0 for other kinds.
func (v Value) Len() int {
	if n := v.node(); n.kind >= Array {
		return int(n.count)
	}
	return 0
}

// Key is the name under which an object has the value as a member, empty if it is none.
func (v Value) Key() string {
	if v.t == nil {
		return ""
	}
	return v.t.key(v.node())
}

// Members gives the members of an object in the order of the text. Other kinds have none.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if n := v.node(); n.kind == Object {
			for i := v.i + 1; i < n.after; i = v.t.nodes[i].after {
				if !yield(v.t.key(&v.t.nodes[i]), Value{v.t, i}) {
					return
				}
			}
		}
	}
}

// Elements gives the elements of an array in the order of the text. Other kinds have none.
func (v Value) Elements() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if n := v.node(); n.kind == Array {
			index := 0
			for i := v.i + 1; i < n.after; i = v.t.nodes[i].after {
				if !yield(index, Value{v.t, i}) {
					return
				}
				index++
			}
		}
	}
}

// Member gives the member of that name, compared byte by byte; ok is false if there is none. Of several, which only
// [Options.AllowDuplicates] lets through, it is the first. It looks at one member after the other.
func (v Value) Member(name string) (member Value, ok bool) {
	if n := v.node(); n.kind == Object {
		for i := v.i + 1; i < n.after; i = v.t.nodes[i].after {
			if v.t.key(&v.t.nodes[i]) == name {
				return Value{v.t, i}, true
			}
		}
	}
	return Value{}, false
}

// Source is the value as it is written, with any white space and comments inside it.
func (v Value) Source() string {
	if v.t == nil {
		return ""
	}
	n := v.node()
	return v.t.src[n.start:n.end]
}

// Offset and End are where the value stands in the text that was parsed, in bytes: Source() == text[Offset():End()].
func (v Value) Offset() int { return int(v.node().start) }

// End is the offset of the byte after the value.
func (v Value) End() int { return int(v.node().end) }

// KeyOffset and KeyEnd are where the name of a member stands, with its quotes. Both are 0 if the value is no member.
func (v Value) KeyOffset() int { return int(v.node().keyStart) }

// KeyEnd is the offset of the byte after the name.
func (v Value) KeyEnd() int { return int(v.node().keyEnd) }

// Compact is the value as standard JSON without white space, comments and trailing commas. Strings and numbers stay as
// they are written. If the text has nothing to leave out, Compact is [Value.Source] and copies nothing.
func (v Value) Compact() string {
	if v.t == nil || v.t.compact {
		return v.Source()
	}
	return string(v.AppendCompact(make([]byte, 0, v.End()-v.Offset())))
}

// AppendCompact appends what [Value.Compact] gives.
func (v Value) AppendCompact(b []byte) []byte {
	if v.t == nil || v.t.compact {
		return append(b, v.Source()...)
	}
	return v.t.appendCompact(b, v.i)
}

func (t *tree) appendCompact(b []byte, i int32) []byte {
	n := &t.nodes[i]
	if n.kind < Array {
		return append(b, t.src[n.start:n.end]...)
	}
	b = append(b, t.src[n.start])
	for child := i + 1; child < n.after; child = t.nodes[child].after {
		if child != i+1 {
			b = append(b, ',')
		}
		if c := &t.nodes[child]; n.kind == Object {
			b = append(append(b, t.src[c.keyStart:c.keyEnd]...), ':')
		}
		b = t.appendCompact(b, child)
	}
	return append(b, t.src[n.end-1])
}
