package upstream

import (
	"os"
	"sync"
	"time"
)

// An output is what a child writes to, read by one goroutine. While that one naps, the Go
// runtime does not watch the pipe: it would be woken up by everything that is written
// meanwhile, which costs more than reading it all at once afterwards.
type output struct {
	answers bool // whether answers come by it: they shall not wait behind much that is read slowly
	napped  bool // known to who reads

	mu     sync.Mutex
	file   *os.File // during a nap perhaps a closed one
	closed bool
}

func (o *output) Read(p []byte) (int, error) {
	o.mu.Lock()
	f := o.file
	o.mu.Unlock()
	n, err := f.Read(p)
	if o.answers && o.napped {
		shorten(f) // now, when there is the least in it
	}
	return n, err
}

// Close ends a read under way.
func (o *output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	return o.file.Close()
}

// nap lets whoever reads wait for a time, or until the end.
func (o *output) nap(d time.Duration, end <-chan struct{}) {
	o.napped = true
	o.mu.Lock()
	back := unwatched(o.file)
	o.mu.Unlock()
	select {
	case <-time.After(d):
	case <-end:
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file = back(); o.closed {
		_ = o.file.Close()
	}
}
