package analysis

import "github.com/codemode-project/codemode/internal/analysis/ecmascript"

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

// writes records that the program sets a part of a result itself.
func (w *walker) writes(v abstractValue) {
	if v.nature == result {
		if w.written == nil {
			w.written = map[string]bool{}
		}
		w.written[v.name+"\n"+v.path] = true
	}
}

// part returns the member of a value that is used. If a tool's member is not a way to call the tool, the tool is lost.
func (w *walker) part(v abstractValue, name, how string, last int) abstractValue {
	p := part(v, name, how, last)
	if v.nature == codemode && p.nature != codemode && len(w.reads) < maxPlaces {
		w.reads = append(w.reads, name)
	}
	w.read(p)
	if v.nature == tool && p.nature == other {
		w.lost(v)
	}
	return p
}
