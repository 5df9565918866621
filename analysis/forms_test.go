package analysis

import (
	"strings"
	"testing"
)

// Forms of programs whose meaning is clear: what a text exports is called, and parameters that are globals are dropped.
func TestWhatATextMeansIsCalled(t *testing.T) {
	for _, test := range []struct{ name, text, js string }{
		{"export default", "export default async function () { return 1 }", "return(async function(){return 1})()"},
		{"export default with globals", "export default async ({ codemode, input }) => 1", "return(async()=>1)()"},
		{"export default of a name", "const f = () => 1\nexport default f", "const f=()=>1;return (x=>typeof x=='function'?x(codemode):x)(f)"},
		{"export const", "export const main = async () => 1", "const main=async()=>1\nreturn main()"},
		{"export function", "export async function main() { return 1 }", "return(async function main(){return 1})()"},
		{"export beside a helper", "const f = () => 1\nexport function run() { return f() }", "const f=()=>1;function run(){return f()}\nreturn run()"},
		{"an export list", "function f() { return 1 }\nexport { f as default }", "return(function f(){return 1})()"},
		{"module.exports", "module.exports = async function run({ codemode }) { return 1 }", "return(async function run(){return 1})()"},
		{"exports.name", "const n = 1\nexports.run = () => n", "const n=1;return(()=>n)()"},
		{"an export that is called", "export const f = () => 1\nreturn f()", "const f=()=>1;return f()"},
		{"a parameter", "async codemode => 1", "return(async()=>1)()"},
		{"a parameter in parentheses", "async (codemode) => 1", "return(async()=>1)()"},
		{"a renamed parameter", "async ({ codemode: c }) => c", "return(async({codemode:c})=>c)({codemode,input,console})"},
		{"a parameter that nobody gives", "async (x) => 1", "return(async x=>1)()"},
		{"main that nobody calls", "const n = await f()\nasync function main() { return n }", "const n=await f();async function main(){return n}\nreturn main()"},
		{"the only function", "const n = 1\nconst go = async () => n", "const n=1;const go=async()=>n\nreturn go()"},
		{"a function beside statements", "function f() { return 1 }\ng()", "function f(){return 1}return(g())"},
		{"two functions", "function f() { return g() }\nfunction g() { return 1 }", "function f(){return g()}function g(){return 1}\nreturn f()"},

		{"a fence in prose", "Here it is:\n\n```js\nreturn 1\n```\nThat is all.", "return 1"},
		{"a fence beside others", "```sh\nnpm i\n```\n```ts\nreturn 1\n```\n```\n1\n```", "return 1"},
		{"fences that go on", "```js\nconst a = 1\n```\nand\n```js\nreturn a\n```", "const a=1;return a"},
		{"quotes around a program", `"return await codemode.a__b({x: \"y\"})"`, `return await codemode.a__b({x:"y"})`},
		{"JSON around a program", `{"code": "return await codemode.a__b()"}`, "return await codemode.a__b()"},
		{"escaped twice", `const a = \"x\";\nreturn a`, `const a="x";return a`},
	} {
		p, problems := Compile("", test.text)
		if len(problems) > 0 || p.Nothing("", false) != nil {
			t.Errorf("%s: %v %v", test.name, problems, p)
			continue
		}
		if got := squeezed(p.JS); got != squeezed(test.js) {
			t.Errorf("%s:\n got  %s\n want %s", test.name, got, squeezed(test.js))
		}
	}
}

// squeezed leaves out the blanks that keep positions.
func squeezed(js string) string { return strings.ReplaceAll(js, " ", "") }

// Positions are in the text that was decoded, and that Text returns.
func TestPositionsOfADecodedText(t *testing.T) {
	p, problems := Compile("", `const a = 1;\nreturn codemode.a__b(a)`)
	if len(problems) > 0 || p.Text() != "const a = 1;\nreturn codemode.a__b(a)" || len(p.Calls) != 1 || p.Calls[0].Line != 2 {
		t.Errorf("got %+v, %v", p, problems)
	}
	if p, _ := Compile("", "Here:\n```js\nreturn codemode.a__b()\n```"); p == nil || p.Text() != "" || p.Calls[0].Line != 3 {
		t.Errorf("in a fence: %+v", p)
	}
}

// What does nothing is not a success. In a session, a program may only declare.
func TestWhatDoesNothingIsNamed(t *testing.T) {
	for _, test := range []struct {
		text, want string
		session    bool // it is fine there
	}{
		{"", "empty", false},
		{" \n", "empty", false},
		{"// x", "only a comment", false},
		{"interface A {}", "only types", false},
		{"42", "a constant", false},
		{"-1", "a constant", false},
		{"null;", "a constant", false},
		{"'done'", "text in quotes", false},
		{"`done`", "text in quotes", false},
		{"'use strict'", "text in quotes", false},
		{"[1, {a: 2}]", "a value written out", false},
		{`{"tool": "a__b", "arguments": {"x": 1}}`, "JSON of a call", false},
		{"word", "one word", true},
		{"const a = 1", "only declares", true},
		{"function f() {}\nfunction g() {}", "only declares", true},
		{"tool: a__b\nargs:\n  x: 1", "YAML", false},
		{"return 1", "", true},
		{"1 + 1", "", true},
		{"() => 1", "", true},
		{"f()", "", true},
		{"input", "", true},
		{"const a = await f()", "", true},
		{"const a = new X", "", true},
		{"x = 1", "", true},
		{"if (a) f()", "", true},
		{"({ run() { return 1 } })", "", true},
	} {
		p, problems := Compile("", test.text)
		if len(problems) > 0 {
			t.Errorf("%q: %v", test.text, problems)
			continue
		}
		got := p.Nothing("p.ts", false)
		if (len(got) > 0) != (test.want != "") || len(got) > 0 && !strings.Contains(got[0].Message, test.want) {
			t.Errorf("%q: got %v, want %q", test.text, got, test.want)
		}
		if fine := p.Nothing("p.ts", true) == nil; fine != test.session {
			t.Errorf("%q in a session: fine is %v", test.text, fine)
		}
	}
}

// Programs with mistakes keep the problem of the compiler: no text of another kind is seen in them.
func TestMistakesInProgramsKeepTheirProblem(t *testing.T) {
	for _, text := range []string{
		"const x = 1 y", "return [1, 2", "for (const a of b) {\n  f(a)\nreturn 1", "if (x) break", "let a\nlet a",
		"const s = 'search for a in b' x", "const q = `SELECT a FROM b` x", "f('curl -s x' y)", "class A { run() { return 1 }",
		"const t = { a: 1 b: 2 }", "async function main() {\n  return 1;\n}}", "return a.filter(x => x > 1", "import fs from 'fs'",
		"try { f() } catch { return 1 ", "while (true) { f( }", "type A = {", "export * from 'x'", "const html = '<p>' + ",
	} {
		_, problems := Compile("", text)
		if len(problems) == 0 {
			t.Errorf("%q compiles", text)
			continue
		}
		if m := problems[0].Message; strings.HasPrefix(m, "this is") || strings.HasPrefix(m, "the text") {
			t.Errorf("%q: %s", text, m)
		}
	}
}
