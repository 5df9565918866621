package bench

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/isolation"
)

// This build claims usage, so each outcome has it, also that of a program that was never started.
func TestEachOutcomeHasItsUsage(t *testing.T) {
	in, ours := io.Pipe()
	theirs, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(t.Context(), ServeOptions{CacheDir: cachetest.Dir()}, "1", in, out)
		out.Close()
	}()
	lines := bufio.NewScanner(theirs)
	lines.Scan() // hello
	for i, test := range []struct{ program, outcome string }{
		{"return 1", isolation.Value},
		{"throw 1", isolation.Error},
		{"return (", isolation.Error},
		{"return 1 //" + strings.Repeat("x", 300<<10), isolation.Error},
	} {
		run, err := json.Marshal(struct {
			Type string `json:"type"`
			isolation.Run
		}{"run", isolation.Run{Run: i + 1, Name: "a.js", Program: test.program, Limits: isolation.Limits{
			WallMS: 60_000, CPUMS: 60_000, MemoryBytes: 64 << 20, Calls: 10, InFlight: 1, ArgumentBytes: 1 << 20,
			ResultBytes: 1 << 20}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ours.Write(append(run, '\n')); err != nil {
			t.Fatal(err)
		}
		var end isolation.Outcome
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &end) != nil || end.Outcome != test.outcome ||
			end.Usage == nil || end.Usage.WallMS <= 0 {
			t.Errorf("%.20q: got %s", test.program, lines.Bytes())
		}
	}
	ours.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
