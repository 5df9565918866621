package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/sandbox"
)

// endOrphan ends a run that no process can resume, and that this process has claimed. It tells the client what the run
// did, from the record. why is a sentence.
func (e *Executor) endOrphan(ctx context.Context, db *store.DB, row *store.ParkedRun, why string) {
	// It also completes while this process stops.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWait)
	defer cancel()
	run := row.Run
	state, _ := readSaved(row) // zero if it cannot be read: then there is nothing to tell
	r := state.Request
	x := &execution{e: e, request: r, resp: &Response{
		Run: run, name: cmp.Or(r.Name, "program.ts"), source: r.Code, limit: DefaultTextBytes, everyCall: r.EveryCall,
	}}
	if restored, err := e.gate.Restore(hostfns.RunInfo{ID: run}, state.Gate); err == nil {
		x.resp.Calls = restored.End()
	}
	x.policy = &inforce.Policy{Rules: e.rules, Name: r.Profile, Now: time.Now}
	end, err := recordedEnd(ctx, e.record, db, run)
	if err == nil {
		err = x.readSinceParked(ctx, db)
	}
	if err != nil {
		e.log.Error("cannot read what a parked run did", "run", run, "error", err)
	}
	failure := &sandbox.Error{Kind: sandbox.Canceled, Message: why}
	if end == nil {
		e.recorded.end(ctx, x.resp, &r, x.policy, state.Started, failure)
	} else {
		failure.Message = fmt.Sprintf("the run ended (%s), and its process died before the result was stored",
			cmp.Or(end.Reason, end.State))
		if end.Detail != "" {
			failure.Message += ": " + end.Detail
		}
	}
	if err := e.people.Grants.EndRun(ctx, run, true); err != nil {
		e.log.Warn("revoking the grants of an ended run failed", "run", run, "error", err)
	}
	if err := db.Approvals.WithdrawRun(ctx, run); err != nil {
		e.log.Warn("closing the questions of an ended run failed", "run", run, "error", err)
	}
	if err := db.Outcomes.Finish(ctx, row, x.outcome(failure)); err != nil {
		e.log.Error("storing the result of an ended run failed", "run", run, "error", err)
	}
}

// recordedEnd is the entry about the end of a run; nil if there is none. A process can die after it has recorded the
// end and before it has stored the result.
func recordedEnd(ctx context.Context, k *recorder.Recorder, db *store.DB, run string) (end *audit.Entry, err error) {
	if !k.Keeps() {
		return nil, nil
	}
	err = audit.Entries(ctx, db, store.Query{Run: run, Kinds: []string{audit.Run}}, func(entry *audit.Entry) error {
		if entry.State != audit.Running && entry.State != audit.Parked && entry.State != audit.Resumed {
			end = entry
		}
		return nil
	})
	return end, err
}

// readSinceParked brings the list of a run's calls up to date from the record: a process may have resumed the run and
// died. For calls that still wait for a person, it records that they are not made.
func (x *execution) readSinceParked(ctx context.Context, db *store.DB) error {
	resp := x.resp
	if !x.e.record.Keeps() {
		return nil
	}
	last := map[int]*audit.Entry{} // of each call
	if err := audit.Entries(ctx, db, store.Query{Run: resp.Run, Kinds: []string{audit.Call}},
		func(entry *audit.Entry) error {
			if before := last[entry.Call]; before == nil || entry.State != audit.Pending {
				last[entry.Call] = entry
			}
			return nil
		}); err != nil {
		return err
	}
	notMade := func(entry call.Entry) {
		entry.State, entry.Reason, entry.Detail = audit.Refused, hostfns.ReasonCanceled, hostfns.RunEnded
		entry.DecidedBy, entry.Owner = &call.DecidedBy{How: "error"}, x.request.Owner()
		x.e.record.Add(ctx, entry)
	}
	for n, entry := range last {
		at := slices.IndexFunc(resp.Calls, func(c hostfns.Report) bool { return c.Call == n })
		switch {
		case at < 0:
			resp.Calls = append(resp.Calls, recordedReport(entry))
		case resp.Calls[at].State == hostfns.NotStarted:
			resp.Calls[at] = recordedReport(entry)
		}
		if entry.State == audit.Pending {
			closed := entry.Entry
			closed.Time, closed.Args = time.Time{}, nil // now
			notMade(closed)
		}
	}
	for _, c := range resp.Calls {
		if last[c.Call] == nil && c.State == hostfns.NotStarted {
			closed := runEntry(resp, &x.request, x.policy)
			closed.Kind, closed.Call, closed.Tool = audit.Call, c.Call, c.Tool
			notMade(closed)
		}
	}
	slices.SortFunc(resp.Calls, func(a, b hostfns.Report) int { return cmp.Compare(a.Call, b.Call) })
	return nil
}

// recordedReport derives how a call ended from its last entry.
func recordedReport(e *audit.Entry) hostfns.Report {
	c := hostfns.Report{Call: e.Call, Tool: e.Tool, Took: time.Duration(e.MS * float64(time.Millisecond)),
		Detail: e.Detail}
	if by := e.DecidedBy; by != nil && e.State != audit.Refused && (by.How == "person" || by.How == "grant") {
		c.Approved = by.How
		if by.Channel != "" {
			c.Approved += ", " + by.Channel
		}
	}
	switch e.State {
	case audit.OK:
		c.State = hostfns.Done
	case audit.Failed:
		c.State, c.Reason = hostfns.Failed, hostfns.ToolErrorClass
	case audit.Running, audit.Unknown:
		c.State, c.Reason, c.Detail = hostfns.Unknown, call.Unknown,
			"its process ended before the upstream answered; it may have happened"
	case audit.Refused:
		c.State, c.Reason = hostfns.Refused, e.Reason
		if e.Reason == hostfns.ReasonCanceled && e.Detail == hostfns.RunEnded {
			c.State, c.Reason = hostfns.NotStarted, ""
		}
	default:
		c.State, c.Reason, c.Detail = hostfns.NotStarted, "", hostfns.RunEnded
	}
	return c
}

// waited begins the message about the end of a run that no process resumed.
const waited = "the run ended while it waited for a person: "

// whyOrphaned says why no process can resume a run.
func whyOrphaned(row *store.ParkedRun) string {
	calls, err := waitingCalls(row)
	if row.Phase == store.Going || err == nil && len(calls) == 0 { // also if another process died over writing this
		return "the process that the run was in ended before the run did; what it had done by then is listed, " +
			"and the program was not run again"
	}
	return waited + "the process that it ran in ended, or nobody answered in time"
}
