package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/sandbox"
)

var rules = config.Sessions{Keep: time.Hour, Largest: 16 << 20, Bytes: 256 << 20, Number: 100, Versions: 20}

// engine is a sandbox whose memory and hash a test may say, and which counts the sessions that it opens.
type engine struct {
	*sandbox.Engine
	memory func() (used, total int64)
	hash   string
	opened atomic.Int32
}

func (e *engine) Open(owner string, image []byte) (*sandbox.Session, error) {
	e.opened.Add(1)
	return e.Engine.Open(owner, image)
}

func (e *engine) SessionMemory() (used, total int64) {
	if e.memory != nil {
		return e.memory()
	}
	return e.Engine.SessionMemory()
}

func (e *engine) Hash() string {
	if e.hash != "" {
		return e.hash
	}
	return e.Engine.Hash()
}

// newKeeper is a keeper without a database, over a sandbox with so many bytes of memory; 0 is the usual number.
func newKeeper(t *testing.T, memory int64) (*Keeper, *engine) {
	t.Helper()
	k, e := &Keeper{}, &engine{}
	var err error
	e.Engine, err = sandbox.New(t.Context(), sandbox.Options{CacheDir: cachetest.Dir(), Memory: memory,
		MakeRoom: k.MakeRoom})
	checktest.OK(t, err)
	k.Engine = func() (Engine, error) { return e, nil }
	t.Cleanup(func() {
		k.Close()
		e.Close(context.Background())
	})
	return k, e
}

func of(owner, name string) Of {
	return Of{Principal: owner, Owner: owner, Profile: "safe", Name: name}
}

// nobody answers no call.
func nobody(context.Context, *sandbox.Call) (json.RawMessage, error) {
	return nil, errors.New("nobody")
}

func begin(t *testing.T, k *Keeper, o Of, run string) *Use {
	t.Helper()
	u, err := k.Begin(t.Context(), o, run, rules, nil)
	checktest.OK(t, err)
	return u
}

// program runs a program in a use.
func program(t *testing.T, u *Use, code string) (string, error) {
	t.Helper()
	run, err := u.Start(t.Context(), sandbox.Program{Source: code, Limits: sandbox.Limits{CPU: 5 * time.Second}}, nobody)
	if err != nil {
		return "", err
	}
	result, err := run.Wait()
	if err != nil {
		return "", err
	}
	return string(result.Value), nil
}

// says runs a program in a session of its own use, and stores what it left.
func says(t *testing.T, k *Keeper, o Of, code, want string) {
	t.Helper()
	u := begin(t, k, o, "r_1")
	defer u.End()
	got, err := program(t, u, code)
	if err == nil {
		_, err = u.Keep(t.Context(), Made{Run: "r_1", Name: "p.ts", Code: code})
	}
	if err != nil || got != want {
		t.Fatalf("%s: got %s (%v), want %s", code, got, err, want)
	}
}

func (k *Keeper) idleNow() (ids []string) {
	k.idle.mu.Lock()
	defer k.idle.mu.Unlock()
	for _, s := range k.idle.all {
		ids = append(ids, s.owner)
	}
	return ids
}

// TestAUse: what one program leaves, the next one has, from memory while the session is there, else from its image.
func TestAUse(t *testing.T) {
	k, e := newKeeper(t, 0)
	work := of("anna", "work")
	says(t, k, work, "let n = 1; const next = () => ++n; return n", "1")
	if got := k.idleNow(); len(got) != 1 || e.opened.Load() != 0 {
		t.Errorf("idle %v, opened %d", got, e.opened.Load())
	}
	u := begin(t, k, work, "r_2")
	if u.Name() != "work" || u.FileName("x.ts") != "program-2.ts" || u.FileName("") != "program-2.js" || u.version() != 1 {
		t.Errorf("the second use: %s, %s, version %d", u.Name(), u.FileName("x.ts"), u.version())
	}
	names, known := u.Names()
	if !known || fmt.Sprint(names) != "[n next]" {
		t.Errorf("names %v, %v", names, known)
	}
	if p := u.Program(t.Context(), 1); p == nil || p.Name != "p.ts" || !strings.HasPrefix(p.Code, "let n = 1;") {
		t.Errorf("the first program is %+v", p)
	}
	if p := u.Program(t.Context(), 2); p != nil {
		t.Errorf("a program that is not there is %+v", p)
	}
	if got, err := program(t, u, "return next()"); got != "2" || len(k.idleNow()) != 0 || e.opened.Load() != 0 {
		t.Errorf("in memory: %s (%v), idle %v, opened %d", got, err, k.idleNow(), e.opened.Load())
	}
	v, err := u.Keep(t.Context(), Made{Run: "r_2", Name: "q.ts", Code: "2", Gate: json.RawMessage(`{"taint":"x"}`)})
	if err != nil || v.Number != 2 || v.Run != "r_2" {
		t.Fatalf("kept %+v (%v)", v, err)
	}
	u.End()
	k.Close() // as after a while
	u = begin(t, k, work, "r_3")
	heap, _ := u.Gate()
	if got, err := program(t, u, "return [next(), typeof n]"); got != `[3,"number"]` || e.opened.Load() != 1 ||
		string(heap) != `{"taint":"x"}` {
		t.Errorf("from its image: %s (%v), opened %d, gate %s", got, err, e.opened.Load(), heap)
	}
	u.End() // nothing is stored, so it is as it was
	says(t, k, work, "return next()", "3")
}

// TestWhatIsNotKept: a session is as it was after a program that was stopped, or whose version cannot be stored.
func TestWhatIsNotKept(t *testing.T) {
	k, _ := newKeeper(t, 0)
	work := of("anna", "work")
	says(t, k, work, "let n = 1; return n", "1")
	u := begin(t, k, work, "r_2")
	if _, err := u.Keep(t.Context(), Made{Run: "r_2"}); err == nil ||
		!strings.Contains(err.Error(), "did not end in the session") {
		t.Errorf("before any program: %v", err)
	}
	run, err := u.Start(t.Context(), sandbox.Program{Source: "n = 7; for (;;);",
		Limits: sandbox.Limits{CPU: 20 * time.Millisecond}}, nobody)
	checktest.OK(t, err)
	if _, err := run.Wait(); err == nil {
		t.Error("a loop without end ended")
	}
	if _, err := u.Keep(t.Context(), Made{Run: "r_2"}); err == nil {
		t.Error("what a stopped program left is kept")
	}
	u.End()
	says(t, k, work, "return n", "1")

	tight := rules
	tight.Largest = 100
	u, err = k.Begin(t.Context(), work, "r_3", tight, nil)
	checktest.OK(t, err)
	if got, err := program(t, u, "return n = 8"); got != "8" {
		t.Fatal(got, err)
	}
	if _, err := u.Keep(t.Context(), Made{Run: "r_3"}); err == nil ||
		!strings.Contains(err.Error(), "sessions.largest in the configuration is 100") {
		t.Errorf("beyond its size: %v", err)
	}
	u.End()
	says(t, k, work, "return n", "1")

	u = begin(t, k, work, "r_4")
	if got, err := program(t, u, "return n = 9"); got != "9" {
		t.Fatal(got, err)
	}
	k.memory.free(u.row.ID)
	checktest.OK(t, k.memory.Drop(t.Context(), u.row))
	if _, err := u.Keep(t.Context(), Made{Run: "r_4"}); err == nil ||
		!strings.Contains(err.Error(), "was deleted while the program ran") {
		t.Errorf("a deleted session: %v", err)
	}
	u.End()
	says(t, k, work, "return typeof n", `"undefined"`)
}

// TestWhoMayBegin: a session is one program's at a time, of one profile and of one guest.
func TestWhoMayBegin(t *testing.T) {
	k, e := newKeeper(t, 0)
	work := of("anna", "work")
	says(t, k, work, "let n = 1; return n", "1")
	refused := func(o Of, rules config.Sessions, want string) {
		t.Helper()
		u, err := k.Begin(t.Context(), o, "r_9", rules, nil)
		if err == nil {
			u.End()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %s", o, err, want)
		}
	}
	for _, name := range []string{"", " ", "a b", "../x", "-a", "é", "a\x00", strings.Repeat("x", 65), "a/b", "ａ"} {
		refused(of("anna", name), rules, "names no session")
	}
	other := work
	other.Profile = "other"
	refused(other, rules, `belongs to the profile "safe", and this program runs under "other"`)
	one := rules
	one.Number = 1
	refused(of("anna", "next"), one, "there are 1 sessions, as many as sessions.number in the configuration allows; "+
		"delete one that is not needed, the largest are work (")
	u := begin(t, k, work, "r_2")
	refused(work, rules, `a program goes on in the session "work" (run r_2)`)
	says(t, k, of("bert", "work"), "return typeof n", `"undefined"`)
	freed, stop, err := k.Watch(t.Context())
	checktest.OK(t, err)
	defer stop()
	u.End()
	<-freed
	e.hash = "another"
	refused(work, rules, "was left by a codemode with another guest")
	e.hash = ""
	says(t, k, work, "return n", "1")
}

// idleOf makes sessions that no program uses, and says whether one is closed.
func idleOf(t *testing.T, owners ...string) (all []idleSession, isClosed func(idleSession) bool) {
	t.Helper()
	_, e := newKeeper(t, 0)
	for _, owner := range owners {
		s, err := e.NewSession(owner)
		checktest.OK(t, err)
		t.Cleanup(s.Close)
		if _, err := s.Run(t.Context(), sandbox.Program{Source: "let n = 1"}, nobody); err != nil || s.Size() == 0 {
			t.Fatal(s.Size(), err)
		}
		all = append(all, idleSession{id: "of " + owner, owner: owner, version: 1, session: s})
	}
	return all, func(s idleSession) bool { return s.session.Size() == 0 }
}

// TestIdleSessionsClose five minutes after their last use.
func TestIdleSessionsClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, isClosed := idleOf(t, "anna", "bert", "cleo")
		a, b, c := all[0], all[1], all[2]
		k := &Keeper{}
		k.idle.put(a)
		time.Sleep(2 * time.Minute)
		k.idle.put(b)
		time.Sleep(3*time.Minute - time.Second)
		if isClosed(a) {
			t.Error("a session was closed after less than five minutes")
		}
		time.Sleep(2 * time.Second)
		if !isClosed(a) || isClosed(b) {
			t.Error("not the older one of two was closed after five minutes")
		}
		if k.idle.take("of bert", 1) != b.session { // somebody uses it
			t.Error("an idle session is not found")
		}
		time.Sleep(time.Hour)
		if isClosed(b) {
			t.Error("a session was closed that a program uses")
		}
		k.idle.put(b)
		if k.idle.take("of bert", 2) != nil || !isClosed(b) {
			t.Error("an older version is used")
		}
		k.idle.put(c)
		time.Sleep(6 * time.Minute)
		if !isClosed(c) || k.idle.timer != nil {
			t.Error("the last one stays open, or its timer runs")
		}
	})
}

// TestIdleSessionsMakeRoom: those of the owner first, and of these the one that was used longest ago.
func TestIdleSessionsMakeRoom(t *testing.T) {
	all, isClosed := idleOf(t, "anna", "bert", "anna")
	d, f, g := all[0], all[1], all[2]
	k := &Keeper{}
	for _, s := range all {
		k.idle.put(s)
	}
	defer k.idle.timer.Stop()
	if !k.MakeRoom("bert") || !isClosed(f) || isClosed(d) || isClosed(g) {
		t.Error("another owner's session makes room first")
	}
	if !k.MakeRoom("bert") || !isClosed(d) || isClosed(g) {
		t.Error("the session that was used longest ago does not make room")
	}
	k.Close()
	if !isClosed(g) || k.MakeRoom("anna") {
		t.Error("after Close there is a session")
	}
}

// TestIdleSessionsHaveHalf of the memory for sessions: the other half is for those that programs use.
func TestIdleSessionsHaveHalf(t *testing.T) {
	k, e := newKeeper(t, 0)
	e.memory = func() (used, total int64) { return int64(10 * len(k.idleNow())), 40 }
	for _, owner := range []string{"anna", "bert", "cleo", "dora"} {
		says(t, k, of(owner, "work"), "let n = 1; return n", "1")
	}
	if got := k.idleNow(); len(got) != 2 {
		t.Errorf("idle are those of %v", got)
	}
	opened := e.opened.Load()
	for _, owner := range []string{"anna", "bert", "cleo", "dora"} {
		says(t, k, of(owner, "work"), "return n", "1") // whether it is in memory or not
	}
	if e.opened.Load() == opened {
		t.Error("no session was opened again")
	}
}

// holds is a program that keeps 3 MiB.
const holds = `const held = new Uint8Array(3 << 20);
	for (let i = 0; i < 4096; i++) held[i] = i * 7 + (i >> 8);
	for (let n = 4096; n < held.length; n *= 2) held.copyWithin(n, 0, n);
	return held[257]`

// TestAGrowingSessionMakesRoom: when the memory for sessions is full, sessions that nobody uses make room for the one
// that grows, and no session that a program uses is closed.
func TestAGrowingSessionMakesRoom(t *testing.T) {
	k, e := newKeeper(t, 96<<20)
	used := begin(t, k, of("anna", "used"), "r_used")
	defer used.End()
	if got, err := program(t, used, holds); got != "8" {
		t.Fatal(got, err)
	}
	const many = 12 // more than the 24 MiB for sessions have room for
	e.memory = func() (used, total int64) { return 0, 1 }
	for i := range many {
		says(t, k, of("anna", fmt.Sprint("s", i)), holds, "8")
	}
	if n := len(k.idleNow()); n == many || n == 0 {
		t.Errorf("%d of %d sessions are idle", n, many)
	}
	if got, err := program(t, used, "return held[257] + 1"); got != "9" {
		t.Errorf("the session that was in use says %s (%v)", got, err)
	}
	for i := range many {
		says(t, k, of("anna", fmt.Sprint("s", i)), "return held[257]", "8")
	}
	if e.opened.Load() == 0 {
		t.Error("no session was opened again")
	}
}

// TestNobodyMakesRoomWhileInUse: where every session is in use, the program that finds no room fails, and no other.
func TestNobodyMakesRoomWhileInUse(t *testing.T) {
	k, e := newKeeper(t, 96<<20)
	var uses []*Use
	var full *sandbox.Error
	for full == nil && len(uses) < 100 {
		u := begin(t, k, of("anna", fmt.Sprint("s", len(uses))), "r_1")
		defer u.End()
		_, err := program(t, u, holds)
		if !errors.As(err, &full) {
			uses = append(uses, u)
		}
	}
	if full == nil || full.Kind != sandbox.OutOfMemory || !strings.Contains(full.Error(), "no room to keep the session") {
		t.Fatalf("%d sessions: %v", len(uses), full)
	}
	for i, u := range uses {
		if got, err := program(t, u, "return held[257]"); got != "8" {
			t.Errorf("session %d says %s (%v)", i, got, err)
		}
	}
	if e.opened.Load() != 0 {
		t.Error("a session that was in use was opened again")
	}
}

func TestFindingSessions(t *testing.T) {
	k, _ := newKeeper(t, 0)
	says(t, k, of("anna", "work"), "let n = 1, rates = new Map(); class C {}; return n", "1")
	says(t, k, of("anna", "work"), "return ++n", "2")
	begin(t, k, of("anna", "empty"), "r_1").End()
	hidden := of("anna", "hidden")
	hidden.Profile = "secret"
	says(t, k, hidden, "return 1", "1")
	says(t, k, of("bert", "his"), "return 1", "1")
	all, err := k.Sessions(t.Context())
	checktest.OK(t, err)
	s := all.Within(func(profile string) bool { return profile == "safe" })
	names := func(list []*store.Session, err error) string {
		t.Helper()
		got := map[string]bool{}
		for _, one := range list {
			got[one.Name] = true
		}
		return fmt.Sprint(got, err)
	}
	for got, want := range map[string]string{
		names(s.List(t.Context(), "anna")):   "map[empty:true work:true] <nil>",
		names(all.List(t.Context(), "anna")): "map[empty:true hidden:true work:true] <nil>",
		names(s.List(t.Context(), "dora")):   "map[] <nil>",
		names(all.All(t.Context())):          "map[empty:true hidden:true his:true work:true] <nil>",
	} {
		if got != want {
			t.Errorf("listed %s, want %s", got, want)
		}
	}
	for _, test := range []struct{ principal, name, want string }{
		{"anna", "hidden", `there is no session "hidden"; there are empty, work`},
		{"anna", "his", `there is no session "his"; there are empty, work`},
		{"dora", "work", `there is no session "work", and no other one`},
	} {
		if _, err := s.Find(t.Context(), test.principal, test.name); err == nil || err.Error() != test.want {
			t.Errorf("%s looks for %s: %v, want %s", test.principal, test.name, err, test.want)
		}
		if err := s.Delete(t.Context(), test.principal, test.name); err == nil || err.Error() != test.want {
			t.Errorf("%s deletes %s: %v, want %s", test.principal, test.name, err, test.want)
		}
	}
	var many []*store.Session
	for i := range 30 {
		many = append(many, &store.Session{Name: fmt.Sprintf("s%02d", i)}, &store.Session{Name: fmt.Sprintf("s%02d", i)})
	}
	if text := Missing("x", many).Error(); !strings.HasSuffix(text, "s18, s19, ...") {
		t.Errorf("of many: %s", text)
	}

	work, err := s.Find(t.Context(), "anna", "work")
	checktest.OK(t, err)
	empty, _ := s.Find(t.Context(), "anna", "empty")
	for _, test := range []struct {
		of     *store.Session
		number int64
		want   string
	}{
		{work, 0, "2"}, {work, 1, "1"}, {work, 2, "2"},
		{work, 3, `the session "work" has no version 3; it has 1, 2`},
		{work, -1, `the session "work" has no version -1; it has 1, 2`},
		{empty, 0, `the session "empty" has no versions yet: no program has ended in it`},
	} {
		v, err := VersionOf(test.of, test.number)
		if got := fmt.Sprint(err); err == nil && fmt.Sprint(v.Number) != test.want || err != nil && got != test.want {
			t.Errorf("version %d of %s: %+v, %v; want %s", test.number, test.of.Name, v, err, test.want)
		}
	}
	state, err := Read(t.Context(), work.Versions[0])
	checktest.OK(t, err)
	var described []string
	for _, n := range state.Names {
		described = append(described, Describe(n))
	}
	if got := strings.Join(described, "; "); got != "let n: number; let rates: Map; let C: class" {
		t.Errorf("described: %s", got)
	}
}

func TestChangingSessions(t *testing.T) {
	k, _ := newKeeper(t, 0)
	work := of("anna", "work")
	says(t, k, work, "let n = 1; return n", "1")
	says(t, k, work, "return ++n", "2")
	s, err := k.Sessions(t.Context())
	checktest.OK(t, err)
	if _, err := s.Fork(t.Context(), "anna", "work", 1, "work", rules); err == nil ||
		!strings.Contains(err.Error(), `there is a session "work" already`) {
		t.Errorf("a fork over another session: %v", err)
	}
	if _, err := s.Fork(t.Context(), "anna", "work", 1, "no name", rules); err == nil {
		t.Error("a fork has a name that no session can have")
	}
	fork, err := s.Fork(t.Context(), "anna", "work", 1, "try", rules)
	if err != nil || fork.Name != "try" || len(fork.Versions) != 1 {
		t.Fatalf("forked %+v (%v)", fork, err)
	}
	says(t, k, of("anna", "try"), "return n += 10", "11")
	says(t, k, work, "return n", "2")
	back, err := s.Rollback(t.Context(), "anna", "work", 1, rules)
	if err != nil || back.Number != 4 {
		t.Fatalf("rolled back to %+v (%v)", back, err)
	}
	if state, err := Read(t.Context(), back); err != nil || state.Note != "as version 1" {
		t.Errorf("its note: %+v (%v)", state, err)
	}
	says(t, k, work, "return n", "1")
	u := begin(t, k, work, "r_2")
	var busy *ErrBusy
	if err := s.Delete(t.Context(), "anna", "work"); !errors.As(err, &busy) || busy.Run != "r_2" {
		t.Errorf("a session in use is deleted: %v", err)
	}
	if _, err := s.Rollback(t.Context(), "anna", "work", 1, rules); !errors.As(err, &busy) {
		t.Errorf("a session in use is rolled back: %v", err)
	}
	u.End()
	if err := s.Delete(t.Context(), "anna", "work"); err != nil {
		t.Error(err)
	}
	says(t, k, work, "return typeof n", `"undefined"`)
	says(t, k, of("anna", "try"), "return n", "11")
}
