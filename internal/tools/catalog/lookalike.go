package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/visible"
)

// lookAlikes are the problems of the server's tools with a name that looks like that of another tool. They stay
// different tools: a rule for one is not about the other.
func (s *state) lookAlikes(server string) []Problem {
	foreign := func(name string) bool { return strings.ContainsFunc(name, func(r rune) bool { return r >= 0x80 }) }
	if !slices.ContainsFunc(s.sorted, func(t *Tool) bool { return foreign(t.Name) }) {
		return nil
	}
	alike := map[string][]*Tool{}
	for _, t := range s.sorted {
		seen := visible.Skeleton(t.Name)
		alike[seen] = append(alike[seen], t)
	}
	var out []Problem
	for _, t := range s.sorted {
		if t.Server != server || !foreign(t.Name) {
			continue
		}
		for _, other := range alike[visible.Skeleton(t.Name)] {
			if other == t {
				continue
			}
			out = append(out, Problem{Server: server, Tool: t.Raw, Code: "look_alike", Message: fmt.Sprintf(
				"%s looks like %s and is another tool: its name is %+q", t.Name, other.Name, t.Name)})
		}
	}
	return out
}
