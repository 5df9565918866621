package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/sandbox"
)

const exitCodesHelp = `Exit codes

  0    the program finished; the check found no call that would be denied
  1    the program cannot run (a syntax error), or threw an exception that it did not catch;
       for profiles lint, test and diff, for audit verify, and for bench: something was found
  2    the command was used incorrectly, the configuration is not valid, or the session
       cannot be used: another program runs in it, or it belongs to another profile
  3    a denied or refused call ended the program, or the program was not started
       because it has to be checked first;
       for check: a call in the program would be denied, names no tool, or has
       arguments that do not fit; for review: changed tools are left to review
  4    a limit stopped the program: time, memory, calls or size of its result;
       or it waits for something that can never happen
  5    the sandbox, an upstream server or the system failed
  6    a call that needs a person's answer ended the program: nobody answered in time
  7    the same, and nobody was there to be asked
  130  interrupted

A program that catches a denial decides its own end: it exits with 0 if it finishes.`

// startError maps an error that prevented a program from starting.
func startError(err error) error {
	if _, ok := errors.AsType[*inforce.UnknownProfileError](err); ok {
		return cli.UsageError(err)
	}
	if _, ok := errors.AsType[*inforce.ScriptError](err); ok {
		return cli.UsageError(err)
	}
	if _, ok := errors.AsType[*preflight.Error](err); ok {
		return cli.WithCode(cli.ExitDenied, err)
	}
	return cli.InternalError(err)
}

// runCode maps the end of a run. It decides whether a refusal ended the run by the Gate's observations, not only by the
// name of the exception: a program can make an exception of that name.
func runCode(r *codemode.Response, err error) int {
	if err == nil {
		return cli.ExitOK
	}
	if _, ok := errors.AsType[analysis.Problems](err); ok {
		return cli.ExitProgram
	}
	ended, ok := errors.AsType[*sandbox.Error](err)
	if !ok {
		return cli.ExitInternal
	}
	switch ended.Kind {
	case sandbox.Threw:
		if ended.Name == hostfns.ToolCallDenied || ended.Name == hostfns.LimitClass {
			return refusalCode(r.Calls, ended.Message)
		}
		return cli.ExitProgram
	case sandbox.Refused:
		return cli.ExitProgram
	case sandbox.Canceled:
		return cli.ExitInterrupted
	case sandbox.Crashed:
		return cli.ExitInternal
	}
	return cli.ExitLimit
}

// refusalCode says why the call was refused that ended a run: the last one whose tool the message names, or the last.
func refusalCode(calls []hostfns.Report, message string) int {
	refused := slices.DeleteFunc(slices.Clone(calls), func(c hostfns.Report) bool { return c.State != hostfns.Refused })
	if len(refused) == 0 {
		return cli.ExitProgram
	}
	ended := refused[len(refused)-1]
	for _, c := range slices.Backward(refused) {
		if strings.Contains(message, c.Tool) {
			ended = c
			break
		}
	}
	switch ended.Reason {
	case call.CodeTimeout:
		return cli.ExitUnanswered
	case call.CodeNoApprover, call.CodeUnsupported:
		return cli.ExitNobody
	}
	return cli.ExitDenied
}
