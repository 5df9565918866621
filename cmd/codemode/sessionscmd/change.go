package sessionscmd

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/visible"
)

func newFork(s cli.Streams) *cobra.Command {
	var of named
	c := runs.SessionChange{Action: runs.Fork}
	cmd := &cobra.Command{
		Use:   "fork SESSION NEW",
		Short: "Make a new session of one, or of an earlier version of it",
		Long:  `Makes a session of the same principal and profile. From then on both go their own way.`,
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.Name, c.As = args[0], args[1]
			return of.change(cmd, s, c)
		},
	}
	of.flags(cmd)
	cmd.Flags().Int64Var(&c.Version, "version", 0, "of this version, instead of the current one")
	return cmd
}

func newRollback(s cli.Streams) *cobra.Command {
	var of named
	cmd := &cobra.Command{
		Use:   "rollback SESSION VERSION",
		Short: "Make a session what it was at an earlier version",
		Long: `Makes a new version that is as the earlier one was: nothing is lost, and rolling back to the
version before undoes it.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			version, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || version < 1 {
				return cli.UsageError(fmt.Errorf("%.40q is no version: codemode sessions show %.80s lists them", args[1], args[0]))
			}
			return of.change(cmd, s, runs.SessionChange{Action: runs.Rollback, Name: args[0], Version: version})
		},
	}
	of.flags(cmd)
	return cmd
}

func newDelete(s cli.Streams) *cobra.Command {
	var of named
	cmd := &cobra.Command{
		Use:   "delete SESSION...",
		Short: "Delete sessions, with all their versions",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var changes []runs.SessionChange
			for _, name := range args {
				changes = append(changes, runs.SessionChange{Action: runs.Delete, Name: name})
			}
			return of.change(cmd, s, changes...)
		},
	}
	of.flags(cmd)
	return cmd
}

// change makes changes, one after the other, until one fails, and records those that were made.
func (n *named) change(cmd *cobra.Command, s cli.Streams, changes ...runs.SessionChange) error {
	rules, err := n.rules()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	return n.use(ctx, s, func(o *opened) error {
		var entries []call.Entry
		for _, c := range changes {
			c.By = &call.DecidedBy{How: call.ByPerson, Channel: "cli", Principal: launch.Owner()}
			var owner, done string
			if owner, err = n.owner(cmd, o, c.Name); err != nil {
				break
			}
			if done, err = runs.Change(ctx, o.in, owner, c, rules); err != nil {
				err = cli.UsageError(err)
				break
			}
			fmt.Fprintln(s.Out, visible.Line(done))
			entries = append(entries, runs.SessionEntry(&runs.Request{Principal: owner, Client: "cli"}, c, done))
		}
		if len(entries) > 0 {
			if problem := o.place.Write(ctx, o.log, entries...); problem != nil {
				err = errors.Join(err, fmt.Errorf("the record does not say so: %w", problem))
			}
		}
		return err
	})
}

// rules are the quotas of the configuration.
func (n *named) rules() (config.Sessions, error) {
	files, err := n.Files()
	if err != nil {
		return config.Sessions{}, cli.UsageError(err)
	}
	var cfg *config.Config
	if !files.None() {
		if cfg, err = files.Load(); err != nil {
			return config.Sessions{}, cli.UsageError(err)
		}
	}
	return cfg.Sessions(), nil
}
