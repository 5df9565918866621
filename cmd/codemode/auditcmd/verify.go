package auditcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/visible"
)

func newAuditVerify(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var v verification
	var keys []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify [FILE...]",
		Short: "Verify that nobody changed the record, and print the first problem",
		Long: `Checks every chain of the record against itself, against the checkpoint in the database
that its writer signed, and against those in the file beside it. A checkpoint has to cover
every entry, except the last few of a writer that is running or was killed: a writer signs
every 128 entries, and 200 ms after an entry that no checkpoint covers. For those few, the
key beside the record shows whether they were written with it. With files from codemode
audit export it checks the files together instead; --database checks them against the
record too.

Whoever can change the record and read the key beside it can sign a record of their own;
and a copy of the whole record from last week, with its checkpoints, looks valid. So keep
checkpoints elsewhere, and the public key (codemode audit key):

    codemode audit verify --checkpoints /elsewhere/checkpoints.jsonl --key codemode-record+...

A record that codemode store restore brought back says so. Entries that were written after
the backup are missing, and reported as that.

Checkpoints are signed notes (c2sp.org/tlog-checkpoint), the member "checkpoint" of each
line: tools for transparency logs verify and witness them.

Exit code 0: everything is what was written. 1: something is not, or no checkpoint covers
it, or the record is missing. 2: this cannot be decided: there is no record, a file is no
export, or the key that signed it is not here, as with the export of another machine.
5: something could not be read.`,
		RunE: func(cmd *cobra.Command, files []string) error {
			for _, key := range keys {
				public, err := audit.ParsePublic(key)
				if err != nil {
					return cli.UsageError(err)
				}
				v.Keys = append(v.Keys, public)
			}
			v.database = v.database || len(files) == 0
			if err := v.read(cmd.Context(), s, &set, files); err != nil {
				return err
			}
			return printVerdict(s, v.Finish(), asJSON)
		},
	}
	set.RecordFlags(cmd)
	cmd.Flags().StringArrayVar(&v.published, "checkpoints", nil,
		"another file with checkpoints, such as a copy kept elsewhere, or a log that contains them")
	cmd.Flags().StringArrayVar(&keys, "key", nil,
		"public key that must have signed the checkpoints; repeat it for a fleet with several keys")
	cmd.Flags().BoolVar(&v.database, "database", false, "compare the files with the record too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// A verification is the input of a verifying command.
type verification struct {
	audit.Verifier
	published []string // files with checkpoints
	database  bool
}

// read gives the verifier the record, the files and the checkpoints.
func (v *verification) read(ctx context.Context, s cli.Streams, set *launch.Settings, files []string) error {
	place, err := set.Place()
	if err != nil {
		return err
	}
	if err := v.findKeys(place.Key, v.database); err != nil {
		return err
	}
	if v.database {
		if err := place.Present(); err != nil {
			return cli.WithCode(cli.ExitProgram, err)
		}
		if err := v.readDatabase(ctx, s, set, place); err != nil {
			return err
		}
	}
	for _, path := range files {
		if err := v.readFile(ctx, path); err != nil {
			return err
		}
	}
	for _, path := range v.published {
		all, err := readCheckpoints(s, path)
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("%s contains no checkpoints", path)
		}
		if err != nil {
			return cli.UsageError(err)
		}
		v.Published(path, all)
	}
	return nil
}

// verifyFile verifies a file of the record alone. each gets its entries; nil gets none.
func verifyFile(ctx context.Context, place recorder.Place, path string, each func(*audit.Entry)) (audit.Verdict,
	error) {
	v := verification{Verifier: audit.Verifier{Each: each}}
	if err := v.findKeys(place.Key, true); err != nil {
		return audit.Verdict{}, err
	}
	err := v.readFile(ctx, path)
	return v.Finish(), err
}

func (v *verification) readFile(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return cli.UsageError(err)
	}
	defer f.Close()
	return cli.InternalError(v.File(ctx, path, f))
}

// findKeys uses the key beside the record, if it exists, and its public key, unless flags give others. Without a key,
// files are compared with themselves.
func (v *verification) findKeys(path string, needed bool) error {
	own, err := ownKey(path)
	v.Own = own
	switch {
	case len(v.Keys) > 0:
		return nil
	case err != nil:
		return cli.InternalError(err)
	case own == nil && !needed:
		return nil
	case own == nil:
		return cli.UsageError(fmt.Errorf("there is no key at %s to verify signatures with: give the public key with "+
			"--key, as codemode audit key printed it on the machine that wrote the record", path))
	}
	public, err := audit.ParsePublic(own.Public())
	v.Keys = append(v.Keys, public)
	return cli.InternalError(err)
}

func (v *verification) readDatabase(ctx context.Context, s cli.Streams, set *launch.Settings,
	place recorder.Place) error {
	db, err := launch.OpenRecord(ctx, place, set.Logger(s, slog.LevelWarn))
	if err != nil {
		return err
	}
	defer db.Close()
	if place.Store.Path != "" { // machines that share a database each have the checkpoints of their own chains
		all, err := readCheckpoints(s, place.Checkpoints)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cli.InternalError(err)
		}
		v.Beside(place.Checkpoints, all)
	}
	return cli.InternalError(v.Database(ctx, launch.DatabaseName(place), db))
}

// readCheckpoints reads a file of checkpoints and reports the lines that are none.
func readCheckpoints(s cli.Streams, path string) ([]audit.Checkpoint, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, bad, err := audit.ReadCheckpoints(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, line := range bad {
		visible.Fprintf(s.Err, "%s, line %d: not a checkpoint, ignored\n", path, line)
	}
	return all, nil
}

// ownKey reads a key file, nil if it does not exist.
func ownKey(path string) (*audit.Key, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return audit.LoadKey(path)
}

// onlyRestored reports whether the record has problems, and all of them are that a backup was restored.
func onlyRestored(v audit.Verdict) bool {
	return len(v.Problems) > 0 && v.More == 0 &&
		!slices.ContainsFunc(v.Problems, func(p audit.Problem) bool { return !p.Restored })
}

// Verify verifies the record as codemode audit verify does without files. The error has an exit code.
func Verify(ctx context.Context, s cli.Streams, set *launch.Settings) (audit.Verdict, error) {
	v := verification{database: true}
	if err := v.read(ctx, s, set, nil); err != nil {
		return audit.Verdict{}, err
	}
	return v.Finish(), nil
}

func printVerdict(s cli.Streams, v audit.Verdict, asJSON bool) error {
	if asJSON {
		if v.Problems == nil {
			v.Problems = []audit.Problem{}
		}
		if err := cli.PrintJSON(s.Out, v); err != nil {
			return err
		}
	} else {
		for _, p := range v.Problems {
			fmt.Fprintln(s.Out, visible.Line(p.String()))
		}
		if v.More > 0 {
			fmt.Fprintf(s.Out, "and %d more\n", v.More)
		}
		for _, c := range v.Chains {
			first, open := fmt.Sprint(c.First), ""
			if c.Last > c.Covered {
				open = fmt.Sprintf("; those after %d are not signed yet", c.Covered)
			}
			if c.Pruned > 0 {
				first = fmt.Sprint("1 and ", c.First)
				open += fmt.Sprintf("; entries 2 to %d were exported and removed", c.Pruned)
			}
			fmt.Fprintf(s.Out, "chain %d: entries %s to %d%s\n", c.Chain, first, c.Last, open)
		}
	}
	if v.Restored != nil && !asJSON {
		fmt.Fprintf(s.Out, "the record came back from a backup of %s\n", v.Restored.Backup.UTC().Format(time.RFC3339))
	}
	if onlyRestored(v) {
		return cli.WithCode(cli.ExitProgram, fmt.Errorf("entries of the record are missing since a backup was restored, the "+
			"first of %d gaps is: %s", len(v.Problems), v.Problems[0]))
	}
	if changed := slices.IndexFunc(v.Problems, func(p audit.Problem) bool { return !p.Undecided }); changed >= 0 {
		return cli.WithCode(cli.ExitProgram, fmt.Errorf("somebody changed the record: the first of %d problems is: %s",
			len(v.Problems)+v.More, v.Problems[changed]))
	}
	if len(v.Problems) > 0 {
		return cli.UsageError(fmt.Errorf("this cannot be decided here: %s", v.Problems[0]))
	}
	if !asJSON {
		fmt.Fprintf(s.Out, "%d entries are what was written, as far as %d checkpoints tell\n", v.Entries, v.Checkpoints)
	}
	return nil
}
