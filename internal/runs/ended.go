package runs

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/sandbox"
)

// finish replaces the stored run by its result, for a client that reattaches, and closes its open questions.
func (x *execution) finish(failure error) {
	x.parking.Lock()
	defer x.parking.Unlock()
	if !x.e.record.Keeps() || x.row == nil && !x.asking.Put.Load() || x.leaving() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), storeWait)
	defer cancel()
	db, err := x.e.record.DB(ctx)
	if err == nil && x.asking.Put.Load() {
		err = db.Approvals.WithdrawRun(ctx, x.resp.Run) // people in other processes see them too
	}
	if err == nil && x.row != nil {
		err = db.Outcomes.Finish(ctx, x.row, x.outcome(failure))
	}
	if err != nil {
		x.e.log.Error("storing the result of a run failed", "run", x.resp.Run, "error", err)
		if row := x.row; row != nil && !errors.Is(err, store.ErrTaken) {
			o := x.outcome(failure)
			x.e.life.Background(func() { x.e.finishLater(row, o) })
		}
	}
	x.row = nil
}

// finishAgain is how often storing the result is tried again.
const finishAgain = time.Second

// finishLater stores the result once the database is reachable again. If this process exits first, another one ends the
// run.
func (e *Executor) finishLater(row *store.ParkedRun, o *store.Outcome) {
	for {
		select {
		case <-e.life.Ctx.Done():
			return
		case <-time.After(finishAgain):
		}
		db, err := e.record.DB(e.life.Ctx)
		if err == nil {
			err = db.Outcomes.Finish(e.life.Ctx, row, o)
		}
		if err == nil || errors.Is(err, store.ErrTaken) {
			return
		}
	}
}

// endedKeep is how long a result is stored.
const endedKeep = 24 * time.Hour

// outcome is the result for the store.
func (x *execution) outcome(failure error) *store.Outcome {
	ended := Ended{Run: x.resp.Run, Failed: failure != nil, Text: x.resp.Text(failure)}
	for _, b := range x.resp.Blocks {
		ended.Blocks = append(ended.Blocks, b.JSON)
	}
	if failure != nil {
		ended.Kind, ended.Why = sandbox.Refused, failure.Error()
		if known, ok := errors.AsType[*sandbox.Error](failure); ok {
			ended.Kind = known.Kind
		}
	} else if ended.Whole = len(ended.Blocks) == 0 && !x.resp.cutsValue(); ended.Whole {
		ended.Value = x.resp.Value
	}
	body, err := json.Marshal(ended)
	if err != nil { // a block that is not JSON
		ended.Blocks = nil
		body, _ = json.Marshal(ended)
	}
	return &store.Outcome{Run: x.resp.Run, Principal: x.request.Principal, State: x.resp.Outcome(failure), Body: body,
		Expires: time.Now().Add(endedKeep), Shared: x.request.Unchecked}
}

// Ended gives the stored result of a run. [store.ErrNotFound] says that it has not ended, or that the principal has no
// such run.
func (e *Executor) Ended(ctx context.Context, run, principal string) (*Ended, error) {
	db, err := e.record.DB(ctx)
	if err != nil {
		return nil, err
	}
	o, err := db.Outcomes.Get(ctx, run, principal)
	if err != nil {
		return nil, err
	}
	ended := &Ended{}
	return ended, json.Unmarshal(o.Body, ended)
}
