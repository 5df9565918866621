package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

const passkeysTable = "passkeys"

// A Passkey is a public key credential with which a person proves to be present (WebAuthn).
type Passkey struct {
	ID        string // of the credential, in base64url; no two passkeys of a database have the same
	Principal string
	// Body is what else is known of it. It never changes. It is nil if this process cannot read it, see SealKey.
	Body     json.RawMessage
	Counter  int64 // of signatures, as the authenticator said last; 0 where it counts none
	BackedUp bool  // the authenticator said last that it has a copy elsewhere
	Created  time.Time
	Used     time.Time // the last time; zero is never
}

// rowOf binds a sealed body to its person too, so that nobody can hand a passkey to somebody else.
func (p *Passkey) rowOf() string { return p.Principal + " " + p.ID }

// AddPasskey stores a passkey. [ErrTaken] says that its ID is already there, whoever has it.
func (d *DB) AddPasskey(ctx context.Context, p *Passkey) error {
	body := d.seal.closeText(p.Body, passkeysTable, p.rowOf(), "body")
	return d.once(ctx, `INSERT INTO passkeys (id, principal, body, counter, backed_up, created)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
		p.ID, p.Principal, body, p.Counter, p.BackedUp, d.now())
}

// Passkeys lists the passkeys of a person, oldest first.
func (d *DB) Passkeys(ctx context.Context, principal string) ([]*Passkey, error) {
	var all []*Passkey
	err := d.each(ctx, func(scan func(...any) error) error {
		p := &Passkey{Principal: principal}
		var body string
		var created int64
		var used sql.NullInt64
		if err := scan(&p.ID, &body, &p.Counter, &p.BackedUp, &created, &used); err != nil {
			return err
		}
		if plain, err := d.seal.openText(body, passkeysTable, p.rowOf(), "body"); err == nil {
			p.Body = plain
		}
		if p.Created = fromMicro(created); used.Valid {
			p.Used = fromMicro(used.Int64)
		}
		all = append(all, p)
		return nil
	}, `SELECT id, body, counter, backed_up, created, used FROM passkeys WHERE principal = $1 ORDER BY created, id`,
		principal)
	return all, err
}

// UsePasskey notes a use, with what the authenticator said in it. [ErrTaken] says that the person has no such passkey,
// or that the counter has not grown: it has to, unless it was and stays 0 (WebAuthn Level 3, section 7.2, step 22).
func (d *DB) UsePasskey(ctx context.Context, principal, id string, counter int64, backedUp bool) error {
	return d.once(ctx, `UPDATE passkeys SET counter = $1, backed_up = $2, used = $3
		WHERE id = $4 AND principal = $5 AND (counter < $1 OR counter = 0 AND $1 = 0)`,
		counter, backedUp, d.now(), id, principal)
}

// RemovePasskey removes a passkey of a person. [ErrTaken] says that they have no such passkey.
func (d *DB) RemovePasskey(ctx context.Context, principal, id string) error {
	return d.once(ctx, `DELETE FROM passkeys WHERE id = $1 AND principal = $2`, id, principal)
}
