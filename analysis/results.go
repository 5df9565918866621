package analysis

import (
	"strings"

	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// A ResultRead is a place where the text reads a part of a tool's result.
type ResultRead struct {
	// Tool is the tool as in [Call], and Free is the name behind which it is if nothing in the text declares that.
	Tool, Free string
	// Path is the part, as a JSON Pointer in which "-" is any element of an array. The last token is what is read here.
	Path string
	Position
}

// read records the read of a part of a result.
func (w *walker) read(v abstractValue) {
	if v.nature == result && v.path != "" && len(w.results) < maxReads {
		w.results = append(w.results, v)
	}
}

// maxReads is how many reads of results a program lists.
const maxReads = 500

// elementsOf are the methods that call a function with each element of an array as its first argument.
var elementsOf = map[string]bool{"map": true, "filter": true, "forEach": true, "find": true, "findLast": true, "some": true,
	"every": true, "flatMap": true, "findIndex": true}

// parameter notes that the first parameter of f, an argument of the call n, holds the result that the call is about: of
// the promise, or an element of the array.
func (w *walker) parameter(n, f *ecmascript.Node) {
	if n.A.Op != ecmascript.OpMember || len(f.List) == 0 {
		return
	}
	switch v := glance(n.A.A); {
	case v.nature != result:
	case n.A.Name == "then" && v.path == "":
		w.holds(f.List[0], v)
	case elementsOf[n.A.Name]:
		v.path += "/-"
		w.holds(f.List[0], v)
	}
}

// holds notes what a name holds, or the names of a pattern, that nothing else is assigned to.
func (w *walker) holds(target *ecmascript.Node, v abstractValue) {
	switch target.Op {
	case ecmascript.OpName:
		if b := target.Bind; b != nil && b.Writes <= 1 && !factsOf(b).asked {
			f := factsOf(b)
			f.asked, f.value = true, v
		}
	case ecmascript.OpObject:
		for _, p := range target.List {
			if p.Op == ecmascript.OpProperty && p.B == nil {
				m := part(v, p.Name, Destructured, p.Start)
				w.read(m)
				w.holds(p.A, m)
			}
		}
	}
}

// reads lists the reads of results that the walker found.
func (p *Program) reads(w *walker) {
	seen := map[string]bool{}
	for _, v := range w.results {
		key := v.name + "\n" + v.path
		if seen[key] || w.written[key] {
			continue
		}
		seen[key] = true
		p.Results = append(p.Results, ResultRead{Tool: v.name, Free: v.free, Path: v.path,
			Position: p.origin.whole.position(p.origin.offset(v.last))})
	}
}

// writes records that the program sets a part of a result itself.
func (w *walker) writes(v abstractValue) {
	if v.nature == result {
		if w.written == nil {
			w.written = map[string]bool{}
		}
		w.written[v.name+"\n"+v.path] = true
	}
}

// Shown is the last token of a path, as a program writes it, and the path before it.
func (r *ResultRead) Shown() (parent, name string) {
	tokens, _ := strictjson.Tokens(r.Path)
	if len(tokens) == 0 {
		return "", ""
	}
	return strings.TrimSuffix(r.Path, "/"+strictjson.EscapeToken(tokens[len(tokens)-1])), tokens[len(tokens)-1]
}
