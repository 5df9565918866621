package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"
)

// An Approval is a call that waits, or waited, for a person.
type Approval struct {
	ID        string
	Run       string
	Call      int
	Principal string          // for whom the call would be made
	Digest    string          // of everything that the answer binds
	Question  json.RawMessage // what is shown
	Created   time.Time
	Expires   time.Time

	Validated  *bool // nil until a person answers, then true or false for good
	Answer     json.RawMessage
	AnsweredBy string
	AnsweredAt time.Time
	UsedAt     time.Time // when the call was made
}

const approvalColumns = `id, run, call, principal, digest, question, created, expires, validated, answer, answered_by, answered_at, used_at`

// Propose keeps a call that needs a person.
func (d *DB) Propose(ctx context.Context, a *Approval) error {
	defer d.changed(Approvals)
	_, err := d.exec(ctx, `INSERT INTO approvals (id, run, call, principal, digest, question, created, expires)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		a.ID, a.Run, a.Call, a.Principal, a.Digest, string(a.Question), d.now(), a.Expires.UnixMicro())
	return err
}

// Answer gives the one answer that an approval gets. [ErrTaken] says that there was one before, that its time
// is over, or that what was asked is not what digest says; [ErrNotFound] that nothing was asked.
func (d *DB) Answer(ctx context.Context, id, digest string, yes bool, by string, answer json.RawMessage) error {
	defer d.changed(Approvals)
	now := d.now()
	err := d.once(ctx, `UPDATE approvals SET validated = $1, answer = $2, answered_by = $3, answered_at = $4
		WHERE id = $5 AND digest = $6 AND validated IS NULL AND expires > $4`, d.boolean(yes), string(answer), by, now, id, digest)
	return d.orNotFound(ctx, err, id)
}

// Use turns a yes into the one call that it allows, before that call is made.
func (d *DB) Use(ctx context.Context, id, digest string) error {
	defer d.changed(Approvals)
	err := d.once(ctx, `UPDATE approvals SET used_at = $1 WHERE id = $2 AND digest = $3 AND validated = $4 AND used_at IS NULL AND expires > $1`,
		d.now(), id, digest, d.boolean(true))
	return d.orNotFound(ctx, err, id)
}

func (d *DB) orNotFound(ctx context.Context, err error, id string) error {
	if !errors.Is(err, ErrTaken) {
		return err
	}
	if _, missing := d.Approval(ctx, id); errors.Is(missing, ErrNotFound) {
		return missing
	}
	return err
}

// Approval gives one approval.
func (d *DB) Approval(ctx context.Context, id string) (*Approval, error) {
	all, err := d.approvals(ctx, `id = $1`, id)
	if err == nil && len(all) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Pending lists what waits for an answer, oldest first; of one principal, or of all for "".
func (d *DB) Pending(ctx context.Context, principal string) ([]*Approval, error) {
	return d.approvals(ctx, `validated IS NULL AND expires > $1 AND ($2 = '' OR principal = $2) ORDER BY created, id`, d.now(), principal)
}

// ApprovalsOf lists the approvals of a run in the order of their calls.
func (d *DB) ApprovalsOf(ctx context.Context, run string) ([]*Approval, error) {
	return d.approvals(ctx, `run = $1 ORDER BY call, created`, run)
}

func (d *DB) approvals(ctx context.Context, where string, args ...any) ([]*Approval, error) {
	var all []*Approval
	err := d.each(ctx, func(scan func(...any) error) error {
		var a Approval
		var question, answer string
		var created, expires int64
		var answered, used sql.NullInt64
		var validated sql.NullBool
		if err := scan(&a.ID, &a.Run, &a.Call, &a.Principal, &a.Digest, &question, &created, &expires, &validated, &answer, &a.AnsweredBy, &answered, &used); err != nil {
			return err
		}
		a.Question, a.Created, a.Expires = json.RawMessage(question), fromMicro(created), fromMicro(expires)
		if validated.Valid {
			a.Validated, a.Answer, a.AnsweredAt = &validated.Bool, json.RawMessage(answer), fromMicro(answered.Int64)
		}
		if used.Valid {
			a.UsedAt = fromMicro(used.Int64)
		}
		all = append(all, &a)
		return nil
	}, `SELECT `+approvalColumns+` FROM approvals WHERE `+where, args...)
	return all, err
}

// boolean is what the database keeps as a truth value: SQLite has none.
func (d *DB) boolean(b bool) any {
	if d.file == nil {
		return b
	}
	if b {
		return int64(1)
	}
	return int64(0)
}
