package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/runs/sessions"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/sandbox"
)

// A program of a session is enrolled like one with an idempotency key: the database says in which process it runs, and
// that it is the only one in its session. When the process dies, the run ends and the session is free, as it was.

// begin enrolls a run that has an idempotency key or a session. row is nil if it has neither, or there is no database.
func (e *Executor) begin(ctx context.Context, key *store.Key, r *Request, p *inforce.Policy, run string,
	engine Engine) (use *sessions.Use, row *store.ParkedRun, err error) {
	if r.Session != "" || key != nil {
		r.away()
	}
	switch {
	case r.Session != "":
		use, row, err = e.beginInSession(ctx, key, r, p, run, engine)
	case key != nil:
		row, err = e.enroll(ctx, key, r, p, run, engine, "", time.Time{})
	}
	if err != nil && !errors.Is(err, errKeyTaken) {
		err = fmt.Errorf("not started: %w", err)
	}
	return use, row, err
}

func (e *Executor) beginInSession(ctx context.Context, key *store.Key, r *Request, p *inforce.Policy, run string,
	engine Engine) (use *sessions.Use, row *store.ParkedRun, err error) {
	of, rules, err := e.sessionOf(r, p)
	if err != nil {
		return nil, nil, err
	}
	enroll := func(ctx context.Context, id string, ends time.Time) (err error) {
		row, err = e.enroll(ctx, key, r, p, run, engine, id, ends)
		return err
	}
	for {
		var changed <-chan struct{}
		stop := func() {}
		if r.SessionWait { // before the attempt, so that no end is missed
			changed, stop, err = e.Sessions.Watch(ctx)
		}
		if err == nil {
			use, err = e.Sessions.Begin(ctx, of, run, rules, enroll)
		}
		if busy, ok := errors.AsType[*sessions.ErrBusy](err); ok {
			err = e.awaitFree(ctx, r, busy, changed)
			if stop(); err == nil {
				continue
			}
		}
		stop()
		if err != nil && row != nil { // it is enrolled, and does not run: others may have the session
			e.giveUpSession(ctx, row, err)
		}
		return use, row, err
	}
}

// sessionOf says which session a request names, and the quotas for it.
func (e *Executor) sessionOf(r *Request, p *inforce.Policy) (of sessions.Of, rules config.Sessions, err error) {
	of = sessions.Of{Principal: r.Principal, Owner: r.Owner(), Profile: cmp.Or(r.Profile, p.ProfileName()),
		Name: r.Session}
	if rules = e.rules.KeptSessions(p.Profile()); rules.Off {
		err = noSessions(e.SessionRules().Off, of.Profile)
	}
	return of, rules, err
}

// Submission is what the checker reads of a request, with what its session declares at this moment.
func (e *Executor) Submission(ctx context.Context, r *Request, p *inforce.Policy) (*preflight.Submission, error) {
	s := SubmissionOf(r)
	if r.Session == "" {
		return s, nil
	}
	of, _, err := e.sessionOf(r, p)
	if err != nil {
		return nil, err
	}
	s.InSession = &preflight.Declared{}
	s.InSession.Names, s.InSession.Known, err = e.Sessions.Names(ctx, of)
	return s, err
}

// noSessions is the error of a program that may run in no session.
func noSessions(off bool, profile string) error {
	if off {
		return errors.New(`the configuration has no sessions ("sessions": false)`)
	}
	return fmt.Errorf(`the profile %q has no sessions ("sessions": false): use another profile, or run the `+
		"program without a session", profile)
}

// giveUpSession ends a run that is enrolled in a session that cannot be read.
func (e *Executor) giveUpSession(ctx context.Context, row *store.ParkedRun, why error) {
	db, err := e.record.DB(ctx)
	if err != nil {
		e.log.Error("a session stays taken until this process ends", "run", row.Run, "error", err)
		return
	}
	e.endOrphan(ctx, db, row, "the program was not started: "+reasonOf(why))
}

// lookAgain is how often a program that waits for its session looks for a process that died: that one tells nobody.
const lookAgain = time.Second

// awaitFree returns nil when the session of a request may be free, else why the request does not wait any longer.
func (e *Executor) awaitFree(ctx context.Context, r *Request, busy *sessions.ErrBusy, changed <-chan struct{}) error {
	if e.endsInSession(ctx, busy.Run) {
		return nil
	}
	if !r.SessionWait {
		return busy
	}
	select {
	case <-changed:
	case <-time.After(lookAgain):
	case <-ctx.Done():
		return fmt.Errorf("waiting for the session %q: %w", r.Session, context.Cause(ctx))
	}
	return nil
}

// endsInSession ends the run of a process that died, and with it the use of a session. It reports whether it did.
func (e *Executor) endsInSession(ctx context.Context, run string) bool {
	if run == "" || !e.record.Keeps() {
		return false
	}
	db, err := e.record.DB(ctx)
	if err != nil {
		return false
	}
	row, err := db.Runs.Reap(ctx, run, holder())
	if err != nil {
		return false
	}
	e.endOrphan(ctx, db, row, whyOrphaned(row))
	return true
}

// inSession makes the program one of its session. The error says which names nobody declares.
func (x *execution) inSession() error {
	if x.use == nil {
		return nil
	}
	x.resp.name = x.use.FileName(x.resp.name)
	names, known := x.use.Names()
	program, problems := x.program.InSession(x.resp.name, names)
	if len(problems) > 0 && known {
		return analysis.Problems(problems)
	}
	x.program = program
	return nil
}

// left is what the last program of the session, or of the thread, left to the Gate.
func left(t *Thread, use *sessions.Use) *hostfns.Left {
	if t != nil {
		return t.leaves()
	}
	if use == nil {
		return nil
	}
	heap, refused := use.Gate()
	if heap == nil && refused == nil {
		return nil
	}
	return &hostfns.Left{Heap: heap, Refused: refused}
}

// earlier maps a place in an earlier program of the session to its text.
func (x *execution) earlier(number, line, column int) (int, int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), storeWait)
	defer cancel()
	text := x.use.Program(ctx, number)
	if text == nil {
		return line, column
	}
	program, problems, err := x.e.programs.Reader.Compile(ctx, text.Name, text.Code)
	if err != nil || len(problems) > 0 {
		return line, column
	}
	program, _ = program.InSession(text.Name, nil)
	return program.Lookup(line, column)
}

// leaveSession stores what the program left, if it returned or threw, else only the refusals of people.
func (x *execution) leaveSession(result *sandbox.Result, failure error) {
	if t := x.request.Thread; t != nil {
		t.join(x.run.Left())
	}
	if x.use == nil {
		return
	}
	defer x.use.End()
	end := &SessionEnd{Name: x.use.Name()}
	x.resp.Session = end
	if x.leaving() {
		return
	}
	if result != nil {
		end.Timers, end.Promises = result.Dropped.Timers, result.Dropped.Promises
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), storeWait)
	defer cancel()
	x.parking.Lock() // an attempt to park may be ending
	row := x.row
	x.parking.Unlock()
	left := x.run.Left()
	made := sessions.Made{Run: x.resp.Run, Name: x.request.file(), Code: x.request.Code, Gate: left.Heap,
		Refused: left.Refused, Row: row}
	if !sandbox.Keeps(failure) {
		if err := x.use.KeepRefused(ctx, made); err != nil {
			x.e.log.Warn("a session did not keep what people refused", "run", x.resp.Run, "session", end.Name, "error", err)
		}
		return
	}
	v, err := x.use.Keep(ctx, made)
	if err != nil {
		end.Problem = reasonOf(err)
		x.e.log.Warn("what a program left in its session was not stored", "run", x.resp.Run, "session", end.Name,
			"error", err)
		return
	}
	end.Version, end.Constants = v.Number, x.use.Constants()
}
