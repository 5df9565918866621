package settings

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Gemini CLI writes an environment variable as a value that is exactly $NAME, in capitals. Anywhere else a dollar sign
// is a dollar sign.
var wholeVariable = regexp.MustCompile(`^\$[A-Z_][A-Z0-9_]*$`)

// An Expander replaces the variables of other clients: ${VAR}, ${VAR:-default}, ${env:VAR}, {env:VAR}, ${userHome},
// ${workspaceFolder} and ${input:id}, and our ${cmd:...} and ${file:...}. ${$} and ${{} stand for the characters $ and {
// themselves, so that ${$}{X} is the text ${X}. It inserts values unchanged, never expands them again, and involves no
// shell.
type Expander struct {
	Env     Lookup
	Where   func() string // names the place of a text in messages about commands and files; may be nil
	Missing []string      // sentences, one for each variable without a value
}

// Expand replaces the variables in a text. The error names those without a value.
func Expand(text string, env Lookup) (string, error) {
	x := Expander{Env: env}
	value := x.Expand(text)
	if len(x.Missing) > 0 {
		return "", errors.New(strings.Join(x.Missing, "; "))
	}
	return value, nil
}

// ExpandValue expands a variable of the environment, or a header.
func (x *Expander) ExpandValue(s string) string {
	if wholeVariable.MatchString(s) {
		return x.value(s[1:], s)
	}
	return x.Expand(s)
}

func (x *Expander) Expand(s string) string {
	var out strings.Builder
	for {
		at := strings.IndexByte(s, '{')
		if at < 0 {
			out.WriteString(s)
			return out.String()
		}
		dollar := at > 0 && s[at-1] == '$'
		if !dollar && !strings.HasPrefix(s[at:], "{env:") {
			out.WriteString(s[:at+1])
			s = s[at+1:]
			continue
		}
		inside, rest, closed := cut(s[at+1:], dollar)
		if !closed {
			out.WriteString(s)
			return out.String()
		}
		whole := at
		if dollar {
			whole--
		}
		out.WriteString(s[:whole])
		out.WriteString(x.value(inside, s[whole:at+len(inside)+2]))
		s = rest
	}
}

// value returns the value of a variable; written is its spelling in the text.
func (x *Expander) value(inside, written string) string {
	if IsSource(inside) {
		return x.source(inside)
	}
	if inside == "$" || inside == "{" {
		return inside
	}
	name, fallback, hasDefault := strings.Cut(inside, ":-")
	kind, id, hasKind := strings.Cut(name, ":")
	switch {
	case hasKind && kind == "env":
		name = id
	case hasKind && kind == "input":
		x.Miss("it needs the input %q (%s), and there is nobody to type it in: write the value, or a variable, in its place",
			id, written)
		return ""
	case !validVariable(name):
		x.Miss("%s is not a variable: a name in it has letters, digits and underscores", written)
		return ""
	}
	if v, ok := x.Variable(name); ok && (v != "" || !hasDefault) {
		return v
	}
	if hasDefault {
		if strings.Contains(fallback, "${") {
			x.Miss("%s has a variable in its default, which is not supported", written)
		}
		return fallback
	}
	for _, other := range map[string][]string{"userHome": {"HOME", "USERPROFILE"}, "workspaceFolder": {"PWD"}}[name] {
		if v, ok := x.Variable(other); ok {
			return v
		}
	}
	x.Miss("the variable %s is not set (%s)", name, written)
	return ""
}

// Variable returns the value of a variable of the environment. It never runs a command or reads a file, whatever the
// name: names come from keys that are not checked for that.
func (x *Expander) Variable(name string) (string, bool) {
	if IsSource(name) {
		return "", false
	}
	return x.Env(name)
}

// source returns the value of a command or a file. name is "cmd:" or "file:" and what follows.
func (x *Expander) source(name string) string {
	value, ok := x.Env(name)
	if ok && !IsUnread(value) {
		return value
	}
	if ok {
		value = ""
	}
	if value == "" {
		value = "${" + name + "} is not read here: only codemode itself runs commands and reads files for its configuration"
	}
	if x.Where != nil {
		value = x.Where() + ": " + value
	}
	x.Missing = append(x.Missing, value)
	return ""
}

// Miss notes that a variable has no value.
func (x *Expander) Miss(format string, args ...any) {
	x.Missing = append(x.Missing, fmt.Sprintf(format, args...))
}

func validVariable(name string) bool {
	for i, r := range name {
		switch {
		case r == '_', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', i > 0 && '0' <= r && r <= '9':
		default:
			return false
		}
	}
	return name != ""
}

// Escape writes a text so that an [Expander] gives exactly this text: nothing in it is a variable.
func Escape(text string) string {
	if wholeVariable.MatchString(text) {
		return "${$}" + text[1:]
	}
	return strings.NewReplacer("${env:", "${$}${{}env:", "${", "${$}{", "{env:", "${{}env:").Replace(text)
}

// Literal reports whether a text refers to nothing.
func Literal(text string) bool {
	text = strings.NewReplacer("${$}", " ", "${{}", " ").Replace(text)
	return !strings.Contains(text, "${") && !strings.Contains(text, "{env:")
}
