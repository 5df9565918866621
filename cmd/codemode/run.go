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

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/terminal"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/sandbox"
)

// program is where the text of a program comes from.
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

// read returns the program and what it is called in messages.
func (p *program) read(cmd *cobra.Command, args []string, in io.Reader) (name, code string, err error) {
	p.given = cmd.Flags().Changed("eval")
	switch {
	case p.script != "" && (p.given || len(args) > 0):
		return "", "", usage(errors.New("there is a saved program and another one; give one of them"))
	case p.script != "":
		return "", "", nil
	case p.given && len(args) > 0:
		return "", "", usage(errors.New("there is a program with -e and one in a file; give one of them"))
	case p.given:
		return "program.ts", p.code, nil
	case len(args) == 0:
		return "", "", usage(fmt.Errorf("which program? codemode %s FILE, or codemode %s -e CODE", cmd.Name(), cmd.Name()))
	case args[0] == "-":
		b, err := io.ReadAll(in)
		if err != nil {
			return "", "", usage(fmt.Errorf("reading the program from standard input: %w", err))
		}
		return "program.ts", string(b), nil
	}
	b, err := os.ReadFile(args[0])
	if err != nil {
		return "", "", usage(fmt.Errorf("reading the program: %w", err))
	}
	return filepath.Base(args[0]), string(b), nil
}

func newRun(s streams) *cobra.Command {
	var set setting
	var prog program
	var input, preflight string
	var asJSON, everyCall bool
	cmd := &cobra.Command{
		Use:   "run [FILE | -e CODE | --script NAME]",
		Short: "Run a program here; questions about its calls come to this terminal",
		Long: `Runs a program. Its value goes to standard output; console, calls and questions
to standard error, and so do questions of servers. When standard input is no terminal,
nobody can be asked, and calls that need a person are refused. FILE may be - for standard input.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, code, err := prog.read(cmd, args, s.in)
			if err != nil {
				return err
			}
			r := codemode.Request{
				Profile: set.profile, Code: code, Name: name, Script: prog.script, Bound: set.profile != "",
				Preflight: preflight, Tool: "codemode run", Local: true, Principal: principal(), Session: os.Getenv(sessionVariable), Client: "codemode run",
				EveryCall: everyCall,
			}
			if input != "" {
				if !json.Valid([]byte(input)) {
					return usage(errors.New("--input has to be JSON"))
				}
				r.Input = json.RawMessage(input)
			}
			return run(cmd.Context(), s, &set, r, asJSON)
		},
	}
	set.flags(cmd)
	set.recordFlags(cmd)
	prog.flags(cmd)
	cmd.Flags().StringVar(&input, "input", "", "JSON that the program sees as input")
	cmd.Flags().StringVar(&preflight, "preflight", "", "the token that codemode check gave, where the profile requires one")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON object")
	cmd.Flags().BoolVar(&everyCall, "calls", false, "list each call by itself, with its time")
	return cmd
}

func run(ctx context.Context, s streams, set *setting, r codemode.Request, asJSON bool) (err error) {
	set.worker = s.worker
	e, err := set.open(ctx, set.logger(s, slog.LevelWarn))
	if err != nil {
		return err
	}
	defer func() {
		if closing := closeEvaluator(ctx, e); err == nil && closing != nil {
			err = &exitError{code: exitInternal, err: closing}
		}
	}()
	if in, ok := s.in.(*os.File); ok && isTerminal(in) {
		terminal := terminal.New(in, s.err, terminalOptions(s.err))
		r.Channels, r.Caller = []approvals.Channel{terminal}, terminalCaller(terminal)
	}
	response, err := e.Eval(ctx, r)
	if response.Run == "" {
		return startError(err)
	}
	if asJSON {
		if err := printJSON(s.out, newReport(response, err)); err != nil {
			return &exitError{code: exitInternal, err: err}
		}
	} else {
		printRun(s, response, err)
	}
	if code := runCode(response, err); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// printRun shows a run to a person: the value on standard output, all else on
// standard error.
func printRun(s streams, r *codemode.Response, err error) {
	if err == nil {
		if r.Value != nil {
			fmt.Fprintln(s.out, pretty(r.Value))
		}
	}
	fmt.Fprint(s.err, visible.Text(r.Notes(err)))
}

// A runReport is a run for programs (--json).
type runReport struct {
	Run     string          `json:"run"`
	Outcome string          `json:"outcome"` // finished, not started, or why it ended
	Value   json.RawMessage `json:"value,omitempty"`
	Error   *reportError    `json:"error,omitempty"`
	Console []sandbox.Line  `json:"console"`
	Calls   any             `json:"calls"` // see [codemode.Response.CallsJSON]
	Usage   reportUsage     `json:"usage"`
}

type reportError struct {
	Name     string            `json:"name,omitempty"`
	Message  string            `json:"message"`
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
	out := runReport{
		Run: r.Run, Outcome: r.Outcome(err), Value: r.Value, Console: r.Console, Calls: r.CallsJSON(),
		Usage: reportUsage{CPU: ms(r.Usage.CPU), Wall: ms(r.Usage.Wall), Memory: r.Usage.Memory},
	}
	if out.Console == nil {
		out.Console = []sandbox.Line{}
	}
	if problems, ok := errors.AsType[analysis.Problems](err); ok {
		out.Error = &reportError{Message: "the program cannot run", Problems: problems}
	} else if ended, ok := errors.AsType[*sandbox.Error](err); ok {
		out.Error = &reportError{Name: ended.Name, Message: ended.Message, Stack: ended.Stack}
		if ended.Pos.Line > 0 {
			out.Error.Position = &ended.Pos
		}
	} else if err != nil {
		out.Error = &reportError{Message: err.Error()}
	}
	return out
}
