package analysis

import "cmp"

type source struct{ name, text string }

// The messages between the process that wants a text read and the process that reads it, encoded by encoding/gob: texts
// need not be valid UTF-8.

type request struct{ Name, Text string }

type reply struct {
	Problems []Problem
	Carets   [][2]int // of the problems
	Program  *Program // nil with problems
	Origin   *origin  // of the program
	Last     bool     // the process gives no further answers
}

func replyOf(p *Program, problems []Problem) *reply {
	a := &reply{Problems: problems, Program: p}
	for _, problem := range problems {
		a.Carets = append(a.Carets, [2]int{problem.caret, problem.carets})
	}
	if p != nil {
		a.Origin = p.origin
	}
	return a
}

// of turns a reply about text into the results of [Compile].
func (a *reply) of(text string) (*Program, []Problem) {
	for i, c := range a.Carets {
		a.Problems[i].caret, a.Problems[i].carets = c[0], c[1]
	}
	if a.Program != nil {
		a.Program.origin = a.Origin
		a.Origin.whole = newIndex(cmp.Or(a.Origin.Repaired, text))
	}
	return a.Program, a.Problems
}
