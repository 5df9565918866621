package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// A Result is a value, the output of a console, or the content of an image, audio or a file, for later programs of its
// principal. Its body is stored in chunks,
// so that a reader of a part reads no more than the part.
type Result struct {
	Handle    string // nobody can guess it
	Principal string
	Owner     string // whose quota it uses; "" is the quota of everybody whom nobody verifies
	Run       string // that made it
	Profile   string
	Untrusted bool // the answer of an untrusted server may be in it
	Bytes     int64
	MIMEType  string          // of an image, audio or a file; "" is a value or the output of a console
	About     json.RawMessage // what it is, and where its parts are
	Created   time.Time
	Expires   time.Time

	// Chunk reads a chunk of the body, from 0.
	Chunk func(ctx context.Context, n int) ([]byte, error)
}

// bound is what the seal binds to a result: whose it is, where it came from, and its end.
func (r *Result) bound() string {
	return fmt.Sprintf("about %q %q %q %q %t %d", r.Principal, r.Run, r.Profile, r.MIMEType, r.Untrusted,
		r.Expires.UnixMicro())
}

// chunksAtOnce is how many chunks one transaction writes: others write to the database meanwhile.
const chunksAtOnce = 4

// Keep stores a result and its chunks. If its owner then has more than number results, or more than bytes, the
// oldest of them are removed; their handles are returned.
func (d ResultTable) Keep(ctx context.Context, r *Result, chunks [][]byte, number int, bytes int64) (removed []string,
	err error) {
	written := 0
	for some := range slices.Chunk(chunks, chunksAtOnce) {
		err := d.db.transact(ctx, parkWait, func(ctx context.Context, tx *sql.Tx) error {
			for i, chunk := range some {
				sealed := d.db.seal.close(chunk, chunksTable, r.Handle, fmt.Sprint("body ", written+i))
				if _, err := tx.ExecContext(ctx, `INSERT INTO result_chunks (handle, number, body, expires)
					VALUES ($1, $2, $3, $4)`, r.Handle, written+i, sealed, r.Expires.UnixMicro()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err // Clean removes the chunks that are written
		}
		written += len(some)
	}
	err = d.db.transact(ctx, parkWait, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO results
			(handle, principal, owner, run, profile, untrusted, bytes, mime, about, created, expires)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, r.Handle, r.Principal, r.Owner, r.Run, r.Profile,
			d.db.boolean(r.Untrusted), r.Bytes, r.MIMEType, d.db.seal.close(r.About, resultsTable, r.Handle, r.bound()), d.db.now(),
			r.Expires.UnixMicro()); err != nil {
			return err
		}
		removed, err = d.makeRoom(ctx, tx, r, number, bytes)
		return err
	})
	return removed, err
}

// makeRoom removes the oldest results of an owner that exceeds its quota with a new one. The new one stays.
func (d ResultTable) makeRoom(ctx context.Context, tx *sql.Tx, r *Result, number int, bytes int64) (removed []string,
	err error) {
	rows, err := tx.QueryContext(ctx, `SELECT handle FROM (
		SELECT handle, row_number() OVER latest AS n, sum(bytes) OVER latest AS total FROM results
		WHERE owner = $1 AND expires > $2
		WINDOW latest AS (ORDER BY CASE WHEN handle = $3 THEN 0 ELSE 1 END, created DESC, handle
			ROWS UNBOUNDED PRECEDING)) AS kept
		WHERE handle <> $3 AND (n > $4 OR total > $5)`, r.Owner, d.db.now(), r.Handle, number, bytes)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var handle string
		if err := rows.Scan(&handle); err != nil {
			return nil, err
		}
		removed = append(removed, handle)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, handle := range removed {
		for _, table := range []string{resultsTable, chunksTable} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE handle = $1`, handle); err != nil {
				return nil, err
			}
		}
	}
	return removed, nil
}

// Of lists the results that have not ended, the oldest first: all with nil, else the one with the handle and the
// principal of of.
func (d ResultTable) Of(ctx context.Context, of *Result) ([]*Result, error) {
	where, args := ``, []any{d.db.now()}
	if of != nil {
		where, args = ` AND handle = $2 AND principal = $3`, append(args, of.Handle, of.Principal)
	}
	var all []*Result
	err := d.db.each(ctx, func(scan func(...any) error) error {
		r := &Result{}
		var about []byte
		var created, expires int64
		if err := scan(&r.Handle, &r.Principal, &r.Owner, &r.Run, &r.Profile, &r.Untrusted, &r.Bytes, &r.MIMEType, &about,
			&created, &expires); err != nil {
			return err
		}
		r.Created, r.Expires = fromMicro(created), fromMicro(expires)
		var err error
		if r.About, err = d.db.seal.open(about, resultsTable, r.Handle, r.bound()); err != nil && of != nil {
			return err // a list, such as that of a command without the key, leaves it out
		}
		r.Chunk = func(ctx context.Context, n int) ([]byte, error) { return d.chunk(ctx, r.Handle, n) }
		all = append(all, r)
		return nil
	}, `SELECT handle, principal, owner, run, profile, untrusted, bytes, mime, about, created, expires FROM results
		WHERE expires > $1`+where+` ORDER BY created, handle`, args...)
	return all, err
}

func (d ResultTable) chunk(ctx context.Context, handle string, n int) ([]byte, error) {
	sealed, err := column[[]byte](ctx, d.db,
		`SELECT body FROM result_chunks WHERE handle = $1 AND number = $2 AND expires > $3`, handle, n, d.db.now())
	if err != nil {
		return nil, err
	}
	if len(sealed) == 0 {
		return nil, ErrNotFound
	}
	return d.db.seal.open(sealed[0], chunksTable, handle, fmt.Sprint("body ", n))
}
