package codemode

import "github.com/codemode-project/codemode/runs"

// A Request is one program to run, and a Response what its run leaves behind. They are those of package runs.
type (
	Request  = runs.Request
	Response = runs.Response
)

// Errors of [Evaluator.Eval], and of those who come back for a run.
var (
	ErrNoRun     = runs.ErrNoRun     // there is no such run, or its result is not kept any more
	ErrClosed    = runs.ErrClosed    // the Evaluator has been closed
	ErrKeyReused = runs.ErrKeyReused // another request has the same idempotency key
)
