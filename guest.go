package codemode

import (
	"bytes"
)

// Guest returns the WebAssembly module that programs run in, for those who
// make a [sandbox.Engine] of their own: to give it to [Options.Engine], or to measure it.
func Guest() []byte { return bytes.Clone(guest) }
