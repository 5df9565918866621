package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// pageSize lets a page hold more than one usual entry; with the default of 4096 many entries would take a page
	// each.
	pageSize = 8192
	// checkpointPages is how many pages the log has when a commit moves it into the file.
	checkpointPages = 4000
	// idleConns is how many connections stay open for the next reader: opening one takes longer than most statements.
	idleConns = 8
	// walAlarm is a size of the write-ahead log which shows that a reader has blocked it for long.
	walAlarm = 512 << 20
	// healthEvery is how often a fresh connection checks that the file can still be opened: the open connection has
	// most of it in memory, and would continue to write to a file that no later process can read.
	healthEvery = 5 * time.Second
	// sqliteLeast is the first version without the bug that could lose commits when the log was reset.
	sqliteLeast = "3.51.3"
)

// A file is the state of the SQLite file when it was opened.
type file struct {
	path string

	// Written under connections.gate.
	info     os.FileInfo // of the database
	raw      *os.File    // the same file, for checks
	pageSize int

	mu      sync.Mutex
	wal     os.FileInfo // of its write-ahead log; nil before the first write
	damaged error       // the result of the last health check
	alarmed bool
}

func (f *file) dsn(readOnly, create bool, o Options) string {
	q := url.Values{}
	mode := "rw"
	switch {
	case readOnly:
		mode = "ro"
	case create:
		mode = "rwc"
	}
	q.Set("mode", mode)
	q.Set("_txlock", "immediate")
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", o.Wait.Milliseconds()))
	synchronous := "full"
	if o.Relaxed {
		synchronous = "normal"
	}
	for _, p := range []string{
		"synchronous(" + synchronous + ")", "fullfsync(1)", "checkpoint_fullfsync(1)", "trusted_schema(0)",
		"cell_size_check(1)", "recursive_triggers(1)",
		"wal_autocheckpoint(" + strconv.Itoa(checkpointPages) + ")", "cache_size(-16000)", "temp_store(memory)",
	} {
		q.Add("_pragma", p)
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: f.path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// openFile opens the file for the first time.
func (c *connections) openFile(ctx context.Context) error {
	path, err := filepath.Abs(c.options.Path)
	c.file = &file{path: path}
	if err != nil {
		return err
	}
	create := !c.options.ReadOnly
	if err := prepareFile(path, create); err != nil {
		return err
	}
	c.pool, err = c.connect(ctx, create)
	if err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	return nil
}

// prepareFile creates the file if allowed, readable only by its owner, before SQLite opens it.
func prepareFile(path string, create bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && create:
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return nil // another process was faster
		}
		if err != nil {
			return err
		}
		return f.Close()
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file", path)
	case create && info.Mode().Perm()&0o077 != 0:
		return os.Chmod(path, info.Mode().Perm()&0o700)
	}
	return nil
}

// connect opens the file and makes sure that it is ours.
func (c *connections) connect(ctx context.Context, create bool) (*sql.DB, error) {
	f, o := c.file, c.options
	before, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	pool, err := sql.Open("sqlite", f.dsn(o.ReadOnly, create, o))
	if err != nil {
		return nil, err
	}
	pool.SetMaxIdleConns(idleConns)
	pool.SetConnMaxIdleTime(time.Minute)
	fail := func(err error) (*sql.DB, error) { return nil, errors.Join(err, pool.Close()) }
	if err := checkVersion(ctx, pool); err != nil {
		return fail(err)
	}
	if create {
		if err := initFile(ctx, pool, o.Wait); err != nil {
			return fail(err)
		}
	}
	tables := schema{file: "sqlite.sql", version: userVersion, set: setUserVersion, readOnly: !create}
	if err := tables.ensure(ctx, pool); err != nil {
		return fail(err)
	}
	id, err := readMeta(ctx, pool)
	if err != nil {
		return fail(err)
	}
	if create {
		if err := c.settleLog(ctx, pool, id); err != nil {
			return fail(err)
		}
	}
	if err := pool.QueryRowContext(ctx, "PRAGMA page_size").Scan(&f.pageSize); err != nil {
		return fail(err)
	}
	if c.id != "" && c.id != id {
		return fail(&failure{reason: reasonReplaced, Err: fmt.Errorf("%s is the database %s now and was %s", f.path, id,
			c.id)})
	}
	after, err := os.Stat(f.path)
	if err != nil || !os.SameFile(before, after) {
		return fail(errors.Join(err, &failure{reason: reasonReplaced}))
	}
	f.close()
	if f.raw, err = os.Open(f.path); err != nil {
		return fail(err)
	}
	c.id, f.info = id, after
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wal, f.damaged = nil, nil
	if wal, err := os.Stat(f.path + "-wal"); err == nil {
		f.wal = wal
	}
	return pool, nil
}

// settleLog makes sure that the file alone contains its identity, and that the log beside it belongs to it: a process
// that died may have left a log, and somebody may have put another file beside it since.
func (c *connections) settleLog(ctx context.Context, pool *sql.DB, id string) error {
	alone, err := c.idWithoutLog(ctx)
	if err == nil && alone != id {
		return &failure{reason: reasonReplaced, Err: fmt.Errorf("%s is the database %s, and the log beside it is that of %s",
			c.file.path, alone, id)}
	}
	if err != nil { // it is new, and only in the log
		_, err = pool.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
	}
	return err
}

// checkVersion refuses a library that could lose a commit.
func checkVersion(ctx context.Context, pool *sql.DB) error {
	var version string
	if err := pool.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&version); err != nil {
		return err
	}
	if older(version, sqliteLeast) {
		return fmt.Errorf("the SQLite library is %s, and versions before %s may lose commits when the log is reset", version,
			sqliteLeast)
	}
	return nil
}

func older(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		n, _ := strconv.Atoi(x[i])
		m, _ := strconv.Atoi(y[i])
		if n != m {
			return n < m
		}
	}
	return len(x) < len(y)
}

// initFile applies the settings that must precede the first table.
func initFile(ctx context.Context, pool *sql.DB, wait time.Duration) error {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA page_size = %d", pageSize)); err != nil {
		return err
	}
	// If several processes switch to the write-ahead log at the same moment, the library refuses some at once, despite its
	// busy_timeout, because a process that waited while it reads could keep the other from ever writing.
	var mode string
	err = whileLocked(ctx, wait, func() error {
		return conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
	})
	if err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file system allows no write-ahead log (journal mode %s)", mode)
	}
	return nil
}

// whileLocked tries again for so long while another process has the lock that do needs.
func whileLocked(ctx context.Context, wait time.Duration, do func() error) error {
	for began := time.Now(); ; {
		err := do()
		if err == nil || reason(err) != reasonLocked || time.Since(began) >= wait {
			return err
		}
		select {
		case <-time.After(time.Millisecond + rand.N(2*time.Millisecond)): // spread the retries in time
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// hurry has a connection to the file leave the wait for the lock to write to [whileLocked]. The library would wait
// longer after each attempt, up to 100 ms: of several processes that write all the time, the one that has waited
// longest would come last, and perhaps not in time.
const hurry = "PRAGMA busy_timeout = 1"

// patient undoes hurry. Readers seldom meet a lock.
func (c *connections) patient() string {
	return fmt.Sprintf("PRAGMA busy_timeout = %d", c.options.Wait.Milliseconds())
}

// begin begins a transaction that writes.
func (c *connections) begin(ctx context.Context, conn *sql.Conn) (tx *sql.Tx, err error) {
	if c.file == nil {
		return conn.BeginTx(ctx, nil)
	}
	if _, err := conn.ExecContext(ctx, hurry); err != nil {
		return nil, err
	}
	err = whileLocked(ctx, c.options.Wait, func() error {
		tx, err = conn.BeginTx(context.WithoutCancel(ctx), nil)
		return err
	})
	if _, undone := conn.ExecContext(context.WithoutCancel(ctx), c.patient()); undone != nil {
		err = errors.Join(err, undone)
	}
	if err != nil && tx != nil {
		err = errors.Join(err, tx.Rollback())
	}
	return tx, err
}

func userVersion(ctx context.Context, q querier) (n int, err error) {
	err = q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&n)
	return n, err
}

func setUserVersion(ctx context.Context, tx *sql.Tx, n int) error {
	_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", n))
	return err
}

// checkFile checks, before each use, that the open file is still the one at its path; anew says to reopen it. The
// caller holds the gate for reading.
func (c *connections) checkFile() (anew bool, err error) {
	f := c.file
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, &failure{reason: reasonDeleted,
			Err: fmt.Errorf("%s is gone: put it back, or stop codemode and move what is left of it away", f.path)}
	case err != nil:
		return false, err
	case info.Mode().Perm()&0o200 == 0 && !c.options.ReadOnly:
		return false, &failure{reason: reasonReadOnly, Err: fmt.Errorf("%s may not be written (mode %v)", f.path,
			info.Mode().Perm())}
	case c.pool == nil || !os.SameFile(info, f.info):
		return true, nil
	case c.options.ReadOnly:
		return false, nil
	}
	if err := f.checkHeader(); err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.damaged != nil {
		return false, &failure{reason: reasonDamaged, Err: f.damaged}
	}
	switch wal, err := os.Stat(f.path + "-wal"); {
	case err == nil && f.wal == nil:
		f.wal = wal
	case err == nil && os.SameFile(wal, f.wal):
		if big := wal.Size() > walAlarm; big != f.alarmed {
			f.alarmed = big
			if big {
				c.options.Log.Warn("the write-ahead log of the record is large: another program has been reading the file for long",
					"file", f.path+"-wal", "bytes", wal.Size())
			}
		}
	case f.wal != nil: // deleted or replaced: closing moves its content into the file
		return true, nil
	}
	return false, nil
}

// sqliteMagic is the beginning of a database, up to the page size.
const sqliteMagic = "SQLite format 3\x00"

// checkHeader reads the beginning of the file from disk. The library has it in memory, and would continue to write to a
// file that no later process can open.
func (f *file) checkHeader() error {
	var head [len(sqliteMagic) + 2]byte
	if _, err := f.raw.ReadAt(head[:], 0); err != nil {
		return &failure{reason: reasonDamaged, Err: fmt.Errorf("reading the beginning of %s: %w", f.path, err)}
	}
	if string(head[:len(sqliteMagic)]) != sqliteMagic || int(head[16])<<8|int(head[17]) != f.pageSize {
		return &failure{reason: reasonDamaged, Err: fmt.Errorf("the beginning of %s was overwritten", f.path)}
	}
	return nil
}

// close closes the file itself. It must come last: closing any descriptor of a file drops all locks of the process on
// it, including the library's.
func (f *file) close() {
	if f.raw != nil {
		f.raw.Close()
	}
	f.raw = nil
}

func (c *connections) reopen(ctx context.Context) error {
	c.gate.Lock()
	defer c.gate.Unlock()
	if c.closed {
		return errClosed
	}
	if info, err := os.Stat(c.file.path); err == nil && c.pool != nil && os.SameFile(info, c.file.info) {
		if wal, err := os.Stat(c.file.path + "-wal"); err == nil && c.file.wal != nil && os.SameFile(wal, c.file.wal) {
			return nil // another was faster
		}
	}
	former := c.file.info
	if c.pool != nil {
		if err := c.closePool(); err != nil {
			c.options.Log.Warn("closing the file of the record, which somebody moved, failed", "error", err)
		}
	}
	if now, err := os.Stat(c.file.path); err == nil && !os.SameFile(now, former) {
		if err := c.inspectOther(ctx); err != nil {
			return fmt.Errorf("opening %s again: %w", c.file.path, err)
		}
	}
	pool, err := c.connect(ctx, false)
	if err != nil {
		return fmt.Errorf("opening %s again: %w", c.file.path, err)
	}
	c.pool = pool
	c.options.Log.Info("the file of the record was opened again", "file", c.file.path)
	return nil
}

// inspectOther checks a file that replaced the open one, before any write: the log beside it may belong to the former
// file, and then the library would copy its pages into this one.
func (c *connections) inspectOther(ctx context.Context) error {
	id, err := c.idWithoutLog(ctx)
	if err != nil {
		return err
	}
	if id != c.id {
		return &failure{reason: reasonReplaced, Err: fmt.Errorf("it is the database %s now and was %s", id, c.id)}
	}
	pool, err := sql.Open("sqlite", c.file.dsn(true, false, c.options))
	if err != nil {
		return err
	}
	defer pool.Close()
	var text string
	if err := pool.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&text); err != nil {
		return err
	}
	if text != "ok" {
		return &failure{reason: reasonReplaced, Err: fmt.Errorf("it does not fit the write-ahead log beside it: %s", text)}
	}
	return nil
}

// idWithoutLog reads the identity of the database from the file alone.
func (c *connections) idWithoutLog(ctx context.Context) (string, error) {
	pool, err := sql.Open("sqlite", c.file.dsn(true, false, c.options)+"&immutable=1")
	if err != nil {
		return "", err
	}
	defer pool.Close()
	return readMeta(ctx, pool)
}

// look reopens the file, as a later process would.
func (c *connections) look(ctx context.Context) {
	pool, err := sql.Open("sqlite", c.file.dsn(true, false, Options{Wait: 100 * time.Millisecond}))
	if err == nil {
		_, err = readMeta(ctx, pool)
		err = errors.Join(err, pool.Close())
	}
	if err != nil && (reason(err) != reasonDamaged || ctx.Err() != nil) {
		err = nil // other checks notice a lock or a missing file
	}
	f := c.file
	f.mu.Lock()
	defer f.mu.Unlock()
	if (err != nil) != (f.damaged != nil) {
		c.options.Log.Error("a look at the file of the record found a change", "file", f.path, "error", err)
	}
	f.damaged = err
}
