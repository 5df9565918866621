package quickjs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"testing"
)

// The committed module is the one that its sources gave: `make guest` rebuilds it and compares, this holds its hash.
func TestHash(t *testing.T) {
	got := sha256.Sum256(Wasm())
	if want := Hash(); hex.EncodeToString(got[:]) != want {
		t.Errorf("quickjs.wasm has the hash %x, quickjs.wasm.sha256 says %s", got, want)
	}
}

// Other people run and measure the file at the top of the repository; this package has to hold the same.
func TestSameAsTopLevel(t *testing.T) {
	top, err := os.ReadFile("../../quickjs.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(top, wasm) {
		t.Error("guest/quickjs/quickjs.wasm differs from quickjs.wasm: guest/build.sh --update writes both")
	}
}

func TestWasmIsACopy(t *testing.T) {
	Wasm()[0]++
	if Wasm()[0] != 0 {
		t.Error("writing to what Wasm returned has changed the module")
	}
}
