package runs

import (
	"sync"

	"github.com/codemode-project/codemode/hostfns"
)

// A Thread joins the calls that one client makes one by one: what a server that is not trusted answered to one may have
// reached the arguments of the next, and people are not asked again what they refused. The zero value is a new one. Many
// goroutines may use it. It lasts as long as the process.
type Thread struct {
	mu   sync.Mutex
	left *hostfns.Left
}

// join adds what a program left.
func (t *Thread) join(more hostfns.Left) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left != nil {
		more = t.left.Join(more)
	}
	t.left = &more
}

// leaves is what the programs so far left; nil is nothing.
func (t *Thread) leaves() *hostfns.Left {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left
}
