// Package quickjs holds the guest of package sandbox: QuickJS as one WebAssembly module.
//
// It is a copy of quickjs.wasm at the top of the repository, because go:embed reaches no parent folder.
// guest/build.sh writes both, and a test compares them.
package quickjs

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
)

//go:embed quickjs.wasm
var wasm []byte

//go:embed quickjs.wasm.sha256
var sum string // the hash, and the name of the file

// Wasm returns a copy of the module.
func Wasm() []byte { return bytes.Clone(wasm) }

// Hash is the SHA-256 of the module, in hex.
func Hash() string { return sum[:2*sha256.Size] }
