package sandbox

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/codemode-project/codemode/internal/fair"
)

// Options are the settings of an Engine.
type Options struct {
	// Wasm is the guest; nil is that of package guest/quickjs.
	Wasm []byte
	// Hash is the SHA-256 of Wasm, in hex; "" computes it, which takes one or two milliseconds. It identifies the guest
	// in the cache and in images of parked runs. Without Wasm it is known.
	Hash string
	// CacheDir keeps the compiled guest between processes. It is machine code that this process will run, so New does
	// not use a directory that others can write to. "" compiles at every start, which takes about a second.
	CacheDir string
	// New calls Compiling, if not nil, with the reason before it compiles the guest, which takes about a second.
	Compiling func(reason string)
	// Idle is how many guests that were used stay ready for a run; zero means two for each processor, and at least 64:
	// runs that wait for a tool or a person have guests too. Each holds some 700 KiB after a run.
	Idle int
	// Memory bounds the memory of all running guests together, in bytes. Zero means a quarter of the memory of the
	// machine or its container, and 512 MiB at most. One owner gets three quarters at most, see [Program.Owner]. A run
	// that needs more than is left ends as [OutOfMemory]. A run without memory at the start waits, or is [Refused] if
	// too many of its owner wait. Sessions may have a quarter of it between their programs.
	Memory int64
	// MakeRoom, if not nil, closes a [Session] without a program, of the owner if it has one, and reports whether it did:
	// a session that needs more memory finds none. It must not call methods of other sessions than that one.
	MakeRoom func(owner string) bool
	// ParkKey authenticates the images of parked runs: the holder of the key can make an image, and so any state of a
	// guest. Engines that resume each other's runs share it. nil makes a key for this engine alone.
	ParkKey []byte
}

// Why the engine compiles the guest, for [Options.Compiling].
const (
	uncached  = "there is no cache for it"
	firstTime = "it was not compiled before on this machine"
	damaged   = "its cached machine code is damaged, or does not fit this machine"
	foreign   = "others may write to the cache directory, and codemode would execute what is in it: chmod 700 it, or choose another"
)

// An Engine runs programs in guests. Many goroutines may call its methods.
type Engine struct {
	*core
	tenant   string // "" if it is the only user of the core
	parkKey  []byte
	makeRoom func(owner string) bool
}

// A core is what engines of tenants share: the compiled guest, its snapshot, guests ready to run, and the memory for
// them.
type core struct {
	snapshot   *snapshot
	sharedAddr uint32
	counter    uint32 // address of the interpreter's counter; see steps.go
	hash       string
	maxIdle    int
	turns      *turns
	dump       dump
	memory     *fair.Budget
	sessions   *fair.Budget // the part of memory that sessions without a program may have
	warm       warm
	imaging    sync.Mutex // the engine writes one image at a time
	waiting    sync.Map   // the run that waits for memory to grow, by owner

	lastHere sync.Pool // of *codeCopy: keeps for each processor the copy used there

	mu     sync.Mutex
	copies []*codeCopy
	again  func(context.Context) (*codeCopy, error) // makes another copy; nil if that would require compiling
	making bool                                     // again is running
	closed bool
	runs   sync.WaitGroup
}

// Tenant returns an engine that shares the guests of e, and the memory for them, with other tenants, and nothing else.
// An owner is not the owner of the same name at e or at another tenant. All owners of a tenant together may have what
// one owner may have of the whole, and each of them the same share of that. key and makeRoom are [Options.ParkKey] and
// [Options.MakeRoom]. Close of either closes both.
func (e *Engine) Tenant(name string, key []byte, makeRoom func(owner string) bool) *Engine {
	return &Engine{core: e.core, tenant: name, parkKey: parkKey(key), makeRoom: makeRoom}
}

// parkKey returns a copy of a key, or a new key if it is empty.
func parkKey(key []byte) []byte {
	if len(key) > 0 {
		return slices.Clone(key)
	}
	key = make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return key
}

// Hash is the SHA-256 of the guest, in hex.
func (e *Engine) Hash() string { return e.hash }

// Budgets returns the memory that programs and sessions have and may have.
func (e *Engine) Budgets() []fair.Use { return []fair.Use{e.memory.Use(), e.sessions.Use()} }

// put takes a guest back after its run. One that trapped, grew or has settled pages is closed.
func (e *Engine) put(g *guest) {
	g.run = nil
	keep := !g.waste && g.mem.Size == e.snapshot.Size && g.mem.Most == commonMemory && g.mem.Settled == 0
	if keep {
		g.mem.Limit, g.mem.MayGrow = g.mem.Most, nil
		e.snapshot.Restore(g.mem)
		if e.snapshot.Deep(g.mem) {
			g.do = nil
		}
	}
	e.lastHere.Put(g.copy)
	g.copy.leave(g, keep)
}

// ErrClosed is returned by Run after Close.
var ErrClosed = errors.New("sandbox: the engine is closed")

// begin registers a user of the engine, unless the engine is closed.
func (e *Engine) begin() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	e.runs.Add(1)
	return nil
}

// Close waits for the current runs to end (cancel their contexts to speed that up) and frees everything. Callers may
// call it more than once.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	first := !e.closed
	e.closed = true
	var idle []*guest
	copies := e.copies // a copy that addCopy is making now will have no runs
	for _, c := range copies {
		idle = append(idle, c.keep(0)...)
	}
	e.mu.Unlock()
	e.runs.Wait()
	for _, c := range copies {
		c.runs.Wait()
	}
	if !first {
		return nil
	}
	for _, g := range idle {
		g.close()
	}
	return e.release(ctx)
}

func (e *Engine) release(ctx context.Context) error {
	var errs []error
	for _, c := range e.copies {
		errs = append(errs, c.close(ctx))
	}
	if e.snapshot != nil {
		e.snapshot.Close()
	}
	e.copies, e.snapshot = nil, nil
	return errors.Join(errs...)
}

// instantiate makes a guest with the module's initial memory.
func (e *Engine) instantiate(ctx context.Context, c *codeCopy, most int) (*guest, error) {
	m, err := newGuestMemory(most)
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
