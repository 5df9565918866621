package codemode

import "github.com/codemode-project/codemode/runs"

// What package runs calls by these names.
type (
	Request  = runs.Request
	Response = runs.Response
	Ended    = runs.Ended
	Engine   = runs.Engine
	CallJSON = runs.CallJSON
)

// Errors of [Evaluator.Eval] and [Evaluator.Reattach].
var (
	ErrClosed    = runs.ErrClosed
	ErrNoRun     = runs.ErrNoRun
	ErrKeyReused = runs.ErrKeyReused
)

const (
	// MaxIdempotencyKey is how long [Request.IdempotencyKey] may be, in bytes.
	MaxIdempotencyKey = runs.MaxIdempotencyKey
	// DefaultTextBytes is how long the text of a response may be.
	DefaultTextBytes = runs.DefaultTextBytes
)
