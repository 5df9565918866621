package analysis

import (
	"strings"
	"testing"
)

// A text that is too much for esbuild is run as it is, if it can only be the
// body of a function.
func TestUnread(t *testing.T) {
	long := strings.Repeat("1+", 5000) + "1"
	for _, tt := range []struct {
		name, text, js string // js is "" where there is a problem
	}{
		{"a long sum", "return " + long, "return " + long},
		{"behind comments", "// a sum\n/* of ones */ return " + long, "// a sum\n/* of ones */ return " + long},
		{"in a fence", "```js\nreturn " + long + "\n```", "return " + long},
		{"deep data", "const a = " + strings.Repeat("[", 300) + strings.Repeat("]", 300),
			"const a = " + strings.Repeat("[", 300) + strings.Repeat("]", 300)},
		{"an expression, of which the value would be lost", long, ""},
		{"a function, which nobody would call", "async () => " + long, ""},
		{"an import, which would be a mistake in any case", "import x from 'x'; return " + long, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, problems := Compile("", tt.text)
			if tt.js == "" {
				if len(problems) == 0 {
					t.Errorf("it may run: %.60q", p.JS)
				}
				return
			}
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if strings.TrimSpace(p.JS) != tt.js || !p.Unread || len(p.Dynamic) != 1 {
				t.Errorf("got %.60q, unread %v, dynamic %v", p.JS, p.Unread, p.Dynamic)
			}
		})
	}
}

func TestPositionsInUnreadText(t *testing.T) {
	p, problems := Compile("", "```js\nconst é = 1;\nreturn "+strings.Repeat("1+", 5000)+"1\n```")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	lead := strings.Count(p.JS[:strings.Index(p.JS, "const")], "\n")
	for _, tt := range []struct{ line, column, wantLine, wantColumn int }{
		{1, 1, 2, 1}, {1, 9, 2, 8}, {2, 1, 3, 1}, {2, 8, 3, 8},
	} {
		if line, column := p.Lookup(tt.line+lead, tt.column); line != tt.wantLine || column != tt.wantColumn {
			t.Errorf("%d:%d came from %d:%d, want %d:%d", tt.line, tt.column, line, column, tt.wantLine, tt.wantColumn)
		}
	}
}
