package codemode_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/runs/sessions"
	"github.com/codemode-project/codemode/internal/store"
)

// A talker runs the programs of one session, one after the other.
type talker struct {
	t       *testing.T
	e       *codemode.Evaluator
	request codemode.Request
}

func talk(t *testing.T, e *codemode.Evaluator, principal, session string) *talker {
	return &talker{t, e, codemode.Request{Unrestricted: true, Principal: principal, Session: session, Profile: "p"}}
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
		test(t, func(t *testing.T, config string) *codemode.Evaluator {
			return open(t, config, func(*codemode.Options) {})
		})
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

		r = s.says(`setInterval(() => {}, 1e6); new Promise(() => {}).then(() => 1); codemode.search_tools("x"); return 1`, `1`)
		if d := r.Session; d.Timers != 1 || !strings.Contains(r.Text(nil), "still pending at the end, and dropped:") {
			t.Errorf("pending: %+v", d)
		}
		// What becomes a constant is still the variable of earlier functions.
		s.says(`let level = 1; const up = () => ++level; return level`, `1`)
		r = s.says(`const level = 5; return level`, `5`)
		if want := []string{"level"}; !slices.Equal(r.Session.Constants, want) ||
			!strings.Contains(r.Text(nil), "functions of earlier programs can still change: level") {
			t.Errorf("it became a constant: %+v\n%s", r.Session, r.Text(nil))
		}
		if r = s.says(`return up()`, `6`); len(r.Session.Constants) > 0 {
			t.Errorf("it is one already: %+v", r.Session)
		}

		// A stack names the place in an earlier program.
		s.says(`function fails(): never {
			throw new Error("from before")
		}`, ``)
		s.fails(`fails()`, "program-12.ts:2:14")
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
		must(t, err)
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
		must(t, all.Delete(t.Context(), "anna", "a"))
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
		// An array of its own: one that grows copies itself, and the session would be larger than sessions.largest.
		r = b.says(`const more = []; `+fmt.Sprintf(strings.ReplaceAll(noise, "noise", "more"), 37_000), `37000`)
		if !strings.Contains(r.Text(nil), "1310720 bytes of sessions.bytes") {
			t.Errorf("no room for it: %s", r.Text(nil))
		}
	})
}

// What an untrusted server said taints the later programs of a session.
func TestSessionsKeepTaint(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, open func(*testing.T, string) *codemode.Evaluator) {
		s := newStranger(t)
		s.define("read", "reads mail")
		e := open(t, fmt.Sprintf(`{"mcpServers": {"s": {"type": "http", "url": %q}},
			"evaluation": {"profiles": {"p": {"allowlist": ["*"], "raise": {"tainted": "deny"}}}}}`, s.url))
		a := talk(t, e, "anna", "a")
		const use = `return await codemode.s__read({m}).then(() => "read", e => e.detail)`
		a.says(`let m = "clean"; `+use, `"read"`)
		a.says(`globalThis.path = "a.md"; return 1`, `1`)
		a.says(`m = "reads"; await codemode.s__read({}); return 1`, `1`)
		for range 2 {
			r, err := a.run(use)
			if err != nil || !strings.Contains(string(r.Value), "s__read (call 1), whose server \\\"s\\\" is not trusted, "+
				"in an earlier program of its session") {
				t.Errorf("a tainted session: %s (%v)", r.Value, err)
			}
		}
		a.says(`return await codemode.filesystem__read_text_file({path: "a.md"}).then(() => "read", e => e.detail)`, `"read"`)
		b := talk(t, e, "anna", "b")
		b.says(`let m = "clean"; `+use, `"read"`)

		all, err := e.Runs().Sessions.Sessions(t.Context())
		must(t, err)
		rules := e.Runs().SessionRules()
		if _, err := all.Fork(t.Context(), "anna", "a", 0, "c", rules); err != nil {
			t.Fatal(err)
		}
		if r, err := talk(t, e, "anna", "c").run(use); err != nil || !strings.Contains(string(r.Value), "not trusted") {
			t.Errorf("a fork of a tainted session: %s (%v)", r.Value, err)
		}
	})
}

// A call that a person refused is not asked about again in its session. That nobody answered is no refusal.
func TestSessionsKeepRefusals(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, open func(*testing.T, string) *codemode.Evaluator) {
		e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["time__*"]}}}}`)
		var asked []string
		s := talk(t, e, "anna", "a")
		says := func(answer call.Answer) {
			s.request.Channels = []approvals.Channel{approvals.Approver("test",
				func(_ context.Context, r *prompt.Request) (call.Answer, error) {
					asked = append(asked, string(r.Args))
					return answer, nil
				})}
		}
		const use = `return await codemode.time__now({timezone: %q}).then(() => "made", e => e.detail)`
		says(call.Answer{Reason: "not now"})
		s.says(fmt.Sprintf(use, "UTC"), `"a person refused this call and wrote: \"not now\""`)
		says(call.Answer{Allowed: true})
		s.says(fmt.Sprintf(use, "UTC"), `"the same call was refused before in this run or its session, so nobody was asked again"`)
		s.says(fmt.Sprintf(use, "Europe/Berlin"), `"made"`)
		s.request.Channels = nil
		if r, err := s.run(fmt.Sprintf(use, "Asia/Tokyo")); err != nil || string(r.Value) == `"made"` {
			t.Errorf("nobody was asked: %s (%v)", r.Value, err)
		}
		says(call.Answer{Allowed: true})
		s.says(fmt.Sprintf(use, "Asia/Tokyo"), `"made"`)
		s.request.Session = "b"
		s.says(fmt.Sprintf(use, "UTC"), `"made"`)
		if want := 4; len(asked) != want {
			t.Errorf("a person was asked %d times, want %d: %v", len(asked), want, asked)
		}
	})
}

// programsOfASession runs in a process that is killed: three programs, and one that goes on when that happens.
func programsOfASession(t *testing.T, e *codemode.Evaluator, role string) {
	for _, code := range []string{
		`let n = 1; class Counter { #n = 10; add(k) { this.#n += k; return this.#n } }
			const c = new Counter(), next = () => ++n; return next()`,
		`c.add(1); return next()`,
		`c.add(1); return next()`,
	} {
		if _, err := e.Eval(t.Context(), codemode.Request{Unrestricted: true, Principal: "anna", Session: "s", Code: code}); err != nil {
			panic(err)
		}
	}
	r := codemode.Request{Unrestricted: true, Principal: "anna", Session: "s", Code: `
		c.add(100); next();
		const answered = await codemode.up__second({run: 0, n: 2});
		return [answered.n, next()]`}
	if role == "works-in-session" {
		r.Profile, r.Code = "p", `c.add(100); next(); await codemode.up__first({run: 0, n: 1}); return next()`
	}
	_, _ = e.Eval(t.Context(), r)
}

// A process is killed while a program of a session goes on in it. One that waits for a person goes on elsewhere, and
// leaves its version there; one that worked leaves the session as it was.
func TestSessionsOutliveTheirProcess(t *testing.T) {
	t.Parallel() // it waits
	for _, row := range sharedStores {
		t.Run(row.name, func(t *testing.T) {
			t.Run("while it waits", func(t *testing.T) {
				t.Parallel()
				up := newPerformed(t)
				dir := fleetFolder(t, up, row.store(t))
				me, q := newReplica(t, dir)
				defer me.Close(context.WithoutCancel(t.Context()))
				first := startReplica(t, "waits-in-session", dir)
				run := parked(t, me, 1)["anna"]
				s := talk(t, me, "anna", "s")
				s.fails(`return 1`, "a program goes on in the session \"s\" (run "+run+")")
				must(t, first.cmd.Process.Kill())
				s.fails(`return 1`, "a program goes on in the session \"s\" (run "+run+")")
				ctx, stop := context.WithCancel(t.Context())
				var answering sync.WaitGroup
				answering.Go(func() { answer(ctx, t, q, "") })
				defer answering.Wait()
				defer stop()
				s.request.SessionWait = true
				s.says(`const twice = () => 2 * next(); return [n, c.add(1), twice()]`, `[6,113,14]`)
				if got := ended(t, me, run); !strings.Contains(got.Text, "session s: version 4") {
					t.Errorf("the run ended so:\n%s", got.Text)
				}
				s.says(`return [answered, twice()]`, `[{"run":0,"n":2},16]`)
			})
			t.Run("while it works", func(t *testing.T) {
				t.Parallel()
				up := newPerformed(t)
				up.hold("first")
				dir := fleetFolder(t, up, row.store(t))
				me, _ := newReplica(t, dir)
				defer me.Close(context.WithoutCancel(t.Context()))
				s := talk(t, me, "anna", "s")
				first := startReplica(t, "works-in-session", dir)
				up.until(t, "first")
				s.fails(`return 1`, "a program goes on in the session")
				must(t, first.cmd.Process.Kill())
				s.request.SessionWait = true
				s.says(`return [n, c.add(1), typeof answered]`, `[4,13,"undefined"]`)
			})
		})
	}
}

// A session that cannot be read is not taken by the program that tried: each attempt says why.
func TestASessionThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, sessionRules, func(o *codemode.Options) { o.RecordDir = dir })
	s := talk(t, e, "anna", "a")
	s.says(`globalThis.n = 1; return n`, `1`)
	file, err := sql.Open("sqlite", filepath.Join(dir, "codemode.db")+"?_pragma=busy_timeout(10000)")
	must(t, err)
	defer file.Close()
	if _, err := file.Exec(`INSERT INTO session_versions (session, number, run, guest, bytes, about, image, created)
		SELECT session, 2, '', guest, bytes, about, image, created FROM session_versions`); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.fails(`return n`, "somebody changed the row")
	}
	all, err := e.Runs().Sessions.Sessions(t.Context())
	must(t, err)
	if err := all.Delete(t.Context(), "anna", "a"); err != nil {
		t.Error(err)
	}
	s.says(`return 1`, `1`)
}

// What a person refused in a session stays refused there and in its forks: after a rollback to a version from before
// the refusal, in a fork of such a version and in forks of that, and where the refused program left no version.
func TestP39_14ARefusalBelongsToTheSessionAndItsForks(t *testing.T) {
	t.Parallel()
	everyStore(t, func(t *testing.T, open func(*testing.T, string) *codemode.Evaluator) {
		e := open(t, `{"limits": {"cpu": "300ms"}, "evaluation": {"profiles": {"p": {"asklist": ["time__*"]}}}}`)
		asked, refuse := 0, true
		s := talk(t, e, "anna", "work")
		s.request.Channels = []approvals.Channel{approvals.Approver("test",
			func(context.Context, *prompt.Request) (call.Answer, error) {
				asked++
				return call.Answer{Allowed: !refuse}, nil
			})}
		change := func(c runs.SessionChange) {
			t.Helper()
			if _, err := e.Runs().ChangeSession(t.Context(), &codemode.Request{Principal: "anna"}, c); err != nil {
				t.Fatal(err)
			}
		}
		const use = `await codemode.time__now({timezone: %q}).then(() => "made", e => e.reason)`
		uses := func(zone string) string { return "return " + fmt.Sprintf(use, zone) }
		stays := func(session, zone string) {
			t.Helper()
			before := asked
			s.request.Session = session
			s.says(uses(zone), `"elicitation_declined"`)
			if asked != before {
				t.Errorf("%s: a person who refused %s is asked again", session, zone)
			}
		}
		s.says(`let n = 1; return n`, `1`)             // version 1
		s.says(uses("UTC"), `"elicitation_declined"`)  // version 2
		s.says(`n = 2; return n`, `2`)                 // version 3
		s.says(uses("Zulu"), `"elicitation_declined"`) // version 4
		refuse = false
		if asked != 2 {
			t.Fatalf("%d questions", asked)
		}
		change(runs.SessionChange{Action: runs.Rollback, Name: "work", Version: 1})
		s.says(`return n`, `1`)
		stays("work", "UTC")
		stays("work", "Zulu")
		change(runs.SessionChange{Action: runs.Rollback, Name: "work", Version: 3})
		s.says(`return n`, `2`)
		stays("work", "Zulu")
		change(runs.SessionChange{Action: runs.Fork, Name: "work", Version: 1, As: "fork"})
		stays("fork", "UTC")
		stays("fork", "Zulu")
		change(runs.SessionChange{Action: runs.Fork, Name: "fork", Version: 1, As: "again"})
		stays("again", "UTC")
		change(runs.SessionChange{Action: runs.Fork, Name: "work", As: "latest"})
		stays("latest", "Zulu")

		// A program that is stopped leaves its heap as it was, and what people refused.
		s.request.Session, refuse = "work", true
		s.fails(fmt.Sprintf(`n = 5; %s; for (;;) {}`, fmt.Sprintf(use, "Asia/Tokyo")), "timed out")
		refuse = false
		s.says(`return n`, `2`)
		stays("work", "Asia/Tokyo")
		stays("work", "UTC")

		s.request.Session = "another"
		s.says(uses("UTC"), `"made"`)
		s.request.Session = "fork" // it was made before that refusal
		s.says(uses("Asia/Tokyo"), `"made"`)
	})
}

// What anybody forbids stays forbidden: the configuration, a profile, its floor, what it extends.
func TestSessionsAreSwitchedOff(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ rules, want string }{
		"by the configuration": {`{"sessions": false, "evaluation": {"profiles": {"p": {"sessions": true}}}}`,
			`the configuration has no sessions ("sessions": false)`},
		"by the profile": {`{"evaluation": {"profiles": {"p": {"sessions": false}}}}`,
			`the profile "p" has no sessions ("sessions": false): use another profile`},
		"by the floor": {`{"evaluation": {"floor": "f", "profiles": {"f": {"sessions": false}, "p": {"sessions": true}}}}`,
			`the profile "p" has no sessions`},
		"by what it extends": {`{"evaluation": {"profiles": {"f": {"sessions": false}, "p": {"extends": ["f"], "sessions": true}}}}`,
			`the profile "p" has no sessions`},
	} {
		e := open(t, row.rules)
		s := talk(t, e, "anna", "a")
		if r := s.fails(`return 1`, row.want); r.Run != "" || r.Session != nil {
			t.Errorf("%s: it ran: %+v", name, r)
		}
		s.request.Session = ""
		s.says(`return 1`, `1`)
	}
	e := open(t, `{"evaluation": {"profiles": {"p": {"sessions": true}, "q": {"sessions": false}}}}`)
	talk(t, e, "anna", "a").says(`return 1`, `1`)
}

// The record says in which session a program ran, which version it left, and who changed a session.
func TestTheRecordKnowsSessions(t *testing.T) {
	t.Parallel()
	e := open(t, sessionRules, withRecord(t))
	s := talk(t, e, "anna", "a")
	s.says(`globalThis.n = 1; return n`, `1`)
	s.fails(`for (;;) {}`, "timed out")
	for _, c := range []runs.SessionChange{
		{Action: runs.Fork, Name: "a", As: "b"},
		{Action: runs.Rollback, Name: "a", Version: 1, By: &call.DecidedBy{How: "person", Principal: "carl"}},
		{Action: runs.Delete, Name: "b"},
	} {
		if _, err := e.Runs().ChangeSession(t.Context(), &codemode.Request{Principal: "anna"}, c); err != nil {
			t.Fatal(err)
		}
	}
	must(t, e.Record().Flush(t.Context()))
	db, err := e.Record().DB(t.Context())
	must(t, err)
	var got []string
	err = audit.Entries(t.Context(), db, store.Query{Kinds: []string{audit.Run, audit.Session}}, func(e *audit.Entry) error {
		if e.State != audit.Running {
			line := e.Kind + " " + e.State + " " + string(e.Data) + " " + e.Principal
			if e.DecidedBy != nil {
				line += " by " + e.DecidedBy.Principal
			}
			got = append(got, line)
		}
		return nil
	})
	want := []string{
		`run ok {"session":{"name":"a","version":1}} anna`,
		`run error {"session":{"name":"a"}} anna`,
		`session forked {"session":{"as":"b","name":"a"}} anna`,
		`session rolled_back {"session":{"name":"a","version":1}} anna by carl`,
		`session deleted {"session":{"name":"b"}} anna`,
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); err != nil || a != b {
		t.Errorf("got (%v)\n%s\nwant\n%s", err, a, b)
	}
}
