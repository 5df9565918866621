package tokens

import "testing"

func TestCount(t *testing.T) {
	for _, row := range []struct {
		why, text string
		want      int
	}{
		{"nothing", "", 0},
		{"a word", "order", 1},
		{"a blank belongs to the next word", "an order", 2},
		{"a long word has more", "internationalization", 3},
		{"words end at capitals", "readFile", 2},
		{"capitals are shorter", "HTTP", 2},
		{"digits go by three", "1234567", 3},
		{"signs of JSON go together", `{"a":"b"}`, 5},
		{"a line with its indentation", "a\n    b", 3},
		{"a column of blanks", "a    b", 3},
		{"letters outside ASCII", "\u4f60\u597d", 2},
		{"a mark is no character", "e\u0301", 1},
		{"broken UTF-8", "\xff\xfe", 2},
	} {
		if got := Count(row.text); got != row.want {
			t.Errorf("%s: Count(%q) = %d, want %d", row.why, row.text, got, row.want)
		}
	}
}
