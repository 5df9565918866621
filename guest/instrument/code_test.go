package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// pad is a number of one byte in five, as a linker writes what it may have to patch.
func pad(n int) []byte { return b(n|0x80, 0x80, 0x80, 0x80, 0) }

// opcodes gives examples of the immediates of every known opcode, from first to last. Written down from the binary
// format, apart from the table of the command. The bytes are those of loops (0x03) wherever they can be.
var opcodes = []struct {
	first, last int
	examples    [][]byte
}{
	{0x00, 0x01, [][]byte{{}}}, // unreachable, nop
	{0x02, 0x04, [][]byte{{0x40}, {0x7f}, {0x7e}, {0x7d}, {0x7c}, {0x70}, {0x6f}, {0x03}, {0x83, 0x01},
		{0x83, 0x80, 0x80, 0x80, 0x00}, {0xff, 0xff, 0xff, 0xff, 0x0f}}},
	{0x05, 0x05, [][]byte{{}}},                                                        // else
	{0x0b, 0x0b, [][]byte{{}}},                                                        // end
	{0x0c, 0x0d, [][]byte{{0x03}, {0x83, 0x03}, pad(3)}},                              // br, br_if
	{0x0e, 0x0e, [][]byte{{0, 0x03}, {3, 3, 3, 3, 3}, b(pad(1), pad(3), 0x83, 0x03)}}, // br_table
	{0x0f, 0x0f, [][]byte{{}}},                                                        // return
	{0x10, 0x10, [][]byte{{0x03}, pad(3)}},                                            // call
	{0x11, 0x11, [][]byte{{0x03, 0x03}, b(pad(3), pad(3))}},                           // call_indirect
	{0x1a, 0x1b, [][]byte{{}}},                                                        // drop, select
	{0x1c, 0x1c, [][]byte{{1, 0x7f}, {1, 0x6f}, {0}, {3, 0x7e, 0x7d, 0x7c}}},          // select with types
	{0x20, 0x26, [][]byte{{0x03}, {0x83, 0x03}, pad(3)}},                              // local.get to table.set
	{0x28, 0x3e, [][]byte{{0x03, 0x03}, {0, 0x83, 0x03}, b(pad(2), pad(3))}},          // i32.load to i64.store32
	{0x3f, 0x40, [][]byte{{0}}},                                                       // memory.size, memory.grow
	// i32.const
	{0x41, 0x41, [][]byte{{0x03}, {0x83, 0x03}, {0xff, 0xff, 0xff, 0xff, 0x07}, {0x80, 0x80, 0x80, 0x80, 0x78},
		{0x83, 0x80, 0x80, 0x80, 0x00}, {0xff, 0xff, 0xff, 0xff, 0x7f}}},
	// i64.const
	{0x42, 0x42, [][]byte{{0x03}, b(bytes.Repeat([]byte{0x80}, 9), 0x7f), b(bytes.Repeat([]byte{0xff}, 9), 0x00),
		b(pad(3)[:4], pad(3))}},
	{0x43, 0x43, [][]byte{{3, 0x40, 3, 0x40}}},                      // f32.const
	{0x44, 0x44, [][]byte{{3, 0x40, 3, 0x40, 3, 0x40, 0x0b, 0x0b}}}, // f64.const
	{0x45, 0xc4, [][]byte{{}}},                                      // i32.eqz to i64.extend32_s
	{0xd0, 0xd0, [][]byte{{0x70}, {0x6f}}},                          // ref.null
	{0xd1, 0xd1, [][]byte{{}}},                                      // ref.is_null
	{0xd2, 0xd2, [][]byte{{0x03}, pad(3)}},                          // ref.func
	{0xfc, 0xfc, [][]byte{
		{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, pad(7), // i32.trunc_sat_f32_s to i64.trunc_sat_f64_u
		{8, 0x03, 0}, b(pad(8), pad(3), 0), // memory.init
		{9, 0x03},                                              // data.drop
		{10, 0, 0},                                             // memory.copy
		{11, 0},                                                // memory.fill
		{12, 0x03, 0x03},                                       // table.init
		{13, 0x03},                                             // elem.drop
		{14, 0x03, 0x03},                                       // table.copy
		{15, 0x03}, {16, 0x03}, {17, 0x03}, b(pad(17), pad(3)), // table.grow, table.size, table.fill
	}},
}

func step(code []byte) (int, error) {
	r := &reader{data: code, end: len(code)}
	r.instruction()
	return r.pos, r.err
}

func TestEveryOpcodeIsSteppedOverExactly(t *testing.T) {
	known := map[int]bool{}
	for _, o := range opcodes {
		for op := o.first; op <= o.last; op++ {
			known[op] = true
			for _, immediates := range o.examples {
				code := b(op, immediates)
				if n, err := step(b(code, 0x03, 0x40)); err != nil || n != len(code) {
					t.Errorf("% x and more: got %d bytes, error %v; want %d bytes", code, n, err, len(code))
				}
				for short := range len(code) {
					var e *malformed
					if n, err := step(code[:short]); !errors.As(err, &e) || e.Offset > short {
						t.Errorf("% x: got %d bytes, error %v; want an error inside", code[:short], n, err)
					}
				}
			}
		}
	}
	for op := range 256 {
		if _, err := step(b(op, make([]byte, 16))); !known[op] && (err == nil ||
			!strings.Contains(err.Error(), fmt.Sprintf("unknown opcode 0x%02x", op))) {
			t.Errorf("opcode 0x%02x, which nobody knows: got error %v", op, err)
		}
	}
	for _, second := range []int{18, 19, 127} {
		if _, err := step(b(0xfc, second, make([]byte, 16))); err == nil || !strings.Contains(err.Error(),
			fmt.Sprintf("unknown opcode 0xfc %d", second)) {
			t.Errorf("opcode 0xfc %d, which nobody knows: got error %v", second, err)
		}
	}
}

func TestWrongImmediates(t *testing.T) {
	for _, test := range []struct {
		name string
		code []byte
		at   int
		want string
	}{
		{"index of 33 bits", b(local, 0xff, 0xff, 0xff, 0xff, 0x1f), 1, "does not fit 32 bits"},
		{"index of six bytes", b(local, 0x80, 0x80, 0x80, 0x80, 0x80, 0), 1, "does not fit 32 bits"},
		{"i32 too large", b(0x41, 0xff, 0xff, 0xff, 0xff, 0x0f), 1, "does not fit 32 bits"},
		{"i32 too small", b(0x41, 0x80, 0x80, 0x80, 0x80, 0x70), 1, "does not fit 32 bits"},
		{"i32 of six bytes", b(0x41, 0x80, 0x80, 0x80, 0x80, 0x80, 0), 1, "does not fit 32 bits"},
		{"i64 too large", b(0x42, bytes.Repeat([]byte{0xff}, 9), 0x01), 1, "does not fit 64 bits"},
		{"i64 of eleven bytes", b(0x42, bytes.Repeat([]byte{0x80}, 10), 0), 1, "does not fit 64 bits"},
		{"block of a vector", b(opBlock, 0x7b), 1, "unknown block type"},
		{"block of a negative type, padded", b(opLoop, 0xff, 0x7f), 1, "unknown block type"},
		{"block of a negative type of five bytes", b(opLoop, 0x80, 0x80, 0x80, 0x80, 0x70), 1, "unknown block type"},
		{"block of a type of 34 bits", b(opLoop, 0x80, 0x80, 0x80, 0x80, 0x20), 1, "does not fit 33 bits"},
		{"load from a numbered memory", b(0x28, 0x42, 1, 0), 1, "unknown alignment 66"},
		{"size of a second memory", b(0x3f, 1), 1, "memory 1"},
		{"copy to a second memory", b(0xfc, 10, 0, 1), 3, "memory 1"},
		{"select of vectors", b(0x1c, 1, 0x7b), 2, "unknown value type 0x7b"},
		{"null of an exception", b(0xd0, 0x69), 1, "unknown reference type 0x69"},
		{"br_table that is longer than the code", b(brTable, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0), 8, "unexpected end"},
	} {
		var e *malformed
		if _, err := step(test.code); !errors.As(err, &e) || e.Offset != test.at || !strings.Contains(e.What, test.want) {
			t.Errorf("%s: got error %v, want %q at offset %d", test.name, err, test.want, test.at)
		}
	}
}

// Bytes of a loop that are not one are passed over.
func TestNoLoopInsideImmediates(t *testing.T) {
	code := fn(
		opI32Const, 0x03, opDrop,
		0x42, 0x83, 0x80, 0x03, opDrop,
		0x43, 3, 0x40, 3, 0x40, opDrop,
		0x44, 3, 0x40, 3, 0x40, 3, 0x40, 3, 0x40, opDrop,
		opBlock, 0x03, opEnd,
		opLoop, 0x03, opEnd, // the only one
		opCall, 0x03,
	)
	r := &reader{data: code, pos: 1, end: len(code)}
	heads, err := r.loops()
	if err != nil {
		t.Fatal(err)
	}
	if want := bytes.Index(code, []byte{opEnd, opLoop, 0x03}) + 3; len(heads) != 1 || heads[0] != want {
		t.Errorf("got loops at %d, want one at %d", heads, want)
	}
}

func TestNumbersAreMinimal(t *testing.T) {
	for _, test := range []struct {
		v    int32
		want []byte
	}{
		{0, []byte{0}}, {63, []byte{63}}, {64, []byte{0xc0, 0}}, {-64, []byte{0x40}}, {-65, []byte{0xbf, 0x7f}},
		{1<<31 - 1, []byte{0xff, 0xff, 0xff, 0xff, 0x07}}, {-1 << 31, []byte{0x80, 0x80, 0x80, 0x80, 0x78}},
	} {
		got := appendI32(nil, test.v)
		if !bytes.Equal(got, test.want) {
			t.Errorf("%d: got % x, want % x", test.v, got, test.want)
		}
		for _, width := range []int{32, 33, 64} {
			r := &reader{data: got, end: len(got)}
			if v := r.signed(width); v != int64(test.v) || r.done() != nil {
				t.Errorf("% x read as %d bits: got %d, error %v; want %d", got, width, v, r.err, test.v)
			}
		}
	}
	for _, v := range []uint32{0, 127, 128, 1<<14 - 1, 1 << 14, 1<<32 - 1} {
		got := appendU32(nil, v)
		r := &reader{data: got, end: len(got)}
		if back := r.u32(); back != v || r.done() != nil || len(got) > 1 && got[len(got)-1] == 0 {
			t.Errorf("%d: written as % x, read back as %d, error %v", v, got, back, r.err)
		}
	}
}
