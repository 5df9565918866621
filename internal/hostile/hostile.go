// Package hostile makes program texts that are expensive or fatal to read:
// deep nesting, retries inside of retries, quadratic and cubic constructs, and
// mutations of ordinary programs. Tests and the search for such texts use it.
package hostile

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// Most is the size in bytes of the largest text that codemode accepts.
const Most = 256 << 10

// A Text is a program text in parts, so that it can be stored and reduced.
type Text []Part

// A Part is a repeated piece of text. With Numbered, each # in it becomes the number of the repetition.
type Part struct {
	Piece    string `json:"piece"`
	Times    int    `json:"times"`
	Numbered bool   `json:"numbered,omitempty"`
}

// String returns the text itself, cut at [Most] bytes.
func (t Text) String() string {
	var b strings.Builder
	for _, p := range t {
		for i := range p.Times {
			if b.Len() > Most {
				break
			}
			if p.Numbered {
				b.WriteString(strings.ReplaceAll(p.Piece, "#", fmt.Sprint(i)))
			} else {
				b.WriteString(p.Piece)
			}
		}
	}
	text := b.String()
	return text[:min(len(text), Most)]
}

// A Shape is a construct that nests or repeats: Before, then Open, Middle and Close, the first and the last repeated as
// often as fits, then After.
type Shape struct {
	Name                               string
	Before, Open, Middle, Close, After string
	Numbered                           bool
}

// Text returns the shape with as many repetitions as fit into a number of bytes, and at least one.
func (s Shape) Text(bytes int) Text {
	n := max(1, (bytes-len(s.Before)-len(s.Middle)-len(s.After))/max(1, len(s.Open)+len(s.Close)))
	if s.Numbered {
		n = max(1, n*(len(s.Open)+len(s.Close))/(len(s.Open)+len(s.Close)+4)) // room for the numbers
	}
	return s.Repeat(n)
}

// Repeat returns the shape with n repetitions.
func (s Shape) Repeat(n int) Text {
	open, closed := Part{s.Open, n, s.Numbered}, Part{s.Close, n, s.Numbered}
	return Text{once(s.Before), open, once(s.Middle), closed, once(s.After)}.trim()
}

func once(piece string) Part { return Part{Piece: piece, Times: 1} }

// trim removes empty parts.
func (t Text) trim() Text {
	var kept Text
	for _, p := range t {
		if p.Piece != "" && p.Times > 0 {
			kept = append(kept, p)
		}
	}
	return kept
}

// With returns prefix and text as one text.
func With(prefix string, t Text) Text {
	return append(Text{once(prefix)}, t...).trim()
}

// Smaller reduces a text while bad says that it still shows the problem. It calls bad at most asks times.
func Smaller(t Text, asks int, bad func(Text) bool) Text {
	try := func(candidate Text) bool {
		if asks--; asks < 0 || !bad(candidate) {
			return false
		}
		t = candidate
		return true
	}
	for again := true; again && asks > 0; {
		again = false
		for i := 0; i < len(t); { // without one part
			if len(t) > 1 && try(append(append(Text{}, t[:i]...), t[i+1:]...)) {
				again = true
			} else {
				i++
			}
		}
		for i := 0; i < len(t); i++ { // half as often
			for t[i].Times > 1 {
				candidate := append(Text{}, t...)
				candidate[i].Times /= 2
				if !try(candidate) {
					break
				}
				again = true
			}
		}
		for i := 0; i < len(t); i++ { // half of a long piece
			for len(t[i].Piece) > 8 {
				piece, half := t[i].Piece, len(t[i].Piece)/2
				first, second := append(Text{}, t...), append(Text{}, t...)
				first[i].Piece, second[i].Piece = piece[half:], piece[:half]
				if !try(first) && !try(second) {
					break
				}
				again = true
			}
		}
	}
	return t
}

// Raced reports whether this binary has the race detector, which makes everything many times slower.
func Raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// NotRaced skips a test under the race detector. The detector finds nothing in it, for the reason why, and makes it
// many times slower.
func NotRaced(t testing.TB, why string) {
	t.Helper()
	if Raced() {
		t.Skip(why + ": run it without -race")
	}
}
