package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/codemode-project/codemode/internal/govalue"
)

// A ValueError says that a program returned something else than the Go type takes.
type ValueError struct {
	Pointer string // JSON Pointer to the place in the value; "" is the whole
	Want    string // what the Go type takes, in words
	Got     string // what the program returned there: its JSON, if that is short
	Why     string // what the reader or a method of the Go type says; "" for nothing
}

func (e *ValueError) Error() string {
	at := ""
	if e.Pointer != "" {
		at = " at " + e.Pointer
	}
	text := fmt.Sprintf("the program returned %s%s, want %s", e.Got, at, e.Want)
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// Decode stores the value that the program returned in v, a pointer, as encoding/json does. The error is [*ValueError]
// if the value does not fit. It says where.
//
// An integer is never rounded: Decode refuses one that a float64 does not hold, also in an interface, and stores it in
// int64, [json.Number] or [*big.Int]. undefined and null are nil in a pointer, slice, map or interface; other types
// refuse them.
func (r *Response) Decode(v any) error {
	to := reflect.ValueOf(v)
	switch {
	case to.Kind() != reflect.Pointer || to.IsNil():
		return fmt.Errorf("Decode needs a pointer to store the value in, this is %T", v)
	case r.kept != nil && !r.kept.Whole && !r.kept.Failed:
		return errors.New("of this run, which an earlier request began, only the text is stored, because the value did not " +
			"fit into it: use Text, or return less")
	}
	value := r.Value
	if value == nil {
		value = json.RawMessage("null")
	}
	err := govalue.Decode(value, v)
	wrong, ok := errors.AsType[*govalue.Mismatch](err)
	if !ok {
		return err
	}
	e := ValueError(*wrong)
	if r.Value == nil {
		e.Got = "nothing (its value is what it passes to return)"
	}
	return &e
}
