package responder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/store"
)

func newGrants(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "grants",
		Short: "List remembered approvals (grants)",
		Long: `Lists the answers that people gave for more than one call and that are still valid: for a
run, for a number of calls, for a session or until a time, in every process that shares
the store.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return set.ReadRecord(cmd.Context(), s, func(db *store.DB, _ recorder.Place) error {
				all, err := asking.GrantsIn(db).All(cmd.Context(), "")
				if err != nil {
					return err
				}
				return printGrants(s, all, asJSON)
			})
		},
	}
	set.RecordFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

func printGrants(s cli.Streams, all []*prompt.Grant, asJSON bool) error {
	rows := [][]string{{"GRANT", "FOR", "UNTIL", "LEFT", "ALLOWS"}}
	for _, g := range all {
		if asJSON {
			if err := cli.PrintJSONLine(s.Out, g); err != nil {
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
	if len(rows) > 1 {
		fmt.Fprintln(s.Out, strings.Join(cli.Table(rows), "\n"))
	}
	return nil
}

// until is the end of something, for people: the time if that is today, else the day too, and the zone.
func until(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04 MST")
	}
	return t.Format("2006-01-02 15:04 MST")
}

func newRevoke(s cli.Streams) *cobra.Command {
	var set launch.Settings
	cmd := &cobra.Command{
		Use:   "revoke GRANT...",
		Short: "Revoke grants; the next call asks again",
		Args:  cobra.MinimumNArgs(1),
		RunE:  func(cmd *cobra.Command, ids []string) error { return revoke(cmd.Context(), s, &set, ids) },
	}
	set.RecordFlags(cmd)
	return cmd
}

func revoke(ctx context.Context, s cli.Streams, set *launch.Settings, ids []string) error {
	place, err := set.Place()
	if err != nil {
		return err
	}
	if path := place.Store.Path; path != "" {
		if _, err := os.Stat(path); err != nil {
			return cli.UsageError(fmt.Errorf("there are no grants here: %w", err))
		}
	}
	log := set.Logger(s, slog.LevelWarn)
	place.Store.Log = log
	db, err := store.Open(ctx, place.Store)
	if err != nil {
		return cli.InternalError(err)
	}
	defer db.Close()
	grants := asking.GrantsIn(db)
	all, err := grants.All(ctx, "")
	if err != nil {
		return cli.InternalError(err)
	}
	var entries []call.Entry
	for _, id := range ids {
		at := slices.IndexFunc(all, func(g *prompt.Grant) bool { return g.ID == id })
		err = approvals.ErrTaken
		if at >= 0 {
			err = grants.Revoke(ctx, id)
		}
		if errors.Is(err, approvals.ErrTaken) {
			err = cli.UsageError(fmt.Errorf("there is no valid grant %q: it expired, or was revoked before", id))
		}
		if err != nil {
			break
		}
		entries = append(entries, revoked(all[at], launch.Owner(), "cli"))
	}
	// A revoked grant stays revoked even if recording that fails: the change only removes a permission.
	if len(entries) > 0 {
		if problem := place.Write(ctx, log, entries...); problem != nil {
			err = errors.Join(err, fmt.Errorf("the grants are revoked, and the record does not say so: %w", problem))
		}
	}
	return cli.InternalError(err)
}

// revoked is the entry of a grant that somebody revoked.
func revoked(g *prompt.Grant, by, channel string) call.Entry {
	return call.Entry{
		Kind: audit.Grant, State: "revoked", Principal: g.Principal, Run: g.Run, Profile: g.Profile, Server: g.Server,
		Tool: g.Name, Client: channel,
		DecidedBy: &call.DecidedBy{How: call.ByPerson, Channel: channel, Principal: by, Grant: g.ID, Scope: string(g.Scope)},
		Detail:    g.Allows(),
	}
}
