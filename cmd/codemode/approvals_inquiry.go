package main

import (
	"maps"
	"slices"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/approvals/terminal"
	"github.com/codemode-project/codemode/internal/visible"
)

// replies are what can be answered to a question of a program. Nothing is chosen by itself.
func (s *approvalsScreen) replies(q *prompt.Inquiry) []option {
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
			text = "Add words of your own, and send"
		}
		all = append(all, option{text: text, kind: "write"})
	}
	if q.Multiple {
		all = append(all, option{text: "Send what is ticked", kind: "send"})
	}
	return all
}

// reply acts on one of the replies.
func (s *approvalsScreen) reply(it item, o option) {
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

// wrote sends words, and what is ticked with them.
func (s *approvalsScreen) wrote(it item) {
	if s.typed == "" {
		s.notice = "Nothing is written yet."
		return
	}
	s.send(it, terminal.Said{Yes: true, Text: s.typed, Selected: slices.Sorted(maps.Keys(s.ticked))})
}

// tail is the end of a line that is being written, as far as there is room.
func tail(s string, room int) string {
	if r := []rune(s); len(r) > max(room, 10) {
		return "…" + string(r[len(r)-max(room, 10)+1:])
	}
	return s
}
