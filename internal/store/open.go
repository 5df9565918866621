package store

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Open opens a database, and creates the tables if there are none. It refuses a database with tables of another
// version.
func Open(ctx context.Context, o Options) (*DB, error) {
	if (o.Path == "") == (o.URL == "") {
		return nil, errors.New("store: one of Path and URL says which database to use")
	}
	if err := HasDriver(o.URL); err != nil {
		return nil, err
	}
	if o.Wait <= 0 {
		o.Wait = defaultWait
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &DB{options: o, log: o.Log, conns: connections{options: o, held: map[any]func(){}}, stall: stall{log: o.Log},
		claims: claims{now: o.Now}, mostOutcomes: maxOutcomes}
	d.Approvals, d.Budgets, d.Entries, d.Grants = ApprovalTable{d}, BudgetTable{d}, EntryTable{d}, GrantTable{d}
	d.Keys, d.Logins, d.Outcomes, d.Overlays = KeyTable{d}, LoginTable{d}, OutcomeTable{d}, OverlayTable{d}
	d.Results, d.Runs, d.Seats, d.Sessions = ResultTable{d}, RunTable{d}, SeatTable{d}, SessionTable{d}
	var err error
	if d.seal, err = newSeal(o.SealKey); err != nil {
		return nil, err
	}
	if o.URL != "" {
		d.line = newLine(poolConns - 1) // one appends
		d.stall.ping, d.stall.background = d.conns.ping, d.beside.Go
		err = d.conns.openPostgres(ctx)
	} else {
		d.writer = &writer{conns: &d.conns, stall: &d.stall, line: newLine(1), busy: make(chan struct{}, 1)}
		err = d.conns.openFile(ctx)
		d.claims.path = d.conns.file.path
	}
	if err != nil {
		return nil, explain(err)
	}
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.stop = stop
	d.beside.Go(func() { d.Seats.lookAfterClaims(beside) })
	if d.Fleet() {
		d.beside.Go(func() { listen(beside, o.URL, &d.watch, d.log) })
	} else {
		p := poller{conns: &d.conns, watch: &d.watch}
		d.beside.Go(func() { p.run(beside) })
	}
	return d, nil
}
