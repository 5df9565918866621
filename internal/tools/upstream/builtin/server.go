// Package builtin has the MCP servers that are Go functions in this process: the time, the files of one directory, and
// those that a program which embeds codemode makes of its own functions ([OfFunctions]).
//
// A [Server] is data. Package upstream calls it like every other server, so its calls pass the gate, too. A new one is
// a function like [Time], with its tools in tools.json. Package loader starts it.
package builtin

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
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

//go:embed tools.json
var definitions []byte

// defined has the definitions of the tools here, by name.
var defined = sync.OnceValue(func() (all map[string]struct {
	Description   string
	Effect        string
	Input, Output json.RawMessage
}) {
	if err := json.Unmarshal(definitions, &all); err != nil {
		panic(err)
	}
	return all
})

// tool makes a tool of a function with typed arguments. Unknown arguments are an error.
func tool[A any](name string, f func(context.Context, A) (any, error)) Tool {
	d := defined()[name]
	t := Tool{Name: name, Description: d.Description, Input: d.Input, Output: d.Output, Annotations: effects[d.Effect]}
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

// effects say what a tool changes, as annotations.
var effects = map[string]json.RawMessage{
	"reads":    json.RawMessage(`{"readOnlyHint":true,"openWorldHint":false}`),
	"adds":     json.RawMessage(`{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`),
	"destroys": json.RawMessage(`{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false}`),
	"replaces": json.RawMessage(`{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}`),
}
