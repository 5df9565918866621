package responder

import (
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/visible"
)

var (
	styleTitle  = lipgloss.NewStyle().Bold(true)
	styleChosen = lipgloss.NewStyle().Reverse(true)
	styleFaint  = lipgloss.NewStyle().Faint(true)
	styleDanger = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Red)
)

// styleNotice can be read on a dark background and on a light one.
func styleNotice(light bool) lipgloss.Style {
	return lipgloss.NewStyle().Foreground(lipgloss.LightDark(!light)(lipgloss.Color("130"), lipgloss.Yellow))
}

// A reader shows the texts of items, each from its scroll position, and knows which of their lines the person has seen.
type reader struct {
	width  int                     // of the screen
	whole  map[string]*prompt.View // by ID of an item, if the person asked for all of it
	read   map[string]*seenText    // by ID of an item
	scroll int                     // number of lines of the text above the screen
	view   view                    // the lines on the screen
	since  time.Time               // that view
}

// A seenText is the lines of a View on the screen, with those that were on it. Other lines, or another width, start a
// new one.
type seenText struct {
	of        *prompt.View
	width     int
	lines     []line // folded to the width of the screen
	seen      []bool
	arguments int // the first line about the arguments
	calls     int // the number of lines about the calls; those below say what the program may do next
}

// A line is one line of the screen; only our own words have a tone.
type line struct{ text, tone string }

// textOf is the View of an item as the screen shows it. The opening about calls is left out: the list shows the same in
// fewer lines.
func (s *reader) textOf(it item) *seenText {
	v, before := s.viewOf(it), s.read[it.id]
	if before != nil && before.of == v && before.width == s.width {
		return before
	}
	r := &seenText{of: v, width: s.width}
	r.add("", "", v.Notice)
	if it.one().Kind != "call" {
		r.apart()
		r.add("", "", v.Opening)
	}
	for i, b := range v.Blocks {
		r.apart()
		r.add(margin, "", b.Heading, b.Facts)
		if i == 0 {
			r.arguments = len(r.lines)
		}
		r.add(margin, "", b.Arguments, b.Rows)
		r.add(margin, caution, b.Warnings)
		r.add(margin, "", b.Foreign)
	}
	r.calls = len(r.lines)
	r.add(margin, "", v.Preview)
	first := min(len(v.Plan), 1)
	r.add(margin, caution, v.Plan[:first])
	r.add(margin, "", v.Plan[first:], v.Closing)
	if before != nil && before.width == r.width && slices.Equal(before.lines, r.lines) {
		before.of = v // another report of the same question
		return before
	}
	r.seen = make([]bool, len(r.lines))
	s.read[it.id] = r
	return r
}

// margin stands before all lines of a question but its opening.
const margin = "    "

// Tones of a line, see [prompt.Span].
const title, caution, danger = "title", "caution", "danger"

// apart adds an empty line between parts.
func (r *seenText) apart() {
	if len(r.lines) > 0 {
		r.lines = append(r.lines, line{})
	}
}

// add folds lines of a View. The tone is for lines that have none of their own.
func (r *seenText) add(before, tone string, parts ...[][]prompt.Span) {
	for _, spans := range slices.Concat(parts...) {
		one := line{before, tone}
		for _, span := range spans {
			one.text += visible.Line(span.Text)
			if span.Tone != "" && span.Tone != "label" {
				one.tone = span.Tone
			}
		}
		for _, text := range fold(one.text, r.width-1) {
			r.lines = append(r.lines, line{text, one.tone})
		}
	}
}

// viewOf is the View of an item: whole, if the person asked for it.
func (s *reader) viewOf(it item) *prompt.View {
	if whole := s.whole[it.id]; whole != nil {
		return whole
	}
	return it.view
}

// unseen is the first line that was not on the screen yet, and the number of such lines, among all lines or only those
// of the calls.
func (s *reader) unseen(it item, callsAlone bool) (first, n int) {
	r := s.textOf(it)
	end := len(r.lines)
	if callsAlone {
		end = r.calls
	}
	for i := end - 1; i >= 0; i-- {
		if !r.seen[i] {
			first = i
			n++
		}
	}
	return first, n
}

// argumentsLine is the first line about the arguments; 0 if the text fits without scrolling.
func (s *reader) argumentsLine(it item, room int) int {
	if r := s.textOf(it); len(r.lines) > room {
		return r.arguments
	}
	return 0
}

// clamp keeps the scroll position within the text of an item, and returns the number of lines below the screen.
func (s *reader) clamp(it item, room int) (below int) {
	n := len(s.textOf(it).lines)
	s.scroll = max(min(s.scroll, n-room), 0)
	return n - s.scroll - room
}

// show is the part of the text of an item that fits; it is on the screen from now on.
func (s *reader) show(it item, room int, light bool, now time.Time) (shown []string) {
	s.clamp(it, room)
	r := s.textOf(it)
	v := view{r, s.scroll, min(s.scroll+room, len(r.lines))}
	if v != s.view {
		s.view, s.since = v, now
	}
	for _, line := range r.lines[v.from:v.to] {
		switch line.tone {
		case title:
			line.text = styleTitle.Render(line.text)
		case caution:
			line.text = styleNotice(light).Render(line.text)
		case danger:
			line.text = styleDanger.Render(line.text)
		}
		shown = append(shown, line.text)
	}
	return shown
}

// turn scrolls by a page; show keeps the position within the text.
func (s *reader) turn(pages int) {
	s.scroll = max(s.scroll+pages*max(s.view.to-s.view.from-1, 1), 0)
}

// A view is the lines of a text that are on the screen.
type view struct {
	text     *seenText
	from, to int
}

// glance is how long a line must be on the screen to count as seen: a key that repeats turns pages faster.
const glance = 100 * time.Millisecond

// look marks the lines on the screen as seen, if they were there long enough.
func (s *reader) look(now time.Time) {
	if s.view.text == nil || now.Sub(s.since) < glance {
		return
	}
	for i := s.view.from; i < s.view.to; i++ {
		s.view.text.seen[i] = true
	}
}

// fold breaks a line that is longer than the screen, after a space if there is one near. Continuation lines begin with
// a bar, like all continuation lines of data.
func fold(line string, width int) []string {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	return wrap(line, width, nearSpace, strings.Repeat(" ", min(indent+2, width/2))+"| ")
}

// wrap breaks a line that is longer than the screen, after a space that is near; the lines after the first begin with
// next.
func wrap(line string, width, near int, next string) (all []string) {
	if width < 10 {
		return []string{line}
	}
	indent := len(line) - len(strings.TrimLeft(line, " "))
	for begin := ""; ; begin = next {
		room := width - len(begin)
		if lipgloss.Width(line) <= room {
			return append(all, begin+line)
		}
		cut := prefix(line, room)
		if space := strings.LastIndexByte(line[:cut], ' ') + 1; space > max(indent, cut-near) {
			cut = space
		}
		all, line = append(all, begin+line[:cut]), line[cut:]
	}
}

// nearSpace is how far back fold and fit look for a space instead of breaking a word.
const nearSpace = 16

// prefix is the number of bytes of s that fit into columns, at least one character.
func prefix(s string, columns int) (n int) {
	for i, r := range s {
		if columns -= lipgloss.Width(string(r)); columns < 0 && i > 0 {
			return i
		}
	}
	return len(s)
}

// fit cuts a line of the list, after a word if one ends near, and adds an ellipsis.
func fit(line string, width int) string {
	if width < 2 || lipgloss.Width(line) <= width {
		return line
	}
	cut := prefix(line, width-1)
	if space := strings.LastIndexByte(line[:cut], ' '); space > cut-nearSpace {
		cut = space
	}
	return strings.TrimRight(line[:cut], " ,") + "…"
}

// tail is the end of a typed line, as far as it fits.
func tail(s string, room int) string {
	if r := []rune(s); len(r) > max(room, 10) {
		return "…" + string(r[len(r)-max(room, 10)+1:])
	}
	return s
}
