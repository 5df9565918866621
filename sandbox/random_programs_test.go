package sandbox

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// Random programs, for [Deterministic]: what could differ between two runs or two machines is in them. Number n is the
// same program everywhere.
func randomProgram(n int) string {
	g := &programs{r: rand.New(rand.NewPCG(17, uint64(n)))}
	var b strings.Builder
	b.WriteString(programPrelude)
	for range 2 + g.r.IntN(6) {
		b.WriteString("{ " + g.fill(pick(g, programParts)) + " }\n")
	}
	if g.r.IntN(3) == 0 {
		b.WriteString(g.fill(pick(g, programEnds)))
	}
	b.WriteString("\nreturn out;")
	return b.String()
}

type programs struct {
	r     *rand.Rand
	depth int
}

func pick[T any](g *programs, from []T) T { return from[g.r.IntN(len(from))] }

var hole = regexp.MustCompile(`\$[a-z]`)

// fill replaces the holes of a template: $i a small number, $n one of some hundreds, $d a decimal fraction or an odd
// number, $e an expression, $s a text, $w a word, $v a value, $c a call, $b more code.
func (g *programs) fill(template string) string {
	return hole.ReplaceAllStringFunc(template, func(hole string) string {
		switch hole {
		case "$i":
			return fmt.Sprint(g.r.IntN(8))
		case "$n":
			return fmt.Sprint(20 + g.r.IntN(600))
		case "$d":
			return pick(g, []string{"NaN", "-NaN", "-0", "Infinity", "-Infinity", "5e-324", "1e308", "2147483648",
				"9007199254740992", "0.1", fmt.Sprint(g.r.NormFloat64() * 1e3), fmt.Sprint(g.r.Float64()), fmt.Sprint(g.r.Int32())})
		case "$w":
			return pick(g, []string{"a", "bb", "alpha", "Ünï", "straße", "😀x", "zz9", "x y", "İi"})
		case "$s":
			return fmt.Sprintf("%q", strings.Repeat(g.fill("$w")+pick(g, []string{"", " ", ",", "1"}), 1+g.r.IntN(5)))
		case "$e":
			return g.nested("$d", expressionParts)
		case "$v":
			return g.nested("$i", valueParts)
		case "$c":
			return g.fill(pick(g, callParts))
		case "$b":
			return g.nested("put($i)", programParts)
		}
		panic("no such hole: " + hole)
	})
}

// nested fills one of the templates, or the leaf if it is deep enough.
func (g *programs) nested(leaf string, templates []string) string {
	if g.depth > 3 || g.r.IntN(5) == 0 {
		return g.fill(leaf)
	}
	g.depth++
	defer func() { g.depth-- }()
	return g.fill(pick(g, templates))
}

const programPrelude = `const out = [];
const put = (...v) => { for (const x of v) if (out.length < 400) out.push(typeof x === "object" && x !== null ? (() => {
  try { return JSON.stringify(x).slice(0, 300) } catch (e) { return String(e) } })() : String(x).slice(0, 300)) };
const bits = x => put(new Uint8Array(new Float64Array([x]).buffer).join(),
  new Uint8Array(new Float32Array([x]).buffer).join());
const sleep = ms => new Promise(r => setTimeout(r, ms));
const attempt = f => { try { put(f()) } catch (e) { put(e.name, e.message, e.stack) } };
const deep = (f, n = 0) => { try { return f(n) } catch (e) { return e.name + e.message } };
const sum = a => { let h = 7; for (let i = 0; i < a.length; i++) h = (Math.imul(h, 31) + a[i]) | 0; return h };
`

var expressionParts = []string{
	"($e + $e)", "($e - $e)", "($e * $e)", "($e / $e)", "($e % $e)", "(($e) ** ($e))", "(- $e)", "($e | 0)", "($e >>> $i)",
	"($e << $i)", "~$e", "Math.sin($e)", "Math.cos($e)", "Math.tan($e)", "Math.exp($e)", "Math.log($e)",
	"Math.pow($e, $e)",
	"Math.atan2($e, $e)", "Math.hypot($e, $e)", "Math.cbrt($e)", "Math.fround($e)", "Math.sqrt($e)", "Math.max($e, $e)",
	"Math.min($e, $e)", "Math.sign($e)", "Math.round($e)", "Math.trunc($e)", "Math.log1p($e)", "Math.sinh($e)",
	"Math.acosh($e)", "Math.imul($e, $e)", "Math.clz32($e)", "parseFloat(String($e))", "Math.random()",
	"+(($e).toFixed($i))",
	"Number(($e).toPrecision(1 + $i))", "new Float32Array([$e])[0]", "new Int16Array([$e])[0]", "Date.now()",
	"performance.now()", "($e < $e ? $e : $e)", "Number($s)", "[$e, $e, $e].sort()[1]", "parseInt(($e).toString(2 + $i))",
}

var valueParts = []string{
	"[$v, $v]", "{a: $v, b: $v}", "{$i: $v, z: $v, $i: $v}", "$s", "$e", "null", "[]", "{toJSON() { return $v }}", "true",
	"new Map([[$v, $v]])", "new Date($n)", "10n ** $in",
}

var callParts = []string{
	"codemode.t__echo($i)", "codemode.t__echo($s)", "codemode.t__fail($s)", "codemode.t__deny($i)", "codemode.t__data($n)",
	"codemode.t__none()", "codemode.t__echo({x: Math.random(), y: [$e]})", "codemode.t.echo([$s, $e])",
}

var programParts = []string{
	// numbers
	"put($e); bits($e); bits($e)",
	"put(($e).toString(2 + $i), ($e).toExponential($i), ($e).toLocaleString())",
	"const f = new Float64Array($n); for (let i = 0; i < f.length; i++) f[i] = Math.sin(i * $e) * $e; f.sort(); " +
		"put(sum(new Uint8Array(f.buffer)))",
	"const f = new Float32Array($n).fill($e); f.set([$e, $e], 1); f.reverse(); f.copyWithin(2, 0, 2); put(sum(new " +
		"Uint8Array(f.buffer)))",
	"const d = new DataView(new ArrayBuffer(32)); d.setFloat64($i, $e); d.setFloat32(8 + $i, d.getFloat64($i)); " +
		"d.setInt16(20, $e); put(new Uint8Array(d.buffer).join())",
	"const u = new Uint32Array([0x7fc00001 + $i, 0xffc01234, 0x7f800001, 0xff812345]), f = new " +
		"Float32Array(u.buffer); const g = new Float64Array(f); put(f.map(x => x * $i).join(), new " +
		"Uint32Array(Float32Array.from(f).buffer).join(), new Uint32Array(g.buffer).join(), new Uint32Array(new " +
		"Float32Array(g).buffer).join())",
	"const w = new BigUint64Array([0x7ff0000000000001n, 0xfff8000000000000n, 0x7ffc00000000000$in]); const f = new " +
		"Float64Array(w.buffer); const h = f.slice(); h[0] = f[1]; h.sort(); put(new BigUint64Array(h.buffer).join(), " +
		"Object.is(f[0], NaN), new Set(f).size)",
	"put([$e, $e, $e, $e, NaN, -0, 0].sort((a, b) => a - b), [$s, $s, $s].sort(), [3, 1, 2, 10].sort((a, b) => " +
		"Math.random() - 0.5))",
	"const a = Array.from({length: $n}, () => Math.floor(Math.random() * $n)); a.sort((x, y) => (x ^ y) % 3 - 1); " +
		"put(sum(a)); a.sort((x, y) => x - y); put(a.slice(0, 20))",
	"let n = 1n; for (let i = 1; i < $n; i++) n = n * BigInt(i) + $in; put(n.toString(36).length, (n % " +
		"1000003n).toString(), BigInt.asIntN(64, n).toString(16))",
	// text
	`put($s.normalize("NFD").length, $s.localeCompare($s), $s.toUpperCase(), $s.toLowerCase(), ` +
		`[...$s].reverse().join(""), $s.at(-1), $s.split("").sort().join("|"))`,
	`put("$w$w$w".repeat($n).indexOf("$wq"), $s.padStart($i * 5, "$w"), encodeURIComponent($s), escape($s), ` +
		`btoa("x$i"), new TextEncoder().encode($s).join())`,
	`put($s.replace(/(\p{L})(\p{L})?/gu, (m, a, b, at) => at + a), $s.match(/[a-z]+|\d/giu), $s.search(/(?<=a)./), ` +
		`[...$s.matchAll(/(?<first>.)\s?/gsu)].map(m => m.groups.first + m.index))`,
	`put(/^(a+)+$/.test("a".repeat(8 + $i) + "b"), /(?:a|aa|b)*c/.exec("ab".repeat($i)), /(x*)*y/.test("x".repeat(9)))`,
	`attempt(() => new RegExp($s + "(").source); attempt(() => new RegExp("[" + $s + "]", "v").test($s))`,
	// JSON and order
	`put(JSON.stringify($v, null, $i), JSON.stringify($v, (k, v) => typeof v === "number" ? v + 1 : v))`,
	`attempt(() => JSON.parse('{"b": [1, 2, {"x": $i}], "a": $n, "1": 2}', (k, v) => (put(k), v))); attempt(() => ` +
		`JSON.parse($s + "}"))`,
	"const m = new Map(); for (let i = 0; i < $n; i++) { m.set(Math.floor(Math.random() * 50), i); if (i % 3) " +
		"m.delete(i % 50) } put([...m.keys()].join(), [...new Set([NaN, -0, 0, NaN, $e])].length)",
	"const keys = Array.from({length: 30}, (_, i) => ({i})), m = new Map(keys.map(k => [k, k.i])), s = new " +
		"WeakSet(keys); keys.length = $i; for (const k of m.keys()) if (k.i % 2) m.delete(k); put([...m.values()], " +
		"keys.every(k => s.has(k)))",
	"const o = {}; for (let i = 0; i < $n; i++) { o[pick(i)] = i; if (i % 5 === 0) delete o[pick(i >> 1)] } function " +
		"pick(i) { return i % 3 ? 'k' + (i * 7 % 40) : i * 13 % 50 } put(Object.keys(o), " +
		"Reflect.ownKeys(Object.assign(Object.create({p: 1}), o)).length); for (const k in o) if (out.length < 100) " +
		"put(k)",
	"const g = Object.groupBy([$e, $e, 1, 2, 3], x => x > 0 ? 'up' : 'down'); put(g, Object.entries($v ?? {}), " +
		"structuredCloneLike($v)); function structuredCloneLike(x) { return JSON.stringify(x) }",
	// errors, stacks, recursion
	"attempt(() => { function first(x) { return second(x) } function second(x) { return x.missing.more } return " +
		"first($v ?? {}) })",
	"attempt(() => notDeclared$i); attempt(() => { throw new Error($s, {cause: $e}) }); attempt(() => { null.x }); " +
		"attempt(() => (void 0)()); attempt(() => [].reduce((a, b) => a)); attempt(() => new Array(-$i))",
	"attempt(() => [3, 1].sort(() => { throw new TypeError($s) })); attempt(() => $s.replace(/./, () => { throw new " +
		"RangeError('in a callback') })); attempt(() => JSON.stringify({get x() { throw new Error('getter') }}))",
	"let n = 0; const f = x => { n = x; return f(x + 1) + 1 }; put(deep(f)); put(n)",
	"let n = 0; function f(a, b, c) { n++; const [x, {y}] = [a, {y: b}]; return g(x, y, c) } function g(...a) { " +
		"return f(...a, 1 % 2) } put(deep(() => f(1))); put(n)",
	"let n = 0; put(deep(function f() { n++; return [1].map(f) })); put(n); n = 0; put(deep(function f() { n++; " +
		"return 'x'.replace(/x/, f) })); put(n); n = 0; put(deep(function f() { n++; return [2, 1].sort(f).length })); " +
		"put(n)",
	"let n = 0; const o = {toJSON() { return n++ < $n ? {o} : n }}; put(deep(() => JSON.stringify(o))); put(n); n = " +
		"0; const p = new Proxy({}, {get(t, k, r) { n++; return r[k] }}); put(deep(() => p.x)); put(n)",
	"let n = 0; const o = {get x() { n++; return this.x }, toString() { n++; return '' + this }, valueOf() { n++; " +
		"return +this }}; put(deep(() => o.x), n, deep(() => '' + o), n, deep(() => o * 2)); put(n)",
	"let n = 0; class A { constructor() { n++; new this.constructor() } } class B extends A { constructor() { super() " +
		"} } put(deep(() => new B())); put(n); n = 0; function* y() { n++; yield* y() } put(deep(() => y().next())); " +
		"put(n)",
	"let n = 0; async function f() { n++; await f() } try { await f() } catch (e) { put(e.name) } put(n); n = 0; " +
		"put(deep(function f() { n++; return eval('f()') })); put(n); n = 0; put(deep(function f() { n++; return " +
		"Reflect.apply(f.bind(1), 2, []) })); put(n)",
	"for (const [o, c] of [['[', ']'], ['(', ')'], ['{a:', '}'], ['-', ''], ['x=>', ''], ['`${', '}`'], ['!', '']]) " +
		"put(o, deep(() => typeof new Function('return ' + o.repeat(8 * $n) + '1' + c.repeat(8 * $n))))",
	"for (const [o, c] of [['(', ')'], ['(?:', ')*'], ['(?=', ')'], ['[', ']']]) put(o, deep(() => new " +
		"RegExp(o.repeat(30 * $n) + 'a' + c.repeat(30 * $n)).test('a'))); put(deep(() => JSON.parse('['.repeat(90 * $n) " +
		"+ ']'.repeat(90 * $n)).length))",
	"let a = []; for (let i = 0; i < 4 * $n; i++) a = [a]; put(deep(() => String(a).length), deep(() => " +
		"JSON.stringify(a).length), deep(() => a.flat(Infinity).length)); let s = ''; for (let i = 0; i < 9 * $n; i++) s " +
		"= i % 2 ? s + 'x' : 'y' + s; put(s.length, sum([...s].map(c => c.charCodeAt(0))))",
	"let o = null; for (let i = 0; i < 99 * $n; i++) o = {o}; put(typeof o); o = null; let f = () => 1; for (let i = " +
		"0; i < 9 * $n; i++) { const g = f; f = i % 2 ? () => g() : g.bind(null) } put(deep(f)); let p = " +
		"Promise.resolve(1); for (let i = 0; i < 20 * $n; i++) p = p.then(x => x + 1); put(await p)",
	"let p = {}; for (let i = 0; i < 9 * $n; i++) p = i % 3 ? Object.create(p) : new Proxy(p, {}); put(deep(() => " +
		"p.missing), deep(() => 'q' in p))",
	// time, promises, calls
	"put(Date.now(), performance.now(), new Date().toISOString(), String(new Date($n, $i, $i)), new " +
		"Date($e).getTime(), new Date('2020-0$i-1$i').toString(), new Date().getTimezoneOffset(), new Date(2020, " +
		"$i).toLocaleString())",
	"const log = []; for (let i = 0; i < 9; i++) setTimeout(() => log.push(i + '@' + performance.now()), " +
		"Math.floor(Math.random() * $n)); const t = setInterval(() => log.push('tick'), $n); await sleep(3 * $n); " +
		"clearInterval(t); put(log.join(), Date.now())",
	"const log = []; queueMicrotask(() => log.push(1)); setTimeout(() => log.push(2)); Promise.resolve().then(() => " +
		"log.push(3)); (async () => { log.push(4); await null; log.push(5) })(); await sleep($i); put(log.join())",
	"try { put(await $c) } catch (e) { put(e.name, e.message, e.stack, e.reason) }",
	"for (const r of await Promise.allSettled([$c, $c, $c, $c, $c])) put(r.status, r.value ?? String(r.reason)); " +
		"put(Date.now())",
	"const log = []; const all = [$c, $c, $c].map((p, i) => p.then(v => log.push(i + ':' + String(v).length), e => " +
		"log.push(i + e.name))); log.push('sent'); await Promise.race(all); log.push('first'); await Promise.all(all); " +
		"put(log.join())",
	"put(await Promise.race([$c.catch(e => e.name), sleep($i).then(() => 'late')])); put(await Promise.any([$c, $c, " +
		"sleep($n)]).catch(e => e.errors.map(String)))",
	"const log = []; const slow = (async () => { for (let i = 0; i < 4; i++) log.push(typeof await " +
		"codemode.t__data(i)) })(); const t = setInterval(() => log.push('t'), 10); await Promise.all([slow, $c.catch(() " +
		"=> 0), sleep(35)]); clearInterval(t); put(log.join(), performance.now())",
	"async function* many() { for (let i = 0; i < 3; i++) { yield $c; await sleep($i) } } try { for await (const x of " +
		"many()) put(x) } catch (e) { put(String(e)) }",
	"await Promise.all(Array.from({length: 3 + $i}, async (_, i) => { await sleep(Math.random() * 20); try { put(i, " +
		"await codemode.t__echo(i)); $b } catch (e) { put(i, e.message) } }))",
	"put(crypto.randomUUID(), crypto.getRandomValues(new Uint8Array(5)).join(), Array.from({length: 3}, Math.random))",
	// memory and the rest
	"const keep = []; for (let i = 0; i < $n; i++) { const a = {i}; a.self = a; if (i % 7 === 0) keep.push(a); a.text " +
		"= 'y'.repeat(i) } put(keep.length, sum(keep.map(k => k.text.length)))",
	"const refs = []; for (let i = 0; i < $n; i++) refs.push(new WeakRef({i})); let junk = []; for (let i = 0; i < 9 " +
		"* $n; i++) { const a = {}; a.a = a; junk = [a, i] } await sleep(1); put(refs.filter(r => r.deref() === " +
		"undefined).length)",
	"const done = [], r = typeof FinalizationRegistry === 'function' ? new FinalizationRegistry(x => done.push(x)) : " +
		"null; for (let i = 0; r && i < 20; i++) r.register({i}, i); await sleep(5); put(done.join())",
	"attempt(() => new Array($n).fill('x'.repeat($n)).join('').length); attempt(() => 'x'.repeat(2 ** 30).length); " +
		"attempt(() => new Uint8Array(2 ** 31).length)",
	"class P { #x = $e; static n = 0; constructor() { P.n++ } get x() { return this.#x } *[Symbol.iterator]() { yield " +
		"this.#x; yield* [$i, $i] } } put([...new P(), ...new P()], P.n, new P().x); label: for (let i = 0; i < 9; i++) " +
		"{ for (;;) { if (i === $i) break label; continue label } }",
	"const log = []; const p = new Proxy({a: 1, b: {c: 2}}, {get(t, k) { log.push(String(k)); return t[k] }, " +
		"ownKeys(t) { log.push('keys'); return Reflect.ownKeys(t) }}); put({...p}, JSON.stringify(p), log); try { " +
		"eval('put(' + $e + ')') } catch (e) { put(String(e)) }",
	"for (let i = 0; i < $i; i++) { $b }", "if (Math.random() < 0.5) { $b } else { $b }",
	"try { $b; if (Math.random() < 0.3) throw new Error($s) } catch (e) { put(e.message) } finally { $b }",
	"console.log($s, $v, $e); console.error(new Error($s)); console.debug([$v], $e); console.log('%d %s', $e, $s)",
	"put(Number.parseFloat('0.$n$n$n'), 0.$n + 0.$n, (1 / $n).toString(), new URL('http://a.b/$i?x=$n#y').href, " +
		"parseInt('$n', 8))",
	"let x = $i; switch (x) { case 0: case 1: $b; default: put(x) } const fill = new Array($n); fill[3] = 1; " +
		"put(fill.indexOf(1), fill.findLast(() => true), fill.toSorted().length, fill.length)",
}

var programEnds = []string{
	"for (;;);", "for (;;) await 0;", "while (true) out.push(1);",
	"const t = setInterval(() => {}, 1); await new Promise(() => {})",
	"await new Promise(() => {})", "throw new TypeError($s)", "throw $v", "(function f() { f() })()", "$c; return $v",
	"/(a+)+$/.test('a'.repeat(60) + 'b')",
	"'x'.repeat(1e6).split('').sort(() => 1); for (;;) 'x'.repeat(1e6).indexOf('y')",
	"const all = []; for (;;) all.push(new Uint8Array(1e5).fill($i))", "let s = 'x'; for (;;) s += s + s;",
	"for (let i = 0; ; i++) await codemode.t__echo(i)", "for (;;) new Array(1e5).fill(0).reverse().sort()",
	"return 'x'.repeat(1e6)", "Promise.reject(new Error($s)); await sleep($n)",
	"(() => { for (;;) try { for (;;) { } } finally { continue } })()",
	"function f() { try { f() } finally { f() } } f()",
	"const m = new Map(); for (let i = 0; ; i++) m.set({}, new Error(i))",
	"let o = 10n; for (;;) o *= o", "for (;;) JSON.parse(JSON.stringify(Array(1000).fill($v)))",
	"return {then(f) { f($v) }}",
	"await Promise.all(Array.from({length: 60}, (_, i) => codemode.t__echo(i)))", "eval('}{')",
}
