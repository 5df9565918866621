package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// A Session is what programs of one principal share from one to the next. Its versions are what they left behind.
//
// A session has one run at a time: [KeyTable.Enroll] begins one, and [OutcomeTable.Finish] ends it. If the process of
// the run dies, the session is free once the run was reaped, see [RunTable.Reap].
type Session struct {
	ID        string // random: a session that is made again under the same name has another one
	Principal string
	Name      string
	Owner     string // whose quota it uses; "" is the quota of everybody whom nobody verifies
	Profile   string
	Created   time.Time // zero for a session that is not stored yet
	Used      time.Time
	Expires   time.Time

	Run      string     // that goes on in it; "" is none
	Versions []*Version // the oldest first: the last one is current
}

// A Version is a session as a program left it. It does not change.
type Version struct {
	Number  int64 // from 1 in each session; PutSession sets it
	Run     string
	Guest   string // sha256 of quickjs.wasm
	Bytes   int64  // of About and Image
	Created time.Time

	// About is what the host knows of it, in JSON. Both functions read a stored version, or return what a new one has.
	About, Image func(ctx context.Context) ([]byte, error)
}

// bound is what the seal binds to a part of a version: whose it is, and its guest.
func (v *Version) bound(part string, s *Session) string {
	return fmt.Sprintf("%s %d %q %q %q", part, v.Number, s.Principal, s.Profile, v.Guest)
}

// A Quota is what the sessions of one owner may have together, and how many versions each one keeps.
type Quota struct {
	Sessions int
	Bytes    int64 // of all versions
	Versions int
}

// ErrQuota is the error of a session or a version beyond a [Quota].
var ErrQuota = errors.New("the sessions of this owner have used up their quota")

// Put stores a session if it is new, and v, if it is not nil, as its current version. The versions before it
// beyond the quota are removed, the oldest first. run is the run that made v, as claimed; with nil, no run may go on
// in the session.
//
// [ErrTaken] says that there is a session of that name, or that another run goes on in it. [ErrNotFound] says that the
// session was removed meanwhile. After [ErrQuota] nothing has changed.
func (d SessionTable) Put(ctx context.Context, s *Session, v *Version, run *ParkedRun, q Quota) error {
	var about, image []byte
	if v != nil {
		var err error
		if about, err = v.About(ctx); err != nil {
			return err
		}
		if image, err = v.Image(ctx); err != nil {
			return err
		}
	}
	return d.db.transact(ctx, parkWait, func(ctx context.Context, tx *sql.Tx) error {
		if err := d.db.lockRun(ctx, tx, "sessions of "+s.Owner); err != nil {
			return err
		}
		if s.Created.IsZero() {
			if err := d.createSession(ctx, tx, s, q); err != nil {
				return err
			}
		}
		if v == nil {
			return nil
		}
		if err := d.mayChange(ctx, tx, s, run); err != nil {
			return err
		}
		return d.addVersion(ctx, tx, s, v, about, image, q)
	})
}

func (d SessionTable) createSession(ctx context.Context, tx *sql.Tx, s *Session, q Quota) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE principal = $1 AND name = $2 AND expires <= $3`,
		s.Principal, s.Name, d.db.now()); err != nil {
		return err
	}
	if err := onceIn(ctx, tx, `INSERT INTO sessions (id, principal, name, owner, profile, created, used, expires)
		VALUES ($1, $2, $3, $4, $5, $6, $6, $7) ON CONFLICT DO NOTHING`, s.ID, s.Principal, s.Name, s.Owner, s.Profile,
		d.db.now(), s.Expires.UnixMicro()); err != nil {
		return err
	}
	return within(ctx, tx, int64(q.Sessions), `SELECT count(*) FROM sessions WHERE owner = $1 AND expires > $2`, s.Owner,
		d.db.now())
}

// within returns ErrQuota if a query counts more than most.
func within(ctx context.Context, tx *sql.Tx, most int64, query string, args ...any) error {
	var n int64
	if err := tx.QueryRowContext(ctx, query, args...).Scan(&n); err != nil {
		return err
	}
	if n > most {
		return ErrQuota
	}
	return nil
}

// mayChange makes sure that a session is there, and that run goes on in it, or none does.
func (d SessionTable) mayChange(ctx context.Context, tx *sql.Tx, s *Session, run *ParkedRun) error {
	if err := onceIn(ctx, tx, `UPDATE sessions SET used = used WHERE id = $1 AND expires > $2`, s.ID,
		d.db.now()); err != nil {
		return notThere(err)
	}
	var others int
	query, args := `SELECT count(*) FROM parked WHERE session = $1`, []any{s.ID}
	if run != nil {
		if err := onceIn(ctx, tx, `UPDATE parked SET beats = beats + 1 WHERE run = $1 AND session = $2 AND claim = $3 AND
			phase IN (1, 2)`, run.Run, s.ID, run.Claim); err != nil {
			return err
		}
		query, args = query+` AND run <> $2`, append(args, run.Run)
	}
	if err := tx.QueryRowContext(ctx, query, args...).Scan(&others); err != nil {
		return err
	}
	if others > 0 {
		return ErrTaken
	}
	return nil
}

func notThere(err error) error {
	if errors.Is(err, ErrTaken) {
		return ErrNotFound
	}
	return err
}

// addVersion adds a version, and removes the oldest ones beyond the quota.
func (d SessionTable) addVersion(ctx context.Context, tx *sql.Tx, s *Session, v *Version, about, image []byte, q Quota) error {
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(number), 0) + 1 FROM session_versions WHERE session = $1`,
		s.ID).Scan(&v.Number); err != nil {
		return err
	}
	v.Bytes = int64(len(about) + len(image))
	if _, err := tx.ExecContext(ctx, `INSERT INTO session_versions
		(session, number, run, guest, bytes, about, image, created) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, s.ID, v.Number,
		v.Run, v.Guest, v.Bytes, d.db.seal.close(about, versionsTable, s.ID, v.bound("about", s)),
		d.db.seal.close(image, versionsTable, s.ID, v.bound("image", s)), d.db.now()); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM session_versions WHERE session = $1 AND number <= $2`, s.ID,
		v.Number-int64(max(q.Versions, 1))); err != nil {
		return err
	}
	// Earlier versions of this session make way before there is no room.
	if _, err := tx.ExecContext(ctx, `DELETE FROM session_versions WHERE session = $1 AND number IN (
		SELECT number FROM (SELECT number, sum(bytes) OVER (ORDER BY number DESC) AS total FROM session_versions
			WHERE session = $1) AS newest
		WHERE number < $2 AND total > $3 - (SELECT coalesce(sum(v.bytes), 0) FROM session_versions v
			JOIN sessions s ON s.id = v.session WHERE s.owner = $4 AND s.id <> $1))`, s.ID, v.Number, q.Bytes,
		s.Owner); err != nil {
		return err
	}
	return within(ctx, tx, q.Bytes, `SELECT coalesce(sum(v.bytes), 0) FROM session_versions v
		JOIN sessions s ON s.id = v.session WHERE s.owner = $1`, s.Owner)
}

// Drop removes a session and its versions. [ErrTaken] says that a run goes on in it.
func (d SessionTable) Drop(ctx context.Context, s *Session) error {
	return d.db.transact(ctx, parkWait, func(ctx context.Context, tx *sql.Tx) error {
		if err := d.mayChange(ctx, tx, s, nil); err != nil {
			return err
		}
		return dropSessions(ctx, tx, `id = $1`, s.ID)
	})
}

// enrollIn makes a run the one that goes on in a session.
func (d SessionTable) enrollIn(ctx context.Context, tx *sql.Tx, p *ParkedRun) error {
	if p.Session == "" {
		return nil
	}
	return notThere(onceIn(ctx, tx, `UPDATE sessions SET used = $1, expires = $2 WHERE id = $3 AND expires > $1`, d.db.now(),
		p.SessionEnds.UnixMicro(), p.Session))
}

// Of lists sessions that have not ended, those used last first: all with nil, else those of of's principal, and of
// these the one with its name unless that is "". With an ID, of selects that one.
func (d SessionTable) Of(ctx context.Context, of *Session) ([]*Session, error) {
	where, args := ``, []any{d.db.now()}
	switch {
	case of == nil:
	case of.ID != "":
		where, args = ` AND s.id = $2`, append(args, of.ID)
	case of.Name != "":
		where, args = ` AND s.principal = $2 AND s.name = $3`, append(args, of.Principal, of.Name)
	default:
		where, args = ` AND s.principal = $2`, append(args, of.Principal)
	}
	var all []*Session
	err := d.db.each(ctx, func(scan func(...any) error) error {
		s, v := &Session{}, &Version{}
		var created, used, expires, made int64
		if err := scan(&s.ID, &s.Principal, &s.Name, &s.Owner, &s.Profile, &created, &used, &expires, &s.Run, &v.Number,
			&v.Run, &v.Guest, &v.Bytes, &made); err != nil {
			return err
		}
		s.Created, s.Used, s.Expires = fromMicro(created), fromMicro(used), fromMicro(expires)
		if n := len(all); n > 0 && all[n-1].ID == s.ID {
			s = all[n-1]
		} else {
			all = append(all, s)
		}
		if v.Number == 0 {
			return nil
		}
		v.Created = fromMicro(made)
		v.About = func(ctx context.Context) ([]byte, error) { return d.partOf(ctx, s, v, "about") }
		v.Image = func(ctx context.Context) ([]byte, error) { return d.partOf(ctx, s, v, "image") }
		s.Versions = append(s.Versions, v)
		return nil
	}, `SELECT s.id, s.principal, s.name, s.owner, s.profile, s.created, s.used, s.expires, coalesce(p.run, ''),
		coalesce(v.number, 0), coalesce(v.run, ''), coalesce(v.guest, ''), coalesce(v.bytes, 0), coalesce(v.created, 0)
		FROM sessions s LEFT JOIN parked p ON p.session = s.id LEFT JOIN session_versions v ON v.session = s.id
		WHERE s.expires > $1`+where+` ORDER BY s.used DESC, s.id, v.number`, args...)
	return all, err
}

// partOf reads a column of a version.
func (d SessionTable) partOf(ctx context.Context, s *Session, v *Version, part string) ([]byte, error) {
	sealed, err := column[[]byte](ctx, d.db,
		`SELECT `+part+` FROM session_versions WHERE session = $1 AND number = $2`, s.ID, v.Number)
	if err != nil {
		return nil, err
	}
	if len(sealed) == 0 {
		return nil, ErrNotFound
	}
	return d.db.seal.open(sealed[0], versionsTable, s.ID, v.bound(part, s))
}

// cleanSessions removes what has ended.
func (d SessionTable) cleanSessions(ctx context.Context) (removed int64, err error) {
	err = d.db.transact(ctx, parkWait, func(ctx context.Context, tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sessions WHERE expires <= $1`,
			d.db.now()).Scan(&removed); err != nil {
			return err
		}
		return dropSessions(ctx, tx, `expires <= $1`, d.db.now())
	})
	return removed, err
}

// dropSessions removes sessions, and versions without a session.
func dropSessions(ctx context.Context, tx *sql.Tx, where string, arg any) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE `+where, arg); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM session_versions WHERE session NOT IN (SELECT id FROM sessions)`)
	return err
}
