package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/catalog/pins"
	"github.com/codemode-project/codemode/internal/visible"
)

func newReview(s streams) *cobra.Command {
	var set setting
	var accept []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "review",
		Short: "Look at tools whose servers define them differently now, and accept them",
		Long: `Lists the tools that are not defined any more as they were when you accepted them, or
when their servers first offered them, with what has changed. Their calls are asked about
until you accept them as they are now: codemode review --accept NAME=DIGEST, as it is
printed. Running servers notice at once. Exits with 3 if something is left to review.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return review(cmd.Context(), s, &set, accept, asJSON) },
	}
	set.flags(cmd)
	cmd.Flags().StringSliceVar(&accept, "accept", nil, "accept a tool as it is now: NAME=DIGEST")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what is left to review as one JSON object")
	return cmd
}

// leastDigest is how much of a digest has to be given, so that what is accepted is what was seen.
const leastDigest = 8

func review(ctx context.Context, s streams, set *setting, accept []string, asJSON bool) error {
	e, err := set.open(ctx, set.logger(s, slog.LevelWarn))
	if err != nil {
		return err
	}
	e.Tools().Ready(ctx, toolsWait)
	accepted, err := acceptTools(e, accept)
	left := e.Rules().Pins.Changes()
	if closing := closeEvaluator(ctx, e); closing != nil && err == nil {
		err = &exitError{code: exitInternal, err: closing}
	}
	if asJSON && err == nil {
		err = printJSON(s.out, struct {
			Changed []pins.Change `json:"changed"`
		}{append([]pins.Change{}, left...)})
	} else if err == nil {
		printReview(s, accepted, left)
	}
	if err == nil && len(left) > 0 {
		return &exitError{code: exitDenied}
	}
	return err
}

func acceptTools(e *codemode.Evaluator, accept []string) (accepted []string, err error) {
	for _, text := range accept {
		name, digest, _ := strings.Cut(text, "=")
		if len(digest) < leastDigest {
			return accepted, usage(fmt.Errorf("--accept %s: write NAME=DIGEST, as codemode review prints it", text))
		}
		found := false
		for _, t := range e.Rules().Pins.Changes() {
			if t.Name == name && strings.HasPrefix(t.Digest, digest) {
				found = true
				if err := e.Rules().Pins.Accept(name, t.Digest); err != nil {
					return accepted, &exitError{code: exitInternal, err: err}
				}
			}
		}
		if !found {
			return accepted, usage(errors.New("--accept " + text + ": no changed tool has that name and digest; codemode review lists them as they are now"))
		}
		accepted = append(accepted, name)
	}
	return accepted, nil
}

func printReview(s streams, accepted []string, left []pins.Change) {
	for _, name := range accepted {
		visible.Fprintf(s.out, "accepted: %s\n", name)
	}
	for _, t := range left {
		visible.Fprintf(s.out, "%s (server %s) is not what it was:\n", t.Name, t.Server)
		for _, line := range t.Diff {
			visible.Fprintf(s.out, "  %s\n", line)
		}
		visible.Fprintf(s.out, "  accept it with: codemode review --accept %s=%.12s\n\n", t.Name, t.Digest)
	}
	if len(left) == 0 && len(accepted) == 0 {
		fmt.Fprintln(s.out, "every tool is as it was when it was accepted")
	}
}
