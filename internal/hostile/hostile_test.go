package hostile

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCasesHaveNamesOfTheirOwnAndFit(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Cases() {
		if text := c.Text.String(); text == "" || len(text) > Most {
			t.Errorf("%s: %d bytes", c.Name, len(text))
		}
		if seen[c.Name] {
			t.Errorf("%s is there twice", c.Name)
		}
		seen[c.Name] = true
	}
}

func TestTheSameSeedGivesTheSameTexts(t *testing.T) {
	make := func() *Generator {
		programs := []string{"return 1", "const a = await b(); return a"}
		return &Generator{Random: rand.New(rand.NewPCG(1, 2)), Programs: programs, Most: 16 << 10}
	}
	one, other := make(), make()
	small, large, different := 0, 0, map[string]bool{}
	for range 2000 {
		text := one.Next().String()
		if text != other.Next().String() {
			t.Fatal("two texts of one seed differ")
		}
		if len(text) > Most {
			t.Fatalf("%d bytes", len(text))
		}
		if len(text) < 100 {
			small++
		}
		if len(text) > 8<<10 {
			large++
		}
		different[text] = true
	}
	if small < 100 || large < 100 || len(different) < 1900 {
		t.Errorf("%d of less than 100 bytes, %d of more than 8 KiB, %d different ones", small, large, len(different))
	}
}

func TestSmallerKeepsWhatIsLookedFor(t *testing.T) {
	deep := func(t Text) bool { return strings.Contains(t.String(), "/1") && strings.Count(t.String(), "(") >= 100 }
	text := Text{{"let a = 1; x as void /1;y=", 1, false}, {"(", 60_000, false}, {"1", 1, false}, {")", 60_000, false}}
	asked := 0
	small := Smaller(text, 60, func(t Text) bool { asked++; return deep(t) })
	if !deep(small) || len(small.String()) > 300 || asked > 60 {
		t.Errorf("%d bytes after %d questions: %.80s", len(small.String()), asked, small)
	}
	if got := Smaller(text, 60, func(Text) bool { return false }); got.String() != text.String() {
		t.Error("it became smaller although nothing smaller was bad")
	}
}

func TestATextIsCutWhereItIsTooLarge(t *testing.T) {
	if n := len((Text{{"é", Most, false}}).String()); n != Most {
		t.Errorf("%d bytes", n)
	}
	if got := (Text{{"a#;", 3, true}, {"b", 1, false}}).String(); got != "a0;a1;a2;b" || !utf8.ValidString(got) {
		t.Error(got)
	}
}
