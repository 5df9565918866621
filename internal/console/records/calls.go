package records

import (
	"cmp"
	"context"

	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
)

// ReadCalls reads a page of calls: those with an entry among the limit entries before a place, each as one row with what
// became of it. A call is on the page of its newest entry, and on no other. q says which entries count; its kinds are
// those of calls.
func ReadCalls(ctx context.Context, of Record, q store.Query, before Position, limit int) (rows []Row, next Position,
	err error) {
	q.Kinds = []string{audit.Call, audit.Approval}
	page, err := Read(ctx, of, q, before, limit)
	if err != nil {
		return nil, nil, err
	}
	runs := map[string]map[int]*CallView{}
	for _, e := range page.Entries {
		if e.Run == "" || e.Call == 0 {
			rows = append(rows, RowOf(e)) // such as the answer to a plan before its run
			continue
		}
		calls := runs[e.Run]
		if calls == nil {
			all := store.Query{Run: e.Run, Kinds: q.Kinds, Principals: q.Principals}
			if calls, err = callsOf(ctx, of, all, before); err != nil {
				return nil, nil, err
			}
			runs[e.Run] = calls
		}
		if v := calls[e.Call]; v != nil {
			rows = append(rows, v.row())
			delete(calls, e.Call)
		}
	}
	return rows, page.Next, nil
}

// callsOf reads the calls of a run that have no entry behind a place, by their numbers.
func callsOf(ctx context.Context, of Record, q store.Query, before Position) (map[int]*CallView, error) {
	calls, newer := map[int]*CallView{}, map[int]bool{}
	err := of.Entries(ctx, q, func(e *audit.Entry) error {
		if calls[e.Call] == nil {
			calls[e.Call] = &CallView{Number: e.Call}
		}
		calls[e.Call].add(RowOf(e))
		newer[e.Call] = newer[e.Call] || before != nil && e.Seq >= before[e.Chain]
		return nil
	})
	for n := range newer {
		if newer[n] {
			delete(calls, n)
		}
	}
	return calls, err
}

// row is a call in one row: its last entry, with what only earlier ones say.
func (v *CallView) row() Row {
	e := *v.Last.Entry
	e.Args, e.DecidedBy = v.Args, nil
	for _, step := range v.Steps {
		e.Risk = cmp.Or(step.Risk, e.Risk)
		if by := step.Entry.DecidedBy; by != nil && by.How != "" && (step.Kind == audit.Call || e.DecidedBy == nil) {
			e.DecidedBy = by // the call's own entries say whose answer counted; of several answers only one did
		}
	}
	return RowOf(&e)
}
