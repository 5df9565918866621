package analysis

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/hostile"
)

// The worst of each kind that is known, from few levels to the size that a
// program may have: reading it ends, within a stack that would not hold what it asks for.
func TestHostileTextsEnd(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	if testing.Short() {
		t.Skip("it takes a while: run it without -short")
	}
	defer debug.SetMaxStack(debug.SetMaxStack(64 << 20))
	const size = 256 << 10
	for _, test := range []struct{ name, before, open, inside, end, after string }{
		{"parentheses", "", "(", "1", ")", ""},
		{"brackets", "", "[", "1", "]", ""},
		{"objects", "x=", "{a:", "1", "}", ""},
		{"blocks", "", "{", "", "}", ""},
		{"arrow functions", "", "a=>", "1", "", ""},
		{"arrow functions with bodies", "", "a=>{", "", "}", ""},
		{"async arrow functions", "", "async a=>", "1", "", ""},
		{"arrow functions in parentheses", "", "(a)=>(", "1", ")", ""},
		{"arrow functions in defaults", "", "(a=", "1", ")=>1", ""},
		{"not", "", "!", "1", "", ""},
		{"minus", "", "- ", "1", "", ""},
		{"typeof", "", "typeof ", "1", "", ""},
		{"new", "", "new ", "a", "", ""},
		{"await", "", "await ", "a", "", ""},
		{"templates", "", "`${", "a", "}`", ""},
		{"tagged templates", "a", "`a`", "", "", ""},
		{"conditions", "", "a?b:", "c", "", ""},
		{"conditions in conditions", "", "a?", "b", ":c", ""},
		{"conditions with parentheses", "", "a?(b):", "c", "", ""},
		{"conditions with arrow functions", "", "a?(b):c=>", "1", "", ""},
		{"conditions with arrow functions inside", "", "a?(b)=>", "1", ":c", ""},
		{"conditions in parentheses", "", "(a?(", "1", "):b=>c)", ""},
		{"assignments", "", "a=", "b", "", ""},
		{"powers", "", "a**", "b", "", ""},
		{"sums", "", "a+", "b", "", ""},
		{"sums of text", "", `"a"+`, `"b"`, "", ""},
		{"sums of templates", "", "`${a}`+", "``", "", ""},
		{"commas", "", "a,", "b", "", ""},
		{"commas and calls", "", "a(),", "b", "", ""},
		{"alternatives", "", "a??", "b", "", ""},
		{"members", "a", ".b", "", "", ""},
		{"optional members", "a", "?.b", "", "", ""},
		{"calls", "a", "()", "", "", ""},
		{"members of members in parentheses", "", "(", "a", strings.Repeat(".b", 500) + ")", ""},
		{"members of calls with members", "", "a(", "b", strings.Repeat(".b", 500) + ")", ""},
		{"members of arrays of members", "", "[", "b", strings.Repeat(".b", 500) + "]", ""},
		{"members of functions with members", "", "(()=>{", "b", strings.Repeat(".b", 500) + "})", ""},
		{"members of templates of members", "", "`${", "b", strings.Repeat(".b", 500) + "}`", ""},
		{"sums of sums in parentheses", "", "(", "a", strings.Repeat("+b", 500) + ")", ""},
		{"sums of negated sums", "", "-(", "a", strings.Repeat("+b", 500) + ")", ""},
		{"indices", "a", "[0]", "", "", ""},
		{"comparisons", "", "a<", "b", "", ""},
		{"comparisons on lines", "", "a<\n", "b", "", ""},
		{"type arguments", "", "a<", "b", ">", "()"},
		{"type arguments with parentheses", "", "a<(", "b", ")", ""},
		{"type arguments with objects", "", "a<{b:", "c", "}", ""},
		{"type arguments with typeof", "", "a<typeof ", "b", "", ""},
		{"type assertions", "", "<a>", "b", "", ""},
		{"generic arrow functions", "", "<T>(a:", "1", ")", ""},
		{"types in types", "let x:", "A<", "b", ">", ""},
		{"types in parentheses", "let x:", "(", "b", ")", ""},
		{"function types", "let x:", "(a:", "b", ")=>c", ""},
		{"conditional types", "type x=", "a extends b?c:", "d", "", ""},
		{"conditional types inside", "type x=", "a extends b?", "c", ":d", ""},
		{"infer", "type x=", "a extends infer b extends ", "c", "?d:e", ""},
		{"infer in brackets", "type x=", "a extends [infer b extends ", "c", "]?d:e", ""},
		{"keyof", "let x:", "keyof ", "b", "", ""},
		{"unions", "let x:", "a|", "b", "", ""},
		{"if", "", "if(a)", "b", "", ""},
		{"else if", "", "if(a)b;else ", "c", "", ""},
		{"else if with blocks", "", "if(a){}else ", "c", "", ""},
		{"for", "", "for(;;)", "b", "", ""},
		{"while", "", "while(a)", "b", "", ""},
		{"do", "", "do ", "b", ";while(a)", ""},
		{"labels", "", "a:", "b", "", ""},
		{"with", "", "with(a)", "b", "", ""},
		{"functions", "", "function a(){", "", "}", ""},
		{"functions without names", "", "(function(){", "", "})", ""},
		{"classes", "", "class a{b(){", "", "}}", ""},
		{"classes that extend classes", "", "class a extends ", "b", "{}", ""},
		{"computed members", "", "(class{[", "1", "]})", ""},
		{"static blocks", "", "class a{static{", "", "}}", ""},
		{"switch", "", "switch(a){case 1:", "", "}", ""},
		{"try", "", "try{", "", "}finally{}", ""},
		{"patterns", "let ", "[", "a", "]", "=b"},
		{"object patterns", "let ", "{a:", "a", "}", "=b"},
		{"namespaces", "", "namespace a{", "", "}", ""},
		{"declare", "", "declare ", "let a", "", ""},
		{"decorators", "class a{", "@b c;", "", "", "}"},
		{"enums", "enum a{", "b,", "", "", "}"},
		{"enums that grow", "enum a{b0='xxxxxxxx',", "b=b+b,", "", "", "}"},
		{"dynamic imports", "", "import(", "1", ")", ""},
		{"optional calls", "", "x?.(", "1", ")", ""},
		{"names that shadow", "", "(a)=>{", strings.Repeat("a=>1;", 20_000), "}", ""},
		{"blocks that shadow", "", "{let a;", strings.Repeat("{let a}", 10_000), "}", ""},
		{"one name again and again", "", "let a;", "", "", ""},
		{"one private name again and again", "class a{", "#b;", "", "", "}"},
		{"one label again and again", "", "a:;", "", "", ""},
		{"cases", "switch(a){", "case 1:", "", "", "}"},
		{"keys", "({", "a:1,", "", "", "})"},
		{"numbers", "[", "1,", "", "", "]"},
		{"statements", "", "a;", "", "", ""},
		{"licences", "", "/*!*/", "", "", ""},
		{"licences on lines", "", "//! x\n", "", "", ""},
		{"comments", "", "/**/", "", "", ""},
		{"lines", "", "\n", "", "", ""},
		{"slashes", "", "a/", "b", "", ""},
		{"regular expressions", "", "/a/,", "1", "", ""},
		{"regular expressions that end nowhere", "", "/[", "", "", ""},
		{"imports", "", "import 'a'\n", "", "", ""},
		{"imports of types", "", "import type {a} from 'a'\n", "", "", ""},
		{"imports of types on one line", "", "import type a ", "", "", ""},
		{"names of imports", "import {", "type a,", "", "", "} from 'a'"},
		{"exports", "", "export {}\n", "", "", ""},
		{"returns of a file", "namespace N {}\nawait 1;", "if(a)return 1;", "", "", ""},
		{"calls of tools", "", "codemode.a__b({});", "", "", ""},
		{"uses of a long text", "enum a{b='" + strings.Repeat("x", 60_000) + "'}", "a.b;", "", "", ""},
		{"names of names", "const a0=codemode;", "const a=a;", "", "", ""},
		{"characters of four bytes", "f('", "😀", "", "", "')"},
		{"bytes that are no characters", "f('", "\xff", "", "", "')"},
		{"zeros", "", "\x00", "", "", ""},
		{"fences", "", "```", "", "", ""},
	} {
		for _, levels := range []int{60, 180, 14_000, size} {
			n := min(levels, (size-len(test.before)-len(test.inside)-len(test.after))/(len(test.open)+len(test.end)))
			text := test.before + strings.Repeat(test.open, n) + test.inside + strings.Repeat(test.end, n) + test.after
			start := time.Now()
			p, problems := Compile("", text)
			// it doubles with each level; a machine that is busy takes many times longer than others
			if took := time.Since(start); took > 5*time.Minute {
				t.Errorf("%s, %d times: took %v", test.name, n, took)
			} else if took > time.Second {
				t.Logf("%s, %d times: took %v", test.name, n, took)
			}
			if (p == nil) != (len(problems) > 0) {
				t.Errorf("%s, %d times: got a program and problems, or neither", test.name, n)
			}
			if p != nil && len(p.JS) > maxJS {
				t.Errorf("%s, %d times: %d bytes of text became %d", test.name, n, len(text), len(p.JS))
			}
		}
	}
}

func TestManyDistinctNames(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "a%d;", i)
	}
	if _, problems := compile("", b.String()); len(problems) != 1 {
		t.Errorf("got %v, want one problem", problems)
	}
}

// What people and models write is far from the limits.
func TestLargeProgramsCompile(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
		}
		return b.String()
	}
	for _, test := range []struct{ name, text string }{
		{"a long chain of else if", "let r\nif (x) { r = 0 }\n" + repeat(120, "else if (x === #) { r = # }\n") +
			"else r = 1\nreturn r"},
		{"a long chain of conditions", "return " + repeat(60, "x === # ? '#' :\n") + "null"},
		{"a large switch", "switch (x) {\n" + repeat(1000, "case '#':\n  return #\n") + "}\nreturn 1"},
		{"a switch that falls through", "switch (x) {\n" + repeat(1000, "case #:\n") + "return 1 }\nreturn 2"},
		{"a long text in pieces", "return " + repeat(400, "'line #\\n' +\n") + "''"},
		{"a long chain of calls", "return x" + repeat(200, "\n  .then(y => y + #)")},
		{"nested data", "return " + strings.Repeat("[{a: ", 60) + "1" + strings.Repeat("}]", 60)},
		{"nested functions", "return " + strings.Repeat("f(async (x) => {\n", 30) + "1" + strings.Repeat("})", 30)},
		{"much data", "return [" + repeat(3000, "{id: #, name: 'name #'},\n") + "]"},
		{"a large text", "return `" + strings.Repeat("some text, and more of it\n", 8000) + "`"},
		{"many functions without semicolons",
			repeat(800, "async function f#(x) {\n  const y = await g(x)\n  if (y < # && y > 1) return y\n  return x\n}\n") +
				"return f0()"},
		{"many types without semicolons", "interface A {\n" + repeat(150,
			"  a#: Map<string, Promise<number>>\n") + repeat(500, "  b#: string\n") + "}\nreturn 1"},
		{"many declarations of tools", "declare namespace codemode {\n" + repeat(400,
			"  /** Tool #. */\n  function a__b#(args: {path: string, n?: number, list: Array<{x: string}>}): Promise<any>;\n") +
			"}\nreturn 1"},
		{"many generic calls", repeat(300, "const r# = await codemode.a__b<Array<Record<string, number>>>({n: #})\n") +
			"return r0"},
		{"many comparisons without semicolons", repeat(500, "const r# = a < # && b > #\n") + "return r0"},
		{"many loops", repeat(400, "for (let i = 0; i < #; i++) { if (i < 3) continue }\n") + "return 1"},
		{"an enum", "enum A {\n" + repeat(300, "  Name# = 'value of name #',\n") + "}\nreturn [" + repeat(300, "A.Name#, ") +
			"]"},
		{"an enum of flags", "enum A {\n  None = 0,\n" + repeat(30, "  F# = 1 << #,\n") +
			"  All = F1 | F2 | F3 }\nreturn A.All"},
		{"documentation", repeat(900, "/**\n * Does #.\n * @param x what\n */\nfunction f#(x: number) {}\n") + "return 1"},
		{"divisions and regular expressions",
			repeat(200, "x = (a + b) / f('c#') / 2 // d\ny = s.replace(/[\"'(]/g, '').split(/\\//) / 1\n") + "return x"},
	} {
		if p, problems := compile("", test.text); len(problems) > 0 {
			t.Errorf("%s: %v", test.name, problems[0])
		} else if len(p.Dynamic) > 0 {
			t.Errorf("%s: was not understood", test.name)
		}
	}
}

func TestDivisionOrRegularExpression(t *testing.T) {
	for _, test := range []struct {
		text string
		ok   bool
	}{
		{`return a / b / c`, true},
		{`return (a + b) / "c".length // d`, true},
		{`return [1][0] / '"'.length / 2`, true},
		{`if (a) /["']/.test(b); return 1`, true},
		{`while (a) /["']/.test(b); return 1`, true},
		{`return !/["'(]/.test(b)`, true},
		{`return a! / "(".length / 2`, true},
		{`return a++ / "(".length / 2`, true},
		{`return typeof /["'(]/`, true},
		{`return a.return / "(".length / 2`, true},
		{"return `${a}` / '('.length / 2", true},
		{`return f({a: 1} / "(".length / 2)`, true},
		{"const re = a\n  ? /[\"']/\n  : /[(]/; return re", true},
		{"return x => /[\"']/.test(x)", true},
		{"{}\n/a/.test(b); return 1", true},
		{"return a\n  / b\n  / c", true},
		{"{}\n/['\"]/.test(b); return 1", false},
		{"return a\n  / 'b'.length / 2", false},
		{"const set = 1; return set / '('.length / 2", false},
	} {
		_, problems := compile("", test.text)
		if ok := len(problems) == 0; ok != test.ok {
			t.Errorf("%s: got %v, want ok = %v", test.text, problems, test.ok)
		}
	}
}
