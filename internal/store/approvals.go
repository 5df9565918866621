package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Approval is a call that waits, or waited, for a person.
type Approval struct {
	ID        string
	Run       string
	Call      int
	Principal string          // for whom the call would be made
	Digest    string          // of everything that the answer covers
	Question  json.RawMessage // what is shown
	Created   time.Time
	Expires   time.Time

	Validated  *bool // nil until a person answers, then true or false for good
	Answer     json.RawMessage
	AnsweredBy string
	AnsweredAt time.Time
	UsedAt     time.Time // when the call was made
	Withdrawn  time.Time // when the question was closed without an answer
}

const approvalColumns = `id, run, call, principal, digest, question, created, expires, validated, answer, answered_by, answered_at, used_at, withdrawn`

// Propose stores a call that needs a person. Only the process that has the run may ask: [ErrTaken] says that another
// process has it or may take it, that the run is over, or that the ID is already in use. So a process that takes a run
// over, and then reads its questions, misses none.
func (d ApprovalTable) Propose(ctx context.Context, a *Approval) error {
	defer d.db.changed(Approvals)
	return d.db.transact(ctx, answerWait, func(ctx context.Context, tx *sql.Tx) error {
		if err := d.db.lockRun(ctx, tx, a.Run); err != nil {
			return err
		}
		var elsewhere bool
		if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM parked WHERE run = $1 AND claim NOT LIKE $2)
			OR EXISTS (SELECT 1 FROM outcomes WHERE run = $1)`, a.Run, d.db.claims.pattern()).Scan(&elsewhere); err != nil {
			return err
		}
		if elsewhere {
			return ErrTaken
		}
		return onceIn(ctx, tx, proposal, d.proposed(a)...)
	})
}

const proposal = `INSERT INTO approvals (id, run, call, principal, digest, question, created, expires)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`

func (d ApprovalTable) proposed(a *Approval) []any {
	question := d.db.seal.closeText(a.Question, Approvals, a.ID, "question")
	return []any{a.ID, a.Run, a.Call, a.Principal, a.Digest, question, d.db.now(), a.Expires.UnixMicro()}
}

// Answer stores the only answer to an approval. [ErrTaken] says that it has one already, that its time is over, or that
// digest does not match the question; [ErrNotFound] that there is no such question.
func (d ApprovalTable) Answer(ctx context.Context, id, digest string, yes bool, by string, answer json.RawMessage) error {
	defer d.db.changed(Approvals)
	return d.orNotFound(ctx, d.db.once(ctx, answering, d.answered(id, digest, yes, by, answer)...), id)
}

const answering = `UPDATE approvals SET validated = $1, answer = $2, answered_by = $3, answered_at = $4
	WHERE id = $5 AND digest = $6 AND validated IS NULL AND withdrawn IS NULL AND expires > $4`

func (d ApprovalTable) answered(id, digest string, yes bool, by string, answer json.RawMessage) []any {
	return []any{d.db.boolean(yes), d.db.seal.closeText(answer, Approvals, id, "answer"), by, d.db.now(), id, digest}
}

// AnswerInstead answers a question with another one, in one transaction: a no to it, and a yes to other, which is a
// call with other arguments. The errors are those of [ApprovalTable.Answer] and [ApprovalTable.Propose].
func (d ApprovalTable) AnswerInstead(ctx context.Context, id, digest, by string, no json.RawMessage, other *Approval,
	yes json.RawMessage) error {
	defer d.db.changed(Approvals)
	err := d.db.transact(ctx, answerWait, func(ctx context.Context, tx *sql.Tx) error {
		if err := onceIn(ctx, tx, answering, d.answered(id, digest, false, by, no)...); err != nil {
			return err
		}
		if err := onceIn(ctx, tx, proposal, d.proposed(other)...); err != nil {
			return err
		}
		return onceIn(ctx, tx, answering, d.answered(other.ID, other.Digest, true, by, yes)...)
	})
	return d.orNotFound(ctx, err, id)
}

// Withdraw closes a question that needs no answer any more. [ErrTaken] says that it already has an answer.
func (d ApprovalTable) Withdraw(ctx context.Context, id string) error {
	defer d.db.changed(Approvals)
	err := d.db.once(ctx, `UPDATE approvals SET withdrawn = $1 WHERE id = $2 AND validated IS NULL AND withdrawn IS NULL`,
		d.db.now(), id)
	return d.orNotFound(ctx, err, id)
}

// WithdrawRun closes all open questions of a run that ends.
func (d ApprovalTable) WithdrawRun(ctx context.Context, run string) error {
	defer d.db.changed(Approvals)
	_, err := d.db.exec(ctx, `UPDATE approvals SET withdrawn = $1 WHERE run = $2 AND validated IS NULL AND withdrawn IS NULL`,
		d.db.now(), run)
	return err
}

// Use spends a yes on the one call that it allows, before that call is made. Watchers are not notified.
func (d ApprovalTable) Use(ctx context.Context, id, digest string) error {
	err := d.db.once(ctx, `UPDATE approvals SET used_at = $1 WHERE id = $2 AND digest = $3 AND validated = $4 AND used_at IS NULL AND expires > $1`,
		d.db.now(), id, digest, d.db.boolean(true))
	return d.orNotFound(ctx, err, id)
}

func (d ApprovalTable) orNotFound(ctx context.Context, err error, id string) error {
	if !errors.Is(err, ErrTaken) {
		return err
	}
	if _, missing := d.Get(ctx, id); errors.Is(missing, ErrNotFound) {
		return missing
	}
	return err
}

// Get returns one approval.
func (d ApprovalTable) Get(ctx context.Context, id string) (*Approval, error) {
	return first(d.approvals(ctx, `id = $1`, id))
}

// answersAtOnce is how many questions one statement reads: databases limit the parameters of a statement.
const answersAtOnce = 500

// Answers returns the outcome of questions by ID: only Validated, Answer and Withdrawn. It leaves out missing
// questions.
func (d ApprovalTable) Answers(ctx context.Context, ids []string) (map[string]*Approval, error) {
	all := make(map[string]*Approval, len(ids))
	for some := range slices.Chunk(ids, answersAtOnce) {
		places, args := parameters(some)
		err := d.db.each(ctx, func(scan func(...any) error) error {
			var id, answer string
			var validated sql.NullBool
			var withdrawn sql.NullInt64
			if err := scan(&id, &validated, &answer, &withdrawn); err != nil {
				return err
			}
			a := &Approval{ID: id}
			if withdrawn.Valid {
				a.Withdrawn = fromMicro(withdrawn.Int64)
			}
			if validated.Valid {
				a.Validated = &validated.Bool
			}
			var err error
			if a.Answer, err = d.db.seal.openText(answer, Approvals, id, "answer"); err != nil {
				d.db.log.Error("cannot read an answer", "question", id, "error", err)
				return nil
			}
			all[id] = a
			return nil
		}, `SELECT id, validated, answer, withdrawn FROM approvals WHERE id IN (`+places+`)`, args...)
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Pending lists the questions that wait for an answer, oldest first; for one principal, or for all with "".
func (d ApprovalTable) Pending(ctx context.Context, principal string) ([]*Approval, error) {
	return d.approvals(ctx, `validated IS NULL AND withdrawn IS NULL AND expires > $1 AND ($2 = '' OR principal = $2) ORDER BY created, id`, d.db.now(), principal)
}

// PendingOf is Pending for the questions with these IDs.
func (d ApprovalTable) PendingOf(ctx context.Context, ids []string) (all []*Approval, err error) {
	for some := range slices.Chunk(ids, answersAtOnce) {
		places, args := parameters(some, d.db.now())
		part, err := d.approvals(ctx, `id IN (`+places+`) AND validated IS NULL AND withdrawn IS NULL AND expires > $1
			ORDER BY created, id`, args...)
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	return all, nil
}

// parameters makes the list of parameters that follow others in a statement: one for each ID.
func parameters(ids []string, others ...any) (places string, args []any) {
	list := make([]string, len(ids))
	args = others
	for i, id := range ids {
		args = append(args, id)
		list[i] = "$" + strconv.Itoa(len(args))
	}
	return strings.Join(list, ", "), args
}

// ChangedSince returns the IDs of the questions that were asked, answered or withdrawn since a mark, by any process,
// and the mark for the next call. No change is left out, but some are returned twice. The mark 0 returns none of them.
// A next mark that is less than since says that the database was set back to an earlier state: anything may have
// changed.
func (d ApprovalTable) ChangedSince(ctx context.Context, since int64) (ids []string, next int64, err error) {
	since = cmp.Or(since, math.MaxInt64)
	now := `(SELECT coalesce(max(seq), 0) + 1 AS next FROM sqlite_sequence WHERE name = 'approvals_changed')`
	if d.db.Fleet() {
		now = `(SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS next)`
	}
	err = d.db.each(ctx, func(scan func(...any) error) error {
		var id sql.NullString
		err := scan(&next, &id)
		if id.Valid {
			ids = append(ids, id.String)
		}
		return err
	}, `SELECT next, question FROM `+now+` AS now LEFT JOIN approvals_changed ON number >= $1`, since)
	return ids, next, err
}

// Of lists the approvals of a run in the order of their calls.
func (d ApprovalTable) Of(ctx context.Context, run string) ([]*Approval, error) {
	return d.approvals(ctx, `run = $1 ORDER BY call, created`, run)
}

func (d ApprovalTable) approvals(ctx context.Context, where string, args ...any) ([]*Approval, error) {
	var all []*Approval
	err := d.db.each(ctx, func(scan func(...any) error) error {
		var a Approval
		var question, answer string
		var created, expires int64
		var answered, used, withdrawn sql.NullInt64
		var validated sql.NullBool
		if err := scan(&a.ID, &a.Run, &a.Call, &a.Principal, &a.Digest, &question, &created, &expires, &validated, &answer,
			&a.AnsweredBy, &answered, &used, &withdrawn); err != nil {
			return err
		}
		a.Created, a.Expires = fromMicro(created), fromMicro(expires)
		var err1, err2 error
		a.Question, err1 = d.db.seal.openText(question, Approvals, a.ID, "question")
		a.Answer, err2 = d.db.seal.openText(answer, Approvals, a.ID, "answer")
		if err := errors.Join(err1, err2); err != nil {
			d.db.log.Error("cannot read a question", "question", a.ID, "error", err)
			return nil
		}
		if validated.Valid {
			a.Validated, a.AnsweredAt = &validated.Bool, fromMicro(answered.Int64)
		}
		if used.Valid {
			a.UsedAt = fromMicro(used.Int64)
		}
		if withdrawn.Valid {
			a.Withdrawn = fromMicro(withdrawn.Int64)
		}
		all = append(all, &a)
		return nil
	}, `SELECT `+approvalColumns+` FROM approvals WHERE `+where, args...)
	return all, err
}
