package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/codemode-project/codemode/internal/memory"
)

const (
	hostPage = memory.Page
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
	mem     *memory.Mapping
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

// instantiate makes a guest with the module's initial memory.
func (e *Engine) instantiate(ctx context.Context, c *codeCopy, most int) (*guest, error) {
	m, err := memory.NewMapping(most)
	if err != nil {
		return nil, err
	}
	g := &guest{copy: c, mem: m, turns: e.turns, wake: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
	allocator := experimental.MemoryAllocatorFunc(func(cap, max uint64) experimental.LinearMemory { return m })
	g.module, err = c.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, allocator), c.code,
		// not used, and smaller than the default
		wazero.NewModuleConfig().WithName("").WithStartFunctions().WithRandSource(rand.Reader))
	if err != nil {
		m.Free()
		return nil, fmt.Errorf("instantiating the guest: %w", err)
	}
	g.ctx = context.WithValue(context.Background(), guestKey{}, g)
	if !g.prepare() {
		g.close()
		return nil, errors.New("the guest has no function cm_do")
	}
	var ok bool
	if g.fuel, ok = g.module.ExportedGlobal("codemode_fuel").(api.MutableGlobal); !ok {
		g.close()
		return nil, errors.New("the guest does not count its loops: it has no global codemode_fuel")
	}
	return g, nil
}

// prepare sets do, with a native stack of its own.
func (g *guest) prepare() bool {
	g.do = g.module.ExportedFunction("cm_do")
	return g.do != nil
}

// fresh makes a guest with the memory of the snapshot.
func (e *Engine) fresh(ctx context.Context, c *codeCopy, most int) (*guest, error) {
	g, err := e.instantiate(ctx, c, most)
	if err != nil {
		return nil, err
	}
	if err := e.snapshot.Reset(g.mem); err != nil {
		g.close()
		return nil, err
	}
	g.shared, g.counter = shared{mem: g.module.Memory(), addr: e.sharedAddr}, e.counter
	return g, nil
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

// enter waits for the guest's turn and moves its clock. From here to leave the guest computes.
func (g *guest) enter() {
	g.acquire()
	g.compute()
	g.mem.Watch()
	g.setClock(g.began)
}

func (g *guest) leave() {
	g.mem.Watched()
	g.left = now()
	g.pause(g.left)
	g.release(g.left)
}

func (g *guest) setClock(t time.Duration) {
	mono, clock := t-g.clock, epoch.Add(t)
	if d := g.run.program.Deterministic; d != nil {
		mono, clock = g.run.elapsed, d.at(g.run.elapsed)
	}
	g.shared.setFloat64(sharedMono, float64(mono.Milliseconds()))
	g.shared.setFloat64(sharedNow, float64(clock.UnixMilli()))
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
