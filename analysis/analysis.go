// Package analysis reads a program before it runs: it turns what was
// submitted, JavaScript or TypeScript, into the JavaScript that the sandbox
// executes, says what is wrong with a text that cannot run, and finds the
// calls that can be seen in it.
//
//	p, problems := analysis.Compile("report.ts", text)
//	for _, problem := range problems {
//		fmt.Println(problem) // file, line, column, the line itself, a caret
//	}
//
// A program is the body of an async function, whose return gives its value, or
// one expression: its value, or, where the expression is a function literal,
// what the function returns. A text that is both is an expression, so {a: 1}
// is an object and "async function main() {...}" alone is called. A Markdown
// fence around the text, a byte order mark and a line that begins with #! are
// not part of it. There are no modules: imports and exports of types are taken
// out, others are problems.
//
// # What a caller may rely on
//
// With problems, nothing may run. Without, the JavaScript is the body of an
// async function and cannot reach out of it, whatever was submitted.
//
// Nothing can interrupt esbuild, and a Go program that runs out of stack dies.
// So [Compile] reads only texts within a bound on time and stack. The bound
// holds for every text, whatever a lexer makes of it. A [Reader] with [Workers]
// reads the others in a process that the system can end. A text that is too
// much for either runs unread, or is a problem. The caller limits its size.
//
// The calls are what a reader would find, as a preview for people. They prove
// nothing: a program can make other calls, and [Program.Dynamic] says so only if
// the program does not hide it. Other packages decide each call when the
// program makes it.
//
// All positions are in the submitted text, not in the JavaScript.
package analysis

import "encoding/json"

// A Position is a place in the text that was submitted, counted from 1. A
// column is a Unicode code point.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// A Program is a text that may run. It does not change and may be shared.
type Program struct {
	// JS is the body of an async function, in the JavaScript of QuickJS-ng.
	// It may be longer than the text.
	JS string
	// Calls are the uses of tools, and of functions of the host, that can be
	// seen, in the order of the text. One whose How is [Value] is perhaps no
	// call; if it is Host as well, it may also be a server whose tools are used.
	Calls []Call
	// Dynamic are the places where the tools are used in a way that does not
	// show which: codemode[x], codemode handed to a function or enumerated,
	// text turned into code. Empty means that Calls looks complete.
	Dynamic []Position
	// Unreturned is where the last statement begins if its value may have been
	// meant as the program's: it is an expression, and no return gives a value.
	Unreturned Position
	// Unread says that the text is too large or too intricate to read: JS is the
	// text itself, and none of its calls are known.
	Unread bool

	origin *origin
}

// A Call is a use of a tool that can be seen in the text.
type Call struct {
	// Name is server__tool, however it is written, or the plain name of a function of the host.
	Name string `json:"name"`
	// Host says that Name is no tool: it has no server in front.
	Host bool `json:"host,omitempty"`
	// Position is where the reference begins, and Length how many code points
	// of that line it takes.
	Position
	Length int `json:"length,omitempty"`
	// How is how the call is written: Member, Computed, Value, ...
	How string `json:"how"`
	// Args is the JSON of the argument, as the call would send it, if the text
	// shows all of it; "null" if there is none. Nil means that it is not known.
	Args json.RawMessage `json:"args,omitempty"`
	// Outline is what the text shows of the argument where Args is nil.
	Outline *Outline `json:"outline,omitempty"`
	// Repeats says that it stands in a loop or a function, or is passed on, and so may be made more than once.
	Repeats bool `json:"repeats,omitempty"`
	// Times says how often it may be made.
	Times Times `json:"times,omitempty"`
	// Stage orders the calls: once a call of a later stage has been made, no call of this one comes any more. Calls
	// of one loop have one stage. 0 says that it may be made at any time.
	Stage int `json:"stage,omitempty"`
}

// Times says how often a call that stands in the text may be made, as far as the text shows.
type Times string

const (
	Often    Times = ""         // again and again, or nobody knows
	Once     Times = "once"     // at most once
	Together Times = "together" // perhaps several times, all of them at one moment: nothing is awaited in between
)

// Lookup maps a place in [Program.JS] to the submitted text. A line of JS ends
// with a line feed and its columns are bytes, as QuickJS counts them. A place
// without an origin gets that of the last place before it that has one.
func (p *Program) Lookup(line, column int) (int, int) {
	at := p.origin.lookup(p.JS, line, column)
	return at.Line, at.Column
}
