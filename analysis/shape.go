package analysis

// Nesting takes stack in esbuild, and long chains and dense code take time, so the prescan checks a text before esbuild
// reads it. A text beyond a limit gets a problem that says so with its place, or runs unread if it may be JavaScript.
// The limits are far above what programs need. For the bound on the cost of every text, see exceeds and [Work].
const (
	// maxDepth bounds brackets, operators and statements inside each other.
	maxDepth = 200
	// maxChain bounds the operators, calls and members in one expression.
	maxChain = 1000
	// maxWork bounds the product of tokens and bytes: 120 KiB of dense code, or 256 KiB that are mostly text in
	// strings.
	maxWork = 4_000_000_000
)

// A fault is a problem at a byte offset of the text.
type fault struct {
	at, len       int
	message, hint string
	limit         bool // the text is only too large or too complex
}

// A shape is what is known about a text without parsing it.
type shape struct {
	first    string   // the first token
	end      int      // where the last token ends, except semicolons that end the text
	many     bool     // there is a semicolon between statements, outside all brackets
	modules  []int    // where import and export declarations begin
	assigned [][2]int // module.exports = and the like, at the beginning of a statement
	maps     []int    // where comments claim to be a source map
	unclosed int      // the innermost bracket without an end, or -1
}

// An answer to a question that only a parser could answer with certainty.
type answer int8

const (
	no answer = iota
	maybe
	yes
)

// A frame is an open bracket, and the nesting since then without one.
type frame struct {
	open   byte // ( [ { or $ for a template's ${
	at     int
	header bool // the parenthesis belongs to if, for, while or with
	block  bool // the brace holds statements
	object bool // the brace is certainly an object literal
	list   bool // commas only separate

	expr, stmt int // nested operators, nested statements
	chain      int // operators, calls and members beside each other: how deep the tree is on its left
	peak       int // the largest chain so far
}

// link makes the chain longer by one.
func (f *frame) link() {
	f.chain++
	f.peak = max(f.peak, f.chain)
}

func (f *frame) newStatement() { f.expr, f.stmt, f.chain = 0, 0, 0 }
