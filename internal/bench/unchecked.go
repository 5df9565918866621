package bench

import (
	"bytes"
	"errors"
)

// The instructions that guest/instrument puts at the head of a loop, in WebAssembly's bytes: before and after the
// number of loop heads between two reports. G stands for the global counter, F for the called function.
const (
	checkBefore = "\x23G\x41\x01\x6b\x24G\x23G\x41\x00\x4a\x04\x40\x05\x41" // G = G - 1; if G > 0 {} else { G =
	checkAfter  = "\x24G\x10F\x0b"                                          // ; F() }
	nop         = 0x01
)

// withoutChecks returns a guest without the counters through which its loops report: it shows their cost. The counters
// of the interpreter's own loop stay, as in every QuickJS.
func withoutChecks(wasm []byte) ([]byte, error) {
	check := findCheck(wasm)
	if check == nil {
		return nil, errors.New("the guest has no counters in its loops, so what they cost cannot be told")
	}
	return bytes.ReplaceAll(wasm, check, bytes.Repeat([]byte{nop}, len(check))), nil // same length: no size changes
}

// findCheck returns the check, which is identical in all loops.
func findCheck(wasm []byte) []byte {
	fixed := []byte(checkBefore[len(checkBefore)-7:])
	for at := bytes.Index(wasm, fixed); at >= 0; {
		start, end := at+len(fixed)-len(checkBefore), at+len(fixed)
		for end < len(wasm) && wasm[end] >= 0x80 { // LEB128
			end++
		}
		end += 1 + len(checkAfter)
		if start >= 0 && end <= len(wasm) && like(wasm[start:], checkBefore) && like(wasm[end-len(checkAfter):], checkAfter) {
			return wasm[start:end]
		}
		next := bytes.Index(wasm[at+1:], fixed)
		if next < 0 {
			return nil
		}
		at += 1 + next
	}
	return nil
}

// like reports whether code begins with form, where any byte matches F and G.
func like(code []byte, form string) bool {
	for i := range len(form) {
		if c := form[i]; c != code[i] && c != 'F' && c != 'G' {
			return false
		}
	}
	return true
}
