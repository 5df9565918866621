package prompt

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/call"
)

// randomJSON writes arguments that are likely to confuse a reader.
func randomJSON(rng *rand.Rand, depth int) string {
	texts := []string{
		"a", "word", " ", "  ", "\n", "\t", "\\", `"`, "\u202e", "\u200b", "\U000e0041", "é", "e\u0301", "\u0301", "漢", "א",
		"| ", ": ", ", ", "{", "}", "[", "]", "](x)", "```", "<b>",
		"@you", "&amp;", "(3 characters hidden)", `\u{202E}`, "\n    risk      low", "----", "\u201d", "\x00",
		strings.Repeat(" ", 20), strings.Repeat("x", 90),
	}
	text := func() string {
		var b strings.Builder
		for range rng.IntN(6) {
			b.WriteString(texts[rng.IntN(len(texts))])
		}
		js, _ := json.Marshal(b.String())
		return string(js)
	}
	kind := rng.IntN(8)
	if depth == 0 {
		kind = rng.IntN(6)
	}
	switch kind {
	case 0, 1, 2, 3:
		return text()
	case 4:
		return []string{"0", "-0", "1e300", "1E-7", "12345678901234567890", "0.10", strconv.Itoa(rng.IntN(1000))}[rng.IntN(7)]
	case 5:
		return []string{"true", "false", "null", "{}", "[]"}[rng.IntN(5)]
	}
	var entries []string
	for range rng.IntN(5) {
		entry := randomJSON(rng, depth-1)
		if kind == 6 {
			entry = text() + ":" + entry
		}
		entries = append(entries, entry)
	}
	inner := strings.Join(entries, ",")
	if kind == 6 {
		return "{" + inner + "}"
	}
	return "[" + inner + "]"
}

// Whatever the arguments are, what is shown says exactly them, and two that differ are shown differently.
func TestRandomArgumentsCanBeReadBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	seen := map[string]string{}
	for range 1500 {
		args := randomJSON(rng, 5)
		checkArguments(t, args)
		if t.Failed() {
			return
		}
		shown := laidOut(args, defaultWidth, true)
		if other, ok := seen[shown]; ok && other != args {
			t.Fatalf("%s and %s are both shown as\n%s", args, other, shown)
		}
		seen[shown] = args
	}
}

// With the default limits, the counts of what is left out are exact: head, count and tail make up the whole.
func TestCountsAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		n := 1000 + rng.IntN(100000)
		cs := make([]rune, n)
		for i := range cs {
			cs[i] = []rune("abc xyz\n\u200b\u202eé漢\\\"")[rng.IntN(14)]
		}
		js, _ := json.Marshal(string(cs))
		r := request(call.Medium)
		r.Args = json.RawMessage(`{"text":` + string(js) + `}`)
		shown := Render(r, RenderOptions{})
		if !shown.Cut || shown.Complete {
			t.Fatalf("%d characters are said to be shown whole", n)
		}
		_, text, _ := strings.Cut(shown.Text(), "\n      text: ")
		text = bar.ReplaceAllString(text, "")
		text, _, _ = strings.Cut(text, "\n")
		var head, tail string
		var hidden int
		before, after, ok := strings.Cut(text, " characters hidden) ")
		if i := strings.LastIndex(before, ` (`); ok && i > 0 {
			head, tail = strings.TrimSpace(before[:i]), strings.TrimSpace(after)
			if _, err := fmt.Sscan(before[i+2:], &hidden); err != nil {
				t.Fatal(err)
			}
		}
		first, err1 := readBack(strings.TrimPrefix(strings.TrimSuffix(head, `"`), `"`))
		last, err2 := readBack(strings.TrimPrefix(strings.TrimSuffix(tail, `"`), `"`))
		if err1 != nil || err2 != nil || len(first)+hidden+len(last) != n {
			t.Fatalf("%d + %d + %d characters of %d in %s (%v, %v)", len(first), hidden, len(last), n, text, err1, err2)
		}
		if string(first) != string(cs[:len(first)]) || string(last) != string(cs[n-len(last):]) {
			t.Fatalf("the ends are not those of the text: %s", text)
		}
		if len(first) == 0 || len(last) == 0 {
			t.Fatalf("an end is missing: %s", text)
		}
	}
}
