package report

import (
	"cmp"
	"context"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/visible"
)

const timeFormat = "2006-01-02T15:04:05.000000Z"

var callsHeader = []string{
	"run", "call", "principal", "client", "profile", "server", "tool", "verdict", "risk", "rule", "decided by", "channel",
	"approver",
	"asked", "started", "completed", "ms", "state", "reason", "detail", "count", "arguments", "result",
}

// A callRow combines the entries of one call.
type callRow struct {
	first     *audit.Entry // says what was called, by whom
	decision  *audit.Entry // the call is refused, or sent
	end       *audit.Entry // how it ended
	asked     time.Time
	started   time.Time
	completed time.Time
}

// Calls writes the calls of the entries that match q as CSV: a row for each, as soon as all of it was read, and last
// the calls without an end. It returns the number of calls. The table is not a proof.
func Calls(ctx context.Context, w io.Writer, db *store.DB, q store.Query) (n int, err error) {
	out := csv.NewWriter(w)
	if err := out.Write(callsHeader); err != nil {
		return 0, err
	}
	type id struct {
		run  string
		call int
	}
	open := map[id]*callRow{}
	var order []id // of open
	write := func(r *callRow) error {
		n++
		return out.Write(r.cells())
	}
	err = audit.Entries(ctx, db, q, func(e *audit.Entry) error {
		if e.Kind != audit.Call || e.Tool == ahead && e.Server == "" {
			return nil
		}
		of := id{e.Run, e.Call}
		r := open[of]
		if r == nil {
			r = &callRow{first: e}
		}
		if r.add(e); r.complete() {
			delete(open, of)
			return write(r)
		}
		if open[of] == nil {
			open[of] = r
			order = append(order, of)
		}
		return nil
	})
	if err != nil {
		return n, err
	}
	for _, of := range order {
		r := open[of]
		if r == nil {
			continue // complete, or listed twice
		}
		delete(open, of)
		if err := write(r); err != nil {
			return n, err
		}
	}
	out.Flush()
	return n, out.Error()
}

func (r *callRow) add(e *audit.Entry) {
	switch e.State {
	case audit.Pending:
		r.asked = e.Time
	case audit.Running:
		r.decision, r.started = e, e.Time
	case audit.Refused:
		r.decision, r.end, r.completed = e, e, e.Time
	default:
		r.end, r.completed = e, e.Time
	}
}

// complete reports whether nothing is missing. The entries of a call may be in two chains, one for each process that it
// ran in.
func (r *callRow) complete() bool { return r.decision != nil && r.end != nil }

func (r *callRow) cells() []string {
	decision := cmp.Or(r.decision, r.first)
	end := cmp.Or(r.end, decision)
	by, rule, args, result, state := decision.DecidedBy, "", "", "", end.State
	if by == nil {
		by = &call.DecidedBy{}
	}
	if len(decision.Rules) > 0 {
		rule = strings.TrimSpace(decision.Rules[0].ID + " " + decision.Rules[0].At)
	}
	if a := cmp.Or(decision.Args, r.first.Args); a != nil {
		args = string(a.Redacted)
	}
	if end.Result != nil {
		result = string(end.Result.Redacted)
	}
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(timeFormat)
	}
	number, took, count := "", "", ""
	if r.first.Call != 0 { // aggregated refusals have none
		number = strconv.Itoa(r.first.Call)
	}
	if end.MS != 0 {
		took = strconv.FormatFloat(end.MS, 'f', -1, 64)
	}
	if end.Count != 0 {
		count = strconv.Itoa(end.Count)
	}
	e := r.first
	cells := []string{
		e.Run, number, e.Principal, e.Client, e.Profile, e.Server, e.Tool, decision.Verdict, decision.Risk, rule, by.How,
		by.Channel, by.Principal, at(r.asked), at(r.started), at(r.completed), took, state, end.Reason, end.Detail, count,
		args, result,
	}
	for i, c := range cells {
		if slices.Contains([]string{"arguments", "result"}, callsHeader[i]) {
			c = visible.JSON(c)
		}
		cells[i] = visible.Cell(c)
	}
	return cells
}
