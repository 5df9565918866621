package sandbox

import (
	"encoding/binary"
	"errors"
)

// A hollow module is the guest without its code: each function does nothing but
// trap. The machine code of the guest was made from the whole module, which
// was validated then; to be linked with that machine code again, a module's types,
// imports, exports and data are enough, and validating the code anew at
// each start would take longer than all the rest of it.

// sectionCode is the id of the code section (WebAssembly 2.0, 5.5.13).
const sectionCode = 10

var errNotWasm = errors.New("not a WebAssembly module")

// hollow makes the hollow form of a module.
func hollow(wasm []byte) ([]byte, error) {
	const header = 8 // magic number and version
	if len(wasm) < header {
		return nil, errNotWasm
	}
	out := append(make([]byte, 0, len(wasm)), wasm[:header]...)
	for at := header; at < len(wasm); {
		size, n := binary.Uvarint(wasm[at+1:])
		body := at + 1 + n
		if n <= 0 || size > uint64(len(wasm)-body) {
			return nil, errNotWasm
		}
		end := body + int(size)
		if wasm[at] != sectionCode {
			out = append(out, wasm[at:end]...)
			at = end
			continue
		}
		count, n := binary.Uvarint(wasm[body:end])
		if n <= 0 || count > size {
			return nil, errNotWasm
		}
		trap := []byte{3, 0, 0, 0x0b} // size, no locals, unreachable, end
		out = append(out, sectionCode)
		out = binary.AppendUvarint(out, uint64(n)+count*uint64(len(trap)))
		out = binary.AppendUvarint(out, count)
		for range count {
			out = append(out, trap...)
		}
		at = end
	}
	return out, nil
}
