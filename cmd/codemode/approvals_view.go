package main

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/visible"
)

var (
	styleTitle  = lipgloss.NewStyle().Bold(true)
	styleChosen = lipgloss.NewStyle().Reverse(true)
	styleFaint  = lipgloss.NewStyle().Faint(true)
	styleDanger = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Red)
)

// styleNotice can be read on a dark background and on a light one.
func (s *approvalsScreen) styleNotice() lipgloss.Style {
	return lipgloss.NewStyle().Foreground(lipgloss.LightDark(!s.light)(lipgloss.Color("130"), lipgloss.Yellow))
}

// Lines of ours in a question begin in this column and no further right; what is data stands further right or in quotation marks.
const ours = "    "

// paint colours those lines of a question that say what to look at. The words are the same without.
func (s *approvalsScreen) paint(line string) string {
	rest, ok := strings.CutPrefix(line, ours)
	if !ok || strings.HasPrefix(rest, " ") {
		if strings.HasPrefix(line, ours+"  ! ") {
			return s.styleNotice().Render(line)
		}
		return line
	}
	label, value, _ := strings.Cut(rest, " ")
	switch value = strings.TrimSpace(value); {
	case label == "risk" && value == approvals.Medium, rest == "look twice:", strings.HasPrefix(rest, "You can allow these calls with it"):
		return s.styleNotice().Render(line)
	case label == "risk" && value != approvals.Low && value != "not stated":
		return styleDanger.Render(line)
	}
	return line
}

func (s *approvalsScreen) View() tea.View {
	v := tea.NewView(s.content())
	v.AltScreen = true
	v.WindowTitle = fmt.Sprintf("codemode: %s", count(len(s.waiting), "question"))
	return v
}

// content is the whole screen: the queue, the chosen question, its answers, and what the keys do.
func (s *approvalsScreen) content() string {
	var top, bottom []string
	top = append(top, styleTitle.Render(fmt.Sprintf("codemode approvals: %s", count(len(s.waiting), "question")))+
		styleFaint.Render(fmt.Sprintf("   %s connected", count(len(s.links), "process"))))
	i := s.index()
	switch {
	case len(s.links) == 0:
		top = append(top, "", `No "codemode serve" of this user is running.`)
	case i < 0:
		top = append(top, "", "Nothing waits for you. What programs ask appears here.")
	default:
		top = append(top, s.queue(i)...)
	}
	if i >= 0 {
		bottom = s.answers(s.waiting[i])
	}
	if s.notice != "" {
		bottom = append(bottom, s.styleNotice().Render(s.notice))
	}
	bottom = append(bottom, styleFaint.Render(s.help(i)))
	var middle []string
	if room := s.height - len(top) - len(bottom) - 2; i >= 0 && room > 0 {
		middle = s.preview(s.waiting[i], room)
	}
	rule := styleFaint.Render(strings.Repeat("─", max(s.width-1, 1)))
	lines := append(top, rule)
	lines = append(lines, middle...)
	for len(lines) < s.height-len(bottom)-1 {
		lines = append(lines, "")
	}
	lines = append(append(lines, rule), bottom...)
	fit := lipgloss.NewStyle().MaxWidth(max(s.width-1, 1)).Inline(true)
	for i, line := range lines {
		lines[i] = fit.Render(line)
	}
	return strings.Join(lines, "\n")
}

// queue lists the questions around the chosen one.
func (s *approvalsScreen) queue(chosen int) []string {
	room := max(s.height/4, 1)
	from := min(max(chosen-room/2, 0), max(len(s.waiting)-room, 0))
	var lines []string
	for i := from; i < min(from+room, len(s.waiting)); i++ {
		w := s.waiting[i]
		what := visible.Line(w.Risk)
		if w.Inquiry != nil {
			what = "question"
		}
		line := fmt.Sprintf("%3d  %-8s %5s  %s", i+1, what, age(w.Since, s.now()), visible.Line(w.Summary))
		switch {
		case i == chosen:
			line = styleChosen.Render("> " + line)
		case w.Code != "":
			line = styleDanger.Render("  " + line)
		default:
			line = "  " + line
		}
		lines = append(lines, line)
	}
	if hidden := len(s.waiting) - len(lines); hidden > 0 {
		lines = append(lines, styleFaint.Render(fmt.Sprintf("     and %d more", hidden)))
	}
	return lines
}

// heading is the line of a question that names the tool.
const heading = 2

// preview is the question itself, as every channel shows it.
func (s *approvalsScreen) preview(w waiting, room int) []string {
	text := s.whole[w.ID]
	if text == "" {
		text = visible.Text(w.Text)
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	s.scroll = max(min(s.scroll, len(lines)-room), 0)
	shown := slices.Clone(lines[s.scroll:min(s.scroll+room, len(lines))])
	for i, line := range shown {
		if shown[i] = s.paint(line); s.scroll+i == heading && w.Inquiry == nil {
			shown[i] = styleTitle.Render(line)
		}
	}
	if s.scroll+len(shown) == len(lines) {
		s.read[w.ID] = true
	}
	if left := len(lines) - s.scroll - len(shown); left > 0 {
		shown = append(shown[:len(shown)-1:len(shown)-1], s.styleNotice().Render(fmt.Sprintf("    (%d more lines: page down)", left+1)))
	}
	return shown
}

func (s *approvalsScreen) answers(w waiting) []string {
	switch s.mode {
	case choosing:
		return nil
	case reasoning:
		return []string{"Refuse " + visible.Line(w.Heading) + ". Why? The program is told:", "> " + tail(visible.Line(s.typed), s.width-6) + "_"}
	case coding:
		return []string{
			styleDanger.Render("Risk "+visible.Line(w.Risk)+".") + " Type the code of this question, " + visible.Line(w.Code) + ", to choose: " + s.options(w)[s.answer].text,
			"> " + visible.Line(s.typed) + "_",
		}
	case writing:
		with := ""
		if len(s.ticked) > 0 {
			with = ", with what is ticked"
		}
		return []string{"Your answer, in your own words" + with + ". The program reads it:", "> " + tail(visible.Line(s.typed), s.width-6) + "_"}
	}
	lines := []string{"Your answer to " + visible.Line(w.Heading) + ":"}
	if w.Inquiry != nil {
		lines[0] = "Your answer to the program:"
	}
	for i, o := range s.options(w) {
		if i == s.answer {
			lines = append(lines, styleChosen.Render("> "+o.text))
		} else {
			lines = append(lines, "  "+o.text)
		}
	}
	return lines
}

func (s *approvalsScreen) help(chosen int) string {
	switch {
	case chosen < 0:
		return "q quit"
	case s.mode == reasoning || s.mode == coding || s.mode == writing:
		return "enter send   esc back"
	case s.mode == answering && s.waiting[chosen].Inquiry != nil && s.waiting[chosen].Inquiry.Multiple:
		return "up/down choose   space or enter tick   enter on the last line sends   esc back"
	case s.mode == answering:
		return "up/down choose   enter answer   esc back   s show whole   page up/down scroll"
	}
	help := "up/down choose   enter answer   page up/down scroll   q quit"
	if !s.waiting[chosen].Whole && s.whole[s.chosen] == "" {
		help = "s show whole   " + help
	}
	return help
}
