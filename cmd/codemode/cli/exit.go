// Package cli holds what all commands of codemode share towards the person at the terminal: the streams, the exit
// codes, and the printing of results, tables, errors and log records.
//
// Text from servers, programs and files is escaped here before it reaches a terminal, see package internal/visible.
package cli

import (
	"context"
	"errors"
)

// The exit codes; "codemode help exit-codes" explains them.
const (
	ExitOK          = 0
	ExitProgram     = 1 // also for a check that found something
	ExitUsage       = 2
	ExitDenied      = 3
	ExitLimit       = 4
	ExitInternal    = 5
	ExitUnanswered  = 6 // a question was not answered in time
	ExitNobody      = 7 // nobody was there to be asked
	ExitInterrupted = 130
)

// A codeError carries an exit code to the end of main. main prints err; nil prints nothing.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

// WithCode ends a command with an exit code. A nil err prints nothing: the command has already printed everything.
func WithCode(code int, err error) error { return &codeError{code, err} }

// UsageError marks an error that the user can correct. The result for nil is nil.
func UsageError(err error) error {
	if err == nil {
		return nil
	}
	return &codeError{ExitUsage, err}
}

// InternalError marks a failure of codemode, of an upstream server or of the system. An error that has an exit code
// keeps it.
func InternalError(err error) error {
	if _, ok := errors.AsType[*codeError](err); ok || err == nil {
		return err
	}
	return &codeError{ExitInternal, err}
}

// CodeOf is the exit code for the error that a command returned. Errors without a code come from cobra: an unknown
// command, a wrong flag.
func CodeOf(ctx context.Context, err error) int {
	coded, ok := errors.AsType[*codeError](err)
	switch {
	case err == nil:
		return ExitOK
	case ctx.Err() != nil:
		return ExitInterrupted
	case !ok:
		return ExitUsage
	}
	return coded.code
}
