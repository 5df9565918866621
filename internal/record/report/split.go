package report

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

// records are the three files that people keep separately: what programs did, how the rules changed, who was admitted.
var records = []struct {
	file  string
	kinds []string
}{
	{"executions.jsonl", []string{audit.Run, audit.Call, audit.Approval, audit.Grant, audit.Keeping, audit.Session}},
	{"policy.jsonl", []string{audit.Policy}},
	{"access.jsonl", []string{audit.Access}},
}

// Split writes the entries that match q to executions.jsonl, policy.jsonl and access.jsonl in a folder, which it
// creates if necessary. Each is a file as [audit.Export] writes it, with the kinds that belong there. Notices about the
// record itself are in none of them.
func Split(ctx context.Context, dir string, db *store.DB, key *audit.Key, q store.Query, now time.Time) (n int,
	err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	for _, r := range records {
		of := q
		of.Kinds = r.kinds
		if len(q.Kinds) > 0 {
			of.Kinds = slices.DeleteFunc(slices.Clone(r.kinds), func(kind string) bool {
				return !slices.Contains(q.Kinds,
					kind)
			})
		}
		if len(of.Kinds) == 0 {
			of.Kinds = []string{"none"} // an empty list would select all
		}
		written, err := splitFile(ctx, filepath.Join(dir, r.file), db, key, of, now)
		n += written
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func splitFile(ctx context.Context, path string, db *store.DB, key *audit.Key, q store.Query, now time.Time) (n int,
	err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	w := bufio.NewWriter(f)
	n, err = audit.Export(ctx, w, db, key, audit.JSONL, q, now)
	return n, errors.Join(err, w.Flush(), f.Close())
}
