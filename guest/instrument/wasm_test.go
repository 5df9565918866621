package main

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// A small language for modules: b joins numbers (bytes), strings (names with their length) and bytes.

func b(parts ...any) (out []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case string:
			out = append(appendU32(out, uint32(len(p))), p...)
		case []byte:
			out = append(out, p...)
		default:
			panic(fmt.Sprintf("b: %T", p))
		}
	}
	return out
}

// mod is a module of these sections.
func mod(sections ...[]byte) []byte {
	out := []byte(header)
	for _, s := range sections {
		out = append(out, s...)
	}
	return out
}

// sec is a section that is a list of items.
func sec(id int, items ...[]byte) []byte {
	content := appendU32(nil, uint32(len(items)))
	for _, item := range items {
		content = append(content, item...)
	}
	return rawSec(id, content)
}

func rawSec(id int, content []byte) []byte {
	return b(id, appendU32(nil, uint32(len(content))), content)
}

func custom(name string, parts ...any) []byte { return rawSec(0, b(name, b(parts...))) }

// names is a name section that names functions: index, name, index, name...
func names(parts ...any) []byte {
	content := b(append([]any{len(parts) / 2}, parts...)...)
	return custom("name", 0, 2, "m", 1, len(content), content)
}

// fn is a function without locals; the end is added.
func fn(code ...any) []byte { return fnWith(0, code...) }

// fnWith is a function with this many i32 locals.
func fnWith(locals int, code ...any) []byte {
	content := b(1, locals, typeI32, b(code...), opEnd)
	if locals == 0 {
		content = b(0, b(code...), opEnd)
	}
	return b(appendU32(nil, uint32(len(content))), content)
}

func export(name string, kind, index int) []byte { return b(name, kind, index) }

func i32(v int32) []byte { return appendI32([]byte{opI32Const}, v) }

// add1 adds one to a global.
func add1(global int) []byte {
	return b(opGlobalGet, global, i32(1), 0x6a, opGlobalSet, global)
}

const (
	local, localSet, localTee = 0x20, 0x21, 0x22
	br, brIf, brTable         = 0x0c, 0x0d, 0x0e
)

var (
	types = sec(1,
		b(0x60, 0, 0),                               // 0: ()
		b(0x60, 0, 1, typeI32),                      // 1: () i32
		b(0x60, 1, typeI32, 1, typeI32),             // 2: (i32) i32
		b(0x60, 2, typeI32, typeI32, 1, typeI32),    // 3: (i32, i32) i32
		b(0x60, 1, typeI32, 0),                      // 4: (i32)
		b(0x60, 2, typeI32, typeI32, 2, 0x7f, 0x7f), // 5: (i32, i32) i32, i32
	)
	imports  = sec(2, b("env", pollName, 0, 1)) // function 0
	imports0 = sec(2, b("env", pollName, 0, 0)) // the same without a result
	counter  = sec(6, b(typeI32, 1, i32(0), opEnd))
)

// program is a module of functions of these types that has a counter as global 0, "steps", and exports f, its
// function 1.
func program(typ []int, functions ...[]byte) []byte {
	var list [][]byte
	for _, t := range typ {
		list = append(list, b(t))
	}
	return mod(types, imports, sec(3, list...), counter, sec(7, export("f", 0, 1), export("steps", 3, 0)),
		sec(10, functions...))
}

func mustInstrument(t *testing.T, wasm []byte, o options) ([]byte, stats) {
	t.Helper()
	out, done, err := instrument(wasm, o)
	if err != nil {
		t.Fatalf("instrument: %v", err)
	}
	return out, done
}

// A guest is an instance whose polls are seen by the test.
type guest struct {
	t *testing.T
	api.Module
	polls int
	poll  func() // called at each poll; what it panics with ends the call
}

// start instantiates a module whose codemode_poll has this many results.
func start(t *testing.T, wasm []byte, results int) *guest {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	t.Cleanup(func() { r.Close(ctx) })
	g := &guest{t: t}
	host := api.GoFunc(func(_ context.Context, stack []uint64) {
		g.polls++
		if results > 0 {
			stack[0] = math.MaxUint32
		}
		if g.poll != nil {
			g.poll()
		}
	})
	var result []api.ValueType
	if results > 0 {
		result = []api.ValueType{api.ValueTypeI32}
	}
	if _, err := r.NewHostModuleBuilder("env").NewFunctionBuilder().WithGoFunction(host, nil,
		result).Export(pollName).Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	m, err := r.Instantiate(ctx, wasm)
	if err != nil {
		t.Fatalf("wazero: %v\n% x", err, wasm)
	}
	g.Module = m
	return g
}

func (g *guest) call(args ...uint64) ([]uint64, error) {
	return g.ExportedFunction("f").Call(context.Background(), args...)
}

func (g *guest) global(name string) int32 {
	return api.DecodeI32(g.ExportedGlobal(name).Get())
}

func (g *guest) setFuel(v int32) {
	g.ExportedGlobal(fuelName).(api.MutableGlobal).Set(api.EncodeI32(v))
}
