package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
)

// ownCommand is this build as an engine; see TestMain.
func ownCommand(t *testing.T) []string {
	t.Helper()
	binary, err := os.Executable()
	checktest.OK(t, err)
	return []string{binary, "own", cachetest.Dir()}
}

func isolate(t *testing.T, s *bench.Suite, o Options) *OwnReport {
	t.Helper()
	r, err := Own(t.Context(), o, OwnOptions{Command: ownCommand(t)}, s)
	checktest.OK(t, err)
	return r
}

// suite loads a manifest with its programs.
func suite(t *testing.T, manifest string, programs map[string]string) *bench.Suite {
	t.Helper()
	files := fstest.MapFS{"attacks.json": {Data: []byte(manifest)}}
	for name, text := range programs {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	s, err := bench.LoadSuite(files)
	checktest.OK(t, err)
	return s
}

func TestOutcomes(t *testing.T) {
	var manifest []string
	programs := map[string]string{}
	for _, test := range []struct {
		name, source string
		want         bench.Outcome
	}{
		{"a value", "return await codemode.echo({x: [1, 'é']})", bench.Value},
		{"nothing, there and back",
			"if (await codemode.echo() === null && await codemode.echo(null) === null) return 1; throw 1", bench.Value},
		{"an exception", "throw new Error('no')", bench.Error},
		{"a syntax error", "return (", bench.Error},
		{"a program that is too long", "return 1 //" + strings.Repeat("x", 300<<10), bench.Error},
		{"an endless loop", "for (;;);", bench.Timeout},
		{"waiting for what takes too long", "await codemode.slow({ms: 10000})", bench.Timeout},
		{"waiting for what takes a while", "return codemode.slow({ms: 20})", bench.Value},
		{"waiting for nothing", "await new Promise(() => {})", bench.Error},
		{"too much memory", "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))", bench.Memory},
		{"too much memory in another coat",
			"try { const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1)) } catch { throw null }", bench.Memory},
		{"too much output", "return 'x'.repeat(2 << 20)", bench.Error},
		{"a thousand calls", "for (let i = 0; i < 1000; i++) await codemode.echo(i); return 'done'", bench.Value},
		{"too many calls", "for (;;) await codemode.echo(1)", bench.Error},
		{"a tool that fails", "await codemode.fail()", bench.Error},
		{"a tool that fails, caught", "try { await codemode.fail() } catch (e) { return e.name }", bench.Value},
		{"a denied call", "await codemode.secret()", bench.Denied},
		{"a denied call with arguments", "return await codemode['secret']({x: 1})", bench.Denied},
		{"a denied call, caught", "try { await codemode.secret() } catch (e) { return e.reason }", bench.Value},
		{"a denied call, caught, then another error",
			"try { await codemode.secret() } catch (e) { throw new Error(e.message) }", bench.Error},
		{"a denied call, caught, then its copy",
			"try { await codemode.secret() } catch (e) { throw Object.assign(new e.constructor(e.message), e) }", bench.Error},
		{"a denied call, caught, then thrown on", "try { await codemode.secret() } catch (e) { e.name = 'Mine'; throw e }",
			bench.Denied},
		{"a denied call that nobody waits for", "codemode.secret(); return 1", bench.Denied},
		{"an error that only looks like a denial",
			"throw Object.assign(new Error('the call of secret was refused (denied): the profile denies it'), {name: 'ToolCallDeniedError'})", bench.Error},
		{"an error that only looks like a time-out", "throw new Error('the program computed longer than 300ms')", bench.Error},
		{"a tool that there is not", "await codemode.nothing()", bench.Error},
		{"megabytes as argument", "return (await codemode.echo('x'.repeat(7 << 20))).length", bench.Value},
	} {
		manifest = append(manifest, fmt.Sprintf(`{"file": %q, "class": "c", "outcome": %q}`, test.name, test.want))
		programs[test.name] = test.source
	}
	// This machine may be busy.
	r := isolate(t, suite(t, "["+strings.Join(manifest, ",")+"]", programs), Options{wall: time.Minute})
	for _, c := range r.Cases {
		if c.Got != c.Expected || !c.OK || !c.Exact {
			t.Errorf("%s: got %s (%s), want %s", c.File, c.Got, c.Detail, c.Expected)
		}
	}
	if !r.Summary.Pass || len(r.Cases) != len(manifest) {
		t.Errorf("the suite did not pass: %+v", r.Summary)
	}
}

// mixed has one case that is as expected, one that is accepted, and three that are not.
func mixed(t *testing.T) *bench.Suite {
	return suite(t, `[
		{"file": "good.js", "class": "fine", "outcome": "value", "expect": "hell"},
		{"file": "also.js", "class": "fine", "outcome": "error", "also": ["timeout"]},
		{"file": "outcome.js", "class": "wrong|<b>", "outcome": "value"},
		{"file": "value.js", "class": "wrong|<b>", "outcome": "value", "expect": [2]},
		{"file": "second.js", "class": "wrong|<b>", "outcome": "value", "expect": 1}]`,
		map[string]string{
			"good.js": "return 'hello'", "also.js": "for (;;);", "outcome.js": "throw new Error('\x1b[31m\\u0000<&')",
			"value.js": "return [1]", "second.js": "return Math.random()",
		})
}

func TestJudgement(t *testing.T) {
	r := isolate(t, mixed(t), Options{wall: 300 * time.Millisecond})
	if r.Summary.Pass || r.Summary.Cases != 5 || r.Summary.OK != 2 || r.Summary.Exact != 1 {
		t.Errorf("got %+v, want 2 of 5 accepted, 1 exact, no pass", r.Summary.ClassSummary)
	}
	for i, want := range []struct {
		ok, exact bool
		detail    string
	}{
		{true, true, `value "hello"`}, {true, false, "timed out: "}, {false, false, "Error: "},
		{false, false, "value [1], expected [2]"}, {false, false, ", expected 1"},
	} {
		if c := r.Cases[i]; c.OK != want.ok || c.Exact != want.exact || !strings.Contains(c.Detail, want.detail) {
			t.Errorf("%s: got %v, %v, %q, want %+v", c.File, c.OK, c.Exact, c.Detail, want)
		}
	}
	loop := r.Cases[1]
	if over := r.Summary.Overshoot; over.Runs != 2 || over.Max != loop.OvershootMS || over.Max <= 0 || over.Max > 2000 ||
		loop.MS < 300 {
		t.Errorf("got overshoot %+v, and %v ms for the loop", over, loop.MS)
	}
	if len(r.Summary.Classes) != 2 || r.Summary.Classes[0].OK != 2 || r.Summary.Classes[1].OK != 0 {
		t.Errorf("got classes %+v", r.Summary.Classes)
	}
}

func TestIsolationReports(t *testing.T) {
	r := isolate(t, mixed(t), Options{wall: 300 * time.Millisecond})
	write := func(format string, verbose bool) string {
		t.Helper()
		var b bytes.Buffer
		checktest.OK(t, r.Write(&b, format, verbose))
		if strings.ContainsAny(b.String(), "\x1b\x00") {
			t.Errorf("%s passes control characters on: %q", format, b.String())
		}
		return b.String()
	}

	var parsed struct {
		Cases   []map[string]any `json:"cases"`
		Summary map[string]any   `json:"summary"`
	}
	checktest.OK(t, json.Unmarshal([]byte(write("json", false)), &parsed))
	for _, key := range []string{"file", "class", "expected", "got", "ok", "ms", "overshoot_ms", "detail"} {
		if _, ok := parsed.Cases[0][key]; !ok {
			t.Errorf("a case in JSON has no %q", key)
		}
	}
	for _, key := range []string{"cases", "ok", "exact", "overshoot_ms", "total_ms", "classes", "goroutines_delta",
		"fds_delta", "guests_delta", "heap_kib"} {
		if _, ok := parsed.Summary[key]; !ok {
			t.Errorf("the summary in JSON has no %q", key)
		}
	}

	var suites junitReport
	checktest.OK(t, xml.Unmarshal([]byte(write("junit", false)), &suites))
	if len(suites.Suites) != 3 || suites.Suites[0].Tests != 2 || suites.Suites[0].Failures != 0 ||
		suites.Suites[1].Failures != 3 ||
		suites.Suites[1].Cases[1].Failure == nil || suites.Suites[2].Failures != 0 {
		t.Errorf("got %+v", suites)
	}

	for _, format := range []string{"table", "markdown"} {
		short, long := write(format, false), write(format, true)
		if strings.Contains(short, "good.js") || !strings.Contains(short, "value.js") || !strings.Contains(long, "good.js") {
			t.Errorf("%s: want the failed cases, and all when verbose:\n%s\n%s", format, short, long)
		}
		if !strings.Contains(short, "2 of 5 cases accepted, 1 exact") {
			t.Errorf("%s does not add up:\n%s", format, short)
		}
	}
	if table := write("markdown", false); !strings.Contains(table, `| wrong\|&lt;b> | 3 | 0 | 0 |`) {
		t.Errorf("a class is not escaped:\n%s", table)
	}
	if err := r.Write(&bytes.Buffer{}, "yaml", false); err == nil {
		t.Error("an unknown format was accepted")
	}
}

func TestLeaksFailASuite(t *testing.T) {
	same := map[string]int{"goroutines": 10, "file descriptors": 10, "guests": 1}
	for _, test := range []struct {
		what  string
		after map[string]int
		pass  bool
	}{
		{"", same, true},
		{"goroutines", map[string]int{"goroutines": 40, "file descriptors": 10, "guests": 1}, false},
		{"file descriptors", map[string]int{"goroutines": 10, "file descriptors": 20, "guests": 1}, false},
		{"guests", map[string]int{"goroutines": 10, "file descriptors": 10, "guests": 200}, false},
		{"unknown", map[string]int{"goroutines": 10}, true},
	} {
		s := session{grown: growthOf(same, test.after)}
		s.left = s.grown.leaks()
		board := &Scoreboard{Engines: []*Report{{grown: s.grown, left: s.left, Cases: []CaseResult{{Case: "a.js"},
			s.leftovers(true)}}}}
		r := ownReport(board)
		if r.Summary.Pass != test.pass || len(board.Engines[0].Findings()) == 0 != test.pass {
			t.Errorf("%s: got %v, want %v", test.what, r.Summary.Pass, test.pass)
		}
		var b bytes.Buffer
		if err := r.writeJUnit(&b); err != nil || strings.Contains(b.String(), "<failure") == test.pass {
			t.Errorf("%s: JUnit says\n%s", test.what, &b)
		}
	}
}

func TestBusyMachine(t *testing.T) {
	s := suite(t, `[{"file": "a.js", "class": "c", "outcome": "value", "expect": 1}]`,
		map[string]string{"a.js": "return 1"})
	r, err := Own(t.Context(), Options{wall: 300 * time.Millisecond}, OwnOptions{Command: ownCommand(t), Busy: 2}, s)
	if err != nil || r.Summary.OK != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
}

// Cases that neither time nor memory decides about run at once, the others alone; the report has all in the order of
// the list.
func TestCasesRunAtOnceWhereNothingIsMeasured(t *testing.T) {
	manifest, programs := []string{}, map[string]string{}
	for i := range 12 {
		name, outcome := fmt.Sprintf("%d.js", i), `"value"`
		if i%3 == 0 {
			outcome = `"value", "also": ["timeout"]`
		}
		manifest = append(manifest, fmt.Sprintf(`{"file": %q, "class": "c", "outcome": %s}`, name, outcome))
		programs[name] = "return await codemode.echo(1)"
	}
	programs["1.js"] = "throw new Error('no')" // runs again alone
	s := suite(t, "["+strings.Join(manifest, ",")+"]", programs)
	var mu sync.Mutex
	var told []string
	r, err := Own(t.Context(), Options{
		wall: time.Minute,
		Progress: func(done, total int, file string) {
			mu.Lock()
			defer mu.Unlock()
			if total != 12 || done < 0 || done >= total {
				t.Errorf("progress was %d of %d", done, total)
			}
			told = append(told, file)
		},
	}, OwnOptions{Command: ownCommand(t), AtOnce: 3}, s)
	checktest.OK(t, err)
	for i, c := range r.Cases {
		alone := i%3 == 0 || i == 1
		if c.File != fmt.Sprintf("%d.js", i) || c.OK != (i != 1) || c.TookMS < c.MS || c.Started.Before(r.Started) {
			t.Errorf("case %d is %+v", i, c)
		}
		if r.Board.Engines[0].Measured && (c.PeakKiB > 0) != alone {
			t.Errorf("%s: a peak of %d KiB, which is measured only alone", c.File, c.PeakKiB)
		}
	}
	if len(told) != 13 || told[8] != "0.js" || told[9] != "1.js" {
		t.Errorf("progress was told of %v, want those at once first, then the others, and 1.js twice", told)
	}
	if len(r.Summary.left) > 0 {
		t.Errorf("left over: %v", r.Summary.left)
	}
}

// With Once each program runs once.
func TestOnce(t *testing.T) {
	s := suite(t, `[{"file": "a.js", "class": "c", "outcome": "value"}]`, map[string]string{"a.js": "return 1"})
	for _, once := range []bool{false, true} {
		r := isolate(t, s, Options{wall: time.Minute, Once: once})
		if !r.Summary.Pass {
			t.Fatalf("got %+v", r)
		}
		runs := r.Board.Engines[0].Cases[0].own.runs
		if want := map[bool]int{false: 2, true: 1}[once]; runs != want {
			t.Errorf("once %v: %d runs, want %d", once, runs, want)
		}
	}
}

// JUnit has the whole time of each case, the sum of a suite's cases, the time of all, and when each began.
func TestTimesInJUnit(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	r := &OwnReport{Started: began, Cases: []OwnCase{
		{File: "a.js", Class: "c", OK: true, MS: 10, TookMS: 1500, Started: began.Add(2 * time.Second)},
		{File: "b.js", Class: "c", OK: true, MS: 10, TookMS: 250, Started: began.Add(time.Second)},
		{File: "c.js", Class: "d", OK: false, MS: 10, TookMS: 125, Started: began.Add(3 * time.Second)},
	}}
	r.Summary.TotalMS = 1600
	var b bytes.Buffer
	checktest.OK(t, r.Write(&b, "junit", false))
	for _, want := range []string{
		`<testsuites tests="4" failures="1" time="1.6" timestamp="2026-01-02T02:04:05Z">`,
		`<testsuite name="c" tests="2" failures="0" time="1.75" timestamp="2026-01-02T02:04:06Z">`,
		`<testsuite name="d" tests="1" failures="1" time="0.125" timestamp="2026-01-02T02:04:08Z">`,
		`<testcase name="a.js" classname="c" time="1.5">`, `<testcase name="b.js" classname="c" time="0.25">`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %s in\n%s", want, &b)
		}
	}
}

func TestIsolationCanceled(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	s := suite(t, `[{"file": "a.js", "outcome": "timeout"}]`, map[string]string{"a.js": "for (;;);"})
	o := Options{wall: time.Minute}
	o.Progress = func(done, total int, file string) {
		if done != 0 || total != 1 || file != "a.js" {
			t.Errorf("progress was %d, %d, %s", done, total, file)
		}
		time.AfterFunc(10*time.Millisecond, func() { cancel(stop) })
	}
	if _, err := Own(ctx, o, OwnOptions{Command: ownCommand(t)}, s); !errors.Is(err, stop) {
		t.Errorf("got %v, want %v", err, stop)
	}
}

// Programs end in a session as without one, and leave it as they should.
func TestIsolationInSessions(t *testing.T) {
	t.Parallel()
	suite, err := bench.LoadSuite(bench.Attacks())
	checktest.OK(t, err)
	var some bench.Suite
	for _, pattern := range []string{"s01_while*", "s10_object*", "s16_*", "s26_f*"} {
		part, err := suite.Filter(pattern)
		checktest.OK(t, err)
		some.Cases = append(some.Cases, part.Cases...)
	}
	report, err := Own(t.Context(), Options{Once: true}, OwnOptions{Command: ownCommand(t), Session: true}, &some)
	checktest.OK(t, err)
	for _, c := range report.Cases {
		if !c.OK && !c.Unhealthy { // how soon a plain program answers is what benchmarks say
			t.Errorf("%s: %s", c.File, c.Detail)
		}
	}
}
