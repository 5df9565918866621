package analysis

import "cmp"

// A compiler compiles one text.
type compiler struct {
	file  string
	whole *index // the submitted text
	start int    // where the program begins in it
	text  string // the program
	shape shape
	exports

	program  *Program
	problems []Problem
	mistakes [][]fault // the errors of each reading of the text
}

func newCompiler(name, whole string, start int, text string) *compiler {
	return &compiler{file: cmp.Or(name, "program.ts"), whole: newIndex(whole), start: start, text: text,
		exports: exports{at: -1}}
}

// A form is the reading of a text that succeeded.
type form int

const (
	asBody form = iota
	asValue
	asFile // a body with parts that only the top level of a file may contain
)
