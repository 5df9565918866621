package store

import (
	"context"
	"time"
)

// leaveWait bounds the attempt to record that somebody left. If it fails, others notice when this process ends.
const leaveWait = 5 * time.Second

// Sit records that somebody at this process is present to answer the questions of a channel, until the caller calls
// leave or the process ends. Others learn of that end a second later with SQLite, and ten with PostgreSQL. leave may be
// called twice.
func (d SeatTable) Sit(ctx context.Context, channel string) (leave func(), err error) {
	claim, _, err := d.db.claims.hold("seat")
	if err != nil {
		return nil, err
	}
	if _, err := d.db.exec(ctx, `INSERT INTO seats (claim, channel, created) VALUES ($1, $2, $3)`, claim, channel,
		d.db.now()); err != nil {
		d.db.claims.drop(claim)
		return nil, err
	}
	d.db.claims.settle(claim, true)
	d.db.changed(Seats)
	return func() {
		d.db.claims.drop(claim)
		ctx, cancel := context.WithTimeout(context.Background(), leaveWait)
		defer cancel()
		if _, err := d.db.exec(ctx, `DELETE FROM seats WHERE claim = $1`, claim); err != nil {
			d.db.log.Debug("noting that somebody left failed", "channel", channel, "error", err)
		}
		d.db.changed(Seats)
	}, nil
}

// Seated reports whether somebody is present to answer the questions of a channel, in this process or another.
func (d SeatTable) Seated(ctx context.Context, channel string) (bool, error) {
	claims, err := d.claimsIn(ctx, `SELECT claim, beats FROM seats WHERE channel = $1`, channel)
	for _, claim := range claims {
		if !d.db.claims.dead(claim) {
			return true, err
		}
	}
	return false, err
}

// cleanSeats removes the seats of processes that ended.
func (d SeatTable) cleanSeats(ctx context.Context) error {
	claims, err := d.claimsIn(ctx, `SELECT claim, beats FROM seats`)
	for _, claim := range claims {
		if d.db.claims.dead(claim) {
			if _, err := d.db.exec(ctx, `DELETE FROM seats WHERE claim = $1`, claim); err != nil {
				return err
			}
		}
	}
	return err
}

// claimsIn returns the claims that a query finds, with their heartbeats.
func (d SeatTable) claimsIn(ctx context.Context, query string, args ...any) (all []string, err error) {
	err = d.db.each(ctx, func(scan func(...any) error) error {
		var claim string
		var beats int64
		if err := scan(&claim, &beats); err != nil {
			return err
		}
		d.db.claims.see(claim, beats)
		all = append(all, claim)
		return nil
	}, query, args...)
	return all, err
}

// lookAfterClaims sends this process's heartbeats and detects lost runs. It notifies the watchers when another process
// died that had runs or seats.
func (d SeatTable) lookAfterClaims(ctx context.Context) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		mine := d.db.claims.held()
		if len(mine) == 0 && !d.db.watch.watches(Parked) && !d.db.watch.watches(Seats) {
			continue
		}
		if err := d.lookAtClaims(ctx, mine); err != nil && ctx.Err() == nil {
			d.db.log.Debug("cannot read the claims of other processes", "error", err)
		}
	}
}

func (d SeatTable) lookAtClaims(ctx context.Context, mine []string) error {
	if !d.db.silent.Load() && d.db.Fleet() {
		for _, table := range []string{Parked, Seats} {
			beat := `UPDATE ` + string(table) + ` SET beats = beats + 1 WHERE claim = ANY($1)`
			if _, err := d.db.exec(ctx, beat, mine); err != nil {
				return err
			}
		}
	}
	runs, err := d.claimsIn(ctx, `SELECT claim, beats FROM parked WHERE phase > 0`)
	if err != nil {
		return err
	}
	seats, err := d.claimsIn(ctx, `SELECT claim, beats FROM seats`)
	if err != nil {
		return err
	}
	all := append(runs, seats...)
	there := make(map[string]bool, len(all))
	for _, claim := range all {
		there[claim] = true
	}
	for _, claim := range mine {
		if !there[claim] {
			d.db.claims.lose(claim)
		}
	}
	if d.db.claims.news(all) {
		d.db.watch.tell(Parked)
		d.db.watch.tell(Seats)
	}
	return nil
}
