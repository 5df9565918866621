package runs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/sandbox"
)

// DefaultTextBytes is the longest text of a response.
const DefaultTextBytes = inforce.DefaultTextBytes

// Sizes for which other parts of a text leave room.
const (
	consoleBytes = 16 << 10 // console text shown
	minimumValue = 512      // room for the value, whatever the rest
	cutNote      = 200      // room for the note that it was cut
)

// Text renders a response for the sender of the program, together with the error that [Evaluator.Eval] returned with
// it: the value (or what went wrong, and where), the console, and the calls with their outcomes. It groups equal calls,
// unless [Request.EveryCall] asked for each. It is never longer than the profile's limit on results, and says what it
// left out. The Text of a nil Response is that of its error.
func (r *Response) Text(err error) string {
	if r == nil {
		r = &Response{}
	}
	if r.kept != nil {
		return r.kept.Text
	}
	limit := r.textLimit()
	rest, above := r.notes(err, limit), r.Unsuccessful(err)
	room := r.valueRoom(len(rest)+len(above), limit)
	var head string
	if err != nil {
		head = clip(r.failure(err), room)
	} else {
		head = valueText(r.Value, room, r.keptValue)
	}
	return above + strings.TrimRight(head, "\n") + "\n" + rest
}

func (r *Response) textLimit() int { return cmp.Or(r.limit, DefaultTextBytes) }

// consoleRoom is about the room for the console: a quarter of the text, and more beside a short value.
func (r *Response) consoleRoom() int {
	limit := r.textLimit()
	if r.everyCall {
		return min(consoleBytes, limit/4)
	}
	return min(consoleBytes, max(limit/4, limit*3/4-len(r.Value)-minimumValue))
}

// valueRoom is the room for the value, beside other text of rest bytes.
func (r *Response) valueRoom(rest, limit int) int {
	note := cutNote
	if r.keptValue != nil {
		note += len(r.keptValue.note(""))
	}
	return max(limit-rest-note, minimumValue)
}

// notes is the text below the value: the console and the calls. It leaves at least half of limit to a long value.
func (r *Response) notes(err error, limit int) string {
	text := r.hint() + r.missing() + r.Session.text(err) + r.consoleText(r.consoleRoom())
	if r.everyCall {
		text += r.callsText(err, limit-len(text)-min(len(r.Value), limit/2)-2*cutNote)
	} else {
		text += r.callsText(err, limit/4)
	}
	if r.BlocksLeft > 0 {
		text += fmt.Sprintf("\n(cut: %d more images, sounds or resources did not fit into the answer: return fewer, or "+
			"await codemode.keep(handle) for each, for later programs)\n", r.BlocksLeft)
	}
	return text
}

// failure says what went wrong, with the program's own line.
func (r *Response) failure(err error) string {
	if problems, ok := errors.AsType[analysis.Problems](err); ok {
		return "The program was not started.\n" + problems.Error()
	}
	ended, ok := errors.AsType[*sandbox.Error](err)
	if errors.Is(err, approvals.ErrLeaving) {
		return r.comeBack(err)
	}
	if !ok && r.Run == "" {
		return "error: " + visible.Text(err.Error())
	}
	if !ok {
		return "error: " + visible.Line(err.Error())
	}
	text := fmt.Sprintf("error (%s): %s", ended.Kind, visible.Line(ended.Error()))
	if ended.Kind == sandbox.Refused {
		text = "The program was not started.\n" + visible.Line(ended.Error())
	}
	at := fmt.Sprintf("%s:%d:%d", r.name, ended.Pos.Line, ended.Pos.Column)
	if ended.Pos.Line > 0 {
		text += "\n    at " + at + excerpt(r.source, ended.Pos.Line, ended.Pos.Column)
	}
	frames := strings.Split(strings.TrimRight(ended.Stack, "\n"), "\n")
	if r.Session == nil || strings.Contains(frames[0], at) { // else it is in an earlier program
		frames = frames[1:]
	}
	for _, frame := range frames[:min(len(frames), callers)] {
		text += "\n    " + visible.Short(strings.TrimSpace(frame), excerptRunes)
	}
	if name, ok := strings.CutSuffix(ended.Message, " is not defined"); ok && ended.Name == "ReferenceError" {
		if hint := registry.Absent(name); hint != "" {
			text += "\n  hint: " + hint
		}
	}
	if ended.Kind == sandbox.OutOfMemory && ended.Err == nil {
		text += "\n  hint: read and keep less at a time; limits.memory, in the configuration or in the profile, is how much it may have"
	}
	return text + r.others(ended)
}

// others lists the further errors of a run that nobody handled.
func (r *Response) others(ended *sandbox.Error) string {
	var lines []string
	for _, other := range ended.Others {
		line := "\n  nobody handled either: " + visible.Short(other.Error(), detailRunes)
		if other.Pos.Line > 0 {
			line += fmt.Sprintf(" (%s:%d:%d)", r.name, other.Pos.Line, other.Pos.Column)
		}
		lines = append(lines, line)
	}
	text := ""
	for i := 0; i < len(lines); {
		n := 1
		for i+n < len(lines) && lines[i+n] == lines[i] {
			n++
		}
		if text += lines[i]; n > 1 {
			text += fmt.Sprintf(" x%d", n)
		}
		i += n
	}
	if ended.More > 0 {
		text += fmt.Sprintf("\n  and %d more", ended.More)
	}
	return text
}

// comeBack tells the client of a run how to get the result, if another process resumes the run.
func (r *Response) comeBack(err error) string {
	why := "waits for a person, and this process stops. The run goes on elsewhere, or here after a restart, when they " +
		"have answered"
	if errors.Is(err, errTakenOver) {
		why = "is not this process's any more, which another one took for dead. That one goes on with the run, or has " +
			"ended it"
	}
	return fmt.Sprintf("The run %s %s.\nTo get its result send the same request again, with the idempotency key %q: as "+
		"the HTTP header Idempotency-Key, or as codemode/idempotencyKey in _meta. Sent without it, the program runs anew, "+
		"and does again what it has done.", r.Run, why, r.key)
}

// callers is how many of the functions that led to an exception are listed.
const callers = 5

// excerptRunes is the length shown of a long source line.
const excerptRunes = 120

// excerpt gives the source line and a caret under the column.
func excerpt(source string, line, column int) string {
	lines := strings.Split(source, "\n")
	if line > len(lines) {
		return ""
	}
	text := []rune(strings.TrimRight(lines[line-1], "\r"))
	at := min(max(column-1, 0), len(text))
	from := 0
	if len(text) > excerptRunes {
		from = min(max(at-excerptRunes/2, 0), len(text)-excerptRunes)
		text = text[from : from+excerptRunes]
	}
	pad := strings.Map(func(c rune) rune {
		if c == '\t' {
			return c
		}
		return ' '
	}, string(text[:min(at-from, len(text))]))
	return fmt.Sprintf("\n    %s\n    %s^", string(text), pad)
}

// hint points out where the program took a promise for its value, parts of results that are not there, and intervals
// that came to nothing.
func (r *Response) hint() string {
	text := ""
	for _, u := range r.mistaken[:min(len(r.mistaken), hints)] {
		text += "\nhint: " + preflight.UnawaitedHint(u) + "\n"
	}
	notes := r.Absent
	if r.timers > 0 && r.Session == nil { // of a session, it says so itself
		notes = append(slices.Clone(notes), fmt.Sprintf("%s that setInterval began ended with the program, since an interval "+
			"does not keep it running: await a promise that the last one resolves", count(r.timers, "timer")))
	}
	for i, note := range notes {
		if i == 0 {
			text += "\n"
		}
		text += "note: " + visible.Line(note) + "\n"
	}
	return text
}

const hints = 3 // at most

// missing names the servers whose tools a search of the program could not find.
func (r *Response) missing() string {
	if len(r.Missing) == 0 {
		return ""
	}
	return fmt.Sprintf("\nstill starting when the program searched, so their tools are missing there: %s; search again in "+
		"a moment\n", visible.Short(strings.Join(r.Missing, ", "), detailRunes))
}

// consoleText lists what the program printed and its reader has not seen, in about room bytes.
func (r *Response) consoleText(room int) string {
	left := r.Console[min(r.ConsoleSeen, len(r.Console)):]
	if len(left) == 0 && r.ConsoleDropped == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(consoleHead)
	dropped := r.ConsoleDropped
	for _, line := range left {
		text := consoleLine(line)
		if b.Len()+len(text) > room {
			dropped += len(line.Text)
			continue
		}
		b.WriteString(text)
	}
	switch {
	case dropped > 0 && r.keptConsole != nil:
		fmt.Fprintf(&b, "  (cut: %d more bytes were printed. %s)\n", dropped, r.keptConsole.note(consolePart))
	case dropped > 0:
		fmt.Fprintf(&b, "  (cut: %d more bytes were printed; print less, or return it)\n", dropped)
	}
	return b.String()
}

const consoleHead = "\nconsole:\n"

func consoleLine(line sandbox.Line) string {
	return "  " + Event{Kind: Printed, Line: line}.String() + "\n"
}

// clip cuts text at a rune and says how much it removed.
func clip(s string, room int) string {
	if len(s) <= room {
		return s
	}
	cut := room
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d more bytes)", s[:cut], len(s)-cut)
}

// cutsConsole reports whether the text shows only a part of the console.
func (r *Response) cutsConsole() bool {
	shown, room := 0, r.consoleRoom()
	for _, line := range r.Console {
		shown += len(consoleLine(line))
	}
	return shown+len(consoleHead) > room
}

// cutsValue reports whether the text shows only a part of the value.
func (r *Response) cutsValue() bool {
	if len(r.Value) <= minimumValue { // it fits, whatever the rest: most runs end here
		return false
	}
	limit := r.textLimit()
	_, whole := printed(r.Value, r.valueRoom(len(r.notes(nil, limit))+len(r.Unsuccessful(nil)), limit))
	return !whole
}

// text says what became of the session, for the sender of the program.
func (s *SessionEnd) text(failure error) string {
	switch {
	case s == nil:
		return ""
	case s.Problem != "":
		return fmt.Sprintf("\nsession %s: as it was before the program: %s\n", s.Name, s.Problem)
	case s.Version == 0:
		return fmt.Sprintf("\nsession %s: as it was before the program\n", s.Name)
	}
	text := fmt.Sprintf("\nsession %s: version %d", s.Name, s.Version)
	var pending []string
	if s.Timers > 0 {
		pending = append(pending, count(s.Timers, "timer"))
	}
	if s.Promises > 0 {
		pending = append(pending, count(s.Promises, "promise"))
	}
	if len(pending) > 0 {
		text += "; still pending at the end, and dropped: " + strings.Join(pending, ", ")
	}
	if len(s.Constants) > 0 {
		text += "\nnote: a constant now, and a variable before, which functions of earlier programs can still change: " +
			visible.Short(strings.Join(s.Constants, ", "), detailRunes)
	}
	return text + "\n"
}
