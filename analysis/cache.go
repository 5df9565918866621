package analysis

import (
	"container/list"
	"sync"
)

// A Cache compiles like [Compile] and remembers what it compiled last: agents
// send the same program again, with other input, after a refusal, or to check
// it first. The zero value is ready, and any number of goroutines may use it.
// What it returns is shared; do not change it.
type Cache struct {
	mu      sync.Mutex
	entries map[source]*list.Element // of *entry
	recent  list.List                // the latest in front
	bytes   int                      // of all texts
}

// The cache holds at most maxEntries results, of at most maxBytes of text.
// What becomes of a text takes several times its size.
const (
	maxEntries = 256
	maxBytes   = 1 << 20
)

type source struct{ name, text string }

type entry struct {
	source
	program  *Program
	problems []Problem
}

// Compile returns what [Compile] returns.
func (c *Cache) Compile(name, text string) (*Program, []Problem) {
	key := source{name, text}
	c.mu.Lock()
	if e, ok := c.entries[key]; ok {
		c.recent.MoveToFront(e)
		found := e.Value.(*entry)
		c.mu.Unlock()
		return found.program, found.problems
	}
	c.mu.Unlock()
	program, problems := Compile(name, text)
	c.add(&entry{key, program, problems})
	return program, problems
}

func (c *Cache) add(e *entry) {
	if len(e.text) > maxBytes/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.entries[e.source]; ok {
		return // another goroutine was faster
	}
	if c.entries == nil {
		c.entries = map[source]*list.Element{}
	}
	c.entries[e.source] = c.recent.PushFront(e)
	c.bytes += len(e.text)
	for c.recent.Len() > maxEntries || c.bytes > maxBytes {
		last := c.recent.Back()
		old := c.recent.Remove(last).(*entry)
		delete(c.entries, old.source)
		c.bytes -= len(old.text)
	}
}
