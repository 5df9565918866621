package settings

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/visible"
)

// A Reader turns the tree of a configuration file into values and collects every problem on the way. It never stops at
// a problem: a person who fixes a file wants to see all of them.
type Reader struct {
	File     string                    // its name in messages
	Src      string                    // its text
	Root     strictjson.Value          // its content
	Placed   map[strictjson.Value]Span // the places of values that are not JSON in Src
	Problems Problems
	Warnings Problems
	Earlier  Problems // warnings of the files before this one
	Foreign  bool     // it is another program's file: hints name its own keys only

	Managed   bool               // the file is the administrator's
	Untrusted bool               // the file came with a project, and nobody vouched for it
	Named     []strictjson.Value // the names of profiles that [Reader.Decode] read

	// The last place looked up. Most lookups follow the order of the file, so each search starts from the one before
	// it.
	at, lineStart, line, column int

	lines []string // of the file, once SourceLine was called
}

// Position finds the line and column of a byte.
func (r *Reader) Position(offset int) Position {
	if offset < r.at || r.line == 0 {
		r.at, r.lineStart, r.line, r.column = 0, 0, 1, 1
	}
	src := r.Src
	between := src[r.at:offset]
	if n := strings.Count(between, "\n"); n > 0 {
		r.line += n
		r.lineStart = r.at + strings.LastIndexByte(between, '\n') + 1
		r.column = 1 + utf8.RuneCountInString(src[r.lineStart:offset])
	} else {
		r.column += utf8.RuneCountInString(between)
	}
	r.at = offset
	return Position{File: r.File, Line: r.line, Column: r.column}
}

// ProblemAt makes a problem with the bytes from start to end.
func (r *Reader) ProblemAt(start, end int, message, hint string) Problem {
	src := r.Src
	start = min(start, len(src))
	end = min(max(end, start), len(src))
	p := Problem{Position: r.Position(start), Message: message, Hint: hint}
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

// A Span is a part of a file, in bytes.
type Span struct{ Start, End int }

// Span returns the place of a value in the file.
func (r *Reader) Span(n strictjson.Value) Span {
	if at, ok := r.Placed[n]; ok {
		return at
	}
	return Span{n.Offset(), n.End()}
}

// TextAt returns an unquoted text of the file as a value.
func (r *Reader) TextAt(text string, start int) strictjson.Value {
	v, err := strictjson.Parse(strictjson.AppendString(nil, text), strictjson.Options{})
	if err != nil {
		panic(err) // every text can be encoded as JSON
	}
	if r.Placed == nil {
		r.Placed = map[strictjson.Value]Span{}
	}
	r.Placed[v] = Span{start, start + len(text)}
	return v
}

// Wrong reports a problem with a value.
func (r *Reader) Wrong(n strictjson.Value, hint, format string, args ...any) {
	at := r.Span(n)
	r.Report(at.Start, at.End, hint, format, args...)
}

// WrongKey reports a problem with a member's name, or with the member as a whole.
func (r *Reader) WrongKey(n strictjson.Value, hint, format string, args ...any) {
	r.Report(n.KeyOffset(), n.KeyEnd(), hint, format, args...)
}

// MaxProblems bounds the problems that are collected for one file.
const MaxProblems = 1000

// Report reports a problem with the bytes from start to end.
func (r *Reader) Report(start, end int, hint, format string, args ...any) {
	if len(r.Problems) != MaxProblems {
		r.Add(r.ProblemAt(start, end, fmt.Sprintf(format, args...), hint))
	}
}

// Add reports problems that have their place already.
func (r *Reader) Add(all ...Problem) {
	r.Problems = append(r.Problems, all[:min(len(all), MaxProblems-len(r.Problems))]...)
}

// Warn reports something that is allowed but probably not meant.
func (r *Reader) Warn(p Position, length int, hint, format string, args ...any) {
	if len(r.Warnings) == MaxProblems {
		return
	}
	r.Warnings = append(r.Warnings, Problem{
		Position: p, Length: max(length, 1), Message: fmt.Sprintf(format, args...),
		Source: r.SourceLine(p.Line), Hint: hint,
	})
}

// Stranger notes a key that has no effect in an untrusted file, and reports whether this file is untrusted. Such a file
// may make verdicts and limits stricter. It may not choose what people see, or where and in which words they get
// questions: hiding an argument or wording a question influences the answer.
func (r *Reader) Stranger(n strictjson.Value) bool {
	if r.Untrusted {
		r.NoEffect(n, fmt.Sprintf("%q", n.Key()))
	}
	return r.Untrusted
}

// NoEffect warns of a key that has no effect in an untrusted file.
func (r *Reader) NoEffect(n strictjson.Value, what string) {
	r.Warn(r.Position(n.KeyOffset()), len(n.Key())+2,
		"read the file; to trust it as it is: codemode profiles trust "+r.File,
		"%s has no effect: the project file is not trusted", what)
}

// WhereIs names a place: by its line, or with its file if that is another one.
func (r *Reader) WhereIs(p Position) string {
	if p.File == r.File {
		return fmt.Sprintf("line %d", p.Line)
	}
	return fmt.Sprintf("line %d of %s", p.Line, p.File)
}

// SourceLine returns a line of the file without its end.
func (r *Reader) SourceLine(line int) string {
	if r.lines == nil {
		r.lines = strings.Split(r.Src, "\n")
	}
	return strings.TrimSuffix(r.lines[line-1], "\r")
}

// A Field is one key that an object may have, and what to do with its value.
type Field struct {
	Name string
	Read func(strictjson.Value)
}

// Key is a field.
func Key(name string, read func(strictjson.Value)) Field { return Field{Name: name, Read: read} }

// Object reads a value that must be an object with only the given keys.
func (r *Reader) Object(n strictjson.Value, what string, fields []Field) bool {
	return r.object(n, what, len(fields), func(i int) string { return fields[i].Name },
		func(i int, n strictjson.Value) { fields[i].Read(n) })
}

// object is Object with the number of the keys, their names, and what reads the value of one.
func (r *Reader) object(n strictjson.Value, what string, number int, name func(int) string,
	read func(int, strictjson.Value)) bool {
	if n.Kind() != strictjson.Object {
		r.Wrong(n, "", "%s must be an object, this is %s", what, n.Kind())
		return false
	}
	r.Unique(n)
	for child := range Children(n) {
		i := 0
		for i < number && name(i) != child.Key() {
			i++
		}
		if i < number {
			read(i, child)
			continue
		}
		if len(r.Problems) == MaxProblems {
			return false
		}
		names := make([]string, number)
		for i := range names {
			names[i] = name(i)
		}
		r.WrongKey(child, unknownKeyHint(r.Foreign, child.Key(), names), "unknown key %q in %s", child.Key(), what)
	}
	return true
}

// Unique reports duplicate keys of an object.
func (r *Reader) Unique(n strictjson.Value) {
	first := make(map[string]strictjson.Value, n.Len())
	for child := range Children(n) {
		before, twice := first[child.Key()]
		if !twice {
			first[child.Key()] = child
			continue
		}
		at := r.Position(before.KeyOffset())
		r.WrongKey(child, fmt.Sprintf("it is on line %d already: keep one of the two", at.Line),
			"the key %q is twice in one object", child.Key())
	}
}

// UniqueBelow is Unique for all objects inside a value.
func (r *Reader) UniqueBelow(n strictjson.Value) {
	if n.Kind() == strictjson.Object {
		r.Unique(n)
	}
	for child := range Children(n) {
		r.UniqueBelow(child)
	}
}

// Text reads a string that is not empty.
func (r *Reader) Text(n strictjson.Value, what string) (string, bool) {
	if n.Kind() != strictjson.String {
		r.Wrong(n, "", "%s must be a string, this is %s", what, n.Kind())
		return "", false
	}
	if n.Text() == "" {
		r.Wrong(n, "", "%s must not be empty", what)
		return "", false
	}
	return n.Text(), true
}

// Word reads a string that must be one of the given ones.
func (r *Reader) Word(n strictjson.Value, what string, words ...string) (string, bool) {
	if n.Kind() == strictjson.String && slices.Contains(words, n.Text()) {
		return n.Text(), true
	}
	known := QuotedList(words, "or")
	if n.Kind() != strictjson.String {
		r.Wrong(n, "write "+known, "%s must be a string, this is %s", what, n.Kind())
		return "", false
	}
	hint := "write " + known
	if near := visible.Nearest(n.Text(), words); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	r.Wrong(n, hint, "%s must be %s", what, known)
	return "", false
}

// Verdict reads one of the words for verdicts; it is Deny if there is a problem.
func (r *Reader) Verdict(n strictjson.Value, what string, words ...string) call.Verdict {
	word, _ := r.Word(n, what, words...)
	return map[string]call.Verdict{"ask": call.Ask, "allow": call.Allow}[word]
}

// Boolean reads true or false.
func (r *Reader) Boolean(n strictjson.Value, what string) (value, ok bool) {
	switch n.Kind() {
	case strictjson.True, strictjson.False:
		return n.Kind() == strictjson.True, true
	case strictjson.String:
		r.Wrong(n, "write true or false without quotes", "%s must be true or false, this is %s", what, n.Kind())
	default:
		r.Wrong(n, "", "%s must be true or false, this is %s", what, n.Kind())
	}
	return false, false
}

// Elements reads an array, and reports an empty one unless it may be empty.
func (r *Reader) Elements(n strictjson.Value, what string, mayBeEmpty bool) iter.Seq[strictjson.Value] {
	if n.Kind() != strictjson.Array {
		hint := ""
		if n.Kind() == strictjson.String {
			hint = fmt.Sprintf("write it as a list: [%s]", r.Src[n.Offset():n.End()])
		}
		r.Wrong(n, hint, "%s must be an array, this is %s", what, n.Kind())
		return func(func(strictjson.Value) bool) {}
	}
	if n.Len() == 0 && !mayBeEmpty {
		r.Wrong(n, "remove it, or say what belongs in it", "%s must not be empty", what)
	}
	return Children(n)
}

// Words reads an array of strings, each one of the given ones, none twice.
func (r *Reader) Words(n strictjson.Value, what string, known ...string) []string {
	var words []string
	for child := range r.Elements(n, what, false) {
		word, ok := r.Word(child, "an entry of "+what, known...)
		if ok && slices.Contains(words, word) {
			r.Wrong(child, "remove one of them", "%q twice in %s", word, what)
		} else if ok {
			words = append(words, word)
		}
	}
	return words
}

// OneOrMore reads a string, or an array of strings.
func (r *Reader) OneOrMore(n strictjson.Value, what string, read func(n strictjson.Value, s string)) {
	if n.Kind() != strictjson.Array {
		if s, ok := r.Text(n, what); ok {
			read(n, s)
		}
		return
	}
	for child := range r.Elements(n, what, false) {
		if s, ok := r.Text(child, "an entry of "+what); ok {
			read(child, s)
		}
	}
}
