package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/profiles"
)

// variable reads the value of one variable as a part of a profile. Positions of problems and rules refer to that value.
func (b *builder) variable() {
	value := b.Src
	w := &profiles.Written{Name: environmentProfile, Pos: b.Position(0), Source: []byte(b.File + "=" + value + "\n")}
	b.variables = w
	lines := func(l profiles.List) {
		w.Has[l] = true
		for _, n := range b.patterns(value) {
			if strings.ContainsAny(n.Text(), "\"'`") { // no tool has such a name: the rule would silently match nothing
				b.Wrong(n, "write the patterns without quotes and brackets, with commas between them: github__get_*, files__*",
					"a quotation mark in a pattern of %s", b.File)
				continue
			}
			r := &profiles.Rule{List: l, Pos: b.Position(b.Placed[n].Start), Profile: w.Name, Text: strconv.Quote(n.Text())}
			var tool profiles.Patterns
			tool.ReadKey(b.Reader, n, "", nil)
			r.Patterns, r.Globs = tool.Texts, tool.Globs
			w.Lists[l] = append(w.Lists[l], r)
		}
	}
	n := b.trimmed(value)
	switch meant := meantVariable(b.File); {
	case meant != "":
		b.Wrong(n, fmt.Sprintf("did you mean %s? if it is another program's, give it another name", meant),
			"codemode knows no variable %s, and would do without what it says", b.File)
		return
	case !utf8.ValidString(value):
		b.Wrong(n, "", "%s is not text in UTF-8", b.File)
		return
	case strings.Trim(n.Text(), ", \t\r\n") == "":
		hint := "unset it, or say what it should be"
		if b.File == allowlistVariable {
			hint = "unset it, or name tools; CODEMODE_UNMATCHED=deny denies every tool that no list names"
		}
		b.Wrong(n, hint, "%s is set, and is empty", b.File)
		return
	}
	switch b.File {
	case denylistVariable:
		lines(profiles.Denylist)
	case asklistVariable:
		lines(profiles.Asklist)
	case allowlistVariable:
		lines(profiles.Allowlist)
	case unmatchedVariable:
		w.Unmatched = new(b.Verdict(n, b.File, "deny", "ask", "allow"))
	case timeoutVariable:
		w.Ask.Timeout = b.Duration(n, b.File)
	}
}

// trimmed is the value of a variable without the blanks around it.
func (b *builder) trimmed(value string) strictjson.Value {
	text := strings.TrimSpace(value)
	start := strings.Index(value, text)
	return b.TextAt(text, start)
}

// patterns splits a list of patterns.
func (b *builder) patterns(value string) []strictjson.Value {
	var all []strictjson.Value
	braces, class, from := 0, false, -1
	end := func(at int) {
		if from >= 0 {
			all = append(all, b.TextAt(value[from:at], from))
		}
		from = -1
	}
	escaped := false
	for i, c := range value {
		if !escaped && (unicode.IsSpace(c) || c == ',' && braces == 0 && !class) {
			end(i)
			braces, class = 0, false
			continue
		}
		if from < 0 {
			from = i
		}
		switch {
		case escaped:
		case c == '{' && !class:
			braces++
		case c == '}' && !class && braces > 0:
			braces--
		case c == '[':
			class = true
		case c == ']':
			class = false
		}
		escaped = !escaped && c == '\\'
	}
	end(len(value))
	return all
}
