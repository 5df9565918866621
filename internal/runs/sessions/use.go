package sessions

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/sandbox"
)

// Begin begins to use a session, which it makes if there is none. run names the run that uses it. The error is
// [*ErrBusy] if a program goes on in it.
func (k *Keeper) Begin(ctx context.Context, of Of, run string, rules config.Sessions, enroll Enroll) (*Use, error) {
	if err := CheckName(of.Name); err != nil {
		return nil, err
	}
	t, err := k.table(ctx)
	if err != nil {
		return nil, err
	}
	if t == &k.memory {
		enroll = func(_ context.Context, session string, ends time.Time) error {
			return k.memory.enroll(session, run, ends)
		}
	}
	for range tries {
		s, err := k.findOrMake(ctx, t, of, rules)
		if errors.Is(err, store.ErrTaken) {
			continue // somebody else has just made it
		}
		if err != nil {
			return nil, err
		}
		err = enroll(ctx, s.ID, time.Now().Add(rules.Keep))
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if errors.Is(err, store.ErrTaken) {
			return nil, k.busy(ctx, t, s)
		}
		if err != nil {
			return nil, err
		}
		u, err := k.use(ctx, t, s.ID, rules)
		if err != nil && t == &k.memory {
			k.memory.free(s.ID)
		}
		return u, err
	}
	return nil, fmt.Errorf("the session %q is made and removed again and again", of.Name)
}

// A Use is one program's use of a session, from its start to its end. One goroutine at a time may call its methods.
type Use struct {
	keeper *Keeper
	table  table
	row    *store.Session
	rules  config.Sessions
	before *State // of the current version; that of an empty session if there is none

	session  *sandbox.Session // nil while it is not in the engine
	programs int              // of the session before this one

	constants []string // see Constants
}

// use is the use of a session in which only the caller's run goes on.
func (k *Keeper) use(ctx context.Context, t table, id string, rules config.Sessions) (*Use, error) {
	all, err := t.Of(ctx, &store.Session{ID: id})
	if err == nil && len(all) == 0 {
		err = errors.New("the session was removed")
	}
	if err != nil {
		return nil, err
	}
	u := &Use{keeper: k, table: t, row: all[0], rules: rules, before: &State{}}
	if err := k.fits(u.row); err != nil {
		return nil, err
	}
	if v := current(u.row); v != nil {
		if u.before, err = Read(ctx, v); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// Reopen is the use of a session by a run that began in another process.
func (k *Keeper) Reopen(ctx context.Context, id string, rules config.Sessions) (*Use, error) {
	t, err := k.table(ctx)
	if err != nil {
		return nil, err
	}
	return k.use(ctx, t, id, rules)
}

// Name is the session's name.
func (u *Use) Name() string { return u.row.Name }

// Gate is what the Gate carries over to the program, see [State]; nil for the first one.
func (u *Use) Gate() (heap, refused json.RawMessage) { return u.before.Gate, u.before.Refused }

// Names are what the program can use. known is false if the session does not tell.
func (u *Use) Names() (names []string, known bool) { return u.before.names() }

// Program returns the text of an earlier program of the session, by its number; nil if it is not stored any more.
func (u *Use) Program(ctx context.Context, number int) *Program {
	for _, v := range slices.Backward(u.row.Versions) {
		if s, err := Read(ctx, v); err == nil && s.Program != nil && s.Program.Number == number {
			return s.Program
		}
	}
	return nil
}

// FileName is the file name of the program in stacks, given its own.
func (u *Use) FileName(own string) string {
	number := 1
	if before := u.before.Program; before != nil {
		number = before.Number + 1
	}
	return fmt.Sprintf("program-%d%s", number, cmp.Or(path.Ext(own), ".js"))
}

func (u *Use) version() int64 {
	if v := current(u.row); v != nil {
		return v.Number
	}
	return 0
}

// open brings the session into the engine.
func (u *Use) open(ctx context.Context) error {
	if u.session != nil {
		return nil
	}
	if u.session = u.keeper.idle.take(u.row.ID, u.version()); u.session == nil {
		engine, err := u.keeper.Engine()
		if err != nil {
			return err
		}
		if u.session, err = u.load(ctx, engine); err != nil {
			return fmt.Errorf("opening the session %q: %w", u.row.Name, err)
		}
	}
	u.programs = u.session.Programs()
	return nil
}

func (u *Use) load(ctx context.Context, engine Engine) (*sandbox.Session, error) {
	v := current(u.row)
	if v == nil {
		return engine.NewSession(u.row.Owner)
	}
	image, err := v.Image(ctx)
	if err != nil {
		return nil, err
	}
	return engine.Open(u.row.Owner, image)
}

// Start starts the program.
func (u *Use) Start(ctx context.Context, p sandbox.Program, h sandbox.Host) (*sandbox.Run, error) {
	if err := u.open(ctx); err != nil {
		return nil, err
	}
	return u.session.Start(ctx, p, h)
}

// Resume continues the program, which was parked.
func (u *Use) Resume(ctx context.Context, image []byte, p sandbox.Program, h sandbox.Host) (*sandbox.Run, error) {
	if err := u.open(ctx); err != nil {
		return nil, err
	}
	return u.session.Resume(ctx, image, p, h)
}

// Rest lets the session go from the engine while the program is parked.
func (u *Use) Rest() {
	if u.session == nil {
		return
	}
	if u.session.Programs() != u.programs { // it is not what is stored
		u.session.Close()
	} else {
		u.keeper.idle.put(idleSession{id: u.row.ID, owner: u.row.Owner, version: u.version(), session: u.session})
		u.makeRoom()
	}
	u.session = nil
}

// makeRoom closes sessions that were used longest ago while they have more than half of the memory for sessions: the
// other half is for those that programs use now.
func (u *Use) makeRoom() {
	engine, err := u.keeper.Engine()
	if err != nil {
		return
	}
	for {
		if used, total := engine.SessionMemory(); used <= total/2 || !u.keeper.MakeRoom(u.row.Owner) {
			return
		}
	}
}

// A Made is what a program left besides the heap.
type Made struct {
	Run  string
	Name string // of the program
	Code string
	Gate json.RawMessage  // see State
	Row  *store.ParkedRun // the run as claimed; nil without a database

	Refused json.RawMessage // see State
}

// KeepRefused stores what people refused to a program that left nothing else: the current version, with the refusals,
// is the new one. A session without a version keeps none: it is as one that is made anew.
func (u *Use) KeepRefused(ctx context.Context, made Made) error {
	v := current(u.row)
	if v == nil || made.Refused == nil || bytes.Equal(made.Refused, u.before.Refused) {
		return nil
	}
	next, err := again(ctx, v, made.Refused, fmt.Sprintf("as version %d, with what people refused since", v.Number))
	if err != nil {
		return err
	}
	next.Run = made.Run
	if err := u.table.Put(ctx, u.row, next, made.Row, quota(u.rules)); err != nil {
		return err
	}
	u.row.Versions = append(u.row.Versions, next)
	return nil
}

// Keep stores what the program left as the current version. The program has ended: it returned or threw.
func (u *Use) Keep(ctx context.Context, made Made) (*store.Version, error) {
	if u.session == nil || u.session.Programs() == u.programs {
		return nil, errors.New("the program did not end in the session")
	}
	engine, err := u.keeper.Engine()
	if err != nil {
		return nil, err
	}
	state := State{V: stateVersion, Gate: made.Gate, Refused: made.Refused,
		Program: &Program{Number: u.session.Programs(), Name: made.Name, Code: made.Code}}
	if state.Names, err = u.session.Names(ctx); err != nil {
		state.Names, state.Unlisted = nil, true // the guest does not say
	}
	u.constants = becameConstant(u.before.Names, state.Names)
	about, err := json.Marshal(state)
	if err != nil {
		return nil, err
	}
	image, err := u.session.Image()
	if err != nil {
		return nil, err
	}
	size := len(about) + len(image) // the names of millions of variables make a small image
	if int64(size) > u.rules.Largest {
		return nil, fmt.Errorf("the session %q would have %d bytes, and sessions.largest in the configuration is %d: let the "+
			"program drop what it does not need, or begin a new session", u.row.Name, size, u.rules.Largest)
	}
	v := &store.Version{Run: made.Run, Guest: engine.Hash(), About: stored(about), Image: stored(image)}
	err = u.table.Put(ctx, u.row, v, made.Row, quota(u.rules))
	switch {
	case errors.Is(err, store.ErrQuota):
		return nil, u.keeper.full(ctx, u.table, u.row, u.rules, fmt.Sprintf(
			"with its %d bytes the sessions of this principal have more than the %d bytes of sessions.bytes in the "+
				"configuration", size, u.rules.Bytes))
	case errors.Is(err, store.ErrNotFound):
		return nil, fmt.Errorf("the session %q was deleted while the program ran", u.row.Name)
	case err != nil:
		return nil, err
	}
	v.Created = time.Now()
	u.row.Versions = append(u.row.Versions, v)
	u.programs = u.session.Programs()
	return v, nil
}

// becameConstant returns the names of variables that are constants now. A name has one variable, so functions of
// earlier programs still write it.
func becameConstant(before, now []sandbox.Name) (names []string) {
	wrote := map[string]bool{}
	for _, n := range before {
		wrote[n.Name] = n.Kind == "let" || n.Kind == "var"
	}
	for _, n := range now {
		if n.Kind == "const" && wrote[n.Name] {
			names = append(names, n.Name)
		}
	}
	return names
}

// Constants returns the names that were variables before the program, and that it declared as constants. Call it after
// [Use.Keep].
func (u *Use) Constants() []string { return u.constants }

// End ends the use. Without a database, other programs may use the session from now on; with one, when the run has
// ended there.
func (u *Use) End() {
	u.Rest()
	if u.table == &u.keeper.memory {
		u.keeper.memory.free(u.row.ID)
	}
}
