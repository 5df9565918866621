package profiles

import (
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/internal/settings"
)

// maxExtends is how long a chain of extends may get before nobody can follow it.
const maxExtends = 8

// ancestors finds the profiles that w extends, directly or not, and reports parents that
// do not exist, cycles and chains that are too long.
func (b *builder) ancestors(w *written) {
	const inProgress, done = 1, 2
	if w.state != 0 {
		return
	}
	w.state = inProgress
	for _, n := range w.parents {
		if !b.known(n, `"extends"`) {
			continue
		}
		parent := b.find(n.Text())
		if parent.state == inProgress {
			b.Wrong(n, "remove one of the steps", "the profile %q extends itself, by way of %q", w.name, n.Text())
			continue
		}
		b.ancestors(parent)
		if w.depth = max(w.depth, parent.depth+1); parent.depth+1 == maxExtends+1 {
			b.Wrong(n, "", "the chain of \"extends\" is longer than %d profiles", maxExtends)
		}
		for _, ancestor := range parent.chain {
			if !slices.Contains(w.chain, ancestor) {
				w.chain = append(w.chain, ancestor)
			}
		}
	}
	w.chain = append(w.chain, w)
	w.state = done
	b.uniqueIDs(w)
}

// uniqueIDs reports rules of one effective profile that answer to the same id.
func (b *builder) uniqueIDs(w *written) {
	seen := map[string]*rule{}
	for _, ancestor := range w.chain {
		for _, rules := range ancestor.lists {
			for _, r := range rules {
				other := seen[r.id]
				if r.id != "" && other != nil && r.pos.File == b.File && len(b.Problems) != settings.MaxProblems {
					at := settings.Problem{Position: r.pos, Length: 1, Source: b.SourceLine(r.pos.Line)}
					at.Message = fmt.Sprintf("two rules of the profile %q have the id %q", w.name, r.id)
					at.Hint = fmt.Sprintf("the other is on %s: rename one of them", b.WhereIs(other.pos))
					if !slices.Contains(b.Problems, at) {
						b.Problems = append(b.Problems, at)
					}
				}
				seen[r.id] = r
			}
		}
	}
}
