package main

import (
	"errors"
	"slices"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/preflight"
	"github.com/codemode-project/codemode/sandbox"
)

// The exit codes. exitCodes is what people read about them.
const (
	exitOK          = 0
	exitProgram     = 1
	exitUsage       = 2
	exitDenied      = 3
	exitLimit       = 4
	exitInternal    = 5
	exitInterrupted = 130
)

const exitCodes = `Exit codes

  0    the program finished; the check found nothing that would be denied
  1    the program cannot run (a syntax error), or threw something that it did not catch
       for profiles lint, test and diff, and for bench: something was found, or is otherwise
  2    the command was used wrongly, or the configuration must not be used
  3    the program ended because a call was denied or refused, or was not started
       because it has to be checked first;
       for check: a call that can be seen would be denied, names no tool, or has
       arguments that do not fit
  4    the program was stopped by a limit: time, memory, calls or size of its
       result; or it waits for what can never come
  5    something of ours failed: the sandbox or an upstream server could not be used
  130  interrupted

A program that catches a denial decides its own end: it exits with 0 if it finishes.`

// exitError carries an exit code to the end of Main; err is what is printed, if anything.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks an error as the user's to mend.
func usage(err error) error { return &exitError{code: exitUsage, err: err} }

// startError maps an error that kept anything from starting.
func startError(err error) error {
	if _, ok := errors.AsType[*inforce.UnknownProfileError](err); ok {
		return usage(err)
	}
	if _, ok := errors.AsType[*inforce.ScriptError](err); ok {
		return usage(err)
	}
	if _, ok := errors.AsType[*preflight.Error](err); ok {
		return &exitError{code: exitDenied, err: err}
	}
	return &exitError{code: exitInternal, err: err}
}

// runCode maps how a run ended. That a refusal ended it is judged by what the
// gate saw, not by the name of an exception alone: programs can make their own.
func runCode(r *codemode.Response, err error) int {
	if err == nil {
		return exitOK
	}
	if _, ok := errors.AsType[analysis.Problems](err); ok {
		return exitProgram
	}
	ended, ok := errors.AsType[*sandbox.Error](err)
	if !ok {
		return exitInternal
	}
	switch ended.Kind {
	case sandbox.Threw:
		refused := slices.ContainsFunc(r.Calls, func(c hostfns.Report) bool { return c.State == hostfns.Refused })
		if refused && ended.Name == hostfns.ToolCallDenied {
			return exitDenied
		}
		return exitProgram
	case sandbox.Refused:
		return exitProgram
	case sandbox.Canceled:
		return exitInterrupted
	case sandbox.Crashed:
		return exitInternal
	}
	return exitLimit
}
