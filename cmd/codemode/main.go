// Command codemode runs programs that call tools, as far as a person allows.
//
//	codemode serve                 offer that to an MCP client, over stdio
//	codemode run FILE | -e CODE    run one program here; questions come to this terminal
//	codemode approvals             answer what running programs ask, on another terminal
//	codemode console               open the web page where people answer
//	codemode check FILE            say what a program would do, without running it
//	codemode tools [QUERY]         list what programs can call
//	codemode explain PROFILE TOOL  say how a call would be decided, and why
//	codemode profiles              check, test, compare and import the rules
//	codemode review                look at tools that changed, and accept them
//	codemode init                  write a configuration from what other clients have
//	codemode doctor                check the configuration, the servers and the sandbox
//	codemode audit                 read and verify the record of what programs did
//
// "codemode help exit-codes" and "codemode help configuration" say the rest.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/analysis"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == readPrograms {
		if err := analysis.Work(os.Stdin, os.Stdout); err != nil {
			os.Exit(exitInternal)
		}
		os.Exit(exitOK)
	}
	collectLater()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Main(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, worker: worker()})
	stop()
	os.Exit(code)
}

// collectLater collects no garbage in the first second: there is little, and
// looking for it would take a quarter of a short command's time. A person who
// sets GOGC has chosen for themselves.
func collectLater() {
	if os.Getenv("GOGC") != "" {
		return
	}
	const most = 256 << 20 // from here on Go collects all the same
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(limit, most))
	time.AfterFunc(time.Second, func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	})
}

// readPrograms is the argument that makes this binary a worker: a process that
// reads programs for the one that started it, and dies if a text is too much.
const readPrograms = "read-programs"

// worker is the command that starts this binary as a worker; nil if the binary
// cannot be found. On Linux it is this very file, also after an upgrade put another in its place.
func worker() []string {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return []string{self, readPrograms}
	}
	if path, err := os.Executable(); err == nil {
		return []string{path, readPrograms}
	}
	return nil
}

// streams are what a command reads and writes, and how it starts a worker.
type streams struct {
	in       io.Reader
	out, err io.Writer
	worker   []string // nil reads programs in this process
}

// Main runs a command and returns its exit code. Everything but the process
// itself is in here, so that tests can call it.
func Main(ctx context.Context, args []string, s streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	exit, ok := errors.AsType[*exitError](err)
	if !ok { // from cobra: an unknown command, a wrong flag
		exit = &exitError{code: exitUsage, err: err}
	}
	if exit.err != nil {
		fmt.Fprintf(s.err, "codemode: %s\n", strings.Join(errorLines(exit.err), "\n"))
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	return exit.code
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "codemode",
		Short:         "Runs programs that call tools, as far as a person allows",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(newServe(s), newRun(s), newApprovals(s), newConsole(s), newCheck(s), newTools(s), newExplain(s), newProfiles(s), newReview(s), newInit(s), newDoctor(s), newAudit(s), newBench(s), newLogin(s), newLogout(s), newVersion(s))
	root.AddCommand(
		&cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodes},
		&cobra.Command{Use: "configuration", Short: "Which configuration file is used", Long: configurationHelp},
	)
	return root
}
