package main

import "slices"

// The opcodes that this command must know by name.
const (
	opBlock     = 0x02
	opLoop      = 0x03
	opIf        = 0x04
	opElse      = 0x05
	opEnd       = 0x0b
	opCall      = 0x10
	opDrop      = 0x1a
	opGlobalGet = 0x23
	opGlobalSet = 0x24
	opI32Const  = 0x41
	opI32GtS    = 0x4a
	opI32Sub    = 0x6b
	opPrefix    = 0xfc // a second opcode follows

	emptyBlock = 0x40
	typeI32    = 0x7f
)

// immediates says what follows each opcode, a letter per item:
//
//	b  block type                          i  i32     f  f32
//	u  index or depth                      I  i64     F  f64
//	m  alignment and offset                t  value types, counted
//	j  depths, counted, and one more       r  reference type
//	0  a zero byte, where later versions of WebAssembly have the index of a memory
//
// "-" is nothing. An opcode that is absent is unknown.
var immediates = func() (t [256]string) {
	same := func(first, last int, items string) {
		for op := first; op <= last; op++ {
			t[op] = items
		}
	}
	same(0x00, 0x01, "-")  // unreachable, nop
	same(0x02, 0x04, "b")  // block, loop, if
	same(0x05, 0x05, "-")  // else
	same(0x0b, 0x0b, "-")  // end
	same(0x0c, 0x0d, "u")  // br, br_if
	same(0x0e, 0x0e, "j")  // br_table
	same(0x0f, 0x0f, "-")  // return
	same(0x10, 0x10, "u")  // call
	same(0x11, 0x11, "uu") // call_indirect
	same(0x1a, 0x1b, "-")  // drop, select
	same(0x1c, 0x1c, "t")  // select with types
	same(0x20, 0x26, "u")  // local.get to table.set
	same(0x28, 0x3e, "m")  // i32.load to i64.store32
	same(0x3f, 0x40, "0")  // memory.size, memory.grow
	same(0x41, 0x41, "i")
	same(0x42, 0x42, "I")
	same(0x43, 0x43, "f")
	same(0x44, 0x44, "F")
	same(0x45, 0xc4, "-") // i32.eqz to i64.extend32_s
	same(0xd0, 0xd0, "r") // ref.null
	same(0xd1, 0xd1, "-") // ref.is_null
	same(0xd2, 0xd2, "u") // ref.func
	return t
}()

// prefixed is the same for the opcodes after 0xfc.
var prefixed = [...]string{
	0: "-", 1: "-", 2: "-", 3: "-", 4: "-", 5: "-", 6: "-", 7: "-", // saturating conversions
	8:  "u0", // memory.init
	9:  "u",  // data.drop
	10: "00", // memory.copy
	11: "0",  // memory.fill
	12: "uu", // table.init
	13: "u",  // elem.drop
	14: "uu", // table.copy
	15: "u",  // table.grow
	16: "u",  // table.size
	17: "u",  // table.fill
}

// instruction skips one instruction and returns its opcode, 0xfc for all with that prefix.
func (r *reader) instruction() byte {
	start := r.pos
	op := r.byte()
	items := immediates[op]
	if op == opPrefix {
		second := r.u32()
		if second >= uint32(len(prefixed)) {
			r.fail(start, "unknown opcode 0xfc %d; build the module without the feature it belongs to", second)
			return op
		}
		items = prefixed[second]
		r.bulk = r.bulk || second == 8 || second == 10 || second == 11
	}
	if items == "" {
		r.fail(start, "unknown opcode 0x%02x; build the module without the feature it belongs to", op)
	}
	for _, item := range items {
		r.immediate(item)
	}
	return op
}

func (r *reader) immediate(item rune) {
	start := r.pos
	switch item {
	case 'b':
		if r.more() && (r.data[r.pos] == emptyBlock || isValueType(r.data[r.pos])) {
			r.pos++
		} else if v := r.signed(33); v < 0 {
			r.fail(start, "unknown block type")
		}
	case 'u':
		r.u32()
	case 'm':
		// Bit 6 would announce the index of a memory. Without vectors nothing is aligned to more than eight bytes.
		if align := r.u32(); align > 3 {
			r.fail(start, "unknown alignment %d", align)
		}
		r.u32()
	case 'j':
		for n := uint64(r.u32()) + 1; n > 0 && r.err == nil; n-- {
			r.u32()
		}
	case '0':
		if b := r.byte(); b != 0 {
			r.fail(start, "memory %d: only one memory is supported", b)
		}
	case 'i':
		r.signed(32)
	case 'I':
		r.signed(64)
	case 'f':
		r.bytes(4)
	case 'F':
		r.bytes(8)
	case 't':
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			r.valueType()
		}
	case 'r':
		if b := r.byte(); b != 0x70 && b != 0x6f {
			r.fail(start, "unknown reference type 0x%02x", b)
		}
	}
}

func (r *reader) valueType() byte {
	start := r.pos
	b := r.byte()
	if !isValueType(b) {
		r.fail(start, "unknown value type 0x%02x", b)
	}
	return b
}

// isValueType knows i32, i64, f32, f64, funcref and externref.
func isValueType(b byte) bool { return b >= 0x7c && b <= 0x7f || b == 0x70 || b == 0x6f }

// constant skips an initial value: instructions without blocks, and an end.
func (r *reader) constant() {
	for r.err == nil {
		start := r.pos
		switch r.instruction() {
		case opEnd:
			return
		case opBlock, opLoop, opIf, opElse:
			r.fail(start, "block in a constant expression")
		}
	}
}

// loops reads a whole function, its locals and its instructions, and returns the beginnings of its loop bodies: the
// offset right after each loop's block type, in ascending order.
func (r *reader) loops() ([]int, error) {
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		r.u32()
		r.valueType()
	}
	var heads []int
	open := []byte{opBlock} // what the next ends will close; the first is the function itself
	for r.err == nil && len(open) > 0 {
		start := r.pos
		switch op := r.instruction(); op {
		case opLoop:
			heads = append(heads, r.pos)
			open = append(open, op)
		case opBlock, opIf:
			open = append(open, op)
		case opElse:
			if open[len(open)-1] != opIf {
				r.fail(start, "else without if")
			}
			open[len(open)-1] = opElse
		case opEnd:
			open = open[:len(open)-1]
		}
	}
	return heads, r.done()
}

// probe returns the instructions that decrement the global and, when it reaches zero, reset it and call poll:
//
//	global.get fuel, i32.const 1, i32.sub, global.set fuel
//	global.get fuel, i32.const 0, i32.gt_s
//	if else (i32.const every, global.set fuel, call poll, drop) end
//
// The call stands after else, with nothing before it, on purpose: wazero's optimizing compiler then lays out the common
// path without a taken branch. In loops of a few instructions that is most of the cost: on amd64 a scan for a zero byte
// takes 15 % longer than without a probe, against 60 % with the call behind if; an insertion sort 35 % against 60 %.
// (Whole programs in QuickJS show no difference between the two: 1 % for recursion, 3 % for sorting, 6 % for JSON.)
// i32.eqz is no faster than gt_s, which survives a host that writes zero or less. The second global.get needs no load,
// because the compiler knows the stored value. So local.tee, which would need an additional local, gains nothing.
func probe(global, poll uint32, every int32, drop bool) []byte {
	get := appendU32([]byte{opGlobalGet}, global)
	set := appendU32([]byte{opGlobalSet}, global)
	call := appendU32([]byte{opCall}, poll)
	if drop {
		call = append(call, opDrop)
	}
	return slices.Concat(
		get, []byte{opI32Const, 1, opI32Sub}, set,
		get, []byte{opI32Const, 0, opI32GtS},
		[]byte{opIf, emptyBlock, opElse}, appendI32([]byte{opI32Const}, every), set, call, []byte{opEnd},
	)
}

// appendU32 appends v as the shortest possible LEB128.
func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// appendI32 is appendU32 for signed numbers.
func appendI32(b []byte, v int32) []byte {
	for v < -0x40 || v >= 0x40 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v)&0x7f)
}
