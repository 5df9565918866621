package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/typos"
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
		far := typos.Distance(wanted, whole, limit)
		if tool == wantedTool { // the right tool, with the wrong server or none
			far = min(far, 1)
		} else {
			far = min(far, 1+typos.Distance(wantedTool, tool, 1+len(wantedTool)/5))
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
