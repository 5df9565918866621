package runs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

// A run that waits only for people is parked: park releases its guest and stores its memory image and the state of the
// Gate in the database of the record, if there is one. The process that started the run holds a claim on it there. If
// that process dies, another one takes the run over, see takeover.go.

// parkAfter is how long a run waits for people in its guest: an answer that comes at once need not wait for parking and
// resuming.
const parkAfter = 300 * time.Millisecond

// parkingWait bounds how long the end of a run waits for the outcome of storing it.
const parkingWait = 2 * time.Second

// schedulePark parks the run after parkAfter. The caller holds x.seat.mu.
func (x *execution) schedulePark() {
	if x.seat.parkScheduled || len(x.seat.waits) == 0 {
		return
	}
	x.seat.parkScheduled = true
	x.e.life.Background(func() {
		select {
		case <-time.After(parkAfter):
			x.park()
			if x.e.life.draining() {
				x.giveUp()
			}
		case <-x.calls.Done():
		}
	})
}

// park releases the guest of the run, once the run waits only for people.
func (x *execution) park() {
	x.parking.Lock()
	defer x.parking.Unlock()
	x.seat.mu.Lock()
	x.seat.parkScheduled = false
	guest := x.seat.guest
	if guest == nil || len(x.seat.waits) == 0 || x.calls.Err() != nil {
		x.seat.mu.Unlock()
		return
	}
	ctx, cancel := context.WithCancel(x.calls)
	defer cancel()
	x.seat.unpark = cancel
	x.seat.mu.Unlock()
	image, err := guest.Park(ctx)
	if err != nil {
		x.seat.mu.Lock()
		x.seat.unpark = nil
		x.schedulePark() // an answer came first; other calls may still wait
		x.seat.mu.Unlock()
		return
	}
	open := x.seat.vacate(image, guest.Open())
	x.events.Add(Event{Kind: RunParked})
	if x.e.parked.add(x, int64(len(image))) && len(open) > 0 {
		x.persist(image)
	}
}

// persist stores the parked run in the database. If that fails, the run waits in this process alone.
func (x *execution) persist(image []byte) {
	if !x.e.record.Keeps() {
		return
	}
	// However many runs park at once, the limit of time is for this one alone. An answer ends the wait.
	waiting, stop := context.WithCancel(x.calls)
	defer stop()
	x.seat.mu.Lock()
	x.seat.unpark = stop
	if len(x.seat.waits) == 0 {
		stop() // it came already
	}
	x.seat.mu.Unlock()
	leave, err := x.e.parked.turn(waiting, x.request.Owner())
	x.seat.mu.Lock()
	x.seat.unpark = nil
	x.seat.mu.Unlock()
	if err != nil {
		return
	}
	defer leave()
	x.persistNow(image)
}

// persistNow is persist once it is the run's turn.
func (x *execution) persistNow(image []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.calls), storeWait)
	defer cancel()
	// The end of the program does not cancel the write at once: its outcome must be known.
	defer context.AfterFunc(x.calls, func() { time.AfterFunc(parkingWait, cancel) })()
	row, err := x.saved(ctx, image)
	if err == nil { // a process that takes the run over reads from the record how its calls ended
		err = x.e.record.Flush(ctx)
	}
	var db *store.DB
	if err == nil {
		db, err = x.e.record.DB(ctx)
	}
	if err == nil {
		err = x.makeRoom(ctx, db, row)
	}
	if err == nil {
		err = db.Runs.Park(ctx, row)
	}
	if err != nil {
		if x.calls.Err() == nil {
			x.e.log.Warn("storing a parked run failed: the run is lost if this process stops", "run", x.resp.Run, "error", err)
		}
		if db != nil && !errors.Is(err, store.ErrTaken) && !notStored(x.ctx, db, x.resp.Run, x.row) {
			x.abandon()
		}
		return
	}
	x.row, x.kept = row, true
	if x.calls.Err() != nil {
		return // the run has ended meanwhile, and its end removes the row
	}
	x.e.recorded.parked(x.ctx, x.resp, &x.request, x.policy, audit.Parked,
		fmt.Sprintf("it waits for a person; %d bytes", len(image)))
	x.endWhenLost(row)
}

// roomWait bounds how long a run waits until earlier runs of its principal have left the database.
const roomWait = time.Second

var errNoRoom = errors.New("too many runs of this principal wait in other processes")

// makeRoom keeps the runs of one principal in the database within the share of one process. It ends runs of processes
// that have died, the oldest first.
func (x *execution) makeRoom(ctx context.Context, db *store.DB, row *store.ParkedRun) error {
	all := x.request.Unchecked
	for began := time.Now(); ; {
		runs, bytes, err := db.Runs.Size(ctx, row.Principal, all)
		if err != nil {
			return err
		}
		bytes += int64(len(row.Image) + len(row.State))
		if x.kept || runs < x.e.parked.count.Total() && bytes <= x.e.parked.bytes.Total() {
			return nil // a run that is stored already replaces its own row
		}
		if x.e.endOldest(ctx, db, row.Principal, all) {
			continue
		}
		if time.Since(began) > roomWait {
			return errNoRoom
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(roomWait / 20): // other runs of this process are being removed
		}
	}
}

// endOldest ends the oldest run of a principal that no living process holds. It reports whether there was one.
func (e *Executor) endOldest(ctx context.Context, db *store.DB, principal string, all bool) bool {
	claimable, orphans, _ := db.Runs.List(ctx) // the caller counts again
	for _, from := range []struct {
		rows []*store.ParkedRun
		take func(ctx context.Context, run, by string) (*store.ParkedRun, error)
	}{{orphans, db.Runs.Reap}, {claimable, db.Runs.Unpark}} {
		for _, row := range from.rows {
			if row.Principal != principal && !all {
				continue
			}
			if taken, err := from.take(ctx, row.Run, holder()); err == nil {
				e.endOrphan(ctx, db, taken, waited+errWaitedLongest.Error())
				return true
			}
		}
	}
	return false
}

// notStored reports whether it is certain, after a failure, that no other process can find the run in the database.
func notStored(ctx context.Context, db *store.DB, run string, before *store.ParkedRun) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWait)
	defer cancel()
	absent := func() bool {
		now, err := db.Runs.Get(ctx, run)
		if before == nil {
			return errors.Is(err, store.ErrNotFound)
		}
		return err == nil && now.Claim == before.Claim && now.Round == before.Round
	}
	if !absent() {
		return false
	}
	select { // a database that answers again may still perform writes that it received before
	case <-time.After(lateWrite):
	case <-ctx.Done():
	}
	return absent()
}

// lateWrite is longer than a database needs, once it answers again, to perform the writes that it had received.
const lateWrite = time.Second

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
