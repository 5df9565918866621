package backup

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/replace"
	"github.com/codemode-project/codemode/internal/store"
)

// Contents say what is in a backup.
type Contents struct {
	Format   int              `json:"format"`
	Tables   int              `json:"tables"`   // the version of the tables
	Made     time.Time        `json:"made"`     // the moment whose rows it has, or shortly before
	Database string           `json:"database"` // its ID
	Rows     map[string]int64 `json:"rows"`     // by table
	Chains   []audit.Span     `json:"chains"`   // of the record, with the last entry of each
	Digest   string           `json:"digest"`   // of all rows
}

// format is the version of the form of backups.
const format = 1

// proofPurpose derives the key that authenticates Contents.
const proofPurpose = "authenticate backups"

// proof authenticates the contents, and with their digest all rows.
func proof(key *audit.Key, contents []byte) string {
	m := hmac.New(sha256.New, key.Derive(proofPurpose))
	m.Write(contents)
	return hex.EncodeToString(m.Sum(nil))
}

// Write copies a store to a file at path, readable only by its owner. With overwrite it replaces a file there; else the
// error for one is [fs.ErrExist]. The key is that of the record.
func Write(ctx context.Context, o store.Options, key *audit.Key, path string, overwrite bool) (*Contents, error) {
	var c *Contents
	err := replace.Built(path, overwrite, func(temporary string) (err error) {
		c, err = write(ctx, o, key, temporary)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

func write(ctx context.Context, o store.Options, key *audit.Key, path string) (c *Contents, err error) {
	now := time.Now().UTC().Truncate(time.Second)
	from, err := openStore(ctx, o)
	if err != nil {
		return nil, err
	}
	defer from.close()
	pool, tx, err := newFile(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	defer tx.Rollback()
	c = &Contents{Format: format, Tables: from.layout, Made: now, Database: from.id, Rows: map[string]int64{}}
	sum := newDigest()
	for i := range tables {
		t := &tables[i]
		put, done, err := inserter(ctx, tx, t)
		if err != nil {
			return nil, err
		}
		sum.begin(t)
		err = t.read(ctx, from.tx, from.postgres, func(r row) error {
			sum.row(r)
			c.Rows[t.name]++
			if t.name == "chains" {
				c.Chains = append(c.Chains, spanOf(t, r))
			}
			return put(r)
		})
		if err = errors.Join(err, done()); err != nil {
			return nil, fmt.Errorf("copying the rows of %s: %w", t.name, err)
		}
	}
	c.Digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return c, c.store(ctx, tx, key)
}

func spanOf(t *table, r row) audit.Span {
	number, _ := r[t.at("number")].(int64)
	seq, _ := r[t.at("seq")].(int64)
	last, _ := r[t.at("hash")].([]byte)
	return audit.Span{Chain: number, First: 1, Last: seq, Hash: "sha256:" + hex.EncodeToString(last), Covered: seq}
}

// store writes the contents into the file, and marks it as a backup: as a store, nobody can open it.
func (c *Contents) store(ctx context.Context, tx *sql.Tx, key *audit.Key) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	for _, statement := range []struct {
		query string
		args  []any
	}{
		{`UPDATE meta SET value = $1 WHERE name = 'id'`, []any{c.Database}},
		{`CREATE TABLE backup (contents BLOB NOT NULL, proof TEXT NOT NULL) STRICT`, nil},
		{`INSERT INTO backup VALUES ($1, $2)`, []any{raw, proof(key, raw)}},
		{fmt.Sprintf(`PRAGMA user_version = %d`, -c.Tables), nil},
	} {
		if _, err := tx.ExecContext(ctx, statement.query, statement.args...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// ErrNoBackup is the error of a file that is no backup, or not as it was written, or written with another key.
var ErrNoBackup = errors.New("it cannot be restored")

// open opens a backup and reads its contents, whose proof fits the key. Reading the rows shows whether they are those.
func open(ctx context.Context, path string, key *audit.Key) (*snapshot, *Contents, error) {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%s: %w: %w", path, ErrNoBackup, fmt.Errorf(format, args...))
	}
	s, err := openFile(ctx, path)
	if err != nil {
		return nil, nil, refuse("it is no backup, or its beginning is damaged: %w", err)
	}
	fail := func(err error) (*snapshot, *Contents, error) { return nil, nil, errors.Join(err, s.close()) }
	if s.layout >= 0 {
		return fail(refuse("it is no backup, but a database of codemode; codemode store backup makes a backup of one"))
	}
	var raw []byte
	var is string
	if err := s.tx.QueryRowContext(ctx, `SELECT contents, proof FROM backup`).Scan(&raw, &is); err != nil {
		return fail(refuse("its contents cannot be read: %w", err))
	}
	if !hmac.Equal([]byte(is), []byte(proof(key, raw))) {
		return fail(refuse("it was made with another key of the record than the one in the state folder, or somebody " +
			"changed it: put the key of the machine that it is from there (record.key)"))
	}
	c := &Contents{}
	if err := json.Unmarshal(raw, c); err != nil || c.Format != format || c.Tables != -s.layout || c.Database != s.id {
		return fail(refuse("it has the form %d with tables of version %d, and this codemode reads form %d: restore it with "+
			"the codemode that wrote it", c.Format, c.Tables, format))
	}
	return s, c, nil
}
