package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/store"
)

// A SessionTable stores sessions. [store.SessionTable] is one.
type SessionTable interface {
	Of(ctx context.Context, of *store.Session) ([]*store.Session, error)
	Put(ctx context.Context, s *store.Session, v *store.Version, run *store.ParkedRun, q store.Quota) error
	Drop(ctx context.Context, s *store.Session) error
}

// A Place has sessions. One and Other are the same ones, as two processes have them.
type Place struct {
	One, Other SessionTable
	// Begin makes a run the only one in a session until end is called.
	Begin func(t *testing.T, session, run string) (row *store.ParkedRun, end func(), err error)
}

// TestSessions runs the conformance test of a place for sessions. fresh makes an empty one.
func TestSessions(t *testing.T, fresh func(t *testing.T) Place) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, p Place)
	}{
		{"versions come back as they were", versions},
		{"the oldest versions make way", oldestVersions},
		{"an owner has so many sessions", sessionNumber},
		{"an owner has so many bytes", sessionBytes},
		{"one program goes on at a time", oneProgram},
		{"a fork and a rollback are versions of their own", forked},
		{"a deleted session is another one when it is made again", deleted},
		{"a name is its bytes", oddNames},
		{"two principals have a session of the same name", sameName},
		{"many make and change a session at once", manySessions},
		{"a session that has ended is not there", endedSession},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, fresh(t)) })
	}
}

var roomy = store.Quota{Sessions: 1000, Bytes: 1 << 30, Versions: 1000}

func newSession(id, principal, name string) *store.Session {
	return &store.Session{ID: id, Principal: principal, Name: name, Owner: "owner of " + principal, Profile: "safe",
		Expires: time.Now().Add(time.Hour)}
}

func newVersion(image string) *store.Version {
	of := func(s string) func(context.Context) ([]byte, error) {
		return func(context.Context) ([]byte, error) { return []byte(s), nil }
	}
	return &store.Version{Guest: "sha256:g", About: of(`{"of":"` + image[:1] + `"}`), Image: of(image)}
}

// session is the session of a principal with a name; nil if there is none.
func (p Place) session(t *testing.T, principal, name string) *store.Session {
	t.Helper()
	all, err := p.Other.Of(t.Context(), &store.Session{Principal: principal, Name: name})
	must(t, err)
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// make makes a session with versions.
func (p Place) make(t *testing.T, principal, name string, images ...string) *store.Session {
	t.Helper()
	must(t, p.One.Put(t.Context(), newSession(principal+"/"+name, principal, name), nil, nil, roomy))
	for _, image := range images {
		p.add(t, principal, name, image)
	}
	return p.session(t, principal, name)
}

func (p Place) add(t *testing.T, principal, name, image string) {
	t.Helper()
	must(t, p.One.Put(t.Context(), p.session(t, principal, name), newVersion(image), nil, roomy))
}

// has checks the versions of a session, such as "1:first 2:second".
func (p Place) has(t *testing.T, principal, name string, want ...string) {
	t.Helper()
	got := []string{}
	if s := p.session(t, principal, name); s != nil {
		for _, v := range s.Versions {
			image, err := v.Image(t.Context())
			must(t, err)
			about, err := v.About(t.Context())
			must(t, err)
			if string(about) != `{"of":"`+string(image[:1])+`"}` || v.Bytes != int64(len(about)+len(image)) || v.Guest != "sha256:g" ||
				v.Created.IsZero() {
				t.Errorf("version %d is %+v with %s", v.Number, v, about)
			}
			got = append(got, fmt.Sprintf("%d:%s", v.Number, image))
		}
	}
	if !slices.Equal(got, append([]string{}, want...)) {
		t.Fatalf("%s of %s has the versions %q, want %q", name, principal, got, want)
	}
}

func versions(t *testing.T, p Place) {
	s := p.make(t, "anna", "work")
	if s == nil || s.ID != "anna/work" || s.Owner != "owner of anna" || s.Profile != "safe" || s.Run != "" ||
		s.Created.IsZero() || s.Used.IsZero() || time.Until(s.Expires) < 50*time.Minute || len(s.Versions) != 0 {
		t.Fatalf("made %+v", s)
	}
	large := string(bytes.Repeat([]byte("\x00\xff and more "), 50_000))
	p.add(t, "anna", "work", "first")
	p.add(t, "anna", "work", large)
	p.has(t, "anna", "work", "1:first", "2:"+large)
	is(t, p.One.Put(t.Context(), newSession("x", "anna", "work"), newVersion("y"), nil, roomy), store.ErrTaken)
	p.has(t, "anna", "work", "1:first", "2:"+large)

	unread := errors.New("unread")
	v := newVersion("z")
	v.Image = func(context.Context) ([]byte, error) { return nil, unread }
	is(t, p.One.Put(t.Context(), p.session(t, "anna", "work"), v, nil, roomy), unread)
	is(t, p.One.Put(t.Context(), newSession("x", "anna", "next"), v, nil, roomy), unread)
	if p.session(t, "anna", "next") != nil {
		t.Error("a session without its first version is there")
	}
}

func oldestVersions(t *testing.T, p Place) {
	p.make(t, "anna", "work", "a", "b", "c")
	two := roomy
	two.Versions = 2
	must(t, p.One.Put(t.Context(), p.session(t, "anna", "work"), newVersion("d"), nil, two))
	p.has(t, "anna", "work", "3:c", "4:d")
	two.Versions = 0 // the current one stays
	must(t, p.One.Put(t.Context(), p.session(t, "anna", "work"), newVersion("e"), nil, two))
	p.has(t, "anna", "work", "5:e")
	p.add(t, "anna", "work", "f")
	p.has(t, "anna", "work", "5:e", "6:f")
}

func sessionNumber(t *testing.T, p Place) {
	few := roomy
	few.Sessions = 2
	put := func(principal, name string) error {
		return p.One.Put(t.Context(), newSession(principal+name, principal, name), nil, nil, few)
	}
	must(t, put("anna", "a"))
	must(t, put("anna", "b"))
	is(t, put("anna", "c"), store.ErrQuota)
	must(t, put("bert", "c")) // of another owner
	if p.session(t, "anna", "c") != nil {
		t.Error("a session beyond the quota is there")
	}
	must(t, p.One.Drop(t.Context(), p.session(t, "anna", "a")))
	must(t, put("anna", "c"))
}

func sessionBytes(t *testing.T, p Place) {
	image := func(s string) string { return s + string(bytes.Repeat([]byte{' '}, 99)) }
	small := roomy
	small.Bytes = 250 + 3*10 // three images of 100 bytes do not fit, with what is known of them
	put := func(name, of string) error {
		return p.One.Put(t.Context(), p.session(t, "anna", name), newVersion(of), nil, small)
	}
	p.make(t, "anna", "a", image("1"), image("2"))
	p.make(t, "anna", "b")
	is(t, put("b", image("x")), store.ErrQuota) // another session does not make way
	p.has(t, "anna", "b")
	p.has(t, "anna", "a", "1:"+image("1"), "2:"+image("2"))
	must(t, put("a", image("3"))) // but its own oldest version does
	p.has(t, "anna", "a", "2:"+image("2"), "3:"+image("3"))
	is(t, put("a", image("4")+image("4")+image("4")), store.ErrQuota)
	p.has(t, "anna", "a", "2:"+image("2"), "3:"+image("3"))
	must(t, put("b", "tiny"))
	p.make(t, "bert", "b", image("1"), image("2"), image("3")) // of another owner
}

func oneProgram(t *testing.T, p Place) {
	s := p.make(t, "anna", "work", "a")
	row, end, err := p.Begin(t, s.ID, "r_1")
	must(t, err)
	if now := p.session(t, "anna", "work"); now.Run != "r_1" || now.Used.Before(s.Used) {
		t.Errorf("while a program goes on: %+v", now)
	}
	_, _, err = p.Begin(t, s.ID, "r_2")
	is(t, err, store.ErrTaken)
	is(t, p.Other.Put(t.Context(), s, newVersion("b"), nil, roomy), store.ErrTaken)
	is(t, p.Other.Drop(t.Context(), s), store.ErrTaken)
	v := newVersion("c")
	v.Run = "r_1"
	must(t, p.One.Put(t.Context(), s, v, row, roomy))
	p.has(t, "anna", "work", "1:a", "2:c")
	end()
	if now := p.session(t, "anna", "work"); now.Run != "" || now.Versions[1].Run != "r_1" {
		t.Errorf("when it has ended: %+v", now)
	}
	if row != nil { // a process that is late
		is(t, p.One.Put(t.Context(), s, newVersion("late"), row, roomy), store.ErrTaken)
	}

	var began atomic.Int32
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			switch _, _, err := p.Begin(t, s.ID, fmt.Sprint("r_many", i)); {
			case err == nil:
				began.Add(1)
			case !errors.Is(err, store.ErrTaken):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if began.Load() != 1 {
		t.Errorf("%d programs began at once", began.Load())
	}
	_, _, err = p.Begin(t, "no such session", "r_3")
	is(t, err, store.ErrNotFound)
}

func forked(t *testing.T, p Place) {
	s := p.make(t, "anna", "work", "a", "b")
	again := func(v *store.Version) *store.Version {
		return &store.Version{Guest: v.Guest, About: v.About, Image: v.Image}
	}
	must(t, p.One.Put(t.Context(), newSession("f", "anna", "try"), again(s.Versions[0]), nil, roomy))
	p.add(t, "anna", "try", "c")
	p.has(t, "anna", "try", "1:a", "2:c")
	must(t, p.One.Put(t.Context(), s, again(s.Versions[0]), nil, roomy)) // a rollback
	p.has(t, "anna", "work", "1:a", "2:b", "3:a")
	must(t, p.One.Drop(t.Context(), p.session(t, "anna", "work")))
	p.has(t, "anna", "try", "1:a", "2:c")
}

func deleted(t *testing.T, p Place) {
	old := p.make(t, "anna", "work", "secret")
	must(t, p.One.Drop(t.Context(), old))
	if p.session(t, "anna", "work") != nil {
		t.Fatal("a deleted session is there")
	}
	is(t, p.Other.Drop(t.Context(), old), store.ErrNotFound)
	is(t, p.Other.Put(t.Context(), old, newVersion("b"), nil, roomy), store.ErrNotFound)
	must(t, p.One.Put(t.Context(), newSession("another ID", "anna", "work"), nil, nil, roomy))
	p.has(t, "anna", "work")
	is(t, p.Other.Put(t.Context(), old, newVersion("b"), nil, roomy), store.ErrNotFound)
	p.add(t, "anna", "work", "new")
	p.has(t, "anna", "work", "1:new")
}

func oddNames(t *testing.T, p Place) {
	names := []string{"work", "Work", "work ", "wörk", "wo\u0308rk", "ｗｏｒｋ", "w%", "w_rk", "'; --", "\U0001F680",
		"../work", "\u202ework", "a\nb", "wor\u212a", string(bytes.Repeat([]byte{'x'}, 1000))}
	for i, name := range names {
		p.make(t, "anna", name, fmt.Sprint(i%10))
	}
	for i, name := range names {
		p.has(t, "anna", name, fmt.Sprintf("1:%d", i%10))
	}
	all, err := p.Other.Of(t.Context(), &store.Session{Principal: "anna"})
	must(t, err)
	if len(all) != len(names) {
		t.Errorf("%d sessions, want %d", len(all), len(names))
	}
}

func sameName(t *testing.T, p Place) {
	a, b := p.make(t, "anna", "work", "a"), p.make(t, "bert", "work", "b", "c")
	p.has(t, "anna", "work", "1:a")
	p.has(t, "bert", "work", "1:b", "2:c")
	for _, who := range []string{"", "ann_", "%", "Anna"} {
		if s := p.session(t, who, "work"); s != nil {
			t.Errorf("%q finds %+v", who, s)
		}
	}
	_, end, err := p.Begin(t, a.ID, "r_1")
	must(t, err)
	must(t, p.One.Drop(t.Context(), b))
	end()
	p.has(t, "anna", "work", "1:a")
	all, err := p.Other.Of(t.Context(), nil)
	must(t, err)
	if len(all) != 1 || all[0].ID != a.ID {
		t.Errorf("all are %+v", all)
	}
}

func manySessions(t *testing.T, p Place) {
	var made atomic.Int32
	var all sync.WaitGroup
	on := func(i int) SessionTable { return []SessionTable{p.One, p.Other}[i%2] }
	for i := range 16 {
		all.Go(func() {
			switch err := on(i).Put(t.Context(), newSession(fmt.Sprint("s", i), "anna", "work"), nil, nil, roomy); {
			case err == nil:
				made.Add(1)
			case !errors.Is(err, store.ErrTaken):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() != 1 {
		t.Fatalf("%d sessions of one name were made", made.Load())
	}
	s := p.session(t, "anna", "work")
	for i := range 16 {
		all.Go(func() {
			if err := on(i).Put(t.Context(), s, newVersion(fmt.Sprint(i%10)), nil, roomy); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i, v := range p.session(t, "anna", "work").Versions {
		if v.Number != int64(i+1) {
			t.Fatalf("version %d has the number %d", i+1, v.Number)
		}
	}
}

func endedSession(t *testing.T, p Place) {
	s := newSession("old", "anna", "work")
	s.Expires = time.Now().Add(-time.Second)
	must(t, p.One.Put(t.Context(), s, nil, nil, roomy))
	if p.session(t, "anna", "work") != nil {
		t.Error("a session is there after its end")
	}
	all, err := p.Other.Of(t.Context(), &store.Session{ID: "old"})
	must(t, err)
	if len(all) != 0 {
		t.Errorf("by its ID: %+v", all)
	}
	_, _, err = p.Begin(t, "old", "r_1")
	is(t, err, store.ErrNotFound)
	is(t, p.One.Drop(t.Context(), s), store.ErrNotFound)
	p.make(t, "anna", "work", "new")
	p.has(t, "anna", "work", "1:new")
}

// placeIn has the sessions of a database.
func placeIn(open opener) Place {
	one, other := open(nil), open(nil)
	return Place{One: one.Sessions, Other: other.Sessions, Begin: func(t *testing.T, session, run string) (*store.ParkedRun, func(), error) {
		row := parkedRun(time.Now().Add(time.Hour), func(p *store.ParkedRun) {
			p.Run, p.Image, p.Holder, p.Session, p.SessionEnds = run, nil, "host/1", session, time.Now().Add(time.Hour)
		})
		err := one.Keys.Enroll(t.Context(), nil, row)
		return row, func() {
			must(t, one.Outcomes.Finish(t.Context(), row, &store.Outcome{Run: run, Expires: time.Now().Add(time.Hour)}))
		}, err
	}}
}

// laterRead checks that a version is read when it is needed, and not from a session that was removed meanwhile, and
// that cleaning removes sessions that have ended.
func laterRead(t *testing.T, open opener) {
	at := newClock()
	d, e := open(at.Now), open(at.Now)
	s := newSession("s", "anna", "work")
	s.Expires = at.Now().Add(time.Hour)
	must(t, d.Sessions.Put(t.Context(), s, newVersion("first"), nil, roomy))
	of := &store.Session{ID: "s"}
	all, err := e.Sessions.Of(t.Context(), of)
	must(t, err)
	v := all[0].Versions[0]
	must(t, d.Sessions.Drop(t.Context(), s))
	must(t, d.Sessions.Put(t.Context(), newSession("again", "anna", "work"), newVersion("second"), nil, roomy))
	for _, part := range []func(context.Context) ([]byte, error){v.About, v.Image} {
		got, err := part(t.Context())
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a part of a removed version: %s, %v", got, err)
		}
	}
	at.forward(2 * time.Hour)
	removed, err := d.Clean(t.Context(), time.Hour)
	must(t, err)
	if removed["sessions"] != 1 {
		t.Errorf("cleaning removed %v", removed)
	}
}
