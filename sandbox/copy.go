package sandbox

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// maxCopies bounds how many copies of the machine code there are, of some 5 MB each.
const maxCopies = 8

// A codeCopy is the guest's machine code, in memory once, and the guests that run on it.
// Two processors that execute the same copy slow each other down, so when programs
// compute at the same time there is one for each processor.
type codeCopy struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache // nil if there is none
	code    wazero.CompiledModule

	// Guarded by Engine.mu.
	idle  []*guest
	users int // guests that serve a run
}

// newCopy compiles a module, or finds it in the cache. What it returns beside an error has to be closed.
func newCopy(ctx context.Context, wasm []byte, cache wazero.CompilationCache) (*codeCopy, error) {
	c := &codeCopy{cache: cache, runtime: wazero.NewRuntimeWithConfig(ctx, runtimeConfig(cache))}
	i32 := api.ValueTypeI32
	_, err := c.runtime.NewHostModuleBuilder("codemode").
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(hostPoll), nil, nil).Export("codemode_poll").
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(hostCall), []api.ValueType{i32, i32, i32, i32}, []api.ValueType{i32}).Export("codemode_call").
		Instantiate(ctx)
	if err != nil {
		return c, fmt.Errorf("making the host functions: %w", err)
	}
	if c.code, err = c.runtime.CompileModule(ctx, wasm); err != nil {
		return c, fmt.Errorf("compiling the guest: %w", err)
	}
	return c, nil
}

func (c *codeCopy) close(ctx context.Context) error {
	err := c.runtime.Close(ctx)
	if c.cache != nil {
		err = errors.Join(err, c.cache.Close(ctx))
	}
	return err
}

// fromCache gives what makes another copy from the code that is kept, as long as it is what was put there.
func (e *Engine) fromCache(cache *codeCache, hollow []byte) func(context.Context) (*codeCopy, error) {
	return func(ctx context.Context) (*codeCopy, error) {
		if cache.state() != cacheGood {
			return nil, errors.New("the kept code is gone or damaged")
		}
		kept, err := wazero.NewCompilationCacheWithDir(cache.code)
		if err != nil {
			return nil, err
		}
		c, err := newCopy(ctx, hollow, kept)
		if err == nil {
			err = e.try(ctx, c)
		}
		if err != nil {
			return nil, errors.Join(err, c.close(ctx))
		}
		return c, nil
	}
}

// try makes sure that a copy is the code, and not what wazero has compiled of its hollow form, which traps.
func (e *Engine) try(ctx context.Context, c *codeCopy) error {
	g, err := e.fresh(ctx, c, commonMemory)
	if err != nil {
		return err
	}
	defer g.close()
	_, err = g.module.ExportedFunction("cm_ready").Call(g.ctx)
	return err
}

// leastUsed is the copy that the fewest runs use now, of several the one that was used last on this
// processor. When there is none that nobody uses, another one is made for later runs. The caller holds
// e.mu and is in a run.
func (e *Engine) leastUsed() *codeCopy {
	least, ok := e.lastHere.Get().(*codeCopy)
	if !ok {
		least = e.copies[0]
	}
	for _, c := range e.copies {
		if c.users < least.users {
			least = c
		}
	}
	if least.users > 0 && e.again != nil && !e.making && !e.closed && len(e.copies) < min(runtime.GOMAXPROCS(0), maxCopies) {
		e.making = true
		e.runs.Add(1)
		go e.addCopy()
	}
	return least
}

// addCopy makes another copy. Without it all goes on as before.
func (e *Engine) addCopy() {
	defer e.runs.Done()
	c, err := e.again(context.Background())
	var rest []*guest // more idle guests than each copy has from now on
	e.mu.Lock()
	e.making = false
	if err != nil {
		e.again = nil
	} else {
		e.copies = append(e.copies, c)
		for _, c := range e.copies {
			if n := e.idleEach(); len(c.idle) > n {
				rest = append(rest, c.idle[n:]...)
				c.idle = c.idle[:n]
			}
		}
	}
	e.mu.Unlock()
	for _, g := range rest {
		g.close()
	}
}
