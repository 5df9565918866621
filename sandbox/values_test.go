package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// Values that JSON does not have, as a result and inside the arguments of a call: they become what they hold.
func TestValuesBecomeWhatTheyHold(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		{"a Map with text as keys is an object", `new Map([["b", 1], ["a", {c: 2}], ["gone", undefined]])`, `{"b":1,"a":{"c":2}}`},
		{"any other Map is its pairs", `new Map([[1, "x"], ["b", undefined], [{k: 1}, new Map([[2, 3]])]])`,
			`[[1,"x"],["b",null],[{"k":1},[[2,3]]]]`},
		{"an empty Map", "new Map()", "{}"},
		{"a Map with odd keys", `new Map([["__proto__", {a: 1}], ["toJSON", 1], ["1", 2]])`, `{"__proto__":{"a":1},"toJSON":1,"1":2}`},
		{"a Set", `new Set([1, "a", {b: new Set()}, undefined])`, `[1,"a",{"b":[]},null]`},
		{"iterators", `[[1, 2].values(), new Map([[1, 2]]).entries(), new Map([["a", 2]]).keys(), new Set([3]).values(), "ab"[Symbol.iterator]()]`,
			`[[1,2],[[1,2]],["a"],[3],["a","b"]]`},
		{"what map and take of iterators give", "[1, 2, 3].values().map(x => x * 2).take(2)", "[2,4]"},
		{"matchAll", `"a1b2".matchAll(/\d/g)`, `[["1"],["2"]]`},
		{"a generator", "(function* () { yield 1; yield undefined; yield [2] })()", "[1,null,[2]]"},
		{"an object that can be iterated", "({ *[Symbol.iterator]() { yield 1 } })", "[1]"},
		{"an instance that can be iterated", "new (class { #x = [1, 2]; *[Symbol.iterator]() { yield* this.#x } })", "[1,2]"},
		{"an iterator of a class", "new (class extends Iterator { next() { return { done: true } } })", "[]"},
		{"typed arrays", "[new Uint8Array([1, 2]), new Float64Array([1.5, NaN]), new BigInt64Array([1n, 9007199254740993n]), new Float32Array(0)]",
			"[[1,2],[1.5,null],[1,9007199254740993],[]]"},
		{"an ArrayBuffer is its bytes", "new Uint8Array([7, 255]).buffer", "[7,255]"},
		{"URLs and their parameters are text", `[new URL("https://a.b/?x=1"), new URLSearchParams("a=1&b=2&a=3")]`,
			`["https://a.b/?x=1","a=1&b=2&a=3"]`},
		{"arguments", "(function () { return arguments })(1, 2)", "[1,2]"},
		{"errors keep cause and errors", `[new Error("a", {cause: new TypeError("c")}), new AggregateError([new Error("x")], "many")]`,
			`[{"name":"Error","message":"a","cause":{"name":"TypeError","message":"c"}},` +
				`{"name":"AggregateError","message":"many","errors":[{"name":"Error","message":"x"}]}]`},
		{"a DOMException", `[new DOMException("m", "AbortError")]`, `[{"name":"AbortError","message":"m"}]`},
		{"instances of classes", "[new (class { a = 1; get b() { return 2 } }), new (class { m() {} }), Object.create(null)]", `[{"a":1},{},{}]`},
		{"toJSON comes first", "[Object.assign(new Map([[1, 2]]), {toJSON() { return 'mine' }}), new (class extends Set { toJSON() { return 1 } })]",
			`["mine",1]`},
		{"a large BigInt anywhere", `[Object(2n ** 60n), new Map([["a", -(2n ** 53n)]]), new Set([2n ** 64n])]`,
			`[1152921504606846976,{"a":-9007199254740992},[18446744073709551616]]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := run(t, "return "+test.value)
			if err != nil || string(r.Value) != test.want {
				t.Errorf("as a result: got %s, %v; want %s", r.Value, err, test.want)
			}
			var args string
			host := func(_ context.Context, c *Call) (json.RawMessage, error) { args = string(c.Args); return nil, nil }
			want := `{"deep":[` + test.want + `]}`
			if _, err := testEngine(t).Run(t.Context(), Program{Source: "await codemode.a.x({deep: [" + test.value + "]})"},
				host); err != nil || args != want {
				t.Errorf("as an argument: got %s, %v; want %s", args, err, want)
			}
		})
	}
}

// Values that have no form in JSON are errors with their path and a way out, and no call is made.
func TestValuesThatJSONCannotCarry(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		{"a regular expression", "/a+/g", "is a regular expression: use x.source"},
		{"a WeakMap", "new WeakMap()", "use a Map or Set"},
		{"a WeakSet", "new WeakSet()", "use a Map or Set"},
		{"a WeakRef", "new WeakRef({})", "is a WeakRef, which JSON cannot carry"},
		{"a FinalizationRegistry", "new FinalizationRegistry(() => {})", "is a FinalizationRegistry"},
		{"a function", "() => 1", "is a function, which JSON cannot carry: call it"},
		{"a tool", "codemode.a.tool", "is a function"},
		{"a symbol", "Symbol('s')", "is a symbol"},
		{"a boxed symbol", "Object(Symbol('s'))", "is a symbol"},
		{"a small BigInt", "5n", "is a BigInt, which JSON cannot carry: use Number(x)"},
		{"a small BigInt in a Map", "new Map([['n', 5n]])", ".n is a BigInt"},
		{"an async generator", "(async function* () {})()", "use await Array.fromAsync(x)"},
		{"an object that can be iterated asynchronously", "({ async *[Symbol.asyncIterator]() {} })", "use await Array.fromAsync(x)"},
		{"private fields", "new (class { #x = 1; get x() { return this.#x } })", "give its class a toJSON()"},
		{"getters of a class", "new (class { get x() { return 1 } })", "give its class a toJSON()"},
		{"inherited properties", "Object.create({a: 1})", "contents JSON cannot see"},
		{"an AbortSignal", "new AbortController().signal", "contents JSON cannot see"},
		{"an event", "new Event('x')", "contents JSON cannot see"},
		{"a Proxy of a Map", "new Proxy(new Map([[1, 2]]), {})", "is a Proxy of what is no plain object or array"},
		{"a DataView", "new DataView(new ArrayBuffer(2))", "use new Uint8Array(x.buffer)"},
		{"a detached typed array", "(() => { const b = new Uint8Array(4); b.buffer.transfer(); return b })()", "was transferred"},
		{"a detached buffer", "(() => { const b = new ArrayBuffer(4); b.transfer(); return b })()", "was transferred"},
		{"a Date without toJSON", "(() => { delete Date.prototype.toJSON; return new Date(0) })()", "use x.toISOString()"},
		{"an endless generator", "(function* () { for (let i = 0;; i++) yield i })()", "gave 100,000 values and has more"},
		{"an endless iterator helper", "Iterator.from({ next() { return { value: 1, done: false } } }).map(x => x)", "has more"},
		{"a Map that contains itself", "(() => { const m = new Map(); m.set('self', m); return m })()", ".self is a cycle"},
		{"a Set that contains itself", "(() => { const s = new Set(); s.add([s]); return s })()", "[0][0] is a cycle"},
		{"deep Maps", "(() => { let m = 1; for (let i = 0; i < 300; i++) m = new Map([[1, m]]); return m })()", "nested too deeply"},
		{"a generator of generators", "(function* g() { yield g() })()", "nested too deeply"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := run(t, "return {x: "+test.value+"}")
			first := strings.Contains(test.want, "has more") && err != nil && strings.Contains(err.Error(), "the result is larger than")
			if !first && (err == nil || !strings.Contains(err.Error(), "result.x") || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("as a result: got %v, want ...result.x...%s", err, test.want)
			}
			var sent bool
			host := func(context.Context, *Call) (json.RawMessage, error) { sent = true; return nil, nil }
			_, err = testEngine(t).Run(t.Context(), Program{Source: "await codemode.a.x({deep: [" + test.value + "]})"}, host)
			if err == nil || sent || !strings.Contains(err.Error(), "argument.deep[0]") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("as an argument: got %v, sent: %v; want ...argument.deep[0]...%s, and nothing sent", err, sent, test.want)
			}
		})
	}
}

// Arguments run the program's code, which may make calls, change what is written, and fail.
func TestIteratorsInArguments(t *testing.T) {
	for _, test := range []struct{ name, source, want, sent string }{
		{"calls inside an iterator", `const p = []; function* g() { p.push(codemode.a.first({n: new Set([1])})); yield 1; p.push(codemode.a.second("z")); yield 2 }
			const r = await codemode.a.x({g: g(), b: 3}); await Promise.all(p); return r`, `{"g":[1,2],"b":3}`, `a__first {"n":[1]} a__second "z" a__x {"g":[1,2],"b":3}`},
		{"calls inside toJSON inside a Map", `let p; const r = await codemode.a.x(new Map([["k", {toJSON() { p = codemode.a.first([1]); return 5 }}]])); await p; return r`,
			`{"k":5}`, `a__first [1] a__x {"k":5}`},
		{"a Set that is changed while it is written", `const s = new Set([1]); s.add({toJSON() { s.clear(); s.add(9); return "t" }}); s.add(5)
			return await codemode.a.x(s)`, `[1,"t",5]`, `a__x [1,"t",5]`},
		{"a generator that fails", `function* g() { yield 1; throw new Error("mine") }
			try { await codemode.a.x([g()]) } catch (e) { return e.message }`, `"mine"`, ""},
		{"a generator is closed", `let closed = false; function* g() { try { for (;;) yield () => 1 } finally { closed = true } }
			try { await codemode.a.x([g()]) } catch (e) { return [closed, e.message.slice(0, 29)] }`,
			`[true,"argument[0][0] is a function,"]`, ""},
		{"an iterator is used up", `const it = [1, 2].values(); return [await codemode.a.x(it), await codemode.a.x(it)]`, `[[1,2],[]]`, `a__x [1,2] a__x []`},
		{"planted on prototypes", `Object.prototype.next = Array.prototype.toJSON = () => "planted"; Map.prototype.entries = Set.prototype.values = () => { throw 1 }
			Map.prototype[Symbol.iterator] = Set.prototype[Symbol.iterator] = () => { throw 2 }; delete Array.prototype.toJSON; delete Object.prototype.next
			return await codemode.a.x([new Map([["a", 1]]), new Set([2]), {}])`, `[{"a":1},[2],{}]`, `a__x [{"a":1},[2],{}]`},
		{"Symbol.iterator planted on all objects", `Object.prototype[Symbol.iterator] = function* () { yield 7 }; const r = await codemode.a.x([{}, {a: 1}])
			delete Object.prototype[Symbol.iterator]; return r`, `[[7],{"a":1}]`, `a__x [[7],{"a":1}]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var mu sync.Mutex
			sent := map[int]string{}
			host := func(_ context.Context, c *Call) (json.RawMessage, error) {
				mu.Lock()
				defer mu.Unlock()
				sent[c.ID] = c.Name + " " + string(c.Args)
				return c.Args, nil
			}
			r, err := testEngine(t).Run(t.Context(), Program{Source: test.source}, host)
			mu.Lock()
			defer mu.Unlock()
			var got []string
			for i := 1; i <= len(sent); i++ {
				got = append(got, sent[i])
			}
			if err != nil || string(r.Value) != test.want || strings.Join(got, " ") != test.sent {
				t.Errorf("got %s, %v, sent %s; want %s, sent %s", r.Value, err, strings.Join(got, " "), test.want, test.sent)
			}
		})
	}
	for _, source := range []string{"await codemode.a.x({ [Symbol.iterator]() { return { next() { for (;;); } } } })",
		"return { [Symbol.iterator]() { return { next() { for (;;); } } } }"} {
		if _, err := testEngine(t).Run(t.Context(), Program{Source: source, Limits: brief}, echo); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want the end of its time", source, err)
		}
	}
}

func TestIntegersBeyond53Bits(t *testing.T) {
	const advice = "use Number(x)"
	for _, test := range []struct{ source, want string }{
		{"JSON.stringify(r)", `{"id":1234567890123456789}`},
		{"JSON.stringify({r, n: [-(2n ** 53n), 2n ** 64n]}, null, 1).replace(/\\s/g, '')",
			`{"r":{"id":1234567890123456789},"n":[-9007199254740992,18446744073709551616]}`},
		{"JSON.stringify(r, ['id'])", `{"id":1234567890123456789}`},
		{"JSON.stringify(r, (k, v) => v)", `{"id":1234567890123456789}`},
		{"(BigInt.prototype.toJSON = () => 'own', JSON.stringify(r))", `{"id":"own"}`},
		{"`${r.id}`", "1234567890123456789"},
		{"String(r.id > 5)", "true"},
		{"r.id.toLocaleString()", "1,234,567,890,123,456,789"},
		{"JSON.stringify([1n])", advice}, {"r.id / 1000", advice}, {"r.id + 1", advice}, {"1 - r.id", advice},
		{"Math.max(r.id, 1)", advice}, {"isNaN(r.id)", advice}, {"+r.id", advice}, {"new Date(r.id)", advice},
		{"[r, r].sort((a, b) => a.id - b.id)", advice}, {"(5).toFixed(r.id)", advice}, {"r.id & 1", advice}, {"r.id ** 2", advice},
		{"new Date(r.id / 1e6).toISOString()", advice}, {"'x'.repeat(r.id)", advice}, {"Math.floor(r.id)", advice},
	} {
		host := func(context.Context, *Call) (json.RawMessage, error) {
			return json.RawMessage(`{"id": 1234567890123456789}`), nil
		}
		source := "const r = await codemode.s.big({}); let v; try { v = " + test.source + " } catch (e) { v = e.message } return v"
		r, err := testEngine(t).Run(t.Context(), Program{Source: source}, host)
		var got string
		if err == nil {
			err = json.Unmarshal(r.Value, &got)
		}
		if err != nil || got != test.want && (test.want != advice || !strings.Contains(got, advice)) {
			t.Errorf("%s: got %s, %v; want %s", test.source, r.Value, err, test.want)
		}
	}
}

// What was thrown, as the console shows it, and where.
func TestThrown(t *testing.T) {
	for _, test := range []struct {
		source, want string
		line         int
	}{
		{"\nthrow { code: 'CARD_DECLINED', detail: { a: 1 } }", "the program threw { code: 'CARD_DECLINED', detail: { a: 1 } }, which is not an Error", 2},
		{"throw [1, 2]", "the program threw [ 1, 2 ], which is not an Error", 1},
		{"throw null", "the program threw null, which is not an Error", 1},
		{"throw undefined", "the program threw undefined, which is not an Error", 1},
		{"throw 'text\\n'", `the program threw "text\n", which is not an Error`, 1},
		{"throw Symbol('s')", "the program threw Symbol(s), which is not an Error", 1},
		{"throw function f() {}", "the program threw [Function: f], which is not an Error", 1},
		{"throw new Map([[1, new Set([2])]])", "the program threw Map(1) { 1 => Set(1) { 2 } }, which is not an Error", 1},
		{"throw new (class Payment { code = 'X' })", "the program threw Payment { code: 'X' }, which is not an Error", 1},
		{"throw Object.assign(Object.create(null), { a: 1 })", "the program threw [Object: null prototype] { a: 1 }, which is not an Error", 1},
		{"\nawait Promise.any([Promise.reject(new Error('a1')), Promise.reject(new Error('b2'))])",
			"AggregateError { [errors]: [ [Error: a1], [Error: b2] ] }", 2},
		{"throw new AggregateError([new Error('a'), { b: 1 }], 'many')", "AggregateError: many { [errors]: [ [Error: a], { b: 1 } ] }", 1},
		{"try { throw { code: 7 } } catch (e) {\n throw new Error('wrapped', { cause: e }) }", "Error: wrapped { [cause]: { code: 7 } }", 2},
		{"throw new Error('o', { cause: new Error('m', { cause: new TypeError('i') }) })",
			"Error: o { [cause]: [Error: m] { [cause]: [TypeError: i] } }", 1},
		{"const e = new Error('x'); e.code = 'E1'; throw e", "Error: x { code: 'E1' }", 1},
		{"const e = new Error('x'); e.cause = e; throw e", "Error: x <ref *1> { cause: [Circular *1] }", 1},
		{"throw new (class extends Error { name = 'Mine'; status = 404 })('gone')", "Mine: gone { status: 404 }", 1},
		{"throw new (class Mine extends Error { get name() { console.log('ran') } get message() { console.log('ran') } })('m')", "Mine: m", 1},
		{"function Old(m) { this.message = m } Old.prototype = Object.create(Error.prototype); throw new Old('m')", "Error: m", 1},
		{"throw new DOMException('no', 'AbortError')", "AbortError: no", 1},
		{"new URL('::')", "TypeError: Invalid URL { input: '::' }", 1},
		{"throw new Proxy({}, { get() { console.log('ran') }, ownKeys() { console.log('ran') } })", "the program threw [Proxy], which is not an Error", 1},
		{"throw { get a() { console.log('ran') }, toString() { console.log('ran') } }",
			"the program threw { a: [Getter], toString: [Function: toString] }, which is not an Error", 1},
		{"const e = new Error('s'); Object.defineProperty(e, 'stack', { get() { console.log('ran') } }); throw e", "Error: s", 1},
		{"const e = new Error('s'); e.stack = 'fake'; throw e", "Error: s", 1},
		{"Object.prototype.get = () => 1; Object.prototype.value = 3; Array.prototype[0] = 9; throw { c: 1, n: [] }",
			"the program threw { c: 1, n: [] }, which is not an Error", 1},
		{"async function f() { await null; throw { a: 1 } }\ntry { await f() } finally { 1 }", "the program threw { a: 1 }, which is not an Error", 1},
		{"await 0;\nawait Promise.reject({ a: 1 })", "the program threw { a: 1 }, which is not an Error", 2},
		{"try { throw { a: 1 } } catch {}\nthrow { a: 1 }", "the program threw { a: 1 }, which is not an Error", 2},
		{"try { throw 1 } catch {}\nthrow 1", "the program threw 1, which is not an Error", 2},
		{"const e = {}; try { throw e } catch (f) {\n throw f }", "the program threw {}, which is not an Error", 1},
		{"setTimeout(() => {\n throw { t: 1 } }, 1); await new Promise(() => {})", "the program threw { t: 1 }, which is not an Error " +
			"(the function of a timer threw it; the program waited for a promise that nothing could settle any more)", 2},
		{"return {\n toJSON() { throw { j: 1 } } }", "the program threw { j: 1 }, which is not an Error", 2},
		{"function* g() { yield 1;\n throw { g: 1 } } for (const x of g());", "the program threw { g: 1 }, which is not an Error", 2},
		{"await codemode.a__deny({})", "ToolCallDeniedError: no", 1}, // what the host says is in its message
	} {
		r, err := run(t, test.source)
		var e *Error
		if !errors.As(err, &e) || e.Error() != test.want || e.Pos.Line != test.line {
			t.Errorf("%s:\ngot  %+v\nwant %s in line %d", test.source, err, test.want, test.line)
		}
		if len(r.Console) > 0 {
			t.Errorf("%s: the program's code ran: %v", test.source, r.Console)
		}
	}
	for _, source := range []string{"throw { big: 'x'.repeat(1e6), list: Array.from({length: 5000}, (_, i) => ({ i })) }",
		"let x = {}; for (let i = 0; i < 1e5; i++) x = { x }; throw x", "throw new Error('m', { cause: ['x'.repeat(1e6)] })",
		"throw Array.from({length: 1e3}, () => 'y'.repeat(1e4))"} {
		started := time.Now()
		if _, err := run(t, source); err == nil || len(err.Error()) > 8<<10 || time.Since(started) > 5*time.Second {
			t.Errorf("%s: the message has %d bytes after %v", source, len(err.Error()), time.Since(started))
		}
	}
	_, err := run(t, "Promise.reject({ code: 5 }); Promise.reject(new Error('q', { cause: 'z' })); Promise.reject(null); await 0; return 1")
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want the first rejection that nobody handled", err)
	}
	told := e.Error()
	for _, other := range e.Others {
		told += "\n" + other.Error()
	}
	for _, want := range []string{"{ code: 5 }", "Error: q { [cause]: 'z' }", "null"} {
		if !strings.Contains(told, want) {
			t.Errorf("got %s, want also %s", told, want)
		}
	}
}

// The table is what Node says: guest/en_us.mjs writes it.
func TestEnglish(t *testing.T) {
	table, err := os.ReadFile("testdata/en-us.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][2]json.RawMessage
	if err := json.Unmarshal(table, &rows); err != nil || len(rows) < 1500 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	r, err := testEngine(t).Run(t.Context(), Program{Source: `return input.map(([e]) => { try { return (0, eval)('(' + e + ')') } catch (x) { return {throws: x.name} } })`,
		Input: table}, echo)
	if err != nil {
		t.Fatal(err)
	}
	var got []json.RawMessage
	if err := json.Unmarshal(r.Value, &got); err != nil || len(got) != len(rows) {
		t.Fatalf("%d results, %v", len(got), err)
	}
	for i, row := range rows {
		if string(got[i]) != string(row[1]) {
			t.Errorf("%s: got %s, want %s", row[0], got[i], row[1])
		}
	}
}

// What is not as in Node is an error that says what to use.
func TestWhatIsNotEnglish(t *testing.T) {
	for _, source := range []string{`d.toLocaleString("en-US", {timeZone: "America/New_York"})`, `d.toLocaleTimeString([], {timeZone: "Nope/Zone"})`,
		`d.toLocaleDateString("de-DE")`, `d.toLocaleDateString("sv-SE")`, `d.toLocaleDateString("en-CA")`, `d.toLocaleString("en-GB")`,
		`d.toLocaleString(["fr", "en"])`, `d.toLocaleString("en-US-u-hc-h23")`, `d.toLocaleString("en", {era: "short"})`,
		`d.toLocaleString("en", {dayPeriod: "short"})`, `d.toLocaleString("en", {calendar: "islamic"})`, `d.toLocaleString("en", {numberingSystem: "arab"})`,
		`d.toLocaleString("en", {year: "numeric", day: "numeric"})`, `[d].toLocaleString("de")`, `[[1.5]].toLocaleString("de")`,
		`new Float32Array(1).toLocaleString("de")`, `(1.5).toLocaleString("de-DE")`, `1n.toLocaleString("fr")`, `(1).toLocaleString("en-IN")`,
		`(1).toLocaleString("en", {style: "unit", unit: "liter"})`, `(1).toLocaleString("en", {notation: "scientific"})`,
		`(1).toLocaleString("en", {style: "currency", currency: "USD", currencyDisplay: "name"})`, `(1).toLocaleString("en", {roundingMode: "floor"})`,
		`"a".localeCompare("b", "sv")`, `"a".localeCompare("b", "es")`, `"a".localeCompare("b", "fr-CA")`, `"a".localeCompare("b", "de-u-co-phonebk")`,
		`"a".localeCompare("b", "en", {caseFirst: "upper"})`, `"a".localeCompare("b", "en", {ignorePunctuation: true})`,
		`"a".localeCompare("b", "en", {usage: "search"})`, `"ひ".localeCompare("a")`, `"a".localeCompare("ש")`, `"i".toLocaleUpperCase("tr")`,
		`"I".toLocaleLowerCase("az")`} {
		_, err := run(t, "const d = new Date(0); return "+source)
		var e *Error
		if !errors.As(err, &e) || e.Name != "RangeError" || !strings.Contains(e.Message, " here: use ") || e.Pos.Line != 1 {
			t.Errorf("%s: got %v, want a RangeError that names the way out", source, err)
		}
	}
}
