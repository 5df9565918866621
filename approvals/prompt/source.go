package prompt

import (
	"fmt"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Source says where one argument comes from, as far as known.
type Source struct {
	Pointer string `json:"pointer,omitempty"` // JSON Pointer of a text or number in the arguments
	// Canonical name of the tool that answered with the value; "" says that the program's text contains it.
	Tool string `json:"tool,omitempty"`
	Call int    `json:"call,omitempty"` // the number of that call in the run
}

func (s Source) remark() string {
	if s.Tool == "" {
		return "(written in the program)"
	}
	return fmt.Sprintf("(from %s, call %d)", Heading(&Request{Name: s.Tool}), s.Call)
}

// sourcesOf maps pointers to remarks, and reports whether the program's text contains every argument.
func sourcesOf(r *Request) (remarks map[string]string, written bool) {
	if len(r.Sources) == 0 {
		return nil, false
	}
	remarks, written = map[string]string{}, true
	for _, s := range r.Sources {
		remarks[s.Pointer] = s.remark()
		written = written && s.Tool == ""
	}
	if written {
		strictjson.Leaves(r.Args, func(pointer string, _ strictjson.Value) { written = written && remarks[pointer] != "" })
	}
	return remarks, written
}
