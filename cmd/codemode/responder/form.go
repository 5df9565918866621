package responder

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/visible"
)

// A mode says what the keys do.
type mode int

const (
	choosing  mode = iota // a question
	answering             // it, from a list
	reasoning             // why it is refused
	coding                // the code that a yes needs
	writing               // an answer to a program's question
	limiting              // the limits of a yes
	editing               // other arguments
)

// words reports whether the person is writing words. They chose to, so no letter of them is lost; only the key that
// sends the words has to wait.
func (m mode) words() bool { return m == reasoning || m == writing }

// most is how many characters a person can type.
func (m mode) most() int {
	if m == writing {
		return prompt.MaxAnswer
	}
	return prompt.MaxWords
}

// A form is the answer to an item that a person is about to give. It sends nothing.
type form struct {
	asked  item              // in its state at the beginning
	calls  []waiting         // of it, to which the answer applies
	answer int               // index of the selected option
	ticked map[int]bool      // options of a program's question
	typed  string            // a reason, a code, an answer or limits
	said   terminal.Said     // the yes that needs a code
	drafts map[string]string // arguments that a person wrote, by ID of the question
}

// An option is one of the answers to an item.
type option struct {
	text   string
	said   terminal.Said // what is sent
	begins mode          // what comes before it is sent; choosing is nothing
	tick   func()        // instead: ticks an option of a program's question
	notice string        // instead: why nothing is sent
}

func (s *form) options() []option {
	w := s.asked.one()
	switch {
	case s.asked.batch:
		return s.together()
	case w.Inquiry != nil:
		return s.replies(w.Inquiry)
	case len(w.Offers) == 0:
		return []option{{text: "Nothing can be answered here: see above",
			notice: "People answer this call in another place, as said above it."}}
	}
	all := verdicts("", w.Offers)
	if len(w.Args) > 0 {
		text := "Change the arguments, and allow those"
		if s.drafts[w.ID] != "" {
			text = "Continue changing the arguments, and allow those"
		}
		all = append(all, option{text: text, begins: editing})
	}
	return all
}

// together are the answers to a batch: for all calls, or for the marked ones.
func (s *form) together() []option {
	which, offers := fmt.Sprintf(" all %d calls", len(s.calls)), s.asked.offers
	if n := len(s.calls); n < len(s.asked.calls) {
		which = fmt.Sprintf(" the %d marked calls", n)
		if n == 1 {
			which = " the marked call"
		}
		offers = []prompt.Offer{{Scope: call.Once, Text: "Allow" + which + ", once each"}}
	}
	return verdicts(which, offers)
}

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

// verdicts are the refusals of calls, and what is offered.
func verdicts(which string, offers []prompt.Offer) []option {
	all := []option{{text: "Refuse" + which}, {text: "Refuse" + which + ", and say why", begins: reasoning}}
	for _, o := range offers {
		all = append(all, option{text: visible.Line(o.Text), said: terminal.Said{Yes: true, Scope: o.Scope}})
	}
	return all
}

// limited reports whether a person can limit a yes.
func (o option) limited() bool {
	return o.said.Scope != "" && o.said.Scope != call.Once && o.said.Scope != call.ForPlan
}

// selected is the selected option.
func (s *form) selected() option {
	all := s.options()
	return all[min(s.answer, len(all)-1)]
}

func (s *form) move(by int) { s.answer = max(min(s.answer+by, len(s.options())-1), 0) }

// picked are the ticked options.
func (s *form) picked() []int { return slices.Sorted(maps.Keys(s.ticked)) }

// write adds to the typed text, which has most characters at most.
func (s *form) write(text string, most int) {
	for _, r := range text {
		if len([]rune(s.typed)) < most && visible.Rune(r) {
			s.typed += string(r)
		}
	}
}

// lines are the options that fit, or the typed text.
func (s *form) lines(m mode, width, height int) []string {
	it := s.asked
	typed := "> " + tail(visible.Line(s.typed), width-6) + "_"
	ask := func(words string) []string { return append(wrap(words, width-1, width, ""), typed) }
	switch m {
	case reasoning:
		return ask("Refuse " + it.of() + ". Why? The program is told:")
	case coding:
		what := s.selected().text
		if s.said.Args != nil {
			what = "your arguments"
		}
		w := it.one()
		risk, code := visible.Line(w.Risk), visible.Line(w.Code)
		return ask(fmt.Sprintf("Risk %s. Type the code of this question, %s, to choose: %s", risk, code, what))
	case limiting:
		return ask("For how many calls, and for how long: 5, 15m, or 5 15m. Enter alone: as offered:")
	case writing:
		with := ""
		if len(s.ticked) > 0 {
			with = ", with the ticked options"
		}
		return ask("Your answer, in your own words" + with + ". The program reads it:")
	case editing:
		return nil
	}
	return s.scrolled(width, max(height/4, 3))
}

// scrolled are the options that fit, the chosen one among them.
func (s *form) scrolled(width, most int) (lines []string) {
	from, to := 0, 0 // lines of the chosen one
	for i, o := range s.options() {
		mark, style := "  ", lipgloss.NewStyle()
		if i == s.answer {
			mark, style, from = "> ", styleChosen, len(lines)
		}
		for _, line := range wrap(mark+o.text, width-1, width, "  ") {
			lines = append(lines, style.Render(line))
		}
		if i == s.answer {
			to = len(lines)
		}
	}
	room := min(len(lines), most)
	first := max(min(from, (from+to-room)/2), 0)
	first = min(first, len(lines)-room)
	return lines[first : first+room]
}
