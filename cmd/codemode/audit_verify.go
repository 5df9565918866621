package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/internal/visible"
	"github.com/codemode-project/codemode/store"
)

// exitTampered is the exit code of audit verify for a record that is not what was written.
const exitTampered = exitProgram

func newAuditVerify(s streams) *cobra.Command {
	var r reading
	var keys, checkpoints []string
	var asJSON, database bool
	cmd := &cobra.Command{
		Use:   "verify [FILE...]",
		Short: "Check that the record is what was written, and name the first entry that is not",
		Long: `Checks every chain of the record against itself, against the checkpoint in the database
that its writer signed, and against those in the file beside it. Every entry has to be
covered, but for the last few of a writer that runs or was killed: it signs every 128
entries, and 200 ms after one that is not covered; of those few, the key that lies beside the
record shows whether they were written with it. With files that codemode audit export wrote it
checks those instead, all of them together; --database checks them against the record too.

Whoever can change the record and read the key that lies there can sign a record of their
own; and a record that was put back whole, with its checkpoints, as it was last week looks
as it did then. So keep checkpoints elsewhere, and the public key (codemode audit key):

    codemode audit verify --checkpoints /elsewhere/checkpoints.jsonl --key codemode-record+...

Checkpoints are signed notes (c2sp.org/tlog-checkpoint), the member "checkpoint" of each
line: tools for transparency logs verify and witness them.

Exit code 0: everything is what was written. 1: something is not, or no checkpoint covers
it, or the record is gone. 2: this cannot be judged, for want of a key or a record.
5: something could not be read.`,
		RunE: func(cmd *cobra.Command, files []string) error {
			v := &audit.Verifier{}
			for _, key := range keys {
				public, err := audit.ParsePublic(key)
				if err != nil {
					return usage(err)
				}
				v.Keys = append(v.Keys, public)
			}
			if err := r.verify(cmd.Context(), s, v, files, checkpoints, len(files) == 0 || database); err != nil {
				return err
			}
			return verdict(s, v.Finish(), asJSON)
		},
	}
	r.flags(cmd, false)
	cmd.Flags().StringArrayVar(&checkpoints, "checkpoints", nil, "another file with checkpoints, such as a copy kept elsewhere, or a log that has them")
	cmd.Flags().StringArrayVar(&keys, "key", nil, "public key that checkpoints must be signed with; several for a fleet with several")
	cmd.Flags().BoolVar(&database, "database", false, "compare the files with the record too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (r *reading) verify(ctx context.Context, s streams, v *audit.Verifier, files, checkpoints []string, database bool) error {
	failed := func(err error) error { return &exitError{code: exitInternal, err: err} }
	place, err := r.place()
	if err != nil {
		return err
	}
	own, err := ownKey(place.Key)
	if err != nil && len(v.Keys) == 0 {
		return failed(err)
	}
	if v.Own = own; own != nil && len(v.Keys) == 0 {
		public, err := audit.ParsePublic(own.Public())
		if err != nil {
			return failed(err)
		}
		v.Keys = append(v.Keys, public)
	}
	if len(v.Keys) == 0 {
		return usage(fmt.Errorf("there is no key at %s to verify signatures with: give the public one with --key, as codemode audit key printed it where the record was written", place.Key))
	}
	if database {
		if err := place.Present(); err != nil {
			return &exitError{code: exitTampered, err: err}
		}
		db, _, err := r.open(ctx, s)
		if err != nil {
			return err
		}
		defer db.Close()
		if place.Store.Path != "" { // of a database that several machines share, each has the checkpoints of its own chains
			all, err := s.readCheckpoints(place.Checkpoints)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return failed(err)
			}
			v.Beside(place.Checkpoints, all)
		}
		if err := v.Database(ctx, databaseName(place.Store), db); err != nil {
			return failed(err)
		}
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return usage(err)
		}
		err = v.File(ctx, path, f)
		f.Close()
		if err != nil {
			return failed(err)
		}
	}
	for _, path := range checkpoints {
		all, err := s.readCheckpoints(path)
		if err != nil {
			return usage(err)
		}
		if len(all) == 0 {
			return usage(fmt.Errorf("%s holds no checkpoints", path))
		}
		v.Published(path, all)
	}
	return nil
}

// readCheckpoints reads a file of checkpoints and says what in it is none.
func (s streams) readCheckpoints(path string) ([]audit.Checkpoint, error) {
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
		visible.Fprintf(s.err, "%s, line %d: this is no checkpoint, and is passed over\n", path, line)
	}
	return all, nil
}

// ownKey reads a key file, nil if it is not there.
func ownKey(path string) (*audit.Key, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return audit.LoadKey(path)
}

func databaseName(o store.Options) string {
	if o.Path != "" {
		return o.Path
	}
	return "the database"
}

func verdict(s streams, v audit.Verdict, asJSON bool) error {
	if asJSON {
		if v.Problems == nil {
			v.Problems = []audit.Problem{}
		}
		if err := printJSON(s.out, v); err != nil {
			return &exitError{code: exitInternal, err: err}
		}
	} else {
		for _, p := range v.Problems {
			fmt.Fprintln(s.out, visible.Line(p.String()))
		}
		if v.More > 0 {
			fmt.Fprintf(s.out, "and %d more\n", v.More)
		}
		for _, c := range v.Chains {
			open := ""
			if c.Last > c.Covered {
				open = fmt.Sprintf("; those behind %d are not signed yet", c.Covered)
			}
			fmt.Fprintf(s.out, "chain %d: entries %d to %d%s\n", c.Chain, c.First, c.Last, open)
		}
	}
	if len(v.Problems) > 0 {
		return &exitError{code: exitTampered, err: fmt.Errorf("the record is not what was written: the first of %d problems is: %s", len(v.Problems)+v.More, v.Problems[0])}
	}
	if !asJSON {
		fmt.Fprintf(s.out, "%d entries are what was written, as far as %d checkpoints tell\n", v.Entries, v.Checkpoints)
	}
	return nil
}
