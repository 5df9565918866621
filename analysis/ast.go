package analysis

// An op says what a node is, and with that what its fields hold.
type op uint8

const (
	_ op = iota

	// Expressions.
	opName     // name; bind is what it refers to, nil for a global
	opString   // name is the value; flagOdd if it holds half a surrogate pair
	opNumber   // name as printed
	opOther    // a literal or a keyword nobody asks about: this, /a/, 1n, super, import.meta, ...
	opKeyword  // null, true, false
	opTemplate // list: opString and expressions in turn
	opTag      // a: function, b: opTemplate
	opArray    // list; nil for a hole. Also a pattern
	opObject   // list of opProperty and opSpread. Also a pattern
	opProperty // a: value, b: computed key, else name. start and end are the key's
	opSpread   // a. In a pattern, the rest
	opFunc     // a: its name, list: parameters, b: opBlock or, for an arrow, an expression
	opClass    // a: its name, b: what it extends, list of opProperty and opBlock
	opUnary    // name: operator, a
	opUpdate   // a
	opBinary   // name: operator, a, b
	opLogic    // name: operator, a, b
	opCond     // a ? b : c
	opAssign   // name: operator, a: target, b. In a pattern, a default
	opSequence // list
	opAwait    // a
	opYield    // a
	opMember   // a, name; last is where the name begins
	opIndex    // a, b; last is where the index begins
	opCall     // a, list
	opNew      // a, list
	opImport   // a: what is imported; import()

	// Statements.
	opExpr   // a
	opVar    // name: var, let, const, using; list of opBind
	opBind   // a: target, b: value
	opBlock  // list
	opIf     // a, b, c
	opFor    // a, b, c: the three parts, d: body
	opForIn  // a: opVar or target, b: what is gone through, d: body; name: in, of
	opLoop   // a: condition, d: body; while, do, with
	opReturn // a
	opThrow  // a
	opTry    // a, b: opCatch, c
	opCatch  // a: pattern, b: opBlock
	opSwitch // a, list of opCase
	opCase   // a, list
	opLabel  // a
	opJump   // break, continue, debugger
	opEmpty  // ;
)

type flags uint8

const (
	flagArrow    flags = 1 << iota // opFunc: a function expression or an arrow, not a declaration
	flagStmt                       // opFunc, opClass: a declaration
	flagOdd                        // opString: not to be compared or passed on
	flagMethod                     // opProperty: a method or an accessor
	flagShort                      // opProperty: {name}
	flagPattern                    // opMember: stands for a name bound by a pattern
	flagOptional                   // opMember, opIndex, opCall: ?.
	flagAwait                      // opFor, opForIn: for await
)

// A node is a piece of a program. Positions are byte offsets.
type node struct {
	op         op
	flags      flags
	start, end int
	last       int
	name       string
	a, b, c, d *node
	list       []*node
	bind       *binding
}

// is says whether n has one of the flags f.
func (n *node) is(f flags) bool { return n.flags&f != 0 }
