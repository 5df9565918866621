package settings

import (
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Text is a string of a configuration file that may contain variables. Its check runs as soon as they are known:
// while reading the file if there are none.
type Text struct {
	Written string
	Place   Problem // its position; without a message yet

	check func(string) (message, hint string)
}

// ReadText reads a text; check may be nil.
func ReadText(r *Reader, n strictjson.Value, what string, check func(string) (message, hint string)) Text {
	written, ok := r.Text(n, what)
	if !ok {
		return Text{}
	}
	if message, hint := CheckSources(written); message != "" {
		r.Wrong(n, hint, "%s: %s", what, message)
		return Text{}
	}
	if check != nil && !strings.Contains(written, "${") {
		if message, hint := check(written); message != "" {
			r.Wrong(n, hint, "%s", message)
		}
	}
	return Text{written, r.ProblemAt(n.Offset(), n.End(), "", ""), check}
}

// ReadKey reads the value of a key; the check is that of its form.
func (t *Text) ReadKey(r *Reader, n strictjson.Value, what string, s *Spec) {
	*t = ReadText(r, n, what, s.Check(what))
}

// A Secret is a text that does not stand in the file itself: a variable, a command or a file has it.
type Secret struct{ Text }

// ReadKey reads the value of a key; the check is that of its form.
func (t *Secret) ReadKey(r *Reader, n strictjson.Value, what string, s *Spec) {
	t.Text.ReadKey(r, n, what, s)
	if t.Written != "" && !strings.Contains(t.Written, "${") {
		r.Wrong(n, `write "${VARIABLE}", "${cmd:...}" or "${file:...}"`, "%s must not stand in the file itself", what)
	}
}

// Wrong makes a problem with the text.
func (t *Text) Wrong(message, hint string) Problem {
	p := t.Place
	p.Message, p.Hint = message, hint
	return p
}

// Value replaces the variables, and reports problems with the result. It is "" without a problem where env is of
// [Unread] and the text has a command or a file.
func (t *Text) Value(env Lookup, wrong *Problems) string {
	if i := strings.LastIndex(t.Written, "${"); i >= 0 && !strings.Contains(t.Written[i:], "}") {
		*wrong = append(*wrong, t.Wrong("a ${ is not closed", "write ${VARIABLE}"))
		return ""
	}
	unread := false
	value, err := Expand(t.Written, func(name string) (string, bool) {
		if env == nil {
			return "", false
		}
		v, ok := env(name)
		unread = unread || IsUnread(v)
		return v, ok && v != "" // an empty path or URL is invalid
	})
	switch {
	case unread:
		return ""
	case err != nil:
		hint := "set it, or write ${VARIABLE:-default}"
		if HasSource(t.Written) {
			hint = ""
		}
		*wrong = append(*wrong, t.Wrong(err.Error(), hint))
		return ""
	}
	if t.check != nil && value != "" {
		if message, hint := t.check(value); message != "" {
			*wrong = append(*wrong, t.Wrong(message, hint))
		}
	}
	return value
}
