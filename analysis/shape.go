package analysis

// esbuild reads what people write in time proportional to its length, and is
// not made for texts that were written to make it slow: nesting takes stack
// that no recover gives back (a Go program that runs out of stack dies), some
// TypeScript is parsed again and again with the effort doubled at each level,
// and long chains, folded strings, lowered decorators and errors by the
// thousand take time or memory with the square of their number. It cannot be
// interrupted either. So a text is measured before esbuild sees it, and
// one beyond a limit is run unread, if it may be JavaScript. The
// limits are far above what programs need; each was set so that the worst
// text known for it, at 256 KiB, costs about as much as a run may compute.
const (
	// maxDepth bounds brackets, operators and statements inside each other:
	// 20 KiB of stack a level, and names that shadow each other are told
	// apart in time with the square of it.
	maxDepth = 200
	// maxChain bounds the operators, calls and members in one expression: 6 KiB of stack each.
	maxChain = 1000
	// maxWork bounds the product of tokens and bytes: 120 KiB of dense code, or
	// 256 KiB of which most is text in strings. Errors that do not end the
	// parse cost a walk through the text each.
	maxWork = 4_000_000_000
	// maxScopeWork bounds the sum, over all names, of the square of the
	// number of scopes around them.
	maxScopeWork = 20_000_000
	// maxAngles and maxAngleWork bound what may be read again because a "<"
	// may begin type arguments: how many are open at once, and for how many tokens.
	maxAngles    = 200
	maxAngleWork = 1_000_000
	// maxRetries bounds the constructs inside each other that esbuild parses
	// twice: "a ? (b) : c => d", and "infer T extends".
	maxRetries = 4
	// maxDecorators and maxLegal bound decorators and licence comments.
	maxDecorators = 500
	maxLegal      = 1000
	// maxFolded and maxInlined bound the text of one enum member, and of all
	// members at all their uses: esbuild adds constants up and puts them in.
	maxFolded  = 64 << 10
	maxInlined = 1 << 20
)

// A fault is a problem at a byte offset of the text that was looked at.
type fault struct {
	at, len       int
	message, hint string
	limit         bool // the text is only too large, or too intricate
}

// A shape is what can be said of a text without parsing it.
type shape struct {
	first    string // the first token
	end      int    // where the last token ends, not counting semicolons that end the text
	many     bool   // there is a semicolon between statements, outside of all brackets
	modules  []int  // where import and export declarations begin
	maps     []int  // where comments claim to be a source map
	unclosed int    // the innermost bracket that is never closed, or -1
}

// An answer to a question that only a parser could answer for sure.
type answer int8

const (
	no answer = iota
	maybe
	yes
)

// A frame is an open bracket, and what was nested since without one.
type frame struct {
	open   byte // ( [ { or $ for a template's ${
	at     int
	header bool // the parenthesis belongs to if, for, while or with
	block  bool // the brace holds statements
	object bool // the brace is an object literal for sure
	list   bool // commas only separate
	enum   bool

	expr, stmt int  // nested operators, nested statements
	chain      int  // operators, calls and members beside each other: how deep the tree is on its left
	peak       int  // the largest chain so far
	arrows     int  // functions opened by =>
	retries    int  // what esbuild parses twice
	asked      bool // there was a ? that may wait for its colon
	typed      bool // and "(...) :" after it
}

// link makes the chain longer by one.
func (f *frame) link() {
	f.chain++
	f.peak = max(f.peak, f.chain)
}

func (f *frame) newExpr() {
	f.expr, f.arrows, f.retries, f.asked, f.typed = 0, 0, 0, false, false
}

func (f *frame) newStatement() {
	f.newExpr()
	f.stmt, f.chain = 0, 0
}
