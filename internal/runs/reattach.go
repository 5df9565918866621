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
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/sandbox"
)

// takeOverInterval is how often expired leases are scanned. Answers and process exits are notified immediately.
const takeOverInterval = 30 * time.Second

// ErrNoRun says that no run of that name waits in any process, or that it belongs to another principal.
var ErrNoRun = errors.New("there is no such run, or its result is not stored any more")

// togetherWait is how long the store usually needs to hold all questions of one moment.
const togetherWait = 100 * time.Millisecond

// Reattach waits for the result of a run that this process may not have, and sends its open questions to the channels
// of r.
func (e *Executor) Reattach(ctx context.Context, run string, r Request) (*Response, error) {
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
	put := map[string]bool{} // questions that the client has already received
	for {
		ended, err := e.Ended(ctx, run, r.Principal)
		if err == nil {
			return ended.response()
		}
		if !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		row, err := db.Runs.Get(ctx, run)
		if errors.Is(err, store.ErrNotFound) || err == nil && row.Principal != r.Principal {
			if ended, err := e.Ended(ctx, run, r.Principal); err == nil { // it ended between the two reads
				return ended.response()
			}
			return nil, ErrNoRun
		}
		if err != nil {
			return nil, err
		}
		if e.life.draining() && (row.Phase == store.Waiting || row.Phase == store.Claimed) {
			err := &sandbox.Error{Kind: sandbox.Canceled, Message: errGivenUp.Error(), Err: errGivenUp}
			return &Response{Run: run, key: cmp.Or(r.IdempotencyKey, run)}, err
		}
		select { // questions of one moment are stored one by one, and belong in one form
		case <-time.After(togetherWait):
		case <-ctx.Done():
		}
		calls, err := e.waiting(ctx, db, run, put)
		if err != nil {
			return nil, err
		}
		if len(calls) > 0 {
			questions.Go(func() {
				e.people.Desk.AskAll(ctx, calls, r.Channels, approvals.Options{Timeout: time.Until(asking.Until(calls[0])),
					OtherOnly: calls[0].OtherOnly, Borrowed: true})
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
		case <-time.After(takeOverInterval):
		}
	}
}

// waiting returns the open questions of a run that are not in put yet. It adds them.
func (e *Executor) waiting(ctx context.Context, db *store.DB, run string, put map[string]bool) ([]*prompt.Request,
	error) {
	asked, err := db.Approvals.Of(ctx, run)
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
			e.log.Warn("the stored question cannot be read", "run", run, "call", a.Call, "error", err)
			continue
		}
		calls = append(calls, question)
	}
	return calls, nil
}
