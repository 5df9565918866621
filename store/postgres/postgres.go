// Package postgres lets codemode keep its record and all else that outlives a process in a PostgreSQL database, which
// many processes may share. A program whose configuration names one in "store" imports it for this effect alone:
//
//	import _ "github.com/codemode-project/codemode/store/postgres"
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/codemode-project/codemode/internal/store"
)

func init() {
	store.Postgres = &store.PostgresDriver{Open: open, Listen: listen, Unreachable: unreachable}
}

// connectWait bounds one attempt to connect.
const connectWait = 5 * time.Second

func open(url string, params map[string]string) (pool *sql.DB, at store.Address, err error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, at, err
	}
	if config.ConnectTimeout <= 0 {
		config.ConnectTimeout = connectWait
	}
	for name, value := range params {
		if _, given := config.RuntimeParams[name]; !given {
			config.RuntimeParams[name] = value
		}
	}
	return stdlib.OpenDB(*config), store.Address{Host: config.Host, Database: config.Database}, nil
}

func listen(ctx context.Context, url, channel string, begun func(), tell func(payload string)) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return err
	}
	config.RuntimeParams["application_name"] = "codemode listener"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	begun()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		tell(n.Payload)
	}
}

func unreachable(err error) bool {
	_, refused := errors.AsType[*pgconn.ConnectError](err)
	return refused || pgconn.SafeToRetry(err)
}
