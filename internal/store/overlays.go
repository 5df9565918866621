package store

import (
	"context"
	"encoding/json"
	"time"
)

// An Overlay is a temporary fact about a session or a principal for all processes, such as the role that a session was
// made for. Overlays of the configuration narrow the session by that role. Body contains the fact.
type Overlay struct {
	ID      string
	Holder  string
	Body    json.RawMessage
	Created time.Time
	Expires time.Time
}

// Put stores an overlay, and replaces one with the same id. One without a body ends it.
func (d OverlayTable) Put(ctx context.Context, o *Overlay) error {
	defer d.db.changed(overlaysTable)
	if o.Body == nil {
		_, err := d.db.exec(ctx, `DELETE FROM overlays WHERE id = $1`, o.ID)
		return err
	}
	_, err := d.db.exec(ctx, `INSERT INTO overlays (id, holder, body, created, expires) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, body = excluded.body, expires = excluded.expires`,
		o.ID, o.Holder, string(o.Body), d.db.now(), o.Expires.UnixMicro())
	return err
}

// Of lists the current overlays; of one holder, or all for "".
func (d OverlayTable) Of(ctx context.Context, holder string) ([]*Overlay, error) {
	var all []*Overlay
	err := d.db.each(ctx, func(scan func(...any) error) error {
		var o Overlay
		var body string
		var created, expires int64
		if err := scan(&o.ID, &o.Holder, &body, &created, &expires); err != nil {
			return err
		}
		o.Body, o.Created, o.Expires = json.RawMessage(body), fromMicro(created), fromMicro(expires)
		all = append(all, &o)
		return nil
	}, `SELECT id, holder, body, created, expires FROM overlays WHERE expires > $1 AND ($2 = '' OR holder = $2) ORDER BY created, id`, d.db.now(), holder)
	return all, err
}
