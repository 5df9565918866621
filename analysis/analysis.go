// Package analysis reads a program before it runs: it turns the
// submitted JavaScript or TypeScript into the JavaScript that the sandbox
// executes, reports why a text cannot run, and finds the
// calls in it.
//
//	p, problems := analysis.Compile("report.ts", text)
//	for _, problem := range problems {
//		fmt.Println(problem) // file, line, column, the line itself, a caret
//	}
//
// A program is the body of an async function that returns its value, or that
// ends with an expression: its value, or, where the expression is a function literal,
// what the function returns. A program that returns nothing, and ends with an assignment or the like, has no value. A text that is both is an expression, so {a: 1}
// is an object and "async function main() {...}" alone is called. A Markdown
// fence around the text, a byte order mark and a line that begins with #! are
// not part of it. There are no modules: Compile removes imports and exports of types
// and reports others as problems.
//
// Where that is clear, Compile reads what a text means: the program in the fences of an explanation, in quotes or with
// escaped line breaks; the function that a text exports, or its main, is called. A text that does nothing compiles, and
// [Program.Nothing] says so. A problem names a text of another kind: JSON, prose, another language.
//
// # What a caller may rely on
//
// With problems, nothing may run. Without, the JavaScript is the body of an
// async function and cannot reach out of it, whatever was submitted.
//
// Nothing can interrupt esbuild, and a Go program that runs out of stack dies.
// So [Compile] reads only texts within a bound on time and stack. The bound
// holds for every text, whatever a lexer makes of it. A [Reader] with [Workers]
// reads the others in a process that the system can kill. A text that is too
// much for either runs unread, or is a problem. The caller limits its size.
//
// The calls are those that a reader would find, as a preview for people. They prove
// nothing: a program can make other calls, and [Program.Dynamic] says so only if
// the program does not hide it. Other packages decide each call when the
// program makes it.
//
// All positions are in the submitted text, not in the JavaScript.
package analysis

import (
	"encoding/json"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Program is a text that may run. It does not change and may be shared.
type Program struct {
	// JS is the body of an async function, in the JavaScript of QuickJS-ng.
	// It may be longer than the text.
	JS string
	// Calls are the uses of tools and host functions in the text, in the order of the text. One with How [Value] may
	// not be a call; if it is also Host, it may be a server with used tools.
	Calls []Call
	// Dynamic are the places that use the tools without showing which: codemode[x], codemode passed to a function or
	// enumerated, text turned into code. Empty means that Calls looks complete.
	Dynamic []Position
	// Unawaited are the places that start something and do not wait for it.
	Unawaited []Unawaited
	// Idle says why the program would do nothing; nil if it does something. See [Program.Nothing].
	Idle *Idle
	// Free are the names that the text uses, and that neither it nor every program declares: see [Program.InSession].
	Free []Use
	// Perhaps are the uses of the tools behind these names. [Program.Meant] adds them to Calls and Dynamic.
	Perhaps []Perhaps
	// Results are the parts of results that the text reads, each once.
	Results []ResultRead
	// Reads are the names behind codemode that the text reads, in any order: of servers, functions and tools. A name that
	// nothing declares may be one.
	Reads []string
	// Lists says that the text uses codemode or a server as a whole, and so may list its tools.
	Lists bool
	// Opaque says that the text may declare names without showing them.
	Opaque bool
	// Unread says that the text is too large or too complex to read: JS is the text itself, and its calls are unknown.
	Unread bool

	origin *origin
}

// A Call is a use of a tool in the text.
type Call struct {
	// Name is server__tool, in whatever way the text writes it, or the plain name of a host function.
	Name string `json:"name"`
	// Host says that Name is not a tool: it has no server prefix.
	Host bool `json:"host,omitempty"`
	// Position is where the reference begins, and Length is its length on that line in code points.
	Position
	Length int `json:"length,omitempty"`
	// How is the way the call is written: Member, Computed, Value, ...
	How string `json:"how"`
	// Args is the JSON of the argument, as the call would send it, if the text shows all of it; "null" if there is
	// none. Nil means that it is unknown.
	Args json.RawMessage `json:"args,omitempty"`
	// Outline is the part of the argument that the text shows, where Args is nil.
	Outline *Outline `json:"outline,omitempty"`
	// Repeats says that the call is in a loop or a function, or is passed on, and so may be made more than once.
	Repeats bool `json:"repeats,omitempty"`
	// Tested says that the text asks somewhere whether the tool is there.
	Tested bool `json:"tested,omitempty"`
	// Times says how often the call may be made.
	Times Times `json:"times,omitempty"`
	// Stage orders the calls: after a call of a later stage, no call of this stage follows. Calls of one loop share a
	// stage. 0 says that the call may be made at any time.
	Stage int `json:"stage,omitempty"`
	// Via is the name that is read as codemode unless a server has it, as in codemode.tools.crm.x.
	Via string `json:"-"`
}

// Times says how often the program may make a call of the text, as far as the text shows.
type Times string

const (
	Often    Times = ""         // repeatedly, or unknown
	Once     Times = "once"     // at most once
	Together Times = "together" // perhaps several times, all at one moment: no await between them
)

// Lookup maps a place in [Program.JS] to the submitted text. A line of JS ends with a line feed and its columns are
// bytes, as QuickJS counts them. A place without an origin gets the origin of the last place before it that has one.
func (p *Program) Lookup(line, column int) (int, int) {
	at := p.origin.lookup(p.JS, line, column)
	return at.Line, at.Column
}

// A Use is the first use of a name that the program does not declare.
type Use struct {
	Name   string
	Offset int    // in the submitted text, in bytes
	Hint   string // what it may mean, from [Program.Meant]
}

// A ResultRead is a place where the text reads a part of a tool's result.
type ResultRead struct {
	// Tool is the tool as in [Call], and Free is the name behind which it is if nothing in the text declares that.
	Tool, Free string
	// Path is the part, as a JSON Pointer in which "-" is any element of an array. The last token is what is read here.
	Path string
	Position
}

// Shown is the last token of a path, as a program writes it, and the path before it.
func (r *ResultRead) Shown() (parent, name string) {
	tokens, _ := strictjson.Tokens(r.Path)
	if len(tokens) == 0 {
		return "", ""
	}
	return strings.TrimSuffix(r.Path, "/"+strictjson.EscapeToken(tokens[len(tokens)-1])), tokens[len(tokens)-1]
}

// A Perhaps is a use of the tools behind a name that nothing in the text declares: a call, or a place of
// [Program.Dynamic]. It is none if the name means nothing.
type Perhaps struct {
	Free string
	Call *Call // nil for a place
	At   Position
}

// An Unawaited is a place where the text starts something and does not wait for it, as far as the text shows: the
// promise of a call is dropped, for one. The run waits for it all the same, and its failure is the failure of the run.
type Unawaited struct {
	Position
	Text string // a sentence with the fix
	// Wrong says that the program takes the promise for its value there, which it is not.
	Wrong bool
}

// Idle says why running a program would do nothing.
type Idle struct {
	Message, Hint string
	Declares      bool // it declares names, which a session keeps
}

// An Outline is the part of an argument that the text shows, where it does not show all of it.
type Outline struct {
	// Shown is the JSON of the argument. Null replaces every value that only the running program knows.
	Shown json.RawMessage `json:"shown"`
	// Unknown are JSON Pointers to those places. Each may hold any value or, in an object, none. "" is the whole
	// argument.
	Unknown []string `json:"unknown,omitempty"`
	// Open are JSON Pointers to the objects that may have further members, from a spread or a computed key.
	Open []string `json:"open,omitempty"`
}

// Text returns the text that the positions of the program are in, if that is not the submitted one: a text in quotes
// or with escaped line breaks is decoded first. "" is the submitted one.
func (p *Program) Text() string { return p.origin.Repaired }
