package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/codemode-project/codemode/guest/quickjs"
	"github.com/codemode-project/codemode/internal/fair"
)

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
	if e.snapshot, err = newSnapshot(m.memory, m.data); err != nil {
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
