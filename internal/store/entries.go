package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Query selects entries. The zero value selects all.
type Query struct {
	Chain      int64 // 0: every chain
	After      int64 // with Chain: entries after this one
	Before     int64 // with Chain: entries before this one; 0 is no bound
	Run        string
	Principal  string
	Principals []string // any of them
	Profile    string
	Tool       string // * stands for any characters
	Kinds      []string
	States     []string
	Since      time.Time
	Until      time.Time // exclusive

	Newest bool // latest first
	Limit  int  // 0: all
	// Bytes, beside a Limit for all chains, ends the list with the entry whose body makes it so many bytes together; 0 is
	// no bound.
	Bytes int
	// Sealed also reads [Row.Sealed].
	Sealed bool `json:"-"`
}

// Rows calls f for each matching entry: with Chain in the order of the chain, else by time, and entries of one chain
// and one time in the order of the chain. It stops at the first error of f. f must not use the DB.
func (d EntryTable) Rows(ctx context.Context, q Query, f func(*Row) error) error {
	if q.Limit <= 0 || q.Chain != 0 || q.Run != "" {
		return d.rows(ctx, q, f)
	}
	// With a limit and many entries: each chain is nearly in order, so there is no need to sort everything. Reading
	// slightly more than the limit from each chain includes entries that are a little late.
	left, err := d.Ends(ctx)
	if err != nil {
		return err
	}
	var all []*Row
	for _, h := range left {
		of, bytes := q, 0
		of.Chain, of.After, of.Limit = h.Chain, math.MinInt64, q.Limit+lateness
		err := d.rows(ctx, of, func(r *Row) error {
			all = append(all, r)
			if bytes += len(r.Body); q.Bytes > 0 && bytes >= q.Bytes {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
		if q.Bytes > 0 { // not those of every chain at once
			all = q.first(all)
		}
	}
	for _, r := range q.first(all) {
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

// errEnough ends the reading of a chain at [Query.Bytes].
var errEnough = errors.New("enough was read")

// first sorts entries of several chains, and returns those within the bounds.
func (q *Query) first(all []*Row) []*Row {
	slices.SortStableFunc(all, func(a, b *Row) int {
		order := cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Chain, b.Chain), cmp.Compare(a.Seq, b.Seq))
		if q.Newest {
			return -order
		}
		return order
	})
	all = all[:min(len(all), q.Limit)]
	bytes := 0
	for i, r := range all {
		if bytes += len(r.Body); q.Bytes > 0 && bytes >= q.Bytes {
			return all[:i+1]
		}
	}
	return all
}

// lateness is how many entries of a chain may come after one with a later time.
const lateness = 512

func (d EntryTable) rows(ctx context.Context, q Query, f func(*Row) error) error {
	from, where, args := d.conditions(q)
	query := `SELECT ` + columns + ` FROM ` + from
	if q.Sealed {
		query = `SELECT ` + written + ` FROM ` + from
	}
	if len(where) > 0 {
		query += ` WHERE ` + strings.Join(where, " AND ")
	}
	direction := ""
	if q.Newest {
		direction = " DESC"
	}
	by := []string{"time", "chain", "seq"}
	if q.Chain != 0 {
		by = []string{"chain", "seq"}
	}
	query += ` ORDER BY ` + strings.Join(by, direction+", ") + direction
	if q.Limit > 0 {
		query += ` LIMIT ` + strconv.Itoa(q.Limit)
	}
	return d.db.each(ctx, func(scan func(...any) error) error {
		r, err := scanRow(scan, q.Sealed)
		if err != nil {
			return err
		}
		return f(r)
	}, query, args...)
}

// conditions are the tables, conditions and arguments of a query.
func (d EntryTable) conditions(q Query) (from string, where []string, args []any) {
	from = `entries`
	if q.Run != "" && !d.db.Fleet() { // PostgreSQL has an index of the runs
		from = `(SELECT chain AS in_chain, first FROM run_blocks WHERE run = $1)
			CROSS JOIN entries ON chain = in_chain AND seq >= first AND seq < first + $2`
		args = append(args, q.Run, runBlock)
	}
	and := func(condition string, values ...any) {
		for _, v := range values {
			args = append(args, v)
			condition = strings.Replace(condition, "?", "$"+strconv.Itoa(len(args)), 1)
		}
		where = append(where, condition)
	}
	in := func(column string, values []string) {
		if len(values) == 0 {
			return
		}
		all := make([]any, len(values))
		for i, v := range values {
			all[i] = v
		}
		and(column+" IN (?"+strings.Repeat(", ?", len(values)-1)+")", all...)
	}
	if q.Chain != 0 {
		and("chain = ? AND seq > ?", q.Chain, q.After)
		if q.Before != 0 {
			and("seq < ?", q.Before)
		}
	}
	if q.Run != "" {
		and("run <> '' AND run = ?", q.Run)
	}
	if q.Principal != "" {
		and("principal = ?", q.Principal)
	}
	in("principal", q.Principals)
	if q.Profile != "" {
		and("profile = ?", q.Profile)
	}
	if q.Tool != "" {
		// In SQLite LIKE ignores case; GLOB exists only there.
		if !d.db.Fleet() {
			and("tool GLOB ?", strings.NewReplacer("[", "[[]", "?", "[?]").Replace(q.Tool))
		} else {
			and("tool LIKE ?", strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`, "*", "%").Replace(q.Tool))
		}
	}
	in("kind", q.Kinds)
	in("state", q.States)
	if !q.Since.IsZero() {
		and("time >= ?", q.Since.UnixMicro())
	}
	if !q.Until.IsZero() {
		and("time < ?", q.Until.UnixMicro())
	}
	return from, where, args
}

func scanRow(scan func(...any) error, withSealed bool) (*Row, error) {
	var r Row
	var hash, sealed []byte
	into := []any{&r.Chain, &r.Seq, &r.Time, &r.Kind, &r.State, &r.Run, &r.Call, &r.Principal, &r.Profile, &r.Tool, &hash,
		&r.Body}
	if withSealed {
		into = append(into, &sealed)
	}
	err := scan(into...)
	r.Sealed = string(sealed)
	if err == nil && len(hash) != len(r.Hash) {
		hash = nil // verification finds that it does not fit
	}
	copy(r.Hash[:], hash)
	return &r, explain(err)
}

// Abandoned finds chains of writers that died while calls were open. It calls settle with the rows of those calls, once
// for each chain, while no other process can take the chain. If settle returns an error, Abandoned finds them again
// next time.
func (d EntryTable) Abandoned(ctx context.Context, settle func(rows []*Row) error) error {
	chains, err := column[int64](ctx, d.db, `SELECT number FROM chains WHERE open_from <= seq ORDER BY number`)
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range chains {
		errs = append(errs, d.abandoned(ctx, n, settle))
	}
	return errors.Join(errs...)
}

func (d EntryTable) abandoned(ctx context.Context, n int64, settle func([]*Row) error) error {
	free, err := d.hold(ctx, n)
	if free == nil || err != nil {
		return err
	}
	defer free()
	return d.settle(ctx, n, settle)
}

// Settle does the same for the chain itself: its former writer may have died. Call it before the first append.
func (c *Chain) Settle(ctx context.Context, settle func(rows []*Row) error) error {
	return c.db.Entries.settle(ctx, c.head.Chain, settle)
}

// settle handles the calls of chain n that are open.
func (d EntryTable) settle(ctx context.Context, n int64, settle func([]*Row) error) error {
	var from, to int64
	err := d.db.each(ctx, func(scan func(...any) error) error { return scan(&from, &to) },
		`SELECT open_from, seq FROM chains WHERE number = $1`, n)
	if err != nil {
		return err
	}
	var open []*Row
	err = d.db.each(ctx, func(scan func(...any) error) error {
		r, err := scanRow(scan, false)
		open = append(open, r)
		return err
	}, `SELECT `+columns+` FROM entries WHERE chain = $1 AND seq >= $2 AND seq <= $3 AND kind IN ('run', 'call') AND state = 'running'
		ORDER BY seq`, n, from, to)
	if err != nil {
		return err
	}
	// First: the end of a run is written before its parked row is removed.
	if open, err = d.withoutParked(ctx, open); err != nil {
		return err
	}
	if open, err = d.withoutEnd(ctx, open); err != nil {
		return err
	}
	if len(open) > 0 {
		if err := settle(open); err != nil {
			return err
		}
	}
	_, err = d.db.exec(ctx, `UPDATE chains SET open_from = $1 WHERE number = $2 AND open_from < $1`, to+1, n)
	return err
}

// withoutParked leaves out the beginnings of parked runs: the process that resumes them records how they end.
func (d EntryTable) withoutParked(ctx context.Context, begun []*Row) ([]*Row, error) {
	parked, err := column[string](ctx, d.db, `SELECT run FROM parked`)
	return slices.DeleteFunc(begun, func(b *Row) bool { return b.Kind == "run" && slices.Contains(parked, b.Run) }), err
}

// withoutEnd returns the entries that begin a run or a call without an end: no later entry of any chain says how it
// ended.
func (d EntryTable) withoutEnd(ctx context.Context, begun []*Row) ([]*Row, error) {
	type what struct {
		kind, run string
		call      int64
	}
	last := map[what]int64{} // when it ended
	asked := map[string]bool{"": true}
	for _, b := range begun {
		if asked[b.Run] {
			continue
		}
		asked[b.Run] = true
		err := d.rows(ctx, Query{Run: b.Run, Kinds: []string{"run", "call"}}, func(r *Row) error {
			if r.State != "running" && r.State != "pending" {
				k := what{r.Kind, r.Run, r.Call}
				last[k] = max(last[k], r.Time)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(begun, func(b *Row) bool {
		end, ended := last[what{b.Kind, b.Run, b.Call}]
		return ended && end >= b.Time
	}), nil
}

// hold takes the chain of a dead writer for a while; free is nil if the writer lives.
func (d EntryTable) hold(ctx context.Context, n int64) (free func(), err error) {
	if !d.db.Fleet() {
		lock, err := tryLock(d.db.conns.file.path + "-chain-" + strconv.FormatInt(n, 10))
		if lock == nil {
			return nil, err
		}
		return func() { lock.Close() }, nil
	}
	c, name := &Chain{db: d.db, head: Head{Chain: n}}, "settling"
	c.name.Store(&name)
	held, err := d.db.exec(ctx, `UPDATE chains SET owner = $1, beat = now() WHERE number = $2
		AND (owner IN ('', $4) OR beat < now() - $3::interval)`, name, n, deadAfter.String(), closedChain)
	if held == 0 || err != nil {
		return nil, err
	}
	return func() {
		if err := c.release(context.WithoutCancel(ctx)); err != nil {
			d.db.log.Warn("releasing a chain of the record failed; it is free when its hold ends", "chain", n, "error", err)
		}
	}, nil
}

// Check asks the database where the chain ends, after a failed append of rows, and reports whether they are there after
// all. If it reports false without an error, they never will be. An end that is neither the one before nor the one
// after the rows is [ErrFenced], and so is a chain that another process took over.
func (c *Chain) Check(ctx context.Context, rows []Row) (there bool, err error) {
	mine, err := c.fence(ctx)
	if err != nil {
		return false, explain(err)
	}
	_, written, err := c.db.Entries.headOf(ctx, c.head.Chain)
	if err != nil {
		return false, explain(err)
	}
	if mine && written == c.head {
		return false, nil
	}
	if len(rows) > 0 {
		last := rows[len(rows)-1]
		err := c.db.Entries.Rows(ctx, Query{Chain: last.Chain, After: last.Seq - 1, Limit: 1}, func(r *Row) error {
			there = r.Seq == last.Seq && r.Hash == last.Hash
			return nil
		})
		if err != nil {
			return false, err
		}
		if mine && there && written.Seq == last.Seq {
			c.head = written
			return true, nil
		}
	}
	return there, fmt.Errorf("chain %d ends at entry %d and was left at %d: %w", c.head.Chain, written.Seq, c.head.Seq,
		ErrFenced)
}
