package responder

import (
	"strings"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/visible"
)

// replies are the possible answers to a question of a program. None is chosen in advance.
func (s *form) replies(q *prompt.Inquiry) []option {
	if q.Connect != "" {
		return []option{{text: "Refuse to connect an account"}}
	}
	all := []option{{text: "Do not answer"}}
	for i, o := range q.Options {
		text := `"` + strings.ReplaceAll(visible.Line(o.Label), `"`, `\"`) + `"` // nobody takes it for words of ours
		switch {
		case !q.Multiple:
			all = append(all, option{text: text, said: terminal.Said{Yes: true, Selected: []int{i}}})
		case s.ticked[i]:
			all = append(all, option{text: "[x] " + text, tick: func() { delete(s.ticked, i) }})
		default:
			all = append(all, option{text: "[ ] " + text, tick: func() { s.ticked[i] = true }})
		}
	}
	if q.FreeText {
		text := "Answer in your own words"
		if q.Multiple && len(s.ticked) > 0 {
			text = "Add your own words, and send"
		}
		all = append(all, option{text: text, begins: writing})
	}
	if q.Multiple && len(s.ticked) == 0 {
		all = append(all, option{text: "Send what is ticked", notice: "Nothing is ticked yet."})
	} else if q.Multiple {
		all = append(all, option{text: "Send what is ticked", said: terminal.Said{Yes: true, Selected: s.picked()}})
	}
	return all
}

// tail is the end of a typed line, as far as it fits.
func tail(s string, room int) string {
	if r := []rune(s); len(r) > max(room, 10) {
		return "…" + string(r[len(r)-max(room, 10)+1:])
	}
	return s
}
