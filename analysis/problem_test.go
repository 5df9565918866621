package analysis

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/internal/checktest"
)

var update = flag.Bool("update", false, "rewrite testdata/problems.txt with what the problems are now")

// testdata/problems.txt holds texts that cannot run and what people are told:
// "# why" a case exists, the text, "----", the problems, "====".
func TestProblemsAsPeopleSeeThem(t *testing.T) {
	const file = "testdata/problems.txt"
	data, err := os.ReadFile(file)
	checktest.OK(t, err)
	var all strings.Builder
	for i, c := range strings.Split(strings.TrimSuffix(string(data), "====\n"), "====\n") {
		text, want, ok := strings.Cut(c, "----\n")
		why, text, isCase := strings.Cut(text, "\n")
		if !ok || !isCase || !strings.HasPrefix(why, "# ") {
			t.Fatalf("%s: case %d is not of the form: # why, text, ----, problems, ====", file, i+1)
		}
		_, problems := Compile("report.ts", text)
		var got strings.Builder
		for _, p := range problems {
			fmt.Fprintln(&got, p)
		}
		fmt.Fprintf(&all, "%s\n%s----\n%s====\n", why, text, got.String())
		if diff := cmp.Diff(want, got.String()); diff != "" && !*update {
			t.Errorf("%s\n%s\n-want +got\n%s", why, text, diff)
		}
	}
	if *update {
		checktest.OK(t, os.WriteFile(file, []byte(all.String()), 0o644))
	}
}

func TestProblemsAreInTheTextThatWasSubmitted(t *testing.T) {
	for _, test := range []struct {
		name string
		text string
		want Position
		len  int
	}{
		{"a word", "const x = 1 y", Position{1, 13}, 1},
		{"behind characters of four bytes", "const s = '😀😀' y", Position{1, 16}, 1},
		{"behind characters of two units in an expression", "f('😀', 'é' y)", Position{1, 12}, 1},
		{"in a fence", "```ts\nconst x = 1 y\n```", Position{2, 13}, 1},
		{"behind white space and a mark", "\ufeff\n\n  const x = 1 y", Position{3, 15}, 1},
		{"behind a hashbang", "#!/bin/x\nconst x = 1 y", Position{2, 13}, 1},
		{"behind Windows lines", "const a = 1\r\n\r\nconst x = 1 y", Position{3, 13}, 1},
		{"behind a type that was taken out", "import type {A} from 'a'; const x = 1 y", Position{1, 39}, 1},
		{"behind a namespace", "namespace N {}\nreturn 1 y", Position{2, 10}, 1},
		{"at the end", "return [1, 2", Position{1, 13}, 0},
		{"at the end of a fence", "```\nreturn [1, 2 // more\n```", Position{2, 13}, 0},
		{"an import", "f()\n  import a from 'a'", Position{2, 3}, 6},
		{"a bracket", "return 1 }", Position{1, 10}, 1},
	} {
		_, problems := Compile("", test.text)
		if len(problems) != 1 {
			t.Errorf("%s: got %v, want one problem", test.name, problems)
			continue
		}
		if p := problems[0]; p.Position != test.want || p.Length != test.len {
			t.Errorf("%s: got %v with length %d, want %v with length %d\n%v", test.name, p.Position, p.Length, test.want,
				test.len, p)
		}
	}
}

func TestProblemsShowNothingThatActs(t *testing.T) {
	_, problems := Compile("", "const a = '\u202e\x1b[31m' \u00adb \u200b;")
	if len(problems) != 1 {
		t.Fatalf("got %v, want one problem", problems)
	}
	want := "program.ts:1:20: expected \";\" but found \"\\u00ad\"\n    const a = '\\u{202e}\\u{1b}[31m' \\u{ad}b \\u{200b};\n" + strings.Repeat(" ", 35) + "^^^^^^"
	if diff := cmp.Diff(want, problems[0].String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestLongLinesAreCut(t *testing.T) {
	_, problems := Compile("", "return ["+strings.Repeat("1, ", 1000)+"+, "+strings.Repeat("2, ", 1000)+"]")
	if len(problems) != 1 {
		t.Fatalf("got %v, want one problem", problems)
	}
	got := problems[0]
	if got.Column != 3010 || len(got.Source) > 2*maxSource {
		t.Errorf("got column %d and %d bytes of source, want column 3010 and less than %d", got.Column, len(got.Source),
			2*maxSource)
	}
	line, carets, _ := strings.Cut(strings.SplitN(got.String(), "\n", 2)[1], "\n")
	if at := strings.Index(carets, "^"); []rune(line)[at] != ',' {
		t.Errorf("the caret points elsewhere:\n%s", got)
	}
}

func TestOnlyTheFirstProblemsAreReported(t *testing.T) {
	_, problems := Compile("", strings.Repeat("let a\n", 50))
	if len(problems) != maxProblems {
		t.Errorf("got %d problems, want %d", len(problems), maxProblems)
	}
	_, problems = Compile("", strings.Repeat("import 'a'\n", 50))
	if len(problems) != maxProblems {
		t.Errorf("got %d problems, want %d", len(problems), maxProblems)
	}
}
