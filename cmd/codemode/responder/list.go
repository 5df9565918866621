package responder

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A list is the items that a person can choose. One is chosen, by its ID: the choice stays when other questions come
// and go, so an answer is always for the question that the person read.
type list struct {
	items  []item
	chosen string          // ID of an item; "" if there is none
	byHand bool            // a person chose it
	top    int             // first item on the screen
	marked map[string]bool // calls of a batch, by their IDs
}

// index is that of the chosen item, -1 if there is none.
func (s *list) index() int { return s.place(s.chosen) }

func (s *list) place(id string) int {
	return slices.IndexFunc(s.items, func(it item) bool { return it.id == id })
}

// next chooses the item after the chosen one, which is gone, or else the nearest before it. before is the list with it.
func (s *list) next(before []item) {
	at := slices.IndexFunc(before, func(it item) bool { return it.id == s.chosen })
	s.chosen, s.byHand = "", false
	near := slices.Clone(before[:at+1])
	slices.Reverse(near)
	for _, it := range slices.Concat(before[at+1:], near, s.items) {
		if s.chosen == "" && s.place(it.id) >= 0 {
			s.chosen = it.id
		}
	}
}

// targets are the calls that an answer applies to: the marked ones of a batch, or all.
func (s *list) targets(it item) []waiting {
	some := slices.DeleteFunc(slices.Clone(it.calls), func(w waiting) bool { return !s.marked[w.ID] })
	if it.batch && len(some) > 0 {
		return some
	}
	return it.calls
}

// mark toggles the mark of a call of a batch; on the batch, of all its calls. Other items cannot be marked.
func (s *list) mark(it item) bool {
	if !it.batch && it.in == "" {
		return false
	}
	on := !slices.ContainsFunc(it.calls, func(w waiting) bool { return s.marked[w.ID] })
	for _, w := range it.calls {
		s.marked[w.ID] = on
	}
	return true
}

// lines are the items around the chosen one, at most room, and how many there are beyond them. The list scrolls only
// when the choice would leave it.
func (s *list) lines(room, width int, sent *outcomes, now time.Time) (lines []string, beyond string) {
	chosen := s.index()
	room = min(room, len(s.items))
	s.top = min(max(s.top, chosen-room+1, 0), chosen, len(s.items)-room)
	for i := s.top; i < s.top+room; i++ {
		it := s.items[i]
		mark := fmt.Sprintf("%-8s ", it.kind())
		if it.in != "" {
			if mark = "  [ ] "; s.marked[it.id] {
				mark = "  [x] "
			}
		}
		age := max(now.Sub(it.calls[0].Since), 0).Truncate(time.Second)
		line := fmt.Sprintf("%3d %4s  ", i+1, age) + mark
		if sent.open(it) {
			line += "(sent) "
		}
		line = fit(line+it.row, width-3)
		switch {
		case i == chosen:
			line = styleChosen.Render("> " + line)
		case it.in == "" && it.needsCode():
			line = styleDanger.Render("  " + line)
		default:
			line = "  " + line
		}
		lines = append(lines, line)
	}
	var words []string
	if s.top > 0 {
		words = append(words, fmt.Sprintf("%d more above", s.top))
	}
	if below := len(s.items) - s.top - room; below > 0 {
		words = append(words, fmt.Sprintf("%d more below", below))
	}
	return lines, strings.Join(words, ", ")
}
