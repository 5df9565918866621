package rules

import (
	"fmt"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	show := func(lines []Line) string {
		var b strings.Builder
		for _, l := range lines {
			fmt.Fprintf(&b, "%d %d %s%s\n", l.Old, l.New, l.Sign, l.Text)
		}
		return b.String()
	}
	for _, test := range []struct {
		before, after string
		around        int
		want          string
	}{
		{"a", "a", 2, ""},
		{"a\nb\nc\nd", "a\nc\nd\ne", 0, "2 0 -b\n0 4 +e\n"},
		{"a\nb\nc\nd\ne\nf", "a\nB\nc\nd\nE\nf", 1, "1 1  a\n2 0 -b\n0 2 +B\n3 3  c\n4 4  d\n5 0 -e\n0 5 +E\n6 6  f\n"},
		{"a\nb", "b", -1, "1 0 -a\n2 1  b\n"},
		{"x", "", 3, "1 0 -x\n0 1 +\n"},
	} {
		if got := show(Diff(test.before, test.after, test.around)); got != test.want {
			t.Errorf("%q %q: got\n%s\nwant\n%s", test.before, test.after, got, test.want)
		}
	}
	// Beyond the bound everything between counts as changed; what is shown still makes the new text of the old one.
	long := strings.Repeat("line\nother\n", mostCompared)
	for _, after := range []string{"first\n" + long, long[:len(long)/2] + "middle\n" + long[len(long)/2:], "all\nnew"} {
		var old, now []string
		for _, l := range Diff(long, after, -1) {
			if l.Sign != "+" {
				old = append(old, l.Text)
			}
			if l.Sign != "-" {
				now = append(now, l.Text)
			}
		}
		if strings.Join(old, "\n") != long || strings.Join(now, "\n") != after {
			t.Error("the lines are not those of the texts")
		}
	}
}
