package analysis

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatBecomesOfAText(t *testing.T) {
	for _, test := range []struct {
		name string
		text string
		js   string
	}{
		// Bodies.
		{"a body", "const x = 1\nreturn x", "const x=1;return x"},
		{"a body that awaits", "return await f()", "return await f()"},
		{"a body that ends with an expression", "f()\ng()", "f();return(g())"},
		{"an empty text", "", ""},
		{"only white space", " \n\t ", ""},
		{"only a comment", "// nothing\n/* at all */", ""},
		{"a comment at the end", "return 1 // one", "return 1"},
		{"a block that is no object", "{ f(); g() }", "{f();g()}"},
		{"several functions", "function f() {}\nfunction g() {}", "function f(){}function g(){}"},
		{"a function and its call", "async function main() { return 1 }\nmain()", "async function main(){return 1}return(main())"},
		{"a declaration", "const x = 1", "const x=1"},
		{"a directive", "'use strict'\nreturn 1", `"use strict";return 1`},
		{"sloppy code", "with (x) return y", "with(x)return y"},
		{"a dynamic import is left to the run", "return import('fs')", `return import("fs")`},

		// Values.
		{"a number", "1 + 1", "return(1+1)"},
		{"a value with a semicolon", "1 + 1;", "return(1+1)"},
		{"a value and a comment", "1 + 1; // two", "return(1+1)"},
		{"a string", "'a'", `return("a")`},
		{"an object", "({a: 1})", `return(({a:1}))`},
		{"an object that cannot be a block", "{a: 1, b: 2}", "return{a:1,b:2}"},
		{"an object that could be a block", "{a: 1}", "return{a:1}"},
		{"an object with a semicolon", "{a: 1};", "return{a:1}"},
		{"an empty object", "{}", "return{}"},
		{"JSON", `{"a": [1, null]}`, `return{"a":[1,null]}`},
		{"an array", "[1, 2]", "return([1,2])"},
		{"a template", "`a\nb`", "return(`a\nb`)"},
		{"a call", "codemode.a__b({})", "return(codemode.a__b({}))"},
		{"an awaited call", "await codemode.a__b({})", "return(await codemode.a__b({}))"},
		{"a function that is called already", "(async () => 1)()", "return((async()=>1)())"},
		{"a tool is not called", "codemode.a__b", "return(codemode.a__b)"},
		{"a class is not called", "(class {})", "return((class{}))"},

		// Functions.
		{"an arrow function", "async () => 1+1", "return(async()=>1+1)()"},
		{"an arrow function with a body", "async () => { return 1 }", "return(async()=>{return 1})()"},
		{"an arrow function in parentheses", "(async () => 1)", "return((async()=>1))()"},
		{"an arrow function with a semicolon", "() => 1;", "return(()=>1)()"},
		{"an arrow function that is not async", "x => x", "return(x=>x)()"},
		{"a named function", "async function main() { return 1 }", "return(async function main(){return 1})()"},
		{"an unnamed function", "async function () { return 1 }", "return((async function(){return 1}))()"},
		{"an unnamed function that is not async", "function () { return 1 };", "return((function(){return 1}))()"},
		{"a function behind types", "interface A { b: string }\ntype C = A\n\nasync () => 1", "return(async()=>1)()"},
		{"a typed arrow function", "async (x?: number): Promise<number> => 1", "return(async x=>1)()"},
		{"a generic arrow function", "async <T,>(x?: T): Promise<T> => x!", "return(async x=>x)()"},
		{"a typed function", "async function main(this: any, x: number = 1): Promise<void> {}",
			"return(async function main(x=1){})()"},

		// What is around a text.
		{"a byte order mark", "\ufeffreturn 1", "return 1"},
		{"a fence", "```ts\nreturn 1\n```", "return 1"},
		{"a fence without a language", "```\nreturn 1\n```\n", "return 1"},
		{"a fence with more than a language", "```typescript title=x.ts\nreturn 1\n```", "return 1"},
		{"a fence of tildes", "~~~js\nreturn 1\n~~~", "return 1"},
		{"a longer fence", "````js\nreturn '```'\n````", "return\"```\""},
		{"an indented fence", "  ```js\n  return 1\n  ```  ", "return 1"},
		{"a fence with Windows lines", "```js\r\nreturn 1\r\n```\r\n", "return 1"},
		{"a fence that is not closed", "```js\nreturn 1", "return 1"},
		{"a fence around a function", "```js\nasync () => 1\n```", "return(async()=>1)()"},
		{"a program that begins with an empty template", "``.length", "return(``.length)"},
		{"a program that ends with a template", "return `a`\n+ `b`", "return`ab`"},
		{"a hashbang", "#!/usr/bin/env node\nreturn 1", "return 1"},
		{"a hashbang in a fence behind a mark", "\ufeff```\n#!/usr/bin/env node\nreturn 1\n```", "return 1"},
		{"only a hashbang", "#!/usr/bin/env node", ""},
		{"HTML comments", "<!-- a\nreturn 1\n--> b", "return 1"},

		// TypeScript.
		{"types only", "interface A { b: string }\ntype C = A | null\ndeclare const d: C", ""},
		{"types", "const x: number = 1 as any satisfies unknown\nreturn x!", "const x=1;return x"},
		{"an enum", "enum A { B, C = 'c' }\nreturn A.C", `let A;(A2=>{A2[A2["B"]=0]="B";A2["C"]="c"})(A||(A={}));return"c"`},
		{"a constant enum", "const enum A { B = 1 << 2 }\nreturn A.B", `let A;(A2=>{A2[A2["B"]=4]="B"})(A||(A={}));return 4`},
		{"a namespace", "namespace N { export const a = 1 }\nreturn N.a", "var N;(N2=>{N2.a=1})(N||(N={}));return N.a;\n"},
		{"a namespace, await and return", "namespace N { export const a = 1 }\nif (await f()) return\nreturn N.a",
			"var N;(N2=>{N2.a=1})(N||(N={}));if(await f())return        ;return         N.a;\n"},
		{"a namespace of types", "declare namespace codemode { function a__b(x: {y: string}): Promise<void> }\nreturn codemode.a__b({y: ''})", "return codemode.a__b({y:\"\"});\n"},
		{"a module of types", "declare module 'x' { export type A = 1 }\nawait 1\nreturn 1", "await 1;return         1;\n"},
		{"global types", "declare global { interface Window {} }\nreturn 1", "return 1"},
		{"parameter properties", "class A { constructor(readonly x = 1) {} }\nreturn 1",
			"class A{constructor(x=1){this.x=x}x}return 1"},
		{"a generic call is no comparison", "return f<string>(1)", "return f(1)"},
		{"imports and exports of types",
			"import type {A} from 'a'\nimport {type B, type C as D} from 'b';\nimport type E from 'e'\nimport type * as F from 'f'\nexport type {A}\nexport {type B}\nexport {}\nexport interface G {}\nexport type H = A;\nexport declare const i: H\nreturn 1",
			";return 1"},

		// The newest JavaScript is left as it is.
		{"new syntax", "using a = b; class C { static #d = 1n; static { e ??= f?.[0] } }\nreturn /[a--b]/v",
			"using a=b;class C{static#d=1n;static{e??=f?.[0]}}return/[a--b]/v"},
		{"names are kept", "const fn = () => 1, K = class {}\nreturn [fn.name, K.name]",
			"const fn=()=>1,K=class{};return[fn.name,K.name]"},
		{"text is kept", "return 'é😀'", `return"é😀"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, problems := Compile("", test.text)
			if len(problems) > 0 {
				t.Fatalf("%s\n%v", test.text, problems)
			}
			if diff := cmp.Diff(test.js, p.JS); diff != "" {
				t.Errorf("%s\n-want +got\n%s", test.text, diff)
			}
		})
	}
}

func TestDecoratorsAreLowered(t *testing.T) {
	p, problems := Compile("", "@log class A { @log accessor x = codemode.a__b(1); @log m() {} }\nreturn new A()")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if strings.Contains(p.JS, "@") || strings.Contains(p.JS, "accessor ") {
		t.Errorf("QuickJS has no decorators: %s", p.JS)
	}
	if want := (Position{1, 34}); len(p.Calls) != 1 || p.Calls[0].Position != want {
		t.Errorf("got %v, want one call at %v", p.Calls, want)
	}
}

// No text may get out of the function that is put around it.
func TestNothingBreaksOut(t *testing.T) {
	for _, text := range []string{
		"return 1; }); evil(); (async () => {",
		"return 1 } evil(); async function g() {",
		"return 1; }\nevil();\n{",
		"}, evil(), async () => {",
		"} + function () {",
		"})(), (async () => {",
		"}; evil(); {",
		"1), evil(), (2",
		"1], evil(), [2",
		"a) => (b",
		"(1) } async function g() { return (1)",
		"a: 1} + {b: 2",
		"{a: 1}, {b: 2}) } evil(); function g() { return ({}",
		"return 1 /*",
		"return 1 /* *\\/",
		"*/ evil() /*",
		"return `",
		"return `${",
		"return '",
		"return /",
		"// \u2028 }); evil(); (async () => {",
		"// \r }); evil(); (async () => {",
		"<!--\n}); evil(); (async () => {",
		"-->\n}); evil(); (async () => {",
		"return 1 \\",
		"if (1) {",
		"if (1) { } }",
		"return (",
		"case 1:",
		"else { }",
		"catch (e) { }",
		"extends X { }",
		"=> 1",
		", 1",
		") { } function g(",
		"\\u007d evil(); async function g() \\u007b",
		"return super.x",
		"return new.target",
		"import.meta",
		"return import.meta.url",
		"import x from 'x'",
		"import 'x'",
		"export default 1 } evil(); async function g() {",
		"export default class {}",
		"export * from 'x'",
		"module.exports = 1 } evil(); async function g() {",
		"namespace N {} } evil(); async function g() {",
		"```js\n}); evil(); (async () => {\n```",
		"@d class A {} } evil(); async function g() {",
		"enum A {} } evil(); {",
		"type A = `${ }`",
		"#!x } evil(); {\n}",
	} {
		if p, problems := Compile("", text); len(problems) == 0 {
			t.Errorf("%q became %q", text, p.JS)
		}
	}
}

// The value of a program without return is that of its last expression, unless that is there for what it does.
func TestTheLastExpressionIsTheValue(t *testing.T) {
	for text, want := range map[string]string{
		"async function main() {}\nmain()":                   "async function main(){}return(main())",
		"main();\nasync function main() {}":                  "return(main());async function main(){}",
		"function main() {}; main().catch(console.error); ;": "return(main().catch(console.error));",
		"const x = await f()\n  x":                           "return(x)",
		"const x = 1; ({x})":                                 "return(({x}))",
		"const x = 1; await codemode.a.b({})":                "return(await codemode.a.b({}))",
		"const x = 1; codemode.a.push({})":                   "return(codemode.a.push({}))",
		"const r = 1; r.items.map((x) => x.a)":               "return(r.items.map(x=>x.a))",
		"const x = 1; async () => { return x }":              "return(async()=>{return x})()",
		"const x = 1; (async () => { return x })()":          "return((async()=>{return x})())",
		"namespace N { f() }\nf()":                           "return(f());",
		"const x = 1; if (x) { return x }\nf()":              "f()",
		"const x = 1; console.log(x)":                        "console.log(x)",
		"let x; x = 1":                                       "x=1",
		"let x = 1; x++":                                     "x++",
		"const a = []; a.push(1)":                            "a.push(1)",
		"const a = {}; delete a.b":                           "delete a.b",
		"const f = () => 1; setTimeout(f, 1)":                "setTimeout(f,1)",
		"const x = 1; for (;;) { codemode.a.b({}) }":         "codemode.a.b({})}",
		"const x = 1":                                        "const x=1",
		"const x = [1,2];\n`${x}`":                           "return(`${x}`)",
		"class A { @d m() {} }\nnew A().m()":                 "return(new A().m())",
	} {
		p, problems := Compile("", text)
		if len(problems) > 0 {
			t.Errorf("%q: %v", text, problems)
		} else if !strings.Contains(p.JS, want) || !strings.Contains(want, "return(") && strings.Contains(p.JS, "return(") {
			t.Errorf("%q: got\n%s\nwant %q in it", text, p.JS, want)
		}
	}
}
