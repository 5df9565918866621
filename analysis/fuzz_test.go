package analysis

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/internal/analysis/ecmascript"
	"github.com/codemode-project/codemode/internal/hostile"
)

// Whatever is submitted, there is a program or a problem; the program stays
// inside of the function it gets, and every place is one of the text.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		"", "return 1", "async () => 1+1", "{a: 1}", "```ts\nreturn 1\n```", "\ufeff#!x\nreturn 1",
		"return 1; }); evil(); (async () => {", "1), evil(), (2", "return `${", "/*", "-->", "<!--", "return /[/]/g",
		"x\n/['\"]/",
		"const {a__b: f, ...r} = codemode; await f({x: [1, 'é']}); return codemode[k](...y)",
		"const c = codemode, k = 'a__' + 'b'; c[k](c.fs.read`x`); items.map(codemode?.a__b?.bind(c))",
		"enum A { B = 'b', C = B + B }\nnamespace N { export const a = A.B }\nif (await N) return\nreturn N.a",
		"@d class A<T> extends B { @d accessor #x = 1; static { this.y = <T>(z: T): z is T => z! } constructor(private q?: R) {} }",
		"import type {A} from 'a'; import b from 'b'; export {type A}; export default 1",
		"for await (const [a, {b = 1, ...c}] of d) label: { if (e) break label; else continue }\nswitch (f) { case 1: default: }",
		"try { throw new Error(`a${`b${1}`}`) } catch { } finally { do ; while (0) }",
		"a ? (b) : c => d; type X = A extends infer T extends U ? T : never; let x: Map<string, A<B>> = y as any",
		"function* g() { yield* h; yield\n} async function* i() { for await (const x of y) yield x } using z = w",
		"eval('1'); new Function('x'); (() => {}).constructor('y'); with (codemode) a__b()",
		"“x”", "\x00", "\xff\xfe", "\u2028", "😀", "return 0x1fn + 1_000 + .5e-7", "if (1) {", "}", ")", "(((((", "[[[[[]",
		"a\\u{62}c",
		"//# sourceMappingURL=data:application/json;base64,e30=\nreturn 1", "return \"\\ud800\\u{110000}\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) <= 4<<10 {
			checkCompile(t, text)
		}
	})
}

// Random pieces of programs find more of the grammar than random bytes.
func TestSoup(t *testing.T) {
	hostile.NotRaced(t, "one goroutine computes")
	pieces := append(strings.Fields(strings.ReplaceAll(soup, "´", "`")), "\n", "//x\n")
	for i := range pieces {
		pieces[i] = strings.ReplaceAll(pieces[i], "·", " ")
	}
	n := 3000
	if testing.Short() {
		n = 300
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		var b strings.Builder
		for range 1 + random.IntN(14) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		checkCompile(t, b.String())
		if t.Failed() {
			t.Fatalf("%q", b.String())
		}
	}
}

// soup holds pieces of programs; ´ stands for a backtick and · for a space.
const soup = `a b c 1 "s" 's' ( ) [ ] { } ; , . ?. ? : => = += + - ! ~ < > && ?? || | ... @ #a / /a/ /["]/ * ** ++ -- % == >> · async· await· function· return·
	if( else{ for(;;) while( do{ try{ catch{ catch(e){ finally{ switch(a){ case·1: default: throw· break; a: class· class·a{ extends· set· get· static· yield·
	new· typeof· void· delete· this super.a import("a") import·a·from"b"; import.meta export{} export· enum·a{ namespace·a{ declare· abstract· keyof· infer· unique·
	satisfies· private· constructor( accessor· const· let· var· of· in· as· is· type·a= interface·a{ using· //x /*x*/ /*!x*/ <!-- -->
	${ ´ ´a´ ´${a}´ <a> <a,> (a) (a,b) (a:b) {a} {a:b} [a] [a,b] =>{ ():c=> a=> a?b: a?(b): a<b a<b> 0 1n .5 é 😀 \u0061 undefined null }; ); }) a.b(c)
	codemode codemode.a__b codemode.a.b codemode["a__b"] codemode[a] {a__b}=codemode const{a__b}=codemode; codemode.a__b({a:[1,"b"]}) ...codemode eval(a) globalThis
	const·a=codemode; let·b=1; (async()=>{ })() function(){ function*a(){ async()=>`

// checkCompile compiles a text and checks what always holds.
func checkCompile(t *testing.T, text string) {
	t.Helper()
	p, problems := Compile("fuzz.ts", text)
	if (p == nil) != (len(problems) > 0) {
		t.Fatalf("got %v and %v", p, problems)
	}
	check := func(at Position, length int) {
		lines := newIndex(text)
		if at.Line < 1 || at.Line > len(lines.lines) || at.Column < 1 || length < 0 {
			t.Fatalf("%v with length %d is not in the text", at, length)
		}
		if n := utf8.RuneCountInString(lines.lineText(at.Line - 1)); at.Column+length > n+2 {
			t.Fatalf("%v with length %d is not in a line of %d", at, length, n)
		}
	}
	for _, problem := range problems {
		check(problem.Position, problem.Length)
		if problem.Message == "" || strings.ContainsAny(problem.String(), "\x1b\u202e\u200b") {
			t.Fatalf("%q", problem.String())
		}
	}
	if p == nil {
		return
	}
	submitted := text
	text = orText(p.Text(), text)
	again, _ := Compile("fuzz.ts", submitted)
	if diff := cmp.Diff(p.JS, again.JS); diff != "" {
		t.Fatalf("two results:\n%s", diff)
	}
	run, other := bodyWrapper()
	for _, w := range []wrapper{run, other} {
		if out := transform(w, p.JS, false); len(out.errors) > 0 && !p.Unread {
			t.Fatalf("%q\nbecame %q\nwhich is wrong: %s", text, p.JS, out.errors[0].Text)
		}
	}
	if _, _, err := ecmascript.Parse(p.JS); err != nil && !p.Unread {
		t.Fatalf("%q\nbecame %q\nwhich is %v", text, p.JS, err)
	}
	for _, c := range p.Calls {
		check(c.Position, c.Length)
		if c.Name == "" || c.How == "" || c.Args != nil && !json.Valid(c.Args) {
			t.Fatalf("%+v", c)
		}
	}
	for _, d := range p.Dynamic {
		check(d, 0)
	}
	for _, u := range p.Unawaited {
		check(u.Position, 0)
	}
	for _, at := range []int{0, 1, len(p.JS) / 2, len(p.JS)} {
		line, column := p.Lookup(1, at)
		check(Position{line, column}, 0)
	}
}

// orText is the text that positions are in.
func orText(decoded, submitted string) string {
	if decoded != "" {
		return decoded
	}
	return submitted
}

// The reader of JavaScript may give up, but nothing else.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"return 1", "const{a:b=1,...c}=codemode;", "for(let x of y)z;", "x=>({a:1,[b]:c,get d(){},async*e(){}})",
		"`a${`b${c}`}d`", "class A extends B{static{}#x=1;static async*y(){}}",
		"a/b/c", "/[/]/g.test(x)", "new a.b[c](d)", "async x=>y", "async(x)=>y", "l:for(;;)break l", "a?.b?.[c]?.(d)`e`",
		"if(a)b;else c", "do x;while(y)", "import.meta", "import('x')", "yield", "(", "{", "`", "'",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body, calls, err := ecmascript.Parse(text)
		if err != nil {
			return
		}
		w := search(body, calls, trailing(body, asBody, 0))
		for _, c := range w.calls {
			if c.start < 0 || c.start > len(text) || c.last < 0 || c.last > len(text) || c.args != nil && !json.Valid(c.args) {
				t.Fatalf("%+v", c)
			}
		}
	})
}
