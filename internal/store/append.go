package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Append adds all rows or none, and returns when they are on disk. They must follow the head without a gap. openFrom is
// the first entry of this chain with a call that may still be open.
//
// After an error other than [ErrFenced] it is unknown whether the rows are there: call [Chain.Check].
func (c *Chain) Append(ctx context.Context, rows []Row, openFrom int64) error {
	for i, r := range rows {
		if r.Chain != c.head.Chain || r.Seq != c.head.Seq+int64(i)+1 {
			panic(fmt.Sprintf("store: row %d/%d does not follow the head %d/%d", r.Chain, r.Seq, c.head.Chain, c.head.Seq))
		}
	}
	var signed *Signed
	var err error
	if c.sign != nil {
		if signed, err = c.sign(rows); err != nil {
			return err
		}
	}
	begun := time.Now()
	watch := time.AfterFunc(answerWait, func() { c.db.stall.unheard(begun) })
	if c.lock != nil {
		err = c.appendFile(ctx, rows, openFrom, signed)
	} else {
		err = c.appendPostgres(ctx, rows, openFrom, signed)
	}
	watch.Stop()
	if err != nil {
		return explain(err)
	}
	c.db.stall.heard()
	last := rows[len(rows)-1]
	c.head.Seq, c.head.Hash = last.Seq, last.Hash
	return nil
}

// together lists how many rows one statement inserts, in descending order.
var together = [...]int{16, 8, 4, 2, 1}

const columns = `chain, seq, time, kind, state, run, call, principal, profile, tool, hash, body`

// written are the columns of a new row, and width is their number.
const (
	written = columns + `, sealed`
	width   = 13
)

// appendValues adds the columns of the row to the arguments of a statement.
func (r *Row) appendValues(to []any) []any {
	return append(to, r.Chain, r.Seq, r.Time, r.Kind, r.State, r.Run, r.Call, r.Principal, r.Profile, r.Tool, r.Hash[:],
		r.Body, []byte(r.Sealed))
}

// appendFile writes rows in one transaction on the chain's own connection.
func (c *Chain) appendFile(ctx context.Context, rows []Row, openFrom int64, signed *Signed) error {
	finished, err := c.db.writer.begin(ctx)
	if err != nil {
		return err
	}
	defer finished()
	pool, done, err := c.db.conns.use(ctx)
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
	// From here on this waits for the disk and, for a bounded time set on the connection, for another process. The
	// driver starts a goroutine for each cancelable statement, which took a twentieth of the time of a recorded call.
	ctx = context.WithoutCancel(ctx)
	err = whileLocked(ctx, c.db.options.Wait, func() error { _, err := c.begin.ExecContext(ctx); return err })
	if err != nil {
		c.drop()
		return err
	}
	if err = c.write(ctx, rows, openFrom, signed); err == nil {
		_, err = c.commit.ExecContext(ctx)
	}
	if err == nil {
		return nil
	}
	clear(c.found)
	// A statement that failed because the disk is full may have ended the transaction itself.
	if _, back := c.conn.ExecContext(ctx, "ROLLBACK"); back != nil {
		c.drop()
	}
	return err
}

func (c *Chain) write(ctx context.Context, rows []Row, openFrom int64, signed *Signed) error {
	last := rows[len(rows)-1]
	result, err := c.sequence.ExecContext(ctx, last.Seq, last.Hash[:], openFrom, c.head.Chain, c.head.Seq, c.head.Hash[:],
		tailOf(signed))
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, ErrFenced)
	}
	if err := c.findable(ctx, rows); err != nil {
		return err
	}
	for _, n := range together {
		for len(rows) >= n {
			values := make([]any, 0, n*width)
			for i := range rows[:n] {
				values = rows[i].appendValues(values)
			}
			if _, err := c.inserts[n].ExecContext(ctx, values...); err != nil {
				return err
			}
			rows = rows[n:]
		}
	}
	if signed == nil || signed.Note == "" {
		return nil
	}
	_, err = c.seal.ExecContext(ctx, signed.Note, signed.Tree, c.head.Chain)
	return err
}

// tailOf returns the authentication of an end. An unsigned append removes the one of an earlier end.
func tailOf(s *Signed) []byte {
	if s == nil || s.Tail == nil {
		return []byte{}
	}
	return s.Tail
}

// runBlock is how many entries of a chain form a block: run_blocks has one row for each run in a block.
const runBlock = 64

// findable records the blocks that contain the runs of rows.
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

// connect makes the connection and its statements, also after the file was reopened.
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
	if err := c.prepare(ctx); err != nil {
		return err
	}
	c.of = pool
	c.db.conns.keep(c, c.close)
	// It may not be the file from which the head was read.
	switch _, there, err := headOf(ctx, pool, c.head.Chain); {
	case err != nil:
		return err
	case there != c.head:
		return &failure{reason: reasonReplaced,
			Err: fmt.Errorf("chain %d ends at entry %d in the file and at entry %d in this process", c.head.Chain, there.Seq,
				c.head.Seq)}
	}
	return nil
}

// prepare prepares the statements.
func (c *Chain) prepare(ctx context.Context) (err error) {
	prepare := func(query string) *sql.Stmt {
		if err != nil {
			return nil
		}
		var s *sql.Stmt
		if s, err = c.conn.PrepareContext(ctx, query); err == nil {
			c.statements = append(c.statements, s)
		}
		return s
	}
	c.begin, c.commit = prepare("BEGIN IMMEDIATE"), prepare("COMMIT")
	c.sequence = prepare(`UPDATE chains SET seq = $1, hash = $2, open_from = $3, tail = $7 WHERE number = $4 AND seq = $5 AND hash = $6`)
	c.seal = prepare(`UPDATE chains SET checkpoint = $1, tree = $2 WHERE number = $3`)
	c.find = prepare(`INSERT INTO run_blocks (run, chain, first) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`)
	c.found = map[string]bool{}
	c.inserts = map[int]*sql.Stmt{}
	for _, n := range together {
		// OR FAIL: an error rolls back everything anyway, so SQLite need not store what it takes to undo one statement.
		query := `INSERT OR FAIL INTO entries (` + written + `) VALUES ` +
			strings.Repeat(`(?`+strings.Repeat(`,?`, width-1)+`),`, n)
		c.inserts[n] = prepare(strings.TrimSuffix(query, ","))
	}
	if err == nil {
		_, err = c.conn.ExecContext(ctx, hurry)
	}
	return err
}

// appendPostgres writes rows with one statement, which is a transaction by itself.
func (c *Chain) appendPostgres(ctx context.Context, rows []Row, openFrom int64, signed *Signed) error {
	n := len(rows)
	seq, time, call := make([]int64, n), make([]int64, n), make([]int64, n)
	kind, state, run := make([]string, n), make([]string, n), make([]string, n)
	principal, profile, tool, body := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	hash, sealed := make([][]byte, n), make([][]byte, n)
	for i := range rows {
		r := &rows[i]
		seq[i], time[i], call[i] = r.Seq, r.Time, r.Call
		kind[i], state[i], run[i] = r.Kind, r.State, r.Run
		principal[i], profile[i], tool[i], body[i] = r.Principal, r.Profile, r.Tool, r.Body
		hash[i], sealed[i] = r.Hash[:], []byte(r.Sealed)
	}
	last := rows[n-1]
	var note *string
	var tree []byte
	if signed != nil && signed.Note != "" {
		note, tree = &signed.Note, signed.Tree
	}
	count, err := c.db.perform(ctx, `WITH head AS (
			UPDATE chains SET seq = $1, hash = $2, open_from = $3, beat = now(), checkpoint = COALESCE($19, checkpoint), tree = COALESCE($20, tree), tail = $21
			WHERE number = $4 AND owner = $5 AND seq = $6 AND hash = $7 RETURNING number)
		INSERT INTO entries (`+written+`)
		SELECT head.number, r.* FROM head, unnest($8::bigint[], $9::bigint[], $10::text[], $11::text[], $12::text[], $13::bigint[],
			$14::text[], $15::text[], $16::text[], $17::bytea[], $18::text[], $22::bytea[]) AS r`,
		last.Seq, last.Hash[:], openFrom, c.head.Chain, *c.name.Load(), c.head.Seq, c.head.Hash[:],
		seq, time, kind, state, run, call, principal, profile, tool, hash, body, note, tree, tailOf(signed),
		sealed)
	if err != nil {
		return err
	}
	if count != int64(n) {
		return ErrFenced
	}
	return nil
}
