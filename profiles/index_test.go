package profiles

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/codemode-project/codemode/internal/profiles/match"
)

// TestIndex: the index may only leave out rules that cannot match.
func TestIndex(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(7, 8))}
	word := func() string { return pick(m, "fs", "github", "a", "read", "write_file", "x", "é", "list_") }
	for range 300 {
		var rules []*Rule
		for range indexFrom + m.IntN(100) {
			r := &Rule{}
			for range 1 + m.IntN(2) {
				text := word() + pick(m, "__", "*", "?", "__*", "[a-z]") + pick(m, "", word(), "*"+word(),
					"{"+word()+","+word()+"}")
				if m.chance(20) {
					text = pick(m, "*", "?", "??", "*__"+word(), "*"+word()+"*", "{a,*}")
				}
				g, bad := match.ParseName(text)
				if bad != nil {
					t.Fatalf("%s: %s", text, bad.Message)
				}
				r.Globs = append(r.Globs, g)
			}
			rules = append(rules, r)
		}
		x := newIndex(rules)
		for range 30 {
			name := word() + pick(m, "__", "") + pick(m, "", word(), word()+word())
			found := x.candidates(nil, name)
			if !slices.IsSorted(found) || len(slices.Compact(slices.Clone(found))) != len(found) {
				t.Fatalf("%q: the candidates are not in order, or twice: %v", name, found)
			}
			for i, r := range rules {
				if r.Matches(name, name) && !slices.Contains(found, int32(i)) {
					t.Fatalf("%q: rule %d matches and is not a candidate", name, i)
				}
			}
		}
	}
}

// TestTheIndexIsWorthIt: it gives the rules that may match, and few others.
func TestTheIndexIsWorthIt(t *testing.T) {
	rules := func(n int) []*Rule {
		var all []*Rule
		for i := range n {
			text := fmt.Sprintf("server__tool_%03d*", i)
			g, _ := match.ParseName(text)
			all = append(all, &Rule{Patterns: []string{text}, Globs: []*match.Pattern{g}})
		}
		return all
	}
	if newIndex(rules(indexFrom-1)).grams != nil || newIndex(rules(indexFrom)).grams == nil {
		t.Errorf("the index begins at another number than %d", indexFrom)
	}
	found := newIndex(rules(1000)).candidates(nil, "server__tool_427")
	if len(found) > 3 || !slices.Contains(found, 427) {
		t.Errorf("got the candidates %v of 1000 rules", found)
	}
	seen := map[match.Gram]string{}
	for _, s := range []string{"a", "aa", "aaa", "ab", "ba", "aab", "aba", "baa", "abb", "b", "\x00", "\x00\x00", "a\x00",
		"\x00a"} {
		g := match.NewGram(s)
		if other, twice := seen[g]; twice {
			t.Errorf("%q and %q are one gram", s, other)
		}
		seen[g] = s
	}
	for text, want := range map[string]int{"abc": 1, "abcd": 2, "ab": 1, "a*b": 2, "*": 0, "a[xy]bcd": 1} {
		g, _ := match.ParseText(text)
		if got := len(g.Grams()); got != want {
			t.Errorf("%s has %d grams, want %d", text, got, want)
		}
	}
}

func TestNamesThatAreJoined(t *testing.T) {
	for _, row := range []struct {
		name, server, tool string
		want               bool
	}{
		{"a__b", "a", "b", true}, {"a__b", "a", "c", false}, {"a__b", "c", "b", false}, {"a__bc", "a", "b", false},
		{"a__b", "a", "bc", false},
		{"a_xb", "a", "b", false}, {"ax_b", "a", "b", false}, {"a__", "a", "", true}, {"", "", "", false},
		{"__", "", "", true}, {"a___b", "a", "_b", true}, {"a___b", "a_", "b", true},
	} {
		if got := isJoined(row.name, row.server, row.tool); got != row.want {
			t.Errorf("%s of %s and %s: got %t", row.name, row.server, row.tool, got)
		}
	}
}

type maker struct{ *rand.Rand }

func pick[T any](m maker, all ...T) T { return all[m.IntN(len(all))] }

func (m maker) chance(percent int) bool { return m.IntN(100) < percent }
