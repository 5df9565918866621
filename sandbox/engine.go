package sandbox

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/codemode-project/codemode/guest/quickjs"
	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/internal/memory"
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
	snapshot   *memory.Snapshot
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

// learnVersion makes wazero look up its own version, which it stores without a lock: engines may be made at once.
var learnVersion = sync.OnceFunc(func() { _ = wazero.NewRuntime(context.Background()).Close(context.Background()) })

// New compiles the guest and takes its snapshot.
func New(ctx context.Context, o Options) (*Engine, error) {
	learnVersion()
	if len(o.Wasm) == 0 {
		o.Wasm, o.Hash = quickjs.Wasm(), quickjs.Hash()
	}
	if o.Hash == "" {
		sum := sha256.Sum256(o.Wasm)
		o.Hash = hex.EncodeToString(sum[:])
	}
	if len(o.Hash) != 2*sha256.Size {
		return nil, fmt.Errorf("sandbox: Options.Hash is no SHA-256 in hex: %q", o.Hash)
	}
	e := &Engine{core: &core{hash: o.Hash, maxIdle: o.Idle, turns: newTurns(fair.Cores())}, makeRoom: o.MakeRoom,
		parkKey: parkKey(o.ParkKey)}
	if o.Memory <= 0 {
		o.Memory = defaultMemory(MachineMemory())
	}
	e.memory = fair.New("memory for programs", o.Memory, maxQueued)
	e.sessions = fair.New("memory for sessions", o.Memory/sessionsShare, 0)
	if e.maxIdle <= 0 {
		e.maxIdle = max(64, 2*fair.Cores())
	}
	if err := e.compile(ctx, o); err != nil {
		e.release(ctx)
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	return e, nil
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

// compile assembles the guest's memory, and makes its machine code or takes it from the cache.
func (e *Engine) compile(ctx context.Context, o Options) error {
	compiling := func(reason string) {
		if o.Compiling != nil {
			o.Compiling(reason)
		}
	}
	m, err := takeApart(o.Wasm)
	if err != nil {
		return fmt.Errorf("compiling the guest: %w", err)
	}
	if e.snapshot, err = memory.NewSnapshot(m.memory, m.data); err != nil {
		return err
	}
	if o.CacheDir == "" {
		compiling(uncached)
		return e.load(ctx, m.bare(), nil)
	}
	cache, emptied, err := openCache(o.CacheDir, e.hash)
	switch {
	case errors.Is(err, errNotPrivate):
		compiling(foreign)
		return e.load(ctx, m.bare(), nil)
	case err != nil:
		compiling(uncached)
		return e.load(ctx, m.bare(), nil)
	}
	switch state := cache.state(); {
	case emptied:
		compiling(foreign)
	case state == cacheGood:
		kept, err := wazero.NewCompilationCacheWithDir(cache.code)
		if err == nil {
			err = e.load(ctx, m.stub, kept)
		}
		if err == nil {
			e.again = e.fromCache(cache, m.stub)
			return nil
		}
		compiling(damaged)
	case state == cacheDamaged:
		compiling(damaged)
	default:
		compiling(firstTime)
	}
	if err := e.fill(ctx, cache, m); err == nil || len(e.copies) > 0 { // code works even if the cache cannot store it
		if err == nil {
			e.again = e.fromCache(cache, m.stub)
		}
		return nil
	}
	compiling(uncached)
	return e.load(ctx, m.bare(), nil)
}

// fill compiles the guest and keeps the result in the cache.
func (e *Engine) fill(ctx context.Context, cache *codeCache, m *module) (err error) {
	own := filepath.Dir(cache.sum)
	left, _ := filepath.Glob(filepath.Join(own, "new-*")) // leftovers of killed processes
	for _, d := range left {
		if info, err := os.Stat(d); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(d)
		}
	}
	dir, err := os.MkdirTemp(own, "new-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	whole, entry := filepath.Join(dir, "whole"), filepath.Join(dir, "stub")
	c, err := wazero.NewCompilationCacheWithDir(whole)
	if err != nil {
		return err
	}
	if err := e.load(ctx, m.bare(), c); err != nil {
		return err
	}
	// wazero chooses the file name of the stub.
	if c, err = wazero.NewCompilationCacheWithDir(entry); err != nil {
		return err
	}
	r := wazero.NewRuntimeWithConfig(ctx, runtimeConfig(c))
	_, err = r.CompileModule(ctx, m.stub)
	if err = errors.Join(err, r.Close(ctx), c.Close(ctx)); err != nil {
		return err
	}
	return cache.keep(whole, entry)
}

func runtimeConfig(c wazero.CompilationCache) wazero.RuntimeConfig {
	config := wazero.NewRuntimeConfig().WithDebugInfoEnabled(false)
	if c != nil {
		config = config.WithCompilationCache(c)
	}
	return config
}

// load compiles a module, or finds it in the cache, and makes the first guest. Callers may call it again after an
// error.
func (e *Engine) load(ctx context.Context, wasm []byte, cache wazero.CompilationCache) error {
	c, err := newCopy(ctx, wasm, cache)
	if err == nil {
		err = e.firstGuest(ctx, c)
	}
	if err != nil {
		return errors.Join(err, c.close(ctx))
	}
	c.keep(e.maxIdle)
	e.copies = []*codeCopy{c}
	return nil
}

// firstGuest makes a guest, asks it where every guest has its shared struct, and keeps it for the first run.
func (e *Engine) firstGuest(ctx context.Context, c *codeCopy) error {
	g, err := e.fresh(ctx, c, commonMemory)
	if err != nil {
		return err
	}
	results, err := g.module.ExportedFunction("cm_shared").Call(g.ctx)
	if err == nil {
		e.sharedAddr = uint32(results[0])
		g.shared = shared{mem: g.module.Memory(), addr: e.sharedAddr}
		if _, ok := g.module.Memory().Read(e.sharedAddr, sharedSize); !ok {
			err = errOutOfBounds
		}
		e.counter = g.shared.uint32(sharedCounter)
		g.counter = e.counter
	}
	// The module is already initialised: guest/preinit has stored the effect of cm_init in it.
	if err == nil {
		if results, err = g.module.ExportedFunction("cm_ready").Call(g.ctx); err == nil && results[0] != 1 {
			err = errors.New("its build did not initialise it")
		}
	}
	if err != nil {
		g.close()
		return fmt.Errorf("asking the guest for its shared struct: %w", err)
	}
	e.snapshot.Restore(g.mem)
	c.idle = append(c.idle, g)
	return nil
}

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
