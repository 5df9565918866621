package analysis

import (
	"encoding/json"

	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
)

// A walker finds the calls in a program.
type walker struct {
	calls   []found
	dynamic []unseen
	reads   []string
	results []abstractValue  // the parts of results that it reads
	written map[string]bool  // parts of results that it sets
	tested  map[string]bool  // tools that the text looks for: if (codemode.a__b)
	meta    *ecmascript.Node // the first import.meta, or the like
	budget  int              // of the JSON of arguments
	pending []pending
	many    int // loops and functions around the current node
	moment  moment
	held    []*ecmascript.Binding // of functions that are walked where they are used
}

// A moment is the position of a walker in the course of the program.
type moment struct {
	stage   int              // the last stage assigned
	again   int              // enclosing loops, and functions called for each element of a list
	anytime int              // enclosing functions that are called at an unknown time, any number of times
	inside  int              // enclosing functions that the program does not wait for
	waits   int              // awaits before it, in the innermost functions that the program does not wait for
	awaited *ecmascript.Node // the call that the program waits for
	program *ecmascript.Node // the function that is the program, or its call
	deep    int              // enclosing functions
}

// A running is the way a function is called.
type running int

const (
	anytime  running = iota // unknown
	awaited                 // once, and the caller waits for its end
	called                  // once, and the caller continues
	callback                // for each element of a list
)

// An unseen place uses tools without showing which, in a program in which nothing declares free or free is "".
type unseen struct {
	at    int
	free  string
	whole bool // codemode or a server
}

// A found call has positions in the JavaScript.
type found struct {
	name        string
	how         string
	start, last int
	args        json.RawMessage
	outline     *Outline // when args is nil
	repeats     bool
	times       Times
	stage       int
	free, via   string
}

// A pending tool has been assigned to a name; it counts as a value if nothing uses the name.
type pending struct {
	abstractValue
	bind *ecmascript.Binding
}

// found records a call with its argument: either args or outline is known.
func (w *walker) found(v abstractValue, how string, args json.RawMessage, outline *Outline) {
	w.calls = append(w.calls, found{
		name: v.name, how: how, start: v.start, last: v.last,
		args: args, outline: outline, repeats: w.many > 0 || how == Value, free: v.free, via: v.via,
	})
	w.used(v)
}

// test records that the text asks whether a tool is there: if (codemode.a__b), typeof codemode.a__b.
func (w *walker) test(v abstractValue) {
	if v.nature != tool {
		return
	}
	if w.tested == nil {
		w.tested = map[string]bool{}
	}
	w.tested[v.name] = true
}

func (w *walker) used(v abstractValue) {
	if v.from != nil {
		factsOf(v.from).reported = true
	}
}

// lost records that a value goes where the walker cannot follow it.
func (w *walker) lost(v abstractValue) {
	switch v.nature {
	case codemode, global, evaluator:
		w.dynamic = append(w.dynamic, unseen{v.start, v.free, v.nature == codemode || v.nature == server})
	case tool:
		w.found(v, Value, nil, nothing())
	case server:
		w.found(v, Value, nil, nothing()) // a function of the host, or
		w.dynamic = append(w.dynamic, unseen{v.start, v.free, v.nature == codemode || v.nature == server})
	}
	w.used(v)
}

// nothing is the outline of an argument that the text does not show at all.
func nothing() *Outline { return &Outline{Shown: json.RawMessage("null"), Unknown: []string{""}} }
