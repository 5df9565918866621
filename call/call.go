package call

import (
	"context"
	"encoding/json"
	"time"
)

// A Call is one use of a tool: what is decided about, recorded and sent.
type Call struct {
	Number int // in its run, from 1, in the order in which the program made them
	Tool   *Tool
	Args   Arguments
}

// A Tool is what is known of one tool at one moment. It must not change.
type Tool struct {
	Server      string         // the upstream's name in the configuration
	Raw         string         // the tool's name as the upstream says it
	Name        string         // canonical: server__tool
	Title       string         // the upstream's words, never trusted
	Description string         // likewise
	Input       []byte         // JSON Schema of its arguments, likewise
	Annotations map[string]any // hints, likewise
	Digest      string         // changes whenever the definition does
	Trusted     bool           // what the tool answers is not taken for a stranger's words
	Timeout     time.Duration  // how long one call may take; zero means the run's

	// Validate checks arguments against the tool's input schema; nil accepts every object. It ends when ctx does.
	Validate func(ctx context.Context, args Arguments) error

	// ValidateOutput checks the structured content of a result, nil if there was none, against the tool's output
	// schema; nil checks nothing. It ends when ctx does, and then nothing fits.
	ValidateOutput func(ctx context.Context, structured json.RawMessage) error
	// StrictOutput makes a result that does not fit an exception. Otherwise the program gets it, and the call's report
	// has a warning.
	StrictOutput bool

	// Resource says that this is no tool, but the reading of the server's resources.
	Resource bool
}

// ReadOnly reports whether the upstream says that the tool changes nothing.
func (t *Tool) ReadOnly() bool { return t.Annotations["readOnlyHint"] == true }
