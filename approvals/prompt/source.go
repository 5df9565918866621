package prompt

import (
	"fmt"
	"maps"

	"github.com/codemode-project/codemode/internal/strictjson"
)

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

// sharedSources are the remarks that apply to all of calls.
func sharedSources(calls []*Request) map[string]string {
	shared, _ := sourcesOf(calls[0])
	for _, r := range calls[1:] {
		other, _ := sourcesOf(r)
		maps.DeleteFunc(shared, func(pointer, remark string) bool { return other[pointer] != remark })
	}
	return shared
}
