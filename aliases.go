package codemode

import (
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/runs/feed"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/owntools"
	"github.com/codemode-project/codemode/internal/tools/discovery"
)

type (
	// A Request is one program to run; [runs.Request] has its fields.
	Request = runs.Request
	// A Response is the outcome of its run; [runs.Response] has its fields and methods.
	Response = runs.Response
	// A Prepared is a program that was read once and runs many times; see [Evaluator.Prepare]
	// and [runs.Prepared].
	Prepared = runs.Prepared
	// A ValueError says that a program returned something else than a Go type takes; see [Eval].
	ValueError = runs.ValueError
	// Running is a run in progress, as [runs.Executor.Running] lists it.
	Running = runs.Running
	// Deterministic makes a run repeatable; [runs.Deterministic] has its fields.
	Deterministic = runs.Deterministic
	// Kept is what a response says of a result that is kept; [runs.Kept] has its fields.
	Kept = runs.Kept
	// SessionEnd is what became of the session of a request; [runs.SessionEnd] has its fields.
	SessionEnd = runs.SessionEnd
	// A Query says who looks for tools, and for which; [discovery.Query] has its fields.
	Query = discovery.Query
)

// The calls that an embedding program executes itself; see [Evaluator.Gate].
type (
	// A Gate decides, asks about and records the calls of one run; [owntools.Gate] has its methods.
	Gate        = owntools.Gate
	GateOptions = owntools.Options
	// A GateTool is what the Gate knows of a tool; [owntools.Tool] has its fields.
	GateTool = owntools.Tool
	// A GateCall is one call; [owntools.Call] has its fields.
	GateCall = owntools.Call
	// A DeniedError says that the embedding program must not execute a call, and why.
	DeniedError = owntools.DeniedError
)

// An Event is something that happened in a run, for [Request.Observe].
type (
	Event     = feed.Event
	EventKind = feed.EventKind
)

// The kinds of an [Event].
const (
	CallStarted = feed.CallStarted
	CallAsked   = feed.CallAsked
	CallEnded   = feed.CallEnded
	Printed     = feed.Printed
	RunParked   = feed.RunParked
	RunResumed  = feed.RunResumed
	RunEnded    = feed.RunEnded
	EventsLost  = feed.EventsLost
)

// Errors of [Evaluator.Eval], and of clients that come back for a run.
var (
	ErrNoRun     = runs.ErrNoRun     // there is no such run, or its result has expired
	ErrClosed    = runs.ErrClosed    // the Evaluator has been closed
	ErrKeyReused = runs.ErrKeyReused // another request has the same idempotency key

	// ErrNoProfile says that a request names no profile where no default applies, and does not say Unrestricted.
	ErrNoProfile = inforce.ErrNoProfile
)
