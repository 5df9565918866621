package storecmd

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/auditcmd"
	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/store/backup"
	"github.com/codemode-project/codemode/internal/visible"
)

// A result is the output of check.
type result struct {
	OK bool `json:"ok"`
	*backup.Survey
	Record audit.Verdict `json:"record"`
}

func newCheck(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check that the database is sound and the record is what was written, and list sizes",
		Long: `Reads the whole database, while servers use it: whether its tables are those of this
codemode, whether the file is damaged (SQLite), whether what refuses changes is there, whether
rows belong to something that is gone, and whether the record is what was written, as codemode
audit verify does.

Exit code 0: all is well. Notes are about rows that a process removes or ends when it runs, and
about entries that are missing since a backup was restored: for audit verify those are missing.
1: something is not as it should be. 2: there is no database, or no key to verify with.
5: the database cannot be read, or another version of codemode wrote it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			var r result
			// ReadRecord explains what is missing, before anything else is tried.
			if err := set.ReadRecord(ctx, s, func(*store.DB, recorder.Place) error { return nil }); err != nil {
				return err
			}
			place, err := set.Place()
			if err != nil {
				return err
			}
			place.Store.Log = set.Logger(s, slog.LevelWarn)
			if place.Store.SealKey, err = sealKey(place); err != nil {
				return cli.InternalError(err)
			}
			if r.Survey, err = backup.Look(ctx, place.Store); err != nil {
				return cli.InternalError(err)
			}
			if r.Record, err = auditcmd.Verify(ctx, s, &set); err != nil {
				return err
			}
			r.OK = len(r.Problems) == 0
			for _, p := range r.Record.Problems {
				r.OK = r.OK && p.Restored
			}
			return r.print(s, launch.DatabaseName(place), asJSON)
		},
	}
	set.RecordFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (r *result) print(s cli.Streams, name string, asJSON bool) error {
	if asJSON {
		if r.Record.Problems == nil {
			r.Record.Problems = []audit.Problem{}
		}
		if err := cli.PrintJSON(s.Out, r); err != nil {
			return err
		}
	} else {
		visible.Fprintf(s.Out, "%s: %s, %s, tables of version %d, %s\n", name, r.Kind, r.Database, r.Tables, size(r.Bytes))
		rows, bytes := map[string]int64{}, map[string]int64{}
		for _, of := range r.Sizes {
			rows[of.Table], bytes[of.Table] = of.Rows, of.Bytes
		}
		printRows(s.Out, rows, func(table string) []string { return []string{size(bytes[table])} })
		for _, p := range r.Problems {
			visible.Fprintf(s.Out, "problem: %s\n", p)
		}
		for _, p := range r.Record.Problems {
			if !p.Restored {
				visible.Fprintf(s.Out, "problem: %s\n", p.String())
			}
		}
		for _, n := range r.Notes {
			visible.Fprintf(s.Out, "note: %s\n", n)
		}
		if r.Record.Restored != nil {
			fmt.Fprintf(s.Out, "note: it came back from a backup of %s\n", when(r.Record.Restored.Backup))
		}
		for _, p := range r.Record.Problems {
			if p.Restored {
				visible.Fprintf(s.Out, "note: %s\n", p.String())
			}
		}
	}
	if !r.OK {
		return cli.WithCode(cli.ExitProgram, errors.New("the database is not as it should be"))
	}
	if !asJSON {
		fmt.Fprintf(s.Out, "the database is sound; %d entries are what was written, as far as %d checkpoints tell\n",
			r.Record.Entries, r.Record.Checkpoints)
	}
	return nil
}

func size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}
