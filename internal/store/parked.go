package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// A Phase is the progress of a parked run.
type Phase int

const (
	Waiting Phase = iota // any process may claim it
	Claimed              // a process has it and has not begun it yet
	Going                // a process runs it, and no other ever will
	over                 // nobody can resume it; a process is writing its end
)

// A ParkedRun waits for a person and holds no thread: any process with the same guest can resume it.
//
// It is resumed at most once, whichever process dies at any moment. [RunTable.Unpark] claims it provisionally: when the
// claiming process dies, another may claim it again, a second later with SQLite and ten with PostgreSQL.
// [RunTable.Begin] returns the image, and no other process ever gets that image afterwards. Begin is one statement: if
// one process wakes up late and another took over, one of them gets [ErrTaken]. A run that waits again is parked again
// with its claim, which begins a new round. A run that began in a process that died is over: it is an orphan of
// [LoginTable.List].
type ParkedRun struct {
	Run       string
	Principal string
	Profile   string
	Guest     string          // sha256 of quickjs.wasm
	State     json.RawMessage // the host's state of the run
	Image     []byte          // returned by Begin alone
	Created   time.Time       // when it was parked, in this round
	Expires   time.Time

	// Holder is for Park: the process that has the run to itself while it lives; "" lets any process resume it. Of the
	// methods that read runs, only StoredRuns sets it.
	Holder string

	// Session is the ID of the session in which the run goes on, "" for none; SessionEnds is the new end of that session,
	// for [KeyTable.Enroll].
	Session     string
	SessionEnds time.Time

	// Lost is closed when this process no longer has the run: any further work on the run does not count. It is never
	// closed for a run that this process has not claimed.
	Lost <-chan struct{}

	Claim string // names the process that has it, with a number that is used once; "" while it waits
	Phase Phase
	Round int64

	beats  int64
	unsure bool // it is unknown whether it began
}

// Park stores a run. The process that resumed a run parks it again with the Claim that it began with, else the error is
// [ErrTaken]. Park sets Claim, Phase and Round. After any other error it is unknown whether the run is parked, so it
// must not continue here.
func (d RunTable) Park(ctx context.Context, p *ParkedRun) error {
	defer d.db.changed(Parked)
	state := d.db.seal.closeText(p.State, Parked, p.Run, "state")
	image := d.db.seal.close(p.Image, Parked, p.Run, "image")
	bytes := 0
	if len(image) > 0 {
		bytes = len(state) + len(image)
	}
	claim, phase, round := "", Waiting, int64(1)
	var lost <-chan struct{}
	if p.Holder != "" {
		var err error
		if claim, lost, err = d.db.claims.hold(p.Holder); err != nil {
			return err
		}
		phase = Claimed
	}
	query, args := `INSERT INTO parked
		(run, principal, profile, guest, state, image, created, expires, claim, phase, bytes)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`,
		[]any{p.Run, p.Principal, p.Profile, p.Guest, state, image, d.db.now(), p.Expires.UnixMicro(), claim, phase, bytes}
	if p.Claim != "" {
		round = p.Round + 1
		query = `UPDATE parked SET principal = $2, profile = $3, guest = $4, state = $5, image = $6, created = $7, expires = $8, claim = $9,
			phase = $10, bytes = $11, round = round + 1, beats = beats + 1
			WHERE run = $1 AND phase = 2 AND claim = $12 AND round = $13`
		args = append(args, p.Claim, p.Round)
	}
	d.db.claims.settle(p.Claim, false)
	if err := one(d.db.execWithin(ctx, parkWait, query, args...)); err != nil {
		d.db.claims.settle(p.Claim, true)
		d.db.claims.drop(claim)
		return err
	}
	d.db.claims.drop(p.Claim)
	d.db.claims.settle(claim, true)
	p.Claim, p.Phase, p.Round, p.Lost = claim, phase, round, lost
	return nil
}

// Unpark claims a run for this process, to resume it. All other processes get [ErrTaken], and so does every process for
// an expired run. Do nothing with the run before [RunTable.Begin].
func (d RunTable) Unpark(ctx context.Context, run, by string) (*ParkedRun, error) {
	return d.claim(ctx, run, by, Claimed, d.claimable)
}

// claim claims an available run, unless it has changed since it was read.
func (d RunTable) claim(ctx context.Context, run, by string, phase Phase, may func(*ParkedRun) bool) (*ParkedRun, error) {
	if by == "" {
		panic("store: a parked run is claimed by somebody")
	}
	p, err := d.Get(ctx, run)
	if errors.Is(err, ErrNotFound) || err == nil && !may(p) {
		err = ErrTaken
	}
	if err != nil {
		return nil, err
	}
	defer d.db.changed(Parked)
	claim, lost, err := d.db.claims.hold(by)
	if err != nil {
		return nil, err
	}
	if err := d.db.transact(ctx, answerWait, func(ctx context.Context, tx *sql.Tx) error {
		if err := d.db.lockRun(ctx, tx, run); err != nil { // after questions that are being stored, see Propose
			return err
		}
		return onceIn(ctx, tx, `UPDATE parked SET claim = $1, phase = $2, beats = beats + 1
			WHERE run = $3 AND claim = $4 AND phase = $5 AND round = $6 AND beats = $7`,
			claim, phase, run, p.Claim, p.Phase, p.Round, p.beats)
	}); err != nil {
		d.db.claims.drop(claim)
		return nil, err
	}
	d.db.claims.settle(claim, true)
	p.Claim, p.Phase, p.Lost = claim, phase, lost
	return p, nil
}

// Begin returns the image of a claimed run. Of all processes that ever claim this round of the run, one gets the image,
// and the others get [ErrTaken]. After any other error, do nothing with the run except call Begin again.
func (d RunTable) Begin(ctx context.Context, p *ParkedRun) error {
	defer d.db.changed(Parked)
	if p.Claim == "" || p.Phase != Claimed {
		return ErrTaken
	}
	err := d.db.once(ctx, `UPDATE parked SET phase = 2, beats = beats + 1 WHERE run = $1 AND claim = $2 AND phase = 1 AND round = $3`, p.Run, p.Claim, p.Round)
	if err != nil && !(p.unsure && errors.Is(err, ErrTaken)) {
		p.unsure = !errors.Is(err, ErrTaken)
		return err
	}
	// No other process has this claim, so whatever began with it began here, even if the answer of the last attempt was
	// lost.
	p.unsure = true
	images, err := column[[]byte](ctx, d.db,
		`SELECT image FROM parked WHERE run = $1 AND claim = $2 AND phase = 2 AND round = $3`, p.Run, p.Claim, p.Round)
	switch {
	case err != nil:
		return err
	case len(images) == 0:
		return ErrTaken
	}
	p.unsure, p.Phase = false, Going
	p.Image, err = d.db.seal.open(images[0], Parked, p.Run, "image")
	return err
}

// GiveBack lets other processes claim a run that this process has claimed and not begun.
func (d RunTable) GiveBack(ctx context.Context, p *ParkedRun) error {
	defer d.db.changed(Parked)
	d.db.claims.settle(p.Claim, false)
	if err := d.db.once(ctx, `UPDATE parked SET phase = 0, claim = '' WHERE run = $1 AND claim = $2 AND claim <> '' AND phase = 1`, p.Run, p.Claim); err != nil {
		d.db.claims.settle(p.Claim, true)
		return err
	}
	d.db.claims.drop(p.Claim)
	p.Claim, p.Phase = "", Waiting
	return nil
}

// Get gives one run without its image.
func (d RunTable) Get(ctx context.Context, run string) (*ParkedRun, error) {
	var all []*ParkedRun
	var state string
	err := d.db.each(ctx, func(scan func(...any) error) error {
		var p ParkedRun
		var created, expires int64
		if err := scan(&p.Run, &p.Principal, &p.Profile, &p.Guest, &state, &created, &expires, &p.Claim, &p.Phase,
			&p.Round, &p.beats, &p.Session); err != nil {
			return err
		}
		p.Created, p.Expires = fromMicro(created), fromMicro(expires)
		d.db.claims.see(p.Claim, p.beats)
		all = append(all, &p)
		return nil
	}, `SELECT run, principal, profile, guest, state, created, expires, claim, phase, round, beats, session
		FROM parked WHERE run = $1`, run)
	p, err := first(all, err)
	if err != nil {
		return nil, err
	}
	if p.State, err = d.db.seal.openText(state, Parked, run, "state"); err != nil {
		d.db.log.Error("cannot read a parked run", "run", run, "error", err)
		return nil, ErrNotFound
	}
	return p, nil
}

// List lists the runs that no living process has, oldest first, without their images. The claimable ones can be
// claimed now: the waiting ones, and those claimed by a process that died. A watcher of [Parked] is also notified of a
// death. The orphans can be resumed by no process: they expired, which nothing notifies of, or began in a process that
// died. [RunTable.Reap] takes one to write its end.
func (d RunTable) List(ctx context.Context) (claimable, orphans []*ParkedRun, err error) {
	var lone []string
	if err := d.db.each(ctx, func(scan func(...any) error) error {
		var p ParkedRun
		var expires int64
		if err := scan(&p.Run, &expires, &p.Claim, &p.Phase, &p.beats); err != nil {
			return err
		}
		p.Expires = fromMicro(expires)
		d.db.claims.see(p.Claim, p.beats)
		if d.claimable(&p) || d.orphan(&p) {
			lone = append(lone, p.Run)
		}
		return nil
	}, `SELECT run, expires, claim, phase, beats FROM parked ORDER BY created, run`); err != nil {
		return nil, nil, err
	}
	for _, run := range lone {
		p, err := d.Get(ctx, run)
		switch {
		case errors.Is(err, ErrNotFound): // it has ended
		case err != nil:
			return claimable, orphans, err
		case d.orphan(p):
			orphans = append(orphans, p)
		case d.claimable(p):
			claimable = append(claimable, p)
		}
	}
	return claimable, orphans, nil
}

// Stored lists the latest of all runs in the store, for people: without State and Image, with Holder, which is ""
// if no living process has the run.
func (d RunTable) Stored(ctx context.Context, most int) (all []*ParkedRun, err error) {
	err = d.db.each(ctx, func(scan func(...any) error) error {
		var p ParkedRun
		var created int64
		if err := scan(&p.Run, &p.Principal, &p.Profile, &created, &p.Claim, &p.Phase); err != nil {
			return err
		}
		if p.Created = fromMicro(created); !d.db.claims.dead(p.Claim) {
			p.Holder = p.Claim[:max(0, strings.LastIndexByte(p.Claim, ' '))]
		}
		all = append(all, &p)
		return nil
	}, `SELECT run, principal, profile, created, claim, phase FROM parked WHERE expires > $1 AND phase < 3
		ORDER BY created DESC, run LIMIT $2`, d.db.now(), most)
	return all, err
}

// Size counts the parked runs of a principal that have an image, and their bytes; all counts those of every
// principal.
func (d RunTable) Size(ctx context.Context, principal string, all bool) (runs, bytes int64, err error) {
	where, args := `bytes > 0 AND principal = $1`, []any{principal}
	if all {
		where, args = `bytes > 0`, nil
	}
	err = d.db.each(ctx, func(scan func(...any) error) error { return scan(&runs, &bytes) },
		`SELECT count(*), coalesce(sum(bytes), 0) FROM parked WHERE `+where, args...)
	return runs, bytes, err
}

func (d RunTable) claimable(p *ParkedRun) bool {
	return d.db.now() < p.Expires.UnixMicro() && (p.Phase == Waiting || p.Phase == Claimed && d.db.claims.dead(p.Claim))
}

func (d RunTable) orphan(p *ParkedRun) bool {
	switch p.Phase {
	case Waiting:
		return d.db.now() >= p.Expires.UnixMicro()
	case Claimed:
		return d.db.now() >= p.Expires.UnixMicro() && d.db.claims.dead(p.Claim)
	}
	return d.db.claims.dead(p.Claim)
}

// Reap takes an orphan, to write its end and to [OutcomeTable.Finish] it. All callers but one get [ErrTaken].
func (d RunTable) Reap(ctx context.Context, run, by string) (*ParkedRun, error) {
	return d.claim(ctx, run, by, over, d.orphan)
}
