package analysis

import (
	"bytes"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
)

// takeModules removes imports and exports of types from the text, has the program call what it exports, and reports
// the others. It also disables comments
// that claim to be a source map, because esbuild would read them. The length of the text stays the same.
func (c *compiler) takeModules() {
	text := []byte(c.text)
	for _, at := range c.shape.maps {
		text[at] = '_'
	}
	var values []fault
	for _, at := range c.shape.modules {
		if n := typesOnly(c.text[at:]); n > 0 {
			blank(text[at : at+n])
			continue
		}
		f := fault{at: at, len: 6, message: "there are no modules: import cannot be used",
			hint: `tools are called as codemode.<server>__<tool>(args); console, URL, crypto and others are globals`}
		if strings.HasPrefix(c.text[at:], "export") {
			if c.takeExport(text, at) {
				continue
			}
			f.message, f.hint = "there are no modules: export cannot be used", "return the value of the program"
		}
		values = append(values, f)
	}
	c.takeAssigned(text, c.shape.assigned)
	c.text = string(text)
	c.report(values)
}

// typesOnly returns how much of an import or export declaration to remove so that no module is left, or 0 if it is not
// only about types.
func typesOnly(s string) int {
	l := ecmascript.Lexer{Src: s}
	keyword := l.Text(l.Next(false))
	t := l.Next(false)
	first := l.Text(t)
	if first == "type" {
		after := l
		second := after.Next(false)
		switch text := after.Text(second); {
		case text == "{" || text == "*":
			l.Next(false)
			if text == "{" {
				names(&l)
			}
			return from(&l)
		case second.Kind != ecmascript.WordToken || text == "from":
			return 0
		case keyword == "export":
			return len(keyword) // the rest is a type
		}
		l.Next(false)
		if after := l; after.Text(after.Next(false)) == "=" { // import type A = require("a")
			return 0
		}
		return from(&l)
	}
	if keyword == "export" && (first == "interface" || first == "declare") {
		return len(keyword)
	}
	if first != "{" {
		return 0
	}
	all, any := names(&l)
	if !all || keyword == "import" && !any {
		return 0
	}
	return from(&l)
}

// names reads the list in braces after an import or export. all reports whether every name is a type, any whether there
// is a name.
func names(l *ecmascript.Lexer) (all, any bool) {
	all = true
	for {
		t := l.Next(false)
		switch text := l.Text(t); {
		case text == "}" || t.Kind == ecmascript.EOF || t.Kind == ecmascript.InvalidToken:
			return all, any
		case text == ",":
			continue
		default:
			any = true
			after := *l
			second := after.Text(after.Next(false))
			if text != "type" || second == "," || second == "}" || second == "as" {
				all = false
			}
		}
		for { // to the end of this name
			after := *l
			t := after.Next(false)
			if text := after.Text(t); text == "," || text == "}" || t.Kind == ecmascript.EOF ||
				t.Kind == ecmascript.InvalidToken {
				break
			}
			*l = after
		}
	}
}

// from reads an optional `as name from "file"`, and returns where it ends.
func from(l *ecmascript.Lexer) int {
	end := l.Pos
	const most = 6 // tokens
	for range most {
		t := l.Next(false)
		switch {
		case t.Kind == ecmascript.StringToken:
			return t.End
		case t.Kind == ecmascript.WordToken && (l.Text(t) == "from" || !t.Newline), t.Kind == ecmascript.PunctuatorToken &&
			(l.Text(t) == "," || l.Text(t) == "*"):
		default:
			return end
		}
	}
	return end
}

// topLevel compiles a body with parts that only the top level of a file may contain: namespaces, and declarations of
// modules. A file cannot return. Where esbuild reports that, topLevel inserts a throw, and reverts it afterwards. It
// returns neither output nor faults if the text is not such a body.
func (c *compiler) topLevel() (*output, []fault) {
	out := transform(wrapper{}, c.text, true)
	returns, others := partition(out.errors)
	if len(others) > 0 {
		out.errors = others
		return nil, c.faults(out, 0)
	}
	if len(returns) > 0 {
		var ok bool
		if out, ok = c.throwing(returns); !ok {
			return nil, nil
		}
	}
	if run, _ := bodyWrapper(); len(transform(run, out.Code, false).errors) > 0 {
		return nil, nil
	}
	return &out, nil
}

// partition separates the errors about return.
func partition(errors []api.Message) (returns, others []api.Message) {
	for _, e := range errors {
		if e.Text == "Top-level return cannot be used inside an ECMAScript module" && e.Location != nil {
			returns = append(returns, e)
		} else {
			others = append(others, e)
		}
	}
	return returns, others
}

// throwing compiles the text with a throw in place of each return.
func (c *compiler) throwing(returns []api.Message) (output, bool) {
	const keyword = "return"
	mark := "__return"
	for strings.Contains(c.text, mark) {
		mark += "_"
	}
	statement := "throw " + mark
	var patched bytes.Buffer
	var patches []int
	x := newIndex(c.text)
	done := 0
	for _, e := range returns {
		at := x.lines[min(e.Location.Line-1, len(x.lines)-1)] + e.Location.Column
		if at < done || !strings.HasPrefix(c.text[at:], keyword) {
			return output{}, false
		}
		patched.WriteString(c.text[done:at])
		patches = append(patches, patched.Len())
		done = at + len(keyword)
		patched.WriteString(statement)
		l := ecmascript.Lexer{Src: c.text, Pos: done}
		if t := l.Next(true); t.Kind == ecmascript.EOF || t.Newline || l.Text(t) == ";" || l.Text(t) == "}" {
			patched.WriteByte(' ')
		} else {
			patched.WriteByte(',')
		}
	}
	patched.WriteString(c.text[done:])
	out := transform(wrapper{}, patched.String(), true)
	if len(out.errors) > 0 || strings.Count(out.Code, statement) != len(returns) {
		return output{}, false
	}
	// The length stays the same, so the source map stays valid.
	space := func(n int) string { return keyword + strings.Repeat(" ", n-len(keyword)) }
	out.Code = strings.ReplaceAll(out.Code, statement+",", space(len(statement)+1))
	out.Code = strings.ReplaceAll(out.Code, statement, space(len(statement)))
	out.Patched, out.Patches, out.PatchLen = patched.String(), patches, len(statement)+1-len(keyword)
	return out, true
}
