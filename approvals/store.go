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
	// ErrTaken says that a question has its answer already, that an answer was used already, or that the time for
	// either is over.
	ErrTaken = errors.New("it was answered or used before, or its time is over")
	// ErrChanged says that what is to be done is not what was approved.
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

// A Store keeps questions, the one answer of each and its one use, also when several processes share it. All three
// return [ErrTaken] when they come second or too late, and Answer and Use when digest is not that of the question.
type Store interface {
	Propose(ctx context.Context, p *Pending) error
	Answer(ctx context.Context, id, digest string, yes bool, by string, answer json.RawMessage) error
	Use(ctx context.Context, id, digest string) error
}

// A SharedStore is a Store that several processes share: a question of one can be answered in another.
type SharedStore interface {
	Store
	// Answered waits until the question has its answer, whoever gave it, and returns what Answer was given.
	Answered(ctx context.Context, id string) (yes bool, answer json.RawMessage, err error)
	// AnswerInstead answers a question with another one: a no to it, and a yes to other, which nobody has proposed. All
	// of it happens or nothing.
	AnswerInstead(ctx context.Context, id, digest, by string, no json.RawMessage, other *Pending,
		yes json.RawMessage) error
	// Withdraw closes a question that needs no answer any more.
	Withdraw(ctx context.Context, id string) error
	// Find returns a question, answered or not.
	Find(ctx context.Context, id string) (*Pending, error)
	// Open lists the questions that have no answer, oldest first.
	Open(ctx context.Context) ([]*Pending, error)
	// Sit notes that somebody is there for the questions of a channel, for other processes to know, until leave is
	// called. Seated reports whether somebody is, in whatever process.
	Sit(ctx context.Context, channel string) (leave func(), err error)
	Seated(ctx context.Context, channel string) (bool, error)
	// Watch returns a channel that receives when questions may have come or been answered, or people may have come or
	// left, until stop is called.
	Watch(ctx context.Context) (changed <-chan struct{}, stop func(), err error)
}

// newStore returns a Store in memory: what it holds ends with the process, and every question with it.
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

// sweepEvery is how often what is over is thrown away.
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
