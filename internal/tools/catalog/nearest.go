package catalog

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/visible"
)

// nearestMax is how many names an error suggests. More would distract a model.
const nearestMax = 3

// nearestCells bounds the work of comparing names for one error: a server can list thousands of long names.
const nearestCells = 5_000_000

// nearest returns the names that the caller most likely meant, best first.
func nearest(name string, tools []*Tool) []string {
	if len(name) > 200 { // no tool has a name like that
		return nil
	}
	wanted := strings.ToLower(call.Part(name))
	_, wantedTool, hasServer := strings.Cut(wanted, call.Separator)
	if !hasServer {
		wantedTool = wanted
	}
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	cells := 0
	for _, t := range tools {
		whole := strings.ToLower(t.Name)
		_, tool, _ := strings.Cut(whole, call.Separator)
		limit := 1 + len(wanted)/4
		if cells += len(wanted) * (2*limit + 1); cells > nearestCells {
			break
		}
		far := visible.Distance(wanted, whole, limit)
		if tool == wantedTool { // the right tool, with the wrong server or none
			far = min(far, 1)
		} else {
			far = min(far, 1+visible.Distance(wantedTool, tool, 1+len(wantedTool)/5))
		}
		if far <= limit || len(wantedTool) >= 4 && strings.Contains(tool, wantedTool) {
			found = append(found, candidate{t.Name, far})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, c := range found[:min(len(found), nearestMax)] {
		out = append(out, c.name)
	}
	return out
}

// spellings finds tools by names that are spelled another way, see [call.Fold].
type spellings struct {
	once         sync.Once
	whole, alone map[string][]*Tool // by server and tool, and by the tool alone
}

// Lookup is [Catalog.Find] without near names: nil if there is no such tool.
func (c *Catalog) Lookup(name string) *Tool {
	if c.Has(name) {
		t, _ := c.Find(name)
		return t
	}
	return nil
}

// Spelled returns the tools that a name means in another spelling: the server and the tool, or, where the name has no
// separator of its own, the tool alone.
func (c *Catalog) Spelled(name string) []*Tool {
	s := c.now.Load()
	s.folded.once.Do(func() {
		s.folded.whole, s.folded.alone = map[string][]*Tool{}, map[string][]*Tool{}
		for _, t := range s.sorted {
			server, tool, _ := strings.Cut(t.Name, call.Separator)
			whole, alone := call.Fold(server+tool), call.Fold(tool)
			s.folded.whole[whole] = append(s.folded.whole[whole], t)
			s.folded.alone[alone] = append(s.folded.alone[alone], t)
		}
	})
	folded := call.Fold(name)
	if found := s.folded.whole[folded]; len(found) > 0 || strings.ContainsAny(name, "./") || strings.Contains(name, call.Separator) {
		return found
	}
	return s.folded.alone[folded]
}

// Near returns the names of tools that a wrong name may mean, best first.
func (c *Catalog) Near(name string) []string { return nearest(name, c.now.Load().sorted) }
