package codemode

import "github.com/codemode-project/codemode/runs"

// A Request is one program to run, and a Response is the outcome of its run. Package runs defines both.
type (
	Request  = runs.Request
	Response = runs.Response
	Kept     = runs.Kept
)

// Errors of [Evaluator.Eval], and of clients that come back for a run.
var (
	ErrNoRun     = runs.ErrNoRun     // there is no such run, or its result has expired
	ErrClosed    = runs.ErrClosed    // the Evaluator has been closed
	ErrKeyReused = runs.ErrKeyReused // another request has the same idempotency key
)
