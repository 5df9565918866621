package config

import (
	"fmt"
	"slices"

	"github.com/codemode-project/codemode/internal/settings"
	"github.com/codemode-project/codemode/profiles"
)

// maxExtends bounds a chain of extends: nobody can follow a longer one.
const maxExtends = 8

// ancestors finds the profiles that w extends, directly or not, and reports parents that
// do not exist, cycles and chains that are too long.
func (b *builder) ancestors(w *profiles.Written) {
	const inProgress, done = 1, 2
	if w.State != 0 {
		return
	}
	w.State = inProgress
	for _, n := range w.Parents {
		if !b.known(n, `"extends"`) {
			continue
		}
		parent := b.find(n.Text())
		if parent.State == inProgress {
			b.Wrong(n, "remove one of the steps", "the profile %q extends itself, by way of %q", w.Name, n.Text())
			continue
		}
		b.ancestors(parent)
		if w.Depth = max(w.Depth, parent.Depth+1); parent.Depth+1 == maxExtends+1 {
			b.Wrong(n, "", "the chain of \"extends\" is longer than %d profiles", maxExtends)
		}
		for _, ancestor := range parent.Chain {
			if !slices.Contains(w.Chain, ancestor) {
				w.Chain = append(w.Chain, ancestor)
			}
		}
	}
	w.Chain = append(w.Chain, w)
	w.State = done
	b.uniqueIDs(w)
}

// uniqueIDs reports rules of one effective profile with the same id.
func (b *builder) uniqueIDs(w *profiles.Written) {
	seen := map[string]*profiles.Rule{}
	for _, ancestor := range w.Chain {
		for _, rules := range ancestor.Lists {
			for _, r := range rules {
				other := seen[r.ID]
				if r.ID != "" && other != nil && r.Pos.File == b.File && len(b.Problems) != settings.MaxProblems {
					at := settings.Problem{Position: r.Pos, Length: 1, Source: b.SourceLine(r.Pos.Line)}
					at.Message = fmt.Sprintf("two rules of the profile %q have the id %q", w.Name, r.ID)
					at.Hint = fmt.Sprintf("the other is on %s: rename one of them", b.WhereIs(other.Pos))
					if !slices.Contains(b.Problems, at) {
						b.Problems = append(b.Problems, at)
					}
				}
				seen[r.ID] = r
			}
		}
	}
}
