package responder

import (
	"maps"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/visible"
)

// replies are the possible answers to a question of a program. None is chosen in advance.
func (s *screen) replies(it item, q *prompt.Inquiry) []option {
	answer := func(text string, said terminal.Said) option {
		return option{text: text, do: func() { s.send(it, said) }}
	}
	if q.Connect != "" {
		return []option{answer("Refuse to connect an account", terminal.Said{})}
	}
	all := []option{answer("Do not answer", terminal.Said{})}
	for i, o := range q.Options {
		text := `"` + strings.ReplaceAll(visible.Line(o.Label), `"`, `\"`) + `"` // nobody takes it for words of ours
		switch {
		case !q.Multiple:
			all = append(all, answer(text, terminal.Said{Yes: true, Selected: []int{i}}))
		case s.ticked[i]:
			all = append(all, option{text: "[x] " + text, ticks: true, do: func() { delete(s.ticked, i) }})
		default:
			all = append(all, option{text: "[ ] " + text, ticks: true, do: func() { s.ticked[i] = true }})
		}
	}
	if q.FreeText {
		text := "Answer in your own words"
		if q.Multiple && len(s.ticked) > 0 {
			text = "Add your own words, and send"
		}
		all = append(all, option{text: text, do: func() { s.enter(writing) }})
	}
	if q.Multiple && len(s.ticked) == 0 {
		all = append(all, option{text: "Send what is ticked", do: func() { s.notice = "Nothing is ticked yet." }})
	} else if q.Multiple {
		said := terminal.Said{Yes: true, Selected: slices.Sorted(maps.Keys(s.ticked))}
		all = append(all, answer("Send what is ticked", said))
	}
	return all
}

// wrote sends the person's words and the ticked options.
func (s *screen) wrote(it item) {
	if s.typed == "" {
		s.notice = "You have not written anything yet."
		return
	}
	s.send(it, terminal.Said{Yes: true, Text: s.typed, Selected: slices.Sorted(maps.Keys(s.ticked))})
}

// tail is the end of a typed line, as far as it fits.
func tail(s string, room int) string {
	if r := []rune(s); len(r) > max(room, 10) {
		return "…" + string(r[len(r)-max(room, 10)+1:])
	}
	return s
}
