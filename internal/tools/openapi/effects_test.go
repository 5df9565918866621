package openapi

import (
	"os"
	"strings"
	"testing"
)

// People labelled operations of real descriptions by what they do. No operation that does something may be taken for a
// read, and few reads for something else.
func TestEffectsOfRealOperations(t *testing.T) {
	text, err := os.ReadFile("testdata/effects.tsv")
	if err != nil {
		t.Fatal(err)
	}
	reads, asked, all := 0, 0, 0
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		label, method, path, id, summary := f[0], f[1], f[2], f[3], f[4]
		effect, why := effectOf(method, path, id, summary)
		all++
		switch {
		case label == Reads:
			if reads++; effect != Reads {
				asked++
				t.Logf("needless: %s %s %s (%s): %s", method, path, id, summary, why)
			}
		case effect == Reads:
			t.Errorf("unsafe: %s %s %s (%s) %s, and is taken for a read: %s", method, path, id, summary, label, why)
		}
	}
	if all < 300 || asked*100 > reads*6 {
		t.Errorf("of %d operations, %d of %d reads are asked about, want at most 6 %%", all, asked, reads)
	}
	t.Logf("of %d operations, %d of %d reads are asked about", all, asked, reads)
}
