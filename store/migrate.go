package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// The migrations of each database, applied in the order of their numbers. One that was released never
// changes. They are few and plain, which is why no library applies them.
//
//go:embed migrations
var migrations embed.FS

type migration struct {
	number int
	text   string
}

// migrationsOf reads the migrations of a folder. A gap in their numbers is a mistake of ours.
func migrationsOf(folder string) []migration {
	var all []migration
	names, err := fs.Glob(migrations, path.Join("migrations", folder, "*.sql"))
	if err != nil {
		panic(err)
	}
	for i, name := range names {
		text, err := migrations.ReadFile(name)
		number, _, _ := strings.Cut(path.Base(name), "_")
		n, bad := strconv.Atoi(number)
		if err = errors.Join(err, bad); err != nil || n != i+1 {
			panic(fmt.Sprintf("store: migration %s is not number %d (%v)", name, i+1, err))
		}
		all = append(all, migration{n, string(text)})
	}
	return all
}

// A migrator brings one database up to date.
type migrator struct {
	folder   string
	version  func(ctx context.Context, q querier) (int, error)
	set      func(ctx context.Context, tx *sql.Tx, version int) error
	lock     string                                    // a statement that keeps other processes from doing the same
	before   func(ctx context.Context, from int) error // makes a copy of an older version; nil makes none
	readOnly bool
}

// run applies what is missing in one transaction: all of it or nothing.
func (m *migrator) run(ctx context.Context, pool *sql.DB) error {
	all := migrationsOf(m.folder)
	at, err := m.version(ctx, pool)
	if err != nil || at == len(all) {
		return err
	}
	if at > len(all) {
		return fmt.Errorf("the database is of version %d, and this codemode knows versions up to %d: use the newer codemode", at, len(all))
	}
	if m.readOnly {
		return fmt.Errorf("the database is of version %d, and this codemode reads version %d: start codemode serve once, which migrates it", at, len(all))
	}
	if at > 0 && m.before != nil {
		if err := m.before(ctx, at); err != nil {
			return fmt.Errorf("copying the database of version %d before migrating it: %w", at, err)
		}
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if m.lock != "" {
		if _, err := tx.ExecContext(ctx, m.lock); err != nil {
			return err
		}
	}
	if at, err = m.version(ctx, tx); err != nil || at >= len(all) {
		return err // another process was faster
	}
	for _, step := range all[at:] {
		if _, err := tx.ExecContext(ctx, step.text); err != nil {
			return fmt.Errorf("migration %d: %w", step.number, err)
		}
	}
	if at == 0 {
		if _, err := tx.ExecContext(ctx, `INSERT INTO meta (name, value) VALUES ('id', $1)`, "db_"+strings.ToLower(rand.Text()[:16])); err != nil {
			return err
		}
	}
	if err := m.set(ctx, tx, len(all)); err != nil {
		return err
	}
	return tx.Commit()
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}
