package sessionscmd

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/visible"
)

// newMade makes the command for sessions that people made for roles.
func newMade(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var end string
	cmd := &cobra.Command{
		Use:   "made",
		Short: "List the sessions that people made for roles, and end one",
		Long: `Lists the sessions for roles that were made on the page, with the beginning of the fingerprint of
each: the session itself is a secret of those it was made for. --end ends one; no program runs in
it any more.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if end != "" {
				return endMade(cmd, s, &set, end)
			}
			return set.ReadRecord(cmd.Context(), s, func(db *store.DB, _ recorder.Place) error {
				all, err := inforce.SessionsMade(cmd.Context(), db)
				if err != nil || len(all) == 0 {
					return err
				}
				rows := [][]string{{"SESSION", "ROLE", "UNTIL"}}
				for _, one := range all {
					rows = append(rows, []string{fingerprint(one), visible.Line(one.Role), when(one.Expires)})
				}
				fmt.Fprintln(s.Out, strings.Join(cli.Table(rows), "\n"))
				return nil
			})
		},
	}
	set.RecordFlags(cmd)
	cmd.Flags().StringVar(&end, "end", "", "end the session whose fingerprint begins so")
	return cmd
}

func fingerprint(s inforce.Session) string { return strings.TrimPrefix(s.ID, "sha256:")[:12] }

// endMade ends a session, and records that.
func endMade(cmd *cobra.Command, s cli.Streams, set *launch.Settings, id string) error {
	place, err := set.Place()
	if err != nil {
		return err
	}
	log := set.Logger(s, slog.LevelWarn)
	db, err := place.OpenSealed(cmd.Context(), log)
	if err != nil {
		return cli.UsageError(fmt.Errorf("there are no sessions at %s: %w", launch.DatabaseName(place), err))
	}
	defer db.Close()
	ended, err := inforce.EndSessionMade(cmd.Context(), db, id)
	if err != nil {
		return cli.UsageError(err)
	}
	fmt.Fprintf(s.Out, "The session %s for the role %s has ended.\n", fingerprint(ended), visible.Line(ended.Role))
	entry := call.Entry{Time: time.Now(), Kind: audit.Policy, State: "session", Principal: launch.Owner(),
		Role:   ended.Role,
		Client: "cli", Detail: "a session for a role was ended",
		DecidedBy: &call.DecidedBy{How: call.ByPerson, Channel: "cli", Principal: launch.Owner()}}
	if err := place.Write(cmd.Context(), log, entry); err != nil {
		return fmt.Errorf("the record does not say so: %w", err)
	}
	return nil
}
