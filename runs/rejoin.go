package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/asking"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/sandbox"
	"github.com/codemode-project/codemode/store"
)

// ErrNoRun says that no run of that name waits anywhere, or that it is somebody else's.
var ErrNoRun = errors.New("there is no such run, or its result is not kept any more")

// errKept is the failure of a run that ended in another process; what to say about it is in the Response.
var errKept = errors.New("the run failed")

// togetherWait is how long questions of one moment take to be written at most, as a rule.
const togetherWait = 100 * time.Millisecond

// Rejoin is for a client that comes back for a run which this process does not have: it puts the open questions of the run to
// the channels of r, wherever the run is, and returns what the run comes to. Of r the principal, the channels and the
// caller count. The error is [ErrNoRun] where there is nothing to come back for.
func (e *Executor) Rejoin(ctx context.Context, run string, r Request) (*Response, error) {
	ctx, leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	db, err := e.record.DB(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoRun, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	changed, stop := db.Watch(store.Approvals, store.Parked, store.Outcomes)
	defer stop()
	var questions sync.WaitGroup
	defer questions.Wait()
	defer cancel(approvals.ErrLeaving)
	draining := e.life.drain
	put := map[string]bool{} // questions that the client has been asked
	for {
		ended, err := e.Ended(ctx, run, r.Principal)
		if err == nil {
			return ended.response()
		}
		if !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		row, err := db.ParkedRun(ctx, run)
		if errors.Is(err, store.ErrNotFound) || err == nil && row.Principal != r.Principal {
			if ended, err := e.Ended(ctx, run, r.Principal); err == nil { // since it was looked
				return ended.response()
			}
			return nil, ErrNoRun
		}
		if err != nil {
			return nil, err
		}
		if e.draining() && (row.Phase == store.Waiting || row.Phase == store.Claimed) {
			err := &sandbox.Error{Kind: sandbox.Canceled, Message: errPutAway.Error(), Err: errPutAway}
			return &Response{Run: run, key: cmp.Or(r.IdempotencyKey, run)}, err
		}
		select { // questions of one moment come one after the other, and are to be one form
		case <-time.After(togetherWait):
		case <-ctx.Done():
		}
		calls, err := e.waiting(ctx, db, run, put)
		if err != nil {
			return nil, err
		}
		if len(calls) > 0 {
			questions.Go(func() {
				e.people.Desk.AskAll(ctx, calls, r.Channels, approvals.Options{Timeout: time.Until(asking.Until(calls[0])), OtherOnly: calls[0].OtherOnly, Borrowed: true})
			})
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case _, open := <-changed:
			if !open {
				return nil, ErrClosed
			}
		case <-draining:
			draining = nil // once
		case <-time.After(adoptEvery):
		}
	}
}

// waiting are the open questions of a run that are not among those put, and puts them there.
func (e *Executor) waiting(ctx context.Context, db *store.DB, run string, put map[string]bool) ([]*prompt.Request, error) {
	asked, err := db.ApprovalsOf(ctx, run)
	if err != nil {
		return nil, err
	}
	var calls []*prompt.Request
	for _, a := range asked {
		if put[a.ID] || !asking.StillAsks(a) {
			continue
		}
		put[a.ID] = true
		question, err := approvals.ReadPending(asking.PendingOf(a))
		if err != nil {
			e.log.Warn("a question cannot be put again", "run", run, "call", a.Call, "error", err)
			continue
		}
		calls = append(calls, question)
	}
	return calls, nil
}

// response is what the client of the run would have got.
func (k *Ended) response() (*Response, error) {
	r := &Response{Run: k.Run, kept: k}
	for i, b := range k.Blocks {
		r.Blocks = append(r.Blocks, hostfns.Block{Handle: fmt.Sprint(i), JSON: b})
	}
	if k.Failed {
		return r, errKept
	}
	return r, nil
}
