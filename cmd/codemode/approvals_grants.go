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
	"github.com/codemode-project/codemode/store"
)

func newGrants(s streams) *cobra.Command {
	var r reading
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "grants",
		Short: "List what has been allowed until a time",
		Long: `Lists the answers that people gave for a time and that still count, in every process.
What was allowed for one run ends with it and is not listed here.`,
		Args: cobra.NoArgs,
	}
	r.flags(cmd, false)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	cmd.RunE = r.reader(s, func(ctx context.Context, db *store.DB, _ codemode.RecordPlace) error {
		all, err := codemode.StoredGrants(db).All(ctx, "")
		if err != nil {
			return err
		}
		rows := [][]string{{"GRANT", "FOR", "ENDS", "ALLOWS"}}
		for _, g := range all {
			if asJSON {
				if err := printJSONLine(s.out, g); err != nil {
					return err
				}
				continue
			}
			rows = append(rows, []string{g.ID, g.Principal, g.Expires.Local().Format(time.DateTime), g.Text()})
		}
		if !asJSON && len(rows) > 1 {
			printTable(s.out, rows)
		}
		return nil
	})
	return cmd
}

func newRevoke(s streams) *cobra.Command {
	var r reading
	cmd := &cobra.Command{
		Use:   "revoke GRANT...",
		Short: "Take back what was allowed; the next call asks again",
		Args:  cobra.MinimumNArgs(1),
		RunE:  func(cmd *cobra.Command, ids []string) error { return revoke(cmd.Context(), s, &r, ids) },
	}
	r.flags(cmd, false)
	return cmd
}

func revoke(ctx context.Context, s streams, r *reading, ids []string) error {
	place, err := r.place()
	if err != nil {
		return err
	}
	if path := place.Store.Path; path != "" {
		if _, err := os.Stat(path); err != nil {
			return usage(fmt.Errorf("nothing was allowed here: %w", err))
		}
	}
	place.Store.Log = r.set.logger(s, slog.LevelWarn)
	db, err := store.Open(ctx, place.Store)
	if err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	defer db.Close()
	for _, id := range ids {
		switch err := codemode.StoredGrants(db).Revoke(ctx, id); {
		case errors.Is(err, approvals.ErrTaken):
			return usage(fmt.Errorf("there is no grant %q that counts: it is over, or was revoked before", id))
		case err != nil:
			return &exitError{code: exitInternal, err: err}
		}
	}
	return nil
}
