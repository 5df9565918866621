package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/asking"
	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/recorder"
	"github.com/codemode-project/codemode/store"
)

func newGrants(s streams) *cobra.Command {
	var r reading
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "grants",
		Short: "List what has been allowed for more than one call",
		Long: `Lists the answers that people gave for more than one call and that still count: for a
run, for a number of calls, for a session and until a time, in every process that shares
the store.`,
		Args: cobra.NoArgs,
	}
	r.flags(cmd, false)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	cmd.RunE = r.reader(s, func(ctx context.Context, db *store.DB, _ recorder.Place) error {
		all, err := asking.GrantsIn(db).All(ctx, "")
		if err != nil {
			return err
		}
		rows := [][]string{{"GRANT", "FOR", "UNTIL", "LEFT", "ALLOWS"}}
		for _, g := range all {
			if asJSON {
				if err := printJSONLine(s.out, g); err != nil {
					return err
				}
				continue
			}
			left := "any"
			if g.Uses > 0 {
				left = strconv.Itoa(g.Uses)
			}
			allows := g.Allows()
			switch {
			case g.Run != "":
				allows += ", in run " + g.Run
			case g.Session != "":
				allows += ", in session " + g.Session
			}
			rows = append(rows, []string{g.ID, g.Principal, until(g.Expires, time.Now()), left, allows})
		}
		if !asJSON && len(rows) > 1 {
			printTable(s.out, rows)
		}
		return nil
	})
	return cmd
}

// until is when something ends, for people: the time if that is today, else the day too, and the zone.
func until(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04 MST")
	}
	return t.Format("2006-01-02 15:04 MST")
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
	log := r.set.logger(s, slog.LevelWarn)
	place.Store.Log = log
	db, err := store.Open(ctx, place.Store)
	if err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	defer db.Close()
	keeper := asking.GrantsIn(db)
	all, err := keeper.All(ctx, "")
	if err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	var entries []audit.Entry
	for _, id := range ids {
		at := slices.IndexFunc(all, func(g *prompt.Grant) bool { return g.ID == id })
		gone := approvals.ErrTaken
		if at >= 0 {
			gone = keeper.Revoke(ctx, id)
		}
		switch {
		case errors.Is(gone, approvals.ErrTaken):
			err = usage(fmt.Errorf("there is no grant %q that counts: it is over, or was revoked before", id))
		case gone != nil:
			err = &exitError{code: exitInternal, err: gone}
		default:
			entries = append(entries, revoked(all[at], who(), "cli"))
		}
		if err != nil {
			break
		}
	}
	// What is revoked stays revoked, whether or not that can be recorded: less is allowed than before.
	if len(entries) == 0 {
		return err
	}
	if problem := place.Write(ctx, log, entries...); problem != nil {
		err = errors.Join(err, &exitError{code: exitInternal, err: fmt.Errorf("it is revoked, and that is not in the record: %w", problem)})
	}
	return err
}

// revoked is the entry of a grant that somebody took back.
func revoked(g *prompt.Grant, by, channel string) audit.Entry {
	return audit.Entry{
		Kind: audit.Grant, State: "revoked", Principal: g.Principal, Run: g.Run, Profile: g.Profile, Server: g.Server, Tool: g.Name, Client: channel,
		DecidedBy: &audit.DecidedBy{How: call.ByPerson, Channel: channel, Principal: by, Grant: g.ID, Scope: string(g.Scope)}, Detail: g.Allows(),
	}
}
