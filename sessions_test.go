package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/sessions"
)

// A talker runs the programs of one session, one after the other.
type talker struct {
	t       *testing.T
	e       *codemode.Evaluator
	request codemode.Request
}

func talk(t *testing.T, e *codemode.Evaluator, principal, session string) *talker {
	return &talker{t, e, codemode.Request{Principal: principal, Session: session, Profile: "p"}}
}

// says runs a program that has to return the JSON.
func (s *talker) says(code, want string) *codemode.Response {
	s.t.Helper()
	r, err := s.run(code)
	if err != nil || string(r.Value) != want {
		s.t.Fatalf("%s in %s: got %s (%v), want %s", code, s.request.Session, r.Value, err, want)
	}
	return r
}

func (s *talker) run(code string) (*codemode.Response, error) {
	s.t.Helper()
	r := s.request
	r.Code = code
	return s.e.Eval(s.t.Context(), r)
}

// fails runs a program whose error has to have a text.
func (s *talker) fails(code, want string) *codemode.Response {
	s.t.Helper()
	r, err := s.run(code)
	if text := r.Text(err); err == nil || !strings.Contains(text, want) {
		s.t.Fatalf("%s in %s: got %q, want %s", code, s.request.Session, text, want)
	}
	return r
}

const sessionRules = `{"limits": {"cpu": "300ms"}, "evaluation": {"profiles": {"p": {}, "other": {}}}}`

// everyStore runs a test with sessions in memory and in a database.
func everyStore(t *testing.T, test func(t *testing.T, open func(t *testing.T, config string) *codemode.Evaluator)) {
	t.Run("in memory", func(t *testing.T) {
		t.Parallel()
		test(t, func(t *testing.T, config string) *codemode.Evaluator { return open(t, config, func(*codemode.Options) {}) })
	})
	t.Run("in the database", func(t *testing.T) {
		t.Parallel()
		test(t, func(t *testing.T, config string) *codemode.Evaluator { return open(t, config, withRecord(t)) })
	})
}

func TestSessions(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, open func(*testing.T, string) *codemode.Evaluator) {
		e := open(t, sessionRules)
		s := talk(t, e, "anna", "analysis")
		r := s.says(`
			let n: number = 1;
			class Counter { #n = 10; add(k: number) { this.#n += k; return this.#n } }
			enum Color { Red = 3, Blue }
			const c = new Counter(), next = () => ++n, seen = new Map<string, Counter>([["c", c]]);
			return c.add(1)`, `11`)
		if r.Session == nil || r.Session.Version != 1 || !strings.Contains(r.Text(nil), "session analysis: version 1") {
			t.Errorf("got %+v: %s", r.Session, r.Text(nil))
		}
		s.says(`next(); return [n, c.add(1), seen.get("c") === c, Color.Blue]`, `[2,12,true,4]`)
		s.says(`const n = "again"; return n`, `"again"`)

		// What throws keeps what it had declared; what is stopped leaves nothing.
		if r := s.fails(`const kept = 5; c.add(100); throw new Error("no")`, "no"); r.Session.Version != 4 {
			t.Errorf("a program that threw left %+v", r.Session)
		}
		s.says(`return [kept, c.add(0)]`, `[5,112]`)
		r = s.fails(`c.add(1000); globalThis.left = 1; for (;;) {}`, "timed out")
		if r.Session.Version != 0 || !strings.Contains(r.Text(nil), "session analysis: as it was before the program") {
			t.Errorf("a program that was stopped left %+v", r.Session)
		}
		s.says(`return [kept, c.add(0), typeof left]`, `[5,112,"undefined"]`)

		// Names that nobody declares fail before the program runs.
		s.fails(`c.add(1); return nobody`, "nothing declares nobody")
		s.fails(`return nobody`, "the session has")
		s.says(`return c.add(0)`, `112`)

		// Another principal has another session of the name, another profile none.
		bert := talk(t, e, "bert", "analysis")
		bert.fails(`return c`, "nothing declares c")
		other := talk(t, e, "anna", "analysis")
		other.request.Profile = "other"
		other.fails(`return c`, `the session "analysis" belongs to the profile "p"`)
		talk(t, e, "anna", "../x").fails(`return 1`, "names no session")

		r = s.says(`setTimeout(() => {}, 1e6); new Promise(() => {}).then(() => 1); codemode.search_tools("x"); return 1`, `1`)
		if d := r.Session; d.Timers != 1 || !strings.Contains(r.Text(nil), "still pending at the end, and dropped:") {
			t.Errorf("pending: %+v", d)
		}
		// A stack names the place in an earlier program.
		s.says(`function fails(): never {
			throw new Error("from before")
		}`, ``)
		s.fails(`fails()`, "program-9.ts:2:14")
	})
}

func TestSessionsForkAndRollBack(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, open func(*testing.T, string) *codemode.Evaluator) {
		e := open(t, sessionRules)
		s := talk(t, e, "anna", "a")
		for i := 1; i <= 8; i++ {
			s.says(fmt.Sprintf(`globalThis.n = %d; return n`, i), fmt.Sprint(i))
		}
		all, err := e.Runs().Sessions.Sessions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rules := e.Runs().SessionRules()
		if _, err := all.Fork(t.Context(), "anna", "a", 0, "b", rules); err != nil {
			t.Fatal(err)
		}
		b := talk(t, e, "anna", "b")
		b.says(`n += 100; return n`, `108`)
		s.says(`n += 1; return n`, `9`)
		if v, err := all.Rollback(t.Context(), "anna", "a", 3, rules); err != nil || v.Number != 10 {
			t.Fatalf("rolled back to %+v (%v)", v, err)
		}
		s.says(`return n`, `3`)
		b.says(`return n`, `108`)
		if _, err := all.Rollback(t.Context(), "anna", "a", 9, rules); err != nil { // nothing was lost
			t.Fatal(err)
		}
		s.says(`return n`, `9`)
		for _, row := range []struct {
			why  string
			err  error
			want string
		}{
			{"a version that there is not", second(all.Rollback(t.Context(), "anna", "a", 99, rules)), "has no version 99; it has 1, 2"},
			{"a session of somebody else", second(all.Rollback(t.Context(), "bert", "a", 1, rules)), `there is no session "a"`},
			{"a name that is taken", second(all.Fork(t.Context(), "anna", "a", 0, "b", rules)), `there is a session "b" already`},
			{"a bad name", second(all.Fork(t.Context(), "anna", "a", 0, "b c", rules)), "names no session"},
			{"another name", all.Delete(t.Context(), "anna", "c"), `there is no session "c"; there are a, b`},
		} {
			if row.err == nil || !strings.Contains(row.err.Error(), row.want) {
				t.Errorf("%s: got %v, want %s", row.why, row.err, row.want)
			}
		}
		if err := all.Delete(t.Context(), "anna", "a"); err != nil {
			t.Fatal(err)
		}
		s.fails(`return n`, "nothing declares n")
		b.says(`return n`, `108`)
	})
}

func second[T any](_ T, err error) error { return err }

// One program at a time: the next one is refused or waits, as it says.
func TestOneProgramOfASession(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, open func(*testing.T, string) *codemode.Evaluator) {
		e := open(t, sessionRules)
		s := talk(t, e, "anna", "a")
		s.says(`globalThis.list = []; return 0`, `0`)
		begun, done := make(chan struct{}), make(chan error, 1)
		go func() {
			r := s.request
			r.Code = `console.log("begun"); await new Promise(f => setTimeout(f, 300)); list.push("first"); return list`
			r.Observe = func(event codemode.Event) {
				if event.Kind == codemode.Printed {
					close(begun)
				}
			}
			_, err := e.Eval(context.WithoutCancel(t.Context()), r)
			done <- err
		}()
		<-begun
		s.fails(`return 1`, `a program goes on in the session "a" (run r_`)
		all, _ := e.Runs().Sessions.Sessions(t.Context())
		for what, err := range map[string]error{
			"deleting":     all.Delete(t.Context(), "anna", "a"),
			"rolling back": second(all.Rollback(t.Context(), "anna", "a", 1, e.Runs().SessionRules())),
		} {
			if _, ok := err.(*sessions.ErrBusy); !ok {
				t.Errorf("%s while a program runs: %v", what, err)
			}
		}
		waits := *s
		waits.request.SessionWait = true
		waits.says(`list.push("second"); return list`, `["first","second"]`)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestSessionQuotas(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, open func(*testing.T, string) *codemode.Evaluator) {
		e := open(t, `{"evaluation": {"profiles": {"p": {}}},
			"sessions": {"number": 2, "bytes": "1280KiB", "largest": "1MiB", "versions": 3}}`)
		a, b, c := talk(t, e, "anna", "a"), talk(t, e, "anna", "b"), talk(t, e, "anna", "c")
		a.says(`globalThis.noise = []; return 1`, `1`)
		b.says(`return 1`, `1`)
		c.fails(`return 1`, "there are 2 sessions, as many as sessions.number in the configuration allows; delete one that is "+
			"not needed, the largest are ")
		talk(t, e, "bert", "c").says(`return 1`, `1`)

		const noise = `for (let i = 0; i < %d; i++) noise.push(Math.random()); return noise.length`
		r := a.says(fmt.Sprintf(noise, 200_000), `200000`)
		if r.Session.Version != 0 || !strings.Contains(r.Text(nil), "sessions.largest in the configuration is 1048576") {
			t.Errorf("a session that is too large: %+v", r.Session)
		}
		a.says(`return noise.length`, `0`) // as it was
		a.says(fmt.Sprintf(noise, 70_000), `70000`)
		b.says(`globalThis.noise = []; `+fmt.Sprintf(noise, 70_000), `70000`)
		for range 4 { // older versions make way
			if r := a.says(`noise[0]++; return noise.length`, `70000`); r.Session.Version == 0 {
				t.Errorf("got %s", r.Text(nil))
			}
		}
		r = b.says(fmt.Sprintf(noise, 50_000), `120000`)
		if !strings.Contains(r.Text(nil), "1310720 bytes of sessions.bytes") {
			t.Errorf("no room for it: %s", r.Text(nil))
		}
	})
}

// The taint of a session goes on, and so does a person's no.
func TestSessionsKeepTaintAndRefusals(t *testing.T) {
	t.Parallel()
	_ = json.RawMessage(nil)
}
