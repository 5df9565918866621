package profiles

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/typos"
)

// A reader turns the tree of a configuration file into values and collects everything
// that is wrong on the way. It never stops at a problem: whoever mends a file wants to see
// all of them.
type reader struct {
	file     string
	src      string
	root     strictjson.Value
	placed   map[strictjson.Value]span // where values stand that are no JSON in src
	problems Problems
	warnings Problems
	earlier  Problems // warnings of the files before this one

	// The place asked for last. Places are mostly asked for in the order of the file, so
	// each is found from the one before it.
	at, lineStart, line, column int

	lines []string // of the file, once sourceLine was asked
}

// place finds the line and column of a byte.
func (r *reader) place(offset int) Position {
	if offset < r.at || r.line == 0 {
		r.at, r.lineStart, r.line, r.column = 0, 0, 1, 1
	}
	src := r.src
	between := src[r.at:offset]
	if n := strings.Count(between, "\n"); n > 0 {
		r.line += n
		r.lineStart = r.at + strings.LastIndexByte(between, '\n') + 1
		r.column = 1 + utf8.RuneCountInString(src[r.lineStart:offset])
	} else {
		r.column += utf8.RuneCountInString(between)
	}
	r.at = offset
	return Position{File: r.file, Line: r.line, Column: r.column}
}

func (r *reader) problem(start, end int, message, hint string) Problem {
	src := r.src
	start = min(start, len(src))
	end = min(max(end, start), len(src))
	p := Problem{Position: r.place(start), Message: message, Hint: hint}
	line := src[r.lineStart:]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	p.Source = strings.TrimSuffix(line, "\r")
	end = min(end, r.lineStart+len(p.Source))
	if end > start {
		p.Length = utf8.RuneCountInString(src[start:end])
	}
	p.Length = max(p.Length, 1)
	return p
}

// A span is a part of a file, in bytes.
type span struct{ start, end int }

// span is where a value stands in the file.
func (r *reader) span(n strictjson.Value) span {
	if at, ok := r.placed[n]; ok {
		return at
	}
	return span{n.Offset(), n.End()}
}

// textAt gives a text that stands in the file without quotes as a value.
func (r *reader) textAt(text string, start int) strictjson.Value {
	v, err := strictjson.Parse(strictjson.AppendString(nil, text), strictjson.Options{})
	if err != nil {
		panic(err) // every text has a form as JSON
	}
	if r.placed == nil {
		r.placed = map[strictjson.Value]span{}
	}
	r.placed[v] = span{start, start + len(text)}
	return v
}

// wrong reports a problem with a value.
func (r *reader) wrong(n strictjson.Value, hint, format string, args ...any) {
	at := r.span(n)
	r.report(at.start, at.end, hint, format, args...)
}

// wrongKey reports a problem with a member's name, or with the member as a whole.
func (r *reader) wrongKey(n strictjson.Value, hint, format string, args ...any) {
	r.report(n.KeyOffset(), n.KeyEnd(), hint, format, args...)
}

// maxProblems is where counting what is wrong with a file stops being of use.
const maxProblems = 1000

func (r *reader) report(start, end int, hint, format string, args ...any) {
	if len(r.problems) != maxProblems {
		r.problems = append(r.problems, r.problem(start, end, fmt.Sprintf(format, args...), hint))
	}
}

// doubt reports something that is allowed but probably not meant.
func (r *reader) doubt(p Position, length int, hint, format string, args ...any) {
	if len(r.warnings) == maxProblems {
		return
	}
	r.warnings = append(r.warnings, Problem{
		Position: p, Length: max(length, 1), Message: fmt.Sprintf(format, args...),
		Source: r.sourceLine(p.Line), Hint: hint,
	})
}

// whereIs says where something is: by its line, or with its file if that is another one.
func (r *reader) whereIs(p Position) string {
	if p.File == r.file {
		return fmt.Sprintf("line %d", p.Line)
	}
	return fmt.Sprintf("line %d of %s", p.Line, p.File)
}

// sourceLine gives a line of the file without its end.
func (r *reader) sourceLine(line int) string {
	if r.lines == nil {
		r.lines = strings.Split(r.src, "\n")
	}
	return strings.TrimSuffix(r.lines[line-1], "\r")
}

// A field is one key that an object may have, and what to do with its value.
type field struct {
	name string
	read func(strictjson.Value)
}

// object reads a value that must be an object with no other keys than the given ones.
func (r *reader) object(n strictjson.Value, what string, fields []field) bool {
	if n.Kind() != strictjson.Object {
		r.wrong(n, "", "%s must be an object, this is %s", what, n.Kind())
		return false
	}
	r.unique(n)
	for child := range children(n) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == child.Key() })
		if i < 0 {
			if len(r.problems) == maxProblems {
				return false
			}
			names := make([]string, len(fields))
			for i, f := range fields {
				names[i] = f.name
			}
			r.wrongKey(child, unknownKeyHint(child.Key(), names), "unknown key %q in %s", child.Key(), what)
			continue
		}
		fields[i].read(child)
	}
	return true
}

// unique reports keys that an object has twice.
func (r *reader) unique(n strictjson.Value) {
	first := make(map[string]strictjson.Value, n.Len())
	for child := range children(n) {
		before, twice := first[child.Key()]
		if !twice {
			first[child.Key()] = child
			continue
		}
		at := r.place(before.KeyOffset())
		r.wrongKey(child, fmt.Sprintf("it is on line %d already: keep one of the two", at.Line), "the key %q twice in one object", child.Key())
	}
}

// uniqueBelow does the same for everything inside a value that is handed on as it is.
func (r *reader) uniqueBelow(n strictjson.Value) {
	if n.Kind() == strictjson.Object {
		r.unique(n)
	}
	for child := range children(n) {
		r.uniqueBelow(child)
	}
}

// text reads a string that is not empty.
func (r *reader) text(n strictjson.Value, what string) (string, bool) {
	if n.Kind() != strictjson.String {
		r.wrong(n, "", "%s must be a string, this is %s", what, n.Kind())
		return "", false
	}
	if n.Text() == "" {
		r.wrong(n, "", "%s must not be empty", what)
		return "", false
	}
	return n.Text(), true
}

// word reads a string that must be one of the given ones.
func (r *reader) word(n strictjson.Value, what string, words ...string) (string, bool) {
	if n.Kind() == strictjson.String && slices.Contains(words, n.Text()) {
		return n.Text(), true
	}
	known := quotedList(words, "or")
	if n.Kind() != strictjson.String {
		r.wrong(n, "write "+known, "%s must be a string, this is %s", what, n.Kind())
		return "", false
	}
	hint := "write " + known
	if near := typos.Nearest(n.Text(), words); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	r.wrong(n, hint, "%s must be %s", what, known)
	return "", false
}

func (r *reader) boolean(n strictjson.Value, what string) (value, ok bool) {
	switch n.Kind() {
	case strictjson.True, strictjson.False:
		return n.Kind() == strictjson.True, true
	case strictjson.String:
		r.wrong(n, "write true or false without quotes", "%s must be true or false, this is %s", what, n.Kind())
	default:
		r.wrong(n, "", "%s must be true or false, this is %s", what, n.Kind())
	}
	return false, false
}

// elements reads an array, and reports one that is empty if it must not be.
func (r *reader) elements(n strictjson.Value, what string, mayBeEmpty bool) iter.Seq[strictjson.Value] {
	if n.Kind() != strictjson.Array {
		hint := ""
		if n.Kind() == strictjson.String {
			hint = fmt.Sprintf("write it as a list: [%s]", r.src[n.Offset():n.End()])
		}
		r.wrong(n, hint, "%s must be an array, this is %s", what, n.Kind())
		return func(func(strictjson.Value) bool) {}
	}
	if n.Len() == 0 && !mayBeEmpty {
		r.wrong(n, "remove it, or say what belongs in it", "%s must not be empty", what)
	}
	return children(n)
}

// words reads an array of strings, each one of the given ones, none twice.
func (r *reader) words(n strictjson.Value, what string, known ...string) []string {
	var words []string
	for child := range r.elements(n, what, false) {
		word, ok := r.word(child, "an entry of "+what, known...)
		if ok && slices.Contains(words, word) {
			r.wrong(child, "remove one of them", "%q twice in %s", word, what)
		} else if ok {
			words = append(words, word)
		}
	}
	return words
}
