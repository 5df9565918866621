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

// A CollisionError says that the catalogue withholds a name because several tools share it.
type CollisionError struct {
	Name  string
	Names []string // each as server/tool, both as their owners spell them
}

func (e *CollisionError) Error() string {
	return fmt.Sprintf("%q is withheld because it is the name of several tools: %s; rename or exclude all but one of them",
		e.Name, strings.Join(e.Names, ", "))
}

// An ArgumentError says which part of a call's arguments does not match the tool's input schema.
type ArgumentError struct {
	Tool string // canonical name
	Path string // JSON Pointer into the arguments, "" for the arguments as a whole
	Want string // what the schema expects there, in words
	Got  string // the actual value, shortened
}

func (e *ArgumentError) Error() string {
	at := "the arguments"
	if e.Path != "" {
		at = e.Path
	}
	text := fmt.Sprintf("%s: expected %s, got %s", at, e.Want, e.Got)
	if e.Tool != "" {
		text = e.Tool + ": " + text
	}
	return text
}
