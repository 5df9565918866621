package audit

import "sync"

// memoMost bounds how many answers a memo remembers; then it begins anew.
const memoMost = 2000

// A memo remembers what a function said of a text.
type memo[V any] struct {
	mu    sync.RWMutex
	known map[string]V
}

func (m *memo[V]) of(s string, f func(string) V) V {
	m.mu.RLock()
	v, ok := m.known[s]
	m.mu.RUnlock()
	if ok {
		return v
	}
	v = f(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= memoMost {
		m.known = map[string]V{}
	}
	m.known[s] = v
	return v
}
