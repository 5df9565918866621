package main

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var errStop = errors.New("stopped by the test")

// endless counts its steps for ever.
var endless = program([]int{0}, fn(opLoop, emptyBlock, add1(0), br, 0, opEnd))

// stepsAtPolls runs endless until it has polled n times, and returns how many steps were complete at each poll.
func stepsAtPolls(t *testing.T, g *guest, n int, atPoll func(poll int)) []int32 {
	t.Helper()
	var steps []int32
	g.poll = func() {
		steps = append(steps, g.global("steps"))
		if atPoll != nil {
			atPoll(len(steps))
		}
		if len(steps) == n {
			panic(errStop)
		}
	}
	if _, err := g.call(); !errors.Is(err, errStop) {
		t.Fatalf("endless loop ended with %v", err)
	}
	return steps
}

func TestEndlessLoopPolls(t *testing.T) {
	for _, every := range []int32{1, 2, 63, 64, 1000, 100_000} {
		out, done := mustInstrument(t, endless, options{every: every})
		if want := (stats{functions: 1, loops: 1}); done != want {
			t.Errorf("stats: got %+v, want %+v", done, want)
		}
		g := start(t, out, 1)
		if got := g.global(fuelName); got != every {
			t.Errorf("%s: got %d at the start, want %d", fuelName, got, every)
		}
		got := stepsAtPolls(t, g, 3, nil)
		if diff := cmp.Diff([]int32{every - 1, 2*every - 1, 3*every - 1}, got); diff != "" {
			t.Errorf("every %d: steps at polls (-want +got):\n%s", every, diff)
		}
	}
}

func TestHostSetsFuel(t *testing.T) {
	const every = 1000
	out, _ := mustInstrument(t, endless, options{every: every})
	for _, test := range []struct {
		fuel  int32
		first int32 // loop head that polls first
	}{
		{fuel: 7, first: 7},
		{fuel: 1, first: 1},
		{fuel: 0, first: 1},
		{fuel: -1, first: 1},
		{fuel: math.MinInt32 + 1, first: 1},
		{fuel: 5000, first: 5000},
	} {
		g := start(t, out, 1)
		g.setFuel(test.fuel)
		got := stepsAtPolls(t, g, 2, nil)
		if diff := cmp.Diff([]int32{test.first - 1, test.first + every - 1}, got); diff != "" {
			t.Errorf("fuel %d: steps at polls (-want +got):\n%s", test.fuel, diff)
		}
	}
}

func TestFuelIsFullAtPollAndWhatThePollWritesStays(t *testing.T) {
	out, _ := mustInstrument(t, endless, options{every: 1000})
	g := start(t, out, 1)
	got := stepsAtPolls(t, g, 3, func(poll int) {
		if fuel := g.global(fuelName); fuel != 1000 {
			t.Errorf("poll %d: fuel is %d, want 1000", poll, fuel)
		}
		if poll == 1 {
			g.setFuel(5)
		}
	})
	if diff := cmp.Diff([]int32{999, 1004, 2004}, got); diff != "" {
		t.Errorf("steps at polls (-want +got):\n%s", diff)
	}
}

// Polling at every head, a program's polls are its loop heads, and its result is what it was.
func TestLoopsOfEveryShape(t *testing.T) {
	countdown := func(n int, inside ...any) []byte { // runs inside while local n, decremented, is not zero
		return b(opLoop, emptyBlock, b(inside...), local, n, i32(1), 0x6b, localTee, n, brIf, 0, opEnd)
	}
	for _, test := range []struct {
		name  string
		wasm  []byte
		args  []uint64
		want  []uint64
		loops int
		polls int
	}{
		{
			name:  "no loop",
			wasm:  program([]int{2}, fn(local, 0)),
			args:  []uint64{42},
			want:  []uint64{42},
			loops: 0, polls: 0,
		}, {
			name:  "a loop that is not repeated",
			wasm:  program([]int{2}, fn(opLoop, typeI32, local, 0, opEnd)),
			args:  []uint64{42},
			want:  []uint64{42},
			loops: 1, polls: 1,
		}, {
			name:  "a loop inside a loop",
			wasm:  program([]int{2}, fnWith(1, countdown(0, i32(4), localSet, 1, countdown(1, add1(0))), opGlobalGet, 0)),
			args:  []uint64{3},
			want:  []uint64{12},
			loops: 2, polls: 3 + 12,
		}, {
			name: "two functions, a call between them",
			wasm: program([]int{2, 0},
				fn(countdown(0, opCall, 2), opGlobalGet, 0),
				fnWith(1, i32(5), localSet, 0, countdown(0, add1(0)))),
			args:  []uint64{2},
			want:  []uint64{10},
			loops: 2, polls: 2 + 10,
		}, {
			name: "a loop with parameters and results: the sum of 1 to n",
			wasm: program([]int{2}, fn(
				i32(0), local, 0, // sum, n
				opLoop, 5,
				localTee, 0, 0x6a, // sum+n
				local, 0, i32(1), 0x6b, localTee, 0, // sum, n-1
				local, 0, brIf, 0,
				opEnd,
				opDrop)),
			args:  []uint64{10},
			want:  []uint64{55},
			loops: 1, polls: 10,
		}, {
			name: "br_table out of and back into loops",
			wasm: program([]int{2}, fn(
				opBlock, emptyBlock,
				opLoop, emptyBlock,
				opLoop, emptyBlock,
				add1(0),
				local, 0, i32(1), 0x6b, localTee, 0, // n-1: 0 the inner loop, 1 the outer one, else out
				brTable, 2, 0, 1, 2,
				opEnd, opEnd, opEnd,
				opGlobalGet, 0)),
			args:  []uint64{2}, // inner (1), outer (0), inner, then -1: out
			want:  []uint64{2 + 1},
			loops: 2, polls: 2 + 3,
		}, {
			name: "a loop in the else of an if",
			wasm: program([]int{2}, fn(
				local, 0, opIf, typeI32, i32(1), opElse, opLoop, typeI32, i32(2), opEnd, opEnd)),
			args:  []uint64{0},
			want:  []uint64{2},
			loops: 1, polls: 1,
		}, {
			name: "a loop behind unreachable code",
			wasm: program([]int{2}, fn(opBlock, emptyBlock, br, 0, opLoop, 5, i32(1), brIf, 0, opEnd, opDrop, opDrop, opEnd,
				local, 0)),
			args:  []uint64{1},
			want:  []uint64{1},
			loops: 1, polls: 0,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			plain, err := start(t, test.wasm, 1).call(test.args...)
			if err != nil {
				t.Fatalf("as it is: %v", err)
			}
			out, done := mustInstrument(t, test.wasm, options{every: 1})
			g := start(t, out, 1)
			got, err := g.call(test.args...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(plain, got); diff != "" {
				t.Errorf("result with and without instrumentation (-without +with):\n%s", diff)
			}
			if done.loops != test.loops || g.polls != test.polls {
				t.Errorf("got %d loops, %d polls; want %d, %d", done.loops, g.polls, test.loops, test.polls)
			}
		})
	}
}

func TestPollWithoutResult(t *testing.T) {
	wasm := mod(types, imports0, sec(3, b(0)), counter, sec(7, export("f", 0, 1), export("steps", 3, 0)),
		sec(10, fn(opLoop, emptyBlock, add1(0), br, 0, opEnd)))
	out, _ := mustInstrument(t, wasm, options{every: 10})
	if diff := cmp.Diff([]int32{9, 19}, stepsAtPolls(t, start(t, out, 0), 2, nil)); diff != "" {
		t.Errorf("steps at polls (-want +got):\n%s", diff)
	}
}

// The import that polls need not be the first, and imported globals come before the one that is added.
func TestIndicesBehindImports(t *testing.T) {
	wasm := mod(types,
		sec(2, b("other", "f", 0, 4), b("other", "g", 3, typeI32, 0), b("x", pollName, 0, 1), b("other", "m", 2, 1, 1, 2),
			b("other", "t", 1, 0x70, 0, 1)),
		sec(3, b(0)), counter, sec(10, fn(opLoop, emptyBlock, opEnd)))
	out, _ := mustInstrument(t, wasm, options{every: 300})
	fuel, poll := 2, 1
	probe := b(
		opGlobalGet, fuel, opI32Const, 1, opI32Sub, opGlobalSet, fuel,
		opGlobalGet, fuel, opI32Const, 0, opI32GtS, opIf, emptyBlock,
		opElse, opI32Const, 0xac, 0x02, opGlobalSet, fuel, opCall, poll, opDrop,
		opEnd)
	if !bytes.Contains(out, fn(opLoop, emptyBlock, probe, opEnd)) {
		t.Errorf("the instrumented function is not in\n% x", out)
	}
	if !bytes.Contains(out, sec(7, export(fuelName, 3, fuel))) {
		t.Errorf("the export is not in\n% x", out)
	}
}

func TestSkip(t *testing.T) {
	spin := fn(opLoop, emptyBlock, opEnd)
	twice := fn(opLoop, emptyBlock, opLoop, emptyBlock, opEnd, opEnd)
	wasm := b(program([]int{0, 0, 0}, fn(opCall, 2, opCall, 3), spin, twice), names(0, "p", 1, "f", 2, "spin", 3, "twice"))

	out, done := mustInstrument(t, wasm, options{every: 1, skip: []string{"twice"}})
	if want := (stats{functions: 3, loops: 1, skipped: 1, left: 2}); done != want {
		t.Errorf("stats: got %+v, want %+v", done, want)
	}
	if !bytes.Contains(out, twice) {
		t.Error("the skipped function has changed")
	}
	g := start(t, out, 1)
	if _, err := g.call(); err != nil || g.polls != 1 {
		t.Errorf("got %d polls, error %v; want 1 poll, of the function that was not skipped", g.polls, err)
	}

	for _, test := range []struct {
		name string
		wasm []byte
		skip []string
		want string
	}{
		{"unknown name", wasm, []string{"spin", "spine"}, `no function named "spine"`},
		{"imported function", wasm, []string{"p"}, `no function named "p"`},
		{"the same name twice", wasm, []string{"spin", "spin"}, "given twice"},
		{"no name section", program([]int{0}, spin), []string{"spin"}, `no function named "spin"`},
		{"two functions of one name", b(program([]int{0, 0}, spin, spin), names(1, "spin", 2, "spin")), []string{"spin"},
			`2 functions are named "spin"`},
	} {
		if _, _, err := instrument(test.wasm, options{every: 1, skip: test.skip}); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want one with %q", test.name, err, test.want)
		}
	}
}

// All but the added items stays byte for byte: padded numbers, unread sections, code without loops or skipped.
func TestNothingElseChanges(t *testing.T) {
	padded := func(n int) []byte { return b(n|0x80, 0x80, 0) }
	body := b(1, 1, typeI32, opLoop, emptyBlock, opI32Const, 0x83, 0x80, 0x00, opDrop, opEnd, opEnd)
	function := b(padded(len(body)), body)
	code := b(10, padded(3+len(function)), padded(1), function)
	types := b(1, padded(7), 2, 0x60, 0, 0, 0x60, 0, 0)
	g0 := b(typeI32, 0, opI32Const, 0xff, 0x00, opEnd)
	fuel := b(typeI32, 1, opI32Const, 0xa0, 0x8d, 0x06, opEnd)
	before := b(types, custom("one", 1, 2, 3), imports0, sec(3, b(0)), sec(4, b(0x70, 0, 1)), sec(5, b(0, 1)))
	after := b(rawSec(8, b(1)), sec(9, b(0, opI32Const, 0, opEnd, 1, 1)), rawSec(12, b(1)), code,
		sec(11, b(0, opI32Const, 0, opEnd, "data")))
	name := names(1, "f")

	for _, test := range []struct {
		name     string
		in, want []byte
		strip    bool
	}{
		{
			name: "with globals and exports",
			in:   mod(before, custom("two"), sec(6, g0), sec(7, export("f", 0, 1)), custom("three"), after, name),
			want: mod(before, custom("two"), sec(6, g0, fuel), sec(7, export("f", 0, 1), export(fuelName, 3, 1)),
				custom("three"), after, name),
		}, {
			name: "without either",
			in:   mod(before, after, name),
			want: mod(before, sec(6, fuel), sec(7, export(fuelName, 3, 0)), after, name),
		}, {
			name: "without globals",
			in:   mod(before, sec(7, export("f", 0, 1)), after, name),
			want: mod(before, sec(6, fuel), sec(7, export("f", 0, 1), export(fuelName, 3, 0)), after, name),
		}, {
			name: "stripped",
			in:   mod(before, after, name, custom("four", 4)),
			want: mod(bytes.Replace(before, custom("one", 1, 2, 3), nil, 1), sec(6, fuel), sec(7, export(fuelName, 3, 0)),
				after),
			strip: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := options{every: 100_000, skip: []string{"f"}, strip: test.strip}
			got, _ := mustInstrument(t, test.in, o)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			again, _ := mustInstrument(t, test.in, o)
			if !bytes.Equal(got, again) {
				t.Error("the same input gave another output")
			}
		})
	}
}

// A module that ends before the place of the new sections gets them at its end.
func TestNothingDefined(t *testing.T) {
	got, done := mustInstrument(t, mod(types, imports), options{every: 1})
	want := mod(types, imports, sec(6, b(typeI32, 1, i32(1), opEnd)), sec(7, export(fuelName, 3, 0)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if done != (stats{}) {
		t.Errorf("stats: got %+v, want none", done)
	}
}

// Sizes that were padded become as short as they can be where they change, and only there.
func TestChangedSizesAreMinimal(t *testing.T) {
	spin, still := b(0, opLoop, emptyBlock, opEnd, opEnd), b(0, opEnd)
	pad := func(code []byte) []byte { return b(len(code)|0x80, 0x80, 0, code) }
	wasm := mod(types, imports, sec(3, b(0), b(0)), rawSec(10, b(0x82, 0x00, pad(spin), pad(still))))
	got, _ := mustInstrument(t, wasm, options{every: 1})
	want := mod(types, imports, sec(3, b(0), b(0)), sec(6, b(typeI32, 1, i32(1), opEnd)), sec(7, export(fuelName, 3, 0)),
		rawSec(10, b(0x82, 0x00, fn(opLoop, emptyBlock, probe(0, 0, 1, true), opEnd), pad(still))))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestBulkOnlyWhereItIsAllowed(t *testing.T) {
	memory := sec(5, b(0, 1))
	operands := b(i32(0), i32(0), i32(0))
	for _, test := range []struct {
		name string
		code []byte
		bulk []string
		want string // "" is no error
	}{
		{"memory.fill where it may be", b(operands, opPrefix, 11, 0), []string{"memset"}, ""},
		{"memory.fill elsewhere", b(operands, opPrefix, 11, 0), []string{"memmove"}, `function 1, "memset", copies or fills`},
		{"memory.copy elsewhere", b(operands, opPrefix, 10, 0, 0), []string{}, `function 1, "memset", copies or fills`},
		{"anywhere", b(operands, opPrefix, 10, 0, 0), nil, ""},
		{"a conversion is not meant", b(0x43, 0, 0, 0, 0, opPrefix, 0, opDrop), []string{}, ""},
	} {
		wasm := b(mod(types, imports, sec(3, b(0)), memory, counter, sec(7, export("f", 0, 1)), sec(10, fn(test.code))),
			names(1, "memset"))
		_, _, err := instrument(wasm, options{every: 1, bulk: test.bulk})
		if test.want == "" && err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got error %v, want one with %q", test.name, err, test.want)
		}
	}
}
