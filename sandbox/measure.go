package sandbox

import (
	"context"
	"fmt"

	"github.com/codemode-project/codemode/sandbox/memory"
)

// The arguments that guest/preinit passes to cm_init.
const (
	initStack       = 832 << 10
	initGCThreshold = 8 << 20
)

// InitialiseAnew does what each run would have to do without the snapshot: it instantiates the module, sets up the
// interpreter in it, and discards it. Benchmarks measure it.
func (e *Engine) InitialiseAnew(ctx context.Context) error {
	if err := e.begin(); err != nil {
		return err
	}
	defer e.runs.Done()
	e.mu.Lock()
	c := e.copies[0]
	e.mu.Unlock()
	g, err := e.instantiate(ctx, c, commonMemory)
	if err != nil {
		return err
	}
	defer g.close()
	for at := e.snapshot.From; at < e.snapshot.To; at += hostPage { // as instantiating a module with its data does
		if p := e.snapshot.Page(at); !memory.IsZero(p) {
			copy(g.mem.Bytes[at:], p)
		}
	}
	for _, f := range []struct {
		name string
		args []uint64
	}{{"_initialize", nil}, {"cm_init", []uint64{initStack, initGCThreshold}}} {
		export := g.module.ExportedFunction(f.name)
		if export == nil {
			return fmt.Errorf("the guest has no function %s", f.name)
		}
		if _, err := export.Call(g.ctx, f.args...); err != nil {
			return fmt.Errorf("initialising a guest: %w", err)
		}
	}
	return nil
}
