package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// A module is the guest in parts: the snapshot takes its data, and the cache keeps its machine code. Little remains to
// read at each start, and to do for each guest.
type module struct {
	// stub is the module without its data, which guests get from the snapshot, and without its code: each function only
	// traps. wazero validated the bare module when it compiled the machine code. To link that code again, the types,
	// imports and exports of a module are enough. Validating the code again at each start would take longer than the
	// rest of the start.
	stub      []byte
	code      []byte // the section, whole
	codeAfter int    // position and end in stub of the section without code
	codeEnd   int
	data      []segment
	memory    int // bytes, at the start
}

// bare is the module without its data.
func (m *module) bare() []byte {
	return slices.Concat(m.stub[:m.codeAfter], m.code, m.stub[m.codeEnd:])
}

// The ids of sections (WebAssembly 2.0, 5.5.2).
const (
	sectionMemory    = 5
	sectionCode      = 10
	sectionData      = 11
	sectionDataCount = 12
)

var errNotWasm = errors.New("not a WebAssembly module")

// takeApart reads the necessary parts of a module. A module that places its data differently than the guest is an
// error: without its data it would be another module.
func takeApart(wasm []byte) (*module, error) {
	const header = 8 // magic number and version
	if len(wasm) < header {
		return nil, errNotWasm
	}
	m := &module{stub: slices.Clone(wasm[:header])}
	for at := header; at < len(wasm); {
		size, n := binary.Uvarint(wasm[at+1:])
		body := at + 1 + n
		if n <= 0 || size > uint64(len(wasm)-body) {
			return nil, errNotWasm
		}
		end := body + int(size)
		keep := wasm[at:end]
		var err error
		switch wasm[at] {
		case sectionData:
			m.data, err = readData(wasm[body:end])
			keep = nil
		case sectionDataCount:
			keep = nil
		case sectionMemory:
			m.memory, err = readMemory(wasm[body:end])
		case sectionCode:
			m.code, m.codeAfter = keep, len(m.stub)
			keep, err = stubCode(wasm[body:end])
			m.codeEnd = m.codeAfter + len(keep)
		}
		if err != nil {
			return nil, err
		}
		m.stub = append(m.stub, keep...)
		at = end
	}
	for _, s := range m.data {
		if s.At+len(s.Bytes) > m.memory {
			return nil, fmt.Errorf("%w: its data does not fit into its memory", errNotWasm)
		}
	}
	return m, nil
}

// stubCode is a code section in which each function does nothing but trap.
func stubCode(section []byte) ([]byte, error) {
	count, n := binary.Uvarint(section)
	if n <= 0 || count > uint64(len(section)) {
		return nil, errNotWasm
	}
	trap := []byte{3, 0, 0, 0x0b} // size, no locals, unreachable, end
	bodies := append(section[:n:n], bytes.Repeat(trap, int(count))...)
	return append(binary.AppendUvarint([]byte{sectionCode}, uint64(len(bodies))), bodies...), nil
}

// readMemory returns the initial size of a module's only memory.
func readMemory(section []byte) (int, error) {
	count, n := binary.Uvarint(section)
	if n <= 0 || count != 1 || len(section) < n+2 {
		return 0, fmt.Errorf("%w: it does not have exactly one memory", errNotWasm)
	}
	pages, k := binary.Uvarint(section[n+1:]) // after the flags
	if k <= 0 || pages > maxMemory/wasmPage {
		return 0, fmt.Errorf("%w: no guest can have a memory of its size", errNotWasm)
	}
	return int(pages) * wasmPage, nil
}

// readData reads segments for memory 0 at a constant address.
func readData(section []byte) ([]segment, error) {
	bad := fmt.Errorf("%w: it places data at an address that is not constant", errNotWasm)
	count, n := binary.Uvarint(section)
	if n <= 0 || count > uint64(len(section)) {
		return nil, bad
	}
	p := section[n:]
	segments := make([]segment, 0, count)
	for range count {
		if len(p) < 2 || p[0] != 0 || p[1] != 0x41 { // active, memory 0; i32.const
			return nil, bad
		}
		at, n := varint(p[2:])
		if n <= 0 || at < 0 || len(p) < 2+n+1 || p[2+n] != 0x0b { // end
			return nil, bad
		}
		p = p[2+n+1:]
		size, n := binary.Uvarint(p)
		if n <= 0 || size > uint64(len(p)-n) {
			return nil, bad
		}
		segments = append(segments, segment{At: at, Bytes: p[n : n+int(size)]})
		p = p[n+int(size):]
	}
	return segments, nil
}

// varint reads a signed LEB128 number (WebAssembly 2.0, 5.2.2) of 32 bits and how many bytes it has; 0 if it is
// invalid.
func varint(p []byte) (v, n int) {
	for shift := 0; n < len(p) && n < 5; shift += 7 {
		b := p[n]
		n++
		v |= int(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 {
				v -= 1 << (shift + 7)
			}
			return v, n
		}
	}
	return 0, 0
}
