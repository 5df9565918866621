package storecmd

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/cmd/codemode/cli"
	"github.com/codemode-project/codemode/cmd/codemode/launch"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/store/backup"
	"github.com/codemode-project/codemode/internal/visible"
)

func newBackup(s cli.Streams) *cobra.Command {
	var set launch.Settings
	var force, asJSON bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the database to a file while servers use it",
		Long: `Writes everything that the database has at one moment to one file, which only its owner can
read. Servers go on meanwhile. The file is the same for SQLite and PostgreSQL, and codemode
store restore makes either of it.

Not in it: the key of the record (record.key) and everything else in the state folder, and the
configuration. Without that key nobody can restore the backup or read what is sealed in it:
arguments, results, sessions. Keep a copy of the key at another place than the backups.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			place, key, err := existing(cmd, s, &set)
			if err != nil {
				return err
			}
			c, err := backup.Write(cmd.Context(), place.Store, key, args[0], force)
			if errors.Is(err, fs.ErrExist) {
				return cli.UsageError(fmt.Errorf("%s exists; --force replaces it: %w", args[0], err))
			}
			if err != nil {
				return cli.InternalError(fmt.Errorf("writing the backup: %w", err))
			}
			if asJSON {
				return cli.PrintJSON(s.Out, c)
			}
			info, err := os.Stat(args[0])
			if err != nil {
				return cli.InternalError(err)
			}
			visible.Fprintf(s.Out, "%s: the database %s as it was at %s, %s\n", args[0], c.Database, when(c.Made),
				size(info.Size()))
			printRows(s.Out, c.Rows, nil)
			printEnds(s.Out, c.Chains)
			visible.Fprintf(s.Out, "not in it: the key %s, without which nobody can restore it, checkpoints, and the "+
				"configuration\n", place.Key)
			return nil
		},
	}
	set.RecordFlags(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "replace the file if it exists")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func when(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// existing finds a database that is there, and its key.
func existing(cmd *cobra.Command, s cli.Streams, set *launch.Settings) (place recorder.Place, key *audit.Key,
	err error) {
	if err := set.ReadRecord(cmd.Context(), s, func(*store.DB, recorder.Place) error { return nil }); err != nil {
		return place, nil, err
	}
	if place, err = set.Place(); err != nil {
		return place, nil, err
	}
	place.Store.Log = set.Logger(s, slog.LevelWarn)
	key, err = presentKey(place)
	return place, key, err
}

// presentKey reads the key of the record. It makes none: another key would fit nothing.
func presentKey(place recorder.Place) (*audit.Key, error) {
	if _, err := os.Stat(place.Key); errors.Is(err, fs.ErrNotExist) {
		return nil, cli.UsageError(fmt.Errorf("there is no key of the record at %s: put the one there with which the "+
			"database was written, from the same folder on the machine that it is from", place.Key))
	}
	key, err := audit.LoadKey(place.Key)
	return key, cli.InternalError(err)
}

// sealKey returns the key that opens sealed rows; nil if there is no key.
func sealKey(place recorder.Place) ([]byte, error) {
	if _, err := os.Stat(place.Key); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	key, err := audit.LoadKey(place.Key)
	if err != nil {
		return nil, err
	}
	return place.SealKey(key), nil
}
