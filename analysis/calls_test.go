package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sees compiles a text and returns what was seen in it, a line for each: place
// and length, name, how, and the arguments if they are known; dynamic places last.
func sees(t *testing.T, text string) string {
	t.Helper()
	p, problems := Compile("", text)
	if len(problems) > 0 {
		t.Fatalf("%s\n%v", text, problems)
	}
	var b strings.Builder
	for _, c := range p.Calls {
		name := c.Name
		if c.Host {
			name = "host " + name
		}
		fmt.Fprintf(&b, "%d:%d+%d %s %s", c.Line, c.Column, c.Length, name, c.How)
		if c.Args != nil {
			fmt.Fprintf(&b, " %s", c.Args)
		}
		b.WriteByte('\n')
	}
	for _, d := range p.Dynamic {
		fmt.Fprintf(&b, "%d:%d dynamic\n", d.Line, d.Column)
	}
	return b.String()
}

func lines(s ...string) string {
	if len(s) == 0 {
		return ""
	}
	return strings.Join(s, "\n") + "\n"
}

func TestCallsThatCanBeSeen(t *testing.T) {
	for _, test := range []struct {
		name string
		text string
		want string
	}{
		{"a member", `return codemode.a__b(x)`, lines("1:8+13 a__b member")},
		{"a member with an awaited call", `const r = await codemode.a__b(x); return r`, lines("1:17+13 a__b member")},
		{"spaces and lines in a member", "await codemode . a__b (x)", lines("1:7+15 a__b member")},
		{"a member on the next line", "return codemode\n  .a__b(x)", lines("1:8+8 a__b member")},
		{"a string", `return codemode["a__b"](x)`, lines("1:8+16 a__b computed")},
		{"a template", "return codemode[`a__b`](x)", lines("1:8+16 a__b computed")},
		{"a folded string", `return codemode["a__" + "b"](x)`, lines("1:8+21 a__b computed")},
		{"a string of three pieces", `return codemode["a" + ("__" + "b")](x)`, lines("1:8+28 a__b computed")},
		{"an escaped name", `return codemode.a_\u005fb(x)`, lines("1:8+18 a__b member")},
		{"an escaped string", `return codemode["a\x5f_b"](x)`, lines("1:8+19 a__b computed")},
		{"a name that is no word", `return codemode["my-server__my.tool"](x)`, lines("1:8+30 my-server__my.tool computed")},
		{"a constant", "const k = 'a__b'; return codemode[k](x)", lines("1:26+11 a__b computed")},
		{"a constant of constants", "const s = 'a', k = `${s}__${'b'}`; return codemode[k](x)",
			lines("1:43+11 a__b computed")},
		{"a let that never changes", "let k = 'a__b'; return codemode[k](x)", lines("1:24+11 a__b computed")},
		{"a constant of an object", "const T = {read: 'a__b'}; return codemode[T.read](x)", lines("1:34+16 a__b computed")},
		{"a constant of an object by index", "const T = {'r d': 'a__b'}; return codemode[T['r d']](x)",
			lines("1:35+18 a__b computed")},
		{"a member of an enum", "enum T { Read = 'a__b' }\nreturn codemode[T.Read](x)", lines("2:8+16 a__b computed")},
		{"a server and its tool", `return codemode.fs.read(x)`, lines("1:8+16 fs__read server")},
		{"a server and its tool as strings", `return codemode["fs"]["read"](x)`, lines("1:8+22 fs__read computed")},
		{"a destructured tool", "const {a__b} = codemode\nreturn a__b(x)", lines("2:8+4 a__b destructured")},
		{"a destructured tool that nobody calls", "const {a__b} = codemode\nreturn 1", lines("1:8+4 a__b value")},
		{"a destructured and renamed tool", "const {a__b: f} = codemode\nreturn f(x)", lines("2:8+1 a__b destructured")},
		{"a destructured and renamed tool that nobody calls", "const {a__b: f} = codemode\nreturn 1",
			lines("1:8+4 a__b value")},
		{"a destructured tool with a default", "const {a__b = null} = codemode\nreturn a__b(x)",
			lines("2:8+4 a__b destructured")},
		{"a destructured tool by string", "const {['a__' + 'b']: f} = codemode; return f(x)",
			lines("1:45+1 a__b destructured")},
		{"a tool of a destructured server", "const {fs} = codemode; return fs.read(x)", lines("1:31+7 fs__read server")},
		{"a tool destructured from a server", "const {fs: {read}} = codemode; return read(x)",
			lines("1:39+4 fs__read destructured")},
		{"a tool destructured from a variable", "const c = codemode; const {a__b} = c; return a__b(x)",
			lines("1:46+4 a__b destructured")},
		{"a tool destructured by an assignment", "let a__b; ({a__b} = codemode); return a__b(x)",
			lines("1:39+4 a__b destructured")},
		{"another name for codemode", "const c = codemode; return c.a__b(x)", lines("1:28+6 a__b member")},
		{"another name for a server", "const s = codemode.fs; return s.read(x)", lines("1:31+6 fs__read server")},
		{"another name for a tool", "const f = codemode.a__b; return f(x)", lines("1:33+1 a__b alias")},
		{"another name called twice", "const f = codemode.a__b; f(1); return f(2)",
			lines("1:26+1 a__b alias 1", "1:39+1 a__b alias 2")},
		{"another name for another name", "const f = codemode.a__b, g = f, h = g; return h(x)", lines("1:47+1 a__b alias")},
		{"another name that nobody uses", "const f = codemode.a__b; return 1", lines("1:11+13 a__b value")},
		{"a name given later", "let f; f = codemode.a__b; return f(x)", lines("1:34+1 a__b alias")},
		{"a name used before it is given", "const g = () => f(x); const f = codemode.a__b; return g()",
			lines("1:17+1 a__b alias")},
		{"a name that changes", "let f = codemode.a__b; f = other; return f(x)", lines("1:9+13 a__b value")},
		{"an optional call", "return codemode?.a__b?.(x)", lines("1:8+14 a__b member")},
		{"an optional index", "return codemode?.['a__b']?.(x)", lines("1:8+18 a__b computed")},
		{"a tool as a value", "return items.map(codemode.a__b)", lines("1:18+13 a__b value")},
		{"another name as a value", "const f = codemode.a__b; return items.map(f)", lines("1:43+1 a__b value")},
		{"a tool in an object", "const o = {read: codemode.a__b}; return o.read(x)", lines("1:18+13 a__b value")},
		{"a tool in an array", "return [codemode.a__b]", lines("1:9+13 a__b value")},
		{"a tool that is returned", "return codemode.a__b", lines("1:8+13 a__b value")},
		{"a tool that is the whole program", "codemode.a__b", lines("1:1+13 a__b value")},
		{"one of two tools", "const f = x ? codemode.a__b : codemode.c__d; return f()",
			lines("1:15+13 a__b value", "1:31+13 c__d value")},
		{"globalThis", "return globalThis.codemode.x__y(1)", lines("1:8+24 x__y member 1")},
		{"globalThis with a string", "return globalThis['codemode'].x__y(1)", lines("1:8+27 x__y member 1")},
		{"call", "return codemode.a__b.call(null, {x: 1})", lines(`1:8+13 a__b indirect {"x":1}`)},
		{"call on codemode", "return codemode.a__b.call(codemode, {x: 1})", lines(`1:8+13 a__b indirect {"x":1}`)},
		{"apply", "return codemode.a__b.apply(null, [1])", lines("1:8+13 a__b indirect")},
		{"bind", "const f = codemode.a__b.bind(codemode); return f(1)", lines("1:11+13 a__b indirect")},
		{"a tagged template", "return codemode.a__b`x`", lines("1:8+13 a__b member")},
		{"a call in a template", "return `n: ${await codemode.a__b(1)}`", lines("1:20+13 a__b member 1")},
		{"a call in a function", "const f = async () => { await codemode.a__b(1) }; await f()",
			lines("1:31+13 a__b member 1")},
		{"a call in an argument", "return codemode.a__b(await codemode.c__d(1))",
			lines("1:8+13 a__b member", "1:28+13 c__d member 1")},
		{"a call in a class", "class A { x = codemode.a__b(1); static { codemode.c__d(2) } m(y = codemode.e__f(3)) {} }\nreturn 1",
			lines("1:15+13 a__b member 1", "1:42+13 c__d member 2", "1:67+13 e__f member 3")},
		{"calls in all sorts of statements",
			"for (const x of await codemode.a__a(1)) {}\nif (codemode.b__b(1)) {} else codemode.c__c(1)\nswitch (codemode.d__d(1)) { case codemode.e__e(1): codemode.f__f(1) }\ntry { codemode.g__g(1) } catch { codemode.h__h(1) } finally { codemode.i__i(1) }\nwhile (codemode.j__j(1)) do codemode.k__k(1); while (0)\nl: throw codemode.m__m(1)",
			lines("1:23+13 a__a member 1", "2:5+13 b__b member 1", "2:31+13 c__c member 1", "3:9+13 d__d member 1",
				"3:34+13 e__e member 1", "3:52+13 f__f member 1", "4:7+13 g__g member 1", "4:34+13 h__h member 1",
				"4:63+13 i__i member 1", "5:8+13 j__j member 1", "5:29+13 k__k member 1", "6:10+13 m__m member 1")},
		{"a function of the host", "return search_tools('files')", ""},
		{"a function of the host on codemode", "return codemode.search_tools('files')",
			lines(`1:8+21 host search_tools member "files"`)},
		{"a function of the host by string", "return codemode['search_tools']('files')",
			lines(`1:8+24 host search_tools computed "files"`)},
		{"a typed call", "const r = await codemode.a__b<{x: number}>({x: 1} as any) as Foo; return r!",
			lines(`1:17+13 a__b member {"x":1}`)},
		{"a call in a namespace", "namespace N { export const f = () => codemode.a__b(1) }\nreturn N.f()",
			lines("1:38+13 a__b member 1")},
		{"a call behind text that is not ASCII", "const s = '😀é'; return codemode.a__b(s)",
			lines(`1:24+13 a__b member "😀é"`)},
		{"a call on a line of its own in a fence", "```js\nconst x = 1\n  return codemode.a__b(x)\n```",
			lines("3:10+13 a__b member 1")},

		{"a parameter named codemode", "return ((codemode) => codemode.a__b(1))({})", ""},
		{"a variable named codemode", "{ const codemode = {}; codemode.a__b(1) }\nreturn 1", ""},
		{"a function named codemode", "function f() { function codemode() {} codemode.a__b(1) }\nreturn f()", ""},
		{"a caught codemode", "try {} catch (codemode) { codemode.a__b(1) }\nreturn 1", ""},
		{"a destructured codemode", "const f = ({codemode}, [x]) => codemode.a__b(1); return f({}, [])", ""},
		{"a loop variable named codemode", "for (const codemode of []) codemode.a__b(1)\nreturn 1", ""},
		{"a var in an inner block", "return (() => { codemode.a__b(1); { var codemode } })()", ""},
		{"a class named codemode", "return (() => { class codemode { static a__b() {} } return codemode.a__b(1) })()", ""},
		{"a shadow beside the real one", "((codemode) => codemode.a__b(1))({}); return codemode.c__d(1)",
			lines("1:46+13 c__d member 1")},
		{"a shadow that ends with its block", "{ let codemode = 1 } return codemode.c__d(1)", lines("1:29+13 c__d member 1")},
		{"a member named codemode", "return {codemode: 1}.codemode.a__b", lines("1:22 dynamic")},
		{"the name in a string", "return 'codemode.a__b(1)'", ""},
		{"the name in a comment", "// codemode.a__b(1)\nreturn 1 /* codemode.a__b(1) */", ""},
		{"looking whether a tool is there", "return 'a__b' in codemode && typeof codemode === 'object' && !codemode", ""},
		{"a promise's member", "return codemode.then", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, sees(t, test.text)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", test.text, diff)
			}
		})
	}
}

func TestDynamicUse(t *testing.T) {
	for _, test := range []struct {
		name string
		text string
		want string
	}{
		{"an unknown member", "return codemode[x](1)", lines("1:8 dynamic")},
		{"an unknown tool of a server", "return codemode.fs[x](1)", lines("1:8 dynamic")},
		{"a constant that changes", "let k = 'a__b'; k += x; return codemode[k](1)", lines("1:32 dynamic")},
		{"an object that may have changed", "const T = {read: 'a__b'}; f(T); return codemode[T.read](1)",
			lines("1:40 dynamic")},
		{"an object that was changed", "const T = {read: 'a__b'}; T.read = 'c__d'; return codemode[T.read](1)",
			lines("1:51 dynamic")},
		{"a loop over names", "for (const k of ['a__b']) await codemode[k](1)\nreturn 1", lines("1:33 dynamic")},
		{"codemode handed on", "return f(codemode)", lines("1:10 dynamic")},
		{"another name handed on", "const c = codemode; return f(c)", lines("1:30 dynamic")},
		{"codemode in an object", "return f({codemode})", lines("1:11 dynamic")},
		{"codemode spread", "return {...codemode}", lines("1:12 dynamic")},
		{"the rest of codemode", "const {a__b, ...rest} = codemode; return rest", lines("1:8+4 a__b value", "1:25 dynamic")},
		{"a computed pattern", "const {[k]: f} = codemode; return f()", lines("1:18 dynamic")},
		{"the keys of codemode", "return Object.keys(codemode)", lines("1:20 dynamic")},
		{"a loop over codemode", "for (const k in codemode) {}\nreturn 1", lines("1:17 dynamic")},
		{"Reflect", "return Reflect.get(codemode, 'a__b')", lines("1:20 dynamic")},
		{"codemode returned", "return codemode", lines("1:8 dynamic")},
		{"codemode in a variable that changes", "let c = codemode; c = null; return c", lines("1:9 dynamic")},
		{"codemode as a default", "return ((c = codemode) => c.a__b())()", lines("1:14 dynamic")},
		{"a server handed on", "return f(codemode.fs)", lines("1:10+11 host fs value", "1:10 dynamic")},
		{"with", "with (codemode) { a__b(1) }\nreturn 1", lines("1:7 dynamic")},
		{"eval", "return eval('codemode.a__b()')", lines("1:8 dynamic")},
		{"eval by another name", "const e = eval; return e('1')", lines("1:24 dynamic")},
		{"new Function", "return new Function('return codemode')()", lines("1:12 dynamic")},
		{"Function", "return Function('return codemode')()", lines("1:8 dynamic")},
		{"a constructor of functions", "return (() => {}).constructor('return codemode')()", lines("1:19 dynamic")},
		{"globalThis with an unknown member", "return globalThis[x]", lines("1:8 dynamic")},
		{"globalThis handed on", "return Object.keys(globalThis)", lines("1:20 dynamic")},
		{"this", "return this.codemode.a__b(1)", lines("1:13 dynamic")},
		{"a shadowed eval", "const f = (eval) => eval('1'); return f(String)", ""},
		{"the same place twice", "return codemode[codemode[x]]", lines("1:8 dynamic", "1:17 dynamic")},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, sees(t, test.text)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", test.text, diff)
			}
		})
	}
}

func TestArguments(t *testing.T) {
	for _, test := range []struct {
		name string
		args string // of the call
		want string // "" if they cannot be known
	}{
		{"none", ``, `null`},
		{"undefined", `undefined`, `null`},
		{"null", `null`, `null`},
		{"booleans", `[true, false]`, `[true,false]`},
		{"an object", `{path: "a/b", "n": 1, list: [1, "two", {three: null}]}`,
			`{"path":"a/b","n":1,"list":[1,"two",{"three":null}]}`},
		{"an empty object", `{}`, `{}`},
		{"numbers", `[0, -0, 1.50, -2, 0x1f, 1_000, 1e21, 1e-7, 123456789012345680000, 12345678901234567890, .5, 5., 0.1]`,
			`[0,0,1.5,-2,31,1000,1e+21,1e-7,123456789012345680000,12345678901234567000,0.5,5,0.1]`},
		{"a number that is too large", `[1e400, -1e400]`, `[null,null]`},
		{"the largest whole number", `9007199254740993`, `9007199254740992`},
		{"a signed number", `+1`, `1`},
		{"a string with escapes", `"\x41\u{1f600}\n\t\"\\\0<&>\u2028"`, "\"A😀\\n\\t\\\"\\\\\\u0000<&>\u2028\""},
		{"a string with a backslash in front of u", `"\\u2028"`, `"\\u2028"`},
		{"a template", "`a${'b'}c`", `"abc"`},
		{"a template over two lines", "`a\n b`", `"a\n b"`},
		{"text added up", `"a" + "b" + "c"`, `"abc"`},
		{"a quoted key", `{"a b": 1}`, `{"a b":1}`},
		{"a computed key", `{["a" + "b"]: 1}`, `{"ab":1}`},
		{"keys that are numbers come first", `{b: 1, 2: 2, a: 3, 1: 4, "01": 5, 0x10: 6}`,
			`{"1":4,"2":2,"16":6,"b":1,"a":3,"01":5}`},
		{"the last of a key counts", `{a: 1, b: 2, a: 3}`, `{"a":3,"b":2}`},
		{"undefined members are left out", `{a: undefined, b: void 0, c: [undefined]}`, `{"c":[null]}`},
		{"holes", `[1, , 2]`, `[1,null,2]`},
		{"a constant", `{path: known}`, `{"path":"p"}`},
		{"a shorthand constant", `{known}`, `{"known":"p"}`},
		{"a constant number", `number`, `7`},
		{"a constant object", `{o: object}`, `{"o":{"a":[1]}}`},
		{"a member of a constant object", `{o: table.x}`, `{"o":"y"}`},
		{"more arguments", `{a: 1}, unknown`, `{"a":1}`},
		{"a type assertion", `{a: 1} as Foo`, `{"a":1}`},

		{"a call", `{a: f()}`, ``},
		{"a name", `unknown`, ``},
		{"a spread object", `{...unknown}`, ``},
		{"a spread array", `[...unknown]`, ``},
		{"spread arguments", `...unknown`, ``},
		{"a sum", `1 + 2`, ``},
		{"a function", `{f() {}}`, ``},
		{"a getter", `{get a() { return 1 }}`, ``},
		{"an arrow function", `() => 1`, ``},
		{"a BigInt", `1n`, ``},
		{"a regular expression", `/a/`, ``},
		{"a prototype", `{__proto__: {a: 1}}`, ``},
		{"half a character", `"\ud800"`, ``},
		{"a changed object", `changed`, ``},
		{"a handed on object", `lent`, ``},
		{"a template with a value", "`${unknown}`", ``},
		{"an unknown key", `{[unknown]: 1}`, ``},
		{"a class", `class {}`, ``},
		{"itself", `self`, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, problems := Compile("",
				"const known = 'p', number = 7, object = {a: [1]}, table = {x: 'y'}, changed = {a: 1}, lent = {a: 1}, self = {self};\n"+
					"changed.a = 2; f(lent);\nawait codemode.a__b("+test.args+"); return 1")
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if len(p.Calls) != 1 {
				t.Fatalf("got %d calls, want 1", len(p.Calls))
			}
			if got := string(p.Calls[0].Args); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// What may be made more than once is marked, so that a plan does not count it as one call.
func TestCallsThatRepeat(t *testing.T) {
	for _, tt := range []struct {
		why, program string
		want         []bool
	}{
		{"one after the other", "await codemode.a__b({}); return codemode.a__c({})", []bool{false, false}},
		{"in branches", "if (input) { await codemode.a__b({}) } else { try { await codemode.a__c({}) } catch { await codemode.a__d({}) } }", []bool{false, false, false}},
		{"in a loop over a list", "for (const x of await codemode.a__list({})) await codemode.a__b({x})",
			[]bool{false, true}},
		{"in the parts of a loop", "for (let x = await codemode.a__b({}); await codemode.a__c({x}); ) {}",
			[]bool{false, true}},
		{"in while", "while (await codemode.a__b({})) { await codemode.a__c({}) } return codemode.a__d({})",
			[]bool{true, true, false}},
		{"in a function", "const f = async x => codemode.a__b({x}); await f(1); return codemode.a__c({})",
			[]bool{true, false}},
		{"in a callback", "return await Promise.all([1, 2].map(x => codemode.a__b({x})))", []bool{true}},
		{"in a method", "class C { m() { return codemode.a__b({}) } } return codemode.a__c({})", []bool{true, false}},
		{"passed on", "return [1, 2].map(codemode.a__b)", []bool{true}},
		{"in a program that is a function", "async () => { await codemode.a__b({}); for (;;) await codemode.a__c({}) }",
			[]bool{false, true}},
		{"in a function that is called at once",
			"(async () => { await codemode.a__b({}); return () => codemode.a__c({}) })()", []bool{false, true}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			p, problems := Compile("p.ts", tt.program)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var got []bool
			for _, c := range p.Calls {
				got = append(got, c.Repeats)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Where a call may still come is told apart from where all of its calls are there at once, or over: a plan offers
// what can come.
func TestCallsThatCanStillCome(t *testing.T) {
	for _, tt := range []struct {
		why, program string
		times        []Times
		stages       []int
	}{
		{"one after the other", "await codemode.a__b({}); return codemode.a__c({})", []Times{Once, Once}, []int{1, 2}},
		{"an argument comes first", "await codemode.a__b({x: await codemode.a__c({})})", []Times{Once, Once}, []int{2, 1}},
		{"an awaited loop", "for (const x of await codemode.a__list({})) await codemode.a__b({x}); await codemode.a__c({})",
			[]Times{Once, Often, Once}, []int{1, 2, 3}},
		{"a loop that awaits nothing",
			"const all = []; for (const x of input) all.push(codemode.a__b({x})); await Promise.all(all)", []Times{Together},
			[]int{1}},
		{"a loop that awaits afterwards", "for (const x of input) { const p = codemode.a__b({x}); await p }", []Times{Often},
			[]int{1}},
		{"a loop over what comes", "for await (const x of input) codemode.a__b({x})", []Times{Often}, []int{1}},
		{"all at once", "await Promise.all(input.map(x => codemode.a__b({x}))); await codemode.a__c({})",
			[]Times{Together, Once}, []int{1, 2}},
		{"all at once, awaited inside",
			"await Promise.all(input.map(async x => { const r = await codemode.a__b({x}); return r }))", []Times{Together},
			[]int{1}},
		{"one after another of each",
			"await Promise.all(input.map(async x => { await codemode.a__b({x}); await codemode.a__c({x}) }))",
			[]Times{Together, Often}, []int{1, 0}},
		{"an argument that is awaited",
			"await Promise.all(input.map(async x => codemode.a__b({x: await codemode.a__c({x})})))", []Times{Often, Together},
			[]int{0, 1}},
		{"in chunks", "for (const c of input) await Promise.all(c.map(x => codemode.a__b({x})))", []Times{Often}, []int{1}},
		{"a callback within a callback", "await Promise.all(input.map(l => Promise.all(l.map(x => codemode.a__b({x})))))",
			[]Times{Together}, []int{1}},
		{"a loop within a callback",
			"await Promise.all(input.map(async l => { for (const x of l) await codemode.a__b({x}) }))", []Times{Often},
			[]int{1}},
		{"Array.from", "await Promise.all(Array.from({length: 3}, (_, i) => codemode.a__b({i})))", []Times{Together},
			[]int{1}},
		{"a chain", "await input.reduce((p, x) => p.then(() => codemode.a__b({x})), Promise.resolve())", []Times{Often},
			[]int{0}},
		{"the tool itself as a callback", "await Promise.all(input.map(codemode.a__b))", []Times{Together}, []int{1}},
		{"passed on", "later(codemode.a__b)", []Times{Often}, []int{0}},
		{"a function as a callback", "const one = async x => codemode.a__b({x}); await Promise.all(input.map(one))",
			[]Times{Together}, []int{1}},
		{"a function called in a callback",
			"async function one(x) { return await codemode.a__b({x}) } await Promise.all(input.map(x => one(x)))",
			[]Times{Together}, []int{1}},
		{"a function used twice", "const one = async x => codemode.a__b({x}); await one(1); await one(2)", []Times{Often},
			[]int{0}},
		{"a function that calls itself", "const one = async x => { await codemode.a__b({x}); await one(x) }", []Times{Often},
			[]int{0}},
		{"a function that nobody calls", "const one = async x => codemode.a__b({x}); await codemode.a__c({})",
			[]Times{Often, Once}, []int{0, 1}},
		{"a main function", "async function main() { await codemode.a__b({}); await codemode.a__c({}) } return await main()",
			[]Times{Once, Once}, []int{1, 2}},
		{"a main function in a loop", "async function main() { await codemode.a__b({}) } for (;;) await main()",
			[]Times{Often}, []int{1}},
		{"a function that is not awaited",
			"const run = async () => { await codemode.a__b({}); await codemode.a__c({}) }; const p = run(); await codemode.a__d({}); await p",
			[]Times{Once, Once, Once}, []int{1, 0, 2}},
		{"a function called at once", "await (async () => { await codemode.a__b({}); await codemode.a__c({}) })()",
			[]Times{Once, Once}, []int{1, 2}},
		{"a program that is a function",
			"async () => { await codemode.a__b({}); for (const x of input) await codemode.a__c({x}) }", []Times{Once, Often},
			[]int{1, 2}},
		{"a timer", "setTimeout(() => codemode.a__b({}), 10); await codemode.a__c({})", []Times{Often, Once}, []int{0, 1}},
		{"a method", "class C { m() { return codemode.a__b({}) } } await new C().m()", []Times{Often}, []int{0}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			p, problems := Compile("p.ts", tt.program)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var times []Times
			var stages []int
			for _, c := range p.Calls {
				times, stages = append(times, c.Times), append(stages, c.Stage)
			}
			if diff := cmp.Diff(tt.times, times); diff != "" {
				t.Errorf("times (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.stages, stages); diff != "" {
				t.Errorf("stages (-want +got):\n%s", diff)
			}
		})
	}
}
