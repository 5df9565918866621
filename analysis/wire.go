package analysis

// What crosses between the process that asks for a text to be read and the one
// that reads it, as encoding/gob writes it: texts need not be valid UTF-8.

type request struct{ Name, Text string }

type reply struct {
	Problems []wireProblem
	Program  *wireProgram // nil with problems
	Last     bool         // the process answers nothing more
}

type wireProblem struct {
	Problem       Problem
	Caret, Carets int
}

type wireProgram struct {
	JS         string
	Calls      []Call
	Dynamic    []Position
	Unreturned Position
	Unread     bool

	Code, Maps, Patched                        string
	Patches                                    []int
	PatchLen                                   int
	Start, Cut, Width, Insert, Inserted, First int
	Same                                       bool
}

func replyOf(p *Program, problems []Problem) *reply {
	a := &reply{}
	for _, problem := range problems {
		a.Problems = append(a.Problems, wireProblem{problem, problem.caret, problem.carets})
	}
	if p == nil {
		return a
	}
	o := &p.origin
	a.Program = &wireProgram{
		JS: p.JS, Calls: p.Calls, Dynamic: p.Dynamic, Unreturned: p.Unreturned, Unread: p.Unread,
		Code: o.code, Maps: o.maps, Patched: o.patched, Patches: o.patches, PatchLen: o.patchLen,
		Start: o.start, Cut: o.cut, Width: o.width, Insert: o.insert, Inserted: o.inserted, First: o.first, Same: o.same,
	}
	return a
}

// of makes what [Compile] returns of an answer about text.
func (a *reply) of(text string) (*Program, []Problem) {
	var problems []Problem
	for _, w := range a.Problems {
		w.Problem.caret, w.Problem.carets = w.Caret, w.Carets
		problems = append(problems, w.Problem)
	}
	w := a.Program
	if w == nil {
		return nil, problems
	}
	return &Program{
		JS: w.JS, Calls: w.Calls, Dynamic: w.Dynamic, Unreturned: w.Unreturned, Unread: w.Unread,
		origin: origin{
			output: output{code: w.Code, maps: w.Maps, patched: w.Patched, patches: w.Patches, patchLen: w.PatchLen},
			start:  w.Start, whole: newIndex(text), cut: w.Cut, width: w.Width, insert: w.Insert, inserted: w.Inserted,
			first: w.First, same: w.Same,
		},
	}, problems
}
