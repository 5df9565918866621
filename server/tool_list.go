package server

import (
	"maps"
	"slices"
	"sync"
)

// A toolList says what the SDK's server offers now. Whoever changes that holds mu until both agree.
type toolList struct {
	mu      sync.Mutex
	tools   map[string]string // by name, a digest of what each stands for
	retired map[string]bool   // tools that only serve calls in progress
	types   string            // the names of the declarations
	closed  bool              // nothing changes any more
}

// replace takes the tools of this moment, and returns those that are gone. A tool that calls wait for is retired
// instead. The caller holds mu.
func (l *toolList) replace(want map[string]string, waited map[string]bool) (gone []string) {
	for _, name := range slices.Concat(slices.Collect(maps.Keys(l.tools)), slices.Collect(maps.Keys(l.retired))) {
		_, stays := want[name]
		if delete(l.retired, name); stays {
			continue
		}
		if waited[name] {
			l.retired[name] = true
		} else {
			gone = append(gone, name)
		}
	}
	l.tools = want
	return gone
}

func (l *toolList) has(tool string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.tools[tool]
	return ok
}

// hasRetired reports whether a tool only serves calls in progress.
func (l *toolList) hasRetired(tool string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.retired[tool]
}
