package rulebook

import (
	"context"
	"errors"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/visible"
)

// NewReview makes the command that lists tools with new definitions, and accepts them.
func NewReview(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var accept []string
	var why string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "review",
		Short: "List tools with changed definitions, and accept them",
		Long: `Lists the tools with definitions that changed since you accepted them, or since their
servers first offered them, and prints the changes. codemode asks about their calls until
you accept the present definitions: codemode review --accept NAME=DIGEST, as printed.
Running servers notice at once. The record says who accepted them, and --why. Exit code 3 if tools are left to review.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set.Record = len(accept) > 0
			return set.Use(cmd.Context(), s, slog.LevelWarn, func(e *codemode.Evaluator) error {
				return review(cmd.Context(), s, e, accept, why, asJSON)
			})
		},
	}
	set.Flags(cmd)
	set.StateFlag(cmd)
	cmd.Flags().StringSliceVar(&accept, "accept", nil, "accept the present definition of a tool: NAME=DIGEST")
	cmd.Flags().StringVar(&why, "why", "", "a reason to accept, for the record")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the tools that are left to review as one JSON object")
	return cmd
}

// leastDigest is the minimum length of a digest, so that a person accepts the definition that they saw.
const leastDigest = 8

func review(ctx context.Context, s cli.Streams, e *codemode.Evaluator, accept []string, why string,
	asJSON bool,
) error {
	launch.Await(ctx, s.Err, e, launch.ReadyWait)
	e.Discovery().ComparePrompts(ctx)
	accepted, err := acceptTools(ctx, e, accept, why)
	left := e.Rules().Pins.Changes()
	switch {
	case err != nil:
		return err
	case asJSON:
		err = cli.PrintJSON(s.Out, map[string]any{"changed": append([]catalog.Change{}, left...)})
	default:
		printReview(s, accepted, left)
	}
	if err == nil && len(left) > 0 {
		return cli.WithCode(cli.ExitDenied, nil)
	}
	return err
}

func acceptTools(ctx context.Context, e *codemode.Evaluator, accept []string, why string) ([]string, error) {
	var accepted []string
	for _, text := range accept {
		name, digest, _ := strings.Cut(text, "=")
		if len(digest) < leastDigest {
			return accepted, cli.UsageError(fmt.Errorf("--accept %s: write NAME=DIGEST, as codemode review prints it", text))
		}
		found := false
		for _, t := range e.Rules().Pins.Changes() {
			if t.Name == name && strings.HasPrefix(t.Digest, digest) {
				found = true
				if err := acceptTool(ctx, e, t, why); err != nil {
					return accepted, err
				}
			}
		}
		if !found {
			return accepted, cli.UsageError(errors.New("--accept " + text + ": no changed tool has that name and digest; " +
				"codemode review lists the present ones"))
		}
		accepted = append(accepted, name)
	}
	return accepted, nil
}

// acceptTool accepts the present definition of a tool once the record says so.
func acceptTool(ctx context.Context, e *codemode.Evaluator, t catalog.Change, why string) error {
	detail := "the new definition of the tool was accepted with codemode review"
	if why != "" {
		detail += ": " + why
	}
	err := e.Record().Write(ctx, call.Entry{Kind: audit.Policy, State: "accepted", Principal: launch.Owner(),
		Client: "cli", Server: t.Server, Tool: t.Name, ToolDefinition: t.Digest, Detail: detail})
	if err != nil {
		return fmt.Errorf("the record could not be written, so nothing was accepted: %w", err)
	}
	return e.Rules().Pins.Accept(t.Name, t.Digest)
}

func printReview(s cli.Streams, accepted []string, left []catalog.Change) {
	for _, name := range accepted {
		visible.Fprintf(s.Out, "accepted: %s\n", name)
	}
	for _, t := range left {
		visible.Fprintf(s.Out, "%s (server %s) has changed:\n", t.Name, t.Server)
		for _, line := range t.Diff {
			visible.Fprintf(s.Out, "  %s\n", line)
		}
		visible.Fprintf(s.Out, "  accept it with: codemode review --accept %s=%.12s\n\n", t.Name, t.Digest)
	}
	if len(left) == 0 && len(accepted) == 0 {
		fmt.Fprintln(s.Out, "no tool has changed since it was accepted")
	}
}
