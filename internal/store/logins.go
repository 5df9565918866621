package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// A Login lets one principal reach one upstream server with tokens of its own.
type Login struct {
	Principal, Server string
	Body              []byte    // the tokens
	Created           time.Time // renewing the tokens does not change it
	Account           string    // random: a principal that logs in again has another one
}

// loginsTable is not watched: each request of a principal reads its row.
const loginsTable = "logins"

// ErrUnsealed is the error of a login for a DB without [Options.SealKey]: tokens are not stored in clear.
var ErrUnsealed = errors.New("this process has no key to encrypt tokens with")

// column is what the seal binds to a login: the database, besides the principal and the server. So the row is good for
// nobody else, and for no other tenant.
func (d LoginTable) column(account string) string {
	return fmt.Sprintf("body %q %q", d.db.conns.id, account)
}

func (l *Login) row() string { return fmt.Sprintf("%q %q", l.Principal, l.Server) }

// Put stores a login in place of any before.
func (d LoginTable) Put(ctx context.Context, l *Login) error {
	if d.db.seal.aead == nil {
		return ErrUnsealed
	}
	_, err := d.db.exec(ctx, `INSERT INTO logins (principal, server, account, body, created) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (principal, server) DO UPDATE SET account = excluded.account, body = excluded.body,
		created = excluded.created, lease = '', lease_ends = 0`, l.Principal, l.Server, l.Account,
		d.db.seal.close(l.Body, loginsTable, l.row(), d.column(l.Account)), d.db.now())
	return err
}

// Of returns the login of a principal at a server. [ErrNotFound] says that there is none.
func (d LoginTable) Of(ctx context.Context, principal, server string) (*Login, error) {
	if d.db.seal.aead == nil {
		return nil, ErrUnsealed
	}
	l, err := first(d.logins(ctx, `principal = $1 AND server = $2`, principal, server))
	if err != nil {
		return nil, err
	}
	l.Body, err = d.db.seal.open(l.Body, loginsTable, l.row(), d.column(l.Account))
	return l, err
}

// List lists the logins of a principal, or with "" of all, without their bodies.
func (d LoginTable) List(ctx context.Context, principal string) ([]*Login, error) {
	all, err := d.logins(ctx, `$1 = '' OR principal = $1`, principal)
	for _, l := range all {
		l.Body = nil
	}
	return all, err
}

func (d LoginTable) logins(ctx context.Context, where string, args ...any) (all []*Login, err error) {
	err = d.db.each(ctx, func(scan func(...any) error) error {
		var l Login
		var created int64
		err := scan(&l.Principal, &l.Server, &l.Account, &l.Body, &created)
		l.Created = fromMicro(created)
		all = append(all, &l)
		return err
	}, `SELECT principal, server, account, body, created FROM logins WHERE `+where+` ORDER BY principal, server`, args...)
	return all, err
}

// Drop removes a login, and reports whether there was one.
func (d LoginTable) Drop(ctx context.Context, principal, server string) (bool, error) {
	n, err := d.db.exec(ctx, `DELETE FROM logins WHERE principal = $1 AND server = $2`, principal, server)
	return n > 0, err
}

// leaseTime is how long a process may take to renew a login before another one tries. leasePoll is how often the others
// look.
const (
	leaseTime = time.Minute
	leasePoll = 50 * time.Millisecond
)

// Renew calls renew with a login while no other process does, and stores the body that it returns; nil removes the
// login. After an error of renew the login stays as it was. [ErrTaken] says that the principal logged in again, or
// logged out, meanwhile. RenewLogin waits for other processes until ctx ends.
func (d LoginTable) Renew(ctx context.Context, principal, server string, renew func(*Login) ([]byte, error)) error {
	lease := rand.Text()
	now := `CAST(unixepoch('subsec') * 1000000 AS INTEGER)`
	if d.db.Fleet() { // replicas have clocks of their own
		now = `CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)`
	}
	for {
		n, err := d.db.exec(ctx, `UPDATE logins SET lease = $1, lease_ends = `+now+` + $2 WHERE principal = $3 AND server = $4
			AND (lease = '' OR lease_ends < `+now+`)`, lease, leaseTime.Microseconds(), principal, server)
		if err != nil {
			return err
		}
		l, err := d.Of(ctx, principal, server)
		if err != nil {
			return err
		}
		if n == 0 {
			select {
			case <-time.After(leasePoll):
				continue
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		query, args := `UPDATE logins SET lease = '' WHERE`, []any{principal, server, lease}
		body, failed := renew(l)
		switch {
		case failed == nil && body == nil:
			query = `DELETE FROM logins WHERE`
		case failed == nil:
			query = `UPDATE logins SET lease = '', body = $4 WHERE`
			args = append(args, d.db.seal.close(body, loginsTable, l.row(), d.column(l.Account)))
		}
		err = d.db.once(context.WithoutCancel(ctx), query+` principal = $1 AND server = $2 AND lease = $3`, args...)
		if failed != nil {
			return failed
		}
		return err
	}
}
