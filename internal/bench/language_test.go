package bench

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codemode-project/codemode/guest/quickjs"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
)

// checkout is a test262 in small. Each test says in its name how it must end.
func checkout(more map[string]string) map[string]string {
	files := map[string]string{
		"harness/assert.js":            "function assert(ok, message) { if (ok !== true) throw new Test262Error(message); }",
		"harness/sta.js":               "function Test262Error(message) { this.message = message; }\nfunction $DONOTEVALUATE() { throw 'evaluated'; }",
		"harness/doneprintHandle.js":   "function $DONE(e) { print(e ? 'Test262:AsyncTestFailure:' + e : 'Test262:AsyncTestComplete'); }",
		"harness/extra.js":             "let extra = 1;\nconst more = 2;",
		"harness/detachArrayBuffer.js": "function $DETACHBUFFER(b) { $262.detachArrayBuffer(b); }",
		"test/intl402/not-ours.js":     "neither read nor run",
		"test/language/x_FIXTURE.js":   "neither read nor run",
		"test/built-ins/README.md":     "neither read nor run",
	}
	for name, text := range more {
		files["test/"+name] = text
	}
	return files
}

func test262(t *testing.T, o LanguageOptions, files map[string]string, known string) *LanguageReport {
	t.Helper()
	b, err := ReadBaseline(strings.NewReader(known))
	checktest.OK(t, err)
	o.Wasm, o.CacheDir = quickjs.Wasm(), cachetest.Dir()
	r, err := Language(t.Context(), o, dir(files), b)
	checktest.OK(t, err)
	return r
}

func TestLanguage(t *testing.T) {
	pass := map[string]string{
		"language/both.js":             "/*---\ndescription: >\n  flags: [none]\n---*/ var x = 1; assert(x === 1);",
		"language/strict.js":           "/*---\nflags: [onlyStrict]\n---*/ assert((function () { return this })() === undefined);",
		"language/sloppy.js":           "/*---\nflags: [noStrict]\n---*/ assert((function () { return this })() === globalThis);",
		"language/raw.js":              "/*---\nflags: [raw]\n---*/ if (typeof assert !== 'undefined') throw 1;",
		"language/includes.js":         "/*---\nincludes: [extra.js]\n---*/ assert(extra + more === 3);",
		"language/includes-lines.js":   "/*---\nincludes:\n  - extra.js\n  - detachArrayBuffer.js\nfeatures: [a]\n---*/ var b = new ArrayBuffer(8); $DETACHBUFFER(b); assert(b.detached);",
		"language/early.js":            "/*---\nnegative:\n  phase: parse\n  type: SyntaxError\n---*/ $DONOTEVALUATE(); let a; let a;",
		"language/early-too.js":        "/*---\nfeatures: [a]\nnegative: \n    phase: parse\n    type: SyntaxError\n---*/ $DONOTEVALUATE(); let a; let a;",
		"language/throws.js":           "/*---\nnegative:\n  phase: runtime\n  type: TypeError\n---*/ null.x;",
		"language/cr.js":               "/*---\r\nflags: [noStrict]\r\n---*/\r\n assert((function () { return this })() === globalThis);",
		"language/line-ends.js":        "/*---\nflags: [\n  onlyStrict,\n  generated\n]\n---*/ assert((function () { return this })() === undefined);",
		"built-ins/async.js":           "/*---\nflags: [async]\n---*/ setTimeout(() => Promise.resolve().then(() => $DONE()), 5);",
		"built-ins/everything-gone.js": "/*---\nflags: [async]\n---*/ var d = $DONE; Promise.prototype.then = Promise = String = JSON = console = undefined; Object.prototype.toJSON = 1; (async () => d())();",
		"built-ins/script.js":          "/*---\nflags: [noStrict]\n---*/ $262.evalScript('var y = 1'); assert(y === 1 && $262.global === globalThis);",
	}
	skip := map[string]string{
		"language/module.js":     "/*---\nflags: [module]\n---*/ import 'x';",
		"language/feature.js":    "/*---\nfeatures: [let, SharedArrayBuffer]\n---*/ throw 1",
		"language/realm.js":      "/*---\n---*/ $262.createRealm();",
		"language/both-skips.js": "/*---\nfeatures: [Temporal]\n---*/ throw 1",
	}
	files := map[string]string{}
	for _, set := range []map[string]string{pass, skip} {
		for name, text := range set {
			files[name] = text
		}
	}
	r := test262(t, LanguageOptions{}, checkout(files), "")
	if len(r.Failures) > 0 || !r.Pass() {
		t.Errorf("failed: %+v", r.Failures)
	}
	if r.Tests != len(pass) || r.Passed != r.Runs || r.Runs != 22 {
		t.Errorf("got %d tests, %d of %d runs passed; want %d, and 22 of 22", r.Tests, r.Passed, r.Runs, len(pass))
	}
	want := map[string]int{"absent by design: modules": 1, "absent by design: shared memory": 1,
		"absent by design: a second realm": 1, "not in the engine: Temporal": 1}
	if diff := cmp.Diff(want, r.Skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}

func TestLanguageFailures(t *testing.T) {
	files := checkout(map[string]string{
		"language/a.js":        "/*---\nflags: [noStrict]\n---*/ assert(false, 'why\\n not');",
		"language/early.js":    "/*---\nflags: [onlyStrict]\nnegative:\n  phase: parse\n  type: SyntaxError\n---*/ $DONOTEVALUATE();",
		"language/nothing.js":  "/*---\nflags: [noStrict]\nnegative:\n  phase: runtime\n  type: Error\n---*/ ",
		"language/fails.js":    "/*---\nflags: [async, noStrict]\n---*/ $DONE('no');",
		"language/silent.js":   "/*---\nflags: [async, noStrict]\n---*/ print('hm');",
		"language/strange.js":  "/*---\nflags: [noStrict]\n---*/ throw {get constructor() { throw 1 }, get message() { throw 2 }};",
		"language/one-side.js": "/*---\n---*/ assert((function () { return this })() === undefined, 'sloppy');",
	})
	r := test262(t, LanguageOptions{}, files, "")
	got := map[string]string{}
	for _, f := range r.Failures {
		got[f.Test+" "+f.Variant] = f.Detail
	}
	want := map[string]string{
		"language/a.js sloppy":        "Test262Error: why\n not",
		"language/early.js strict":    "it threw String: evaluated, but has to throw a SyntaxError (parse)",
		"language/nothing.js sloppy":  "it threw nothing, but has to throw a Error (runtime)",
		"language/fails.js sloppy":    "Test262:AsyncTestFailure:no",
		"language/silent.js sloppy":   "it did not say how it ended, but: hm",
		"language/strange.js sloppy":  "something: ",
		"language/one-side.js sloppy": "Test262Error: sloppy",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	if r.Pass() || len(r.New) != len(want) {
		t.Errorf("%d new failures, pass %v", len(r.New), r.Pass())
	}
}

func TestBaselines(t *testing.T) {
	files := checkout(map[string]string{
		"language/both.js":   "/*---\n---*/ throw 1",
		"language/strict.js": "/*---\n---*/ if ((function () { return this })() === undefined) throw 1",
		"built-ins/good.js":  "/*---\n---*/",
		"built-ins/gone.js":  "/*---\nflags: [module]\n---*/",
	})
	const right = "language/both.js: engine\nlanguage/strict.js strict: absent by design: everything\n"
	for _, test := range []struct {
		name, known        string
		fresh, stale, open int
	}{
		{"names every failure", "# known\n\n" + right, 0, 0, 0},
		{"names none", "", 3, 0, 0},
		{"names one variant of two", "language/both.js strict: engine\nlanguage/strict.js strict: engine", 1, 0, 0},
		{"names a variant that passes", "language/both.js: engine\nlanguage/strict.js: engine", 0, 1, 0},
		{"names a test that passes", right + "built-ins/good.js: engine", 0, 1, 0},
		{"names a test that is skipped", right + "built-ins/gone.js: engine", 0, 1, 0},
		{"names a test that there is not", right + "language/no.js: engine", 0, 1, 0},
		{"gives no reason", "language/both.js: engine\nlanguage/strict.js strict: unexplained: 1", 0, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := test262(t, LanguageOptions{}, files, test.known)
			if len(r.New) != test.fresh || len(r.Stale) != test.stale || len(r.Unsaid) != test.open {
				t.Errorf("got new %v, stale %q, unexplained %q; want %d, %d, %d", r.New, r.Stale, r.Unsaid, test.fresh, test.stale,
					test.open)
			}
			if want := test.fresh+test.stale+test.open == 0; r.Pass() != want {
				t.Errorf("pass: got %v, want %v", r.Pass(), want)
			}
		})
	}

	t.Run("is written with the old reasons", func(t *testing.T) {
		old := "language/both.js: engine\nlanguage/a/elsewhere.js: engine\nbuilt-ins/good.js: engine\n"
		known, err := ReadBaseline(strings.NewReader(old))
		checktest.OK(t, err)
		r := test262(t, LanguageOptions{}, files, old)
		want := baselineTop + "language/both.js: engine\nlanguage/strict.js strict: unexplained: Number: 1\n"
		if diff := cmp.Diff(want, string(r.Baseline(known))); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		r = test262(t, LanguageOptions{Filter: "built-ins"}, files, old)
		want = baselineTop + "language/a/elsewhere.js: engine\nlanguage/both.js: engine\n"
		if diff := cmp.Diff(want, string(r.Baseline(known))); diff != "" {
			t.Errorf("with a filter, -want +got:\n%s", diff)
		}
	})

	for _, broken := range []string{"language/a.js", "language/a.js: because", "language/a.js lax: engine",
		"language/a.js: absent by design"} {
		if _, err := ReadBaseline(strings.NewReader(broken)); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: got %v, want an error about line 1", broken, err)
		}
	}
}

func TestLanguageFilter(t *testing.T) {
	files := checkout(map[string]string{"language/a/b/c.js": "/*---\n---*/", "language/d.js": "/*---\n---*/",
		"built-ins/a.js": "/*---\n---*/"})
	for filter, want := range map[string]int{"": 3, "language": 2, "language/a": 1, "*/a*": 2, "language/?.js": 1} {
		if r := test262(t, LanguageOptions{Filter: filter}, files, "language/no.js: engine"); r.Tests != want {
			t.Errorf("%q ran %d tests, want %d", filter, r.Tests, want)
		} else if stale := filter == "" || filter == "language"; stale != (len(r.Stale) == 1) {
			t.Errorf("%q: stale %q", filter, r.Stale)
		}
	}
	for _, filter := range []string{"nothing", "["} {
		if _, err := Language(t.Context(), LanguageOptions{Wasm: quickjs.Wasm(), CacheDir: cachetest.Dir(), Filter: filter}, dir(files),
			nil); err == nil {
			t.Errorf("%q gave no error", filter)
		}
	}
}

func TestBrokenCheckouts(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"without a harness": {"test/language/a.js": "/*---\n---*/", "test/built-ins/a.js": "/*---\n---*/"},
		"without metadata":  checkout(map[string]string{"language/a.js": "1", "built-ins/a.js": "/*---\n---*/"}),
		"without what it includes": checkout(map[string]string{"language/a.js": "/*---\nincludes: [no.js]\n---*/",
			"built-ins/a.js": "/*---\n---*/"}),
		"without built-ins": {"harness/a.js": "", "test/language/a.js": "/*---\n---*/"},
	} {
		if _, err := Language(t.Context(), LanguageOptions{Wasm: quickjs.Wasm(), CacheDir: cachetest.Dir()}, dir(files), nil); err == nil {
			t.Errorf("a checkout %s gave no error", name)
		}
	}
}

func TestLanguageReports(t *testing.T) {
	files := checkout(map[string]string{"language/a.js": "/*---\n---*/ throw '\\x1b[31m'",
		"built-ins/a.js": "/*---\nflags: [module]\n---*/"})
	r := test262(t, LanguageOptions{}, files, "language/b.js: engine")
	table := r.table()
	for _, want := range []string{"language/a.js (strict)", "language/b.js: engine", "2  failed: new",
		"1  tests skipped: absent by design: modules"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table has no %q:\n%s", want, table)
		}
	}
	if strings.Contains(table, "\x1b") {
		t.Errorf("control characters are passed on: %q", table)
	}
}

// productBaseline lists what is known to fail of test262 in this product.
const productBaseline = "../../testdata/test262.txt"

func readProductBaseline(t *testing.T) *Baseline {
	t.Helper()
	f, err := os.Open(productBaseline)
	checktest.OK(t, err)
	defer f.Close()
	b, err := ReadBaseline(f)
	checktest.OK(t, err)
	return b
}

func TestTheBaselineOfTheProduct(t *testing.T) {
	for _, k := range readProductBaseline(t).all() {
		if strings.HasPrefix(k.reason, unexplained) {
			t.Errorf("%s gives no reason", k)
		}
	}
}

// TestTest262 runs the suite of the JavaScript standard: make test262 TEST262=DIR. Failures are compared with the list
// of known ones: one that is not listed fails, and so does a line whose test passes.
func TestTest262(t *testing.T) {
	dir := os.Getenv("CODEMODE_TEST262")
	if dir == "" {
		t.Skip("CODEMODE_TEST262 does not name a checkout of https://github.com/tc39/test262")
	}
	known := readProductBaseline(t)
	o := LanguageOptions{Wasm: quickjs.Wasm(), CacheDir: cachetest.Dir(), Filter: os.Getenv("CODEMODE_TEST262_FILTER")}
	r, err := Language(t.Context(), o, os.DirFS(dir), known)
	checktest.OK(t, err)
	t.Log("\n" + r.table())
	if os.Getenv("CODEMODE_TEST262_UPDATE") != "" {
		checktest.OK(t, os.WriteFile(productBaseline, r.Baseline(known), 0o644))
	}
	if !r.Pass() {
		t.Error("failures differ from " + productBaseline)
	}
}
