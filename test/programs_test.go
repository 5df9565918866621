package codemode_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/sandbox"
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
	must(t, os.WriteFile(path, []byte(shopRules), 0o600))
	e := open(t, "", embeds(newShop().server()), func(o *codemode.Options) { o.ConfigPath, o.Root = path, "" })
	p, err := e.Prepare(t.Context(), codemode.Request{Unrestricted: true, Principal: "anna",
		Code: `const n: number = input.n; return [n, await codemode.shop.price({article: "A"}).catch(e => e.reason)]`})
	must(t, err)
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
	must(t, os.WriteFile(path, []byte(strings.Replace(shopRules, "allowlist", "denylist", 1)), 0o600))
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
	must(t, err)
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
	must(t, os.WriteFile(path, []byte("return input * 3"), 0o600))
	run(`2`, `6<nil>`)
	must(t, os.Remove(path))
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

// saved opens an Evaluator with saved programs in a folder of their own; allow are the rules.
func saved(t *testing.T, files map[string]string, allow string, change ...func(*codemode.Options)) (*codemode.Evaluator,
	string) {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	config := fmt.Sprintf(`{"scripts": {"root": %q, "allow": [%s]}, "evaluation": {"defaultProfile": "p", "profiles": {
		"p": {"allowlist": ["time__*"]},
		"files": {"allowlist": ["filesystem__*"], "limits": {"calls": 3}},
		"checked": {"allowlist": ["time__*"], "requirePreflight": true}}}}`, root, allow)
	return open(t, config, change...), root
}

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TestS49SavedPrograms is FEATURES.md S4.9.
func TestS49SavedPrograms(t *testing.T) {
	const pinned = "// Says what day it is.\nreturn (await codemode.time__now({})).timezone"
	const listing = "return (await codemode.filesystem__list_directory({path: input.dir})).length ?? 'listed'"
	e, root := saved(t, map[string]string{
		"day.ts": pinned, "team/list.ts": listing, "team/own/deep.ts": "return 1", "team/notes.txt": "return 1",
		"free.ts":  "return input",
		"loose.js": "return 1", "checked.ts": "return 1",
		"busy.ts": "for (let i = 0; i < 9; i++) await codemode.filesystem__list_directory({path: '.'})",
	}, `{"file": "day.ts", "sha256": "`+sha(pinned)+`"},
		{"folder": "team", "pattern": "*.ts", "profile": "files", "input": {"type": "object", "properties": {"dir": {"type": "string"}}, "required": ["dir"], "additionalProperties": false}},
		{"folder": ".", "pattern": "free.ts", "input": true},
		{"folder": ".", "pattern": "checked.ts", "profile": "checked"},
		{"folder": ".", "pattern": "busy.ts", "profile": "files", "limits": {"calls": 100}}, {"folder": "missing", "pattern": "*"}`)
	for link, target := range map[string]string{"team/out.ts": "../../etc/x.ts",
		"team/abs.ts": filepath.Join(t.TempDir(), "x.ts"), "team/dir.ts": "own"} {
		if filepath.IsAbs(target) {
			must(t, os.WriteFile(target, []byte("return 'from outside'"), 0o600))
		}
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}

	for _, tt := range []struct {
		name, input string
		want        string // the value, or part of the error
	}{
		{"day.ts", ``, `"UTC"`},
		{"day.ts", `null`, `"UTC"`},
		{"day.ts", `{"x":1}`, "takes no input"},
		{"team/list.ts", `{"dir":"."}`, `"listed"`},
		{"team/list.ts", `{"dir":1}`, "its input does not fit: /dir: expected a string"},
		{"team/list.ts", `{"dir":".","more":1}`, "its input does not fit: /more"},
		{"team/list.ts", ``, "its input does not fit: as a whole"},
		{"free.ts", `[1,{"a":2}]`, `[1,{"a":2}]`},
		{"free.ts", `null`, `null`},
		{"team/own/deep.ts", ``, "nobody allowed it"},
		{"team/notes.txt", ``, "nobody allowed it"},
		{"loose.js", ``, "nobody allowed it"},
		{"team/out.ts", `{"dir":"."}`, "is not inside the root"},
		{"team/abs.ts", `{"dir":"."}`, "is not inside the root"},
		{"team/dir.ts", `{"dir":"."}`, "it is no file"},
		{"../day.ts", ``, "a path below the root"},
		{"team/../day.ts", ``, "a path below the root"},
		{"/day.ts", ``, "a path below the root"},
		{"./day.ts", ``, "a path below the root"},
		{".", ``, "a path below the root"},
		{"day.ts\x00", ``, "a path below the root"},
		{`team\list.ts`, ``, "a path below the root"},
		{"none.ts", ``, "nobody allowed it"},
		{"checked.ts", ``, "preflight_missing"},
	} {
		r, err := e.Eval(t.Context(), codemode.Request{Script: tt.name, Input: json.RawMessage(tt.input)})
		got := ""
		if err != nil {
			if r.Run != "" {
				t.Errorf("%q %s: it was started: %v", tt.name, tt.input, err)
			}
			got = err.Error()
		} else {
			got = string(r.Value)
		}
		if err == nil && got != tt.want || err != nil && (tt.want == "" || !strings.Contains(got, tt.want)) {
			t.Errorf("%q %s: got %s, want %s", tt.name, tt.input, got, tt.want)
		}
	}

	var names []string
	for _, s := range e.Rules().SavedScripts(t.Context()) {
		names = append(names, s.Name+": "+s.Description)
	}
	if diff := cmp.Diff([]string{"busy.ts: ", "checked.ts: ", "day.ts: Says what day it is.", "free.ts: ",
		"team/list.ts: "}, names); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}

	// What it may do is up to the profile of its rule, and limits are the smaller ones.
	r, err := e.Eval(t.Context(), codemode.Request{Script: "busy.ts"})
	if ended, ok := errors.AsType[*sandbox.Error](err); !ok || len(r.Calls) < 3 || r.Calls[2].State != hostfns.Done ||
		len(r.Calls) > 3 && r.Calls[3].State == hostfns.Done {
		t.Errorf("limits: %v %v", ended, r)
	}
	if _, err := e.Eval(t.Context(), codemode.Request{Script: "team/list.ts", Profile: "p", Bound: true,
		Input: json.RawMessage(`{"dir":"."}`)}); err == nil || !strings.Contains(err.Error(), "only p is offered here") {
		t.Errorf("a saved program widens what a connection is bound to: %v", err)
	}
	if r, err := e.Eval(t.Context(), codemode.Request{Script: "day.ts", Profile: "files", Bound: true}); err == nil ||
		r == nil || r.Calls[0].State != hostfns.Refused {
		t.Errorf("a saved program without a profile does not run under the caller's: %v", err)
	}

	// Another content is another program.
	must(t, os.WriteFile(filepath.Join(root, "day.ts"), []byte(pinned+" "), 0o600))
	if _, err := e.Eval(t.Context(), codemode.Request{Script: "day.ts"}); err == nil || !strings.Contains(err.Error(),
		sha(pinned+" ")) {
		t.Errorf("a changed file: %v", err)
	}

	// A check of a saved program gives the token for it.
	plan, err := e.Check(t.Context(), codemode.Request{Script: "checked.ts"})
	if err != nil || plan.Profile != "checked" || !plan.Required {
		t.Fatalf("check: %+v %v", plan, err)
	}
	if r, err := e.Eval(t.Context(), codemode.Request{Script: "checked.ts", Preflight: plan.Token}); err != nil ||
		string(r.Value) != "1" {
		t.Errorf("a saved program that was checked: %v", err)
	}
	entries := e.Record().Journal().Entries()
	if entries[0].Script != "day.ts" {
		t.Errorf("the record does not name the saved program: %+v", entries[0])
	}
}

// TestNobodyButAPersonSavesPrograms: what programs may write and what is run as saved are apart.
func TestNobodyButAPersonSavesPrograms(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "a/b", "c"} {
		must(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	if err := os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "link")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	file := filepath.Join(dir, "codemode.json")
	for _, tt := range []struct {
		scripts, files string
		ok             bool
	}{
		{"a", "c", true}, {"a/b", "c", true},
		{"a", "a", false}, {"a/b", "a", false}, {"a", "a/b", false}, {"link", "a", false}, {"a/b", "link", false},
		{".", "c", false}, {"a/../a", "a", false},
	} {
		config := fmt.Sprintf(`{"builtin": {"filesystem": {"root": %q}}, "scripts": {"root": %q}}`, tt.files, tt.scripts)
		must(t, os.WriteFile(file, []byte(config), 0o600))
		e, err := codemode.New(t.Context(), codemode.Options{ConfigPath: file})
		if (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), "the folder of the saved programs") {
			t.Errorf("%+v: %v", tt, err)
		}
		if e != nil {
			e.Close(t.Context())
		}
	}
	for config, part := range map[string]string{
		`{"scripts": {"root": "none"}}`: "the root of the saved programs",
		`{"scripts": {"root": "a", "allow": [{"folder": ".", "pattern": "*", "profile": "p", "input": {"$ref": "https://example.com/x"}}]}, "evaluation": {"profiles": {"p": {}}}}`: "the schema cannot be used",
	} {
		must(t, os.WriteFile(file, []byte(config), 0o600))
		if _, err := codemode.New(t.Context(), codemode.Options{ConfigPath: file}); err == nil ||
			!strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", config, err)
		}
	}
}
