package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/codemode-project/codemode/internal/cachetest"
)

// engine is shared by the tests: making one compiles the guest.
var engine = sync.OnceValues(func() (*Engine, error) {
	return New(context.Background(), Options{CacheDir: cachetest.Dir(), ParkKey: []byte("a key for tests")})
})

func testEngine(t testing.TB) *Engine {
	t.Helper()
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// echo answers a call with its arguments; some names do something else.
func echo(ctx context.Context, c *Call) (json.RawMessage, error) {
	switch c.Name {
	case "a__fail":
		return nil, errors.New("it did not work")
	case "a__deny":
		return nil, &Throw{Class: "ToolCallDeniedError", Message: "no",
			Props: map[string]any{"toolName": c.Name, "reason": "denied", "retryable": false}}
	case "a__nothing":
		return nil, nil
	case "a__raw":
		var text string
		err := json.Unmarshal(c.Args, &text)
		return json.RawMessage(text), err
	case "a__name":
		return json.Marshal(c.Name)
	case "a__panic":
		panic("host bug")
	case "a__hang":
		<-ctx.Done()
		return nil, ctx.Err()
	case "a__sleep":
		var ms int
		_ = json.Unmarshal(c.Args, &ms)
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return c.Args, nil
}

// limits leave a slow machine time for programs that finish; brief is for
// those that do not.
var (
	limits = Limits{CPU: time.Minute, Wall: time.Minute, ResultBytes: 1 << 16, ConsoleBytes: 1 << 10}
	brief  = Limits{CPU: 300 * time.Millisecond, Wall: time.Minute, ResultBytes: 1 << 16, ConsoleBytes: 1 << 10}
)

func run(t testing.TB, source string) (*Result, error) {
	t.Helper()
	return testEngine(t).Run(t.Context(), Program{Source: source, Limits: limits}, echo)
}

// A program, and what it returns as JSON; "" is undefined.
func TestValues(t *testing.T) {
	for _, test := range []struct{ name, source, want string }{
		{"a number", "return 1+1", "2"},
		{"nothing", "", ""},
		{"undefined", "return undefined", ""},
		{"null", "return null", "null"},
		{"text", `return "a\n\u0001\"\\é😀"`, `"a\n\u0001\"\\é😀"`},
		{"half a character becomes U+FFFD", `return "x\ud800y" + "\udc00"`, `"x` + "\uFFFD" + `y` + "\uFFFD" + `"`},
		{"NaN and infinities are null, -0 is 0", "return [NaN, Infinity, -Infinity, -0]", "[null,null,null,0]"},
		{"numbers as JavaScript writes them", "return [1e21, 0.1, 1e-7, 123456789012, -5]",
			"[1e+21,0.1,1e-7,123456789012,-5]"},
		{"holes and undefined in arrays are null, in objects absent", "return [[1,,2], {a: undefined, b: 1}]",
			`[[1,null,2],{"b":1}]`},
		{"a date", "return new Date(0)", `"1970-01-01T00:00:00.000Z"`},
		{"boxed primitives", "return [Object(1), Object('a'), Object(true)]", `[1,"a",true]`},
		{"toJSON", "return {toJSON() { return {x: 1} }}", `{"x":1}`},
		{"an error's own name is written once", "const e = new Error('m'); e.name = 'Mine'; return e",
			`{"name":"Mine","message":"m"}`},
		{"an error keeps name and message", "return [new TypeError('bad')]", `[{"name":"TypeError","message":"bad"}]`},
		{"__proto__ as a key", `return JSON.parse('{"__proto__": {"x": 1}}')`, `{"__proto__":{"x":1}}`},
		{"a promise is awaited", "return Promise.resolve(3)", "3"},
		{"input", "return input.x", "7"},
		{"order of keys", "return {b: 1, a: 2, 1: 3}", `{"1":3,"b":1,"a":2}`},
		{"a proxy for an array", "return new Proxy([1, 2], {})", "[1,2]"},
		{"each property is read once", "let n = 0; const v = await codemode.a__echo({get x() { return ++n }}); return [v, n]",
			`[{"x":1},1]`},
		{"arguments are taken when the call is made", "const o = {x: 1}; const p = codemode.a__echo(o); o.x = 2; return p",
			`{"x":1}`},
		{"no argument is null", "return codemode.a__echo()", "null"},
		{"undefined as argument is null", "return codemode.a__echo(undefined)", "null"},
		{"a tool by server and name", "return codemode.a.name()", `"a__name"`},
		{"a tool by computed name", "return codemode['a__' + 'name']()", `"a__name"`},
		{"a tool as a value", "const f = codemode.a__echo; return Promise.all([1, 2].map(f))", "[1,2]"},
		{"a tool with call and bind", "return [await codemode.a__echo.call(null, 1), await codemode.a__echo.bind(null, 2)()]",
			"[1,2]"},
		{"undefined from the host", "return [await codemode.a__nothing()]", "[null]"},
		{"large integers come as BigInt",
			`const v = await codemode.a__raw('[9007199254740993, -123456789012345678901234567890, 9007199254740991]'); return v.map(x => typeof x + ' ' + x)`,
			`["bigint 9007199254740993","bigint -123456789012345678901234567890","number 9007199254740991"]`},
		{"large integers go back with their digits",
			"return codemode.a__raw('[9007199254740993, -123456789012345678901234567890, 9007199254740992]')",
			"[9007199254740993,-123456789012345678901234567890,9007199254740992]"},
		{"escapes from the host", `return codemode.a__raw('"\\u00e9\\ud83d\\ude00\\ud800\\n\\/"')`,
			`"é😀` + "\uFFFD" + `\n/"`},
		{"a then in a result is data",
			`const v = await codemode.a__raw('{"then": 1, "__proto__": 2}'); return [Object.keys(v), v.then]`,
			`[["then","__proto__"],1]`},
		{"awaiting codemode itself", "return String(await codemode === codemode) + typeof codemode.then", `"trueundefined"`},
		{"a timer", "const t = performance.now(); await new Promise(r => setTimeout(r, 20)); return performance.now() - t >= 20", "true"},
		{"timers in order", "const out = []; setTimeout(() => out.push(2), 10); setTimeout(x => out.push(x), 5, 1); const i = setInterval(() => out.push(0), 1000); clearInterval(i); await new Promise(r => setTimeout(r, 20)); return out", "[1,2]"},
		{"the clock moves in a busy loop", "const t = Date.now(); while (Date.now() - t < 20); return true", "true"},
		{"a calls b", "return (await codemode.a__echo([await codemode.a__echo(1)]))[0]", "1"},
		{"microtasks", "return new Promise(r => queueMicrotask(() => r(4)))", "4"},
		{"a comment at the end", "return 1 // done", "1"},
		{"use strict", "'use strict'; return (function () { return typeof this })()", `"undefined"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := testEngine(t).Run(t.Context(), Program{Source: test.source, Input: json.RawMessage(`{"x":7}`),
				Limits: limits}, echo)
			if err != nil {
				t.Fatal(err)
			}
			if string(r.Value) != test.want {
				t.Errorf("got %s, want %s", r.Value, test.want)
			}
		})
	}
}

// A program, how it ends, and a part of the message.
func TestEndings(t *testing.T) {
	for _, test := range []struct {
		name, source string
		kind         Kind
		message      string
		line, column int
	}{
		{"an error", "\n  throw new TypeError('bad')", Threw, "TypeError: bad", 2, 13},
		{"an error in a function", "function f() {\n  null.x\n}\nf()", Threw, "cannot read property 'x' of null", 2, 8},
		{"something else than an error", "throw 42", Threw, `the program threw 42, which`, 1, 7},
		{"null", "throw null", Threw, `threw null, which`, 1, 7},
		{"a symbol", "throw Symbol('s')", Threw, "not an Error", 0, 0},
		{"a hostile error", "throw new Proxy({}, {get() { throw 1 }})", Threw, "", 0, 0},
		{"a fake timeout", "throw new Error('timed out: the program computed longer than 1s')", Threw, "", 1, 16},
		{"a call that failed", "\nawait codemode.a__fail()", Threw, "Error: it did not work", 2, 24},
		{"a denied call", "await codemode.a__deny({})", Threw, "ToolCallDeniedError: no", 1, 24},
		{"a host that panics", "await codemode.a__panic({})", Threw, "the host failed", 1, 25},
		{"a BigInt in a result", "return {a: [{b: 1n}]}", Threw, "result.a[0].b is a BigInt", 0, 0},
		{"a BigInt that a number can hold", "await codemode.a__echo([-9007199254740991n])", Threw, "argument[0] is a BigInt",
			0, 0},
		{"a function in arguments", "await codemode.a__echo({a: {f() {}}})", Threw, "argument.a.f is a function", 0, 0},
		{"a name that is half a character", "await codemode.a__echo({x: {'\\ud800': 1}})", Threw,
			"has a name that is not valid Unicode", 0, 0},
		{"a cycle", "const o = {}; o.o = [o]; return o", Threw, "result.o[0] is a cycle", 0, 0},
		{"a symbol in arguments", "await codemode.a__echo([Symbol()])", Threw, "argument[0] is a symbol", 0, 0},
		{"a deep result", "let o = {}; for (let i = 0; i < 300; i++) o = {o}; return o", Threw, "nested too deeply", 0, 0},
		{"a syntax error", "return 1 +", Refused, "SyntaxError", 2, 1},
		{"a body that closes itself", "return 1; }; evil(); async () => {", Refused, "closes the function", 0, 0},
		{"a body that closes itself and a parenthesis", "return 1; }); evil(); (async () => {", Refused, "SyntaxError", 0, 0},
		{"a body that opens another function", "return 1 }, async function () {", Refused, "closes the function", 0, 0},
		{"an open comment", "return 1 /*", Refused, "SyntaxError", 0, 0},
		{"an open template", "return `", Refused, "SyntaxError", 0, 0},
		{"a loop", "while (true) {}", TimedOut, "computed longer than 300ms", 0, 0},
		{"a loop that catches", "for (;;) try { for (;;); } finally { continue }", TimedOut, "", 0, 0},
		{"a native loop", "new Array(2**32-1).join('')", TimedOut, "", 0, 0},
		{"copying for ever", "const a = new Uint8Array(15e6); while (true) a.copyWithin(0, 1)", TimedOut, "", 0, 0},
		{"filling for ever", "const a = new Uint8Array(25e6); while (true) a.fill(1)", TimedOut, "", 0, 0},
		{"a regular expression", "/(a+)+$/.test('a'.repeat(40) + 'b')", TimedOut, "", 0, 0},
		{"microtasks for ever", "const f = () => Promise.resolve().then(f); await f(); await new Promise(() => {})", TimedOut,
			"", 0, 0},
		{"interrupt swallowed by prepareStackTrace",
			"Error.prepareStackTrace = () => { for (;;); }; for (;;) try { new Error().stack } catch {}", TimedOut, "", 0, 0},
		{"a looping toJSON in the result", "return {toJSON() { for (;;); }}", TimedOut, "", 0, 0},
		{"too much memory", "const a = []; while (true) a.push(new Array(1000).fill(1))", OutOfMemory, "64 MiB", 0, 0},
		{"a gibibyte at once", "return new Uint8Array(2 ** 30).length", OutOfMemory, "64 MiB", 0, 0},
		{"text that doubles", "let s = 'x'; while (true) s += s", Threw, "", 0, 0},
		{"deep recursion", "function f() { return f() + 1 } f()", Threw, "RangeError: Maximum call stack size exceeded", 1,
			23},
		{"nothing can settle it", "await new Promise(() => {})", Abandoned, "nothing can settle", 0, 0},
		{"a large result", "return 'x'.repeat(100000)", TooMuchOutput, "65536", 0, 0},
		{"an argument that is too large", "await codemode.a__echo('x'.repeat(2 ** 21))", Threw, "larger than 1048576 bytes",
			1, 22},
		{"too many calls", "for (let i = 0; i < 1100; i++) await codemode.a__echo(i)", TooManyCalls, "more than 1000 calls",
			1, 54},
		{"an error of its own after too many calls", "try { for (;;) await codemode.a__echo(1) } catch {}\nnull.x", Threw,
			"TypeError: cannot read property 'x' of null", 2, 6},
		{"a value after too many calls", "try { for (;;) await codemode.a__echo(1) } catch {}\nthrow 'mine'", Threw,
			`threw "mine"`, 2, 7},
		{"codemode cannot be changed", "'use strict'; codemode.x = 1", Threw, "read-only", 0, 0},
		{"codemode is not a function", "codemode()", Threw, "codemode.<server>__<tool>", 0, 0},
		{"no modules", "await import('fs')", Threw, "", 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			limits := limits
			if test.kind == TimedOut {
				limits = brief
			}
			_, err := testEngine(t).Run(t.Context(), Program{Source: test.source, Limits: limits}, echo)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got error %v, want an *Error", err)
			}
			if e.Kind != test.kind || !strings.Contains(e.Error(), test.message) {
				t.Errorf("got %v: %v; want %v: ...%s...", e.Kind, e, test.kind, test.message)
			}
			if test.line != 0 && e.Pos.Line != test.line {
				t.Errorf("got position %v, want line %d column %d; stack:\n%s", e.Pos, test.line, test.column, e.Stack)
			}
			if strings.Contains(e.Stack, "codemode:bootstrap") || strings.Contains(e.Error()+e.Stack, "/") &&
				strings.Contains(e.Stack, ".go") {
				t.Errorf("the stack shows what is not the program's:\n%s", e.Stack)
			}
			if r, err := run(t, "return 1"); err != nil || string(r.Value) != "1" {
				t.Errorf("afterwards return 1 gave %s, %v", r.Value, err)
			}
		})
	}
}

// To find out where the program was, the guest walks a table of a hundred thousand
// places, and reports in while it does.
func TestStoppedFarDownALongFunction(t *testing.T) {
	source := `(0, eval)("(function (a) {" + "a.size;".repeat(100000) + "for (;;); })")(new Map())`
	_, err := testEngine(t).Run(t.Context(), Program{Source: source, Limits: Limits{CPU: 300 * time.Millisecond}}, echo)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of its time", err)
	}
}

func TestErrorsStandForContextErrors(t *testing.T) {
	if _, err := testEngine(t).Run(t.Context(), Program{Source: "for (;;);", Limits: brief}, echo); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("a time-out is not context.DeadlineExceeded: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the client has gone")
	time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
	for _, source := range []string{"for (;;);", "await codemode.a__hang()",
		"await new Promise(r => setTimeout(r, 1e6))"} {
		_, err := testEngine(t).Run(ctx, Program{Source: source}, echo)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
			t.Errorf("%s: got %v, want it canceled because the client has gone", source, err)
		}
	}
}

func TestDeniedCallsCanBeCaught(t *testing.T) {
	r, err := run(t, `try { await codemode.a__deny() } catch (e) {
		return [e instanceof ToolCallDeniedError, e instanceof Error, e.name, e.message, e.toolName, e.reason, e.retryable]
	}`)
	if want := `[true,true,"ToolCallDeniedError","no","a__deny","denied",false]`; err != nil || string(r.Value) != want {
		t.Errorf("got %s, %v; want %s", r.Value, err, want)
	}
}

func TestTheHostsErrorIsKnownWhateverTheProgramDoesToIt(t *testing.T) {
	for _, test := range []struct {
		source string
		call   int
	}{
		{"await codemode.a__deny()", 1},
		{"await codemode.a__echo(); try { await codemode.a__deny() } catch (e) { e.name = 'Other'; Object.setPrototypeOf(e, null); throw e }", 2},
		{"try { await codemode.a__deny() } catch (e) { throw new ToolCallDeniedError(e.message, e) }", 0},
		{"throw new ToolCallDeniedError('no', {toolName: 'a__deny', reason: 'denied'})", 0},
	} {
		var e *Error
		if _, err := run(t, test.source); !errors.As(err, &e) || e.Call != test.call {
			t.Errorf("%s: got %+v, want call %d", test.source, err, test.call)
		}
	}
}

func TestEveryTextIsUnicode(t *testing.T) {
	var name string
	host := func(ctx context.Context, c *Call) (json.RawMessage, error) { name = c.Name; return c.Args, nil }
	r, err := testEngine(t).Run(t.Context(),
		Program{Source: "console.log('a\\ud800b'); await codemode['x\\udc00y'](); throw new Error('\\ud800' + 'é'.repeat(9000))"}, host)
	if name != "x\uFFFDy" || len(r.Console) != 1 || r.Console[0].Text != "a\uFFFDb" || !utf8.ValidString(err.Error()) {
		t.Errorf("got name %q, console %q, error %.40q", name, r.Console, err)
	}
}

func TestConsole(t *testing.T) {
	r, err := run(t, "console.log('a', {b: [1]}); console.error('e'); console.warn('x'.repeat(5000))")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range r.Console {
		got = append(got, l.Level+": "+l.Text)
	}
	if len(got) < 3 || got[0] != "log: a { b: [ 1 ] }" || got[1] != "error: e" || !strings.HasPrefix(got[2], "warn: xxx") {
		t.Errorf("got console %q", got)
	}
	if r.ConsoleDropped < 3900 {
		t.Errorf("%d bytes are said to be dropped, want about 4,000", r.ConsoleDropped)
	}
	// What was printed before a time-out is not lost.
	if r, _ = testEngine(t).Run(t.Context(), Program{Source: "console.log('before'); for (;;);", Limits: brief},
		echo); len(r.Console) != 1 || r.Console[0].Text != "before" {
		t.Errorf("got console %q after a time-out", r.Console)
	}
}

// To tell the errors that did not end the run nothing of the program's runs: it has its result.
func TestTellingOtherErrorsRunsNothing(t *testing.T) {
	for _, tt := range []struct{ reason, want string }{
		{"{get name() { for (;;); }, message: 'plain'}", "{ name: [Getter], message: 'plain' }"},
		{"{name: 'N', get message() { for (;;); }}", "{ name: 'N', message: [Getter] }"},
		{"{message: {toString() { for (;;); }}}", "{ message: { toString: [Function: toString] } }"},
		{"new Proxy({}, {get() { for (;;); }, getPrototypeOf() { for (;;); }, getOwnPropertyDescriptor() { for (;;); }})",
			"[Proxy]"},
		{"Object.create(new Proxy({}, {get() { for (;;); }}))", "{}"},
		{"Object.assign(new RangeError('far'), {[Symbol.toPrimitive]() { for (;;); }})",
			"RangeError: far { [Symbol(Symbol.toPrimitive)]: [Function: [Symbol.toPrimitive]] }"},
		{"Object.setPrototypeOf(['a'], {message: 'inherited'})", "Object(1) [ 'a' ]"},
		{"'text'", "text"}, {"12n", "12n"},
		{"undefined", "undefined"}, {"null", "null"},
		{"Symbol('s')", "Symbol(s)"},
	} {
		_, err := run(t, "Promise.reject("+tt.reason+"); throw new Error('first')")
		var e *Error
		if !errors.As(err, &e) || e.Message != "first" || len(e.Others) != 1 || e.Others[0].Error() != tt.want {
			t.Errorf("%s: got %+v, want also %q", tt.reason, e, tt.want)
		}
	}
}

// codemode.x is the same object each time, of the first 4,096 that are asked for.
func TestToolsKeepTheirIdentity(t *testing.T) {
	r, err := run(t, `
const names = Array.from({length: 3000}, (_, i) => 's__t' + i), tools = names.map(n => codemode[n]);
for (let i = 0; i < 20000; i++) codemode['other__' + i];
return [tools.every((x, i) => x === codemode[names[i]]), new Set(tools).size, codemode.s__t1 === codemode.s__t2]`)
	if err != nil || string(r.Value) != "[true,3000,false]" {
		t.Errorf("got %s, %v", r.Value, err)
	}
}

// Each pair is run in this order by one engine with one idle guest; the second
// must not see what the first left.
func TestNothingIsLeftBehind(t *testing.T) {
	e, err := New(t.Context(), Options{CacheDir: cachetest.Dir(), Idle: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	for _, test := range []struct{ name, plant, look, want string }{
		{"a global", "globalThis.left = 1", "return typeof left", `"undefined"`},
		{"a prototype", "Object.prototype.left = 1; Array.prototype.map = null", "return [typeof ({}).left, typeof [].map]",
			`["undefined","function"]`},
		{"a replaced intrinsic", "JSON.stringify = Promise.prototype.then = () => 'x'",
			"return Promise.resolve(JSON.stringify({a: 1}))", `"{\"a\":1}"`},
		{"a timer", "setInterval(() => {}, 1)", "await new Promise(r => setTimeout(r, 5)); return 1", "1"},
		{"a pending call", "codemode.a__hang()", "return codemode.a__echo(2)", "2"},
		{"a console counter", "console.count(); console.group()", "console.count(); return 1", "1"},
		{"a time-out", "globalThis.left = 1; for (;;);", "return typeof left", `"undefined"`},
		{"out of memory", "globalThis.left = []; for (;;) left.push(new Array(1000).fill(0))", "return typeof left",
			`"undefined"`},
		{"a symbol in the registry", "Symbol.for('left').description; globalThis[Symbol.for('left')] = 1",
			"return typeof globalThis[Symbol.for('left')]", `"undefined"`},
		{"the last match of a regular expression", "/(l)eft/.exec('left')", "return RegExp.$1 === 'l'", "false"},
	} {
		t.Run(test.name, func(t *testing.T) {
			plant := Program{Source: test.plant, Limits: brief}
			if test.name == "a pending call" {
				plant.Limits.Wall = 300 * time.Millisecond // the run waits for the call until then
			}
			for range 2 {
				_, _ = e.Run(t.Context(), plant, echo)
				r, err := e.Run(t.Context(), Program{Source: test.look, Limits: limits}, echo)
				if err != nil || string(r.Value) != test.want {
					t.Errorf("got %s, %v; want %s", r.Value, err, test.want)
				}
			}
		})
	}
	t.Run("memory equals the snapshot", func(t *testing.T) {
		_, err := e.Run(t.Context(),
			Program{Source: "globalThis.secret = 'canary'.repeat(5000); function f(n) { return n ? f(n - 1) : secret.length } return f(500)"}, echo)
		if err != nil {
			t.Fatal(err)
		}
		g, err := e.get(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < g.mem.Size; at += hostPage {
			if e.snapshot.Differs(g.mem.Bytes, at) {
				t.Fatalf("the page at %#x differs from the snapshot", at)
			}
		}
		e.put(g)
	})
	t.Run("randomness", func(t *testing.T) {
		seen := map[string]bool{}
		for range 1000 {
			r, err := e.Run(t.Context(), Program{Source: "return [Math.random(), crypto.randomUUID()]"}, echo)
			if err != nil || seen[string(r.Value)] {
				t.Fatalf("got %s, %v, which was seen before or failed", r.Value, err)
			}
			seen[string(r.Value)] = true
		}
	})
}

func TestCallsRunInParallelUpToTheLimit(t *testing.T) {
	var now, most atomic.Int32
	host := func(ctx context.Context, c *Call) (json.RawMessage, error) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		time.Sleep(5 * time.Millisecond) // a server that takes so long
		return c.Args, nil
	}
	r, err := testEngine(t).Run(t.Context(),
		Program{Source: "return (await Promise.all(Array.from({length: 40}, (_, i) => codemode.a__b(i)))).length",
			Limits: Limits{InFlight: 8}}, host)
	if err != nil || string(r.Value) != "40" {
		t.Fatalf("got %s, %v", r.Value, err)
	}
	if n := most.Load(); n != 8 {
		t.Errorf("%d calls were with the host at once, want 8", n)
	}
}

func TestAPausedCallStopsTheWallClock(t *testing.T) {
	host := func(ctx context.Context, c *Call) (json.RawMessage, error) {
		defer c.Pause()()
		time.Sleep(300 * time.Millisecond) // a person who takes longer than the program may
		return c.Args, nil
	}
	p := Program{Source: "return codemode.a__b(1)", Limits: Limits{Wall: 100 * time.Millisecond}}
	if r, err := testEngine(t).Run(t.Context(), p, host); err != nil || string(r.Value) != "1" {
		t.Errorf("got %s, %v; want 1: a person's time does not count", r.Value, err)
	}
	if _, err := testEngine(t).Run(t.Context(), Program{Source: "await codemode.a__hang()", Limits: p.Limits},
		echo); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v; want a time-out", err)
	}
}

// A runaway on every processor and more: others still get their turn.
func TestRunawaysDoNotStopOthers(t *testing.T) {
	e := testEngine(t)
	ctx, cancel := context.WithCancel(t.Context())
	var runaways sync.WaitGroup
	for i := range 4 {
		source := []string{"for (;;);", "new Array(2**32-1).join('')", "const a = new Uint8Array(15e6); for (;;) a.fill(1)",
			"/(a+)+$/.test('a'.repeat(40) + 'b')"}[i]
		runaways.Go(func() { _, _ = e.Run(ctx, Program{Source: source, Limits: Limits{CPU: time.Minute}}, echo) })
	}
	for range 20 {
		if r, err := run(t, "return 1"); err != nil || string(r.Value) != "1" {
			t.Errorf("got %s, %v", r.Value, err)
		}
	}
	cancel()
	runaways.Wait()
}

func TestManyAtOnce(t *testing.T) {
	var g sync.WaitGroup
	for i := range 64 {
		g.Go(func() {
			r, err := run(t, fmt.Sprintf("const mine = new Array(1000).fill(%d); await codemode.a__sleep(5); return mine.every(x => x === %d)", i, i))
			if err != nil || string(r.Value) != "true" {
				t.Errorf("run %d got %s, %v", i, r.Value, err)
			}
		})
	}
	g.Wait()
}

func TestClose(t *testing.T) {
	e, err := New(t.Context(), Options{CacheDir: cachetest.Dir()})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := e.Run(t.Context(), Program{Source: "return 1"}, echo); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := New(t.Context(), Options{Wasm: []byte("\x00asm\x01\x00\x00\x00")}); err == nil {
		t.Error("an engine was made of an empty module")
	}
}

// JSON.stringify has a quick way for plain data. Whatever a program does to
// what it relies on, the result is the engine's own, which the second form gives.
func TestStringifyQuickAndSlowAgree(t *testing.T) {
	for _, value := range []string{
		"{}", "[]", "[[], {}, [[]]]", "{a: 1, b: 'x', c: null, d: true, e: false, f: 1.5, g: -0, h: NaN, i: 1e21}",
		"{a: undefined, b: () => 1, c: Symbol()}",
		"[undefined, () => 1, Symbol(), , 3]", "{2: 'b', 1: 'a', x: 1, 0: 'z', '-1': 1, '01': 2, 4294967295: 3}",
		`{'"\\\\\n\u0001': "\b\f\r\t\u001f\u007f\u0080é"}`,
		"['é', 'ÿ', 'Ā', '😀', '\\ud800']", "new Date(0)", "[new Date(0)]",
		"Object.create({a: 1}, {b: {value: 2, enumerable: true}, c: {value: 3}})", "Object.create(null)",
		"{get a() { return 1 }}", "{toJSON() { return 7 }}", "[{toJSON: 1}]", "Object.assign([1, 2], {toJSON: () => 9})",
		"Object.assign([1, 2], {x: 3})", "new Proxy({a: 1}, {})", "new Proxy([1], {})",
		"[Object(1), Object('s'), Object(false)]", "new Map([[1, 2]])", "new Uint8Array(2)",
		"new (class P { x = 1; #y = 2; get z() { return 3 } })", "'x'.repeat(50) + Math.random().toString().slice(0, 0)",
		"['abc'.slice(1), 'abcdefghijklmnopqrstuvwxyz'.repeat(20).slice(3, 300), 'a'.repeat(300) + 'b'.repeat(300)]",
		"(() => { const a = [1, 2, 3]; delete a[1]; return a })()",
		"(() => { const o = {a: 1, b: 2}; delete o.a; o.a = 3; return o })()",
		"(() => { let o = {}; for (let i = 0; i < 400; i++) o = {o}; return o })()",
		"(() => { const a = [1]; a.length = 3; return a })()", "Object.freeze({a: [1]})",
		"(function () { return arguments })(1, 2)", "/x/g", "new Error('e')",
		"Object.defineProperty([1, 2], '1', {get() { return 5 }})", "[1, 2, 3].map(x => ({x, s: 'n' + x}))",
		"globalThis.JSON", "Math", "[new Number(3), Object(1n) instanceof BigInt]",
	} {
		for _, before := range []string{"", "Object.prototype.toJSON = function () { return 'patched' };",
			"Array.prototype.toJSON = () => 'patched';", "Object.prototype.x = 1;",
			"Object.setPrototypeOf(Array.prototype, {toJSON: () => 'deep'});", "String.prototype.toJSON = () => 's';"} {
			r, err := run(t, before+"const v = () => ("+value+"); return JSON.stringify(v()) === JSON.stringify(v(), (k, x) => x) ? 1 : 0")
			if err != nil || string(r.Value) != "1" {
				t.Errorf("%s%s: got %s, %v", before, value, r.Value, err)
			}
		}
	}
}
