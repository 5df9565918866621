package prompt

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/strictjson"
	spelling "github.com/codemode-project/codemode/internal/visible" // visible is a table here
)

// holds reports whether arguments match the plan: each fixed value is there, and every other value is free.
func (e *Envelope) holds(args json.RawMessage) bool {
	v, err := parseArgs(args)
	if err != nil {
		return false
	}
	for _, fixed := range e.Fixed {
		if now, err := valueAt(v, fixed.Pointer); err != nil || now != fixed.JSON || strings.Contains(fixed.Pointer, "*") {
			return false
		}
	}
	return e.within(v, "")
}

// within reports whether all of v, the value at a pointer, is fixed or free.
func (e *Envelope) within(v strictjson.Value, at string) bool {
	if slices.ContainsFunc(e.Fixed, func(f Value) bool { return f.Pointer == at }) || slices.Contains(e.Free, at) {
		return true
	}
	for step, child := range children(v) {
		if !e.within(child, strictjson.AppendToken(at, step)) {
			return false
		}
	}
	return nested(v) && (v.Len() > 0 || at == "")
}

// places iterates over the values that a path leads to, with the pointer of each. The step * matches every child.
func places(v strictjson.Value, path []string, at string) iter.Seq2[string, strictjson.Value] {
	return func(yield func(string, strictjson.Value) bool) {
		if len(path) == 0 {
			yield(at, v)
			return
		}
		for step, child := range children(v) {
			if path[0] != "*" && path[0] != step {
				continue
			}
			for at, found := range places(child, path[1:], strictjson.AppendToken(at, step)) {
				if !yield(at, found) {
					return
				}
			}
		}
	}
}

// lookAlike is the error of a value with a key that looks like one of the path: an upstream that ignores case, or a
// reader, may take it for that one. This pairs with the conditions of rules.
func lookAlike(v strictjson.Value, path []string) error {
	if len(path) == 0 {
		return nil
	}
	for step, child := range children(v) {
		if v.Kind() == strictjson.Object && path[0] != "*" && spelling.Alike(step, path[0]) {
			return fmt.Errorf("%w: the arguments have %s, which looks like %s", errNotOffered, Quote(step), Quote(path[0]))
		}
		if path[0] != "*" && path[0] != step {
			continue
		}
		if err := lookAlike(child, path[1:]); err != nil {
			return err
		}
	}
	return nil
}

// valueAt returns the value at a JSON Pointer, where a segment * matches every child: canonical JSON, or "" if there is
// none. A key that looks like one of the pointer is an error.
func valueAt(args strictjson.Value, pointer string) (string, error) {
	path, err := strictjson.Tokens(pointer)
	if err == nil {
		err = lookAlike(args, path)
	}
	if err != nil {
		return "", err
	}
	var b []byte
	for at, value := range places(args, path, "") {
		if len(b) > 0 {
			b = append(b, ' ')
		}
		if slices.Contains(path, "*") {
			b = append(append(b, at...), '=')
		}
		b = value.AppendCanonical(b)
	}
	return string(b), nil
}

// free describes a free pointer.
func (e *Envelope) free(pointer string) string {
	short, _ := shorten(pointer)
	switch {
	case pointer != "":
		return "any " + short
	case len(e.Fixed)+len(e.Free) == 1:
		return "any arguments"
	}
	return "any other arguments"
}

func (e *Envelope) text() string {
	var parts []string
	for _, v := range e.Fixed {
		pointer, _ := shorten(v.Pointer)
		parts = append(parts, pointer+" "+escape(v.JSON, prose))
	}
	for _, f := range e.Free {
		parts = append(parts, e.free(f))
	}
	if len(parts) == 0 {
		return "no arguments"
	}
	return strings.Join(parts, " and ")
}

// Limits of a plan that a person is to read whole: characters of one value and of one line, and lines.
const (
	maxPlannedValue = 200
	maxPlannedLine  = 600
	MaxPlan         = 20
)

// Sketch makes the envelope of arguments that a program's text shows in part. At unknown there may be any value, or
// none, and the objects at open may have further members. Both are JSON Pointers; "" is all of it.
func Sketch(shown json.RawMessage, unknown, open []string) (Envelope, error) {
	var e Envelope
	form, err := canonical(shown) // canonical order makes sketches comparable
	if err != nil {
		return e, err
	}
	all, err := parseArgs(form)
	if err != nil {
		return e, err
	}
	var walk func(v strictjson.Value, at string)
	walk = func(v strictjson.Value, at string) {
		within := func(p string) bool { return p == at || strings.HasPrefix(p, at+"/") }
		switch {
		case slices.Contains(unknown, at):
			e.Free = append(e.Free, at)
			return
		case !nested(v) || at != "" && !slices.ContainsFunc(unknown, within) && !slices.ContainsFunc(open, within):
			e.Fixed = append(e.Fixed, Value{at, string(v.AppendCanonical(nil))})
			return
		}
		for step, child := range children(v) {
			walk(child, strictjson.AppendToken(at, step))
		}
		if slices.Contains(open, at) {
			e.Free = append(e.Free, at)
		}
	}
	walk(all, "")
	return e, nil
}

// short reports whether a person can read e at a glance.
func (e *Envelope) short() bool {
	if len(e.Fixed)+len(e.Free) > 24 {
		return false
	}
	all := 0
	for _, v := range e.Fixed {
		n := utf8.RuneCountInString(escape(v.JSON, prose))
		if all += n; n > maxPlannedValue || len(v.Pointer) > maxName {
			return false
		}
	}
	for _, f := range e.Free {
		if len(f) > maxName {
			return false
		}
	}
	return all <= maxPlannedLine
}
