package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/codemode-project/codemode/internal/fair"
)

// maxCopies bounds the number of copies of the machine code, of some 5 MB each.
const maxCopies = 8

// A codeCopy is one copy of the guest's machine code in memory, and the guests that run on it. Two processors that
// execute the same copy slow each other down, so when programs compute at the same time, each processor has a copy.
type codeCopy struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache // nil if there is none
	code    wazero.CompiledModule

	mu     sync.Mutex
	idle   []*guest
	most   int           // how many idle ones are kept
	users  int           // guests that serve a run, and runs that wait for one
	rests  int           // of the guests, how many wait and have released memory
	waits  []chan *guest // of the runs that wait, each with room for one guest
	closed bool
	runs   sync.WaitGroup // added to under mu
}

// enter registers a run, and returns an idle guest if one exists that may grow to memory. ok is false if the engine is
// closed, or if the caller wants to be alone and others use the copy.
func (c *codeCopy) enter(memory int64, alone bool) (g *guest, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || alone && c.users > 0 {
		return nil, false
	}
	c.users++
	c.runs.Add(1)
	if n := len(c.idle); n > 0 && memory <= commonMemory {
		g = c.idle[n-1]
		c.idle = c.idle[:n-1]
	}
	return g, true
}

// enterAgain is enter for a guest of the copy that a session has kept. It reports false if the engine is closed: then
// the guest is too.
func (c *codeCopy) enterAgain() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.users++
		c.runs.Add(1)
	}
	return !c.closed
}

// guestWait is how long a run waits for another one's guest when as many guests are busy as are kept. A new guest would
// cost time and memory, and be closed after its run.
const guestWait = 3 * time.Millisecond

// await waits for the guest of another run, if there are enough guests. The run has entered the copy. Nil means that it
// needs a new one.
func (c *codeCopy) await(ctx context.Context) *guest {
	c.mu.Lock()
	if c.users-c.rests <= c.most || c.closed {
		c.mu.Unlock()
		return nil
	}
	own := make(chan *guest, 1)
	c.waits = append(c.waits, own)
	c.mu.Unlock()
	enough := time.NewTimer(guestWait)
	defer enough.Stop()
	select {
	case g := <-own:
		return g
	case <-enough.C:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := slices.Index(c.waits, own); at >= 0 {
		c.waits = slices.Delete(c.waits, at, at+1)
		return nil
	}
	return <-own // it came at the same moment
}

// rest says whether the guest rests: it waits and has released memory. Guests that rest come back late.
func (g *guest) rest(yes bool) {
	if g.rests == yes {
		return
	}
	g.rests = yes
	g.copy.mu.Lock()
	defer g.copy.mu.Unlock()
	if yes {
		g.copy.rests++
	} else {
		g.copy.rests--
	}
}

// leave unregisters a run. It closes the guest (which may be nil), unless keep allows keeping it and a run waits for it
// or there is room.
func (c *codeCopy) leave(g *guest, keep bool) {
	c.mu.Lock()
	c.users--
	switch {
	case keep && len(c.waits) > 0:
		c.waits[0] <- g
		c.waits = slices.Delete(c.waits, 0, 1)
	case keep && len(c.idle) < c.most:
		c.idle = append(c.idle, g)
	default:
		keep = false
	}
	c.mu.Unlock()
	if g != nil && !keep {
		g.close()
	}
	c.runs.Done()
}

// keep sets how many idle guests the copy keeps, and returns the surplus ones. 0 closes the copy.
func (c *codeCopy) keep(most int) (rest []*guest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most, c.closed = most, c.closed || most == 0
	if len(c.idle) > most {
		rest = slices.Clone(c.idle[most:])
		c.idle = c.idle[:most]
	}
	return rest
}

// newCopy compiles a module, or finds it in the cache. The caller closes the result, also if there is an error.
func newCopy(ctx context.Context, wasm []byte, cache wazero.CompilationCache) (*codeCopy, error) {
	c := &codeCopy{cache: cache, runtime: wazero.NewRuntimeWithConfig(ctx, runtimeConfig(cache))}
	i32 := api.ValueTypeI32
	_, err := c.runtime.NewHostModuleBuilder("codemode").
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(hostPoll), nil, nil).Export("codemode_poll").
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(hostCall), []api.ValueType{i32, i32, i32, i32},
		[]api.ValueType{i32}).Export("codemode_call").
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

// fromCache returns a function that makes another copy from the cached code, as long as that code is undamaged.
func (e *Engine) fromCache(cache *codeCache, stub []byte) func(context.Context) (*codeCopy, error) {
	return func(ctx context.Context) (*codeCopy, error) {
		if cache.state() != cacheGood {
			return nil, errors.New("the cached code is gone or damaged")
		}
		kept, err := wazero.NewCompilationCacheWithDir(cache.code)
		if err != nil {
			return nil, err
		}
		c, err := newCopy(ctx, stub, kept)
		if err == nil {
			err = e.try(ctx, c)
		}
		if err != nil {
			return nil, errors.Join(err, c.close(ctx))
		}
		return c, nil
	}
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

func (c *codeCopy) usedBy() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.users
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
