package responder

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/visible"
)

// outcomes are the answers that the person gave here, and what became of them.
type outcomes struct {
	all  []*outcome      // the latest last
	sent map[string]bool // questions whose answer no process has accepted yet
}

// An outcome is the state of an answer, which may be to several calls.
type outcome struct {
	verb, what string
	calls      []string         // IDs
	state      map[string]state // by ID
}

// A state says what became of the answer to one call. The zero state is an answer that was sent.
type state struct {
	taken, refused bool   // by the process
	text           string // why it was refused, or how the call ended
}

// mostOutcomes is how many outcomes the screen keeps.
const mostOutcomes = 20

// add notes an answer that was sent.
func (s *outcomes) add(o *outcome) {
	for _, id := range o.calls {
		s.sent[id] = true
	}
	if s.all = append(s.all, o); len(s.all) > mostOutcomes {
		s.all = s.all[1:]
	}
}

// open reports whether an answer to an item was sent, and no process has accepted it yet.
func (s *outcomes) open(it item) bool {
	return slices.ContainsFunc(it.calls, func(w waiting) bool { return s.sent[w.ID] })
}

// answered notes that the process accepted an answer, or why not.
func (s *outcomes) answered(t *terminal.Told) {
	delete(s.sent, t.ID)
	s.note(t.ID, state{taken: t.Error == "", refused: t.Error != "", text: visible.Line(t.Error)})
}

func (s *outcomes) note(id string, now state) {
	for _, o := range slices.Backward(s.all) {
		if slices.Contains(o.calls, id) {
			if !now.taken || o.state[id] == (state{}) {
				o.state[id] = now
			}
			return
		}
	}
}

// latest describes the last n.
func (s *outcomes) latest(n, width int) (lines []string) {
	for _, o := range s.all[max(len(s.all)-n, 0):] {
		lines = append(lines, fit(o.line(), width))
	}
	return lines
}

// line describes the state of an answer. The state comes first, in case the line is cut.
func (o *outcome) line() string {
	if len(o.calls) == 1 {
		verb, now := o.verb, o.state[o.calls[0]]
		if now.refused {
			verb = "Not " + strings.ToLower(verb[:1]) + verb[1:]
		}
		switch {
		case now == (state{}):
			verb += ", sent"
		case now.taken && (verb == verbAllowed || verb == verbChanged):
			verb += ", not done yet"
		case !now.taken:
			verb += ", " + now.text
		}
		return verb + ": " + o.what
	}
	ways := []string{}
	times := map[string]int{}
	for _, id := range o.calls {
		now := o.state[id]
		way := now.text
		switch first, _, _ := strings.Cut(way, " "); {
		case now == (state{}):
			way = "sent"
		case now.taken && o.verb == verbAllowed:
			way = "not done yet"
		case now.taken:
			way = "delivered"
		case now.refused:
			way = "not accepted: " + way
		case first == "done": // in whatever time
			way = first
		}
		if times[way]++; !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	for i, way := range ways {
		ways[i] = fmt.Sprintf("%d %s", times[way], way)
	}
	return fmt.Sprintf("%s, %s: %s", o.verb, strings.Join(ways, ", "), o.what)
}

// Answers, in the past tense.
const (
	verbAllowed  = "Allowed"
	verbChanged  = "Allowed with changes"
	verbRefused  = "Refused"
	verbAnswered = "Answered"
)
