package catalog

import (
	"fmt"
	"strings"
)

// A NotFoundError says that no tool has the name.
type NotFoundError struct {
	Name    string
	Nearest []string // similar canonical names, best first
}

func (e *NotFoundError) Error() string {
	if len(e.Nearest) == 0 {
		return fmt.Sprintf("no tool is named %q", e.Name)
	}
	return fmt.Sprintf("no tool is named %q; the nearest names are %s", e.Name, strings.Join(e.Nearest, ", "))
}

// A WithheldError says that the tool exists, and why programs cannot call it.
type WithheldError struct {
	Name string
	Code string // "withheld", or "name_collision" for a name that tools of several servers have
	Why  string
	Tool *Tool // nil for several
}

func (e *WithheldError) Error() string {
	return fmt.Sprintf("%q is withheld, because %s", e.Name, e.Why)
}

// An ArgumentError says which parts of a call's arguments do not match the tool's input schema.
type ArgumentError struct {
	Tool  string           // canonical name
	Path  string           // JSON Pointer into the arguments, "" for the arguments as a whole
	Want  string           // what the schema expects there, in words
	Got   string           // the actual value, shortened
	Takes string           // the type of all arguments, in TypeScript
	More  []*ArgumentError // the other places, without Takes
}

func (e *ArgumentError) Error() string {
	at := "the arguments"
	if e.Path != "" {
		at = e.Path
	}
	text := fmt.Sprintf("%s: expected %s, got %s", at, e.Want, e.Got)
	for _, other := range e.More {
		text += "; " + other.Error()
	}
	if e.Takes != "" && e.Path != "" {
		text += "; it takes " + e.Takes
	}
	if e.Tool != "" {
		text = e.Tool + ": " + text
	}
	return text
}
