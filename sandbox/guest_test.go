package sandbox

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The guest can reach two functions and nothing else: no WASI, no clock, no files.
func TestGuestImports(t *testing.T) {
	var imports []string
	for _, f := range testEngine(t).copies[0].code.ImportedFunctions() {
		module, name, _ := f.Import()
		imports = append(imports, module+"."+name)
	}
	if diff := cmp.Diff([]string{"codemode.codemode_poll", "codemode.codemode_call"}, imports); diff != "" {
		t.Errorf("imports (-want +got):\n%s", diff)
	}
	if n := len(testEngine(t).copies[0].code.ImportedMemories()); n != 0 {
		t.Errorf("the guest imports %d memories, want none: each has its own", n)
	}
}

// What a program finds in the global object. A new name here is a new power or
// a new piece of engine to attack: look at it before it is added.
func TestGlobals(t *testing.T) {
	r, err := run(t, "return Object.getOwnPropertyNames(globalThis).sort().join(' ')")
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile("testdata/globals.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.Trim(string(r.Value), `"`), " ")
	if diff := cmp.Diff(strings.Fields(string(golden)), got); diff != "" {
		t.Errorf("globals (-want +got):\n%s", diff)
	}
}
