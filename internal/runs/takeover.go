package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/runs/sessions"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/sandbox"
)

// When the process of a parked run dies, another one takes the run over as soon as a person has answered one of its
// questions. People see these questions in every queue. [Executor.Ended] returns its result to clients that ask.

// restAfterScan is how many times as long as a scan it rests. Every run that parks is a change, so a thousand of them
// would make it scan without end.
const restAfterScan = 4

// TakeOver resumes the runs of processes that have died, until ctx ends.
func (e *Executor) TakeOver(ctx context.Context) {
	for ctx.Err() == nil {
		db, err := e.record.DB(ctx)
		if err == nil {
			e.takeOverFrom(ctx, db)
		}
		select {
		case <-ctx.Done():
		case <-time.After(storeWait): // until the database is available again
		}
	}
}

func (e *Executor) takeOverFrom(ctx context.Context, db *store.DB) {
	changed, stop := db.Watch(store.Approvals, store.Parked)
	defer stop()
	for {
		began := time.Now()
		rows, orphans, err := db.Runs.List(ctx)
		for _, row := range rows {
			if e.life.draining() || !e.mayResume(row, db.Fleet()) {
				continue // this process may have just given it up
			}
			switch nextStep(ctx, e.log, db, row) {
			case resumes:
				e.life.Background(func() { e.resumeRun(ctx, db, row.Run) })
			case ends:
				if claimed, err := db.Runs.Unpark(ctx, row.Run, holder()); err == nil {
					e.endOrphan(ctx, db, claimed, waited+"its client was gone, or nobody answered in time")
				}
			}
		}
		for _, row := range orphans {
			if reaped, err := db.Runs.Reap(ctx, row.Run, holder()); err == nil { // else another process does
				e.endOrphan(ctx, db, reaped, whyOrphaned(row))
			}
		}
		if err != nil && ctx.Err() == nil {
			e.log.Warn("scanning for orphaned runs failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(restAfterScan*time.Since(began), time.Second)):
		}
		select {
		case <-ctx.Done():
			return
		case _, open := <-changed:
			if !open {
				return
			}
		case <-time.After(takeOverInterval):
		}
	}
}

// mayResume reports whether this process can resume a run. Other runs in the store belong to processes with another
// guest or another configuration.
func (e *Executor) mayResume(row *store.ParkedRun, fleet bool) bool {
	state, err := readSaved(row)
	if err != nil {
		return false
	}
	if fleet && row.Guest != e.engine.hash() {
		return false
	}
	r := state.Request
	policy, _, err := Prepare(e.life.Ctx, e.rules, &r)
	return err == nil && state.Under.same(saveRules(e.rules, policy))
}

// A step is the next action for a run that no process holds.
type step int

const (
	waits   step = iota // a person may still answer
	resumes             // a person answered, or its process died before anybody was asked
	ends                // nobody can answer any more
)

func nextStep(ctx context.Context, log *slog.Logger, db *store.DB, row *store.ParkedRun) step {
	open, err := openQuestions(ctx, db, row)
	if err != nil {
		log.Warn("cannot read the questions of a run with a dead process; it stays parked", "run", row.Run, "error", err)
		return waits
	}
	var answered, stillAsked bool
	for _, a := range open {
		answered = answered || a.Validated != nil
		stillAsked = stillAsked || asking.StillAsks(a)
	}
	switch {
	case answered || len(open) == 0:
		return resumes
	case stillAsked:
		return waits
	}
	return ends // its client left before its process died, or nobody answered in time
}

// openQuestions returns the latest question about each call that a parked run waits for, by number of the call.
func openQuestions(ctx context.Context, db *store.DB, row *store.ParkedRun) (map[int]*store.Approval, error) {
	calls, err := waitingCalls(row)
	if err != nil {
		return nil, err
	}
	asked, err := db.Approvals.Of(ctx, row.Run)
	if err != nil {
		return nil, err
	}
	open := map[int]*store.Approval{}
	for _, call := range calls {
		for _, a := range asked {
			if a.Call != call {
				continue
			}
			if was := open[call]; was == nil || a.Created.After(was.Created) && !instead(was, a) {
				open[call] = a
			}
		}
	}
	return open, nil
}

// instead reports whether a is the question with a person's changed arguments, replacing those of was.
func instead(was, a *store.Approval) bool {
	return a.ID != "" && approvals.InsteadOf(was.Answer) == a.ID
}

// resumeRun resumes a run in this process, unless another process claims it first.
func (e *Executor) resumeRun(ctx context.Context, db *store.DB, run string) {
	engine, err := e.engine.get()
	if err != nil {
		return
	}
	row, err := db.Runs.Unpark(ctx, run, holder())
	if err != nil {
		return // another process has claimed it
	}
	if end, err := recordedEnd(ctx, e.record, db, run); err == nil && end != nil {
		e.endOrphan(ctx, db, row, end.Detail)
		return
	}
	x, done, err := e.restore(ctx, db, row, engine)
	if err == nil {
		defer done()
	}
	if e.life.draining() || ctx.Err() != nil { // whatever the error: this process stops
		e.giveBack(db, row)
		return
	}
	if err == nil {
		err = db.Runs.Begin(ctx, row)
		if errors.Is(err, store.ErrTaken) || err != nil && ctx.Err() != nil {
			return // another process has it, or will
		}
	}
	if err != nil {
		e.log.Error("cannot resume a run with a dead process; it ends", "run", run, "error", err)
		e.endOrphan(ctx, db, row, waited+"its process died, and this one cannot resume it: "+err.Error())
		return
	}
	x.row, x.kept = row, true
	e.recorded.parked(x.ctx, x.resp, &x.request, x.policy, audit.Resumed,
		"a person has answered; another process than the one that started the run resumes it")
	result, err := x.runResumed(row)
	_ = x.end(result, err) // for clients that ask, see Ended
}

// giveBack releases the claim on a run that this process has not begun to resume. If the store cannot be written, other
// processes take the run when this one has exited.
func (e *Executor) giveBack(db *store.DB, row *store.ParkedRun) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.life.Ctx), storeWait)
	defer cancel()
	if err := db.Runs.GiveBack(ctx, row); err != nil {
		e.log.Warn("releasing the claim on a parked run failed", "run", row.Run, "error", err)
	}
}

// restore makes an execution from a saved run. It starts nothing.
func (e *Executor) restore(ctx context.Context, db *store.DB, row *store.ParkedRun, engine Engine) (x *execution,
	done func(), err error) {
	if row.Guest != engine.Hash() {
		return nil, nil, fmt.Errorf("it ran in another guest, %.12s, this is %.12s", row.Guest, engine.Hash())
	}
	state, err := readSaved(row)
	if err != nil {
		return nil, nil, err
	}
	r := state.Request
	code := r.Code // run the same text again; a saved program may have changed meanwhile
	policy, _, err := Prepare(e.life.Ctx, e.rules, &r)
	if err != nil {
		return nil, nil, err
	}
	r.Code = code
	resp := &Response{Run: row.Run, name: cmp.Or(r.Name, "program.ts"), source: code}
	limits, reply := e.rules.Limits(policy.Profile(), r.Client)
	resp.limit = reply
	program, problems, err := e.programs.Reader.Compile(ctx, resp.name, code)
	if err != nil {
		return nil, nil, err
	}
	if len(problems) > 0 {
		return nil, nil, analysis.Problems(problems)
	}
	resp.source = cmp.Or(program.Text(), code)
	open, err := openQuestions(ctx, db, row)
	if err != nil {
		return nil, nil, err
	}
	var use *sessions.Use
	if row.Session != "" {
		if use, err = e.Sessions.Reopen(ctx, row.Session, e.SessionRules()); err != nil {
			return nil, nil, err
		}
	}
	x, done = e.newExecution(ctx, r, policy, program, resp, limits, engine, use)
	if err := x.inSession(); err != nil {
		done()
		return nil, nil, err
	}
	if !state.Under.same(saveRules(e.rules, policy)) {
		done()
		return nil, nil, errors.New("this process has another configuration")
	}
	x.started, x.asking.Patience.Spent = state.Started, state.Waited
	x.asking.TakenOver, x.asking.Before = true, map[int]*prompt.Request{}
	for call, a := range open {
		was, err := approvals.ReadPending(asking.PendingOf(a))
		if err != nil {
			e.log.Warn("asking anew: the stored question cannot be read", "run", row.Run, "call", call, "error", err)
			continue
		}
		x.asking.Before[call] = was
	}
	if x.run, err = e.tools.Gate(nil, r.verified(), e.record.To).Restore(x.info(), state.Gate); err != nil {
		done()
		return nil, nil, err
	}
	return x, done, nil
}

// runResumed resumes the guest of a run that was taken over, and its calls, and waits for its end.
func (x *execution) runResumed(row *store.ParkedRun) (*sandbox.Result, error) {
	calls, err := waitingCalls(row)
	if err != nil {
		return &sandbox.Result{}, err
	}
	guest, err := x.resumeImage(row.Image)
	if err != nil {
		x.cancel(err)
	} else {
		x.enter(guest)
	}
	for _, id := range calls {
		x.e.life.Running.Go(func() { x.resume(id) }) // ends when the call does, which Close waits for
	}
	if err != nil {
		return &sandbox.Result{}, err
	}
	return x.drive(guest)
}
