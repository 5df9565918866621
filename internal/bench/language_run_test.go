package bench

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/sandbox"
)

// LanguageOptions are the settings of [Language].
type LanguageOptions struct {
	Wasm     []byte // the guest; required
	CacheDir string // as in sandbox.Options
	// Filter keeps the tests whose path below test/, or a folder above them,
	// matches this pattern of [path.Match]; "" keeps all.
	Filter string
}

// languageLimits leave out nothing that the standard asks for: some tests visit
// every code point, others make large arrays.
var languageLimits = sandbox.Limits{
	CPU: 5 * time.Minute, Wall: 6 * time.Minute, Memory: 1 << 30, ConsoleBytes: 64 << 10,
}

// languageFolders are the parts of test262 that say what the language is.
var languageFolders = []string{"language", "built-ins"}

//go:embed testdata/driver.js
var driverSource string

// Language runs the script tests of test262, each variant in a fresh guest, and
// compares what fails with what is known to; known may be nil.
func Language(ctx context.Context, o LanguageOptions, dir fs.FS, known *Baseline) (*LanguageReport, error) {
	l := &language{o: o, dir: dir}
	var err error
	if l.harness, err = readHarness(dir); err != nil {
		return nil, err
	}
	paths, err := testPaths(dir, o.Filter)
	if err != nil {
		return nil, err
	}
	driver, problems := analysis.Compile("driver.js", driverSource)
	if len(problems) > 0 {
		return nil, fmt.Errorf("the program that runs the tests: %s", problems[0])
	}
	l.driver = sandbox.Program{Source: driver.JS, Name: "driver.js", Limits: languageLimits, Lookup: driver.Lookup}
	if l.engine, err = sandbox.New(ctx, sandbox.Options{Wasm: o.Wasm, CacheDir: o.CacheDir}); err != nil {
		return nil, err
	}
	defer l.engine.Close(context.WithoutCancel(ctx))

	started := time.Now()
	if err := l.runAll(ctx, paths); err != nil {
		return nil, err
	}
	r := &l.report
	r.Guest, r.Took, r.filter = l.engine.Hash(), time.Since(started), o.Filter
	slices.SortFunc(r.Failures, func(a, b Failure) int {
		return cmp.Or(strings.Compare(a.Test, b.Test), strings.Compare(a.Variant, b.Variant))
	})
	r.compare(known)
	return r, nil
}

// testPaths lists the tests below test/ that a filter keeps.
func testPaths(dir fs.FS, filter string) ([]string, error) {
	if _, err := path.Match(filter, ""); err != nil {
		return nil, fmt.Errorf("the pattern %q: %w", filter, err)
	}
	var paths []string
	for _, folder := range languageFolders {
		err := fs.WalkDir(dir, "test/"+folder, func(p string, d fs.DirEntry, err error) error {
			p = strings.TrimPrefix(p, "test/")
			if err == nil && !d.IsDir() && strings.HasSuffix(p, ".js") && !strings.HasSuffix(p, "_FIXTURE.js") &&
				keeps(filter, p) {
				paths = append(paths, p)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("listing the tests: %w", err)
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no test matches %q", filter)
	}
	return paths, nil
}

// keeps reports whether a path, or a folder it is in, matches a pattern.
func keeps(filter, p string) bool {
	if filter == "" {
		return true
	}
	for ; p != "."; p = path.Dir(p) {
		if ok, err := path.Match(filter, p); ok && err == nil {
			return true
		}
	}
	return false
}

// language is one run of test262.
type language struct {
	o       LanguageOptions
	dir     fs.FS
	harness harness
	driver  sandbox.Program
	engine  *sandbox.Engine

	mu     sync.Mutex
	report LanguageReport
}

func (l *language) runAll(ctx context.Context, paths []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan string)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for p := range next {
				if err := l.runFile(ctx, p); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, p := range paths {
		select {
		case next <- p:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// runFile runs the variants of one test. An error is about the suite, not the test.
func (l *language) runFile(ctx context.Context, p string) error {
	t, err := readTest(l.dir, p)
	if err != nil {
		return err
	}
	if why := t.skips(); why != "" {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.report.skip(why)
		return nil
	}
	before, err := l.harness.text(t)
	if err != nil {
		return err
	}
	var failures []Failure
	for _, variant := range t.variants() {
		source := t.source
		if variant == strict {
			source = "\"use strict\";\n" + source
		}
		detail, err := l.evaluate(ctx, t, before, source)
		if err != nil {
			return err
		}
		if detail != "" {
			failures = append(failures, Failure{Test: p, Variant: variant, Detail: fmt.Sprintf("%.300s", detail)})
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report.add(t, failures)
	return nil
}

// evaluate runs one variant; "" says that it passed.
func (l *language) evaluate(ctx context.Context, t *jsTest, before, source string) (string, error) {
	program := l.driver
	var err error
	program.Input, err = json.Marshal(map[string]any{"harness": before, "test": source, "async": t.has("async")})
	if err != nil {
		return "", err
	}
	result, err := l.engine.Run(ctx, program, nil)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	ended, bad := errors.AsType[*sandbox.Error](err)
	switch {
	case bad && ended.Kind == sandbox.Abandoned && t.has("async"):
		return t.asyncEnd(result.Console), nil
	case bad && ended.Kind == sandbox.Threw:
		return "threw where nothing of the test runs: " + ended.Error(), nil
	case bad:
		return ended.Kind.String() + ": " + ended.Error(), nil
	case err != nil:
		return "", err
	}
	var thrown string
	if err := json.Unmarshal(result.Value, &thrown); err != nil {
		return "", fmt.Errorf("%s: the driver returned %.100q", t.path, result.Value)
	}
	return t.judge(thrown), nil
}

// judge compares what was thrown, constructor and message on two lines, with
// what the test has to throw.
func (t *jsTest) judge(thrown string) string {
	name, message, _ := strings.Cut(thrown, "\n")
	switch {
	case t.phase == "" && thrown == "":
		if t.has("async") {
			return "it has ended, but did not say so"
		}
		return ""
	case t.phase == "":
		return name + ": " + message
	case thrown == "":
		return fmt.Sprintf("it threw nothing, but has to throw a %s (%s)", t.errType, t.phase)
	case name != t.errType:
		return fmt.Sprintf("it threw %s: %s, but has to throw a %s (%s)", name, message, t.errType, t.phase)
	}
	return ""
}

// asyncEnd looks for what an asynchronous test has to print.
func (t *jsTest) asyncEnd(console []sandbox.Line) string {
	said := "nothing"
	for _, line := range console {
		switch {
		case line.Text == "Test262:AsyncTestComplete":
			return ""
		case strings.HasPrefix(line.Text, "Test262:"):
			return line.Text
		}
		said = line.Text
	}
	return "it did not say how it ended, but: " + said
}
