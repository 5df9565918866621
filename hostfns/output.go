package hostfns

import (
	"context"
	"errors"
	"fmt"
)

// checkOutput checks a result against the tool's output schema. A mismatch becomes a warning or, where the tool is
// strict, an exception.
func (c *callState) checkOutput(ctx context.Context, reply *Reply) *Exception {
	t := c.tool
	if t.ValidateOutput == nil {
		return nil
	}
	err := t.ValidateOutput(ctx, reply.Structured)
	if err == nil {
		return nil
	}
	wrong, ok := errors.AsType[*ArgumentError](err)
	if !ok {
		wrong = &ArgumentError{Expected: "a result that fits the output schema",
			Got: "one that was not checked: " + err.Error()}
	}
	text := wrong.says("the result")
	if !t.StrictOutput {
		c.update(func() { c.Warning = "its result does not fit its output schema: " + text })
		return nil
	}
	return &Exception{
		Class: invalidResult,
		Message: fmt.Sprintf("%s: the call happened, but its result does not fit the tool's output schema: %s",
			t.Name, text),
		Props: map[string]any{"toolName": t.Name, "path": wrong.Path, "expected": wrong.Expected, "got": wrong.Got},
	}
}
