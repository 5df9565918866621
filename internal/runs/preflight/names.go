package preflight

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/visible"
)

// Declared are the names that the earlier programs of a session declared. Known is false if nobody knows them.
type Declared struct {
	Names []string
	Known bool
}

// spellWait is how long a program waits for servers that start and whose tools it names: until then nobody knows which
// tool another spelling means, and which tools there are.
const spellWait = 5 * time.Second

// Meant returns a program with the names that its calls have under a policy, as the running program will make them. It
// waits for servers that start, if the program names their tools. hints are for a program that will be refused if nobody
// declares its names.
func Meant(ctx context.Context, tools *registry.Registry, policy *inforce.Policy, p *analysis.Program,
	session *Declared, hints bool) *analysis.Program {
	names := tools.Names(policy)
	if p.Lists {
		tools.Ready(ctx, spellWait)
	} else {
		tools.Listed(ctx, spellWait, servers(p))
	}
	read := analysis.Names{Means: func(name string, global bool) (string, bool) {
		m := names.Means(name, global)
		return m.Name, m.Found
	}}
	if hints {
		read.Hint = names.Undeclared
	}
	var declared []string
	if session != nil {
		if declared = session.Names; !session.Known {
			for _, u := range p.Free { // each of them may be declared
				declared = append(declared, u.Name)
			}
		}
	}
	return p.Meant(read, declared)
}

// servers returns the names behind which a program finds its tools.
func servers(p *analysis.Program) []string {
	names := slices.Clone(p.Reads)
	for _, c := range p.Calls {
		names = append(names, c.Name)
	}
	for _, u := range p.Free {
		names = append(names, u.Name)
	}
	return names
}

// undeclared warns of names that nothing declares and that mean nothing: the program fails where it uses them.
func undeclared(p *analysis.Program) (warnings []string) {
	for _, u := range p.Free {
		if p.Opaque || len(warnings) == planLines {
			break
		}
		text := u.Hint
		if text == "" {
			text = u.Name + " is not defined"
			if hint := registry.Absent(u.Name); hint != "" {
				text += ": " + hint
			}
		}
		at := p.At(u.Offset)
		warnings = append(warnings, fmt.Sprintf("line %d, column %d: %s", at.Line, at.Column, visible.Short(text, sentenceRunes)))
	}
	return warnings
}
