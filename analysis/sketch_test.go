package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOutlineOfArguments(t *testing.T) {
	for _, test := range []struct {
		name string
		args string // of the call
		want string // shown, unknown places, open places
	}{
		{"a name", `unknown`, `null unknown=[""]`},
		{"a call", `f()`, `null unknown=[""]`},
		{"spread arguments", `...unknown`, `null unknown=[""]`},
		{"a function", `() => 1`, `null unknown=[""]`},
		{"one unknown member", `{path: "/etc/x", content: text}`, `{"path":"/etc/x","content":null} unknown=["/content"]`},
		{"an unknown shorthand", `{path: "a", content}`, `{"path":"a","content":null} unknown=["/content"]`},
		{"unknown inside", `{a: {b: [1, f(), {c: x}]}, d: 2}`,
			`{"a":{"b":[1,null,{"c":null}]},"d":2} unknown=["/a/b/1" "/a/b/2/c"]`},
		{"a sum", `{n: 1 + m}`, `{"n":null} unknown=["/n"]`},
		{"a template with a value", "{path: `/tmp/${name}`}", `{"path":null} unknown=["/path"]`},
		{"a key with a slash", `{"a/b~c": x}`, `{"a/b~c":null} unknown=["/a~1b~0c"]`},
		{"an array with a spread", `{list: [1, ...more]}`, `{"list":null} unknown=["/list"]`},
		{"a hole", `[1, , x]`, `[1,null,null] unknown=["/2"]`},
		{"a spread in front", `{...base, path: "a"}`, `{"path":"a"} open=[""]`},
		{"a spread behind may change all", `{path: "a", ...base}`, `{"path":null} unknown=["/path"] open=[""]`},
		{"a spread between", `{path: "a", ...base, mode: 1}`, `{"path":null,"mode":1} unknown=["/path"] open=[""]`},
		{"a spread inside", `{o: {...base, x: 1}, y: 2}`, `{"o":{"x":1},"y":2} open=["/o"]`},
		{"an unknown key", `{path: "a", [key]: 1}`, `{"path":null} unknown=["/path"] open=[""]`},
		{"a method", `{path: "a", m() {}}`, `{"path":"a","m":null} unknown=["/m"]`},
		{"a method that says what is sent", `{path: "a", toJSON() {}}`, `null unknown=[""]`},
		{"a function that says what is sent", `{o: {toJSON: () => 1}, path: "a"}`, `{"o":null,"path":"a"} unknown=["/o"]`},
		{"a value that may say what is sent", `{path: "a", toJSON: x}`, `null unknown=[""]`},
		{"a text of that name", `{path: x, toJSON: "a"}`, `{"path":null,"toJSON":"a"} unknown=["/path"]`},
		{"a getter", `{get path() { return "b" }, mode: 1}`, `{"path":null,"mode":1} unknown=["/path"]`},
		{"a prototype", `{__proto__: base, path: "a"}`, `null unknown=[""]`},
		{"undefined members are left out", `{a: undefined, b: x}`, `{"b":null} unknown=["/b"]`},
		{"the last of a key counts", `{a: x, a: 1, b: y}`, `{"a":1,"b":null} unknown=["/b"]`},
		{"keys that are numbers come first", `{b: x, 1: 2}`, `{"1":2,"b":null} unknown=["/b"]`},
		{"a constant object with an unknown member", `partly`, `{"path":"p","content":null} unknown=["/content"]`},
		{"a constant in it", `{path: known, content: x}`, `{"path":"p","content":null} unknown=["/content"]`},
		{"an object that was changed", `changed`, `null unknown=[""]`},
		{"an object that was handed on", `{o: lent, x}`, `{"o":null,"x":null} unknown=["/o" "/x"]`},
		{"the inside of an object that was read", `inner`, `{"a":null,"b":"c"} unknown=["/a"]`},
		{"half a character", `{a: "\ud800", b: 1}`, `{"a":null,"b":1} unknown=["/a"]`},
		{"a BigInt", `{a: 1n, b: 1}`, `{"a":null,"b":1} unknown=["/a"]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, problems := Compile("",
				"const known = 'p', partly = {path: 'p', content: f()}, changed = {a: f()}, lent = {a: 1}, inner = {a: {x: 1}, b: 'c'};\n"+
					"changed.a = 2; f(lent); const away = inner.a; f(away);\nawait codemode.a__b("+test.args+"); return 1")
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			c := p.Calls[0]
			if c.Args != nil || c.Outline == nil {
				t.Fatalf("args %s, outline %v", c.Args, c.Outline)
			}
			got := string(c.Outline.Shown)
			if c.Outline.Unknown != nil {
				got += fmt.Sprintf(" unknown=%q", c.Outline.Unknown)
			}
			if c.Outline.Open != nil {
				got += fmt.Sprintf(" open=%q", c.Outline.Open)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestOutlineIsBounded(t *testing.T) {
	deep := strings.Repeat("{a: [", 60) + "x" + strings.Repeat("]}", 60)
	wide := "{list: [" + strings.Repeat("x, ", 100_000) + "]}"
	twice := "const a0 = {s: '" + strings.Repeat("x", 1000) + "'};"
	for i := range 40 {
		twice += fmt.Sprintf("const a%d = {l: a%d, r: a%d, u: f()};", i+1, i, i)
	}
	for name, text := range map[string]string{
		"deep":     "await codemode.a__b(" + deep + ")",
		"wide":     "await codemode.a__b(" + wide + ")",
		"doubling": twice + "await codemode.a__b(a40)",
		"many":     strings.Repeat("await codemode.a__b({s: '"+strings.Repeat("y", 500)+"', u: f()});", 4000),
	} {
		t.Run(name, func(t *testing.T) {
			p, problems := Compile("", text)
			if len(problems) > 0 {
				return // refused as a whole
			}
			total := 0
			for _, c := range p.Calls {
				if c.Outline != nil {
					total += len(c.Outline.Shown)
				}
			}
			if total > 2*maxLiterals {
				t.Errorf("%d bytes of outlines", total)
			}
		})
	}
}
