package sessions

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode/internal/store"
)

// memory is a table for a process without a database.
type memory struct {
	mu  sync.Mutex
	all []*store.Session

	freed chan struct{} // closed when a session is free; nil while nobody waits for that
}

// memoryBytes bounds the versions of all owners in memory.
const memoryBytes = 256 << 20

// sweep removes what has ended. The caller holds the lock.
func (m *memory) sweep() {
	now := time.Now()
	m.all = slices.DeleteFunc(m.all, func(s *store.Session) bool { return s.Run == "" && !s.Expires.After(now) })
}

// find returns a session by its ID; nil if there is none. The caller holds the lock.
func (m *memory) find(id string) *store.Session {
	for _, s := range m.all {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// enroll makes a run the only one in a session.
func (m *memory) enroll(id, run string, ends time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.find(id)
	switch {
	case s == nil:
		return store.ErrNotFound
	case s.Run != "":
		return store.ErrTaken
	}
	s.Run, s.Used, s.Expires = run, time.Now(), ends
	return nil
}

// free ends that.
func (m *memory) free(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.find(id); s != nil {
		s.Run = ""
	}
	if m.freed != nil {
		close(m.freed)
		m.freed = nil
	}
}

// watch returns a channel that is closed when a session is free.
func (m *memory) watch() (freed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.freed == nil {
		m.freed = make(chan struct{})
	}
	return m.freed
}

func (m *memory) Of(_ context.Context, of *store.Session) ([]*store.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	var found []*store.Session
	for _, s := range m.all {
		if of == nil || s.ID == of.ID ||
			of.ID == "" && s.Principal == of.Principal && (of.Name == "" || s.Name == of.Name) {
			one := *s
			one.Versions = slices.Clone(s.Versions)
			found = append(found, &one)
		}
	}
	slices.SortStableFunc(found, func(a, b *store.Session) int { return b.Used.Compare(a.Used) })
	return found, nil
}

func (m *memory) Put(ctx context.Context, s *store.Session, v *store.Version, run *store.ParkedRun,
	q store.Quota) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	mine := m.find(s.ID)
	isNew := s.Created.IsZero()
	if isNew {
		number := 1
		for _, other := range m.all {
			if other.Principal == s.Principal && other.Name == s.Name {
				return store.ErrTaken
			}
			if other.Owner == s.Owner {
				number++
			}
		}
		if number > q.Sessions {
			return store.ErrQuota
		}
		mine = &store.Session{ID: s.ID, Principal: s.Principal, Name: s.Name, Owner: s.Owner, Profile: s.Profile,
			Created: time.Now(), Used: time.Now(), Expires: s.Expires}
	}
	switch {
	case mine == nil:
		return store.ErrNotFound
	case v != nil && mine.Run != v.Run: // a run goes on in it, and did not make v
		return store.ErrTaken
	case v != nil:
		if err := m.add(ctx, mine, v, q); err != nil {
			return err
		}
	}
	if isNew {
		m.all = append(m.all, mine)
	}
	return nil
}

// add adds a version. The caller holds the lock.
func (m *memory) add(ctx context.Context, s *store.Session, v *store.Version, q store.Quota) error {
	about, err := v.About(ctx)
	if err != nil {
		return err
	}
	image, err := v.Image(ctx)
	if err != nil {
		return err
	}
	own, all := int64(0), int64(0)
	for _, other := range m.all {
		if other == s {
			continue
		}
		if all += Size(other); other.Owner == s.Owner {
			own += Size(other)
		}
	}
	v.Number, v.Bytes, v.Created = 1, int64(len(about)+len(image)), time.Now()
	if last := current(s); last != nil {
		v.Number = last.Number + 1
	}
	versions := append(slices.Clone(s.Versions), v)
	fits := func() bool {
		with := Size(&store.Session{Versions: versions})
		return len(versions) <= max(q.Versions, 1) && own+with <= q.Bytes && all+with <= memoryBytes
	}
	for len(versions) > 1 && !fits() {
		versions = versions[1:]
	}
	if !fits() {
		return store.ErrQuota
	}
	kept := *v
	kept.About, kept.Image = stored(about), stored(image)
	versions[len(versions)-1] = &kept
	s.Versions = versions
	return nil
}

func (m *memory) Drop(_ context.Context, s *store.Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch mine := m.find(s.ID); {
	case mine == nil:
		return store.ErrNotFound
	case mine.Run != "":
		return store.ErrTaken
	default:
		m.all = slices.DeleteFunc(m.all, func(one *store.Session) bool { return one == mine })
	}
	return nil
}
