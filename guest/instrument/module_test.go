package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

func TestMalformed(t *testing.T) {
	spin := fn(opLoop, emptyBlock, opEnd)
	ok := func(more ...[]byte) []byte { return mod(append([][]byte{types, imports, sec(3, b(0))}, more...)...) }
	code := func(function []byte) []byte { return ok(sec(10, function)) }
	at := len(ok()) // where the next section begins
	for _, test := range []struct {
		name string
		wasm []byte
		at   int
		want string
	}{
		{"empty", nil, 0, "not a core WebAssembly module"},
		{"text", []byte("(module)"), 0, "not a core WebAssembly module"},
		{"a component", []byte("\x00asm\x0d\x00\x01\x00"), 0, "not a core WebAssembly module"},
		{"unknown section", ok(rawSec(13, nil)), at, "unknown section 13"},
		{"section twice", ok(sec(3)), at, "section 3 occurs twice or too late"},
		{"section too late", ok(sec(10, spin), sec(7)), at + len(sec(10, spin)), "section 7 occurs twice or too late"},
		{"data count behind code", ok(sec(10, spin), rawSec(12, b(0))), at + len(sec(10, spin)),
			"section 12 occurs twice or too late"},
		{"section longer than the file", ok(b(10, 5, 1)), at + 2, "5 bytes announced, 1 left"},
		{"section without a length", ok(b(10)), at + 1, "unexpected end"},
		{"section with bytes left over", ok(rawSec(7, b(0, 0))), at + 3, "1 bytes too many"},
		{"functions without code", ok(), at, "1 functions are declared, 0 have code"},
		{"code without a function", ok(sec(10, spin, spin)), at + 3 + 2*6, "1 functions are declared, 2 have code"},
		{"function longer than its section", ok(rawSec(10, b(1, 9, 0))), at + 4, "9 bytes announced, 1 left"},
		{"function without an end", code(b(3, 0, opLoop, emptyBlock)), at + 7, "function 1: offset"},
		{"function with code behind its end", code(b(3, 0, opEnd, opEnd)), at + 6, "1 bytes too many"},
		{"function that ends inside an instruction", code(b(2, 0, opI32Const)), at + 6, "unexpected end"},
		{"more locals than bytes", code(b(2, 5, opEnd)), at + 6, "unexpected end"},
		{"vector as a local", code(b(4, 1, 1, 0x7b, opEnd)), at + 6, "unknown value type 0x7b"},
		{"else without if", code(fn(opBlock, emptyBlock, opElse, opEnd)), at + 7, "else without if"},
		{"a second else", code(fn(opIf, emptyBlock, opElse, opElse, opEnd)), at + 8, "else without if"},
		{"tail call", code(fn(0x12, 0)), at + 5, "function 1: offset"},
		{"SIMD", code(fn(0xfd, 12)), at + 5, "unknown opcode 0xfd"},
		{"atomics", code(fn(0xfe, 0)), at + 5, "unknown opcode 0xfe"},
		{"exceptions", code(fn(0x1f, emptyBlock, 0, opEnd)), at + 5, "unknown opcode 0x1f"},
		{"structure type", mod(sec(1, b(0x5f, 0))), 11, "unknown kind of type 0x5f"},
		{"import of an exception tag", mod(sec(2, b("m", "f", 4, 0, 0))), 15, "unknown kind 4"},
		{"shared memory", mod(sec(2, b("m", "f", 2, 3, 0, 1))), 16, "unknown limits 3"},
		{"table of structures", mod(sec(2, b("m", "f", 1, 0x6b, 0, 0))), 16, "unknown reference type 0x6b"},
		{"mutability", mod(sec(2, b("m", "f", 3, typeI32, 2))), 17, "unknown mutability 2"},
		{"block in a global", ok(sec(6, b(typeI32, 0, opBlock, emptyBlock, opEnd, opEnd))), at + 5, "block in a constant"},
		{"more exports than bytes", ok(rawSec(7, b(0xff, 0xff, 0xff, 0xff, 0x0f))), at + 7, "unexpected end"},
		{"export of a tag", ok(sec(7, export("x", 4, 0))), at + 5, "unknown kind 4"},
		{"instrumented already", ok(sec(7, export(fuelName, 3, 0))), at + 3, "is the module instrumented?"},
		{"poll imported twice", mod(types, sec(2, b("m", pollName, 0, 0), b("n", pollName, 0, 0))), len(mod(types)) + 3 + 18,
			"imported twice"},
		{"poll of an unknown type", mod(types, sec(2, b("m", pollName, 0, 6))), len(mod(types)) + 3, "unknown type 6"},
		{"poll with a parameter", mod(types, sec(2, b("m", pollName, 0, 2))), len(mod(types)) + 3, "takes parameters"},
		{"poll with two results", mod(sec(1, b(0x60, 0, 2, 0x7f, 0x7f)), sec(2, b("m", pollName, 0, 0))), 8 + 8 + 3,
			"takes parameters"},
		{"poll with an i64", mod(sec(1, b(0x60, 0, 1, 0x7e)), sec(2, b("m", pollName, 0, 0))), 8 + 7 + 3, "takes parameters"},
		{"names that end too soon", mod(custom("name", 1, 3, 2, 0, 0)), 8 + 2 + 5 + 5, "name section: offset"},
		{"a function named twice", mod(names(1, "f", 1, "g")), 8 + 2 + 5 + 4 + 2 + 1 + 3, "function 1 is named twice"},
		{"custom section without a name", mod(rawSec(0, nil)), 10, "unexpected end"},
	} {
		_, _, err := instrument(test.wasm, options{every: 1})
		var e *malformed
		if !errors.As(err, &e) || e.Offset != test.at || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want %q at offset 0x%x", test.name, err, test.want, test.at)
		}
	}
}

func TestPollIsNeeded(t *testing.T) {
	for _, test := range []struct {
		name string
		wasm []byte
	}{
		{"no import", mod(types)},
		{"a global of that name", mod(types, sec(2, b("env", pollName, 3, typeI32, 0)))},
		{"an export of that name", mod(types, sec(3, b(0)), sec(7, export(pollName, 0, 0)), sec(10, fn()))},
	} {
		if _, _, err := instrument(test.wasm, options{every: 1}); err == nil || !strings.Contains(err.Error(),
			"does not import codemode_poll") {
			t.Errorf("%s: got error %v", test.name, err)
		}
	}
}

// Every beginning of a module is an error or, where a section ends, a module of its own; none of them panics.
func TestTruncated(t *testing.T) {
	wasm := b(endless, names(0, "p", 1, "f"))
	ends := map[int]bool{}
	for r := (&reader{data: wasm, pos: len(header), end: len(wasm)}); r.more(); r.part() {
		ends[r.pos] = true
		r.byte()
	}
	for n := range wasm {
		_, _, err := instrument(wasm[:n], options{every: 1})
		if err == nil && !ends[n] {
			t.Errorf("the first %d of %d bytes were accepted", n, len(wasm))
		}
	}
}

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "raw.wasm"), filepath.Join(dir, "out.wasm")
	wasm := b(endless, names(1, "f"))
	if err := os.WriteFile(in, wasm, 0o644); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "bad.wasm")
	if err := os.WriteFile(bad, wasm[:20], 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
		want           options // of the output, with code 0
	}{
		{name: "as it is", args: []string{"-in", in, "-out", out}, want: options{every: 100_000}},
		{name: "all flags", args: []string{"-in", in, "-out", out, "-every", "7", "-skip", "f", "-strip", "-stats"},
			stdout: "1 functions, 0 loops report in; 1 functions with 1 loops skipped\n",
			want:   options{every: 7, skip: []string{"f"}, strip: true}},
		{name: "no output", args: []string{"-in", in}, code: 2, stderr: "both -in and -out are needed"},
		{name: "every zero", args: []string{"-in", in, "-out", out, "-every", "0"}, code: 2,
			stderr: "-every 0 is not between"},
		{name: "every too large", args: []string{"-in", in, "-out", out, "-every", "2147483648"}, code: 2,
			stderr: "is not between"},
		{name: "a stray argument", args: []string{"-in", in, "-out", out, "f"}, code: 2, stderr: `unexpected argument "f"`},
		{name: "unknown flag", args: []string{"-fuel"}, code: 2, stderr: "not defined: -fuel"},
		{name: "help", args: []string{"-h"}, stderr: "-skip function"},
		{name: "no such file", args: []string{"-in", filepath.Join(dir, "none"), "-out", out}, code: 1, stderr: "none"},
		{name: "output in no folder", args: []string{"-in", in, "-out", filepath.Join(dir, "none", "out")}, code: 1,
			stderr: "none"},
		{name: "malformed", args: []string{"-in", bad, "-out", out}, code: 1, stderr: bad + ": offset 0xa: unexpected end"},
		{name: "missing function", args: []string{"-in", in, "-out", out, "-skip", "g"}, code: 1,
			stderr: `no function named "g"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			os.Remove(out)
			var stdout, stderr strings.Builder
			if code := run(test.args, &stdout, &stderr); code != test.code {
				t.Errorf("exit code: got %d, want %d", code, test.code)
			}
			if stdout.String() != test.stdout || !strings.Contains(stderr.String(), test.stderr) {
				t.Errorf("got output %q, errors %q; want %q, %q", &stdout, &stderr, test.stdout, test.stderr)
			}
			got, err := os.ReadFile(out)
			if test.want.every == 0 {
				if err == nil {
					t.Error("something was written")
				}
				return
			}
			if want, _ := mustInstrument(t, wasm, test.want); string(got) != string(want) {
				t.Errorf("got\n% x, error %v; want\n% x", got, err, want)
			}
		})
	}
}

// Whatever is read, nothing panics; and what the engine takes as it is, it takes instrumented.
func FuzzInstrument(f *testing.F) {
	spin := fn(opLoop, emptyBlock, opEnd)
	f.Add(endless)
	f.Add(b(endless, names(1, "f")))
	f.Add(mod(types, imports0, sec(3, b(0)), sec(4, b(0x70, 0, 1)), sec(5, b(0, 1)),
		sec(9, b(0, opI32Const, 0, opEnd, 1, 1)),
		rawSec(12, b(1)), sec(10, spin), sec(11, b(0, opI32Const, 0, opEnd, "data"))))
	f.Add(program([]int{2}, fn(i32(0), local, 0, opLoop, 5, localTee, 0, 0x6a, local, 0, i32(1), 0x6b, localTee, 0, local,
		0, brIf, 0, opEnd, opDrop)))
	ctx := context.Background()
	engine := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	f.Cleanup(func() { engine.Close(ctx) })
	f.Fuzz(func(t *testing.T, wasm []byte) {
		out, done, err := instrument(wasm, options{every: 100_000})
		if err != nil {
			return
		}
		if _, again, err := instrument(out, options{every: 1}); err == nil {
			t.Errorf("instrumented a second time: %v", again)
		}
		if boasts(wasm) {
			return // the engine makes room for what a vector says it has, before it reads it
		}
		plain, err := engine.CompileModule(ctx, wasm)
		if err != nil {
			return // decoded, but not valid
		}
		defer plain.Close(ctx)
		instrumented, err := engine.CompileModule(ctx, out)
		if err != nil {
			t.Fatalf("valid before, not any more (%v): %v\n% x\n% x", done, err, wasm, out)
		}
		instrumented.Close(ctx)
	})
}

// boasts reports whether some number in a module, wherever one may begin, is more than the elements of any vector in
// it.
func boasts(wasm []byte) bool {
	for at := range wasm {
		var n uint64
		for i, c := range wasm[at:min(at+5, len(wasm))] {
			n |= uint64(c&0x7f) << (7 * i)
			if c < 0x80 {
				if i > 2 && n > 1<<20 {
					return true
				}
				break
			}
		}
	}
	return false
}
