package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strings"
)

// layout is the version of the tables in schema. Versions cannot be migrated, because none was released yet: a new
// version needs a new database.
const layout = 18

//go:embed schema
var schemas embed.FS

// A schema creates the tables of one kind of database, and reads the version of existing ones.
type schema struct {
	file string // in the folder schema
	// version is 0 for a database without tables.
	version  func(ctx context.Context, q querier) (int, error)
	set      func(ctx context.Context, tx *sql.Tx, version int) error
	lock     string // a statement that keeps other processes from doing the same
	readOnly bool
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// ensure creates the tables if there are none, all of them or nothing. It refuses tables of another version.
func (s *schema) ensure(ctx context.Context, pool *sql.DB) error {
	at, err := s.version(ctx, pool)
	if err != nil || at == layout {
		return err
	}
	if at != 0 || s.readOnly {
		return refusal(at)
	}
	text, err := schemas.ReadFile("schema/" + s.file)
	if err != nil {
		return err
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if s.lock != "" {
		if _, err := tx.ExecContext(ctx, s.lock); err != nil {
			return err
		}
	}
	switch at, err = s.version(ctx, tx); {
	case err != nil || at == layout: // another process was faster
		return err
	case at != 0:
		return refusal(at)
	}
	if _, err := tx.ExecContext(ctx, string(text)); err != nil {
		return err
	}
	id := "db_" + strings.ToLower(rand.Text()[:16])
	if _, err := tx.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES ('id', $1)`, id); err != nil {
		return err
	}
	if err := s.set(ctx, tx, layout); err != nil {
		return err
	}
	return tx.Commit()
}

// refusal is the error of a database with tables of a version other than layout.
func refusal(at int) error {
	var way string
	switch {
	case at == 0:
		return &failure{reason: reasonLayout, Err: errors.New("it has no tables: codemode serve makes them")}
	case at < 0: // package backup writes the version of the tables like this
		return &failure{reason: reasonLayout,
			Err: errors.New("it is a backup, and no database: codemode store restore makes one of it")}
	case at < layout:
		way = "export the record with the codemode that wrote it (codemode audit export), then move the database " +
			"away or name another one"
	default:
		way = "use the newer codemode that wrote it, or name another database"
	}
	err := fmt.Errorf("its tables are of version %d, and this codemode needs version %d: %s", at, layout, way)
	return &failure{reason: reasonLayout, Err: err}
}

// readMeta reads the identity of the database.
func readMeta(ctx context.Context, pool *sql.DB) (id string, err error) {
	err = pool.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = 'id'`).Scan(&id)
	if err != nil {
		return "", fmt.Errorf("reading the id of the database: %w", err)
	}
	return id, nil
}
