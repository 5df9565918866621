package store

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var trigger = regexp.MustCompile(`CREATE TRIGGER (\w+)`)

// Triggers that only tell of changes refuse none.
func TestAnInspectionLooksForEveryGuard(t *testing.T) {
	for file, isFile := range map[string]bool{"sqlite.sql": true, "postgres.sql": false} {
		text, err := schemas.ReadFile("schema/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range trigger.FindAllStringSubmatch(string(text), -1) {
			if !strings.HasSuffix(m[1], "_tell") {
				names = append(names, m[1])
			}
		}
		slices.Sort(names)
		want := slices.Sorted(slices.Values(guards[isFile]))
		if !slices.Equal(names, want) {
			t.Errorf("%s has the triggers %v, and an inspection looks for %v", file, names, want)
		}
	}
}
