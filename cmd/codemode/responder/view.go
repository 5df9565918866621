package responder

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/internal/visible"
)

func (s *screen) View() tea.View {
	v := tea.NewView(s.content())
	v.AltScreen = true
	v.WindowTitle = fmt.Sprintf("codemode: %s", cli.Count(len(s.inbox.waiting), "question"))
	return v
}

// content is the whole screen. While the person chooses, the list is above the text of the chosen item. While the
// person answers, the list is one line, and the text is above the answers.
func (s *screen) content() string {
	top, bottom := s.frame()
	var middle []string
	if i := s.list.index(); i >= 0 && s.mode == editing {
		middle = strings.Split(s.editor.View(), "\n")
	} else if i >= 0 {
		middle = s.reader.show(s.shown(), s.room(), s.light, s.now())
	}
	lines := append(top, middle...)
	for len(lines) < s.height-len(bottom) {
		lines = append(lines, "")
	}
	lines = append(lines, bottom...)
	fit := lipgloss.NewStyle().MaxWidth(max(s.width-1, 1)).Inline(true)
	for i, line := range lines {
		lines[i] = fit.Render(line)
	}
	return strings.Join(lines[:min(len(lines), max(s.height, 1))], "\n")
}

// shown is the item with its text on the screen: the item being answered, in its state at the beginning, or else the
// chosen one.
func (s *screen) shown() item {
	if s.mode != choosing {
		return s.form.asked
	}
	return s.list.items[s.list.index()]
}

// room is the number of lines for the text.
func (s *screen) room() int {
	top, bottom := s.frame()
	return max(s.height-len(top)-len(bottom), 1)
}

// frame is the lines above the text and below it.
func (s *screen) frame() (top, bottom []string) {
	i, beyond := s.list.index(), ""
	if s.mode == choosing {
		top = append(top, styleTitle.Render("codemode approvals: "+cli.Count(len(s.inbox.waiting), "question"))+
			styleFaint.Render(fmt.Sprintf("   %s connected", cli.Count(len(s.links), "process"))))
	} else {
		top = append(top, s.collapsed(i))
	}
	switch {
	case len(s.links) == 0:
		top = append(top, "", `No "codemode serve" of this user is running.`)
	case i < 0:
		top = append(top, "", "No question waits. Questions of programs appear here.")
	case s.mode == choosing:
		var list []string
		list, beyond = s.list.lines(max(s.height/4, 3), s.width, &s.outcomes, s.now())
		top = append(top, list...)
	}
	top = append(top, rule(beyond, s.width))
	if i >= 0 && s.mode != choosing {
		bottom = s.form.lines(s.mode, s.width, s.height)
	}
	bottom = append([]string{""}, bottom...) // for the rule
	if s.mode == choosing {
		n := 1
		if s.height >= roomy {
			n = 3
		}
		bottom = append(bottom, s.outcomes.latest(n, s.width-1)...)
	}
	if s.notice != "" {
		notices := wrap(s.notice, s.width-1, s.width, "")
		for _, line := range notices[:min(len(notices), mostNotice)] {
			bottom = append(bottom, styleNotice(s.light).Render(line))
		}
	}
	bottom = append(bottom, styleFaint.Render(s.help(i)))
	room := max(s.height-len(top)-len(bottom), 1)
	bottom[0] = s.lowerRule(i, room)
	return top, bottom
}

// mostNotice is the largest number of lines of a notice.
const mostNotice = 3

// rule is a line across the screen, with words in it.
func rule(words string, width int) string {
	if words != "" {
		words = "── " + words + " "
	}
	return styleFaint.Render(words + strings.Repeat("─", max(width-1-lipgloss.Width(words), 1)))
}

// lowerRule says how much of the text is below, and which answer is chosen.
func (s *screen) lowerRule(i, room int) string {
	if i < 0 || s.mode == editing {
		return rule("", s.width)
	}
	var words []string
	if left := s.reader.clamp(s.shown(), room); left > 0 {
		words = append(words, fmt.Sprintf("%s below: page down", cli.Count(left, "more line")))
	} else if s.reader.scroll > 0 {
		words = append(words, fmt.Sprintf("%s above: page up", cli.Count(s.reader.scroll, "line")))
	}
	if s.mode == answering {
		words = append(words, fmt.Sprintf("answer %d of %d", s.form.answer+1, len(s.form.options())))
	}
	if len(words) > 0 {
		return styleNotice(s.light).Render("── "+strings.Join(words, " ── ")+" ") + rule("", s.width)
	}
	return rule("", s.width)
}

// collapsed is the list in one line, while the person answers.
func (s *screen) collapsed(i int) string {
	it := s.form.asked
	line := fmt.Sprintf("%d of %d  ", i+1, len(s.list.items))
	if it.batch {
		return line + styleTitle.Render(it.row)
	}
	w := it.one()
	until := ""
	if !w.Expires.IsZero() {
		until = "  until " + w.Expires.Local().Format(time.TimeOnly)
	}
	switch w.Kind {
	case "question":
		return line + styleTitle.Render("a program asks") + until
	case "account":
		return line + styleTitle.Render("an account to connect") + until
	}
	risk := visible.Line(w.Risk) + " risk"
	if w.NeedsCode {
		risk = styleDanger.Render(risk)
	}
	name := visible.Line(w.Tool)
	if room := s.width - 1 - lipgloss.Width(line+"  "+risk+until); lipgloss.Width(name) > room {
		name = tail(name, room)
	}
	return line + styleTitle.Render(name) + "  " + risk + until
}

// roomy is the height of a screen that shows several outcomes.
const roomy = 28

func (s *screen) help(chosen int) string {
	if chosen < 0 {
		return "q quit"
	}
	it := s.shown()
	show := ""
	if v := s.reader.viewOf(it); v.Cut || v.Masked > 0 {
		show = "s show whole  "
	}
	switch {
	case s.mode == editing:
		return "ctrl+s allow with these arguments  esc back"
	case s.mode == answering && it.inquiry() != nil && it.inquiry().Multiple:
		return "up/down  space tick  enter on the last sends  esc back"
	case s.mode == answering && s.form.selected().limited():
		return show + "up/down  enter answer  l limit it  page up/down  esc back"
	case s.mode == answering:
		return show + "up/down  enter answer  page up/down  esc back"
	case s.mode != choosing:
		return "enter send  page up/down  esc back"
	case it.batch || it.in != "":
		return show + "up/down  space mark  enter answer  q quit"
	}
	return show + "up/down  enter answer  page up/down  q quit"
}
