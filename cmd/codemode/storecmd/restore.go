package storecmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/store/backup"
	"github.com/codemode-project/codemode/internal/visible"
)

const restoreHelp = `Makes the database that the configuration names, of a file that codemode store backup wrote;
it may be the other kind of database. Nothing may be there, and no codemode may use it. The key
of the record with which the backup was made has to be in the state folder. A file that is not
exactly what was written is refused.

The record, sessions, kept results, results of runs, idempotency keys, overlays and the
counters of budgets come back. What could happen twice, or was perhaps taken back after the
backup, does not:

  --runs    also the runs that wait for a person, with their questions. A run that was resumed
            after the backup would make its calls again.
  --grants  also the remembered answers. One that was revoked after the backup would be in
            force again, and one that was used up could be used again.

Calls that were made after the backup have been made, although the record does not have them,
and budgets do not count them. A request with an idempotency key that was first used after the
backup runs again.

The first new entry of the record says that it was restored, when and by whom. Checkpoints know
of the entries that are missing, and codemode audit verify names them from then on. So leave the
file with the checkpoints (checkpoints.jsonl) where it is; --checkpoints reads others.`

func newRestore(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var runs, grants, asJSON bool
	var published []string
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a database of a backup, where there is none",
		Long:  restoreHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := set.Place()
			if err != nil {
				return err
			}
			r := backup.Restore{Runs: runs, Grants: grants,
				By: &call.DecidedBy{How: call.ByPerson, Channel: "cli", Principal: launch.Owner()}}
			if err := prepare(&r, place, published, set.Logger(s, slog.LevelWarn)); err != nil {
				return err
			}
			report, err := r.From(cmd.Context(), args[0])
			switch {
			case errors.Is(err, backup.ErrNotEmpty), errors.Is(err, backup.ErrNoBackup), errors.Is(err, fs.ErrNotExist):
				return cli.UsageError(err)
			case err != nil:
				return cli.InternalError(fmt.Errorf("restoring the backup: %w", err))
			case asJSON:
				return cli.PrintJSON(s.Out, report)
			}
			visible.Fprintf(s.Out, "%s: restored from %s, as it was at %s\n", launch.DatabaseName(place), args[0],
				when(report.Backup.Made))
			printReport(s.Out, report, &r)
			return nil
		},
	}
	set.RecordFlags(cmd)
	cmd.Flags().BoolVar(&runs, "runs", false, "also the waiting runs with their questions")
	cmd.Flags().BoolVar(&grants, "grants", false, "also the remembered answers")
	cmd.Flags().StringArrayVar(&published, "checkpoints", nil,
		"another file with checkpoints, such as a copy kept elsewhere")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// prepare fills in where the backup goes, and what is known of the record there.
func prepare(r *backup.Restore, place recorder.Place, published []string, log *slog.Logger) (err error) {
	if r.Key, err = presentKey(place); err != nil {
		return err
	}
	if _, err := place.Prepare(); err != nil { // the folders
		return cli.InternalError(err)
	}
	place.Store.Log = log
	r.To, r.Publish, r.Log = place.Store, place.Publishers(log), log
	for i, path := range append([]string{place.Checkpoints}, published...) {
		all, err := checkpoints(path)
		if err != nil && (i > 0 || !errors.Is(err, fs.ErrNotExist)) {
			return cli.UsageError(err)
		}
		r.Checkpoints = append(r.Checkpoints, all...)
	}
	return nil
}

func checkpoints(path string) ([]audit.Checkpoint, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, _, err := audit.ReadCheckpoints(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

func printReport(w io.Writer, report *backup.Report, r *backup.Restore) {
	printRows(w, report.Restored, nil)
	printEnds(w, report.Chains)
	if len(report.LeftOut) > 0 {
		fmt.Fprintln(w, "did not come back, because it could happen twice, is over, or was perhaps revoked since "+
			"(see --help):")
		printRows(w, report.LeftOut, nil)
	}
	missing := report.Missing()
	for _, c := range report.Chains {
		if c.Covered > c.Last {
			fmt.Fprintf(w, "missing from chain %d: entries %d to %d, which were written after the backup\n", c.Chain, c.Last+1,
				c.Covered)
		}
	}
	if missing > 0 && r.Runs && report.Restored["parked"] > 0 {
		fmt.Fprintln(w, "warning: codemode went on after the backup, and a run that came back may have been resumed since")
	}
	if missing > 0 && r.Grants && report.Restored["grants"] > 0 {
		fmt.Fprintln(w, "warning: codemode went on after the backup, and an answer that came back may have been revoked "+
			"since: codemode approvals grants lists them")
	}
	fmt.Fprintln(w, "the record says so; codemode audit verify checks it")
}
