package responder

import (
	"maps"
	"slices"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/visible"
)

// replies are the possible answers to a question of a program. None is chosen in advance.
func (s *screen) replies(q *prompt.Inquiry) []option {
	if q.Connect != "" {
		return []option{{text: "Refuse to connect an account", kind: "decline"}}
	}
	all := []option{{text: "Do not answer", kind: "decline"}}
	for i, o := range q.Options {
		text, kind := visible.Line(o.Label), "choose"
		if q.Multiple {
			mark := "[ ] "
			if s.ticked[i] {
				mark = "[x] "
			}
			text, kind = mark+text, "tick"
		}
		all = append(all, option{text: text, kind: kind, n: i})
	}
	if q.FreeText {
		text := "Answer in your own words"
		if q.Multiple && len(s.ticked) > 0 {
			text = "Add your own words, and send"
		}
		all = append(all, option{text: text, kind: "write"})
	}
	if q.Multiple {
		all = append(all, option{text: "Send what is ticked", kind: "send"})
	}
	return all
}

// reply handles one of the replies.
func (s *screen) reply(it item, o option) {
	switch o.kind {
	case "decline":
		s.send(it, terminal.Said{})
	case "choose":
		s.send(it, terminal.Said{Yes: true, Selected: []int{o.n}})
	case "tick":
		if s.ticked[o.n] {
			delete(s.ticked, o.n)
		} else {
			s.ticked[o.n] = true
		}
	case "write":
		s.enter(writing)
	case "send":
		if len(s.ticked) == 0 {
			s.notice = "Nothing is ticked yet."
			return
		}
		s.send(it, terminal.Said{Yes: true, Selected: slices.Sorted(maps.Keys(s.ticked))})
	}
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
