package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheSmallPackage has one mistake that its tests miss, one that they do not come past, and one that makes no difference.
func TestTheSmallPackage(t *testing.T) {
	dir := t.TempDir()
	known, results := filepath.Join(dir, "known.txt"), filepath.Join(dir, "results.txt")
	if err := os.WriteFile(known, []byte("# of the test\nsmall.go negation 1: func Untried(a, b int) bool { return a == b }\n    nobody asks\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options{pkg: "./testdata/small", files: regexp.MustCompile(""), branches: regexp.MustCompile("small"), kinds: map[string]bool{}, workers: 2, threshold: 95, equivalent: known, results: results}
	for _, kind := range allKinds {
		o.kinds[kind] = true
	}
	ok, err := run(o)
	if err != nil {
		t.Fatal(err)
	}
	if ok {
		t.Error("the threshold holds although a mutant is alive")
	}
	text, err := os.ReadFile(results)
	if err != nil {
		t.Fatal(err)
	}
	var lived []string
	killedOnes := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		if cells[0] == string(killed) || cells[0] == string(timedOut) {
			killedOnes++
			continue
		}
		lived = append(lived, cells[0]+" "+cells[2])
	}
	// x <= 3 may be x < 3 for these tests.
	if got := strings.Join(lived, ", "); !strings.Contains(got, "alive boundary 2") || !strings.Contains(got, "unreached negation 1") || len(lived) != 2 || killedOnes < 8 {
		t.Errorf("alive: %s; killed: %d", got, killedOnes)
	}
	o.earlier, o.threshold, o.branches = results, 85, regexp.MustCompile("^$")
	if ok, err := run(o); err != nil || !ok {
		t.Errorf("with what is known: %t, %v", ok, err)
	}
}
