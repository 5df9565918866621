package analysis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/internal/checktest"
)

// asWorker has the test binary read programs.
const asWorker = "read-programs"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asWorker {
		if err := Work(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func testWorkers(t testing.TB) *Workers {
	t.Helper()
	self, err := os.Executable()
	checktest.OK(t, err)
	w := NewWorkers(nil, self, asWorker)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// Each of these texts is read otherwise by our lexer than by esbuild, or costs
// esbuild more than its size lets expect. (Before, the first ended the process
// and the second never did.)
func costly() []struct{ name, text string } {
	deep, long := strings.Repeat("(", 250_000), strings.Repeat("a?(b):c=>", 40)+"d"
	return []struct{ name, text string }{
		{"a slash behind as void, and depth", "x as void /" + deep},
		{"a slash behind as void, and what is parsed twice", "x as void /1;y=" + long},
		{"a second line that begins with #!", "#!a\n#!'\nx=" + long + "'"},
		{"an arrow behind a comment at the start", "/**/-->'\nx=" + long + "'"},
		{"a decorator", "@a/'/1;class b{};y=" + long + "'"},
		{"a number that ends in an exponent", "07.e+/'/1;y=" + long + "'"},
		{"a slash behind an operator behind braces", "x={}--/'/1;y=" + long + "'"},
		{"a slash behind a block", "if(1){}/a//'/1;y=" + long + "'"},
		{"plain depth", deep},
		{"prefix operators", "x=" + strings.Repeat("~", 250_000) + "1"},
		{"blocks", strings.Repeat("{", 250_000)},
		{"depth behind a string", "x='" + strings.Repeat(")", 100) + "';" + deep},
		{"arrow functions inside each other", strings.Repeat("a=>", 40_000) + "1"},
		{"functions inside each other", strings.Repeat("function a(){", 9_000) + strings.Repeat("}", 9_000)},
		{"classes inside each other", strings.Repeat("class a{a(){", 9_000) + strings.Repeat("}}", 9_000)},
		{"loops inside each other", strings.Repeat("for(let a of b)", 9_000) + ";"},
		{"a namespace of many parts", "namespace a" + strings.Repeat(".a", 60_000) + "{}"},
		{"a sequence", "x=" + strings.Repeat("a,", 120_000) + "1"},
		{"comparisons that may be type arguments", "x=" + strings.Repeat("a<", 60_000) + "1"},
		{"the same with parentheses", "x=" + strings.Repeat("a<(b<", 40_000) + "1"},
		{"types that are inferred", "type x=" + strings.Repeat("a extends(infer b extends(", 40) + "c" +
			strings.Repeat(")?1:2)?1:2", 40)},
		{"types that are inferred, with escapes", "type x=" + strings.Repeat(`a extends(\u0069nfer b extends(`, 40) + "c" +
			strings.Repeat(")?1:2)?1:2", 40)},
		{"strings that are added up", "x=" + strings.Repeat("'a'+", 60_000) + "''"},
		{"members of enums that double", "enum a{b='b'," + doubling(60) + "}"},
		{"the same with templates", "enum a{b='b'," + strings.ReplaceAll(doubling(60), "+", "}${") + "}"},
		{"labels", "{" + numbered(30_000, "a%d:") + ";}"},
		{"names that nobody declared, in many blocks", strings.Repeat("{", 2_000) + numbered(20_000,
			"a%d;") + strings.Repeat("}", 2_000)},
		{"errors", "const a=1;" + strings.Repeat("a=1;super();", 20_000)},
		{"decorators", "class a{" + numbered(20_000, "@b c%d;") + "}"},
	}
}

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// doubling returns members of an enum, each the one before twice.
func doubling(n int) string {
	members := []string{"c0=b+b"}
	for i := range n {
		members = append(members, fmt.Sprintf("c%d=c%d+c%d", i+1, i, i))
	}
	return strings.Join(members, ",")
}

// The bound on what one text takes of this process is far below this; without
// one, most of the texts take minutes, or end the process.
const mostTime = 6 * time.Second

func TestNoTextTakesMoreThanItMay(t *testing.T) {
	workers := &Reader{Workers: testWorkers(t)}
	for _, tt := range costly() {
		t.Run(tt.name, func(t *testing.T) {
			if len(tt.text) > 256<<10 {
				t.Fatalf("the text has %d bytes, more than is accepted", len(tt.text))
			}
			before := processorTime()
			Compile("", tt.text)
			Compile("", "return 1;"+tt.text) // which may run unread
			if used := processorTime() - before; used > mostTime {
				t.Errorf("reading it in this process took %v", used)
			}
			before = processorTime()
			for range 2 {
				if _, _, err := workers.Compile(t.Context(), "", tt.text); err != nil {
					t.Fatal(err)
				}
			}
			if used := processorTime() - before; used > mostTime/3 {
				t.Errorf("having it read by a worker took %v of this process", used)
			}
			p, problems, err := workers.Compile(t.Context(), "", "return 1 // "+tt.name)
			if err != nil || len(problems) > 0 || p.JS != "return 1" {
				t.Errorf("after it, a plain text gives %v, %v, %v", p, problems, err)
			}
		})
	}
}

func TestTextsThatCannotBeRead(t *testing.T) {
	workers := testWorkers(t)
	deep := "x as void /" + strings.Repeat("(", 100_000)
	for _, tt := range []struct{ name, text, problem string }{
		{"one that is nested too deeply", deep, "nested too deeply"},
		{"one that takes too long", "x as void /1;y=" + strings.Repeat("a?(b):c=>", 40) + "d",
			"reading the program takes too long"},
		{"one that takes too much memory, or too long to take it", "x as void /1;enum a{b='bbbbbbbbbbbbbbbb'," +
			doubling(40) + "}", "reading the program takes too"},
		{"one that can only be the body of a function", "const y = " + deep, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, problems, err := workers.compile(t.Context(), source{"", tt.text})
			switch {
			case err != nil:
				t.Fatal(err)
			case tt.problem == "" && (p == nil || !p.Unread || p.JS != tt.text):
				t.Errorf("it does not run unread: %v", problems)
			case tt.problem != "" && (len(problems) != 1 || !strings.HasPrefix(problems[0].Message, tt.problem)):
				t.Errorf("got %v, want %q", problems, tt.problem)
			}
		})
	}
}

// A worker says what this process says, places and all.
func TestWorkersReadAsThisProcessDoes(t *testing.T) {
	workers := testWorkers(t)
	texts := []string{
		"", "return 1", "async () => 1+1", "{a: 1}", "const x = 1 y", "```ts\nreturn 1\n```", "\xff\xfe", "return '\xff'",
		typical,
		"import x from 'x'\nreturn x", "namespace N { export const a = 1 }\nif (N.a) return\nreturn codemode.a__b({n: N.a})",
		"const {a__b: f} = codemode; await f({x: [1, 'é']}); return codemode[k](...y)",
		"return " + strings.Repeat("1+", 5000) + "1",
	}
	for _, text := range texts {
		here, problemsHere := Compile("a.ts", text)
		p, problems, err := workers.compile(t.Context(), source{"a.ts", text})
		checktest.OK(t, err)
		if diff := cmp.Diff(fmt.Sprint(problemsHere), fmt.Sprint(problems)); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
		if here == nil || p == nil {
			continue
		}
		for _, diff := range []string{
			cmp.Diff(here.JS, p.JS), cmp.Diff(here.Calls, p.Calls), cmp.Diff(here.Dynamic, p.Dynamic),
			cmp.Diff(here.Unawaited, p.Unawaited), cmp.Diff(here.Unread, p.Unread),
		} {
			if diff != "" {
				t.Errorf("%q:\n%s", text, diff)
			}
		}
		for at := range len(here.JS) + 1 {
			line, column := here.Lookup(1, at)
			if l, c := p.Lookup(1, at); l != line || c != column {
				t.Errorf("%q: byte %d of the JavaScript comes from %d:%d and from %d:%d", text, at, line, column, l, c)
			}
		}
	}
}

func TestWorkersThatDieAreReplaced(t *testing.T) {
	workers := testWorkers(t)
	workers.Start()
	p := workers.idle[0]
	p.kill()
	<-p.ended
	if _, problems, err := workers.compile(t.Context(), source{"", "return 1"}); err != nil || len(problems) > 0 {
		t.Errorf("got %v, %v", problems, err)
	}
}

func TestWorkersStopWithTheirContext(t *testing.T) {
	workers := testWorkers(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	text := "x as void /1;y=" + strings.Repeat("a?(b):c=>", 40) + "d"
	if _, _, err := workers.compile(ctx, source{"", text}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, problems, err := workers.compile(t.Context(), source{"", "return 1"}); err != nil || len(problems) > 0 {
		t.Errorf("afterwards: %v, %v", problems, err)
	}
}

func TestWorkersInParallel(t *testing.T) {
	r := &Reader{Workers: testWorkers(t)}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				text := fmt.Sprintf("return codemode.a__b(%d)", i*100+j)
				p, problems, err := r.Compile(t.Context(), "", text)
				if err != nil || len(problems) > 0 || len(p.Calls) != 1 || string(p.Calls[0].Args) != fmt.Sprint(i*100+j) {
					t.Errorf("%s: got %v, %v, %v", text, p, problems, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestWorkersAreClosed(t *testing.T) {
	workers := testWorkers(t)
	workers.Start()
	p := workers.idle[0]
	for range 2 {
		if err := workers.Close(); err != nil {
			t.Error(err)
		}
	}
	<-p.ended
	if _, _, err := workers.compile(t.Context(), source{"", "return 1"}); err == nil {
		t.Error("closed workers read")
	}
}

// Without workers, this process reads what it safely can, and says why.
func TestWorkersThatCannotStart(t *testing.T) {
	var log strings.Builder
	r := &Reader{Workers: NewWorkers(slog.New(slog.NewTextHandler(&log, nil)), "/nowhere/codemode", "read")}
	for i := range 3 {
		if _, problems, err := r.Compile(t.Context(), "", fmt.Sprint("return ", i)); err != nil || len(problems) > 0 {
			t.Errorf("got %v, %v", problems, err)
		}
	}
	if n := strings.Count(log.String(), "/nowhere/codemode"); n != 1 {
		t.Errorf("it was told %d times:\n%s", n, log.String())
	}
	if _, problems, _ := r.Compile(t.Context(), "", "x as void /"+strings.Repeat("(", 100_000)); len(problems) != 1 {
		t.Errorf("got %v", problems)
	}
}
