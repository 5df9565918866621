package backup

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/store"
)

// A Survey says what a store has, and what in it belongs to nothing.
type Survey struct {
	Database string `json:"database"` // its ID
	Kind     string `json:"kind"`     // SQLite or PostgreSQL
	Tables   int    `json:"tables"`   // the version of the tables
	Bytes    int64  `json:"bytes"`    // of the file with its log, or of the tables
	Sizes    []Size `json:"sizes"`
	// Problems are rows that should not be there. Notes are rows that a process removes or ends when it runs.
	Problems []string `json:"problems"`
	Notes    []string `json:"notes"`
}

// A Size is what a table has.
type Size struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"` // of the texts and values in it, without what the database adds
}

// strays are queries that count rows without an owner.
var strays = []struct {
	problem     bool
	what, query string
}{
	{true, "versions of sessions that are not there",
		`SELECT count(*) FROM session_versions WHERE session NOT IN (SELECT id FROM sessions)`},
	{true, "waiting runs that go on in a session that is not there",
		`SELECT count(*) FROM parked WHERE session <> '' AND session NOT IN (SELECT id FROM sessions)`},
	{true, "kept results with fewer parts than their size",
		`SELECT count(*) FROM results r WHERE bytes > 0
			AND NOT EXISTS (SELECT 1 FROM result_chunks c WHERE c.handle = r.handle)`},
	{true, "runs that wait and have ended", `SELECT count(*) FROM parked WHERE run IN (SELECT run FROM outcomes)`},
	{true, "chains whose last entry is not there", `SELECT count(*) FROM chains c WHERE seq > 0
		AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.chain = c.number AND e.seq = c.seq AND e.hash = c.hash)`},
	{true, "entries of a chain that is not there",
		`SELECT count(*) FROM entries e WHERE seq = 1 AND NOT EXISTS (SELECT 1 FROM chains c WHERE c.number = e.chain)`},
	{false, "parts of results whose writing was not completed; they go when they expire",
		`SELECT count(*) FROM result_chunks WHERE handle NOT IN (SELECT handle FROM results)`},
	{false, "questions that were closed or answered, and remain until they expire",
		`SELECT count(*) FROM approvals WHERE validated IS NOT NULL OR withdrawn IS NOT NULL`},
}

// Look reads a store, while processes may use it. The error is that of [store.Open] for one that cannot be read.
func Look(ctx context.Context, o store.Options) (*Survey, error) {
	s, err := openStore(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	all := &Survey{Database: s.id, Kind: "SQLite", Tables: s.layout, Problems: []string{}, Notes: []string{}}
	for i := range tables {
		size, err := s.size(ctx, &tables[i])
		if err != nil {
			return nil, fmt.Errorf("reading the table %s: %w", tables[i].name, err)
		}
		all.Sizes = append(all.Sizes, size)
	}
	for _, stray := range strays {
		var n int64
		if err := s.tx.QueryRowContext(ctx, stray.query).Scan(&n); err != nil {
			return nil, fmt.Errorf("counting %s: %w", stray.what, err)
		}
		switch text := fmt.Sprintf("%d %s", n, stray.what); {
		case n > 0 && stray.problem:
			all.Problems = append(all.Problems, text)
		case n > 0:
			all.Notes = append(all.Notes, text)
		}
	}
	if s.postgres {
		all.Kind = "PostgreSQL"
		err = s.tx.QueryRowContext(ctx, `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
			WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'`).Scan(&all.Bytes)
	} else {
		all.Bytes, err = bytesOf(o.Path)
		if err == nil {
			err = s.foreignKeys(ctx, all)
		}
	}
	if err != nil {
		return nil, err
	}
	return all, s.runs(ctx, o, all)
}

func bytesOf(path string) (n int64, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	n = info.Size()
	if wal, err := os.Stat(path + "-wal"); err == nil {
		n += wal.Size()
	}
	return n, nil
}

func (s *snapshot) size(ctx context.Context, t *table) (size Size, err error) {
	bytes := []string{"0"}
	for _, column := range t.columns {
		switch {
		case slices.Contains(t.bools, column):
		case slices.Contains(t.blobs, column):
			bytes = append(bytes, "octet_length("+column+")")
		default:
			bytes = append(bytes, "coalesce(octet_length(CAST("+column+" AS text)), 0)")
		}
	}
	size.Table = t.name
	err = s.tx.QueryRowContext(ctx, `SELECT count(*), CAST(coalesce(sum(`+strings.Join(bytes, " + ")+
		`), 0) AS bigint) FROM `+t.name).Scan(&size.Rows, &size.Bytes)
	return size, err
}

// foreignKeys reports what SQLite says about rows that refer to others.
func (s *snapshot) foreignKeys(ctx context.Context, all *Survey) error {
	rows, err := s.tx.QueryContext(ctx, `PRAGMA foreign_key_check`)
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		n++
	}
	if n > 0 {
		all.Problems = append(all.Problems, fmt.Sprintf("%d rows refer to rows that are not there", n))
	}
	return rows.Err()
}

const (
	// watchFor is how long a claim of a process on PostgreSQL has to stand still, until the process counts as dead, and a
	// little more. Package store wants it to be looked at every few seconds.
	watchFor   = 12 * time.Second
	watchEvery = time.Second
)

// runs notes the runs whose process died.
func (s *snapshot) runs(ctx context.Context, o store.Options, all *Survey) error {
	var claimed int
	if err := s.tx.QueryRowContext(ctx, `SELECT count(*) FROM parked WHERE phase > 0`).Scan(&claimed); err != nil {
		return err
	}
	o.ReadOnly = true
	db, err := store.Open(ctx, o)
	if err != nil {
		return err
	}
	defer db.Close()
	claimable, orphans, err := db.Runs.List(ctx)
	if s.postgres && claimed > 0 { // a process shows that it lives every second
		for end := time.Now().Add(watchFor); err == nil && time.Now().Before(end); {
			select {
			case <-time.After(watchEvery):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			claimable, orphans, err = db.Runs.List(ctx)
		}
	}
	if err != nil {
		return err
	}
	if n := len(claimable); n > 0 {
		all.Notes = append(all.Notes, fmt.Sprintf("%d waiting runs that no process has: one that runs takes them over", n))
	}
	if n := len(orphans); n > 0 {
		all.Notes = append(all.Notes, fmt.Sprintf("%d runs whose process died or whose time is over: a process that runs "+
			"records their end", n))
	}
	return nil
}
