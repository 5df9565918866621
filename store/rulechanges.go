package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// A RuleChange is a change of one configuration file, with its content before and after. It does not change.
type RuleChange struct {
	File    string // path
	Number  int64  // from 1 in each file
	Created time.Time
	Digest  string // of the content after it
	About   []byte // JSON: who, why
	Texts   []byte // JSON: the content before and after; RuleChanges leaves it out
}

func (c *RuleChange) row(part string) string { return fmt.Sprintf("%s %d %q", part, c.Number, c.File) }

// AddRuleChange adds the next change of a file, and removes those before the latest keep ones. [ErrTaken] says that
// the file has a change of that number: another process was faster.
func (d *DB) AddRuleChange(ctx context.Context, c *RuleChange, keep int64) error {
	return d.transact(ctx, parkWait, func(ctx context.Context, tx *sql.Tx) error {
		if err := onceIn(ctx, tx, `INSERT INTO rule_changes (file, number, created, digest, about, texts)
			VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (file, number) DO NOTHING`, c.File, c.Number, d.now(), c.Digest,
			d.seal.close(c.About, changesTable, c.File, c.row("about")),
			d.seal.close(c.Texts, changesTable, c.File, c.row("texts"))); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM rule_changes WHERE file = $1 AND number <= $2`, c.File, c.Number-keep)
		return err
	})
}

// DropRuleChange removes a change that was recorded and then not made.
func (d *DB) DropRuleChange(ctx context.Context, file string, number int64) error {
	_, err := d.exec(ctx, `DELETE FROM rule_changes WHERE file = $1 AND number = $2`, file, number)
	return err
}

// RuleChanges lists the latest changes, newest first, without their texts: those of one file, or of all for "".
func (d *DB) RuleChanges(ctx context.Context, file string, limit int) (all []*RuleChange, err error) {
	err = d.each(ctx, func(scan func(...any) error) error {
		var c RuleChange
		var created int64
		if err := scan(&c.File, &c.Number, &created, &c.Digest, &c.About); err != nil {
			return err
		}
		c.Created = fromMicro(created)
		c.About, err = d.seal.open(c.About, changesTable, c.File, c.row("about"))
		all = append(all, &c)
		return err
	}, `SELECT file, number, created, digest, about FROM rule_changes WHERE $1 = '' OR file = $1
		ORDER BY created DESC, number DESC, file LIMIT $2`, file, limit)
	return all, err
}

// RuleTexts returns the texts of a change. [ErrNotFound] says that there is no such change.
func (d *DB) RuleTexts(ctx context.Context, c *RuleChange) ([]byte, error) {
	var sealed []byte
	found := false
	if err := d.each(ctx, func(scan func(...any) error) error {
		found = true
		return scan(&sealed)
	}, `SELECT texts FROM rule_changes WHERE file = $1 AND number = $2`, c.File, c.Number); err != nil {
		return nil, err
	}
	if !found {
		return nil, ErrNotFound
	}
	return d.seal.open(sealed, changesTable, c.File, c.row("texts"))
}
