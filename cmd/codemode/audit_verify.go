package main

import (
	"context"
	"crypto/ed25519"
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
		Long: `Checks every chain of the record against itself and against the checkpoints that were
published. With files that codemode audit export wrote it checks those instead, all of
them together; --database checks them against the record too.

Whoever can change the record can write new checkpoints beside it as well, with the key
that lies there. So keep checkpoints elsewhere, and the public key (codemode audit key):

    codemode audit verify --checkpoints /elsewhere/checkpoints.jsonl --key ed25519:...

Exits with 1 when something is wrong.`,
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
	cmd.Flags().StringArrayVar(&checkpoints, "checkpoints", nil, "file with checkpoints, also a log that has them; instead of the one beside the record")
	cmd.Flags().StringArrayVar(&keys, "key", nil, "public key that checkpoints must be signed with; several for a fleet with several")
	cmd.Flags().BoolVar(&database, "database", false, "compare the files with the record too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (r *reading) verify(ctx context.Context, s streams, v *audit.Verifier, files, checkpoints []string, database bool) error {
	failed := func(err error) error { return &exitError{code: exitInternal, err: err} }
	if database {
		db, place, err := r.open(ctx, s)
		if err != nil {
			return err
		}
		defer db.Close()
		if len(v.Keys) == 0 {
			if v.Keys, err = ownKey(place.Key); err != nil {
				return failed(err)
			}
		}
		if len(checkpoints) == 0 {
			if _, err := os.Stat(place.Checkpoints); err == nil {
				checkpoints = []string{place.Checkpoints}
			} else if !errors.Is(err, fs.ErrNotExist) {
				return failed(err)
			}
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
		f, err := os.Open(path)
		if err != nil {
			return usage(err)
		}
		all, bad, err := audit.ReadCheckpoints(f)
		f.Close()
		if err != nil {
			return failed(err)
		}
		for _, line := range bad {
			fmt.Fprintf(s.err, "%s, line %d: this is no checkpoint, and is passed over\n", path, line)
		}
		v.Published(path, all)
	}
	return nil
}

// ownKey is the public half of a key file, none if it is not there.
func ownKey(path string) ([]ed25519.PublicKey, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	key, err := audit.LoadKey(path)
	if err != nil {
		return nil, err
	}
	public, err := audit.ParsePublic(key.Public())
	return []ed25519.PublicKey{public}, err
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
				open = fmt.Sprintf("; no checkpoint covers those behind %d yet", c.Covered)
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
