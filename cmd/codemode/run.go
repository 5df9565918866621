package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/cmd/codemode/serve"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/sandbox"
)

// program holds the flags that say where the text of a program comes from.
type program struct {
	code   string
	given  bool // by -e
	script string
}

func (p *program) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&p.code, "eval", "e", "", "the program itself, instead of a file")
	cmd.Flags().StringVar(&p.script, "script", "", "the name of a saved program, instead of a file")
	cmd.Args = cobra.MaximumNArgs(1)
}

// read returns the program and its name in messages.
func (p *program) read(cmd *cobra.Command, args []string, in io.Reader) (name, code string, err error) {
	p.given = cmd.Flags().Changed("eval")
	switch {
	case p.script != "" && (p.given || len(args) > 0):
		return "", "", cli.UsageError(errors.New(
			"--script names a saved program, and there is another program; give only one of them"))
	case p.script != "":
		return "", "", nil
	case p.given && len(args) > 0:
		return "", "", cli.UsageError(errors.New("there is a program with -e and one in a file; give only one of them"))
	case p.given:
		return "program.ts", p.code, nil
	case len(args) == 0:
		return "", "", cli.UsageError(fmt.Errorf("there is no program: codemode %s FILE, or codemode %s -e CODE",
			cmd.Name(), cmd.Name()))
	case args[0] == "-":
		b, err := cli.Typed(cmd.Context(), func() ([]byte, error) { return io.ReadAll(in) })
		if err != nil {
			return "", "", cli.UsageError(fmt.Errorf("reading the program from standard input: %w", err))
		}
		return "program.ts", string(b), nil
	}
	b, err := os.ReadFile(args[0])
	if err != nil {
		return "", "", cli.UsageError(fmt.Errorf("reading the program: %w", err))
	}
	return filepath.Base(args[0]), string(b), nil
}

// inSession holds the flags that name a session, and say what to wait for.
type inSession struct {
	session string
	wait    string
	taken   string        // the argument that is the duration
	servers time.Duration // how long to wait for servers
}

// forSession is the value of --wait without one.
const forSession = "session"

func (s *inSession) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.session, "session", "", "run in the session of this name, which is made if there is none")
	cmd.Flags().StringVar(&s.wait, "wait", "", "how long to wait for servers to start, such as 30s; without a duration, "+
		"wait while another program runs in the session, instead of an error")
	cmd.Flags().Lookup("wait").NoOptDefVal = forSession
	cmd.Args = func(cmd *cobra.Command, args []string) error { return cobra.MaximumNArgs(1)(cmd, s.take(args)) }
}

// take takes the duration of --wait out of the arguments, where it stands if there is no = between them.
func (s *inSession) take(args []string) []string {
	isDuration := func(a string) bool { _, err := time.ParseDuration(a); return err == nil }
	if i := slices.IndexFunc(args, isDuration); s.wait == forSession && i >= 0 {
		s.wait, s.taken = args[i], args[i]
	}
	if i := slices.Index(args, s.taken); s.taken != "" && i >= 0 {
		return slices.Delete(slices.Clone(args), i, i+1)
	}
	return args
}

func (s *inSession) check() (err error) {
	switch {
	case s.wait == forSession && s.session == "":
		return cli.UsageError(errors.New("--wait waits for a session: name it with --session, or say with a duration, " +
			"as in --wait 30s, how long to wait for servers"))
	case s.wait != "" && s.wait != forSession:
		if s.servers, err = time.ParseDuration(s.wait); err != nil || s.servers < 0 {
			return cli.UsageError(fmt.Errorf("--wait %q is no duration: write it as in --wait 30s", s.wait))
		}
	}
	return nil
}

func newRun(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var prog program
	var patience time.Duration
	var input, preflight string
	var in inSession
	var asJSON, everyCall bool
	cmd := &cobra.Command{
		Use:   "run [FILE | -e CODE | --script NAME]",
		Short: "Run a program here; questions about its calls come to this terminal",
		Long: `Runs a program. Its value goes to standard output; console, calls, and the questions of the
program and of servers go to standard error, the console as the program prints. If standard input
is not a terminal, people are asked elsewhere: with codemode approvals, or on the page of a
codemode serve with the same state. Where nobody is there, calls that need a person are refused,
unless --wait-for-answer says how long to wait. FILE may be - for standard input.

With --session the program goes on where the last program of that session ended: it uses what
that one declared, and the next one uses what it declares. A session is kept beside the record;
codemode sessions lists them.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, code, err := prog.read(cmd, in.take(args), s.In)
			if err != nil {
				return err
			}
			madeSession, err := serve.SessionOfEnvironment()
			if err != nil {
				return err
			}
			r := codemode.Request{
				Profile: set.Profile, Unrestricted: true, Code: code, Name: name, Script: prog.script, Bound: set.Profile != "",
				Preflight: preflight, Tool: "codemode run", Local: true, Principal: launch.Principal(),
				ClientSession: madeSession, Client: "codemode run", EveryCall: everyCall,
				Session: in.session, SessionWait: in.wait == forSession,
			}
			if err := in.check(); err != nil {
				return err
			}
			if input != "" {
				if _, err := strictjson.Parse(input, strictjson.Options{}); err != nil {
					return cli.UsageError(fmt.Errorf("--input is not JSON: %w", err))
				}
				r.Input = json.RawMessage(input)
			}
			if patience < 0 {
				return cli.UsageError(fmt.Errorf("--wait-for-answer %v: the time cannot be negative", patience))
			}
			if cli.TerminalFile(s.In) == nil {
				elsewhere, err := serve.Elsewhere(&set, set.Logger(s, slog.LevelError))
				if err != nil {
					return err
				}
				defer elsewhere.Close()
			}
			r.Caller = &registry.Caller{Session: new(byte), Asked: tellWaiting(s.Err), Patience: patience}
			return set.Use(cmd.Context(), s, slog.LevelWarn, func(e *codemode.Evaluator) error {
				if in.servers > 0 {
					launch.Await(cmd.Context(), s.Err, e, in.servers)
				}
				return run(cmd.Context(), s, e, r, asJSON)
			})
		},
	}
	set.Flags(cmd)
	set.StateFlag(cmd)
	set.Record = true
	prog.flags(cmd)
	cmd.Flags().StringVar(&input, "input", "", "JSON value of input in the program")
	in.flags(cmd)
	cmd.Flags().StringVar(&preflight, "preflight", "", "the token from codemode check, if the profile requires one")
	cmd.Flags().DurationVar(&patience, "wait-for-answer", 0, "how long a question waits for a person, also while "+
		"nobody is there, such as 10m; by default as the profile says")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON object")
	cmd.Flags().BoolVar(&everyCall, "calls", false, "list each call in its own line, with its time")
	return cmd
}

// tellWaiting says on a stream that a question waits, where to answer it and until when; nothing of one that is over at
// once.
func tellWaiting(w io.Writer) func(about string, where []string, until time.Time) (over func()) {
	return func(about string, where []string, until time.Time) (over func()) {
		said := time.AfterFunc(time.Second, func() {
			fmt.Fprintf(w, "Waiting for a person: %s. %s, until %s.\n", visible.Line(about),
				approvals.WhoAnswers(where, call.Low), until.Format(time.TimeOnly))
		})
		return func() { said.Stop() }
	}
}

// terminalOptions allows colors on a terminal.
func terminalOptions(w io.Writer) terminal.Options {
	return terminal.Options{Color: cli.TerminalFile(w) != nil && os.Getenv("NO_COLOR") == ""}
}

func run(ctx context.Context, s cli.Streams, e *codemode.Evaluator, r codemode.Request, asJSON bool) error {
	console := &liveConsole{out: s.Err}
	if in := cli.TerminalFile(s.In); in != nil {
		terminal := terminal.New(in, s.Err, terminalOptions(s.Err))
		r.Channels, r.Caller.Ask, r.Caller.Asked = []approvals.Channel{terminal}, terminalAsk(terminal), nil
		console.out = terminal // no line of a program comes near a question
	}
	if !asJSON {
		r.Observe = console.see
	}
	response, err := e.Eval(ctx, r)
	shown := console.end()
	if response.Run == "" {
		if err = startError(err); r.Session != "" && cli.CodeOf(ctx, err) == cli.ExitInternal {
			err = cli.UsageError(err) // the session cannot be used
		}
		return err
	}
	if asJSON {
		if err := cli.PrintJSON(s.Out, newReport(response, err)); err != nil {
			return err
		}
	} else {
		response.ConsoleSeen = shown
		printRun(s, response, err)
		unasked := func(c hostfns.Report) bool { return c.Reason == call.CodeNoApprover }
		if r.Channels == nil && slices.ContainsFunc(response.Calls, unasked) {
			fmt.Fprintln(s.Err, "There was no terminal to ask in, and nobody was elsewhere: run the program in a terminal, "+
				"keep codemode approvals open, or let questions wait, with --wait-for-answer 10m.")
		}
	}
	if code := runCode(response, err); code != cli.ExitOK {
		return cli.WithCode(code, nil)
	}
	return nil
}

// printRun prints a run for a person: the value on standard output, everything else on standard error.
func printRun(s cli.Streams, r *codemode.Response, err error) {
	fmt.Fprint(s.Err, visible.Text(r.Unsuccessful(err)))
	if err == nil && r.Value != nil {
		fmt.Fprintln(s.Out, cli.Indented(r.Value))
	}
	fmt.Fprint(s.Err, visible.Text(r.Notes(err)))
}

// A runReport is a run for programs (--json).
type runReport struct {
	Run     string               `json:"run"`
	Outcome string               `json:"outcome"` // finished, not started, or why it ended
	Value   json.RawMessage      `json:"value,omitempty"`
	Error   *reportError         `json:"error,omitempty"`
	Console []sandbox.Line       `json:"console"`
	Kept    []*codemode.Kept     `json:"kept,omitempty"`
	Session *codemode.SessionEnd `json:"session,omitempty"`
	Calls   any                  `json:"calls"` // see [codemode.Response.CallsJSON]
	Usage   reportUsage          `json:"usage"`
}

type reportError struct {
	Name     string            `json:"name,omitempty"`
	Message  string            `json:"message"`
	Details  string            `json:"details,omitempty"` // its own properties, cause and errors
	Position *sandbox.Position `json:"position,omitempty"`
	Stack    string            `json:"stack,omitempty"`
	Problems analysis.Problems `json:"problems,omitempty"`
}

type reportUsage struct {
	CPU    float64 `json:"cpuMs"`
	Wall   float64 `json:"wallMs"`
	Memory int64   `json:"memoryBytes"`
}

func newReport(r *codemode.Response, err error) runReport {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	out := runReport{
		Run: r.Run, Outcome: r.Outcome(err), Value: r.Value, Console: r.Console, Kept: r.Kept, Session: r.Session,
		Calls: r.CallsJSON(),
		Usage: reportUsage{CPU: ms(r.Usage.CPU), Wall: ms(r.Usage.Wall), Memory: r.Usage.Memory},
	}
	if out.Console == nil {
		out.Console = []sandbox.Line{}
	}
	if problems, ok := errors.AsType[analysis.Problems](err); ok {
		out.Error = &reportError{Message: "the program cannot run", Problems: problems}
	} else if ended, ok := errors.AsType[*sandbox.Error](err); ok {
		out.Error = &reportError{Name: ended.Name, Message: ended.Message, Details: ended.Details, Stack: ended.Stack}
		if ended.Pos.Line > 0 {
			out.Error.Position = &ended.Pos
		}
	} else if err != nil {
		out.Error = &reportError{Message: err.Error()}
	}
	return out
}
