package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/testdata/attacks"
)

// A step is a program of a session, and its value as JSON or its error.
type step struct{ source, want string }

// said is the value of a result as JSON, or the error.
func said(res *Result, err error) string {
	var e *Error
	switch {
	case errors.As(err, &e) && e.Kind == Threw:
		return e.Error()
	case errors.As(err, &e):
		return e.Kind.String() + ": " + e.Error()
	case err != nil:
		return err.Error()
	case res.Value == nil:
		return "undefined"
	}
	return string(res.Value)
}

func newSession(t testing.TB, e *Engine) *Session {
	t.Helper()
	s, err := e.NewSession("anna")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

var sessionStories = map[string][]step{
	"a class with private fields and a closure over a let": {
		{"let n = 1; class Counter { #n = 10; up() { return this.#n += n } } const c = new Counter(); const up = () => ++n",
			"undefined"},
		{"up(); return [n, c.up()]", "[2,12]"},
		{"n = 5; return [up(), c.up(), c instanceof Counter, new Counter().up()]", "[6,18,true,16]"},
	},
	"values stay what they are": {
		{`const m = new Map([[{}, 1]]), big = 2n ** 70n, d = new Date(5), re = /a/g, s = Symbol("s"), cycle = {};
			cycle.me = cycle;
			re.exec("aa"); function* g() { yield 1; yield 2 } const it = g(); it.next()`, "undefined"},
		{"return [m.size, String(big), d.getTime(), re.lastIndex, String(s), cycle.me === cycle, it.next().value]",
			`[1,"1180591620717411303424",5,1,"Symbol(s)",true,2]`},
	},
	"every kind of declaration lives on": {
		{"const a = 1; let b = 2; var c = 3; function d() { return 4 } class E {} async function f() { return 6 }\n" +
			"const [g, {h}] = [7, {h: 8}]; for (var i = 0; i < 9; i++); " +
			"{ function j() { return 10 } let inner = 1 }", "undefined"},
		{"return [a, b, c, d(), typeof E, await f(), g, h, i, j(), typeof inner]",
			`[1,2,3,4,"function",6,7,8,9,10,"undefined"]`},
	},
	"a name that is declared again is the same variable": {
		{"let x = 1; const f = () => x; function g() { return h() } function h() { return 1 }", "undefined"},
		{"let x = 2; return f()", "2"},
		{"const x = 3; return f()", "3"},
		{"var x; return [x, f()]", "[3,3]"},
		{"function h() { return 2 } return g()", "2"},
		{"class x {} return typeof f()", `"function"`},
		{"let x = x.name; return f()", `"x"`},
		{"let x; return f()", "undefined"},
	},
	"assignment to a constant is an error, until it is declared again": {
		{"const x = 1; const set = () => { x = 2 }", "undefined"},
		{"x = 5", "TypeError: 'x' is read-only"},
		{"let x = 1; x = 5; return x", "5"},
		{"set()", "TypeError: 'x' is read-only"},
	},
	"a program that throws keeps what it had declared": {
		{"let x = 1; let kept = 1", "undefined"},
		{"const y = 2; x = 3; throw new RangeError('no'); let x = 7, z = 8, kept = 9", "RangeError: no"},
		{"return [x, y, kept]", "[3,2,1]"},
		{"return z", "ReferenceError: z is not initialized"},
		{"z = 1", "ReferenceError: z is not initialized"},
		{"var z; return z === undefined", "true"},
	},
	"a stopped program leaves nothing": {
		{"let x = [1]; globalThis.g = 1", "undefined"},
		{"x.push(2); let y = 1; g = 2; Array.prototype.push = null; " +
			"for (;;);", "timed out: the program computed longer than 400ms"},
		{"x.push(2); const a = []; for (;;) a.push(new Array(1e5).fill(a.length))",
			"out of memory: the program needs more than the 16 MiB of memory it may have"},
		{"x.push(2); return 'x'.repeat(2e6)", "too much output: the result is larger than 1048576 bytes of JSON: " +
			"return less, or a part"},
		{"x.push(2); await new Promise(() => {})",
			"abandoned: the program waits for a promise that nothing can settle any more: no call is under way and no " +
				"timer is set"},
		{"x.push(2); for (;;) await codemode.a__b()", "too many calls: the program made more than 50 calls"},
		{"x.push(2", "refused: SyntaxError: Unexpected token '}'"},
		{"x.push(2) }, async function () { ", "refused: SyntaxError: the program closes the function it is the body " +
			"of: a } without its {"},
		{"x.push(3); return [x, typeof y, g]", `[[1,3],"undefined",1]`},
	},
	"nothing of a program runs in the next": {
		{`let log = [], release; const wait = new Promise(r => { release = r });
			wait.then(() => log.push("then")); (async () => { await wait; log.push("async") })();
			setInterval(() => log.push("interval"), 1000); Promise.resolve().then(() => {})`,
			"undefined"},
		{"release(); await wait; await new Promise(r => setTimeout(r, 20)); return log", "[]"},
		{"await wait; return 'settled'", `"settled"`},
	},
	"a timer ends a program in the middle": {
		{"let x = 1; const f = () => x; let go; const p = new Promise(r => { go = r }); " +
			"setTimeout(() => { throw new Error('timer') }, 1);\n" +
			"await p; x = 99", "Error: timer (the function of a timer threw it; the program waited for a promise that " +
			"nothing could settle any more)"},
		{"x = 2; go(); await p; return [x, f()]", "[2,2]"},
		{"let x = 3; return f()", "3"},
	},
	"garbage is collected while a program has the variables": {
		{"let x = {a: 1}, n = 0; x.me = x; const f = () => x.a; function fill(k) { for (let i = 0; i < k; " +
			"i++) { const a = {}; a.me = a } }\n" +
			"fill(1e5); await new Promise(r => setTimeout(r, 1)); fill(1e5); return f()", "1"},
		{"let x = {a: 2}; fill(1e5); await codemode.a__echo(1); fill(1e5); const g = async () => { fill(1e5); " +
			"await null; return x.a };" +
			" return [f(), await g()]", "[2,2]"},
		{"var x = {a: 3}; const p = g(); fill(2e5); throw new Error(String(await p))", "Error: 3"},
		{"class x { static a = 4 } fill(2e5); await null; fill(2e5); return [f(), await g(), typeof n]", `[4,4,"number"]`},
	},
	"each program has its own input, codemode and console": {
		{"const console = null, codemode = null; let input = 5; return input", "5"},
		{"console.log('x'); return [input === undefined, await codemode.a__echo({v: 1})]", `[true,{"v":1}]`},
	},
	"strictness and eval are those of a single program": {
		{"undeclared = 1; var a = 1; function f() { return typeof this } return [f(), eval('a + 1')]", `["object",2]`},
		{"'use strict'; try { another = 1 } catch (e) { return [e.name, undeclared, a] }", `["ReferenceError",1,1]`},
		{"let secret = 1; return [eval('secret + a'), typeof new Function('return typeof secret')()]", `[2,"string"]`},
		{"const viaEval = x => eval(x); return viaEval('secret')", "1"},
		{"return [viaEval('secret + a'), (0, eval)('typeof secret')]", `[2,"undefined"]`},
	},
	"names that JavaScript uses itself": {
		{"let name = 1, length = 2, async = 3, of = 4, get = 5, undefined_ = 6, $ = 7, ä = 8, constructor = 9, " +
			"__proto__ = 10, toString = 11",
			"undefined"},
		{"return [name, length, async, of, get, undefined_, $, ä, constructor, __proto__, toString]",
			"[1,2,3,4,5,6,7,8,9,10,11]"},
	},
	"poison stays poison, and harms no bookkeeping": {
		{"Object.prototype.x = 1; Array.prototype.push = () => 7; Promise.prototype.then = null; " +
			"JSON.stringify = () => 'no';\n" +
			"Object.defineProperty(Object.prototype, 'name', {get() { throw 1 }}); let a = 1", "undefined"},
		{"let b = 2; return {a, b, p: [].push(), c: await codemode.a__echo({x: 2})}", `{"a":1,"b":2,"p":7,"c":{"x":2}}`},
		{"Object.freeze(globalThis); return 1", "1"},
		{"return 2", "TypeError: an earlier program of the session has made globalThis.input read-only: this program " +
			"cannot get its own"},
	},
}

func TestSessionStories(t *testing.T) {
	for name, steps := range sessionStories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := testEngine(t)
			s := newSession(t, e)
			for i, step := range steps {
				// Every second program finds the session put away and opened again.
				if i%2 == 1 {
					s = reopened(t, e, s)
				}
				res, err := s.Run(t.Context(), Program{Source: step.source,
					Limits: Limits{CPU: 400e6, Memory: 16 << 20, Calls: 50}}, slowEcho)
				if got := said(res, err); got != step.want {
					t.Fatalf("program %d:\n%s\ngave %s, want %s", i+1, step.source, got, step.want)
				}
			}
		})
	}
}

func TestSessionSaysWhatItDropped(t *testing.T) {
	s := newSession(t, testEngine(t))
	res, err := s.Run(t.Context(), Program{Source: `setTimeout(() => {}, 10); setInterval(() => {}, 1000);
		const p = new Promise(() => {}), q = p.then(() => {}); (async () => { await q })()`}, slowEcho)
	if got := fmt.Sprint(said(res, err), res.Dropped); got != "undefined{1 2}" {
		t.Error(got)
	}
	res, err = s.Run(t.Context(), Program{Source: "return 1"}, slowEcho)
	if got := fmt.Sprint(said(res, err), res.Dropped); got != "1{0 0}" {
		t.Error(got)
	}
}

// slowEcho is echo, but calls of a name with slow never end by themselves.
func slowEcho(ctx context.Context, c *Call) (json.RawMessage, error) {
	if strings.Contains(c.Name, "slow") {
		<-ctx.Done()
	}
	return echo(ctx, c)
}

func TestSessionNames(t *testing.T) {
	t.Parallel()
	e := testEngine(t)
	s := newSession(t, e)
	run := func(source string) {
		t.Helper()
		if _, err := s.Run(t.Context(), Program{Source: source}, echo); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want string) {
		t.Helper()
		names, err := s.Names(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(names); got != want {
			t.Errorf("the names are\n%s, want\n%s", got, want)
		}
	}
	check("[]")
	run("1")
	check("[]")
	run(`const a = 1; let b = "x"; var c; function d() {} class E { static get name() { throw 1 } }
		const e = new E(), f = new Map(), g = [];
		const h = new Proxy({}, {get() { throw 1 }, getPrototypeOf() { throw 1 }}), i = null, j = 1n, k = Symbol(),
			l = new (class extends Date {})();
		const m = {get constructor() { throw 1 }}, n = {constructor: {name: "Fake"}}, o = Object.create(null),
			p = () => {}, q = codemode.a__b;
		globalThis.r = true; Object.defineProperty(globalThis, "s", {get() { throw 1 }, configurable: true});
			t = undefined; delete globalThis.escape`)
	want := "[{a const number } {b let string } {c var undefined } {d var function } {E let class } " +
		"{e const object } {f const object Map}" +
		" {g const object Array} {h const object } {i const null } {j const bigint } {k const symbol } " +
		"{l const object } {m const object }" +
		" {n const object } {o const object } {p const function } {q const function } {r global boolean } " +
		"{s global undefined }" +
		" {t global undefined }]"
	check(want)
	s = reopened(t, e, s)
	check(want)
	run("let a = []; var c = 1")
	if names, err := s.Names(t.Context()); err != nil || fmt.Sprint(names[0],
		names[2]) != "{a let object Array} {c var number }" {
		t.Error(names, err)
	}
}

// A good part of the attacks, each as the second of three programs of a session.
func TestSessionsUnderAttack(t *testing.T) {
	t.Parallel()
	e := testEngine(t)
	files, err := fs.Glob(attacks.Files, "*.js")
	if err != nil || len(files) < 900 {
		t.Fatal(len(files), err)
	}
	const good = `let n = 1; const m = new Map([[1, {v: 2}]]); class Vault { #p = 5; open() { return this.#p } }
		const vault = new Vault(), up = () => ++n`
	const check = "return [up(), m.get(1).v, vault.open(), Object.getOwnPropertyNames(Object.prototype).length, " +
		"typeof planted]"
	const want = `[2,2,5,12,"undefined"]`
	limits := Limits{CPU: 50 * time.Millisecond, Wall: 2 * time.Second, Memory: 24 << 20}
	other := newSession(t, e)
	program := func(s *Session, source string) string {
		return said(s.Run(t.Context(), Program{Source: source, Limits: limits}, echo))
	}
	program(other, good)
	step := 12
	if testing.Short() {
		step = 60
	}
	stopped := 0
	for i := 0; i < len(files); i += step {
		attack, err := fs.ReadFile(attacks.Files, files[i])
		if err != nil {
			t.Fatal(err)
		}
		s := newSession(t, e)
		if got := program(s, good); got != "undefined" {
			t.Fatalf("%s: the session begins with %s", files[i], got)
		}
		_, err = s.Run(t.Context(), Program{Source: string(attack), Limits: limits}, echo)
		third := s
		if i%2 == 0 { // the others are in the guest that the attack had
			third = reopened(t, e, s)
		}
		got := program(third, check)
		if !Keeps(err) {
			stopped++
			if got != want {
				t.Errorf("%s was stopped (%v), and then the session says %s, want %s", files[i], err, got, want)
			}
		}
		if res, err := e.Run(t.Context(), Program{Source: "return [typeof n, typeof vault, [].length]"}, echo); err != nil ||
			string(res.Value) != `["undefined","undefined",0]` {
			t.Errorf("after %s, a single program says %s, %v", files[i], said(res, err), err)
		}
		again := reopened(t, e, other)
		if got := program(again, check); got != want {
			t.Errorf("after %s, another session says %s, want %s", files[i], got, want)
		}
		for _, s := range []*Session{s, third, again} {
			s.Close()
		}
	}
	if stopped < len(files)/step/10 {
		t.Errorf("only %d attacks were stopped: they tell nothing about undoing", stopped)
	}
}

// reopened is another session with the state of s.
func reopened(t testing.TB, e *Engine, s *Session) *Session {
	t.Helper()
	image, err := s.Image()
	if err != nil {
		t.Fatal(err)
	}
	opened, err := e.Open("anna", image)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return opened
}
