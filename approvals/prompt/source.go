package prompt

import (
	"fmt"

	"github.com/codemode-project/codemode/internal/strictjson"
)

// A Source says where one argument comes from, as far as could be seen.
type Source struct {
	Pointer string `json:"pointer,omitempty"` // JSON Pointer of a text or number in the arguments
	// canonical name of the tool whose answer has it; "" says that it is written in the text of the program
	Tool string `json:"tool,omitempty"`
	Call int    `json:"call,omitempty"` // the number of that call in the run
}

func (s Source) remark() string {
	if s.Tool == "" {
		return "(written in the program)"
	}
	return fmt.Sprintf("(from %s, call %d)", Heading(&Request{Name: s.Tool}), s.Call)
}

// sourcesOf maps pointers to remarks, and reports whether every argument is written in the program.
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
		Leaves(r.Args, func(pointer string, _ strictjson.Value) { written = written && remarks[pointer] != "" })
	}
	return remarks, written
}
