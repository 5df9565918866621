package text

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/strictjson"
)

// hidden are the code points that must not stand on a page as they are: of these categories, or not assigned.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		!unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z)
}

// A02, D1: every code point that does not show is written in some way that does, in each of the three forms that pages
// have texts in.
func TestEveryHiddenCodePointIsVisible(t *testing.T) {
	n := 0
	var chunk []rune
	look := func() {
		text := string(chunk)
		shown, inside := joined(Lines(text)), InText(text)
		for _, r := range shown + inside {
			if r >= utf8.RuneSelf && hidden(r) {
				t.Errorf("U+%04X stands on a page as it is", r)
			}
		}
		var back string
		if err := json.Unmarshal([]byte(`"`+inside+`"`), &back); err != nil || back != text {
			t.Errorf("U+%04X to U+%04X come back from a form as %q, %v", chunk[0], chunk[len(chunk)-1], back, err)
		}
		n += len(chunk)
		chunk = chunk[:0]
	}
	for r := rune(' '); r <= unicode.MaxRune; r++ { // JSON has those before escaped already
		if r >= 0x40000 && r&0x3f != 0 && r>>12 != 0xe0 { // where all are alike: not assigned, or for private use
			continue
		}
		if !hidden(r) || !utf8.ValidRune(r) {
			continue
		}
		if chunk = append(chunk, r); len(chunk) == 256 {
			look()
		}
	}
	look()
	for r := rune(0); r < ' '; r++ {
		if got := joined(Lines("a" + string(r) + "b")); r != '\n' && strings.ContainsRune(got, r) {
			t.Errorf("U+%04X stands in a program as it is", r)
		}
	}
	if n < 100_000 {
		t.Errorf("only %d code points were looked at", n)
	}
	// A question is rendered by package approvals; what pages add is colour.
	var all strings.Builder
	for r := rune(0x80); r < 0x3000; r++ {
		if hidden(r) {
			all.WriteRune(r)
		}
	}
	args, err := json.Marshal(map[string]string{"x": all.String()})
	if err != nil {
		t.Fatal(err)
	}
	r := &prompt.Request{Name: "a__b", Args: args, Risk: "high"}
	view := prompt.Render(r, prompt.RenderOptions{Width: 100})
	got := joined(Spans(view.Lines()))
	if got+"\n" != view.Text() {
		t.Error("the page shows another text than the other channels")
	}
	for _, c := range got {
		if hidden(c) && c != '\n' {
			t.Errorf("U+%04X stands in a question as it is", c)
		}
	}
}

func joined(all []prompt.Span) string {
	var b strings.Builder
	for _, s := range all {
		b.WriteString(s.Text)
	}
	return b.String()
}

// A19, A20: what a form shows to be changed says what the call says, to the byte but for blanks between values.
func TestEditable(t *testing.T) {
	for _, args := range []string{
		`{}`, `[]`, `{"n":1e400,"m":-0,"k":12345678901234567890,"f":0.10}`, `{"b":1,"a":2}`, `{"x":"\u202e\ud800"}`,
		"{\"x\":\"\u202e\u00ad\U000E0041é漢 \u2028\"}", `{"x":{"y":[1,{"z":null}]}}`, `"text"`, `null`,
	} {
		shown := Editable(json.RawMessage(args))
		was, err := strictjson.Canonical(args)
		is, err2 := strictjson.Canonical(shown)
		if (err == nil) != (err2 == nil) || string(was) != string(is) {
			t.Errorf("%s is shown as %s: %v, %v", args, shown, err, err2)
		}
	}
}

// Tones are those of our own words.
func TestSpans(t *testing.T) {
	got := Spans([][]prompt.Span{{{Tone: "title", Text: "a"}}}, nil, [][]prompt.Span{{{Text: "b"}}, {}, {{Text: "c"}}})
	want := []prompt.Span{{Tone: "title", Text: "a"}, {Text: "\n"}, {Text: "b"}, {Text: "\n"}, {Text: "\n"}, {Text: "c"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
