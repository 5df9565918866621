package store

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"time"

	"github.com/codemode-project/codemode/internal/secrets"
)

const (
	// poolConns is how many connections one replica opens at most: one appends, the others answer.
	poolConns = 8
	// relisten is how long a broken subscription waits before it connects again.
	relisten = time.Second
	// schemaLock is the number of the lock that makes replicas that start together create the tables one after the
	// other.
	schemaLock = 0x636f6465
)

// openPostgres connects. An unreachable database is an error now; later it is an error of each use.
func (c *connections) openPostgres(ctx context.Context) error {
	params := map[string]string{
		"application_name":   "codemode",
		"synchronous_commit": "on", // whatever the server's default
		"lock_timeout":       fmt.Sprintf("%dms", c.options.Wait.Milliseconds()),
		"statement_timeout":  "30s",
		"TimeZone":           "UTC",
	}
	if c.options.ReadOnly {
		params["default_transaction_read_only"] = "on"
		params["statement_timeout"] = "0" // reading a whole record takes time
	}
	pool, at, err := Postgres.Open(c.options.URL, params)
	if err != nil {
		// The driver quotes parts of the URL in its errors.
		return fmt.Errorf("the URL of the database, %s, cannot be used: write postgres://user:password@host:port/name",
			secrets.Origin(c.options.URL))
	}
	pool.SetMaxOpenConns(poolConns)
	pool.SetMaxIdleConns(poolConns)
	pool.SetConnMaxIdleTime(time.Minute)
	tables := schema{file: "postgres.sql", version: schemaVersion, set: setSchemaVersion, readOnly: c.options.ReadOnly,
		lock: fmt.Sprintf(`SELECT pg_advisory_xact_lock(%d)`, schemaLock)}
	if err = tables.ensure(ctx, pool); err == nil {
		c.id, err = readMeta(ctx, pool)
	}
	if err != nil {
		pool.Close()
		return fmt.Errorf("opening the database %s of %s: %w", at.Database, at.Host, secrets.HideAddress(err))
	}
	c.pool = pool
	return nil
}

func schemaVersion(ctx context.Context, q querier) (n int, err error) {
	var there bool
	if err := q.QueryRowContext(ctx, `SELECT to_regclass('schema_version') IS NOT NULL`).Scan(&there); err != nil ||
		!there {
		return 0, err
	}
	err = q.QueryRowContext(ctx, `SELECT version FROM schema_version`).Scan(&n)
	return n, err
}

func setSchemaVersion(ctx context.Context, tx *sql.Tx, n int) error {
	if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_version (version int NOT NULL)`); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM schema_version`); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO schema_version VALUES ($1)`, n)
	return err
}

// listen receives the changes that any replica makes.
func listen(ctx context.Context, url string, watch *watchers, log *slog.Logger) {
	missed := func() { watch.tell("") } // perhaps, while nobody listened
	for ctx.Err() == nil {
		if err := Postgres.Listen(ctx, url, "codemode", missed, watch.tell); err != nil && ctx.Err() == nil {
			log.Warn("this process hears of no changes by other replicas until the database answers", "error",
				secrets.HideAddress(err))
		}
		select {
		case <-time.After(relisten):
		case <-ctx.Done():
		}
	}
}
