package openapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Digest identifies the definition: it changes with the operation's own text, with the parameters of its path, and with
// any component that it reaches. It does not change with where they are in the document, or with other operations.
func (o *Operation) Digest() string {
	d := o.doc
	d.onceDigests.Do(d.digestParts)
	sum := sha256.New()
	sum.Write(o.sum[:])
	sum.Write([]byte(o.Method + " " + o.Path))
	sum.Write(o.above.parameters.sum[:])
	for _, r := range []refs{o.refs, o.above.parameters.refs} {
		for _, n := range d.slab[r.from:r.to] {
			sum.Write(d.parts[n].all[:])
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// A digester computes the digest of each component with all that it reaches. Components that reach each other, a
// strongly connected component of the graph, have one digest together. It is Tarjan's algorithm (Depth-first search and
// linear graph algorithms, 1972) without recursion: a chain may have any length.
type digester struct {
	*Document
	order, low []int32 // order is when a component was found, 0 is never; low is the earliest one that it reaches
	open       []bool  // it is on the stack
	stack      []int32
	found      int32
	frames     []frame // the chain that led here
}

// A frame is a component, and how many of its references were looked at.
type frame struct{ part, next int32 }

func (d *Document) digestParts() {
	n := len(d.parts)
	t := &digester{Document: d, order: make([]int32, n), low: make([]int32, n), open: make([]bool, n)}
	for root := range n {
		if t.order[root] == 0 {
			t.enter(int32(root))
		}
		for len(t.frames) > 0 {
			t.step()
		}
	}
}

func (t *digester) enter(v int32) {
	t.found++
	t.order[v], t.low[v], t.open[v] = t.found, t.found, true
	t.stack = append(t.stack, v)
	t.frames = append(t.frames, frame{part: v})
}

// step looks at the next reference of the last frame, or ends that frame.
func (t *digester) step() {
	f := &t.frames[len(t.frames)-1]
	v, r := f.part, t.parts[f.part].refs
	if r.from+f.next < r.to {
		to := t.slab[r.from+f.next]
		f.next++
		if t.order[to] == 0 {
			t.enter(to)
		} else if t.open[to] {
			t.low[v] = min(t.low[v], t.order[to])
		}
		return
	}
	t.frames = t.frames[:len(t.frames)-1]
	if len(t.frames) > 0 {
		above := t.frames[len(t.frames)-1].part
		t.low[above] = min(t.low[above], t.low[v])
	}
	if t.low[v] < t.order[v] {
		return
	}
	first := len(t.stack) - 1 // of those that reach each other
	for t.stack[first] != v {
		first--
	}
	group := t.stack[first:]
	t.digestGroup(group)
	for _, done := range group {
		t.open[done] = false
	}
	t.stack = t.stack[:first]
}

// digestGroup computes the digest of components that reach each other, in an order that only they decide. What else
// they reach has one already.
func (t *digester) digestGroup(group []int32) {
	sums := make([]digest, len(group))
	for i, v := range group {
		p := &t.parts[v]
		sum := sha256.New()
		sum.Write(p.sum[:])
		for _, to := range t.slab[p.refs.from:p.refs.to] {
			if t.open[to] { // of the group: the text names it
				continue
			}
			sum.Write(t.parts[to].all[:])
		}
		sum.Sum(sums[i][:0])
	}
	slices.SortFunc(sums, func(a, b digest) int { return bytes.Compare(a[:], b[:]) })
	all := sha256.New()
	for _, s := range sums {
		all.Write(s[:])
	}
	for _, v := range group {
		sum := sha256.New() // two of a circle differ
		all.Sum(t.parts[v].all[:0])
		sum.Write(t.parts[v].all[:])
		sum.Write(t.parts[v].sum[:])
		sum.Sum(t.parts[v].all[:0])
	}
}

// componentOf returns the component in which a reference points, such as #/components/schemas/A for
// #/components/schemas/A/properties/b; "" if it is in none of this document.
func componentOf(ref string) string {
	const most = 5 // steps that matter, and the rest
	steps := strings.SplitN(ref, "/", most)
	need := 3 // #/definitions/A
	if len(steps) > 1 && (steps[1] == "components" || steps[1] == pathsPart) {
		need = 4 // #/components/schemas/A, #/paths/~1a/get
	}
	if len(steps) < need || steps[0] != "#" {
		return ""
	}
	name := ref
	if len(steps) > need {
		name = ref[:len(strings.Join(steps[:need], "/"))]
	}
	if strings.IndexByte(name, '%') < 0 {
		return name
	}
	for i, step := range steps[:need] {
		if plain, err := url.PathUnescape(step); err == nil {
			steps[i] = plain
		}
	}
	return strings.Join(steps[:need], "/")
}

// pathsPart is the step of a pointer that leads to the operations.
const pathsPart = "paths"

// linkOperations finds the operations, and the parameters of paths, that others refer to in place of components.
func (d *Document) linkOperations() {
	prefix := "#/" + pathsPart + "/"
	referred := func(pointer string) bool { return strings.HasPrefix(pointer, prefix) }
	if !slices.ContainsFunc(slices.Collect(maps.Keys(d.known)), referred) {
		return
	}
	for _, o := range d.Operations {
		at := prefix + escapePointer(o.Path) + "/"
		if n, ok := d.known[at+strings.ToLower(o.Method)]; ok {
			d.parts[n] = o.part
		}
		if n, ok := d.known[at+"parameters"]; ok {
			d.parts[n] = o.above.parameters
		}
	}
}

// escapePointer writes a name as one step of a pointer (RFC 6901).
func escapePointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
