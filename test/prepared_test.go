package codemode_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/internal/runs"
)

// The value of a program as a Go value, or what it returned instead.
func TestEvalIntoAType(t *testing.T) {
	t.Parallel()
	e := open(t, shopRules, embeds(newShop().server()))
	done, r, err := codemode.Eval[orderDone](t.Context(), e,
		codemode.Request{Unrestricted: true, Code: `return await codemode.shop.order({article: "A", count: 1})`})
	if err != nil || done.Number != 9007199254740993 || r.Run == "" || len(r.Calls) != 1 {
		t.Errorf("got %+v, %+v, %v", done, r, err)
	}
	for _, row := range []struct {
		why, code string
		eval      func(codemode.Request) (any, *codemode.Response, error)
		want      any
		err       string
	}{
		{"a list", `return [1, 2.5]`, evalTo[[]float64](t, e), []float64{1, 2.5}, ""},
		{"anything", `return {a: null}`, evalTo[any](t, e), map[string]any{"a": nil}, ""},
		{"nothing, for a pointer", `return`, evalTo[*int](t, e), (*int)(nil), ""},
		{"nothing, for a number", `return`, evalTo[int](t, e), 0,
			"the program returned nothing (its value is what it passes to return), want an integer (int)"},
		{"another type deep inside", `return {lines: ["a", 7]}`, evalTo[orderDone](t, e), orderDone{},
			`the program returned 7 at /lines/1, want a string`},
		{"a long number for a float", `return [9007199254740993n]`, evalTo[[]any](t, e), []any(nil),
			`the program returned 9007199254740993 at /0, want a number that a float64 holds (json.Number, int64 and *big.Int hold more)`},
		{"an exception", `throw new Error("no")`, evalTo[int](t, e), 0, "no"},
	} {
		t.Run(row.why, func(t *testing.T) {
			got, r, err := row.eval(codemode.Request{Unrestricted: true, Code: row.code})
			if r == nil || !reflect.DeepEqual(got, row.want) || row.err == "" && err != nil ||
				row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)) {
				t.Errorf("got %#v, %v", got, err)
			}
			if _, ok := errors.AsType[*codemode.ValueError](err); ok != strings.HasPrefix(row.err, "the program returned") {
				t.Errorf("the error is a %T", err)
			}
		})
	}
	if err := r.Decode(done); err == nil || !strings.Contains(err.Error(), "needs a pointer") {
		t.Errorf("without a pointer: %v", err)
	}
	if _, r, err := codemode.Eval[int](t.Context(), e, codemode.Request{Profile: "unknown"}); err == nil || r == nil {
		t.Errorf("a profile that does not exist: %v, %v", r, err)
	}
}

func evalTo[T any](t *testing.T, e *codemode.Evaluator) func(codemode.Request) (any, *codemode.Response, error) {
	return func(r codemode.Request) (any, *codemode.Response, error) {
		v, response, err := codemode.Eval[T](t.Context(), e, r)
		return v, response, err
	}
}

// A prepared program runs under the rules of each moment, with a run of its own each time.
func TestPrepare(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "codemode.json")
	if err := os.WriteFile(path, []byte(shopRules), 0o600); err != nil {
		t.Fatal(err)
	}
	e := open(t, "", embeds(newShop().server()), func(o *codemode.Options) { o.ConfigPath, o.Root = path, "" })
	p, err := e.Prepare(t.Context(), codemode.Request{Unrestricted: true, Principal: "anna",
		Code: `const n: number = input.n; return [n, await codemode.shop.price({article: "A"}).catch(e => e.reason)]`})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	run := func(n int, want string) {
		t.Helper()
		r, err := p.Run(t.Context(), fmt.Appendf(nil, `{"n":%d}`, n))
		if err != nil || string(r.Value) != want || names[r.Run] {
			t.Errorf("run %s: got %s, %v, want %s", r.Run, r.Value, err, want)
		}
		names[r.Run] = true
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			r, err := p.Run(t.Context(), json.RawMessage(`{"n":1}`))
			if err != nil || string(r.Value) != `[1,2.5]` {
				t.Errorf("at once: got %s, %v", r.Value, err)
			}
		})
	}
	group.Wait()
	run(1, `[1,2.5]`)
	changed := make(chan struct{}, 10)
	defer e.Subscribe(func() { changed <- struct{}{} })()
	if err := os.WriteFile(path, []byte(strings.Replace(shopRules, "allowlist", "denylist", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	<-changed
	run(2, `[2,"denied"]`)
	recorded := map[string]bool{}
	for _, entry := range e.Record().Journal().Entries() {
		recorded[entry.Run] = true
	}
	for name := range names {
		if !recorded[name] {
			t.Errorf("the record has no call of run %s", name)
		}
	}
	// A run may differ in its request, even in its program.
	r, err := p.Run(t.Context(), nil, func(r *codemode.Request) { r.Code = "return [input, 1]" })
	if err != nil || string(r.Value) != `[null,1]` {
		t.Errorf("with another program: got %s, %v", r.Value, err)
	}
	for _, row := range []struct {
		r    codemode.Request
		want string
	}{
		{codemode.Request{Unrestricted: true, Code: `return ]`}, "program.ts:1:8"},
		{codemode.Request{Unrestricted: true, Code: `return 1`, Profile: "unknown"}, "unknown"},
		{codemode.Request{Unrestricted: true, Code: strings.Repeat(" ", 300<<10)}, "the program has 307200 bytes, the limit is 262144"},
	} {
		before := len(e.Record().Journal().Entries())
		p, err := e.Prepare(t.Context(), row.r)
		_, same := e.Eval(t.Context(), row.r)
		if p != nil || err == nil || !strings.Contains(err.Error(), row.want) || err.Error() != same.Error() {
			t.Errorf("Prepare says %v, Eval %v", err, same)
		}
		if n := len(e.Record().Journal().Entries()); n > before+1 {
			t.Errorf("%d entries, want those of Eval alone", n-before)
		}
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if r, err := p.Run(t.Context(), nil); !errors.Is(err, runs.ErrClosed) || r == nil {
		t.Errorf("after Close: %v, %v", r, err)
	}
}

// A saved program that was prepared runs as its file is: a person may have changed it, or taken it away.
func TestPreparedSavedPrograms(t *testing.T) {
	t.Parallel()
	e, root := saved(t, map[string]string{"double.ts": "return input * 2"},
		`{"folder": ".", "pattern": "*.ts", "input": {"type": "number"}}`)
	p, err := e.Prepare(t.Context(), codemode.Request{Script: "double.ts"})
	if err != nil {
		t.Fatal(err)
	}
	run := func(input, want string) {
		t.Helper()
		r, err := p.Run(t.Context(), json.RawMessage(input))
		if got := string(r.Value) + fmt.Sprint(err); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	run(`2`, `4<nil>`)
	run(`"2"`, `a number`)
	path := filepath.Join(root, "double.ts")
	if err := os.WriteFile(path, []byte("return input * 3"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(`2`, `6<nil>`)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	run(`2`, `it cannot be found`)
}

// BenchmarkPrepared compares a program that is sent anew each time with one that was prepared.
func BenchmarkPrepared(b *testing.B) {
	const code = `const n: number = input.n; return n * 2`
	e := openBench(b)
	run := func(name string, f func(int) (*codemode.Response, error)) {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if r, err := f(i); err != nil {
					b.Fatal(r.Text(err))
				}
			}
		})
	}
	input := []byte(`{"n":7}`)
	p, err := e.Prepare(b.Context(), codemode.Request{Unrestricted: true, Code: code})
	if err != nil {
		b.Fatal(err)
	}
	run("prepared", func(int) (*codemode.Response, error) { return p.Run(b.Context(), input) })
	run("the same text", func(int) (*codemode.Response, error) {
		return e.Eval(b.Context(), codemode.Request{Unrestricted: true, Code: code, Input: input})
	})
	run("another text", func(i int) (*codemode.Response, error) {
		return e.Eval(b.Context(), codemode.Request{Unrestricted: true, Code: fmt.Sprintf("const run = %d; %s", i, code), Input: input})
	})
}
