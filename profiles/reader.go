package profiles

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/typos"
)

// A reader turns the tree of a configuration file into values and collects everything
// that is wrong on the way. It never stops at a problem: whoever mends a file wants to see
// all of them.
type reader struct {
	file     string
	t        tree
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
	src := r.t.src
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
	src := r.t.src
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

// wrong reports a problem with a value.
func (r *reader) wrong(n *node, hint, format string, args ...any) {
	r.report(int(n.start), int(n.end), hint, format, args...)
}

// wrongKey reports a problem with a member's name, or with the member as a whole.
func (r *reader) wrongKey(n *node, hint, format string, args ...any) {
	r.report(int(n.keyStart), int(n.keyEnd), hint, format, args...)
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
		r.lines = strings.Split(r.t.src, "\n")
	}
	return strings.TrimSuffix(r.lines[line-1], "\r")
}

func (r *reader) root() *node { return &r.t.nodes[0] }

// A field is one key that an object may have, and what to do with its value.
type field struct {
	name string
	read func(*node)
}

// object reads a value that must be an object with no other keys than the given ones.
func (r *reader) object(n *node, what string, fields []field) bool {
	if n.kind != kindObject {
		r.wrong(n, "", "%s must be an object, this is %s", what, n.kind)
		return false
	}
	r.unique(n)
	for child := range r.t.children(n) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == child.key })
		if i < 0 {
			if len(r.problems) == maxProblems {
				return false
			}
			names := make([]string, len(fields))
			for i, f := range fields {
				names[i] = f.name
			}
			r.wrongKey(child, unknownKeyHint(child.key, names), "unknown key %q in %s", child.key, what)
			continue
		}
		fields[i].read(child)
	}
	return true
}

// unique reports keys that an object has twice.
func (r *reader) unique(n *node) {
	first := make(map[string]*node, n.count)
	for child := range r.t.children(n) {
		before, twice := first[child.key]
		if !twice {
			first[child.key] = child
			continue
		}
		at := r.place(int(before.keyStart))
		r.wrongKey(child, fmt.Sprintf("it is on line %d already: keep one of the two", at.Line), "the key %q twice in one object", child.key)
	}
}

// uniqueBelow does the same for everything inside a value that is handed on as it is.
func (r *reader) uniqueBelow(n *node) {
	if n.kind == kindObject {
		r.unique(n)
	}
	for child := range r.t.children(n) {
		r.uniqueBelow(child)
	}
}

// text reads a string that is not empty.
func (r *reader) text(n *node, what string) (string, bool) {
	if n.kind != kindString {
		r.wrong(n, "", "%s must be a string, this is %s", what, n.kind)
		return "", false
	}
	if n.text == "" {
		r.wrong(n, "", "%s must not be empty", what)
		return "", false
	}
	return n.text, true
}

// word reads a string that must be one of the given ones.
func (r *reader) word(n *node, what string, words ...string) (string, bool) {
	if n.kind == kindString && slices.Contains(words, n.text) {
		return n.text, true
	}
	known := quotedList(words, "or")
	if n.kind != kindString {
		r.wrong(n, "write "+known, "%s must be a string, this is %s", what, n.kind)
		return "", false
	}
	hint := "write " + known
	if near := typos.Nearest(n.text, words); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	r.wrong(n, hint, "%s must be %s", what, known)
	return "", false
}

func (r *reader) boolean(n *node, what string) (value, ok bool) {
	switch n.kind {
	case kindTrue, kindFalse:
		return n.kind == kindTrue, true
	case kindString:
		r.wrong(n, "write true or false without quotes", "%s must be true or false, this is %s", what, n.kind)
	default:
		r.wrong(n, "", "%s must be true or false, this is %s", what, n.kind)
	}
	return false, false
}

// elements reads an array, and reports one that is empty if it must not be.
func (r *reader) elements(n *node, what string, mayBeEmpty bool) iter.Seq[*node] {
	if n.kind != kindArray {
		hint := ""
		if n.kind == kindString {
			hint = fmt.Sprintf("write it as a list: [%s]", r.t.src[n.start:n.end])
		}
		r.wrong(n, hint, "%s must be an array, this is %s", what, n.kind)
		return func(func(*node) bool) {}
	}
	if n.count == 0 && !mayBeEmpty {
		r.wrong(n, "remove it, or say what belongs in it", "%s must not be empty", what)
	}
	return r.t.children(n)
}

// words reads an array of strings, each one of the given ones, none twice.
func (r *reader) words(n *node, what string, known ...string) []string {
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
