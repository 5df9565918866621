package codemode_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/testwait"
)

// secretForm is the form of what only one session and its forks may have.
var secretForm = regexp.MustCompile(`SECRET-[0-9a-f]{16}`)

// plant puts a secret wherever a program can put one. %[1]q is the secret.
const plant = `
	var hold = (() => { let s = %[1]q; return () => s })();
	class Keeper { #s = %[1]q; get s() { return this.#s } }
	const keeper = new Keeper(), deep = new Map([[keeper, { s: %[1]q, self: null }]]);
	deep.get(keeper).self = deep;
	globalThis["g " + %[1]q] = %[1]q;
	globalThis.shared = { s: %[1]q };
	Symbol.for(%[1]q);
	/(SECRET)(.*)/.exec(%[1]q);
	globalThis.bytes = new TextEncoder().encode(%[1]q.repeat(2000));
	globalThis.pending = new Promise(() => {}).then(() => %[1]q);
	setInterval(() => globalThis.late = %[1]q, 100000);
	codemode.search_tools(%[1]q);
	console.log(%[1]q);
	return "planted"`

// vandals leave as much as they can, and end in every way.
var vandals = []string{
	`Object.prototype.evil = %[1]q; Array.prototype.evil = () => %[1]q; return 1`,
	`String.prototype.toString = function () { return %[1]q }; JSON.stringify = () => %[1]q; return 1`,
	`Promise.prototype.then = function () { return %[1]q }; Map.prototype.get = () => %[1]q; return 1`,
	`console.log = () => %[1]q; Error.prepareStackTrace = () => %[1]q; throw new Error(%[1]q)`,
	`Object.defineProperty(globalThis, "input", { value: %[1]q }); return 1`,
	`globalThis.gone = %[1]q; for (;;);`,
	`globalThis.gone = %[1]q; const a = []; for (;;) a.push(%[1]q.repeat(1 << 16) + a.length)`,
	`globalThis.gone = %[1]q; const f = () => f() + %[1]q; f()`,
	`globalThis.gone = %[1]q; await new Promise(() => {})`, // waits for nothing
	`new FinalizationRegistry(() => { globalThis.late = %[1]q }).register({}, %[1]q); return new WeakRef({}) && 1`,
	`Reflect.ownKeys = Object.getOwnPropertyDescriptor = () => [%[1]q]; RegExp.prototype.exec = () => [%[1]q]; return 1`,
	`globalThis.loop = (function* () { for (;;) yield %[1]q })(); loop.next(); return 1`,
	`Object.setPrototypeOf(globalThis, new Proxy({}, { get: () => %[1]q, has: () => true })); return 1`,
	`delete globalThis.Object; delete globalThis.Array; globalThis.Map = null; return %[1]q`,
}

// reach collects every text that a program can reach, and gives the secrets in it.
const reach = `
	const texts = [], been = new Set(), keep = s => s.includes("SECRET-") && texts.push(s);
	const walk = v => {
		if (typeof v === "string") keep(v);
		if (typeof v === "symbol") keep(String(v));
		if (v === null || typeof v !== "object" && typeof v !== "function" || been.has(v) || been.size > 1500) return;
		been.add(v);
		if (v instanceof Map || v instanceof Set) for (const x of v) walk(x);
		if (typeof v === "function") keep(Function.prototype.toString.call(v));
		if (ArrayBuffer.isView(v)) { keep(new TextDecoder().decode(v.subarray(0, 100))); return }
		for (const k of Reflect.ownKeys(v)) {
			walk(k);
			const d = Object.getOwnPropertyDescriptor(v, k);
			if (d) { walk(d.value); walk(d.get) }
		}
		walk(Object.getPrototypeOf(v));
	};
	[globalThis, RegExp.lastMatch, RegExp.input, RegExp.rightContext, new Error("here").stack].forEach(walk);
	if (typeof hold === "function") walk(hold());
	if (typeof keeper === "object") walk(keeper.s);
	if (typeof deep === "object") walk(deep);
	const fresh = new BigUint64Array(1 << 14);
	if (fresh.some(x => x !== 0n)) texts.push("memory that is not zero: " + new TextDecoder().decode(fresh));
	return texts.join("\n").match(/SECRET-[0-9a-f]{16}|memory that is not zero/g)`

// A suspect is a session as the test knows it.
type suspect struct {
	principal, profile, name string
	allowed                  map[string]bool // its secrets, and those of sessions that it is a fork of
	planted                  string          // the secret that is certainly there
	ruined                   bool            // by a vandal: what programs see there means nothing
	past                     []string        // how its programs ended
}

// Sessions of many principals under two profiles, with the same names, are used, attacked, forked, rolled back, deleted
// and made again in random order: no program gets what belongs to another session. CODEMODE_LONG=1 takes 10,000
// sessions.
func TestNothingOfOneSessionIsInAnother(t *testing.T) {
	t.Parallel()
	sessions := 80
	if os.Getenv("CODEMODE_LONG") != "" {
		sessions = 10_000
	}
	everyStore(t, func(t *testing.T, open func(*testing.T, string) *codemode.Evaluator) {
		e := open(t, `{"limits": {"cpu": "500ms", "wall": "30s", "memory": "32MiB"}, "sessions": {"number": 1000},
			"evaluation": {"profiles": {"p": {}, "other": {}}}}`)
		const workers = 4
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		var planted, attacks, seen atomic.Int64
		var group sync.WaitGroup
		for w := range workers {
			group.Go(func() {
				m := mole{t: t, e: e, r: rand.New(rand.NewPCG(seed, uint64(w)))}
				var all []*suspect
				for i := w; i < sessions; i += workers { // names that differ by one letter, and principals with equal ones
					all = append(all, &suspect{principal: fmt.Sprintf("anna%d", i%50),
						profile: []string{"p", "other"}[i/50%2], name: fmt.Sprintf("s%d", i/50)})
				}
				m.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				for i, s := range all {
					if w == 0 && i%250 == 249 {
						t.Logf("%d of about %d sessions", (i+1)*workers, sessions)
					}
					if m.plant(s) { // the memory for sessions without a database has a bound
						m.planted++
					}
					for range 2 {
						m.act(all[m.r.IntN(len(all))])
					}
					m.probe(s)
				}
				for _, s := range all {
					m.probe(s)
				}
				planted.Add(m.planted)
				attacks.Add(m.attacks)
				seen.Add(m.seen)
			})
		}
		group.Wait()
		t.Logf("%d sessions, %d attacks, %d probes that saw their own secret", planted.Load(), attacks.Load(), seen.Load())
		// A session that was attacked before its turn is not planted, and in memory there is room for some thousands.
		if least := min(int64(sessions)/4, 2000); planted.Load() < least || seen.Load() < planted.Load()/2 {
			t.Errorf("the probes saw only %d secrets in %d of %d sessions", seen.Load(), planted.Load(), sessions)
		}
	})
}

// A mole is one of those who use the sessions.
type mole struct {
	t *testing.T
	e *codemode.Evaluator
	r *rand.Rand

	planted, attacks, seen int64
}

func (m *mole) secret(s *suspect) string {
	secret := fmt.Sprintf("SECRET-%016x", m.r.Uint64())
	if s.allowed == nil {
		s.allowed = map[string]bool{}
	}
	s.allowed[secret] = true
	return secret
}

// run runs a program in a session, and fails if it shows a secret of another one.
func (m *mole) run(s *suspect, code string) (*codemode.Response, error) {
	r, err := m.e.Eval(m.t.Context(), codemode.Request{Unrestricted: true, Principal: s.principal, Profile: s.profile, Session: s.name, Code: code})
	text := r.Text(err)
	s.past = append(s.past, fmt.Sprintf("%.70s: %.60q (%.40v)", code, r.Value, err))
	for _, secret := range secretForm.FindAllString(text+string(r.Value), -1) {
		if !s.allowed[secret] {
			m.t.Errorf("%s under %s in %s got %s:\n%.500s", s.principal, s.profile, s.name, secret, text)
		}
	}
	if strings.Contains(string(r.Value), "memory that is not zero") {
		m.t.Errorf("%s in %s got memory of somebody else:\n%.500s", s.principal, s.name, text)
	}
	return r, err
}

// plant reports whether the secret is there.
func (m *mole) plant(s *suspect) bool {
	secret := m.secret(s)
	r, err := m.run(s, fmt.Sprintf(plant, secret))
	ok := err == nil && string(r.Value) == `"planted"` && r.Session.Version > 0 && !s.ruined
	if ok {
		s.planted = secret
	}
	return ok
}

// probe looks for secrets. Its own one has to be there, unless a vandal has been there too.
func (m *mole) probe(s *suspect) {
	r, err := m.run(s, reach)
	var found []string
	if err == nil && json.Unmarshal(r.Value, &found) == nil && slices.Contains(found, s.planted) {
		m.seen++
	} else if s.planted != "" {
		m.t.Errorf("%s in %s does not have its own secret %s: %s\n%s", s.principal, s.name, s.planted, r.Text(err),
			strings.Join(s.past, "\n"))
	}
}

// act does something to a session, mostly harm.
func (m *mole) act(s *suspect) {
	ctx, request := m.t.Context(), &runs.Request{Principal: s.principal}
	change := func(c runs.SessionChange) error {
		_, err := m.e.Runs().ChangeSession(ctx, request, c)
		return err
	}
	switch m.r.IntN(8) {
	case 0:
		if change(runs.SessionChange{Action: runs.Delete, Name: s.name}) == nil {
			s.allowed, s.planted, s.ruined = nil, "", false // whoever makes it again has nothing of it
		}
	case 1:
		if change(runs.SessionChange{Action: runs.Rollback, Name: s.name, Version: 1}) == nil {
			s.planted = ""
		}
	case 2:
		if change(runs.SessionChange{Action: runs.Fork, Name: s.name, As: s.name + "-fork"}) == nil {
			fork := *s
			fork.name += "-fork"
			m.probe(&fork)
			// A record that is too busy refuses the change, stores the end of the program later, or makes the change and
			// cannot say so in time.
			var err error
			if !testwait.Holds(func() bool {
				err = change(runs.SessionChange{Action: runs.Delete, Name: fork.name})
				return err == nil || strings.HasPrefix(err.Error(), "there is no session")
			}) {
				m.t.Error(err)
			}
		}
	case 3:
		m.plant(s)
	default:
		m.attacks++
		harm := vandals[m.r.IntN(len(vandals))]
		if r, err := m.run(s, fmt.Sprintf(harm, m.secret(s))); err == nil || r.Session != nil && r.Session.Version > 0 {
			s.planted, s.ruined = "", true
		}
	}
}
