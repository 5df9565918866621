package clientfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Format says how a file is written, and how its servers stand in it.
type Format int

// A Field is one key of a server that comes into a file. Its value is a string, a bool, an int, a list of strings, or a
// map of strings or of ints.
type Field struct {
	Key   string
	Value any
}

// A Server is one server of a file.
type Server struct {
	Name  string
	Value map[string]any // what it means; nil for a value that is no object
	Text  string         // as it is written, to put it back; for JSON with its name
}

// An Entry is a server that comes into a file: new ones have Fields, those that are put back have the Text and the
// Value of a [Server] of the same format.
type Entry struct {
	Name   string
	Fields []Field
	Text   string
	Value  map[string]any
}

// newline is how lines of a text end.
func newline(text string) string {
	if strings.Contains(text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// quoted writes a string as JSON does, which TOML's basic strings and YAML's double-quoted ones read alike.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // cannot happen: it is a string
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// inline writes a value in one line. equals stands between the key and the value of a map.
func inline(v any, equals string) string {
	switch v := v.(type) {
	case string:
		return quoted(v)
	case []string:
		words := make([]string, len(v))
		for i, w := range v {
			words[i] = quoted(w)
		}
		return "[" + strings.Join(words, ", ") + "]"
	case map[string]string:
		return inlineMap(v, equals)
	case map[string]int:
		return inlineMap(v, equals)
	}
	return fmt.Sprint(v) // a number or a bool
}

func inlineMap[V any](m map[string]V, equals string) string {
	var pairs []string
	for k, value := range m {
		pairs = append(pairs, quoted(k)+equals+inline(value, equals))
	}
	slices.Sort(pairs)
	return "{ " + strings.Join(pairs, ", ") + " }"
}

var errMeansOther = errors.New("it is written in a way that cannot be edited without changing more than its servers")
