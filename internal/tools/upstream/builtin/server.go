// Package builtin has the MCP servers that are Go functions in this process: the time, and the files of one directory.
//
// A [Server] is data. Package upstream calls it like every other server, so its calls pass the gate, too.
package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// A Server is a set of tools.
type Server struct {
	Name         string
	Instructions string
	Tools        []Tool
	// Loose says that functions may run on after their context has ended. A call does not wait for them then. That
	// costs a goroutine for each call.
	Loose bool
}

// A Tool is one function of a [Server]. Input, Output and Annotations are those of MCP; Title, Output and Annotations
// may be empty.
//
// Call must be safe for concurrent use. Its value becomes the structured content of the result, as JSON, unless it is a
// [Block]. The caller reads its error.
type Tool struct {
	Name        string
	Title       string
	Description string
	Input       json.RawMessage
	Output      json.RawMessage
	Annotations json.RawMessage
	Call        func(ctx context.Context, args json.RawMessage) (any, error)
}

// A Block is one content block of MCP, such as an image. It becomes the content of a result that has no structured
// content.
type Block map[string]any

// tool makes a tool of a function with typed arguments. Unknown arguments are an error.
func tool[A any](name, description, input, output string, kind effect, f func(context.Context, A) (any, error)) Tool {
	t := Tool{Name: name, Description: description, Input: json.RawMessage(input), Annotations: json.RawMessage(kind)}
	if output != "" {
		t.Output = json.RawMessage(output)
	}
	t.Call = func(ctx context.Context, raw json.RawMessage) (any, error) {
		var args A
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&args); err != nil {
			return nil, fmt.Errorf("reading the arguments of %s: %w", name, err)
		}
		return f(ctx, args)
	}
	return t
}

// An effect says what a tool changes, as annotations.
type effect string

const (
	reads    effect = `{"readOnlyHint":true,"openWorldHint":false}`
	adds     effect = `{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`
	destroys effect = `{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false}`
	replaces effect = `{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}`
)
