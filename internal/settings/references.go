package settings

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

const (
	commandPrefix = "cmd:"
	filePrefix    = "file:"
)

// IsSource reports whether the inside of a ${...} names a command or a file.
func IsSource(inside string) bool {
	return strings.HasPrefix(inside, commandPrefix) || strings.HasPrefix(inside, filePrefix)
}

// HasSource reports whether a text refers to a command or a file.
func HasSource(text string) bool {
	return strings.Contains(text, "${"+commandPrefix) || strings.Contains(text, "${"+filePrefix)
}

// OneSource reports whether a text is one command or one file, and nothing else.
func OneSource(text string) bool {
	after, ok := strings.CutPrefix(text, "${")
	if !ok || !IsSource(after) {
		return false
	}
	_, rest, closed := cut(after, true)
	return closed && rest == ""
}

// Paths lists the files that a text refers to: those with values, and the programs of commands with a whole path.
func Paths(text string) []string {
	var all []string
	for inside := range sourcesIn(text) {
		path := strings.TrimPrefix(inside, filePrefix)
		if command, ok := strings.CutPrefix(inside, commandPrefix); ok {
			words, err := split(command)
			if err != nil || len(words) == 0 {
				continue
			}
			path = words[0]
		}
		if full, err := atHome(path); err == nil && filepath.IsAbs(full) {
			all = append(all, full)
		}
	}
	return all
}

// sourcesIn iterates over the insides of the ${cmd:...} and ${file:...} in a text.
func sourcesIn(text string) iter.Seq2[string, bool] {
	return func(yield func(inside string, closed bool) bool) {
		for rest := text; ; {
			_, after, found := strings.Cut(rest, "${")
			if !found {
				return
			}
			if rest = after; !IsSource(after) {
				continue
			}
			inside, more, closed := cut(after, true)
			if rest = more; !yield(inside, closed) {
				return
			}
		}
	}
}

// A Lookup returns the value of a variable of the environment. The names of commands and files begin with "cmd:" and
// "file:"; if such a value is missing, the Lookup of [Sources] returns the reason in its place.
type Lookup = func(name string) (value string, ok bool)

// unreadValue is no text that a command or a file can give.
const unreadValue = "\x00unread"

// IsUnread reports whether a value stands for a command or a file that [Unread] did not look up.
func IsUnread(value string) bool { return value == unreadValue }

// Unread returns a Lookup that neither runs commands nor reads files. Texts with them have no value, and are no
// problem.
func Unread(env Lookup) Lookup {
	if env == nil {
		return nil
	}
	return func(name string) (string, bool) {
		if IsSource(name) {
			return unreadValue, true
		}
		return env(name)
	}
}

// CheckSources finds what is wrong with the commands and files that a text refers to. It runs and opens none.
func CheckSources(text string) (message, hint string) {
	for inside, closed := range sourcesIn(text) {
		kind, _, _ := strings.Cut(inside, ":")
		if !closed {
			return "a ${" + kind + ": is not closed", "end it with }, outside of quotation marks"
		}
		if err := checkSource(inside); err != nil {
			return err.Error(), sourceHints[kind+":"]
		}
	}
	return "", ""
}

var sourceHints = map[string]string{
	commandPrefix: "write the command with its arguments, without a shell: ${cmd:pass show ntfy/token}",
	filePrefix:    "write the whole path: ${file:/run/secrets/token}, or one below your home: ${file:~/secrets/token}",
}

// checkSource checks "cmd:" or "file:" and what follows.
func checkSource(inside string) error {
	if command, ok := strings.CutPrefix(inside, commandPrefix); ok {
		words, err := split(command)
		switch {
		case err != nil:
			return err
		case len(words) == 0 || words[0] == "":
			return errors.New("${cmd:...} names no command")
		case strings.ContainsAny(command, "\x00"):
			return errors.New("${cmd:...} has a NUL byte")
		case filepath.Base(words[0]) != words[0] && !rooted(words[0]):
			return errors.New("the command of ${cmd:...} must be a name that is found in PATH, or a whole path")
		}
		return nil
	}
	path := strings.TrimPrefix(inside, filePrefix)
	if strings.Contains(path, "\x00") || !rooted(path) {
		return errors.New("the file of ${file:...} must be a whole path")
	}
	return nil
}

// rooted reports whether a path means the same in every working folder.
func rooted(path string) bool { return filepath.IsAbs(path) || strings.HasPrefix(path, "~/") }

// atHome replaces ~/ by the home folder.
func atHome(path string) (string, error) {
	below, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("is below ~, and the home folder of this user is not known")
	}
	return filepath.Join(home, below), nil
}

// Words of a command stand between blanks. Quotation marks of either kind hold a word together: 'a b' is taken as it
// is, and in "a b" a backslash stands before " and \. Outside of quotation marks a backslash takes the next character as
// it is. Nothing else has a meaning: no variable, no wildcard, no pipe, no redirection.

// split splits a command into its words.
func split(command string) (words []string, err error) {
	var word strings.Builder
	begun := false
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	_, err = scan(command, func(c rune, literal bool) bool {
		switch {
		case !literal && strings.ContainsRune(" \t\r\n", c):
			end()
		case c == 0:
			begun = true
		default:
			begun = true
			word.WriteRune(c)
		}
		return true
	})
	end()
	return words, err
}

// closingBrace returns the index of the first closing brace that no quotation marks hold, -1 if there is none.
func closingBrace(s string) int {
	at, err := scan(s, func(c rune, literal bool) bool { return literal || c != '}' })
	if err != nil || at == len(s) {
		return -1
	}
	return at
}

// scan calls f with the characters of a command until f returns false, and returns the index of that character, or the
// length of s. literal says that the character has no meaning of its own; 0 stands for a pair of quotation marks.
func scan(s string, f func(c rune, literal bool) bool) (at int, err error) {
	var quote rune
	escaped := false
	for i, c := range s {
		switch {
		case escaped:
			escaped = false
			if quote == '"' && c != '"' && c != '\\' {
				f('\\', true)
			}
			f(c, true)
		case c == '\\' && quote != '\'':
			escaped = true
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
			f(0, true)
		case quote != 0 && c == quote:
			quote = 0
		case !f(c, quote != 0):
			return i, nil
		}
	}
	switch {
	case quote != 0:
		return len(s), errors.New("a quotation mark in ${cmd:...} is not closed")
	case escaped:
		return len(s), errors.New("${cmd:...} ends with a backslash")
	}
	return len(s), nil
}

// cut splits a text after the brace that closes a variable. In a command a quoted brace closes nothing.
func cut(s string, dollar bool) (inside, rest string, closed bool) {
	if !dollar || !strings.HasPrefix(s, commandPrefix) {
		return strings.Cut(s, "}")
	}
	if end := closingBrace(s); end >= 0 {
		return s[:end], s[end+1:], true
	}
	return s, "", false
}
