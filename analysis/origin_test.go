package analysis

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// A place in the JavaScript leads back to the text. Each text has one boom.
func TestLookup(t *testing.T) {
	for _, test := range []struct{ name, text string }{
		{"a body", "const x = 1\n\nreturn boom(x)"},
		{"a value", "  1 +\n boom()"},
		{"a function", "async () => {\n  const x = 1\n  throw boom(x)\n}"},
		{"a named function", "async function main() {\n  boom()\n}"},
		{"a function behind types", "interface A {\n  b: string\n}\n\nasync (x: A) => {\n  boom() }"},
		{"types in front", "const x: Map<string, number> = f<A>(1), y = boom as any; return y"},
		{"an object", "{\n  a: 1,\n  b: boom\n}"},
		{"characters of two, three and four bytes", "const s = 'é', t = '€', u = '😀'; return boom(s, t, u)"},
		{"a long line", strings.Repeat("f('é😀'); ", 500) + "return boom()"},
		{"many lines", strings.Repeat("f('é😀')\n", 500) + "  return boom()"},
		{"behind a template of several lines", "const x = `a\n  b ${1} 😀\n c`; return boom"},
		{"inside of a template", "return `a\n  b\n ${ boom }`"},
		{"a fence", "```ts\nconst x = 1\n  return boom(x)\n```"},
		{"a byte order mark and white space", "\ufeff \n\t  return  boom()"},
		{"Windows lines", "const x = 1\r\nconst y = `\r\n`\r\nreturn boom()"},
		{"behind an enum", "enum A { B = 'b', C }\n return boom(A.B)"},
		{"in a namespace", "namespace N { export const a = boom }\nreturn 1"},
		{"behind returns in a file", "namespace N {}\nif (a) return; if (b) return 1; await 1; if (c) { return boom }"},
		{"behind decorators", "@log class A { @log x = 1 }\n return  boom"},
		{"in a decorated class", "@log class A {\n  @log m() { return boom } }\n return A"},
		{"behind a comment", "/* é\n 😀 */ return boom // x"},
		{"a comment that claims to be a source map",
			"//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbImEiXSwibWFwcGluZ3MiOiJBQUFBIiwibmFtZXMiOltdfQ==\nconst x = 1\nreturn boom(x)"},
		{"a comment that claims it twice",
			"/* sourceMappingURL=\n//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbImEiXSwibWFwcGluZ3MiOiJBQUFBIiwibmFtZXMiOltdfQ== */\nconst x = 1\nreturn boom(x)"},
		{"behind imports of types", "import type {A} from 'a'\nimport {type B} from 'b'\nreturn boom"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, problems := Compile("", test.text)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			at := strings.Index(p.JS, "boom")
			if at < 0 || strings.Count(test.text, "boom") != 1 {
				t.Fatalf("there has to be one boom:\n%s\n%s", test.text, p.JS)
			}
			lineStart := strings.LastIndexByte(p.JS[:at], '\n') + 1
			line, column := p.Lookup(strings.Count(p.JS[:at], "\n")+1, at-lineStart+1)

			before := strings.ReplaceAll(test.text[:strings.Index(test.text, "boom")], "\r\n", "\n")
			want := Position{strings.Count(before, "\n") + 1,
				utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1}
			if got := (Position{line, column}); got != want {
				t.Errorf("got %v, want %v\n%s\n%s", got, want, test.text, p.JS)
			}
		})
	}
}

func TestLookupOfPlacesThatAreNot(t *testing.T) {
	p, problems := Compile("", "const x = 1\nreturn boom(x)")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, at := range []Position{{0, 0}, {-1, -1}, {1, 1}, {1, 1 << 30}, {1 << 30, 1}, {2, 5}, {7, 7}} {
		line, column := p.Lookup(at.Line, at.Column)
		if line < 1 || line > 2 || column < 1 || column > 15 {
			t.Errorf("%v became %d:%d, which is not in the text", at, line, column)
		}
	}
}

func TestDecodeMappings(t *testing.T) {
	for _, test := range []struct {
		mappings string
		want     []segment
	}{
		{"", []segment{}},
		{"AAAA", []segment{{0, 0, 0, 0}}},
		{"AAAA,IAAI", []segment{{0, 0, 0, 0}, {0, 4, 0, 4}}},
		{";;AACA,GAAGA;A", []segment{{2, 0, 1, 0}, {2, 3, 1, 3}}},
		{"gBAAgB,DAAD", []segment{{0, 16, 0, 16}, {0, 15, 0, 15}}},
		{"AAA!", []segment{}},
		{"AAAA,g", []segment{{0, 0, 0, 0}}},
		{"gggggggggg", []segment{}},
	} {
		if diff := cmp.Diff(test.want, decode(test.mappings), cmp.AllowUnexported(segment{})); diff != "" {
			t.Errorf("%q: -want +got\n%s", test.mappings, diff)
		}
	}
}

func TestIndex(t *testing.T) {
	text := strings.Repeat("aé€😀", 100) + "\n" + strings.Repeat("😀", 300) + "\r\nx\ry\u2028z\xff\xfeend"
	x := newIndex(text)
	line, column, units := 0, 1, 0
	for i, r := range text {
		if got, want := x.position(i), (Position{line + 1, column}); got != want {
			t.Fatalf("at byte %d: got %v, want %v", i, got, want)
		}
		if got := x.offset(line, units); got != i {
			t.Fatalf("line %d, unit %d: got byte %d, want %d", line, units, got, i)
		}
		column++
		units += len(string([]rune{r})) / 4 // one more for four bytes
		units++
		switch {
		case r == '\n', r == '\r' && text[i+1] != '\n', r == '\u2028':
			line, column, units = line+1, 1, 0
		}
	}
	if got, want := x.position(len(text)+5), x.position(len(text)); got != want {
		t.Errorf("behind the end: got %v, want %v", got, want)
	}
	if got := newIndex("").position(0); got != (Position{1, 1}) {
		t.Errorf("in nothing: got %v", got)
	}
}
