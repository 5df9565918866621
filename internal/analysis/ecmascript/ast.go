package ecmascript

// An Op is the kind of a node and determines which fields it uses. The comment of each constant names the fields; the
// others are empty.
type Op uint8

const (
	_ Op = iota

	// Expressions.
	OpName     // Name; Bind is what it refers to, nil for a global
	OpString   // Name: the value; FlagOdd if it holds half a surrogate pair
	OpNumber   // Name: as printed
	opOther    // a literal or a keyword that no reader asks about: this, /a/, 1n, super, new.target
	OpKeyword  // Name: null, true, false
	OpTemplate // List: OpString and expressions in turn
	OpTag      // A: function, B: OpTemplate
	OpArray    // List; nil for a hole. Also a pattern
	OpObject   // List: OpProperty and OpSpread. Also a pattern
	OpProperty // A: value, B: computed key, else Name. Start and End are those of the key
	OpSpread   // A. In a pattern, the rest
	OpFunc     // A: its name, List: parameters, B: OpBlock or, for an arrow function, an expression
	OpClass    // A: its name, B: what it extends, List: OpProperty, and OpBlock for a static block
	OpUnary    // Name: operator, A
	OpUpdate   // A
	OpBinary   // Name: operator, A, B
	OpLogic    // Name: operator, A, B
	OpCond     // A ? B : C
	OpAssign   // Name: operator, A: target, B. In a pattern, a default
	OpSequence // List
	OpAwait    // A
	OpYield    // A
	OpMember   // A, Name; Last is where the name begins
	OpIndex    // A, B; Last is where the index begins
	OpCall     // A, List
	OpNew      // A, List
	OpImport   // List: the arguments of import(); or Name: meta

	// Statements.
	OpExpr   // A
	OpVar    // Name: var, let, const, using; List of declarations: A: target, B: value
	opBind   // a declaration of OpVar
	OpBlock  // List
	OpIf     // A, B, C
	OpFor    // A, B, C: the three parts, D: body
	OpForIn  // Name: in, of; A: OpVar or target, B: the object, D: body
	OpLoop   // Name: while, do, with; A: condition, D: body
	OpReturn // A
	OpThrow  // A
	OpTry    // A, B: OpCatch, C
	OpCatch  // A: pattern, B: OpBlock
	OpSwitch // A, List of OpCase
	OpCase   // A, List
	OpLabel  // A
	opJump   // break, continue, debugger
	OpEmpty  // ;
)

// Flags describe a node further. The comment of each names the ops that use it.
type Flags uint8

const (
	FlagStmt    Flags = 1 << iota // OpFunc, OpClass: a declaration
	FlagOdd                       // OpString, OpProperty: the text is unknown
	FlagMethod                    // OpProperty: a method or an accessor
	FlagShort                     // OpProperty: {name}
	FlagPattern                   // OpMember, OpIndex: stands for a name bound by a pattern
	FlagAwait                     // OpFor, OpForIn: for await
)

// A Node is a part of a program. Positions are byte offsets.
type Node struct {
	Op         Op
	Flags      Flags
	Start, End int
	Last       int
	Name       string
	A, B, C, D *Node
	List       []*Node
	Bind       *Binding
}

// Is reports whether n has one of the flags f.
func (n *Node) Is(f Flags) bool { return n.Flags&f != 0 }

// A Binding is a variable, a parameter, a function or a class of the program.
type Binding struct {
	Declared int // the number of functions that declare it
	Writes   int // the number of places that assign it
	Facts    any // for code that walks the tree; this package leaves it nil

	init    *Node // the value of the last of these places
	unknown bool  // it is a parameter, a loop variable, a function, ...
	reads   int   // uses of a member of the object it holds
	other   int   // uses that may change that object, or pass it on
}

// Value returns the expression of the only value that the binding ever has. Nil means unknown.
func (b *Binding) Value() *Node {
	if b.unknown || b.Writes != 1 {
		return nil
	}
	return b.init
}

// Frozen reports whether the members of the object it holds never change.
func (b *Binding) Frozen() bool { return b.other == 0 }

// Whole reports whether the object it holds never changes, including all objects inside.
func (b *Binding) Whole() bool { return b.other == 0 && b.reads == 0 }

// UsedOnce reports whether its name is used in one place, as the name of a function.
func (b *Binding) UsedOnce() bool { return b.other == 1 && b.reads == 0 }
