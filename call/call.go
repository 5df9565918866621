package call

import (
	"context"
	"encoding/json"
	"time"
)

// A Call is one use of a tool: codemode decides, records and sends it.
type Call struct {
	Run    string
	Number int // in its run, from 1, in the order in which the program made them
	Tool   *Tool
	Args   Arguments
}

// A Tool is a snapshot of what codemode knows of one tool. It must not change.
type Tool struct {
	Server      string                 // the upstream's name in the configuration
	Raw         string                 // the tool's name as the upstream spells it
	Name        string                 // canonical: server__tool
	Title       string                 // the upstream's words, never trusted
	Description string                 // likewise
	Input       func() json.RawMessage // JSON Schema of its arguments, likewise; nil is none
	Annotations map[string]any         // hints, likewise
	Digest      string                 // changes whenever the definition does
	Trusted     bool                   // the tool's results do not count as untrusted input
	Timeout     time.Duration          // how long one call may take; zero means the run's

	// Validate checks arguments against the tool's input schema; nil accepts every object. It ends with ctx.
	Validate func(ctx context.Context, args Arguments) error

	// WithoutNulls returns arguments without the properties that are null and optional, and that the schema does not
	// let be null. ok is false if there are none. unknown are JSON Pointers to places whose value is not known. Nil
	// changes nothing.
	WithoutNulls func(ctx context.Context, args Arguments, unknown []string) (_ json.RawMessage, ok bool)

	// Ready returns nil if whoever makes the call has what the upstream needs from them, such as a login. It is asked
	// before people are. Nil is always ready.
	Ready func(ctx context.Context) error

	// ValidateOutput checks the structured content of a result, nil if there was none, against the tool's output
	// schema; nil checks nothing. It ends with ctx, and then nothing matches.
	ValidateOutput func(ctx context.Context, structured json.RawMessage) error
	// StrictOutput turns a result that does not match into an exception. Otherwise the program gets the result, and the
	// call's report has a warning.
	StrictOutput bool

	// Resource says that this is not a tool, but reading the server's resources.
	Resource bool
}

// A Charge is what a call costs the budgets of whoever makes it.
type Charge struct {
	Principal, Profile string
	Tool               *Tool
	Bytes              int64 // of the arguments, or of the answer
}

// ReadOnly reports whether the upstream says that the tool changes nothing.
func (t *Tool) ReadOnly() bool { return t.Annotations["readOnlyHint"] == true }
