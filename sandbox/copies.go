package sandbox

import (
	"cmp"
	"context"

	"github.com/codemode-project/codemode/internal/fair"
)

// get returns a guest with the memory of the snapshot, which may grow to memory. It registers the run, until put. While
// the copy that this processor used last is free, get accesses nothing that other processors write to.
func (e *Engine) get(ctx context.Context, memory int64) (g *guest, err error) {
	c, _ := e.lastHere.Get().(*codeCopy)
	ok := false
	if c != nil {
		g, ok = c.enter(memory, true)
	}
	if !ok {
		if c, g, err = e.leastUsed(memory, c); err != nil {
			return nil, err
		}
	}
	if g != nil {
		return g, nil
	}
	most := commonMemory
	if memory > commonMemory {
		most = maxMemory
	} else if g = c.await(ctx); g != nil {
		return g, nil
	}
	if g, err = e.fresh(ctx, c, most); err != nil {
		c.leave(nil, false)
	}
	return g, err
}

// try verifies that a copy is the real code, and not wazero's compilation of its stub, which traps.
func (e *Engine) try(ctx context.Context, c *codeCopy) error {
	g, err := e.fresh(ctx, c, commonMemory)
	if err != nil {
		return err
	}
	defer g.close()
	_, err = g.module.ExportedFunction("cm_ready").Call(g.ctx)
	return err
}

// leastUsed enters the copy that the fewest runs use now. Among equals it prefers here, the copy that this processor
// used last, if not nil. When every copy is in use, it starts to make another one for later runs.
func (e *Engine) leastUsed(memory int64, here *codeCopy) (*codeCopy, *guest, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, nil, ErrClosed
	}
	least := cmp.Or(here, e.copies[0])
	fewest := least.usedBy()
	for _, c := range e.copies {
		if n := c.usedBy(); n < fewest {
			least, fewest = c, n
		}
	}
	if fewest > 0 && e.again != nil && !e.making && len(e.copies) < min(fair.Cores(), maxCopies) {
		e.making = true
		e.runs.Add(1)
		go e.addCopy()
	}
	g, _ := least.enter(memory, false) // it is open, because the engine is
	return least, g, nil
}

// addCopy makes another copy. If that fails, everything continues with the existing copies.
func (e *Engine) addCopy() {
	defer e.runs.Done()
	c, err := e.again(context.Background())
	var rest []*guest // surplus idle guests: each copy keeps fewer from now on
	e.mu.Lock()
	e.making = false
	if err != nil {
		e.again = nil
	} else {
		e.copies = append(e.copies, c)
		for _, c := range e.copies {
			if !e.closed {
				rest = append(rest, c.keep(max(1, e.maxIdle/len(e.copies)))...)
			}
		}
	}
	e.mu.Unlock()
	for _, g := range rest {
		g.close()
	}
}

// maxCopies bounds the number of copies of the machine code, of some 5 MB each.
const maxCopies = 8
