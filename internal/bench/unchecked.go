package bench

import (
	"bytes"
	"errors"
)

// The instructions that guest/instrument puts at the head of a loop, in
// WebAssembly's bytes: before and after the number of loop heads from one report to
// the next. G stands for the global that counts, F for the function that is called.
const (
	checkBefore = "\x23G\x41\x01\x6b\x24G\x23G\x41\x00\x4a\x04\x40\x05\x41" // G = G - 1; if G > 0 {} else { G =
	checkAfter  = "\x24G\x10F\x0b"                                          // ; F() }
	nop         = 0x01
)

// withoutChecks returns a guest without the counters that make its loops
// report in: the one that tells what they cost. What the interpreter's own loop
// counts stays, as it does in every QuickJS.
func withoutChecks(wasm []byte) ([]byte, error) {
	check := findCheck(wasm)
	if check == nil {
		return nil, errors.New("the guest has no counters in its loops, so what they cost cannot be told")
	}
	return bytes.ReplaceAll(wasm, check, bytes.Repeat([]byte{nop}, len(check))), nil // as long, so that no size changes
}

// findCheck returns the check, which is the same in all loops.
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

// like reports whether code begins with form, in which any byte may stand for F and G.
func like(code []byte, form string) bool {
	for i := range len(form) {
		if c := form[i]; c != code[i] && c != 'F' && c != 'G' {
			return false
		}
	}
	return true
}
