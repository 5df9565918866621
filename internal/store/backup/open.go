package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/store"
)

// applicationName is how these connections to PostgreSQL call themselves.
const applicationName = "codemode store"

// A snapshot is a database at one moment.
type snapshot struct {
	id       string
	layout   int // of the tables, as package store numbers them; negative for a backup
	postgres bool
	pool     *sql.DB
	tx       *sql.Tx
}

// openStore opens a store for reading, at one moment. It refuses one of another version, as [store.Open] does.
func openStore(ctx context.Context, o store.Options) (*snapshot, error) {
	o.ReadOnly = true
	db, err := store.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	if o.Path != "" {
		return openFile(ctx, o.Path)
	}
	config, err := pgConfig(o.URL)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["default_transaction_read_only"] = "on"
	s := &snapshot{postgres: true, pool: stdlib.OpenDB(*config)}
	return s.begin(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		`SELECT version FROM schema_version`)
}

// openFile opens an SQLite file, which may be a backup, for reading.
func openFile(ctx context.Context, path string) (*snapshot, error) {
	pool, err := sql.Open("sqlite", dsn(path, "ro", "query_only(1)", "busy_timeout(5000)", "trusted_schema(0)"))
	if err != nil {
		return nil, err
	}
	s := &snapshot{pool: pool}
	return s.begin(ctx, nil, `PRAGMA user_version`)
}

func (s *snapshot) begin(ctx context.Context, o *sql.TxOptions, version string) (*snapshot, error) {
	var err error
	if s.tx, err = s.pool.BeginTx(ctx, o); err == nil {
		err = s.tx.QueryRowContext(ctx, version).Scan(&s.layout)
	}
	if err == nil {
		err = s.tx.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = 'id'`).Scan(&s.id)
	}
	if err != nil {
		return nil, errors.Join(secrets.HideAddress(err), s.close())
	}
	return s, nil
}

func (s *snapshot) close() error {
	if s.tx != nil {
		_ = s.tx.Rollback() // it only read
	}
	return s.pool.Close()
}

func dsn(path, mode string, pragmas ...string) string {
	q := url.Values{"mode": {mode}, "_pragma": pragmas}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

func pgConfig(at string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(at)
	if err != nil {
		return nil, fmt.Errorf("the URL of the database, %s, cannot be used", secrets.Origin(at))
	}
	config.RuntimeParams["application_name"] = applicationName
	config.RuntimeParams["TimeZone"] = "UTC"
	config.RuntimeParams["statement_timeout"] = "0" // reading a whole record takes time
	return config, nil
}

// newFile makes an SQLite file with the tables of a store and no rows, and begins the transaction that fills it. If the
// transaction fails, the file is useless: there is no journal, because nobody else has the file yet.
func newFile(ctx context.Context, path string) (pool *sql.DB, tx *sql.Tx, err error) {
	db, err := store.Open(ctx, store.Options{Path: path})
	if err != nil {
		return nil, nil, err
	}
	if err := db.Close(); err != nil {
		return nil, nil, err
	}
	pool, err = sql.Open("sqlite", dsn(path, "rw", "journal_mode(OFF)", "synchronous(OFF)", "trusted_schema(0)"))
	if err != nil {
		return nil, nil, err
	}
	pool.SetMaxOpenConns(1)
	if tx, err = pool.BeginTx(ctx, nil); err != nil {
		return nil, nil, errors.Join(err, pool.Close())
	}
	return pool, tx, nil
}

// inserter returns a function that adds rows of a table to an SQLite file.
func inserter(ctx context.Context, tx *sql.Tx, t *table) (put func(row) error, done func() error, err error) {
	statement, err := tx.PrepareContext(ctx, t.insertion())
	if err != nil {
		return nil, nil, err
	}
	return func(r row) error {
		_, err := statement.ExecContext(ctx, r...)
		return err
	}, statement.Close, nil
}
