package engine

import (
	"fmt"
	"io"
	"strings"

	"github.com/codemode-project/codemode/internal/visible"
)

// writeBadge draws how many cases passed, of those that ran, as a picture for a README. A text is as wide as its
// letters are in Verdana of 11 pixels, about.
func (s *Scoreboard) writeBadge(w io.Writer, baseline *Scoreboard) error {
	passed, ran := 0, 0
	for _, r := range s.Engines {
		all := r.sums()
		passed, ran = passed+all.Passed, ran+all.Cases
	}
	colour, text := "#2e7d32", fmt.Sprintf("%d of %d", passed, ran)
	switch {
	case s.Failed() != nil:
		colour, text = "#616161", "not tested"
	case len(s.New(baseline)) > 0:
		colour = "#c62828"
	case passed < ran: // all known
		colour = "#8d6e00"
	}
	const label, letter, edge = "isolation", 7, 6
	left, right := len(label)*letter+2*edge, len(text)*letter+2*edge
	var b strings.Builder
	visible.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" aria-label="%s: %s">
  <title>%s: %s</title>
  <rect width="%d" height="20" fill="#424242"/>
  <rect x="%d" width="%d" height="20" fill="%s"/>
  <g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
    <text x="%d" y="14">%s</text>
    <text x="%d" y="14">%s</text>
  </g>
</svg>
`, left+right, label, text, label, text, left, left, right, colour, left/2, label, left+right/2, text)
	_, err := io.WriteString(w, b.String())
	return err
}
