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
	// leastText is the length of the shortest text, in characters, for which a match with an answer is meaningful.
	leastText = 4
	// mostAnswered bounds what a Provenance stores of the answers of a run, in bytes; beyond that, it keeps the older
	// ones.
	mostAnswered = 4 << 20
	// mostTexts is how many texts are searched for inside arguments, and mostLooked in how many texts of the arguments,
	// each of at most longestLooked bytes: this bounds the time that a program can make it take.
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

// Written records a value in the text of the program.
func (t *Provenance) Written(value json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.written == nil {
		t.written = map[string]bool{}
	}
	strictjson.Leaves(value, func(_ string, v strictjson.Value) { t.written[string(v.AppendCanonical(nil))] = true })
}

// Answered records the answer to a call.
func (t *Provenance) Answered(call int, tool string, value json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exact == nil {
		t.exact = map[string]prompt.Source{}
	}
	from := prompt.Source{Tool: tool, Call: call}
	strictjson.Leaves(value, func(_ string, v strictjson.Value) {
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

// Sources returns where the arguments of a call come from. A value in the text of the program counts as written even if
// an answer also contained it: the program's author could see it.
func (t *Provenance) Sources(args json.RawMessage) []prompt.Source {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []prompt.Source
	looked := 0
	strictjson.Leaves(args, func(pointer string, v strictjson.Value) {
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

// within finds the latest answer that contains a part of a text, or is contained in it.
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
