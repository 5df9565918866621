package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/typos"
	"github.com/codemode-project/codemode/profiles"
)

// environmentProfile is the profile that environment variables make when there is no configuration file.
const environmentProfile = "environment"

// environmentPath is [Config.Path] when there is no file except a project's.
const environmentPath = "the environment"

// The variables mean the same as the profile keys that they are named after. A list has patterns with commas, spaces or
// line breaks between them; a comma in braces or brackets belongs to its pattern.
const (
	denylistVariable  = "CODEMODE_DENYLIST"
	asklistVariable   = "CODEMODE_ASKLIST"
	allowlistVariable = "CODEMODE_ALLOWLIST" // after the others: their rules may conflict with it
	unmatchedVariable = "CODEMODE_UNMATCHED"
	timeoutVariable   = "CODEMODE_ASK_TIMEOUT"
)

var environmentVariables = []string{
	denylistVariable, asklistVariable, unmatchedVariable, timeoutVariable, allowlistVariable,
}

// variablePrefix begins the names of our variables.
const variablePrefix = "CODEMODE_"

// otherVariables are our variables that do not concern calls.
var otherVariables = []string{
	"CODEMODE_CONFIG", "CODEMODE_MANAGED", "CODEMODE_SESSION", "CODEMODE_STATE", "CODEMODE_RESPONDER",
	"CODEMODE_RESPONDER_COMMAND", "CODEMODE_PREFLIGHT_SECRET", "CODEMODE_CHILD", "CODEMODE_CONFINED",
}

// variableSynonyms are words for our variables with a different spelling.
var variableSynonyms = map[string]string{
	"DENY": denylistVariable, "DENIED": denylistVariable, "BLOCK": denylistVariable, "BLOCKLIST": denylistVariable,
	"BLACKLIST": denylistVariable, "ASK": asklistVariable, "CONFIRM": asklistVariable,
	"ALLOW": allowlistVariable, "ALLOWED": allowlistVariable, "WHITELIST": allowlistVariable,
	"DEFAULT": unmatchedVariable, "TIMEOUT": timeoutVariable,
}

// ReadEnvironment returns what the variables of environ say about calls, for [Files.Environment]. environ has
// NAME=VALUE strings like os.Environ. The result includes misspelt variables, so that [ParseAll] reports them: an
// unread list would forbid nothing.
func ReadEnvironment(environ []string) []Source {
	values := map[string]string{}
	for _, v := range environ {
		name, value, ok := strings.Cut(v, "=")
		if ok && (slices.Contains(environmentVariables, name) || meantVariable(name) != "") {
			values[name] = value
		}
	}
	var sources []Source
	add := func(name string) {
		if value, ok := values[name]; ok {
			sources = append(sources, Source{File: name, Data: []byte(value), Standing: Environment})
			delete(values, name)
		}
	}
	for _, name := range environmentVariables {
		add(name)
	}
	for _, v := range environ { // misspelt ones
		name, _, _ := strings.Cut(v, "=")
		add(name)
	}
	return sources
}

// meantVariable returns the variable that a misspelt name most likely means, "" if it is none of ours.
func meantVariable(name string) string {
	word, ours := strings.CutPrefix(name, variablePrefix)
	if !ours || slices.Contains(environmentVariables, name) || slices.Contains(otherVariables, name) {
		return ""
	}
	if other := variableSynonyms[word]; other != "" {
		return other
	}
	var words []string
	for _, known := range environmentVariables {
		words = append(words, strings.TrimPrefix(known, variablePrefix))
	}
	if near := typos.Nearest(word, words); near != "" {
		return variablePrefix + near
	}
	return ""
}

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

// environment merges the variables into one profile, nil if there are none.
func (c *Config) environment() *profiles.Written {
	var w *profiles.Written
	for _, p := range c.parts {
		v := p.variables
		if v == nil {
			continue
		}
		if w == nil {
			w = &profiles.Written{Name: v.Name, Pos: v.Pos}
			w.Chain = []*profiles.Written{w}
		}
		w.Source = append(slices.Clip(w.Source), v.Source...)
		for l := range v.Lists {
			w.Lists[l] = append(w.Lists[l], v.Lists[l]...)
			w.Has[l] = w.Has[l] || v.Has[l]
		}
		if v.Unmatched != nil {
			w.Unmatched = v.Unmatched
		}
		if v.Unmatched != nil || v.Has[profiles.Allowlist] && w.Unmatched == nil { // the setting that denies the rest
			w.Pos = v.Pos
		}
		w.Ask = w.Ask.Stricter(v.Ask)
	}
	return w
}

// environmentAlone reports whether the variables are the whole configuration: there is no user file and no managed
// file.
func (c *Config) environmentAlone() bool {
	alone := false
	for _, p := range c.parts {
		if p.Standing == User || p.Standing == Managed {
			return false
		}
		alone = alone || p.variables != nil
	}
	return alone
}

// EnvironmentNote says in a sentence how environment variables affect the configuration, "" if none is set. variables
// are their names.
func (c *Config) EnvironmentNote() (variables []string, note string) {
	for _, p := range c.parts {
		if p.variables != nil {
			variables = append(variables, p.File)
		}
	}
	switch {
	case len(variables) == 0:
		return nil, ""
	case c.environmentAlone():
		return variables, fmt.Sprintf("the environment is the configuration, as the profile %q, which codemode_eval has",
			environmentProfile)
	}
	return variables, "the environment binds every profile beside the files: " +
		"it denies and asks more, and allows nothing that they do not"
}
