package hostfns

import (
	"context"
	"errors"
	"fmt"
)

// InvalidResult is the class of the exception for a call that happened and whose
// result does not fit the tool's output schema, where that is strict.
const InvalidResult = "InvalidResultError"

// A ResultError says where a result differs from the tool's output schema.
type ResultError struct {
	Path     string // JSON Pointer; "" is the whole structured content
	Expected string
	Got      string
}

func (e *ResultError) Error() string {
	at := e.Path
	if at == "" {
		at = "the result"
	}
	return fmt.Sprintf("%s: expected %s, got %s", at, e.Expected, e.Got)
}

// checkOutput holds a result against the tool's output schema. What does not
// fit is noted, or, where the tool is strict, an exception.
func (r *Run) checkOutput(ctx context.Context, c *callState, reply *Reply) *Exception {
	t := c.tool
	if t.ValidateOutput == nil {
		return nil
	}
	err := t.ValidateOutput(ctx, reply.Structured)
	if err == nil {
		return nil
	}
	wrong, ok := errors.AsType[*ResultError](err)
	if !ok {
		wrong = &ResultError{Expected: "a result that fits the output schema", Got: "one that was not checked: " + err.Error()}
	}
	if !t.StrictOutput {
		r.update(c, func() { c.Warning = "its result does not fit its output schema: " + wrong.Error() })
		return nil
	}
	return &Exception{
		Class:   InvalidResult,
		Message: fmt.Sprintf("%s: the call happened, but its result does not fit the tool's output schema: %s", t.Name, wrong.Error()),
		Props:   map[string]any{"toolName": t.Name, "path": wrong.Path, "expected": wrong.Expected, "got": wrong.Got},
	}
}
