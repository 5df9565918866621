package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/asking"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/sandbox"
	"github.com/codemode-project/codemode/store"
)

// A run whose process is gone goes on in another one as soon as a person has answered one of its questions: they see them
// wherever there is a queue. What it comes to is kept for whoever asks with [Evaluator.Ended].

// adoptEvery is how often it is looked for runs whose time is over; of answers and of deaths there is news.
const adoptEvery = 30 * time.Second

// stateResumed is the state of a run in the record that goes on in another process.
const stateResumed = "resumed"

// Adopt goes on with the runs of processes that are gone, until ctx ends.
func (e *Executor) Adopt(ctx context.Context) {
	for ctx.Err() == nil {
		db, err := e.record.DB(ctx)
		if err == nil {
			e.adoptFrom(ctx, db)
		}
		select {
		case <-ctx.Done():
		case <-time.After(storeWait): // until the database can be had again
		}
	}
}

func (e *Executor) adoptFrom(ctx context.Context, db *store.DB) {
	changed, stop := db.Watch(store.Approvals, store.Parked)
	defer stop()
	for {
		rows, err := db.ParkedRuns(ctx)
		for _, row := range rows {
			if e.draining() || !e.mayGoOn(row, db.Fleet()) {
				continue // it may be one that this process has just left to another
			}
			switch e.turnOf(ctx, db, row) {
			case goesOn:
				e.life.Background(func() { e.goOn(ctx, db, row.Run) })
			case ends:
				if claimed, err := db.Unpark(ctx, row.Run, holder()); err == nil {
					e.bury(ctx, db, claimed, waited+"its client was gone, or nobody answered in time")
				}
			}
		}
		orphans, err2 := db.Orphans(ctx)
		for _, row := range orphans {
			if reaped, err := db.Reap(ctx, row.Run, holder()); err == nil { // else another process does
				e.bury(ctx, db, reaped, whyOrphaned(row))
			}
		}
		if err = errors.Join(err, err2); err != nil && ctx.Err() == nil {
			e.log.Warn("it could not be looked for runs whose process is gone", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case _, open := <-changed:
			if !open {
				return
			}
		case <-time.After(adoptEvery):
		}
	}
}

// mayGoOn reports whether a run is one that this process should go on with. Others may be another's, of a fleet or beside this one.
func (e *Executor) mayGoOn(row *store.ParkedRun, fleet bool) bool {
	var state savedRun
	if err := json.Unmarshal(row.State, &state); err != nil || state.V != savedVersion {
		return false
	}
	if fleet && row.Guest != e.guestHash() {
		return false
	}
	r := state.Request.request()
	policy, _, err := Prepare(e.life.Ctx, e.rules, &r)
	return err == nil && state.Under.same(e.savedRules(policy))
}

// turn says what is to become of a run that nobody has.
type turn int

const (
	waits turn = iota // a person may answer yet
	goesOn
	ends
)

// turnOf finds out whose turn it is. A run goes on when a person has answered, or nobody was asked before its process was gone.
func (e *Executor) turnOf(ctx context.Context, db *store.DB, row *store.ParkedRun) turn {
	open, err := openQuestions(ctx, db, row)
	if err != nil {
		e.log.Warn("a run whose process is gone cannot be gone on with", "run", row.Run, "error", err)
		return waits
	}
	var answered, stillAsked bool
	for _, a := range open {
		answered = answered || a.Validated != nil
		stillAsked = stillAsked || asking.StillAsks(a)
	}
	switch {
	case answered || len(open) == 0:
		return goesOn
	case stillAsked:
		return waits
	}
	return ends // its client was gone before its process was, or nobody answered in time
}

// openQuestions are the latest questions about the calls that a parked run waits for, by call.
func openQuestions(ctx context.Context, db *store.DB, row *store.ParkedRun) (map[int]*store.Approval, error) {
	var state savedRun
	if err := json.Unmarshal(row.State, &state); err != nil {
		return nil, err
	}
	if state.V != savedVersion {
		return nil, fmt.Errorf("version %d of codemode's state, this is %d", state.V, savedVersion)
	}
	calls, err := hostfns.Waiting(state.Gate)
	if err != nil {
		return nil, err
	}
	asked, err := db.ApprovalsOf(ctx, row.Run)
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

// instead reports whether a stands for the arguments that a person allowed in the place of those of was.
func instead(was, a *store.Approval) bool {
	return a.ID != "" && approvals.InsteadOf(was.Answer) == a.ID
}

// goOn goes on with a run, if no other process does.
func (e *Executor) goOn(ctx context.Context, db *store.DB, run string) {
	engine, err := e.engine()
	guests, ok := engine.(parker)
	if err != nil || !ok {
		return
	}
	row, err := db.Unpark(ctx, run, holder())
	if err != nil {
		return // somebody else has it
	}
	if end, err := e.recordedEnd(ctx, db, run); err == nil && end != nil {
		e.bury(ctx, db, row, end.Detail)
		return
	}
	x, done, err := e.revive(ctx, db, row, guests)
	if err == nil {
		defer done()
	}
	if e.draining() || ctx.Err() != nil { // whatever the error is: this process ends
		e.giveBack(db, row)
		return
	}
	if err == nil {
		err = db.Begin(ctx, row)
		if errors.Is(err, store.ErrTaken) || err != nil && ctx.Err() != nil {
			return // another has it, or will
		}
	}
	if err != nil {
		e.log.Error("a run whose process is gone cannot be gone on with", "run", run, "error", err)
		e.bury(ctx, db, row, waited+"its process is gone, and this one cannot go on with it: "+err.Error())
		return
	}
	x.row, x.kept = row, true
	e.recordParked(x, stateResumed, "a person has answered; it goes on in another process than it began in")
	result, err := x.revived(guests, row)
	_ = x.end(result, err) // for whoever asks, see Ended
}

// giveBack lets another process have a run that this one has claimed and not begun to go on with. If that cannot be
// noted, they find out with the end of this process.
func (e *Executor) giveBack(db *store.DB, row *store.ParkedRun) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.life.Ctx), storeWait)
	defer cancel()
	if err := db.GiveBack(ctx, row); err != nil {
		e.log.Warn("a run that waits for a person could not be given back at the end of this process", "run", row.Run,
			"error", err)
	}
}

// revive makes an execution of what is kept of a run. Nothing has happened yet when it returns.
func (e *Executor) revive(ctx context.Context, db *store.DB, row *store.ParkedRun, engine parker) (x *execution, done func(), err error) {
	if row.Guest != engine.Hash() {
		return nil, nil, fmt.Errorf("it ran in another guest, %.12s, this is %.12s", row.Guest, engine.Hash())
	}
	var state savedRun
	if err := json.Unmarshal(row.State, &state); err != nil {
		return nil, nil, err
	}
	r := state.Request.request()
	code := r.Code // what runs is the text that ran; a saved program may have changed meanwhile
	policy, _, err := Prepare(e.life.Ctx, e.rules, &r)
	if err != nil {
		return nil, nil, err
	}
	r.Code = code
	resp := &Response{Run: row.Run, name: cmp.Or(r.Name, "program.ts"), source: code}
	limits, reply := e.rules.Limits(policy.Profile())
	resp.limit = reply
	program, problems, err := e.programs.Reader.Compile(ctx, resp.name, code)
	if err != nil {
		return nil, nil, err
	}
	if len(problems) > 0 {
		return nil, nil, analysis.Problems(problems)
	}
	open, err := openQuestions(ctx, db, row)
	if err != nil {
		return nil, nil, err
	}
	x, done = e.newExecution(ctx, r, policy, program, resp, limits, engine)
	if !state.Under.same(e.savedRules(policy)) {
		done()
		return nil, nil, errors.New("the configuration of this process is another one")
	}
	x.started, x.asking.Patience.Spent = state.Started, state.Waited
	x.asking.Adopted, x.asking.Before = true, map[int]*prompt.Request{}
	for call, a := range open {
		was, err := approvals.ReadPending(asking.PendingOf(a))
		if err != nil {
			e.log.Warn("a question is asked anew, because what was asked cannot be read", "run", row.Run, "call", call, "error", err)
			continue
		}
		x.asking.Before[call] = was
	}
	if x.run, err = e.gate.Restore(x.info(), state.Gate); err != nil {
		done()
		return nil, nil, err
	}
	return x, done, nil
}

// revived runs a run that was taken over to its end. If that fails, its calls are closed with it.
func (x *execution) revived(engine parker, row *store.ParkedRun) (*sandbox.Result, error) {
	calls, err := waitingCalls(row)
	if err != nil {
		return &sandbox.Result{}, err
	}
	guest, err := engine.Resume(x.ctx, row.Image, x.program.Lookup, x.host)
	if err != nil {
		x.cancel(err)
	} else {
		x.take(guest)
	}
	for _, id := range calls {
		x.e.life.Running.Go(func() { x.resume(id) }) // ends when the call does, which Close waits for
	}
	if err != nil {
		return &sandbox.Result{}, err
	}
	return x.drive(engine, guest)
}

// waitingCalls lists the calls of a saved run that wait for a person.
func waitingCalls(row *store.ParkedRun) ([]int, error) {
	var state savedRun
	if err := json.Unmarshal(row.State, &state); err != nil {
		return nil, err
	}
	return hostfns.Waiting(state.Gate)
}

// waited begins the words about the end of a run that nobody went on with.
const waited = "the run ended while it waited for a person: "

// whyOrphaned says why nobody can go on with a run.
func whyOrphaned(row *store.ParkedRun) string {
	calls, err := waitingCalls(row)
	if row.Phase == store.Going || err == nil && len(calls) == 0 { // also if another process died over writing this
		return "the process that the run was in ended before the run did; what it had done by then is listed, " +
			"and the program was not run again"
	}
	return waited + "the process that it ran in ended, or nobody answered in time"
}

// guestHash is that of the guest that programs run in here.
func (e *Executor) guestHash() string {
	if engine, err := e.engine(); err == nil {
		if guests, ok := engine.(parker); ok {
			return guests.Hash()
		}
	}
	return ""
}

func (e *Executor) Ended(ctx context.Context, run, principal string) (*Ended, error) {
	db, err := e.record.DB(ctx)
	if err != nil {
		return nil, err
	}
	o, err := db.Outcome(ctx, run, principal)
	if err != nil {
		return nil, err
	}
	ended := &Ended{}
	return ended, json.Unmarshal(o.Body, ended)
}
