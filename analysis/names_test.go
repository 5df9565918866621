package analysis

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestNamesOfASession(t *testing.T) {
	session := []string{"rows", "__decorateElement", "Account", "next"}
	for _, c := range []struct{ text, problems, dynamic string }{
		{"return rows.length", "", "1:8"},
		{"const n = row.length; return n",
			"p.ts:1:11: nothing declares row: the session has rows, Account, next", ""},
		{"let rows = []; return rows", "", ""},
		{"const a = new Account(); a.add(next()); return missing + other",
			"p.ts:1:48: nothing declares missing: the session has rows, Account, next; " +
				"p.ts:1:58: nothing declares other: the session has rows, Account, next", "1:15 1:32"},
		{"fresh = 1; [a, {b: c = rows}] = [1, {}]; for (d of []); return [fresh, a, c, d, typeof nothing]", "", "1:24"},
		{"return eval('x') + hidden", "", "1:8"},
		{"globalThis.hidden = 1; return hidden", "", ""},
		{"let a: Unknown = 1; type T = Missing; enum E { A, B = A + 1 } namespace N { export const x = 1 } return [a, " +
			"E.A, N.x]", "", ""},
		{"{ function inner() {} } var {x, ...rest} = {}; try { } catch (e) { e } class C { #p = x; " +
			"static { C } m(q = rest) { return arguments } }\n" +
			"return [inner, (f = g => g) => f, function me() { return me }, class Me { m() { return Me } }]", "", ""},
		{"@deco class A {} function deco(x: any) { return x } return A", "", ""},
		{"label: for (;;) break label; return {rows, key: 1, ['x' + key2]: 1}",
			"p.ts:1:59: nothing declares key2: the session has rows, Account, next", "1:38"},
		{"rows", "", "1:1"},
		{"count += 1", "p.ts:1:1: nothing declares count: the session has rows, Account, next", ""},
	} {
		p, problems := Compile("p.ts", c.text)
		if p == nil {
			t.Errorf("%s: %v", c.text, problems)
			continue
		}
		before := len(p.Dynamic)
		in, found := p.InSession("p.ts", session)
		var got []string
		for _, f := range found {
			got = append(got, fmt.Sprintf("%s:%d:%d: %s: %s", f.File, f.Line, f.Column, f.Message, f.Hint))
		}
		if got := strings.Join(got, "; "); got != c.problems {
			t.Errorf("%s\nhas the problems %s\nwant %s", c.text, got, c.problems)
		}
		var dynamic []string
		for _, at := range in.Dynamic {
			dynamic = append(dynamic, fmt.Sprintf("%d:%d", at.Line, at.Column))
		}
		if got := strings.Join(dynamic, " "); got != c.dynamic || len(p.Dynamic) != before {
			t.Errorf("%s\nis dynamic at %s, want %s", c.text, got, c.dynamic)
		}
	}
}

// A function alone is called, and in a session declared.
func TestAFunctionAloneInASession(t *testing.T) {
	for _, c := range []struct {
		text     string
		declares bool
	}{
		{"function add(a: number, b: number) { return a + b }", true},
		{"async function load() { return (function () {})() }", true},
		{"function* all() { yield (() => 1)() };", true},
		{"function $1() {}", true},
		{"function main() { return 1 }", false},
		{"(function add() { return 1 })", false},
		{"async () => { return 1 }", false},
		{"return (function add() { return 1 })()", false},
		{"class A {}", false},
	} {
		p, problems := Compile("p.ts", c.text)
		if p == nil {
			t.Fatalf("%s: %v", c.text, problems)
		}
		in, _ := p.InSession("p.ts", nil)
		if declares := in.JS != p.JS; declares != c.declares {
			t.Errorf("%s becomes %s, outside of a session %s", c.text, in.JS, p.JS)
		}
		if c.declares && (strings.HasPrefix(in.JS, "return") || !strings.HasPrefix(p.JS, "return")) {
			t.Errorf("%s becomes %s", c.text, in.JS)
		}
		if line, column := in.Lookup(1, 1); c.declares && (line != 1 || column != 1) {
			t.Errorf("%s begins at %d:%d", c.text, line, column)
		}
	}
}

func TestAnEmptySessionSaysSo(t *testing.T) {
	p, _ := Compile("", "return x")
	if _, problems := p.InSession("program.ts",
		nil); len(problems) != 1 || !strings.Contains(problems[0].String(), "declared nothing") {
		t.Error(problems)
	}
}

func TestGlobalsAreTheGuests(t *testing.T) {
	guest, err := os.ReadFile("../sandbox/testdata/globals.txt")
	if err != nil {
		t.Fatal(err)
	}
	if string(guest) != globals {
		t.Error("analysis/globals.txt differs from sandbox/testdata/globals.txt: copy it")
	}
}
