package approvals

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Source says where one argument comes from, as far as could be seen.
type Source struct {
	Pointer string // JSON Pointer of a text or number in the arguments
	Tool    string // canonical name of the tool whose answer has it; "" says that it is written in the text of the program
	Call    int    // the number of that call in the run
}

func (s Source) remark() string {
	if s.Tool == "" {
		return "(written in the program)"
	}
	return fmt.Sprintf("(from %s, call %d)", Heading(&Request{Name: s.Tool}), s.Call)
}

// sourcesOf maps pointers to remarks, and reports whether every argument is written in the program.
func sourcesOf(r *Request) (remarks map[string]string, written bool) {
	if len(r.Sources) == 0 {
		return nil, false
	}
	remarks, written = map[string]string{}, true
	for _, s := range r.Sources {
		remarks[s.Pointer] = s.remark()
		written = written && s.Tool == ""
	}
	if written && json.Valid(r.Args) {
		leaves(r.Args, func(pointer, _ []byte) { written = written && remarks[string(pointer)] != "" })
	}
	return remarks, written
}

// leaves calls f for everything in raw, which is valid JSON, that holds nothing else, with its pointer, which f must not keep.
func leaves(raw []byte, f func(pointer, raw []byte)) { leavesBelow(bytes.TrimSpace(raw), nil, f) }

func leavesBelow(raw, at []byte, f func(pointer, raw []byte)) {
	if raw[0] != '{' && raw[0] != '[' {
		f(at, raw)
		return
	}
	i := 0
	for key, value := range entries(raw) {
		here := append(at, '/')
		if key != nil {
			here = append(here, pointerStep(text(key))...)
		} else {
			here = strconv.AppendInt(here, int64(i), 10)
		}
		i++
		leavesBelow(value, here, f)
	}
}

func pointerStep(step string) string {
	return strings.ReplaceAll(strings.ReplaceAll(step, "~", "~0"), "/", "~1")
}

const (
	// leastTrace is the shortest text, in characters, whose appearance in an answer means something.
	leastTrace = 4
	// mostTraced bounds what a Trace remembers of the answers of a run, in bytes; beyond, what is older stays.
	mostTraced = 4 << 20
	// mostTexts is how many texts are looked for inside of arguments, and mostLooked in how many texts of the arguments that is
	// done, each of at most longestLooked bytes: a program must not make it take long.
	mostTexts, mostLooked, longestLooked = 500, 64, 16 << 10
)

// A Trace remembers what a program was answered and what is written in its text, to say where the arguments of its calls come
// from. It compares texts and numbers and does not follow the program: what a program has changed beyond recognition, it does
// not recognise. The zero value is empty; a Trace may be used by many goroutines.
type Trace struct {
	mu      sync.Mutex
	written map[string]bool // texts and numbers, as canonical JSON
	texts   []traced
	exact   map[string]Source
	size    int
}

type traced struct {
	text string
	Source
}

// Written notes a value that stands in the text of the program.
func (t *Trace) Written(value json.RawMessage) {
	if !json.Valid(value) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.written == nil {
		t.written = map[string]bool{}
	}
	leaves(value, func(_, raw []byte) {
		if form, err := appendCanonical(nil, raw); err == nil {
			t.written[string(form)] = true
		}
	})
}

// Answered notes what a call was answered.
func (t *Trace) Answered(call int, tool string, value json.RawMessage) {
	if !json.Valid(value) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exact == nil {
		t.exact = map[string]Source{}
	}
	from := Source{Tool: tool, Call: call}
	leaves(value, func(_, raw []byte) {
		if t.size += len(raw); t.size > mostTraced {
			return
		}
		form, err := appendCanonical(nil, raw)
		if err != nil {
			return
		}
		if raw[0] != '"' {
			if len(form) >= leastTrace && raw[0] != 't' && raw[0] != 'f' && raw[0] != 'n' {
				t.exact[string(form)] = from
			}
			return
		}
		said := text(raw)
		if utf8.RuneCountInString(said) >= leastTrace {
			t.exact[string(form)] = from
			if t.texts = append(t.texts, traced{said, from}); len(t.texts) > mostTexts {
				t.texts = t.texts[1:]
			}
		}
	})
}

// Sources says where the arguments of a call come from. A value that is written in the text of the program stays so though an answer
// had it too: it is what the program's author could see.
func (t *Trace) Sources(args json.RawMessage) []Source {
	if !json.Valid(args) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []Source
	looked := 0
	leaves(args, func(pointer, raw []byte) {
		form, err := appendCanonical(nil, raw)
		if err != nil {
			return
		}
		s, ok := Source{}, t.written[string(form)]
		if !ok {
			s, ok = t.exact[string(form)]
		}
		if looked++; !ok && raw[0] == '"' && looked <= mostLooked && len(raw) <= longestLooked {
			s, ok = t.within(text(raw))
		}
		if s.Pointer = string(pointer); ok {
			all = append(all, s)
		}
	})
	return all
}

// within looks for a text that an answer had a part of, or that is a part of an answer: the latest such answer.
func (t *Trace) within(text string) (Source, bool) {
	if utf8.RuneCountInString(text) < leastTrace {
		return Source{}, false
	}
	for i := len(t.texts) - 1; i >= 0; i-- {
		if x := t.texts[i]; strings.Contains(x.text, text) || utf8.RuneCountInString(x.text) > leastTrace && strings.Contains(text, x.text) {
			return x.Source, true
		}
	}
	return Source{}, false
}
