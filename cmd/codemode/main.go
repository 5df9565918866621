// Command codemode runs programs that call tools, as far as a person allows.
//
//	codemode serve                 offer the tools that run programs to MCP clients
//	codemode run FILE | -e CODE    run one program; questions come to this terminal
//	codemode demo                  show what codemode does, in a folder of its own
//	codemode approvals             answer questions of running programs on another terminal
//	codemode console               open the web page where people answer
//	codemode check FILE            list what a program would do, without running it
//	codemode tools [QUERY]         list what programs can call
//	codemode explain PROFILE TOOL  explain how a call would be decided
//	codemode profiles              check, test, compare and import rules
//	codemode review                list changed tools, and accept them
//	codemode init                  move the servers of other clients behind codemode
//	codemode doctor                check the configuration, the servers and the sandbox
//	codemode audit                 read and verify the record of what programs did
//	codemode sessions              list and change what programs share from one to the next
//	codemode store                 check, back up and restore the database
//
// "codemode help exit-codes" and "codemode help configuration" explain the rest.
//
// This package holds the entry point and the commands about one program: run, check, tools, review, login and bench.
// Larger commands have folders: serve, responder (codemode approvals), rulebook (profiles and explain), auditcmd,
// sessionscmd, storecmd, doctor and setup (init). They share cli (streams, exit codes, printing) and launch (flags, files, the
// Evaluator).
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/cmd/codemode/auditcmd"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/demo"
	"github.com/codemode-project/codemode/cmd/codemode/doctor"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/cmd/codemode/responder"
	"github.com/codemode-project/codemode/cmd/codemode/rulebook"
	"github.com/codemode-project/codemode/cmd/codemode/serve"
	"github.com/codemode-project/codemode/cmd/codemode/sessionscmd"
	"github.com/codemode-project/codemode/cmd/codemode/setup"
	"github.com/codemode-project/codemode/cmd/codemode/storecmd"
	"github.com/codemode-project/codemode/internal/confine"
	_ "github.com/codemode-project/codemode/store/postgres" // the databases of "store"
	_ "github.com/codemode-project/codemode/store/sqlite"
)

func main() {
	if code, ok := confine.Main(os.Args, os.Environ(), os.Stderr); ok {
		os.Exit(code)
	}
	if len(os.Args) == 2 && os.Args[1] == readPrograms {
		if err := analysis.Work(os.Stdin, os.Stdout); err != nil {
			os.Exit(cli.ExitInternal)
		}
		os.Exit(cli.ExitOK)
	}
	collectLater()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Main(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Worker: worker()})
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
		if now := debug.SetGCPercent(percent); now != -1 { // a command has chosen meanwhile
			debug.SetGCPercent(now)
			return
		}
		debug.SetMemoryLimit(limit)
	})
}

// readPrograms is the argument that makes this binary a worker: a process that reads programs for the one that started
// it, and that a text can crash without harm.
const readPrograms = "read-programs"

// worker is the command that starts this binary as a worker; nil if the binary cannot be found. On Linux it names the
// running file, also after an upgrade replaced it.
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

// Main runs a command and returns its exit code. Tests call it; only what concerns the process itself is in main.
func Main(ctx context.Context, args []string, s cli.Streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	err := root.ExecuteContext(ctx)
	if err != nil && err.Error() != "" {
		fmt.Fprintf(s.Err, "codemode: %s\n", strings.Join(cli.ErrorLines(err), "\n"))
	}
	return cli.CodeOf(ctx, err)
}

func newRoot(s cli.Streams) *cobra.Command {
	root := cli.NewGroup("codemode", "Runs programs that call tools, as far as a person allows", "",
		serve.New(s), newRun(s), responder.New(s), serve.NewConsole(s), newCheck(s), newTools(s),
		newTypes(s), rulebook.NewExplain(s), rulebook.NewProfiles(s), rulebook.NewReview(s),
		setup.New(s), doctor.New(s), auditcmd.New(s), sessionscmd.New(s), storecmd.New(s), newBench(s),
		newLogin(s), newLogout(s),
		newVersion(s), demo.New(s),
		&cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesHelp},
		&cobra.Command{Use: "configuration", Short: "Which configuration file is used", Long: launch.ConfigurationHelp},
	)
	root.SetFlagErrorFunc(cli.FlagError)
	root.SilenceUsage, root.SilenceErrors = true, true
	return root
}
