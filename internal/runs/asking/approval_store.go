package asking

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/store"
)

// An ApprovalStore keeps questions and their answers in a database, so that they outlive the asking process and any
// process that shares the database can answer them.
type ApprovalStore struct {
	database
	waiters waiters
}

// NewApprovalStore returns a store in the database that db returns.
func NewApprovalStore(db func(context.Context) (*store.DB, error)) *ApprovalStore {
	return &ApprovalStore{database: db}
}

var _ approvals.SharedStore = (*ApprovalStore)(nil)

// A database is opened on first use.
type database func(context.Context) (*store.DB, error)

// with calls do with the database.
func (open database) with(ctx context.Context, do func(db *store.DB) error) error {
	db, err := open(ctx)
	if err != nil {
		return err
	}
	return taken(do(db))
}

func taken(err error) error {
	if errors.Is(err, store.ErrTaken) {
		return approvals.ErrTaken
	}
	return err
}

func (s *ApprovalStore) Propose(ctx context.Context, p *approvals.Pending) error {
	return s.with(ctx, func(db *store.DB) error { return db.Approvals.Propose(ctx, rowOf(p)) })
}

func rowOf(p *approvals.Pending) *store.Approval {
	return &store.Approval{ID: p.ID, Run: p.Run, Call: p.Call, Principal: p.Principal, Digest: p.Digest,
		Question: p.Question, Expires: p.Expires}
}

func (s *ApprovalStore) Answer(ctx context.Context, id, digest string, yes bool, by string,
	answer json.RawMessage) error {
	return s.with(ctx, func(db *store.DB) error { return db.Approvals.Answer(ctx, id, digest, yes, by, answer) })
}

func (s *ApprovalStore) AnswerInstead(
	ctx context.Context, id, digest, by string, no json.RawMessage, other *approvals.Pending, yes json.RawMessage,
) error {
	return s.with(ctx, func(db *store.DB) error {
		return db.Approvals.AnswerInstead(ctx, id, digest, by, no, rowOf(other), yes)
	})
}

func (s *ApprovalStore) Use(ctx context.Context, id, digest string) error {
	return s.with(ctx, func(db *store.DB) error { return db.Approvals.Use(ctx, id, digest) })
}

func (s *ApprovalStore) Withdraw(ctx context.Context, id string) error {
	return s.with(ctx, func(db *store.DB) error { return db.Approvals.Withdraw(ctx, id) })
}

func (s *ApprovalStore) Find(ctx context.Context, id string) (p *approvals.Pending, err error) {
	err = s.with(ctx, func(db *store.DB) error {
		row, err := db.Approvals.Get(ctx, id)
		if err == nil {
			p = PendingOf(row)
		}
		return err
	})
	return p, err
}

func (s *ApprovalStore) Open(ctx context.Context) ([]*approvals.Pending, error) {
	return s.pending(ctx, func(db *store.DB) ([]*store.Approval, error) { return db.Approvals.Pending(ctx, "") })
}

func (s *ApprovalStore) OpenOf(ctx context.Context, ids []string) ([]*approvals.Pending, error) {
	return s.pending(ctx, func(db *store.DB) ([]*store.Approval, error) { return db.Approvals.PendingOf(ctx, ids) })
}

func (s *ApprovalStore) pending(ctx context.Context, read func(*store.DB) ([]*store.Approval, error)) (
	all []*approvals.Pending, err error) {
	err = s.with(ctx, func(db *store.DB) error {
		rows, err := read(db)
		for _, row := range rows {
			all = append(all, PendingOf(row))
		}
		return err
	})
	return all, err
}

func (s *ApprovalStore) ChangedSince(ctx context.Context, mark int64) (ids []string, next int64, err error) {
	err = s.with(ctx, func(db *store.DB) (err error) {
		ids, next, err = db.Approvals.ChangedSince(ctx, mark)
		return err
	})
	return ids, next, err
}

func (s *ApprovalStore) Sit(ctx context.Context, channel string) (leave func(), err error) {
	err = s.with(ctx, func(db *store.DB) (err error) {
		leave, err = db.Seats.Sit(ctx, channel)
		return err
	})
	return leave, err
}

func (s *ApprovalStore) Seated(ctx context.Context, channel string) (there bool, err error) {
	err = s.with(ctx, func(db *store.DB) (err error) {
		there, err = db.Seats.Seated(ctx, channel)
		return err
	})
	return there, err
}

func (s *ApprovalStore) Watch(ctx context.Context) (changed <-chan struct{}, stop func(), err error) {
	err = s.with(ctx, func(db *store.DB) error {
		changed, stop = db.Watch(store.Approvals, store.Seats)
		return nil
	})
	return changed, stop, err
}

// PendingOf converts a stored question to the type of package approvals.
func PendingOf(a *store.Approval) *approvals.Pending {
	return &approvals.Pending{
		ID: a.ID, Run: a.Run, Call: a.Call, Principal: a.Principal, Digest: a.Digest, Question: a.Question,
		Created: a.Created, Expires: a.Expires.UTC(),
		Allowed: a.Validated != nil && (*a.Validated || approvals.InsteadOf(a.Answer) != ""),
	}
}

// Until is the deadline for an answer that people were shown when the question was asked. Expires is later: a yes stays
// usable for a while, and the question may have waited for its turn.
func Until(r *prompt.Request) time.Time { return cmp.Or(r.Until, r.Expires) }

// StillAsks reports whether the time to answer a stored question has not passed. For an unreadable question, this is
// until it expires.
func StillAsks(a *store.Approval) bool {
	end := a.Expires
	if r, err := approvals.ReadPending(PendingOf(a)); err == nil {
		end = Until(r)
	}
	return a.Validated == nil && a.Withdrawn.IsZero() && end.After(time.Now())
}

// Answered waits for the answer to a question.
func (s *ApprovalStore) Answered(ctx context.Context, id string) (yes bool, answer json.RawMessage, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return false, nil, err
	}
	got, stop := s.waiters.wait(db, id)
	defer stop()
	select {
	case a := <-got:
		return a.yes, a.answer, a.err
	case <-ctx.Done():
		return false, nil, context.Cause(ctx)
	}
}
