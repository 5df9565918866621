package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
)

// together is how many rows one statement inserts, the most first.
var together = [...]int{16, 8, 4, 2, 1}

const columns = `chain, seq, time, kind, state, run, call, principal, profile, tool, hash, body`

// width is how many columns there are.
const width = 12

// An execer is a statement of the driver. database/sql, which is made for statements that several goroutines share,
// copies and checks all arguments of each execution.
type execer interface {
	driver.Stmt
	driver.StmtExecContext
}

// arguments makes room for those of a statement.
func arguments(values ...driver.Value) []driver.NamedValue {
	args := make([]driver.NamedValue, len(values))
	for i, v := range values {
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return args
}

// put writes the columns of a row to where those of another may be, or were. A text that is as in before is shared with it.
func (r *Row) put(to, before []driver.NamedValue) {
	text := func(column int, s string) {
		to[column].Value = before[column].Value
		if old, ok := before[column].Value.(string); !ok || old != s {
			to[column].Value = s
		}
	}
	to[0].Value, to[1].Value, to[2].Value = r.Chain, r.Seq, r.Time
	text(3, r.Kind)
	text(4, r.State)
	text(5, r.Run)
	to[6].Value = r.Call
	text(7, r.Principal)
	text(8, r.Profile)
	text(9, r.Tool)
	to[10].Value, to[11].Value = r.Hash[:], r.Body
}

// appendFile writes rows in one transaction on the chain's own connection.
func (c *Chain) appendFile(ctx context.Context, rows []Row, openFrom int64, signed *Signed) error {
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
	begun := false
	err = c.conn.Raw(func(any) error {
		if _, err := c.begin.ExecContext(ctx, nil); err != nil {
			return err
		}
		begun = true
		if err := c.write(ctx, rows, openFrom, signed); err != nil {
			return err
		}
		_, err := c.commit.ExecContext(ctx, nil)
		return err
	})
	if err != nil && begun {
		clear(c.found)
		// A statement that failed for want of space may have ended the transaction itself.
		if _, back := c.conn.ExecContext(ctx, "ROLLBACK"); back != nil {
			c.drop()
		}
	}
	return err
}

func (c *Chain) write(ctx context.Context, rows []Row, openFrom int64, signed *Signed) error {
	last := rows[len(rows)-1]
	result, err := c.sequence.ExecContext(ctx, arguments(last.Seq, last.Hash[:], openFrom, c.head.Chain, c.head.Seq, c.head.Hash[:], tailOf(signed)))
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, ErrFenced)
	}
	if err := c.findable(ctx, rows); err != nil {
		return err
	}
	before := c.columns[:width]
	for _, n := range together {
		for len(rows) >= n {
			for i := range rows[:n] {
				to := c.columns[i*width : (i+1)*width]
				rows[i].put(to, before)
				before = to
			}
			if _, err := c.inserts[n].ExecContext(ctx, c.columns[:n*width]); err != nil {
				return err
			}
			rows = rows[n:]
		}
	}
	if signed == nil || signed.Note == "" {
		return nil
	}
	_, err = c.seal.ExecContext(ctx, arguments(signed.Note, signed.Tree, c.head.Chain))
	return err
}

// tailOf is what is signed of an end; an append that nobody signs leaves none of an earlier end.
func tailOf(s *Signed) []byte {
	if s == nil || s.Tail == nil {
		return []byte{}
	}
	return s.Tail
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
		if _, err := c.find.ExecContext(ctx, arguments(r.Run, r.Chain, c.block)); err != nil {
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
	err = c.conn.Raw(func(of any) error { return c.prepare(ctx, of.(driver.ConnPrepareContext)) })
	if err != nil {
		return err
	}
	c.of = pool
	c.db.keep(c, c.close)
	// It may be another file than the one that the head was read from.
	switch _, written, err := headOf(ctx, pool, c.head.Chain); {
	case err != nil:
		return err
	case written != c.head:
		return &failure{reason: reasonReplaced, Err: fmt.Errorf("chain %d ends at entry %d in it and at entry %d in this process", c.head.Chain, written.Seq, c.head.Seq)}
	}
	return nil
}

// prepare makes the statements.
func (c *Chain) prepare(ctx context.Context, of driver.ConnPrepareContext) error {
	prepare := func(query string) (execer, error) {
		s, err := of.PrepareContext(ctx, query)
		if err != nil {
			return nil, err
		}
		c.statements = append(c.statements, s)
		return s.(execer), nil
	}
	var err error
	if c.sequence, err = prepare(`UPDATE chains SET seq = $1, hash = $2, open_from = $3, tail = $7 WHERE number = $4 AND seq = $5 AND hash = $6`); err != nil {
		return err
	}
	if c.seal, err = prepare(`UPDATE chains SET checkpoint = $1, tree = $2 WHERE number = $3`); err != nil {
		return err
	}
	if c.begin, err = prepare("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if c.commit, err = prepare("COMMIT"); err != nil {
		return err
	}
	if c.find, err = prepare(`INSERT INTO run_blocks (run, chain, first) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`); err != nil {
		return err
	}
	c.found = map[string]bool{}
	c.inserts = map[int]execer{}
	for _, n := range together {
		// OR FAIL: all is rolled back after an error anyway, and SQLite need not keep what it takes to undo one statement.
		query := `INSERT OR FAIL INTO entries (` + columns + `) VALUES ` + strings.Repeat(`(?,?,?,?,?,?,?,?,?,?,?,?),`, n)
		if c.inserts[n], err = prepare(strings.TrimSuffix(query, ",")); err != nil {
			return err
		}
	}
	c.columns = arguments(make([]driver.Value, together[0]*width)...)
	return nil
}

// drop lets go of the connection, if there is one.
func (c *Chain) drop() {
	c.db.keep(c, nil)
	c.close()
}

func (c *Chain) close() {
	if c.conn != nil {
		_ = c.conn.Raw(func(any) error { // or it is closed already
			for _, s := range c.statements {
				_ = s.Close()
			}
			return nil
		})
		c.conn.Close()
	}
	c.of, c.conn, c.statements, c.columns = nil, nil, nil, nil
}

// appendPostgres writes rows with one statement, which is a transaction by itself.
func (c *Chain) appendPostgres(ctx context.Context, rows []Row, openFrom int64, signed *Signed) error {
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
	var note *string
	var tree []byte
	if signed != nil && signed.Note != "" {
		note, tree = &signed.Note, signed.Tree
	}
	written, err := c.db.perform(ctx, `WITH head AS (
			UPDATE chains SET seq = $1, hash = $2, open_from = $3, beat = now(), checkpoint = COALESCE($19, checkpoint), tree = COALESCE($20, tree), tail = $21
			WHERE number = $4 AND owner = $5 AND seq = $6 AND hash = $7 RETURNING number)
		INSERT INTO entries (`+columns+`)
		SELECT head.number, r.* FROM head, unnest($8::bigint[], $9::bigint[], $10::text[], $11::text[], $12::text[], $13::bigint[],
			$14::text[], $15::text[], $16::text[], $17::bytea[], $18::text[]) AS r`,
		last.Seq, last.Hash[:], openFrom, c.head.Chain, *c.name.Load(), c.head.Seq, c.head.Hash[:],
		seq, time, kind, state, run, call, principal, profile, tool, hash, body, note, tree, tailOf(signed))
	if err != nil {
		return err
	}
	if written != int64(n) {
		return ErrFenced
	}
	return nil
}
