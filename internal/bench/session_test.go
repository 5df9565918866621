package bench

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/sandbox"
)

// A session of TypeScript programs, as analysis reads them and the sandbox runs them: what one declares the next one
// has, positions are those of the texts, and a name that nobody declared fails before anything runs.
func TestASessionOfTypeScript(t *testing.T) {
	e, err := sandbox.New(t.Context(), sandbox.Options{CacheDir: t.TempDir()})
	checktest.OK(t, err)
	defer e.Close(context.Background())
	s, err := e.NewSession("anna")
	checktest.OK(t, err)
	defer s.Close()
	var programs []*analysis.Program
	for _, step := range []struct{ text, want string }{
		{"enum Color { Red, Green = 5 }\nnamespace Shapes { export const sides = 4 }\ntype Row = { id: number }\n" +
			"const rows: Row[] = [{ id: 1 }]\nabstract class Base { protected abstract n: number }\nfunction fail(): " +
			"never {\n\tthrow new TypeError('here')\n}",
			"undefined"},
		{"rows.push({ id: Color.Green } as { id: number })\nreturn [Color[0], rows.length, Shapes.sides]", `["Red",2,4]`},
		{"rows.map(r => r.id)", "[1,5]"},
		{"const first = row[0]", "program.ts:1:15: nothing declares row"},
		{"enum Color { Blue = 7 }\nreturn [Color.Blue, Object.keys(Color).length]", "[7,2]"},
		{"const log: string[] = []\nfunction logged(c: any, " +
			"context: ClassDecoratorContext) { log.push(String(context.name)) }\n@logged class Marked {}\nreturn log",
			`["Marked"]`},
		{"let total: number = 0\nfor await (const r of rows) total += r.id\n\n fail()", "TypeError: here at 4:2, " +
			"in program 1 at 7:12"},
		{"return [total, new Marked() instanceof Marked, log.length]", "[6,true,1]"},
	} {
		names, err := s.Names(t.Context())
		checktest.OK(t, err)
		var known []string
		for _, n := range names {
			known = append(known, n.Name)
		}
		if got := tellSession(t, s, &programs, known, step.text); got != step.want && !strings.HasPrefix(got, step.want+":") {
			t.Errorf("%s\ngives %s, want %s", step.text, got, step.want)
		}
	}
}

// tellSession gives the next program to a session, and says what came of it.
func tellSession(t *testing.T, s *sandbox.Session, programs *[]*analysis.Program, known []string, text string) string {
	p, problems := analysis.Compile("program.ts", text)
	if p == nil {
		t.Fatal(problems)
	}
	if _, problems = p.InSession("program.ts", known); len(problems) > 0 {
		return strings.SplitN(problems[0].String(), "\n", 2)[0]
	}
	*programs = append(*programs, p)
	earlier := ""
	res, err := s.Run(t.Context(), sandbox.Program{Source: p.JS, Lookup: p.Lookup, Earlier: func(n, line,
		column int) (int, int) {
		line, column = (*programs)[n-1].Lookup(line, column)
		earlier = ", in program " + jsonOf(n) + " at " + jsonOf(line) + ":" + jsonOf(column)
		return line, column
	}}, nil)
	var e *sandbox.Error
	switch {
	case errors.As(err, &e):
		return e.Error() + " at " + jsonOf(e.Pos.Line) + ":" + jsonOf(e.Pos.Column) + earlier
	case err != nil:
		t.Fatal(err)
	case res.Value == nil:
		return "undefined"
	}
	return string(res.Value)
}

func jsonOf(v any) string { b, _ := json.Marshal(v); return string(b) }
