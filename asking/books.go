package asking

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/registry"
	"github.com/codemode-project/codemode/store"

	"github.com/codemode-project/codemode/call"
)

// StoredQuestions keeps questions and their answers in a database, so that they outlive the process that asks and can be
// answered in any that shares the database.
func NewQuestionStore(db func(context.Context) (*store.DB, error)) approvals.SharedStore {
	return &QuestionStore{db: db}
}

type QuestionStore struct {
	db       func(context.Context) (*store.DB, error)
	awaiting awaiting
}

func (s *QuestionStore) Propose(ctx context.Context, p *approvals.Pending) error {
	db, err := s.db(ctx)
	if err != nil {
		return err
	}
	return taken(db.Propose(ctx, proposed(p)))
}

func proposed(p *approvals.Pending) *store.Approval {
	return &store.Approval{ID: p.ID, Run: p.Run, Call: p.Call, Principal: p.Principal, Digest: p.Digest,
		Question: p.Question, Expires: p.Expires}
}

func (s *QuestionStore) Answer(ctx context.Context, id, digest string, yes bool, by string, answer json.RawMessage) error {
	db, err := s.db(ctx)
	if err != nil {
		return err
	}
	return taken(db.Answer(ctx, id, digest, yes, by, answer))
}

func (s *QuestionStore) AnswerInstead(
	ctx context.Context, id, digest, by string, no json.RawMessage, other *approvals.Pending, yes json.RawMessage,
) error {
	db, err := s.db(ctx)
	if err != nil {
		return err
	}
	return taken(db.AnswerInstead(ctx, id, digest, by, no, proposed(other), yes))
}

func (s *QuestionStore) Use(ctx context.Context, id, digest string) error {
	db, err := s.db(ctx)
	if err != nil {
		return err
	}
	return taken(db.Use(ctx, id, digest))
}

func (s *QuestionStore) Withdraw(ctx context.Context, id string) error {
	db, err := s.db(ctx)
	if err != nil {
		return err
	}
	return taken(db.Withdraw(ctx, id))
}

func (s *QuestionStore) Find(ctx context.Context, id string) (*approvals.Pending, error) {
	db, err := s.db(ctx)
	if err != nil {
		return nil, err
	}
	a, err := db.Approval(ctx, id)
	if err != nil {
		return nil, err
	}
	return PendingOf(a), nil
}

func (s *QuestionStore) Open(ctx context.Context) ([]*approvals.Pending, error) {
	db, err := s.db(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := db.Pending(ctx, "")
	var all []*approvals.Pending
	for _, a := range rows {
		all = append(all, PendingOf(a))
	}
	return all, err
}

func (s *QuestionStore) Sit(ctx context.Context, channel string) (leave func(), err error) {
	db, err := s.db(ctx)
	if err != nil {
		return nil, err
	}
	return db.Sit(ctx, channel)
}

func (s *QuestionStore) Seated(ctx context.Context, channel string) (bool, error) {
	db, err := s.db(ctx)
	if err != nil {
		return false, err
	}
	return db.Seated(ctx, channel)
}

func (s *QuestionStore) Watch(ctx context.Context) (<-chan struct{}, func(), error) {
	db, err := s.db(ctx)
	if err != nil {
		return nil, nil, err
	}
	changed, stop := db.Watch(store.Approvals, store.Seats)
	return changed, stop, nil
}

func PendingOf(a *store.Approval) *approvals.Pending {
	return &approvals.Pending{
		ID: a.ID, Run: a.Run, Call: a.Call, Principal: a.Principal, Digest: a.Digest, Question: a.Question, Created: a.Created, Expires: a.Expires.UTC(),
		Allowed: a.Validated != nil && (*a.Validated || InsteadOf(a) != ""),
	}
}

// Until is when the time to answer a question is over, as people were told when it was put. Expires is later: a yes may be used
// for a while yet, and a question may have waited for its turn.
func Until(r *prompt.Request) time.Time { return cmp.Or(r.Until, r.Expires) }

// StillAsks reports whether the time to answer a question in the book is not over. One that cannot be read has all that the book
// gives it.
func StillAsks(a *store.Approval) bool {
	end := a.Expires
	if r, err := approvals.ReadPending(PendingOf(a)); err == nil {
		end = Until(r)
	}
	return a.Validated == nil && a.Withdrawn.IsZero() && end.After(time.Now())
}

// CheckFar says what is wrong with other arguments for a call of another process. Whoever makes the call checks
// them too, and decides on them anew.
func (w *People) CheckFar(r *prompt.Request, args json.RawMessage) error {
	t, err := w.Tools.Catalog.Find(r.Name)
	if err != nil {
		return err
	}
	if !json.Valid(args) {
		return errors.New("the arguments are not JSON")
	}
	if wrong := registry.ArgumentError(t.Validate(context.Background(), call.Unread(args))); wrong != nil {
		return wrong
	}
	return nil
}

// InsteadOf is the question that stands for the arguments that a person allowed in the place of those of was; "" is none.
func InsteadOf(was *store.Approval) string {
	var answer struct {
		Edited string `json:"edited"`
	}
	_ = json.Unmarshal(was.Answer, &answer) // no answer yet, or one without
	return answer.Edited
}
