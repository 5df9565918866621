package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// together is how many rows one statement inserts, the most first.
var together = [...]int{16, 8, 4, 2, 1}

const columns = `chain, seq, time, kind, state, run, call, principal, profile, tool, hash, body`

// width is how many columns there are.
const width = 12

// args appends the columns of a row. What is as in the row before it, which to ends with, is shared with that.
func (r *Row) args(to []any) []any {
	before := to[max(0, len(to)-width):]
	text := func(column int, s string) any {
		if len(before) > 0 && before[column].(string) == s {
			return before[column]
		}
		return s
	}
	return append(to, r.Chain, r.Seq, r.Time, text(3, r.Kind), text(4, r.State), text(5, r.Run), r.Call,
		text(7, r.Principal), text(8, r.Profile), text(9, r.Tool), r.Hash[:], r.Body)
}

// appendFile writes rows in one transaction on the chain's own connection.
func (c *Chain) appendFile(ctx context.Context, rows []Row, openFrom int64) error {
	written, err := c.db.write(ctx)
	if err != nil {
		return err
	}
	defer written()
	pool, done, err := c.db.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := c.connect(ctx, pool); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// From here on what is waited for is the disk and, for a time that the connection knows, another process. The library begins a
	// goroutine for each statement that can be canceled, which took a twentieth of a recorded call's time.
	ctx = context.WithoutCancel(ctx)
	if _, err := c.begin.ExecContext(ctx); err != nil {
		return err
	}
	err = c.write(ctx, rows, openFrom)
	if err == nil {
		_, err = c.commit.ExecContext(ctx)
	}
	if err != nil {
		clear(c.found)
		// A statement that failed for want of space may have ended the transaction itself.
		if _, back := c.conn.ExecContext(ctx, "ROLLBACK"); back != nil {
			c.drop()
		}
	}
	return err
}

func (c *Chain) write(ctx context.Context, rows []Row, openFrom int64) error {
	last := rows[len(rows)-1]
	result, err := c.sequence.ExecContext(ctx, last.Seq, last.Hash[:], openFrom, c.head.Chain, c.head.Seq, c.head.Hash[:])
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, ErrFenced)
	}
	if err := c.findable(ctx, rows); err != nil {
		return err
	}
	args := make([]any, 0, together[0]*width)
	for _, n := range together {
		for len(rows) >= n {
			args = args[:0]
			for i := range rows[:n] {
				args = rows[i].args(args)
			}
			if _, err := c.inserts[n].ExecContext(ctx, args...); err != nil {
				return err
			}
			rows = rows[n:]
		}
	}
	return nil
}

// runBlock is how many entries of a chain have one row for each run that is among them.
const runBlock = 64

// findable notes where the runs of rows are.
func (c *Chain) findable(ctx context.Context, rows []Row) error {
	for i := range rows {
		r := &rows[i]
		if first := r.Seq - r.Seq%runBlock; first != c.block {
			c.block = first
			clear(c.found)
		}
		if r.Run == "" || c.found[r.Run] {
			continue
		}
		if _, err := c.find.ExecContext(ctx, r.Run, r.Chain, c.block); err != nil {
			return err
		}
		c.found[r.Run] = true
	}
	return nil
}

// connect makes the connection and its statements, anew when the file was opened anew.
func (c *Chain) connect(ctx context.Context, pool *sql.DB) (err error) {
	if c.of == pool {
		return nil
	}
	c.drop()
	defer func() {
		if err != nil {
			c.drop()
		}
	}()
	if c.conn, err = pool.Conn(ctx); err != nil {
		return err
	}
	if c.sequence, err = c.conn.PrepareContext(ctx, `UPDATE chains SET seq = $1, hash = $2, open_from = $3 WHERE number = $4 AND seq = $5 AND hash = $6`); err != nil {
		return err
	}
	if c.begin, err = c.conn.PrepareContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if c.commit, err = c.conn.PrepareContext(ctx, "COMMIT"); err != nil {
		return err
	}
	if c.find, err = c.conn.PrepareContext(ctx, `INSERT INTO run_blocks (run, chain, first) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`); err != nil {
		return err
	}
	c.found = map[string]bool{}
	c.inserts = map[int]*sql.Stmt{}
	for _, n := range together {
		// OR FAIL: all is rolled back after an error anyway, and SQLite need not keep what it takes to undo one statement.
		query := `INSERT OR FAIL INTO entries (` + columns + `) VALUES ` + strings.Repeat(`(?,?,?,?,?,?,?,?,?,?,?,?),`, n)
		if c.inserts[n], err = c.conn.PrepareContext(ctx, strings.TrimSuffix(query, ",")); err != nil {
			return err
		}
	}
	c.of = pool
	c.db.keep(c, c.close)
	// It may be another file than the one that the head was read from.
	switch _, written, err := headOf(ctx, pool, c.head.Chain); {
	case err != nil:
		return err
	case written != c.head:
		return &Error{reason: reasonReplaced, Err: fmt.Errorf("chain %d ends at entry %d in it and at entry %d in this process", c.head.Chain, written.Seq, c.head.Seq)}
	}
	return nil
}

// drop lets go of the connection, if there is one.
func (c *Chain) drop() {
	c.db.keep(c, nil)
	c.close()
}

func (c *Chain) close() {
	if c.conn != nil {
		for _, s := range append(slices.Collect(maps.Values(c.inserts)), c.sequence, c.find, c.begin, c.commit) {
			if s != nil {
				s.Close()
			}
		}
		c.conn.Close()
	}
	c.of, c.conn, c.inserts, c.sequence, c.find, c.begin, c.commit = nil, nil, nil, nil, nil, nil, nil
}

// appendPostgres writes rows with one statement, which is a transaction by itself.
func (c *Chain) appendPostgres(ctx context.Context, rows []Row, openFrom int64) error {
	n := len(rows)
	seq, time, call := make([]int64, n), make([]int64, n), make([]int64, n)
	kind, state, run := make([]string, n), make([]string, n), make([]string, n)
	principal, profile, tool, body := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	hash := make([][]byte, n)
	for i := range rows {
		r := &rows[i]
		seq[i], time[i], call[i] = r.Seq, r.Time, r.Call
		kind[i], state[i], run[i] = r.Kind, r.State, r.Run
		principal[i], profile[i], tool[i], body[i] = r.Principal, r.Profile, r.Tool, r.Body
		hash[i] = r.Hash[:]
	}
	last := rows[n-1]
	written, err := c.db.exec(ctx, `WITH head AS (
			UPDATE chains SET seq = $1, hash = $2, open_from = $3, beat = now()
			WHERE number = $4 AND owner = $5 AND seq = $6 AND hash = $7 RETURNING number)
		INSERT INTO entries (`+columns+`)
		SELECT head.number, r.* FROM head, unnest($8::bigint[], $9::bigint[], $10::text[], $11::text[], $12::text[], $13::bigint[],
			$14::text[], $15::text[], $16::text[], $17::bytea[], $18::text[]) AS r`,
		last.Seq, last.Hash[:], openFrom, c.head.Chain, c.name, c.head.Seq, c.head.Hash[:],
		seq, time, kind, state, run, call, principal, profile, tool, hash, body)
	if err != nil {
		return err
	}
	if written != int64(n) {
		return ErrFenced
	}
	return nil
}
