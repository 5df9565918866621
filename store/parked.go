package store

import (
	"context"
	"encoding/json"
	"time"
)

// A ParkedRun waits for a person and holds no thread: it can go on in any process that has the same guest.
type ParkedRun struct {
	Run       string
	Principal string
	Profile   string
	Guest     string          // sha256 of quickjs.wasm
	State     json.RawMessage // what the host knew of the run
	Image     []byte
	Created   time.Time
	Expires   time.Time
	Claim     string // who resumes it; "" while it waits
}

// Park keeps a run.
func (d *DB) Park(ctx context.Context, p *ParkedRun) error {
	defer d.changed(Parked)
	_, err := d.exec(ctx, `INSERT INTO parked (run, principal, profile, guest, state, image, created, expires) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		p.Run, p.Principal, p.Profile, p.Guest, string(p.State), p.Image, d.now(), p.Expires.UnixMicro())
	return err
}

// Unpark takes a run to go on with it. Whoever gets it is the only one who ever does: [ErrTaken] is for all others.
// by names the process.
func (d *DB) Unpark(ctx context.Context, run, by string) (*ParkedRun, error) {
	defer d.changed(Parked)
	if by == "" {
		panic("store: a parked run is claimed by somebody")
	}
	if err := d.once(ctx, `UPDATE parked SET claim = $1 WHERE run = $2 AND claim = '' AND expires > $3`, by, run, d.now()); err != nil {
		return nil, err
	}
	all, err := d.parked(ctx, true, `run = $1`, run)
	if err == nil && len(all) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Forget drops a run that was claimed and has gone on, or that ends while it waits.
func (d *DB) Forget(ctx context.Context, run string) error {
	defer d.changed(Parked)
	_, err := d.exec(ctx, `DELETE FROM parked WHERE run = $1`, run)
	return err
}

// ParkedRuns lists the runs that wait, oldest first, without their images.
func (d *DB) ParkedRuns(ctx context.Context) ([]*ParkedRun, error) {
	return d.parked(ctx, false, `claim = '' AND expires > $1 ORDER BY created, run`, d.now())
}

func (d *DB) parked(ctx context.Context, image bool, where string, args ...any) ([]*ParkedRun, error) {
	column := "NULL"
	if image {
		column = "image"
	}
	var all []*ParkedRun
	err := d.each(ctx, func(scan func(...any) error) error {
		var p ParkedRun
		var state string
		var created, expires int64
		if err := scan(&p.Run, &p.Principal, &p.Profile, &p.Guest, &state, &p.Image, &created, &expires, &p.Claim); err != nil {
			return err
		}
		p.State, p.Created, p.Expires = json.RawMessage(state), fromMicro(created), fromMicro(expires)
		all = append(all, &p)
		return nil
	}, `SELECT run, principal, profile, guest, state, `+column+`, created, expires, claim FROM parked WHERE `+where, args...)
	return all, err
}
