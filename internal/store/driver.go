package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// Postgres is the driver of PostgreSQL; nil unless the program imports package store/postgres.
var Postgres *PostgresDriver

// A PostgresDriver connects to databases by their URLs. Its errors may quote parts of a URL.
type PostgresDriver struct {
	// Open connects when a connection is needed. params are settings of each connection that the URL does not have.
	Open func(url string, params map[string]string) (*sql.DB, Address, error)
	// Listen calls begun once it hears what others send to a channel, and tell with each of that, until an error.
	Listen func(ctx context.Context, url, channel string, begun func(), tell func(payload string)) error
	// Unreachable reports whether the error says that the database cannot be reached.
	Unreachable func(error) bool
}

// An Address is where a database is, without what lets somebody use it.
type Address struct{ Host, Database string }

// HasDriver returns an error if this program has no driver for the URL, or with "" for a file; the error names the
// import that it needs.
func HasDriver(url string) error {
	name, folder := "SQLite", "sqlite"
	there := slices.Contains(sql.Drivers(), folder)
	if url != "" {
		name, folder, there = "PostgreSQL", "postgres", Postgres != nil
	}
	if there {
		return nil
	}
	return fmt.Errorf("this program has no %s: import _ %q", name, "github.com/codemode-project/codemode/store/"+folder)
}
