package main

import "fmt"

// A malformed says where the module is invalid.
type malformed struct {
	Offset int // in the file, as wasm-objdump shows it
	What   string
}

func (e *malformed) Error() string { return fmt.Sprintf("offset 0x%x: %s", e.Offset, e.What) }

// A reader decodes data[pos:end]. It keeps the first error; after it every read returns zero. So callers check err at
// the end, and in each loop with a length that they have read.
type reader struct {
	data     []byte
	pos, end int
	bulk     bool // the reader has seen an instruction on whole areas of memory
	err      error
}

// fail records an error at offset. Only the first failure counts.
func (r *reader) fail(offset int, format string, args ...any) {
	if r.err == nil {
		r.err = &malformed{offset, fmt.Sprintf(format, args...)}
	}
}

func (r *reader) more() bool { return r.err == nil && r.pos < r.end }

func (r *reader) byte() byte {
	if r.err != nil {
		return 0
	}
	if r.pos >= r.end {
		r.fail(r.pos, "unexpected end")
		return 0
	}
	r.pos++
	return r.data[r.pos-1]
}

// bytes returns the next n bytes without a copy.
func (r *reader) bytes(n uint32) []byte {
	if r.err != nil {
		return nil
	}
	if uint64(n) > uint64(r.end-r.pos) {
		r.fail(r.pos, "unexpected end: %d bytes announced, %d left", n, r.end-r.pos)
		return nil
	}
	r.pos += int(n)
	return r.data[r.pos-int(n) : r.pos : r.pos]
}

func (r *reader) name() string { return string(r.bytes(r.u32())) }

// part reads a length and returns a reader of that many bytes. r itself skips them.
func (r *reader) part() *reader {
	n := r.u32()
	start := r.pos
	r.bytes(n)
	return &reader{data: r.data, pos: start, end: r.pos, err: r.err}
}

// done returns the first error; leftover bytes are an error.
func (r *reader) done() error {
	if r.more() {
		r.fail(r.pos, "%d bytes too many", r.end-r.pos)
	}
	return r.err
}

// u32 reads an unsigned LEB128 number of at most five bytes. It may be longer than necessary, because linkers pad.
func (r *reader) u32() uint32 {
	start := r.pos
	var v uint32
	for shift := 0; ; shift += 7 {
		b := r.byte()
		v |= uint32(b&0x7f) << shift
		if shift == 28 && b > 0x0f {
			r.fail(start, "number does not fit 32 bits")
			return 0
		}
		if b < 0x80 {
			return v
		}
	}
}

// signed reads a signed LEB128 number of the given width: 32, 33 or 64 bits.
func (r *reader) signed(width int) int64 {
	start := r.pos
	var v int64
	for shift := 0; ; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		left := width - shift // how many bits of b may count; all others must repeat the sign
		if left <= 7 {
			if sign := int8(b<<1) >> left; b >= 0x80 || sign != 0 && sign != -1 {
				r.fail(start, "number does not fit %d bits", width)
				return 0
			}
		}
		if b < 0x80 {
			if shift < 57 {
				v = v << (57 - shift) >> (57 - shift) // extend the sign
			}
			return v
		}
	}
}
