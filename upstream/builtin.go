package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// A BuiltIn is a server made of Go functions in this process.
type BuiltIn struct {
	Name         string
	Instructions string
	Tools        []BuiltInTool
}

// A BuiltInTool is one tool of a [BuiltIn]. Call may run many times at once. What
// it returns is marshalled and becomes the structured content of the answer,
// unless it is a [*Result], which is the answer; its error is what the caller reads.
type BuiltInTool struct {
	Tool
	Call func(ctx context.Context, args json.RawMessage) (any, error)
}

// Server returns the entry for [Manager.Set].
func (b BuiltIn) Server() Server {
	return Server{Name: b.Name, Transport: InHere, BuiltIn: &b, TrustAnnotations: true}
}

// builtInTool makes a tool of a function with typed arguments. Arguments that
// the function does not know are refused, not ignored.
func builtInTool[A any](name, description, input, output string, kind effect, f func(context.Context, A) (any, error)) BuiltInTool {
	t := Tool{Name: name, Description: description, Input: json.RawMessage(input), Annotations: json.RawMessage(kind)}
	if output != "" {
		t.Output = json.RawMessage(output)
	}
	return BuiltInTool{
		Tool: t,
		Call: func(ctx context.Context, raw json.RawMessage) (any, error) {
			var args A
			d := json.NewDecoder(bytes.NewReader(raw))
			d.DisallowUnknownFields()
			if err := d.Decode(&args); err != nil {
				return nil, fmt.Errorf("reading the arguments of %s: %w", name, err)
			}
			return f(ctx, args)
		},
	}
}

// An effect is what a built-in tool does to the world, as annotations.
type effect string

const (
	reads    effect = `{"readOnlyHint":true,"openWorldHint":false}`
	adds     effect = `{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`
	destroys effect = `{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false}`
	replaces effect = `{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}`
)
