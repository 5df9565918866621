package responder

import (
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/codemode-project/codemode/internal/visible"
)

// A seenText is a text with the lines that were on the screen. Another text, or another width, starts a new one.
type seenText struct {
	text  string
	width int
	lines []string // folded to the width of the screen
	seen  []bool
	title int // the line that names the tool
}

// textOf is the text of an item as the screen shows it.
func (s *screen) textOf(it item) *seenText {
	text := s.whole[it.id]
	if text == "" {
		text = visible.Text(it.text)
	}
	r := s.read[it.id]
	if r == nil || r.text != text || r.width != s.width {
		r = &seenText{text: text, width: s.width}
		for line := range strings.SplitSeq(strings.TrimRight(withoutPreamble(text), "\n"), "\n") {
			r.lines = append(r.lines, fold(line, s.width-1)...)
		}
		r.seen = make([]bool, len(r.lines))
		r.title = slices.IndexFunc(r.lines, func(line string) bool {
			return strings.HasPrefix(line, ours) && !strings.HasPrefix(line, ours+" ")
		})
		s.read[it.id] = r
	}
	return r
}

// withoutPreamble removes the first sentence of a question about calls; the list shows the same in fewer lines.
func withoutPreamble(text string) string {
	if sentence, rest, ok := strings.Cut(text, "\n\n"); ok && strings.HasPrefix(sentence, "A program asks to make ") {
		return rest
	}
	return text
}

func (s *screen) lines(it item) []string { return s.textOf(it).lines }

// unseen is the first line that was not on the screen yet, and the number of such lines, among all lines or only those
// of the calls.
func (s *screen) unseen(it item, callsAlone bool) (first, n int) {
	r := s.textOf(it)
	end := len(r.lines)
	if callsAlone {
		for i, line := range slices.Backward(r.lines) {
			if strings.HasPrefix(line, ours+"Calls seen in the program text") || strings.HasPrefix(line, ours+planLine) {
				end = i
			}
		}
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
func (s *screen) argumentsLine(it item) int {
	lines := s.lines(it)
	if len(lines) <= s.room() {
		return 0
	}
	return max(slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, ours+"arguments") }), 0)
}

func (s *screen) clampScroll(it item, room int) {
	s.scroll = max(min(s.scroll, len(s.lines(it))-room), 0)
}

// preview is the part of the text that fits.
func (s *screen) preview(it item) []string {
	room := s.room()
	s.clampScroll(it, room)
	r := s.textOf(it)
	now := view{r, s.scroll, min(s.scroll+room, len(r.lines))}
	if now != s.view {
		s.view, s.viewed = now, s.now()
	}
	shown := slices.Clone(r.lines[now.from:now.to])
	for i, line := range shown {
		if shown[i] = s.paint(line); now.from+i == r.title && (it.batch || it.one().Inquiry == nil) {
			shown[i] = styleTitle.Render(line)
		}
	}
	return shown
}

// A view is the lines of a text that are on the screen.
type view struct {
	text     *seenText
	from, to int
}

// glance is how long a line must be on the screen to count as seen: a key that repeats turns pages faster.
const glance = 100 * time.Millisecond

// look marks the lines on the screen as seen, if they were there long enough.
func (s *screen) look() {
	if s.view.text == nil || s.now().Sub(s.viewed) < glance {
		return
	}
	for i := s.view.from; i < s.view.to; i++ {
		s.view.text.seen[i] = true
	}
}

// fold breaks a line that is longer than the screen, after a space if there is one near. Continuation lines begin with
// a bar, like all continuation lines of data.
func fold(line string, width int) []string {
	if width < 10 || lipgloss.Width(line) <= width {
		return []string{line}
	}
	indent := len(line) - len(strings.TrimLeft(line, " "))
	bar := strings.Repeat(" ", min(indent+2, width/2)) + "| "
	var all []string
	for begin := ""; ; begin = bar {
		room := width - len(begin)
		if lipgloss.Width(line) <= room {
			return append(all, begin+line)
		}
		cut := prefix(line, room)
		if space := strings.LastIndexByte(line[:cut], ' ') + 1; space > max(indent, cut-nearSpace) {
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

// wrapWords breaks our own text at spaces; all lines but the first begin with indent.
func wrapWords(text string, width int, indent string) []string {
	var all []string
	for _, word := range strings.SplitAfter(text, " ") {
		last := len(all) - 1
		if last >= 0 && lipgloss.Width(strings.TrimRight(all[last]+word, " ")) <= width {
			all[last] += word
			continue
		}
		if last >= 0 {
			word = indent + word
		}
		all = append(all, word)
	}
	var lines []string
	for _, line := range all {
		lines = append(lines, fold(strings.TrimRight(line, " "), width)...)
	}
	return lines
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
