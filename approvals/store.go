package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

var (
	// ErrTaken says that a question is already answered, that an answer is already used, or that the time for either is
	// over.
	ErrTaken = errors.New("it was answered or used before, or its time is over")
	// ErrChanged says that the call is not the one that was approved.
	ErrChanged = errors.New("the call is no longer the one that was approved")
)

// A Pending is a question that waits for its answer.
type Pending struct {
	ID        string // 128 random bits
	Run       string
	Call      int
	Principal string          // for whom the call is made
	Digest    string          // of the Binding
	Question  json.RawMessage // the Binding's parts, to be shown
	Expires   time.Time
	Created   time.Time // from the Store
	Allowed   bool      // somebody allowed it, perhaps with other arguments; from a SharedStore
}

// A Store keeps questions, the one answer to each and its one use, even when several processes share it. All three
// methods return [ErrTaken] when they come second or too late. Answer and Use also do when digest is not that of the
// question.
type Store interface {
	Propose(ctx context.Context, p *Pending) error
	Answer(ctx context.Context, id, digest string, yes bool, by string, answer json.RawMessage) error
	Use(ctx context.Context, id, digest string) error
}

// A SharedStore is a Store that several processes share: one process can answer the questions of another. Its Propose
// also returns [ErrTaken] when another process has the run or may take it.
type SharedStore interface {
	Store
	// Answered waits until somebody has answered the question, and returns the value passed to Answer.
	Answered(ctx context.Context, id string) (yes bool, answer json.RawMessage, err error)
	// AnswerInstead answers a question with another one, in one transaction: a no to the question, and a yes to other,
	// which nobody has proposed.
	AnswerInstead(ctx context.Context, id, digest, by string, no json.RawMessage, other *Pending,
		yes json.RawMessage) error
	// Withdraw closes a question that needs no answer any more.
	Withdraw(ctx context.Context, id string) error
	// Find returns a question, answered or not.
	Find(ctx context.Context, id string) (*Pending, error)
	// Open lists the questions that have no answer, oldest first. OpenOf lists those of them that have one of these IDs.
	Open(ctx context.Context) ([]*Pending, error)
	OpenOf(ctx context.Context, ids []string) ([]*Pending, error)
	// ChangedSince returns the IDs of the questions that were asked, answered or withdrawn since a mark, and the mark for
	// the next call. No change is left out, but some are returned twice. The mark 0 returns none of them. A next mark
	// that is less than the last one says that anything may have changed.
	ChangedSince(ctx context.Context, mark int64) (ids []string, next int64, err error)
	// Sit announces to other processes that somebody is there for the questions of a channel, until leave is called.
	// Seated reports whether somebody is, in any process.
	Sit(ctx context.Context, channel string) (leave func(), err error)
	Seated(ctx context.Context, channel string) (bool, error)
	// Watch returns a channel that receives, until stop is called, when questions may have come or been answered, or
	// people may have come or left.
	Watch(ctx context.Context) (changed <-chan struct{}, stop func(), err error)
}

// newStore returns a Store in memory: its contents and all questions end with the process.
func newStore(now func() time.Time) Store { return &memoryStore{now: now, open: map[string]*page{}} }

type memoryStore struct {
	now func() time.Time

	mu    sync.Mutex
	open  map[string]*page
	swept time.Time
}

type page struct {
	digest        string
	expires       time.Time
	answered, yes bool
}

func (m *memoryStore) Propose(_ context.Context, p *Pending) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	if m.open[p.ID] != nil {
		return fmt.Errorf("question %s: %w", p.ID, ErrTaken)
	}
	m.open[p.ID] = &page{digest: p.Digest, expires: p.Expires}
	return nil
}

func (m *memoryStore) Answer(_ context.Context, id, digest string, yes bool, _ string, _ json.RawMessage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.open[id]
	if p == nil || p.digest != digest || p.answered || !m.now().Before(p.expires) {
		return ErrTaken
	}
	p.answered, p.yes = true, yes
	return nil
}

func (m *memoryStore) Use(_ context.Context, id, digest string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.open[id]
	if p == nil || p.digest != digest || !p.answered || !p.yes || !m.now().Before(p.expires) {
		return ErrTaken
	}
	delete(m.open, id)
	return nil
}

// sweepEvery is how often expired elements are removed.
const sweepEvery = time.Minute

func (m *memoryStore) sweep() {
	now := m.now()
	if now.Sub(m.swept) < sweepEvery {
		return
	}
	m.swept = now
	for id, p := range m.open {
		if !now.Before(p.expires) {
			delete(m.open, id)
		}
	}
}
