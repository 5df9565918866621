package sandbox

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

const (
	// wasmPage is the unit of growth of WebAssembly memory.
	wasmPage = 64 << 10
	// maxMemory is the maximum of Limits.Memory.
	maxMemory = 1 << 30
	// commonMemory is the address range that a pooled guest reserves; it costs only a share of the kernel's tables.
	// Runs with a higher limit get guests of their own.
	commonMemory = 64 << 20
)

// A guest is one instance of the module. It serves one run at a time, and none after it has trapped or grown.
type guest struct {
	module  api.Module
	copy    *codeCopy
	rests   bool // its run waits, and has released memory
	mem     *guestMemory
	shared  shared
	fuel    api.MutableGlobal // of the loops; see steps.go
	counter uint32            // address of the interpreter's
	ctx     context.Context   // carries the guest to the host functions

	do    api.Function // nil: see prepare
	stack [4]uint64    // arguments and results of a call into the guest

	run   *Run          // the run that it serves
	clock time.Duration // the zero of its monotonic clock; a tick of the real-time clock
	began time.Duration // the last start of computing; see compute
	ran   time.Duration // the thread's clock then
	left  time.Duration
	turns *turns
	turn  chan struct{} // signals its turn
	wake  chan struct{} // of runs; the next run may get one wake-up of the last one
	waste bool          // trapped
}

type guestKey struct{}

// prepare sets do, with a native stack of its own.
func (g *guest) prepare() bool {
	g.do = g.module.ExportedFunction("cm_do")
	return g.do != nil
}

func (g *guest) close() { _ = g.module.Close(context.Background()) }

// Host functions panic with errStop to stop the guest. The run knows why.
var errStop = errors.New("stopped")

// call makes the guest execute a command, between enter and leave. After an error the guest is unusable.
func (g *guest) call(what uint64, args ...uint64) error {
	if g.do == nil {
		g.prepare()
	}
	g.stack[0] = what
	copy(g.stack[1:], args)
	err := g.do.CallWithStack(g.ctx, g.stack[:])
	if err != nil {
		g.waste = true
	}
	return err
}

// room returns a place for n bytes that the guest will read.
func (g *guest) room(n int) (at uint32, err error) {
	at = g.shared.uint32(sharedIn)
	if n >= int(g.shared.uint32(sharedInCap)) {
		if err := g.call(doBuffer, uint64(n)); err != nil {
			return 0, err
		}
		at = uint32(g.stack[0])
	}
	if at == 0 {
		return 0, errNoRoom
	}
	return at, nil
}

var errNoRoom = errors.New("no room in the guest's memory")

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

func (c *codeCopy) close(ctx context.Context) error {
	err := c.runtime.Close(ctx)
	if c.cache != nil {
		err = errors.Join(err, c.cache.Close(ctx))
	}
	return err
}

func (c *codeCopy) usedBy() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.users
}
