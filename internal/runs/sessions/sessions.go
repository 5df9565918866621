// Package sessions keeps what programs of one principal share from one to the next: their declarations, with all that
// these hold. See [sandbox.Session] for what lives on.
//
// A [Keeper] stores each session in the database of the record, sealed like all that comes from programs, or in memory
// if there is none. What a program leaves behind when it returns or throws is a version, which is stored before the
// program's reply. A program that ends in any other way leaves the session as it was.
//
//	use, err := keeper.Begin(ctx, sessions.Of{Principal: p, Profile: "work", Name: "analysis"}, rules, enroll)
//	guest, err := use.Start(ctx, program, host)
//	...
//	version, err := use.Keep(ctx, run, made)
//	use.End()
//
// What a user may rely on:
//
//   - A session belongs to its principal. For another one it is as if it did not exist.
//   - It belongs to a profile, and to a version of the guest: under another one nothing runs in it.
//   - One program runs in it at a time, in all processes that share the database.
package sessions

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/sandbox"
)

// An Engine has the heaps of sessions. [*sandbox.Engine] is one.
type Engine interface {
	NewSession(owner string) (*sandbox.Session, error)
	Open(owner string, image []byte) (*sandbox.Session, error)
	SessionMemory() (used, total int64)
	Hash() string
}

// A Record may have a database.
type Record interface {
	Keeps() bool
	DB(ctx context.Context) (*store.DB, error)
}

// A Keeper keeps sessions. Many goroutines may call its methods.
type Keeper struct {
	Record Record                 // nil, or one that keeps no record, keeps sessions in memory
	Engine func() (Engine, error) // required

	memory memory
	idle   idle
}

// Of identifies a session, and says under which rules a program is to use it.
type Of struct {
	Principal string
	Owner     string // whose quota and memory it uses
	Profile   string
	Name      string
}

// validName is what a session may be called.
var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckName returns an error if no session can have the name.
func CheckName(name string) error {
	if validName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%.80q names no session: a name has 1 to 64 letters, digits, dots, hyphens and underscores, and "+
		"begins with a letter or digit", name)
}

// A table stores sessions. [*store.DB] is one.
type table interface {
	Of(ctx context.Context, of *store.Session) ([]*store.Session, error)
	Put(ctx context.Context, s *store.Session, v *store.Version, run *store.ParkedRun, q store.Quota) error
	Drop(ctx context.Context, s *store.Session) error
}

func (k *Keeper) table(ctx context.Context) (table, error) {
	if k.Record == nil || !k.Record.Keeps() {
		return &k.memory, nil
	}
	db, err := k.Record.DB(ctx)
	if err != nil {
		return nil, err
	}
	return db.Sessions, nil
}

// find returns a session; nil if there is none.
func find(ctx context.Context, t table, principal, name string) (*store.Session, error) {
	all, err := t.Of(ctx, &store.Session{Principal: principal, Name: name})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// An Enroll makes a run the only one that goes on in a session, until that run ends. [store.ErrTaken] says that another
// one does, and [store.ErrNotFound] that the session was removed.
type Enroll func(ctx context.Context, session string, ends time.Time) error

// tries bounds how often Begin makes or finds a session that somebody else removes or makes at the same time.
const tries = 5

// Watch returns a channel that receives, or is closed, when a program may have ended in a session. A process that died
// tells nobody.
func (k *Keeper) Watch(ctx context.Context) (changed <-chan struct{}, stop func(), err error) {
	if k.Record == nil || !k.Record.Keeps() {
		return k.memory.watch(), func() {}, nil
	}
	db, err := k.Record.DB(ctx)
	if err != nil {
		return nil, func() {}, err
	}
	changed, stop = db.Watch(store.Parked)
	return changed, stop, nil
}

func (k *Keeper) busy(ctx context.Context, t table, s *store.Session) error {
	busy := &ErrBusy{Name: s.Name}
	if now, err := t.Of(ctx, s); err == nil && len(now) > 0 {
		busy.Run = now[0].Run
	}
	return busy
}

func (k *Keeper) findOrMake(ctx context.Context, t table, of Of, rules config.Sessions) (*store.Session, error) {
	s, err := find(ctx, t, of.Principal, of.Name)
	if err != nil {
		return nil, err
	}
	if s != nil {
		return s, k.admits(s, of)
	}
	s = &store.Session{ID: rand.Text(), Principal: of.Principal, Name: of.Name, Owner: of.Owner, Profile: of.Profile,
		Expires: time.Now().Add(rules.Keep)}
	err = t.Put(ctx, s, nil, nil, quota(rules))
	if errors.Is(err, store.ErrQuota) {
		return nil, k.full(ctx, t, s, rules, fmt.Sprintf("there are %d sessions, as many as sessions.number in the "+
			"configuration allows", rules.Number))
	}
	return s, err
}

// admits checks that a program under these rules may run in a session.
func (k *Keeper) admits(s *store.Session, of Of) error {
	if s.Profile == "" && of.Profile != "" {
		return fmt.Errorf("the session %q belongs to programs without a profile, and this program runs under %q: use "+
			"another session", of.Name, of.Profile)
	}
	if s.Profile != of.Profile {
		return fmt.Errorf("the session %q belongs to the profile %q, and this program runs under %q: run it under "+
			"%[2]q, or use another session", of.Name, s.Profile, of.Profile)
	}
	return k.fits(s)
}

// Names are what a program could use in a session at this moment; none if there is no such session. known is false if
// the session does not tell. The error says why the program could not run in it.
func (k *Keeper) Names(ctx context.Context, of Of) (names []string, known bool, err error) {
	if err := CheckName(of.Name); err != nil {
		return nil, false, err
	}
	t, err := k.table(ctx)
	if err != nil {
		return nil, false, err
	}
	s, err := find(ctx, t, of.Principal, of.Name)
	if err != nil || s == nil {
		return nil, true, err
	}
	if err := k.admits(s, of); err != nil {
		return nil, false, err
	}
	state := &State{}
	if v := current(s); v != nil {
		if state, err = Read(ctx, v); err != nil {
			return nil, false, err
		}
	}
	names, known = state.names()
	return names, known, nil
}

// fits checks that the current version is of this guest.
func (k *Keeper) fits(s *store.Session) error {
	v := current(s)
	if v == nil {
		return nil
	}
	engine, err := k.Engine()
	if err == nil && v.Guest != engine.Hash() {
		err = fmt.Errorf("the session %q was left by a codemode with another guest (%.12s, this one has %.12s), and nothing "+
			"runs in it here: use another session, or delete this one", s.Name, v.Guest, engine.Hash())
	}
	return err
}

func quota(rules config.Sessions) store.Quota {
	return store.Quota{Sessions: rules.Number, Bytes: rules.Bytes, Versions: rules.Versions}
}

// full makes the error for a quota that is used up: it says what to delete.
func (k *Keeper) full(ctx context.Context, t table, s *store.Session, rules config.Sessions, why string) error {
	all, err := t.Of(ctx, &store.Session{Principal: s.Principal})
	if err != nil {
		return fmt.Errorf("no room for the session %q: %s", s.Name, why)
	}
	slices.SortStableFunc(all, func(a, b *store.Session) int { return cmp.Compare(Size(b), Size(a)) })
	var largest []string
	for _, one := range all[:min(len(all), 3)] {
		largest = append(largest, fmt.Sprintf("%s (%d KiB)", one.Name, (Size(one)+1023)>>10))
	}
	return fmt.Errorf("no room for the session %q: %s; delete one that is not needed, the largest are %s", s.Name, why,
		strings.Join(largest, ", "))
}

// MakeRoom closes a session that no program uses, of the owner if it has one: the next program opens it again. It
// reports whether there was one. See [sandbox.Options].
func (k *Keeper) MakeRoom(owner string) bool { return k.idle.closeOne(owner) }

// Close closes the sessions that no program uses.
func (k *Keeper) Close() {
	for k.idle.closeOne("") {
	}
}

// idleFor is how long a session that nobody uses stays in the engine.
const idleFor = 5 * time.Minute

// idle are the sessions that are in the engine while no program uses them: those that were used last.
type idle struct {
	mu    sync.Mutex
	all   []idleSession // the one that was used last at the end
	timer *time.Timer   // nil while there are none
}

type idleSession struct {
	id      string
	owner   string
	version int64
	session *sandbox.Session
	used    time.Time
}

// take removes a session, if its version is the one that is wanted. Another version is closed.
func (i *idle) take(id string, version int64) *sandbox.Session {
	i.mu.Lock()
	var found *idleSession
	if at := slices.IndexFunc(i.all, func(s idleSession) bool { return s.id == id }); at >= 0 {
		found = new(i.all[at])
		i.all = slices.Delete(i.all, at, at+1)
	}
	i.mu.Unlock()
	switch {
	case found == nil:
		return nil
	case found.version != version:
		found.session.Close()
		return nil
	}
	return found.session
}

func (i *idle) put(s idleSession) {
	s.used = time.Now()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.all = append(i.all, s)
	if i.timer == nil {
		i.timer = time.AfterFunc(idleFor, i.sweep)
	}
}

// sweep closes those that were not used for long.
func (i *idle) sweep() {
	i.mu.Lock()
	n := 0
	for n < len(i.all) && time.Since(i.all[n].used) >= idleFor {
		n++
	}
	old := slices.Clone(i.all[:n])
	i.all = slices.Delete(i.all, 0, n)
	if i.timer = nil; len(i.all) > 0 {
		i.timer = time.AfterFunc(max(idleFor-time.Since(i.all[0].used), time.Second), i.sweep)
	}
	i.mu.Unlock()
	for _, s := range old {
		s.session.Close()
	}
}

// closeOne closes the one that was used longest ago, of the owner if it has one. It reports whether there was one.
func (i *idle) closeOne(owner string) bool {
	i.mu.Lock()
	if len(i.all) == 0 {
		i.mu.Unlock()
		return false
	}
	at := max(slices.IndexFunc(i.all, func(s idleSession) bool { return s.owner == owner }), 0)
	s := i.all[at]
	i.all = slices.Delete(i.all, at, at+1)
	i.mu.Unlock()
	s.session.Close()
	return true
}
