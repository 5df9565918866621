package catalog

import (
	"strings"
	"sync"

	"github.com/codemode-project/codemode/call"
)

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
