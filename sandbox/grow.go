package sandbox

import "context"

// mayGrow decides whether the guest's memory may grow. The driving goroutine calls it.
func (f *footprint) mayGrow(ctx context.Context, g *guest, size int) bool {
	f.mu.Lock()
	roomy := size-f.size <= f.room()
	ok := roomy && f.reserve(size, f.held)
	f.mu.Unlock()
	if !roomy || !ok && !f.await(ctx, g, size) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.size = size
	return true
}

// await waits until there is memory for a guest to grow. Only one run of each owner waits, so that at least one of
// several growing runs finishes: the others end and leave their memory to it.
func (f *footprint) await(ctx context.Context, g *guest, size int) bool {
	e := f.engine
	if _, other := e.waiting.LoadOrStore(f.owner, f); other {
		return false
	}
	defer e.waiting.Delete(f.owner)
	f.mu.Lock()
	more := steps(f.needs(size, f.held) - f.reserved)
	f.mu.Unlock()
	g.mem.Unwatch()
	t := now()
	g.pause(t)
	g.release(t)
	ctx, cancel := context.WithTimeout(ctx, growWait)
	err := e.memory.Acquire(ctx, f.owner, more)
	cancel()
	g.acquire()
	g.compute()
	if err != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reserved += more
	f.full = nil
	return f.reserve(size, f.held)
}
