package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/visible"
)

func newCheck(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var prog program
	var session string
	var asJSON, ask bool
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "check [FILE | -e CODE | --script NAME]",
		Short: "List what a program would do, without running it",
		Long: `Reads a program and prints each call in it that can be recognised, with the verdict of the
profile and the rule behind it, mistakes in its arguments, and possible changes. Nothing
runs, and nobody is asked without --ask. With --ask, you answer on this terminal for the
calls that need a person: what you allow is valid for one run of exactly this program, by
codemode run or by a server with the same state folder; codemode approvals grants lists it
and codemode approvals revoke revokes it. Upstream servers are started to list their tools.
If ` + preflight.SecretVariable + ` is set, the command also prints a token for codemode run
--preflight, and for servers with the same secret.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, code, err := prog.read(cmd, args, s.In)
			if err != nil {
				return err
			}
			set.Record = ask || session != "" // the record gets the answers, and has the sessions
			return set.Use(cmd.Context(), s, slog.LevelWarn, func(e *codemode.Evaluator) error {
				if wait > 0 {
					launch.Await(cmd.Context(), s.Err, e, wait)
				}
				return check(cmd.Context(), s, e, codemode.Request{
					Profile: set.Profile, Unrestricted: true, Code: code, Name: name, Script: prog.script, Bound: set.Profile != "",
					Tool: "codemode run", Local: true, Principal: launch.Principal(), Client: "codemode check",
					Session: session,
				}, asJSON, ask)
			})
		},
	}
	set.Flags(cmd)
	set.StateFlag(cmd)
	prog.flags(cmd)
	cmd.Flags().StringVar(&session, "session", "", "check it as the next program of the session of this name")
	cmd.Flags().DurationVar(&wait, "wait", 0, "how long to wait for servers to start, before the check waits itself")
	cmd.Flags().BoolVar(&ask, "ask", false, "let the person at this terminal allow the calls before the program runs")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the plan as one JSON object")
	return cmd
}

func check(ctx context.Context, s cli.Streams, e *codemode.Evaluator, r codemode.Request, asJSON, ask bool) error {
	plan, err := e.Check(ctx, r)
	if err == nil && ask && plan.Allowed {
		if in := cli.TerminalFile(s.In); in != nil {
			r.Channels = []approvals.Channel{terminal.New(in, s.Err, terminalOptions(s.Err))}
		}
		plan.Asked, err = e.Runs().AllowPlan(ctx, r)
	}
	if err != nil {
		if err = startError(err); r.Session != "" && cli.CodeOf(ctx, err) == cli.ExitInternal {
			err = cli.UsageError(err) // the session cannot be used
		}
		return err
	}
	if risk, asks := plan.Asks(); asks && plan.Profile != "" {
		if p := e.Config().Profile(plan.Profile); p != nil { // else the rules have changed since
			plan.Answers = launch.WhoAnswers(e.Config(), p.Ask().Channels, risk)
		}
	}
	if plan.OnlyHere { // the token would end with this process
		plan.Token, plan.Expires = "", time.Time{}
		if plan.Required {
			plan.Warnings = append(plan.Warnings, "the profile requires a pre-flight token, and a token of this command is "+
				"not valid anywhere else: set "+preflight.SecretVariable)
		}
	}
	if asJSON {
		if err := cli.PrintJSON(s.Out, plan); err != nil {
			return err
		}
	} else {
		fmt.Fprint(s.Out, visible.Text(plan.Text()))
	}
	switch {
	case len(plan.Problems) > 0:
		return cli.WithCode(cli.ExitProgram, nil)
	case plan.Denied() > 0:
		return cli.WithCode(cli.ExitDenied, nil)
	}
	return nil
}
