package servers

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Gemini CLI writes an environment variable as a value that is exactly $NAME, in capitals. Anywhere else a dollar sign
// is a dollar sign.
var wholeVariable = regexp.MustCompile(`^\$[A-Z_][A-Z0-9_]*$`)

// An expander replaces the variables of other clients: ${VAR}, ${VAR:-default}, ${env:VAR}, {env:VAR}, ${userHome},
// ${workspaceFolder} and ${input:id}. It inserts values unchanged, never expands them again, and involves no shell.
type expander struct {
	env     func(string) (string, bool)
	missing []string // sentences, one for each variable without a value
}

// Expand replaces the variables in a text. The error names those without a value.
func Expand(text string, env func(string) (string, bool)) (string, error) {
	x := expander{env: env}
	value := x.expand(text)
	if len(x.missing) > 0 {
		return "", errors.New(strings.Join(x.missing, "; "))
	}
	return value, nil
}

// expandValue expands a variable of the environment, or a header.
func (x *expander) expandValue(s string) string {
	if wholeVariable.MatchString(s) {
		return x.value(s[1:], s)
	}
	return x.expand(s)
}

func (x *expander) expand(s string) string {
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
		inside, rest, closed := strings.Cut(s[at+1:], "}")
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
func (x *expander) value(inside, written string) string {
	name, fallback, hasDefault := strings.Cut(inside, ":-")
	kind, id, hasKind := strings.Cut(name, ":")
	switch {
	case hasKind && kind == "env":
		name = id
	case hasKind && kind == "input":
		x.miss("it needs the input %q (%s), and there is nobody to type it in: write the value, or a variable, in its place",
			id, written)
		return ""
	case !validVariable(name):
		x.miss("%s is not a variable: a name in it has letters, digits and underscores", written)
		return ""
	}
	if v, ok := x.env(name); ok && (v != "" || !hasDefault) {
		return v
	}
	if hasDefault {
		if strings.Contains(fallback, "${") {
			x.miss("%s has a variable in its default, which is not supported", written)
		}
		return fallback
	}
	for _, other := range map[string][]string{"userHome": {"HOME", "USERPROFILE"}, "workspaceFolder": {"PWD"}}[name] {
		if v, ok := x.env(other); ok {
			return v
		}
	}
	x.miss("the variable %s is not set (%s)", name, written)
	return ""
}

func (x *expander) miss(format string, args ...any) {
	x.missing = append(x.missing, fmt.Sprintf(format, args...))
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
