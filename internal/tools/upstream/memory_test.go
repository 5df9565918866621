package upstream_test

import (
	"runtime"
	"testing"

	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// TestACallTakesLittleMemory: what a short call leaves behind decides how often garbage is collected, and
// that how long the slowest calls take. The decoders of the SDK would take 64 KiB for each answer.
func TestACallTakesLittleMemory(t *testing.T) {
	const calls, most = 300, 20 << 10
	m := manage(t, upstream.Options{}, fakeServer(t, "s", "plain"))
	var before, after runtime.MemStats
	for i := range 2 * calls {
		if i == calls { // everything is warm
			runtime.ReadMemStats(&before)
		}
		if _, err := call(t, m, "s", "echo", `{"n":1}`); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / calls; each > most {
		t.Errorf("a call takes %d bytes, want %d at most", each, most)
	}
}
