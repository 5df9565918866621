package asking

import (
	"encoding/json"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/strictjson"
)

const (
	// leastText is the shortest text, in characters, whose appearance in an answer means something.
	leastText = 4
	// mostAnswered bounds what a Provenance remembers of the answers of a run, in bytes; beyond, what is older stays.
	mostAnswered = 4 << 20
	// mostTexts is how many texts are looked for inside of arguments, and mostLooked in how many texts of the
	// arguments that is done, each of at most longestLooked bytes: a program must not make it take long.
	mostTexts, mostLooked, longestLooked = 500, 64, 16 << 10
)

// A Provenance remembers the answers to the calls of a program and the values in its text, to say where the arguments
// of later calls come from. It compares texts and numbers and does not follow the program: what a program has changed
// beyond recognition, it does not recognise. The zero value is empty; a Provenance may be used by many goroutines.
type Provenance struct {
	mu      sync.Mutex
	written map[string]bool // texts and numbers, as canonical JSON
	texts   []answer
	exact   map[string]prompt.Source
	size    int
}

type answer struct {
	text string
	prompt.Source
}

// Written notes a value that stands in the text of the program.
func (t *Provenance) Written(value json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.written == nil {
		t.written = map[string]bool{}
	}
	prompt.Leaves(value, func(_ string, v strictjson.Value) { t.written[string(v.AppendCanonical(nil))] = true })
}

// Answered notes what a call was answered.
func (t *Provenance) Answered(call int, tool string, value json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exact == nil {
		t.exact = map[string]prompt.Source{}
	}
	from := prompt.Source{Tool: tool, Call: call}
	prompt.Leaves(value, func(_ string, v strictjson.Value) {
		if t.size += len(v.Source()); t.size > mostAnswered {
			return
		}
		form := string(v.AppendCanonical(nil))
		switch v.Kind() {
		case strictjson.Number:
			if len(form) >= leastText {
				t.exact[form] = from
			}
		case strictjson.String:
			if utf8.RuneCountInString(v.Text()) < leastText {
				return
			}
			t.exact[form] = from
			if t.texts = append(t.texts, answer{v.Text(), from}); len(t.texts) > mostTexts {
				t.texts = t.texts[1:]
			}
		}
	})
}

// Sources says where the arguments of a call come from. A value that is written in the text of the program stays so
// though an answer had it too: it is what the program's author could see.
func (t *Provenance) Sources(args json.RawMessage) []prompt.Source {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []prompt.Source
	looked := 0
	prompt.Leaves(args, func(pointer string, v strictjson.Value) {
		form := v.AppendCanonical(nil)
		s, ok := prompt.Source{}, t.written[string(form)]
		if !ok {
			s, ok = t.exact[string(form)]
		}
		if looked++; !ok && v.Kind() == strictjson.String && looked <= mostLooked && len(v.Source()) <= longestLooked {
			s, ok = t.within(v.Text())
		}
		if s.Pointer = pointer; ok {
			all = append(all, s)
		}
	})
	return all
}

// within looks for a text that an answer had a part of, or that is a part of an answer: the latest such answer.
func (t *Provenance) within(text string) (prompt.Source, bool) {
	if utf8.RuneCountInString(text) < leastText {
		return prompt.Source{}, false
	}
	for i := len(t.texts) - 1; i >= 0; i-- {
		if x := t.texts[i]; strings.Contains(x.text, text) || utf8.RuneCountInString(x.text) > leastText &&
			strings.Contains(text, x.text) {
			return x.Source, true
		}
	}
	return prompt.Source{}, false
}
