package store

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// A DB is an open database. Many goroutines may call its methods. Errors that say why it is currently unavailable have
// a method Reason() string, which names no files, hosts or users.
type DB struct {
	Approvals ApprovalTable
	Budgets   BudgetTable
	Entries   EntryTable
	Grants    GrantTable
	Keys      KeyTable
	Logins    LoginTable
	Outcomes  OutcomeTable
	Overlays  OverlayTable
	Results   ResultTable
	Runs      RunTable
	Seats     SeatTable
	Sessions  SessionTable

	options Options
	writer  *writer // to the file; nil for PostgreSQL
	log     *slog.Logger
	line    *line // for a connection to PostgreSQL; nil for a file
	conns   connections
	stop    context.CancelFunc // ends the background work
	beside  sync.WaitGroup
	watch   watchers
	seal    seal
	claims  claims
	stall   stall
	silent  atomic.Bool // for tests: this process sends no heartbeats

	mostOutcomes int // maxOutcomes, or fewer in tests
}

// The tables. Each has the methods of its rows.
type (
	ApprovalTable struct{ db *DB } // questions to people and their answers
	BudgetTable   struct{ db *DB } // what all runs have used of budgets
	EntryTable    struct{ db *DB } // the record: chains of entries
	GrantTable    struct{ db *DB } // remembered answers
	KeyTable      struct{ db *DB } // idempotency keys
	LoginTable    struct{ db *DB } // tokens at servers
)

// ID identifies the database. A copy of the database has the same ID.
func (d *DB) ID() string { return d.conns.id }

// Fleet reports whether other replicas may share the database.
func (d *DB) Fleet() bool { return d.conns.file == nil }

// Close may be called twice. Release the chains first.
func (d *DB) Close() error {
	d.stall.close()
	if !d.conns.end() {
		return nil
	}
	d.stop()
	d.beside.Wait()
	d.claims.end()
	d.watch.close()
	return d.conns.close()
}

// limited begins a use of the database with steps no longer than limit; [use.end] ends it. There is no limit for a
// file, because this process itself does the work, and [writer.turn] bounds the wait for a turn. Nor is there one for a
// read-only command: it reads a whole record, and a person can stop it. The wait for a connection does not count.
func (d *DB) limited(ctx context.Context, limit time.Duration) (*use, error) {
	s := &d.stall
	if _, err := s.begin(); err != nil {
		return nil, err
	}
	freed, err := d.line.enter(ctx, nil)
	if err != nil {
		return nil, explain(err)
	}
	uses, err := s.begin()
	if err != nil { // a stall began in the meantime
		freed()
		return nil, err
	}
	u := &use{stall: s, limit: limit, begun: time.Now(), freed: freed}
	u.Context, u.cancel = context.WithCancelCause(ctx)
	u.leave = context.AfterFunc(uses, func() { u.cancel(context.Cause(uses)) })
	if d.Fleet() && !d.options.ReadOnly {
		u.timer = time.AfterFunc(limit, func() { u.cancel(errStalled) })
	}
	return u, nil
}

// transact runs f in one transaction, which takes no longer than limit.
func (d *DB) transact(ctx context.Context, limit time.Duration, f func(ctx context.Context, tx *sql.Tx) error) error {
	u, err := d.limited(ctx, limit)
	if err != nil {
		return err
	}
	return u.end(d.transaction(u, f))
}

func (d *DB) transaction(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	if d.Fleet() {
		return d.conns.inTransaction(ctx, f)
	}
	return d.writer.together(ctx, f)
}

// exec runs one statement and returns how many rows it changed.
func (d *DB) exec(ctx context.Context, query string, args ...any) (int64, error) {
	return d.execWithin(ctx, answerWait, query, args...)
}

func (d *DB) execWithin(ctx context.Context, limit time.Duration, query string, args ...any) (n int64, err error) {
	u, err := d.limited(ctx, limit)
	if err != nil {
		return 0, err
	}
	n, err = d.perform(u, query, args...)
	return n, u.end(err)
}

// perform is exec without a limit of its own.
func (d *DB) perform(ctx context.Context, query string, args ...any) (n int64, err error) {
	if !d.Fleet() {
		err = d.transaction(ctx, func(ctx context.Context, tx *sql.Tx) error {
			result, err := tx.ExecContext(ctx, query, args...)
			if err != nil {
				return err
			}
			n, err = result.RowsAffected()
			return err
		})
		return n, err
	}
	pool, done, err := d.conns.use(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	result, err := pool.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// each calls f for every row of a query; scan reads the row. f must not use the DB.
func (d *DB) each(ctx context.Context, f func(scan func(...any) error) error, query string, args ...any) error {
	u, err := d.limited(ctx, answerWait)
	if err != nil {
		return err
	}
	failed, err := d.query(u, f, query, args...)
	if err = u.end(err); err != nil {
		return err
	}
	return failed
}

// column returns the values of a query for one column.
func column[T any](ctx context.Context, d *DB, query string, args ...any) (all []T, err error) {
	err = d.each(ctx, func(scan func(...any) error) error {
		var v T
		err := scan(&v)
		all = append(all, v)
		return explain(err)
	}, query, args...)
	return all, err
}

// query is each without a limit for the whole query. failed is the error of f.
func (d *DB) query(u *use, f func(scan func(...any) error) error, query string, args ...any) (failed, err error) {
	pool, done, err := d.conns.use(u)
	if err != nil {
		return nil, err
	}
	defer done()
	rows, err := pool.QueryContext(u, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for u.step(rows.Next) {
		if failed = f(rows.Scan); failed != nil {
			return failed, nil
		}
	}
	return nil, rows.Err()
}

// Watch returns a channel that receives after each change of one of the tables, by any process, and once when it
// connects; it is closed with the DB. stop ends it.
func (d *DB) Watch(tables ...string) (changed <-chan struct{}, stop func()) {
	return d.watch.add(tables)
}

// changed notifies the watchers in this process at once; other processes detect the change themselves.
func (d *DB) changed(t string) {
	if !d.Fleet() {
		d.watch.tell(t)
	}
}

// Ping returns nil if the database answers a query.
func (d *DB) Ping(ctx context.Context) error {
	return d.each(ctx, func(scan func(...any) error) error { var id string; return scan(&id) },
		`SELECT value FROM meta WHERE name = 'id'`)
}

// Harden makes all acknowledged data survive even a power cut, where [Options.Relaxed] does not promise that.
func (d *DB) Harden(ctx context.Context) error {
	if d.Fleet() || !d.options.Relaxed {
		return nil
	}
	written, err := d.writer.turn(ctx)
	if err != nil {
		return err
	}
	defer written()
	pool, done, err := d.conns.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = pool.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)") // which syncs the log, and then the file
	return explain(err)
}

// once runs a statement that may change one row. ErrTaken says that it changed none.
func (d *DB) once(ctx context.Context, query string, args ...any) error {
	return one(d.exec(ctx, query, args...))
}

// first returns the only row of a query for one row. [ErrNotFound] says that there is none.
func first[T any](all []*T, err error) (*T, error) {
	if err == nil && len(all) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// one converts the count of a statement that may change one row, and changed n, to an error.
func one(n int64, err error) error {
	if err == nil && n == 0 {
		return ErrTaken
	}
	return err
}

// lockRun makes transactions about one run follow each other, until they end. Those on SQLite always do.
func (d *DB) lockRun(ctx context.Context, tx *sql.Tx, run string) error {
	if !d.Fleet() {
		return nil
	}
	_, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, run)
	return err
}

// boolean converts a truth value for the database: SQLite has no such type.
func (d *DB) boolean(b bool) any {
	if d.Fleet() {
		return b
	}
	if b {
		return int64(1)
	}
	return int64(0)
}

func (d *DB) now() int64 { return d.options.Now().UnixMicro() }

func fromMicro(us int64) time.Time { return time.UnixMicro(us).UTC() }

// The other tables.
type (
	OutcomeTable struct{ db *DB } // results of runs that ended without their client
	OverlayTable struct{ db *DB } // overlays of sessions
	ResultTable  struct{ db *DB } // kept results
	RunTable     struct{ db *DB } // runs that wait or run
	SeatTable    struct{ db *DB } // processes that share the database
	SessionTable struct{ db *DB } // sessions of programs, with their versions
)

// onceIn is DB.once in a transaction.
func onceIn(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	result, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return err
	}
	return one(result.RowsAffected())
}
