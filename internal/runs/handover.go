package runs

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/internal/store"
)

// errGivenUp ends a run in a process that stops; another one resumes it.
var errGivenUp = fmt.Errorf("%w: %w", ErrClosed, approvals.ErrLeaving)

// errTakenOver ends a run in a process from which another process has taken it.
var errTakenOver = fmt.Errorf("this process was taken for dead: %w", approvals.ErrLeaving)

// claim makes sure that calls of the run continue in this process and in no other. The Gate asks before it uses the
// answers of people.
func (x *execution) claim(ctx context.Context, calls []int) error {
	x.seat.stopWaiting(calls) // cancels an attempt to park
	x.parking.Lock()
	defer x.parking.Unlock()
	x.seat.stopWaiting(calls)
	if x.row == nil || x.row.Phase != store.Claimed {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	db, err := x.e.record.DB(ctx)
	if err == nil {
		err = db.Runs.Begin(ctx, x.row)
	}
	if errors.Is(err, store.ErrTaken) {
		x.abandon()
	}
	return err
}

// abandon ends the run in this process, because another one has it. This process then records no end of the run, not
// even if it was canceled before.
func (x *execution) abandon() {
	x.given.Store(true)
	x.cancel(errTakenOver)
}

// leaving reports whether another process has the run or may take it. Its calls may learn of that later.
func (x *execution) leaving() bool {
	return x.given.Load() || errors.Is(context.Cause(x.ctx), approvals.ErrLeaving)
}

// giveUp releases the claim on the run, so that another process can take it over. False means that the run must end
// here.
func (x *execution) giveUp() bool {
	x.park() // immediately, if it is scheduled
	x.parking.Lock()
	defer x.parking.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), storeWait)
	defer cancel()
	if x.row == nil || x.row.Phase != store.Claimed {
		return false
	}
	db, err := x.e.record.DB(ctx)
	if err == nil {
		x.e.bindName(ctx, db, &x.request, x.resp.Run)
		err = db.Runs.GiveBack(ctx, x.row)
	}
	if err != nil {
		x.e.log.Warn("releasing the claim on a parked run failed: the run ends with this process", "run", x.resp.Run,
			"error", err)
		return false
	}
	row := x.row
	x.row = nil
	x.cancel(errGivenUp)
	if x.leaving() {
		return true
	}
	if back, err := db.Runs.Unpark(ctx, row.Run, holder()); err == nil { // its client has just left, so the run ends here
		x.row = back
	}
	return false
}

// Drain gives up the runs that wait only for people. From then on it also gives up each run that begins to wait.
func (e *Executor) Drain(ctx context.Context) {
	var leaving sync.WaitGroup
	e.UnderWay.mu.Lock()
	if !e.life.draining() {
		close(e.life.drain)
	}
	for x := range e.UnderWay.executions {
		leaving.Go(func() {
			if x.seat.waiting() {
				x.giveUp()
			}
		})
	}
	e.UnderWay.mu.Unlock()
	done := make(chan struct{})
	go func() {
		leaving.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
