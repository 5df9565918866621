package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/terminal"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/preflight"
)

func newCheck(s streams) *cobra.Command {
	var set setting
	var prog program
	var asJSON, ask bool
	cmd := &cobra.Command{
		Use:   "check [FILE | -e CODE | --script NAME]",
		Short: "Say what a program would do, without running it",
		Long: `Reads a program and prints each call that can be seen in it with the verdict of
the profile and the rule behind it, what is wrong with its arguments, and what could
be changed. Nothing runs, and nobody is asked without --ask. With it, the calls that
would be asked about are put to you on this terminal: what you allow is good for one
run of this very program, by codemode run or by a server with the same state folder,
and is listed and revoked with codemode approvals grants. Upstream servers are started, to learn
which tools there are. Where ` + preflight.SecretVariable + ` is set there is also a token for
codemode run --preflight, and for servers with the same secret.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, code, err := prog.read(cmd, args, s.in)
			if err != nil {
				return err
			}
			set.record = ask // what people answer is recorded
			return check(cmd.Context(), s, &set, codemode.Request{
				Profile: set.profile, Code: code, Name: name, Script: prog.script, Bound: set.profile != "",
				Tool: "codemode run", Local: true, Principal: principal(), Client: "codemode check",
			}, asJSON, ask)
		},
	}
	set.flags(cmd)
	set.recordFlags(cmd)
	prog.flags(cmd)
	cmd.Flags().BoolVar(&ask, "ask", false, "let the person at this terminal allow the calls before the program runs")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the plan as one JSON object")
	return cmd
}

func check(ctx context.Context, s streams, set *setting, r codemode.Request, asJSON, ask bool) error {
	set.worker = s.worker
	e, err := set.open(ctx, set.logger(s, slog.LevelWarn))
	if err != nil {
		return err
	}
	plan, err := e.Check(ctx, r)
	if err == nil && ask && plan.Allowed {
		if in, ok := s.in.(*os.File); ok && isTerminal(in) {
			r.Channels = []approvals.Channel{terminal.New(in, s.err, terminalOptions(s.err))}
		}
		plan.Asked, err = e.Runs().AllowPlan(ctx, r)
	}
	if err = errors.Join(err, closeEvaluator(ctx, e)); err != nil {
		return startError(err)
	}
	if plan.OnlyHere { // it would end with this process
		plan.Token, plan.Expires = "", time.Time{}
		if plan.Required {
			plan.Warnings = append(plan.Warnings, "the profile requires a pre-flight token, and one of this command counts nowhere else: set "+preflight.SecretVariable)
		}
	}
	if asJSON {
		if err := printJSON(s.out, plan); err != nil {
			return &exitError{code: exitInternal, err: err}
		}
	} else {
		fmt.Fprint(s.out, visible.Text(plan.Text()))
	}
	switch {
	case len(plan.Problems) > 0:
		return &exitError{code: exitProgram}
	case plan.Denied() > 0:
		return &exitError{code: exitDenied}
	}
	return nil
}
