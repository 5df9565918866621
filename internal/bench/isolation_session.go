package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/codemode-project/codemode/sandbox"
)

// seek is the text of an expression that looks for secrets: the tokens that [newSecret] makes. It reads everything that
// it can reach from the globals, and new memory, and gives those secrets that known does not name, in an array.
func seek(known ...string) string {
	if known == nil {
		known = []string{}
	}
	list, _ := json.Marshal(known)
	return strings.Replace(seekText, "KNOWN", string(list), 1)
}

// newSecret makes a text that occurs nowhere else.
func newSecret() string { return "secret_" + rand.Text() }

// seekText declares nothing in the session.
const seekText = `(() => {
	const found = new Set(), known = new Set(KNOWN), seen = new Set(), left = [globalThis], most = 20000;
	const text = s => {
		for (const [secret] of s.matchAll(/secret_[A-Z2-7]{26}/g)) if (!known.has(secret)) found.add(secret);
	};
	const { ownKeys, getPrototypeOf } = Reflect, descriptor = Object.getOwnPropertyDescriptor;
	const add = v => {
		if (typeof v === "string") text(v);
		else if (typeof v === "symbol") { text(String(v.description)); text(String(Symbol.keyFor(v))) }
		else if (v !== null && (typeof v === "object" || typeof v === "function") && !seen.has(v) && seen.size < most) {
			seen.add(v);
			left.push(v);
		}
	};
	const tried = f => { try { add(f()) } catch (e) { add(e) } };
	for (const make of [() => codemode, () => console, () => input, () => new Error("here").stack, () => null.x,
		() => undefined_name, () => codemode.nothing_like_it, () => Intl, () => arguments,
		() => new Date().toString(), () => (0, eval)("this"), () => Function("return this")(), () => function () {},
		() => async function () {}, () => function* () {}, () => async function* () {}, () => [][Symbol.iterator](),
		() => new Map().entries(), () => "".matchAll(/x/g), () => Promise.resolve(), () => new Proxy({}, {}),
		() => (s => s)` + "`tagged`" + `]) tried(make);
	for (let at = 0; at < left.length; at++) {
		const v = left[at];
		tried(() => getPrototypeOf(v));
		if (typeof v === "function") tried(() => Function.prototype.toString.call(v));
		if (v instanceof Map) for (const [k, w] of v) { add(k); add(w) }
		if (v instanceof Set && v !== found && v !== known && v !== seen) for (const w of v) add(w);
		if (v instanceof WeakRef) tried(() => v.deref());
		let keys = [];
		try { keys = ownKeys(v) } catch { }
		if (v !== left) for (const k of keys.slice(0, 2000)) {
			add(k);
			const d = descriptor(v, k);
			if (!d) continue;
			add(d.value); add(d.get); add(d.set);
			if (d.get) { tried(() => v[k]); tried(() => d.get.call(globalThis)) }
		}
	}
	// Memory that was given back: new buffers are zero, and so is what a buffer gives back and gets again.
	const zero = (what, b) => { if (new BigUint64Array(b).some(n => n)) found.add("memory that is not zero: " + what) };
	zero("large ArrayBuffer", new ArrayBuffer(1 << 20));
	for (const size of [24, 104, 1000, 4096, 1 << 16]) {
		zero("ArrayBuffer", new ArrayBuffer(size));
		if (typeof SharedArrayBuffer === "function") zero("SharedArrayBuffer", new SharedArrayBuffer(size));
		const b = new ArrayBuffer(size, { maxByteLength: size });
		new Uint8Array(b).fill(1);
		b.resize(8);
		b.resize(size);
		new Uint8Array(b).fill(0, 0, 8);
		zero("resized", b);
		zero("typed array", new Float64Array(size / 8).buffer);
		zero("transfer", new ArrayBuffer(8).transfer?.(size) ?? new ArrayBuffer(8));
		if (new Array(size).some(v => v !== undefined)) found.add("memory that is not zero: Array");
	}
	return [...found];
})()`

// benchState is what a session has before a program of a case: a secret in several places, where no program of the
// suite looks for anything.
const benchState = `
	let bench_n = 1;
	const bench_secret = SECRET, bench_symbol = Symbol.for("planted " + SECRET);
	class Bench_ { #n = 10; #secret = SECRET; add() { return ++this.#n }
		get kept() { return this.#secret === bench_secret } }
	const bench_one = new Bench_(), bench_seen = new Map([[bench_one, SECRET]]), bench_ref = new WeakRef({ kept: SECRET });
	const bench_next = () => ++bench_n;
	/(secret_.*)/.exec(SECRET);
	setInterval(() => bench_secret, 1e6);
	new Promise(() => {}).then(() => bench_secret);
	return 0`

// benchProbe changes the state, and returns a number, which no change to built-ins affects.
const benchProbe = `return (bench_one.kept ? 1000 : 0) + bench_next() * 100 + bench_one.add()`

const benchProbed = "1211" // the first time

// A held is a session with the state of benchState.
type held struct {
	*sandbox.Session
	secret string
}

func (r *isolationRun) newHeld(ctx context.Context, owner string) (*held, error) {
	s, err := r.engine.NewSession(owner)
	if err != nil {
		return nil, err
	}
	h := &held{s, newSecret()}
	quoted, _ := json.Marshal(h.secret)
	state := strings.ReplaceAll(benchState, "SECRET", string(quoted))
	if _, err := r.evaluateIn(ctx, s, "state.js", state, nil); err != nil {
		s.Close()
		return nil, fmt.Errorf("making the state of a session: %w", err)
	}
	return h, nil
}

// putAway replaces the session by one that is opened from its image.
func (r *isolationRun) putAway(h *held, owner string) error {
	image, err := h.Image()
	if err != nil {
		return err
	}
	opened, err := r.engine.Open(owner, image)
	if err != nil {
		return err
	}
	h.Close()
	h.Session = opened
	return nil
}

// brokeItself is in the error of a session whose programs have made it impossible to run another one. That is theirs
// to do.
const brokeItself = "an earlier program of the session has made globalThis."

const (
	attacker  = "attacker" // owners of sessions
	neighbour = "neighbour"
	stranger  = "stranger"
)

// onceInSession runs a program in a session that has state. Before and after it, another session has state in the same
// engine, which the program must not change or learn.
func (r *isolationRun) onceInSession(ctx context.Context, c *Case) verdict {
	mine, err := r.newHeld(ctx, attacker)
	if err != nil {
		return verdict{outcome: Error, problem: err.Error()}
	}
	defer func() { mine.Close() }()
	other, err := r.newHeld(ctx, neighbour)
	if err != nil {
		return verdict{outcome: Error, problem: err.Error()}
	}
	defer other.Close()
	if r.opened = !r.opened; r.opened {
		if err := r.putAway(mine, attacker); err != nil {
			return verdict{outcome: Error, problem: err.Error()}
		}
	}
	before, err := mine.Image()
	if err != nil {
		return verdict{outcome: Error, problem: err.Error()}
	}
	started := time.Now()
	gate := admit(r.gate, r.limits)
	value, err := r.evaluateIn(ctx, mine.Session, c.File, c.source, gate.call)
	v := verdictOf(value, err, gate, started)
	gate.run.End()
	if ctx.Err() == nil {
		v.problem = r.afterwards(ctx, mine, other, before, &v, err)
	}
	return v
}

// afterwards says what is wrong with the sessions after a program; "" if nothing is.
func (r *isolationRun) afterwards(ctx context.Context, mine, other *held, before []byte, v *verdict, err error) string {
	counts, programs := sandbox.Keeps(err), mine.Programs()
	after, imageErr := mine.Image()
	switch {
	case imageErr != nil:
		return "its session cannot be put away: " + imageErr.Error()
	case counts && programs != 2:
		return "the session did not keep a program that ended by itself"
	case !counts && (programs != 1 || !bytes.Equal(before, after)):
		return "the session is not as it was before the program"
	case strings.Contains(string(v.value)+v.detail, other.secret):
		return "the program told the secret of another session"
	}
	for _, probe := range []struct {
		what    string
		session *held
		code    string
		want    string
	}{
		{"its session", mine, benchProbe, benchProbed},
		{"another session", other, benchProbe, benchProbed},
		{"a search in another session", other, "return " + seek(other.secret), "[]"},
	} {
		got := r.probed(ctx, probe.session.Session, probe.code)
		if counts && probe.session == mine && strings.Contains(got, brokeItself) {
			continue
		}
		if got != probe.want {
			return fmt.Sprintf("afterwards %s answered %s instead of %s", probe.what, shorten(got), probe.want)
		}
	}
	fresh, err := r.engine.NewSession(stranger)
	if err != nil {
		return err.Error()
	}
	defer fresh.Close()
	if got := r.probed(ctx, fresh, "return "+seek()); got != "[]" {
		return "afterwards a search in a new session found " + shorten(got)
	}
	return ""
}

// probed runs a program of ours in a session.
func (r *isolationRun) probed(ctx context.Context, s *sandbox.Session, code string) string {
	value, err := r.evaluateIn(ctx, s, "probe.js", code, nil)
	if err != nil {
		return "the error " + err.Error()
	}
	return string(value)
}

// evaluateIn runs a program as the next one of a session.
func (r *isolationRun) evaluateIn(ctx context.Context, s *sandbox.Session, name, source string, h sandbox.Host) (
	json.RawMessage, error) {
	program, err := r.read(ctx, name, source)
	if err != nil {
		return nil, err
	}
	// A name that nobody declares is no reason here to refuse the program: what it does then is what the case tests.
	program, _ = program.InSession(name, nil)
	result, err := s.Run(ctx, sandbox.Program{Source: program.JS, Name: name, Limits: r.limits,
		Lookup: program.Lookup}, h)
	return result.Value, err
}
