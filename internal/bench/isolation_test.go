package bench

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
	"time"

	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/checktest"
)

var wasm = sync.OnceValues(func() ([]byte, error) { return os.ReadFile("../../quickjs.wasm") })

func guest(t *testing.T) []byte {
	t.Helper()
	b, err := wasm()
	checktest.OK(t, err)
	return b
}

func isolate(t *testing.T, s *Suite, cpu time.Duration) *IsolationReport {
	t.Helper()
	r, err := Isolation(t.Context(), IsolationOptions{Wasm: guest(t), CacheDir: cachetest.Dir(), CPU: cpu}, s)
	checktest.OK(t, err)
	return r
}

func TestOutcomes(t *testing.T) {
	for _, test := range []struct {
		name, source string
		want         Outcome
	}{
		{"a value", "return await codemode.echo({x: [1, 'é']})", Value},
		{"nothing, there and back",
			"if (await codemode.echo() === null && await codemode.echo(null) === null) return 1; throw 1", Value},
		{"an exception", "throw new Error('no')", Error},
		{"a syntax error", "return (", Error},
		{"a program that is too long", "return 1 //" + strings.Repeat("x", 300<<10), Error},
		{"an endless loop", "for (;;);", Timeout},
		{"waiting for what takes too long", "await codemode.slow({ms: 10000})", Timeout},
		{"waiting for what takes a while", "return codemode.slow({ms: 20})", Value},
		{"waiting for nothing", "await new Promise(() => {})", Error},
		{"too much memory", "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))", Memory},
		{"too much memory in another coat",
			"try { const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1)) } catch { throw null }", Memory},
		{"too much output", "return 'x'.repeat(2 << 20)", Error},
		{"a thousand calls", "for (let i = 0; i < 1000; i++) await codemode.echo(i); return 'done'", Value},
		{"too many calls", "for (;;) await codemode.echo(1)", Error},
		{"a tool that fails", "await codemode.fail()", Error},
		{"a tool that fails, caught", "try { await codemode.fail() } catch (e) { return e.name }", Value},
		{"a denied call", "await codemode.secret()", Denied},
		{"a denied call with arguments", "return await codemode['secret']({x: 1})", Denied},
		{"a denied call, caught", "try { await codemode.secret() } catch (e) { return e.reason }", Value},
		{"a denied call, caught, then another error",
			"try { await codemode.secret() } catch (e) { throw new Error(e.message) }", Error},
		{"a denied call, caught, then its copy",
			"try { await codemode.secret() } catch (e) { throw Object.assign(new e.constructor(e.message), e) }", Error},
		{"a denied call, caught, then thrown on", "try { await codemode.secret() } catch (e) { e.name = 'Mine'; throw e }",
			Denied},
		{"a denied call that nobody waits for", "codemode.secret(); return 1", Denied},
		{"an error that only looks like a denial",
			"throw Object.assign(new Error('the call of secret was refused (denied): the profile denies it'), {name: 'ToolCallDeniedError'})", Error},
		{"an error that only looks like a time-out", "throw new Error('the program computed longer than 300ms')", Error},
		{"a tool that there is not", "await codemode.nothing()", Error},
		{"megabytes as argument", "return (await codemode.echo('x'.repeat(7 << 20))).length", Value},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &Suite{Cases: []*Case{{File: "a.js", Outcome: test.want, source: test.source}}}
			cpu := time.Minute // this machine may be busy
			if test.want == Timeout {
				cpu = 300 * time.Millisecond
			}
			r := isolate(t, s, cpu)
			if c := r.Cases[0]; c.Got != test.want || !c.OK || !c.Exact {
				t.Errorf("got %s (%s), want %s", c.Got, c.Detail, test.want)
			}
			if !r.Summary.Pass {
				t.Errorf("the suite did not pass: %+v", r.Summary)
			}
		})
	}
}

// mixed has one case that is as expected, one that is accepted, and three that are not.
func mixed(t *testing.T) *Suite {
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
	r := isolate(t, mixed(t), 300*time.Millisecond)
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
	r := isolate(t, mixed(t), 300*time.Millisecond)
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

	var suites struct {
		Suites []struct {
			Failures int `xml:"failures,attr"`
			Tests    int `xml:"tests,attr"`
			Cases    []struct {
				Failure *struct{} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
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
	r := &IsolationReport{Cases: []CaseResult{{File: "a.js", OK: true, Exact: true}}}
	same := level{goroutines: 10, files: 10, guests: 1}
	for _, test := range []struct {
		what  string
		after level
		pass  bool
	}{
		{"", same, true},
		{"goroutines", level{goroutines: 40, files: 10, guests: 1}, false},
		{"file descriptors", level{goroutines: 10, files: 20, guests: 1}, false},
		{"guests", level{goroutines: 10, files: 10, guests: 200}, false},
		{"unknown", level{goroutines: 10, files: -1, guests: -1}, true},
	} {
		r.Summary = IsolationSummary{}
		r.summarise(time.Second, same, test.after)
		if r.Summary.Pass != test.pass {
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
	r, err := Isolation(t.Context(), IsolationOptions{Wasm: guest(t), CacheDir: cachetest.Dir(), CPU: 300 * time.Millisecond,
		Busy: 2}, s)
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
	r, err := Isolation(t.Context(), IsolationOptions{
		Wasm: guest(t), CacheDir: cachetest.Dir(), CPU: time.Minute, Parallel: 3,
		Progress: func(done, total int, file string) {
			mu.Lock()
			defer mu.Unlock()
			if total != 12 || done < 0 || done >= total {
				t.Errorf("progress was %d of %d", done, total)
			}
			told = append(told, file)
		},
	}, s)
	checktest.OK(t, err)
	for i, c := range r.Cases {
		alone := i%3 == 0 || i == 1
		if c.File != fmt.Sprintf("%d.js", i) || c.OK != (i != 1) || c.TookMS < c.MS || c.Started.Before(r.Started) {
			t.Errorf("case %d is %+v", i, c)
		}
		if now, _ := resident(); now >= 0 && (c.PeakKiB > 0) != alone {
			t.Errorf("%s: a peak of %d KiB, which is measured only alone", c.File, c.PeakKiB)
		}
	}
	if len(told) != 13 || told[8] != "0.js" || told[9] != "1.js" {
		t.Errorf("progress was told of %v, want those at once first, then the others, and 1.js twice", told)
	}
	if leaks := r.Summary.Leaks(); len(leaks) > 0 {
		t.Errorf("left over: %v", leaks)
	}
}

// With Once each program runs once.
func TestOnce(t *testing.T) {
	s := suite(t, `[{"file": "a.js", "class": "c", "outcome": "value"}]`, map[string]string{"a.js": "return 1"})
	for _, once := range []bool{false, true} {
		o := IsolationOptions{Wasm: guest(t), CacheDir: cachetest.Dir(), CPU: time.Minute, Once: once}
		r, err := Isolation(t.Context(), o, s)
		if err != nil || !r.Summary.Pass {
			t.Fatalf("got %+v, %v", r, err)
		}
		if want := map[bool]int{false: 2, true: 1}[once]; r.Cases[0].runs != want {
			t.Errorf("once %v: %d runs, want %d", once, r.Cases[0].runs, want)
		}
	}
}

// JUnit has the whole time of each case, the sum of a suite's cases, the time of all, and when each began.
func TestTimesInJUnit(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	r := &IsolationReport{Started: began, Cases: []CaseResult{
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
	o := IsolationOptions{Wasm: guest(t), CacheDir: cachetest.Dir(), CPU: time.Minute}
	o.Progress = func(done, total int, file string) {
		if done != 0 || total != 1 || file != "a.js" {
			t.Errorf("progress was %d, %d, %s", done, total, file)
		}
		time.AfterFunc(10*time.Millisecond, func() { cancel(stop) })
	}
	if _, err := Isolation(ctx, o, s); !errors.Is(err, stop) {
		t.Errorf("got %v, want %v", err, stop)
	}
}
