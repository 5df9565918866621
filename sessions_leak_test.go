package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/sessions"
)

// leakState is the first program of each session: it has a secret wherever a program can leave one.
const leakState = `
	let leak_n = 0, leak_secret = "SECRET";
	var named_SECRET = 1;
	class Leak { #secret = "SECRET"; get kept() { return this.#secret === leak_secret } }
	const leak_one = new Leak(), leak_next = () => ++leak_n, leak_ref = new WeakRef({ secret: "SECRET" });
	globalThis.leak_global = { deep: [new Map([["SECRET", new Set(["SECRET"])]])] };
	globalThis[Symbol.for("SECRET")] = Symbol("SECRET");
	Object.prototype.leak_planted = "SECRET";
	Array.prototype.leak_planted = Function.prototype.leak_planted = Error.prototype.leak_planted = "SECRET";
	console.leak_planted = "SECRET";
	Object.defineProperty(globalThis, "leak_getter", { get: () => "SECRET", configurable: true });
	/(secret_.*)/.exec("SECRET");
	const leak_tag = (s => s)` + "`SECRET`" + `, leak_error = new Error("SECRET"), leak_date = new Date();
	leak_date.secret = "SECRET";
	new FinalizationRegistry(() => leak_secret).register({}, "SECRET");
	new Function("return 'SECRET'");
	setTimeout(() => { leak_n = "SECRET" }, 1e6);
	new Promise(() => {}).then(() => { leak_n = "SECRET" });
	new Uint8Array(1 << 16).fill(65);
	console.log("SECRET");
	return "SECRET".repeat(1)`

// A leaky is a session, and what is true of it.
type leaky struct {
	principal, name string
	own             []string      // the secrets that it may hold
	n               int           // what leak_n is
	at              map[int64]int // and was, by version
	broken          bool          // by an attack that ran in it
}

// leaks does things in sessions at random.
type leaks struct {
	t       *testing.T
	e       *codemode.Evaluator
	random  *rand.Rand
	attacks []string
	all     []*leaky
	handle  string // of a result that was kept
	holder  *leaky // who kept it
	what    string // the step, for messages
}

var secretPattern = regexp.MustCompile(`secret_[A-Z2-7]{26}`)

// check fails if a text has a secret that is none of the session's.
func (l *leaks) check(m *leaky, text string) {
	l.t.Helper()
	for _, secret := range secretPattern.FindAllString(text, -1) {
		if !slices.Contains(m.own, secret) {
			l.t.Fatalf("%s in %s of %s: there is %s of another one: %.2000s", l.what, m.name, m.principal, secret, text)
		}
	}
}

// run runs a program in a session.
func (l *leaks) run(ctx context.Context, m *leaky, code string) (*codemode.Response, error) {
	l.t.Helper()
	r, err := l.e.Eval(ctx, codemode.Request{Principal: m.principal, Session: m.name, Profile: "p", Code: code})
	if r == nil {
		l.t.Fatalf("%s: %v", l.what, err)
	}
	l.check(m, r.Text(err)+string(r.Value)+fmt.Sprint(err))
	if r.Session != nil && r.Session.Version > 0 {
		m.at[r.Session.Version] = m.n
	}
	return r, err
}

// says runs a program that has to return the JSON, unless an attack has broken the session.
func (l *leaks) says(m *leaky, code, want string) {
	l.t.Helper()
	if r, err := l.run(l.t.Context(), m, code); !m.broken && (err != nil || string(r.Value) != want) {
		l.t.Fatalf("%s in %s of %s: got %.500s (%v), want %s", l.what, m.name, m.principal, r.Value, err, want)
	}
}

// begin makes a session. Names are few, so that principals have the same ones.
func (l *leaks) begin() {
	m := &leaky{principal: []string{"anna", "bert", "carl"}[l.random.IntN(3)], name: fmt.Sprint("s", l.random.IntN(20)),
		at: map[int64]int{}}
	if slices.ContainsFunc(l.all, func(o *leaky) bool { return o.principal == m.principal && o.name == m.name }) {
		return
	}
	secret := bench.NewSecret()
	m.own = []string{secret}
	l.says(m, strings.ReplaceAll(leakState, "SECRET", secret), `"`+secret+`"`)
	l.all = append(l.all, m)
}

// A leakStep is one of the things that happen.
type leakStep struct {
	what   string
	weight int
	do     func(l *leaks, m *leaky)
}

var leakSteps = []leakStep{
	{"a program", 30, func(l *leaks, m *leaky) {
		m.n++
		l.says(m, `return [leak_next(), leak_one.kept, typeof leak_gone]`, fmt.Sprintf(`[%d,true,"undefined"]`, m.n))
	}},
	{"a program that finds", 10, func(l *leaks, m *leaky) { l.says(m, "return "+bench.Seek(m.own...), "[]") }},
	{"a program that finds in no session", 3, func(l *leaks, m *leaky) {
		r, err := l.e.Eval(l.t.Context(), codemode.Request{Principal: m.principal, Profile: "p",
			Code: "return " + bench.Seek()})
		if err != nil || string(r.Value) != "[]" {
			l.t.Fatalf("%s: %s (%v)", l.what, r.Value, err)
		}
	}},
	{"a program that throws", 6, func(l *leaks, m *leaky) {
		m.n++
		if r, err := l.run(l.t.Context(), m, `leak_next(); throw new Error(leak_secret)`); err == nil {
			l.t.Fatalf("%s: it returned %s", l.what, r.Value)
		}
	}},
	{"a program that loops", 2, stoppedBy(`for (;;);`)},
	{"a program that uses up memory", 3, stoppedBy(`const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))`)},
	{"a program that waits for nothing", 3, stoppedBy(`await new Promise(() => {})`)},
	{"a program that is canceled", 4, stoppedBy(`await new Promise(f => setTimeout(f, 20000))`)},
	{"an unknown name", 4, func(l *leaks, m *leaky) {
		if _, err := l.run(l.t.Context(), m, `leak_next(); return nobody_declared`); err == nil {
			l.t.Fatalf("%s: no error", l.what)
		}
	}},
	{"an attack", 8, func(l *leaks, m *leaky) {
		m.broken = true
		_, _ = l.run(l.t.Context(), m, l.attacks[l.random.IntN(len(l.attacks))])
	}},
	{"another profile", 3, func(l *leaks, m *leaky) {
		r, err := l.e.Eval(l.t.Context(), codemode.Request{Principal: m.principal, Session: m.name, Profile: "other",
			Code: `return leak_secret`})
		if err == nil || !strings.Contains(r.Text(err), "belongs to the profile") {
			l.t.Fatalf("%s: %s (%v)", l.what, r.Value, err)
		}
		l.check(&leaky{}, r.Text(err))
	}},
	{"putting away", 10, func(l *leaks, m *leaky) { l.e.Runs().Sessions.MakeRoom(m.principal) }},
	{"showing", 4, func(l *leaks, m *leaky) {
		s, err := l.sessions().Find(l.t.Context(), m.principal, m.name)
		for i := 0; err == nil && i < len(s.Versions); i++ {
			var state *sessions.State
			if state, err = sessions.Read(l.t.Context(), s.Versions[i]); err == nil {
				text, _ := json.Marshal(state)
				l.check(m, string(text))
			}
		}
		if err != nil {
			l.t.Fatal(err)
		}
	}},
	{"a fork", 4, func(l *leaks, m *leaky) {
		f := &leaky{principal: m.principal, name: fmt.Sprint("f", l.random.IntN(20)), own: m.own, n: m.n,
			broken: m.broken, at: map[int64]int{1: m.n}}
		if _, err := l.sessions().Fork(l.t.Context(), m.principal, m.name, 0, f.name, l.e.Runs().SessionRules()); err == nil {
			secret := bench.NewSecret()
			f.own = append(slices.Clone(f.own), secret)
			l.says(f, fmt.Sprintf("const fork_%s = 1; globalThis.forked = %[1]q; return forked", secret), `"`+secret+`"`)
			l.all = append(l.all, f)
		} else if !strings.Contains(err.Error(), "already") {
			l.t.Fatal(err)
		}
	}},
	{"a rollback", 5, func(l *leaks, m *leaky) {
		s, err := l.sessions().Find(l.t.Context(), m.principal, m.name)
		if err != nil {
			l.t.Fatal(err)
		}
		to := s.Versions[l.random.IntN(len(s.Versions))].Number
		if _, ok := m.at[to]; !ok {
			return // it has nothing yet
		}
		v, err := l.sessions().Rollback(l.t.Context(), m.principal, m.name, to, l.e.Runs().SessionRules())
		if err != nil {
			l.t.Fatal(err)
		}
		m.n = m.at[to]
		m.at[v.Number] = m.n
	}},
	{"deleting", 5, func(l *leaks, m *leaky) {
		if err := l.sessions().Delete(l.t.Context(), m.principal, m.name); err != nil {
			l.t.Fatal(err)
		}
		l.all = slices.DeleteFunc(l.all, func(o *leaky) bool { return o == m })
		if l.random.IntN(2) == 0 { // and again, with the same name
			again := &leaky{principal: m.principal, name: m.name, at: map[int64]int{}}
			l.says(again, "return [typeof leak_secret, ..."+bench.Seek()+"]", `["undefined"]`)
			delete(again.at, 1)
			again.own = []string{bench.NewSecret()}
			l.says(again, strings.ReplaceAll(leakState, "SECRET", again.own[0]), `"`+again.own[0]+`"`)
			l.all = append(l.all, again)
		}
	}},
	{"keeping a result", 2, func(l *leaks, m *leaky) {
		r, err := l.run(l.t.Context(), m, `return [leak_secret, "x".repeat(300000)]`)
		if !m.broken && (err != nil || len(r.Kept) != 1) {
			l.t.Fatalf("%s: kept %v (%v)", l.what, r.Kept, err)
		} else if len(r.Kept) == 1 {
			l.handle, l.holder = r.Kept[0].Handle, m
		}
	}},
	{"loading somebody else's result", 3, func(l *leaks, m *leaky) {
		if l.handle != "" && l.holder.principal != m.principal {
			l.says(m, fmt.Sprintf(`return await codemode.load(%q).then(() => "read", () => "not there")`, l.handle),
				`"not there"`)
		}
	}},
}

// stoppedBy is a program that ends in a way that leaves the session as it was.
func stoppedBy(code string) func(l *leaks, m *leaky) {
	return func(l *leaks, m *leaky) {
		ctx, cancel := context.WithCancel(l.t.Context())
		defer cancel()
		if strings.Contains(code, "20000") {
			defer time.AfterFunc(time.Duration(l.random.IntN(20))*time.Millisecond, cancel).Stop()
		}
		gone, own := bench.NewSecret(), m.own
		m.own = append(slices.Clone(own), gone) // the program's own error may show its text
		r, err := l.run(ctx, m, fmt.Sprintf(`leak_next(); globalThis.leak_gone = %q; Object.prototype.leak_gone = leak_gone;
			const leak_later = leak_gone, leak_%[1]s = 1; %s`, gone, code))
		m.own = own
		if m.broken && r.Session != nil && r.Session.Version != 0 { // an attack made it throw, so it counts
			m.own = append(slices.Clone(own), gone)
		}
		if err == nil || r.Session != nil && r.Session.Version != 0 {
			if !m.broken {
				l.t.Fatalf("%s: it left %+v (%v)", l.what, r.Session, err)
			}
		}
	}
}

func (l *leaks) sessions() *sessions.Sessions {
	all, err := l.e.Runs().Sessions.Sessions(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	return all
}

// step does one thing.
func (l *leaks) step() {
	if len(l.all) < 10 || l.random.IntN(20) == 0 {
		l.what = "beginning"
		l.begin()
		return
	}
	m := l.all[l.random.IntN(len(l.all))]
	sum := 0
	for _, s := range leakSteps {
		sum += s.weight
	}
	at := l.random.IntN(sum)
	for _, s := range leakSteps {
		if at -= s.weight; at < 0 {
			l.what = s.what
			s.do(l, m)
			return
		}
	}
}

// TestSessionsLeakNothing runs programs and attacks in sessions in random order: sessions of several principals with
// the same names, of two profiles, forked, rolled back, put away, deleted and made again. Nothing of one is ever in another,
// and nothing of a program that was stopped in its own.
func TestSessionsLeakNothing(t *testing.T) {
	t.Parallel()
	steps := 250
	if os.Getenv("CODEMODE_LONG") != "" {
		steps = 10_000
	}
	suite, err := bench.LoadSuite(bench.Attacks())
	if err != nil {
		t.Fatal(err)
	}
	var attacks []string
	for _, c := range suite.Cases {
		if c.Outcome == bench.Timeout || c.Outcome == bench.Memory || c.Also != nil {
			continue // they take long, and bench isolation --session runs them
		}
		source, err := os.ReadFile("testdata/attacks/" + c.File)
		if err != nil {
			t.Fatal(err)
		}
		attacks = append(attacks, string(source))
	}
	everyStore(t, func(t *testing.T, open func(*testing.T, string) *codemode.Evaluator) {
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		l := &leaks{t: t, random: rand.New(rand.NewPCG(seed, 0)), attacks: attacks,
			e: open(t, `{"limits": {"cpu": "500ms", "memory": "32MiB"}, "evaluation": {"profiles": {"p": {}, "other": {}}}}`)}
		for range steps {
			l.step()
		}
	})
}
