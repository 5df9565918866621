package sessions

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/store"
)

// Sessions are the sessions of a database, for those who list and change them. A [Keeper] has them too.
type Sessions struct {
	table  table
	within func(profile string) bool // nil is every profile
}

// In are the sessions of a database, for a process that runs no programs.
func In(db *store.DB) *Sessions { return &Sessions{table: db.Sessions} }

// Sessions are those of the keeper.
func (k *Keeper) Sessions(ctx context.Context) (*Sessions, error) {
	t, err := k.table(ctx)
	if err != nil {
		return nil, err
	}
	return &Sessions{table: t}, nil
}

// Within are those of s whose profile may be seen: for who lists and changes these, no others exist.
func (s *Sessions) Within(may func(profile string) bool) *Sessions { return &Sessions{s.table, may} }

// List lists the sessions of a principal, those used last first.
func (s *Sessions) List(ctx context.Context, principal string) ([]*store.Session, error) {
	return s.seen(ctx, &store.Session{Principal: principal})
}

// All lists the sessions of every principal.
func (s *Sessions) All(ctx context.Context) ([]*store.Session, error) {
	return s.seen(ctx, nil)
}

// seen returns the sessions that fit of, see [store.SessionTable.Of], and may be seen.
func (s *Sessions) seen(ctx context.Context, of *store.Session) ([]*store.Session, error) {
	all, err := s.table.Of(ctx, of)
	if s.within != nil {
		all = slices.DeleteFunc(all, func(one *store.Session) bool { return !s.within(one.Profile) })
	}
	return all, err
}

// Find returns a session of a principal. The error names those that there are.
func (s *Sessions) Find(ctx context.Context, principal, name string) (*store.Session, error) {
	found, err := s.seen(ctx, &store.Session{Principal: principal, Name: name})
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		return found[0], nil
	}
	all, err := s.List(ctx, principal)
	if err != nil {
		return nil, err
	}
	return nil, Missing(name, all)
}

// some is how many names an error lists.
const some = 20

// Missing is the error for a name that none of the sessions has. It names those that there are.
func Missing(name string, all []*store.Session) error {
	var names []string
	for _, one := range all {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	switch names = slices.Compact(names); {
	case len(names) == 0:
		return fmt.Errorf("there is no session %.80q, and no other one", name)
	case len(names) > some:
		names = append(names[:some], "...")
	}
	return fmt.Errorf("there is no session %.80q; there are %s", name, strings.Join(names, ", "))
}

// VersionOf returns a version of a session by its number; 0 is the current one. The error names those that there are.
func VersionOf(s *store.Session, number int64) (*store.Version, error) {
	if number == 0 && len(s.Versions) > 0 {
		return current(s), nil
	}
	var there []string
	for _, v := range s.Versions {
		if v.Number == number {
			return v, nil
		}
		there = append(there, fmt.Sprint(v.Number))
	}
	if len(there) == 0 {
		return nil, fmt.Errorf("the session %q has no versions yet: no program has ended in it", s.Name)
	}
	return nil, fmt.Errorf("the session %q has no version %d; it has %s", s.Name, number, strings.Join(there, ", "))
}

// again is a new version with the heap and the state of v, and with refusals that belong to the session.
func again(ctx context.Context, v *store.Version, refused json.RawMessage, note string) (*store.Version, error) {
	state, err := Read(ctx, v)
	if err != nil {
		return nil, err
	}
	state.Note, state.Refused = note, refused
	about, err := json.Marshal(state)
	return &store.Version{Guest: v.Guest, About: stored(about), Image: v.Image}, err
}

// renewed makes a new version of one that there is, 0 for the current one, with what people have refused since. note
// says where it is from, with the number of that version as its last argument.
func (s *Sessions) renewed(ctx context.Context, principal, name string, number int64, note string, args ...any) (
	of *store.Session, made *store.Version, err error) {
	if of, err = s.Find(ctx, principal, name); err != nil {
		return nil, nil, err
	}
	v, err := VersionOf(of, number)
	if err != nil {
		return nil, nil, err
	}
	latest, err := Read(ctx, current(of))
	if err != nil {
		return nil, nil, err
	}
	made, err = again(ctx, v, latest.Refused, fmt.Sprintf(note, append(args, v.Number)...))
	return of, made, err
}

// Rollback makes a session what it was at a version: that is its new version, so nothing is lost. What people refused
// since stays refused. No program may go on in it.
func (s *Sessions) Rollback(ctx context.Context, principal, name string, number int64, rules config.Sessions) (
	*store.Version, error) {
	of, back, err := s.renewed(ctx, principal, name, number, "as version %d")
	if err != nil {
		return nil, err
	}
	return back, s.explain(of, s.table.Put(ctx, of, back, nil, quota(rules)))
}

// Fork makes a new session of a version of another one; 0 is its current version. Both go their own way. What
// people refused in the other one until now is refused in the fork.
func (s *Sessions) Fork(ctx context.Context, principal, name string, number int64, as string, rules config.Sessions) (
	*store.Session, error) {
	if err := CheckName(as); err != nil {
		return nil, err
	}
	of, first, err := s.renewed(ctx, principal, name, number, "a fork of %s at version %d", name)
	if err != nil {
		return nil, err
	}
	fork := &store.Session{ID: rand.Text(), Principal: of.Principal, Name: as, Owner: of.Owner, Profile: of.Profile,
		Expires: time.Now().Add(rules.Keep)}
	err = s.table.Put(ctx, fork, first, nil, quota(rules))
	if errors.Is(err, store.ErrTaken) {
		return nil, fmt.Errorf("there is a session %q already: choose another name, or delete it first", as)
	}
	fork.Versions = []*store.Version{first}
	return fork, s.explain(fork, err)
}

// Delete removes a session with all its versions. No program may go on in it.
func (s *Sessions) Delete(ctx context.Context, principal, name string) error {
	of, err := s.Find(ctx, principal, name)
	if err != nil {
		return err
	}
	return s.explain(of, s.table.Drop(ctx, of))
}

// explain says what an error of the table means for a session.
func (s *Sessions) explain(of *store.Session, err error) error {
	switch {
	case errors.Is(err, store.ErrTaken):
		return &ErrBusy{Name: of.Name, Run: of.Run}
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("the session %q was removed meanwhile", of.Name)
	case errors.Is(err, store.ErrQuota):
		return fmt.Errorf("no room for another version of %q: the sessions of its principal have used up sessions.number or "+
			"sessions.bytes of the configuration; delete one that is not needed", of.Name)
	}
	return err
}

// A Summary is a session in a list, for those who look at sessions: clients, the command line and the page.
type Summary struct {
	Name      string    `json:"name"`
	Principal string    `json:"principal"`
	Profile   string    `json:"profile"`
	Versions  int       `json:"versions"`
	Bytes     int64     `json:"bytes"` // of all versions
	Created   time.Time `json:"created"`
	Used      time.Time `json:"used"`
	Expires   time.Time `json:"expires"`
	Run       string    `json:"run,omitempty"` // that goes on in it
}

// Summarize returns the summary of a session.
func Summarize(s *store.Session) Summary {
	return Summary{s.Name, s.Principal, s.Profile, len(s.Versions), Size(s), s.Created, s.Used, s.Expires, s.Run}
}

// A Description is a session with its versions, and what one of them declares.
type Description struct {
	Summary
	Versions []DescribedVersion `json:"versions"` // the oldest first
	At       int64              `json:"at"`       // the version that declares Names; 0 is none
	Names    []Name             `json:"names"`    // from the guest, so untrusted
	Unlisted bool               `json:"unlisted,omitempty"`
}

// A DescribedVersion is one version of a session. Note says where it came from, or why that cannot be read.
type DescribedVersion struct {
	Version int64     `json:"version"`
	Created time.Time `json:"created"`
	Bytes   int64     `json:"bytes"`
	Run     string    `json:"run,omitempty"`
	Note    string    `json:"note,omitempty"` // may have the name of a program, so untrusted
}

// DescribeAt describes a session, and what its version of that number declares; 0 is the current one. If that version
// cannot be read, its names are unlisted, and its note says why.
func DescribeAt(ctx context.Context, s *store.Session, number int64) (*Description, error) {
	d := &Description{Summary: Summarize(s), Versions: []DescribedVersion{}, Names: []Name{}}
	if number != 0 || len(s.Versions) > 0 {
		v, err := VersionOf(s, number)
		if err != nil {
			return nil, err
		}
		d.At = v.Number
	}
	for _, v := range s.Versions {
		one := DescribedVersion{Version: v.Number, Created: v.Created, Bytes: v.Bytes, Run: v.Run}
		state, err := Read(ctx, v)
		switch {
		case err != nil:
			one.Note, state = err.Error(), &State{Unlisted: true}
		case state.Program != nil:
			one.Note = cmp.Or(state.Note, "left by "+state.Program.Name)
		default:
			one.Note = state.Note
		}
		d.Versions = append(d.Versions, one)
		if v.Number == d.At {
			d.Unlisted = state.Unlisted
			d.Names = append(d.Names, slices.DeleteFunc(state.Names, helper)...)
		}
	}
	return d, nil
}

// helper reports whether a name is a helper of the compiler.
func helper(n Name) bool { return strings.HasPrefix(n.Name, "__") }

// Describe says what a name is, in words such as "const rates: Map".
func Describe(n Name) string {
	return fmt.Sprintf("%s %s: %s", n.Kind, n.Name, cmp.Or(n.Class, n.Type))
}
