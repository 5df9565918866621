package codemode

import (
	"maps"
	"slices"
	"sync"
)

// news calls subscribers when something has changed.
type news struct {
	mu          sync.Mutex
	subscribers map[int]func()
	next        int
}

func (n *news) subscribe(f func()) (cancel func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subscribers == nil {
		n.subscribers = map[int]func(){}
	}
	id := n.next
	n.next++
	n.subscribers[id] = f
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.subscribers, id)
	}
}

func (n *news) publish() {
	n.mu.Lock()
	subscribers := slices.Collect(maps.Values(n.subscribers))
	n.mu.Unlock()
	for _, f := range subscribers {
		f()
	}
}
