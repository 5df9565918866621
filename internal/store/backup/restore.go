package backup

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/replace"
	"github.com/codemode-project/codemode/internal/secrets"
	"github.com/codemode-project/codemode/internal/store"
)

// A Restore says where a backup goes, and how much of it.
type Restore struct {
	To  store.Options // nothing may be there
	Key *audit.Key    // of the record

	// Checkpoints are those that were published before. They show what the backup misses.
	Checkpoints []audit.Checkpoint
	// Publish receives the checkpoints of the chains that came back. It may be empty.
	Publish []audit.Publisher

	// Runs brings back the waiting runs with their questions, and Grants the remembered answers. Nobody can tell from the
	// backup whether a run was resumed, or an answer revoked, after it was made.
	Runs, Grants bool

	By  *call.DecidedBy // who restores it
	Log *slog.Logger    // nil discards
}

// A Report says what came back.
type Report struct {
	Backup   *Contents        `json:"backup"`
	Restored map[string]int64 `json:"restored"` // rows by table
	LeftOut  map[string]int64 `json:"leftOut"`  // the same
	// Chains are those of the backup, and those that only the checkpoints name: Covered after Last says what is missing.
	Chains []audit.Span `json:"chains"`
}

// Missing counts the entries that were written after the backup, as far as the checkpoints tell.
func (r *Report) Missing() (n int64) {
	for _, c := range r.Chains {
		n += c.Covered - c.Last
	}
	return n
}

// ErrNotEmpty is the error of a store that is in use, or has something in it.
var ErrNotEmpty = errors.New("a backup can be restored only where nothing is")

// From fills the store with a backup, completely or not at all.
func (r Restore) From(ctx context.Context, path string) (report *Report, err error) {
	if err := r.vacant(ctx); err != nil {
		return nil, err
	}
	from, contents, err := open(ctx, path, r.Key)
	if err != nil {
		return nil, err
	}
	defer from.close()
	for _, c := range r.Checkpoints {
		if c.Database != contents.Database {
			return nil, fmt.Errorf("the checkpoints in the state folder are of the database %s, and the backup is of %s: "+
				"move them away with the record that they belong to, or name another state folder", c.Database, contents.Database)
		}
	}
	report = &Report{Backup: contents, Restored: map[string]int64{}, LeftOut: map[string]int64{}}
	target := r.To.Path
	if target == "" { // PostgreSQL gets the rows of a file that is complete
		dir, err := os.MkdirTemp("", "codemode-restore-*")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		target = filepath.Join(dir, "codemode.db")
	}
	err = replace.Built(target, false, func(temporary string) error {
		if err := r.fill(ctx, from, report, temporary); err != nil {
			return err
		}
		return r.record(ctx, report, temporary)
	})
	if errors.Is(err, fs.ErrExist) {
		err = r.occupied("there is a database by now")
	}
	if err == nil && r.To.Path == "" {
		err = r.toPostgres(ctx, contents.Database, target)
	}
	if err != nil {
		return nil, err
	}
	return report, r.publish(ctx, target)
}

func (r *Restore) occupied(what string) error {
	if r.To.Path != "" {
		return fmt.Errorf("%s: %w: %s. Stop codemode and move it away, with the files beside it that begin with its name, "+
			"or name another place with --state or the key \"store\" of the configuration", r.To.Path, ErrNotEmpty, what)
	}
	return fmt.Errorf("the database: %w: %s. Stop every codemode that uses it, and create another database for store.url",
		ErrNotEmpty, what)
}

// vacant refuses a place with a database, or one that a process uses.
func (r *Restore) vacant(ctx context.Context) error {
	if r.To.Path == "" {
		conn, tx, err := r.emptyPostgres(ctx)
		if err != nil {
			return err
		}
		return errors.Join(tx.Rollback(ctx), conn.Close(ctx))
	}
	for _, file := range [][2]string{
		{"", "there is a database"},
		{"-wal", "there is the write-ahead log of a database that was deleted, which a process may still use"},
	} {
		if _, err := os.Lstat(r.To.Path + file[0]); err == nil {
			return r.occupied(file[1])
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// fill makes an SQLite file with the rows that come back. It reads every row of the backup, and fails at the end if
// they are not the ones that were written.
func (r *Restore) fill(ctx context.Context, from *snapshot, report *Report, path string) (err error) {
	pool, tx, err := newFile(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	defer tx.Rollback()
	var now int
	if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&now); err != nil {
		return err
	}
	if now != report.Backup.Tables {
		return fmt.Errorf("%w: its tables are of version %d, and this codemode has version %d: restore it with the codemode "+
			"that wrote it", ErrNoBackup, report.Backup.Tables, now)
	}
	sum, choice := newDigest(), newChoice(r.Runs, r.Grants)
	for i := range tables {
		t := &tables[i]
		put, done, err := inserter(ctx, tx, t)
		if err != nil {
			return err
		}
		sum.begin(t)
		err = t.read(ctx, from.tx, from.postgres, func(row row) error {
			sum.row(row)
			if !choice.comesBack(t, row) {
				report.LeftOut[t.name]++
				return nil
			}
			report.Restored[t.name]++
			return put(row)
		})
		if err = errors.Join(err, done()); err != nil {
			return fmt.Errorf("%w: reading the rows of %s: %w", ErrNoBackup, t.name, err)
		}
	}
	if is := "sha256:" + hex.EncodeToString(sum.Sum(nil)); is != report.Backup.Digest {
		return fmt.Errorf("%w: its rows are not those that were written: it is damaged, or somebody changed it", ErrNoBackup)
	}
	if _, err := tx.ExecContext(ctx, `UPDATE meta SET value = $1 WHERE name = 'id'`, report.Backup.Database); err != nil {
		return err
	}
	// As package store finds the entries of a run in an SQLite file: by blocks of 64.
	if _, err := tx.ExecContext(ctx, `INSERT INTO run_blocks (run, chain, first)
		SELECT DISTINCT run, chain, seq - seq % 64 FROM entries WHERE run <> ''`); err != nil {
		return err
	}
	return tx.Commit()
}

// record writes into the file that it was restored, as the next process would write an entry.
func (r *Restore) record(ctx context.Context, report *Report, path string) error {
	back := &audit.Restoration{Backup: report.Backup.Made}
	record := audit.New(audit.Options{Key: r.Key, Restored: back, RestoredBy: r.By, Published: r.Checkpoints, Log: r.Log,
		Open: func(ctx context.Context) (*store.DB, error) { return store.Open(ctx, store.Options{Path: path}) }})
	err := record.Flush(ctx)
	if err = errors.Join(err, record.Close(ctx)); err != nil {
		return fmt.Errorf("recording that the backup was restored: %w", err)
	}
	report.Chains = back.Chains
	// The file alone has everything, so that it can be moved.
	pool, err := sql.Open("sqlite", dsn(path, "rw"))
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return errors.Join(err, pool.Close())
}

// emptyPostgres begins the transaction that fills a PostgreSQL database. Until it ends, nobody else uses the tables.
func (r *Restore) emptyPostgres(ctx context.Context) (*pgx.Conn, pgx.Tx, error) {
	db, err := store.Open(ctx, r.To) // makes the tables
	if err != nil {
		return nil, nil, err
	}
	if err := db.Close(); err != nil {
		return nil, nil, err
	}
	config, err := pgConfig(r.To.URL)
	if err != nil {
		return nil, nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, nil, secrets.HideAddress(err)
	}
	fail := func(err error) (*pgx.Conn, pgx.Tx, error) {
		return nil, nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	if err := r.unused(ctx, conn, goneWithin); err != nil {
		return fail(err)
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return fail(err)
	}
	for _, t := range append([]table{{name: "meta"}, {name: "seats"}}, tables...) {
		var n int
		if _, err := tx.Exec(ctx, `LOCK TABLE `+t.name+` IN ACCESS EXCLUSIVE MODE NOWAIT`); err != nil {
			return fail(r.occupied("somebody else uses the table " + t.name))
		}
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM (SELECT 1 FROM `+t.name+` LIMIT 1) AS found`).Scan(&n); err != nil {
			return fail(err)
		}
		if n > 0 && t.name != "meta" {
			return fail(r.occupied("its table " + t.name + " has rows"))
		}
	}
	if err := r.unused(ctx, conn, 0); err != nil { // one that was faster than the locks
		return fail(err)
	}
	return conn, tx, nil
}

// goneWithin is how long the server may take to forget a connection that was closed, such as that of [store.Open].
const goneWithin = 3 * time.Second

// unused fails if a codemode is connected to the database, and within a while does not leave.
func (r *Restore) unused(ctx context.Context, conn *pgx.Conn, within time.Duration) error {
	for begun := time.Now(); ; {
		var others int
		if err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND pid <> pg_backend_pid() AND application_name IN ('codemode', 'codemode listener')`).Scan(&others); err != nil {
			return err
		}
		switch {
		case others == 0:
			return nil
		case time.Since(begun) >= within:
			return r.occupied("a codemode is connected to it")
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

const (
	// rowsAtOnce and bytesAtOnce bound what is on its way to PostgreSQL before its answer.
	rowsAtOnce  = 256
	bytesAtOnce = 4 << 20
)

// toPostgres copies a complete file into PostgreSQL, in one transaction.
func (r *Restore) toPostgres(ctx context.Context, id, path string) error {
	from, err := openFile(ctx, path)
	if err != nil {
		return err
	}
	defer from.close()
	conn, tx, err := r.emptyPostgres(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	defer tx.Rollback(context.WithoutCancel(ctx))
	for i := range tables {
		t := &tables[i]
		batch, bytes := &pgx.Batch{}, 0
		send := func() error {
			if batch.Len() == 0 {
				return nil
			}
			err := tx.SendBatch(ctx, batch).Close()
			batch, bytes = &pgx.Batch{}, 0
			return err
		}
		err := t.read(ctx, from.tx, from.postgres, func(row row) error {
			batch.Queue(t.insertion(), t.forPostgres(row)...)
			for _, v := range row {
				switch v := v.(type) {
				case string:
					bytes += len(v)
				case []byte:
					bytes += len(v)
				}
			}
			if batch.Len() < rowsAtOnce && bytes < bytesAtOnce {
				return nil
			}
			return send()
		})
		if err == nil {
			err = send()
		}
		if err != nil {
			return fmt.Errorf("writing the rows of %s: %w", t.name, secrets.HideAddress(err))
		}
	}
	if _, err := tx.Exec(ctx, `UPDATE meta SET value = $1 WHERE name = 'id'`, id); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// publish sends the checkpoints of the chains: the one that begins with the restoration, and, where they are new, the
// others.
func (r *Restore) publish(ctx context.Context, path string) error {
	if len(r.Publish) == 0 {
		return nil
	}
	known := map[string]bool{}
	for _, c := range r.Checkpoints {
		known[c.Note] = true
	}
	db, err := store.Open(ctx, store.Options{Path: path, ReadOnly: true})
	if err != nil {
		return err
	}
	defer db.Close()
	ends, err := db.Entries.Ends(ctx)
	if err != nil {
		return err
	}
	for _, end := range ends {
		if end.Note == "" || known[end.Note] {
			continue
		}
		line, err := json.Marshal(map[string]string{"checkpoint": strings.ToValidUTF8(end.Note, "")})
		if err != nil {
			return err
		}
		for _, to := range r.Publish {
			if err := to.Publish(ctx, line); err != nil {
				return fmt.Errorf("the backup is restored, but publishing its checkpoints failed: %w", err)
			}
		}
	}
	return nil
}
