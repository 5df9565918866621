package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Digest identifies the definition: it changes with the operation's own text, with the parameters of its path, and with
// any component that it reaches.
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

// digestParts computes the digest of each component with all that it reaches. Components that reach each other have one
// digest together. It is Tarjan's algorithm without recursion: a circle may have any length.
func (d *Document) digestParts() {
	n := len(d.parts)
	order, low := make([]int32, n), make([]int32, n) // order: 0 is new
	onStack := make([]bool, n)
	type frame struct{ part, next int32 }
	var stack []int32
	var frames []frame
	count := int32(0)
	for root := range n {
		if order[root] > 0 {
			continue
		}
		frames = append(frames, frame{int32(root), 0})
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			v := f.part
			if f.next == 0 {
				count++
				order[v], low[v], onStack[v] = count, count, true
				stack = append(stack, v)
			}
			r := d.parts[v].refs
			if r.from+f.next < r.to {
				to := d.slab[r.from+f.next]
				f.next++
				switch {
				case order[to] == 0:
					frames = append(frames, frame{to, 0})
				case onStack[to]:
					low[v] = min(low[v], order[to])
				}
				continue
			}
			if f.next == 0 {
				f.next = 1
			}
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				above := frames[len(frames)-1].part
				low[above] = min(low[above], low[v])
			}
			if low[v] == order[v] {
				from := len(stack) - 1
				for stack[from] != v {
					from--
				}
				d.digestGroup(stack[from:])
				for _, done := range stack[from:] {
					onStack[done] = false
				}
				stack = stack[:from]
			}
		}
	}
}

// digestGroup computes the digest of components that reach each other. What else they reach has one already.
func (d *Document) digestGroup(group []int32) {
	sum := sha256.New()
	for _, v := range group {
		p := &d.parts[v]
		sum.Write(p.sum[:])
		for _, to := range d.slab[p.refs.from:p.refs.to] {
			sum.Write(d.parts[to].all[:]) // zero for those of the group
		}
	}
	for _, v := range group {
		sum.Sum(d.parts[v].all[:0])
	}
}

// componentOf returns the component in which a reference points, such as #/components/schemas/A for
// #/components/schemas/A/properties/b; "" if it is in none of this document.
func componentOf(ref string) string {
	steps := strings.Split(ref, "/")
	need := 3 // #/definitions/A
	if len(steps) > 1 && (steps[1] == "components" || steps[1] == pathsPart) {
		need = 4 // #/components/schemas/A, #/paths/~1a/get
	}
	if len(steps) < need || steps[0] != "#" {
		return ""
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
