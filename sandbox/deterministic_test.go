package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/cachetest"
)

// What a deterministic program sees of time and of the order of answers. a__sleep answers after so many milliseconds of
// real time.
func TestDeterministicRuns(t *testing.T) {
	start := time.UnixMilli(1_600_000_000_123)
	const order = `const log = []; const timer = setInterval(() => log.push("timer"), 1);
		await Promise.all([30, 1, 10].map(async ms => log.push(await codemode.a__sleep(ms)))); clearInterval(timer); `
	for _, test := range []struct{ name, source, want string }{
		{"the clock starts at the given time", "return [Date.now(), new Date(), performance.now()]",
			`[1600000000123,"2020-09-13T12:26:40.123Z",0]`},
		{"the clock stands still while the program computes",
			"let n = 0; for (let i = 0; i < 1e6; i++) n += i; return Date.now()", "1600000000123"},
		{"a timer takes its time at once",
			"await new Promise(r => setTimeout(r, 2e9)); return [Date.now(), performance.now()]",
			"[1602000000123,2000000000]"},
		{"timers come by time, then by age", `const log = []; const at = (ms, what) => setTimeout(() => log.push(what), ms);
			at(20, "c"); at(10, "a"); at(10, "b"); setInterval(() => log.push("i"), 15);
			await new Promise(r => setTimeout(r, 40)); return log.join("")`, `"abici"`},
		{"a call takes no time", "await codemode.a__sleep(20); return performance.now()", "0"},
		{"a call comes before any timer", `return Promise.race([codemode.a__sleep(20),
			new Promise(r => setTimeout(() => r("late"), 1))])`, "20"},
		{"answers come in the order of the calls", order + "return log", "[30,1,10]"},
		{"also errors", "return (await Promise.allSettled([codemode.a__sleep(9), codemode.a__fail()])).map(r => r.status)",
			`["fulfilled","rejected"]`},
		{"random numbers are those of the seed",
			"return [Math.random(), Math.random(), crypto.getRandomValues(new Uint8Array(4))]",
			`[0.17421603735554236,0.6079644049531767,[173,191,57,128]]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := Program{Source: test.source, Limits: limits, Deterministic: &Deterministic{Seed: 7, Start: start}}
			r, err := testEngine(t).Run(t.Context(), p, echo)
			if err != nil || string(r.Value) != test.want {
				t.Errorf("got %s, %v; want %s", r.Value, err, test.want)
			}
		})
	}
}

func TestAnotherSeedIsAnotherRun(t *testing.T) {
	values := map[string]bool{}
	for seed := range uint64(5) {
		p := Program{Source: "return [Math.random(), crypto.randomUUID(), Date.now()]",
			Deterministic: &Deterministic{Seed: seed}}
		r, err := testEngine(t).Run(t.Context(), p, nil)
		if err != nil || !strings.HasSuffix(string(r.Value), ",0]") {
			t.Fatalf("got %s, %v; want the clock at 1970-01-01", r.Value, err)
		}
		values[string(r.Value)] = true
	}
	if len(values) != 5 {
		t.Errorf("five seeds gave %d values", len(values))
	}
}

// A program may make exactly as many steps as its limit says, in whatever it makes them.
func TestStepsAreExact(t *testing.T) {
	for _, test := range []struct{ what, source string }{
		{"nothing", ""},
		{"a loop", "for (let i = 0; i < 3e5; i++);"},
		{"calls of functions", "const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2); return fib(18)"},
		{"generators and promises",
			"async function* g() { for (let i = 0; i < 2e4; i++) yield i } for await (const x of g());"},
		{"built-in functions",
			"return 'x'.repeat(1e6).indexOf('y') + [3, 2].sort().length + JSON.stringify(Array(1e4).fill(1)).length"},
		{"a regular expression", "return /^(a+)+$/.test('a'.repeat(18) + 'b')"},
		{"long code", "return new Function('return 1' + '+1'.repeat(5e4))()"},
		{"calls, timers and exceptions", `for (let i = 0; i < 20; i++) {
			try { await codemode.a__fail(i) } catch (e) { await new Promise(r => setTimeout(r, i)) } }`},
		{"deep recursion", "let n = 0; const f = () => { n++; f() }; try { f() } catch { return n }"},
	} {
		t.Run(test.what, func(t *testing.T) {
			p := Program{Source: test.source, Limits: limits}
			r, err := testEngine(t).Run(t.Context(), p, echo)
			if err != nil {
				t.Fatal(err)
			}
			made := r.Usage.Steps
			p.Limits.Steps = made
			if r, err = testEngine(t).Run(t.Context(), p, echo); err != nil || r.Usage.Steps != made {
				t.Errorf("it made %d steps, and with so many allowed %d, %v", made, r.Usage.Steps, err)
			}
			for _, less := range []int64{1, 2, 3, made / 2, made - 1} {
				p.Limits.Steps = made - less
				r, err := testEngine(t).Run(t.Context(), p, echo)
				var e *Error
				if !errors.As(err, &e) || e.Kind != TooManySteps || r.Usage.Steps <= made-less || r.Usage.Steps > made {
					t.Errorf("with %d of %d steps allowed it ended after %d: %v", made-less, made, r.Usage.Steps, err)
				}
			}
		})
	}
}

func TestTheLimitOfStepsCannotBeCaught(t *testing.T) {
	for _, source := range []string{
		"for (;;) try { for (;;); } catch { } finally { continue }",
		"for (;;) await 0",
		"setInterval(() => {}, 1); await new Promise(() => {})",
		"for (;;) await codemode.a__echo(1).catch(() => 0)",
		"const o = {get then() { for (;;); }}; return o",
		"Error.prepareStackTrace = () => { for (;;); }; return new Error().stack",
		"for (;;) /(a+)+$/.test('a'.repeat(99) + 'b')",
	} {
		p := Program{Source: source, Limits: limits, Deterministic: &Deterministic{}}
		p.Limits.Steps, p.Limits.Calls = 500_000, 1e6
		first, err := testEngine(t).Run(t.Context(), p, echo)
		var e *Error
		if !errors.As(err, &e) || e.Kind != TooManySteps || e.Error() != "the program made more than 500000 steps" {
			t.Errorf("%s: got %v", source, err)
		}
		again, err := testEngine(t).Run(t.Context(), p, echo)
		if got, want := outcome(again, err), outcome(first, e); got != want {
			t.Errorf("%s:\n%s\nthen\n%s", source, want, got)
		}
	}
}

// A program of a session counts its own steps, and one with too many leaves the session as it was, also if the session
// was an image meanwhile.
func TestStepsOfASession(t *testing.T) {
	var all []string
	for _, putAway := range []bool{false, true} {
		s := newSession(t, testEngine(t))
		for i, source := range []string{
			"const seen = [Math.random()]; setTimeout(() => {}, 50); const pending = codemode.a__echo(1)",
			"seen.push(Math.random(), Date.now()); for (let i = 0; i < 1e5; i++) seen[i % 5] += i",
			"seen.length = 0; for (;;);",
			"await new Promise(r => setTimeout(r, 10)); return [seen, Date.now()]",
		} {
			r, err := s.Run(t.Context(), Program{Source: source, Limits: Limits{Steps: 1e6},
				Deterministic: &Deterministic{Seed: uint64(i)}}, echo)
			all = append(all, outcome(r, err))
			if putAway {
				image, err := s.Image()
				if err != nil {
					t.Fatal(err)
				}
				if s, err = testEngine(t).Open(s.owner, image); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(s.Close)
			}
			if i == 2 && !strings.Contains(all[len(all)-1], "too many steps") {
				t.Errorf("an endless program ended so: %s", all[len(all)-1])
			}
		}
	}
	for i := range all[:4] {
		if all[i] != all[i+4] {
			t.Errorf("program %d:\n%s\nand in a session that was put away\n%s", i+1, all[i], all[i+4])
		}
	}
}

// An answer that came before that of an older call is in the image.
func TestEarlyAnswersAreParked(t *testing.T) {
	e := testEngine(t)
	run, err := e.Start(t.Context(), Program{Deterministic: &Deterministic{Start: time.UnixMilli(5)}, Source: `
		const log = []; await new Promise(r => setTimeout(r, 7));
		const all = [1, 2, 3].map(i => codemode.a__b(i).then(v => log.push(v), e => log.push(e.message, e.n)));
		await Promise.all(all); await new Promise(r => setTimeout(r, 10)); return [log, Date.now()]`}, postponed)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []int{3, 2, 1} {
		if run, err = e.Resume(t.Context(), park(t, run), Program{}, postponed); err != nil {
			t.Fatal(err)
		}
		if id == 2 {
			run.Settle(id, nil, &Throw{Class: "Error", Message: "no", Props: map[string]any{"n": 1 << 60}})
		} else {
			run.Settle(id, json.RawMessage(fmt.Sprintf(`{"of": %d, "html": "<b>"}`, id)), nil)
		}
	}
	r, err := run.Wait()
	if want := `[[{"of":1,"html":"<b>"},"no",1152921504606846976,{"of":3,"html":"<b>"}],22]`; err != nil ||
		string(r.Value) != want {
		t.Errorf("got %s, %v; want %s", r.Value, err, want)
	}
}

// randomRun is how the random program n runs.
func randomRun(n int) Program {
	r := rand.New(rand.NewPCG(18, uint64(n)))
	return Program{
		Source: randomProgram(n), Name: "random.js", Owner: "random", Input: json.RawMessage(fmt.Sprint(n)),
		Deterministic: &Deterministic{Seed: uint64(n), Start: time.UnixMilli(r.Int64N(2e12))},
		Limits: Limits{CPU: time.Hour, Wall: time.Hour, Memory: 12<<20 + r.Int64N(12)<<20, Calls: 50, InFlight: 1 + r.IntN(8),
			ResultBytes: 200 << 10, ConsoleBytes: 2 << 10, Steps: []int64{1e5, 1e6, 4e6}[r.IntN(3)]},
	}
}

// answerOf answers the calls of random programs, always in the same way.
func answerOf(c *Call) (json.RawMessage, error) {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %s", c.ID, c.Name, c.Args)
	n := h.Sum64()
	switch c.Name {
	case "t__fail":
		return nil, fmt.Errorf("failed with %d", n%97)
	case "t__deny":
		return nil, &Throw{Class: "ToolCallDeniedError", Message: "no", Props: map[string]any{"reason": "denied", "n": n}}
	case "t__none":
		return nil, nil
	case "t__data":
		return json.Marshal(map[string]any{"text": strings.Repeat("é<&>", int(n%3000)), "n": n,
			"list": make([]float64, n%500)})
	}
	return c.Args, nil
}

// whenever is a Host that takes its time.
func whenever(_ context.Context, c *Call) (json.RawMessage, error) {
	if n := rand.IntN(8); n > 3 {
		time.Sleep(time.Duration(n) * 40 * time.Microsecond) // a server that takes so long
	}
	return answerOf(c)
}

func postponed(context.Context, *Call) (json.RawMessage, error) { return nil, ErrLater }

// outcome is all that must be the same.
func outcome(r *Result, err error) string {
	e := &Error{}
	if err != nil && !errors.As(err, &e) {
		return err.Error()
	}
	u := r.Usage
	return fmt.Sprintf("%d steps, %d bytes, %d calls; %s\n%q %d\n%v %q %q\n%s %v %d", u.Steps, u.Memory, u.Calls, r.Value,
		r.Console, r.ConsoleDropped, e.Kind, e.Name, e.Message, e.Stack, e.Pos, e.Call)
}

// digest is short, for comparing machines.
func digest(n int, of string) string {
	steps, _, _ := strings.Cut(of, " ")
	return fmt.Sprintf("%d %s %x", n, steps, sha256.Sum256([]byte(of)))
}

// parkedAgainAndAgain runs a program that is parked whenever it waits, and goes on in another engine.
func parkedAgainAndAgain(t *testing.T, p Program) (result *Result, parks int, err error) {
	engines := []*Engine{testEngine(t), otherEngine(t)}
	run, err := engines[0].Start(t.Context(), p, postponed)
	if err != nil {
		t.Fatal(err)
	}
	for ; ; parks++ {
		image, err := run.Park(t.Context())
		if err != nil {
			result, err = run.Wait()
			return result, parks, err
		}
		if run, err = engines[parks%2].Resume(t.Context(), image, Program{}, postponed); err != nil {
			t.Fatal(err)
		}
		open := run.Open()
		for _, i := range rand.Perm(len(open))[:1+rand.IntN(len(open))] {
			value, err := answerOf(open[i])
			run.Settle(open[i].ID, value, err)
		}
	}
}

// otherEngine stands for another process.
func otherEngine(t *testing.T) *Engine {
	e, err := New(t.Context(), Options{CacheDir: cachetest.Dir(), ParkKey: []byte("a key for tests")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

// freshly runs a program in a guest that served no other.
func freshly(t *testing.T, p Program) (*Result, error) {
	e := testEngine(t)
	c, g, err := e.leastUsed(p.Limits.Memory, nil)
	if err != nil {
		t.Fatal(err)
	}
	if g != nil {
		g.close()
	}
	if g, err = e.fresh(t.Context(), c, commonMemory); err != nil {
		t.Fatal(err)
	}
	r := newRun(t.Context(), e, g, p, p.Limits.withDefaults(), whenever, 0)
	r.done = make(chan struct{})
	r.drive()
	return r.Wait()
}

// TestTheSameProgramGivesTheSame compares runs of random programs: in a guest that other programs used before, in a
// fresh one, and parked at each call, with hosts that answer in any order.
func TestTheSameProgramGivesTheSame(t *testing.T) {
	kinds, parks := map[Kind]int{}, 0
	for n := range randomPrograms(40) {
		p := randomRun(n)
		first, err := testEngine(t).Run(t.Context(), p, whenever)
		var e *Error
		if errors.As(err, &e) {
			kinds[e.Kind]++
		}
		want := outcome(first, err)
		again, err := testEngine(t).Run(t.Context(), p, whenever)
		same(t, n, "in a used guest", outcome(again, err), want)
		again, err = freshly(t, p)
		same(t, n, "in a fresh guest", outcome(again, err), want)
		again, k, err := parkedAgainAndAgain(t, p)
		same(t, n, "parked", outcome(again, err), want)
		parks += k
		if t.Failed() {
			t.Fatalf("the program:\n%s", p.Source)
		}
	}
	t.Logf("errors: %v; parked %d times", kinds, parks)
	if kinds[Refused] > 0 || kinds[TooManySteps] == 0 || kinds[OutOfMemory] == 0 || parks == 0 {
		t.Errorf("the programs are not what they should be: %v, parked %d times", kinds, parks)
	}
}

func same(t *testing.T, n int, how, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("program %d, %s:\n%s\nwant:\n%s", n, how, got, want)
	}
}

// randomPrograms is how many of them a test runs.
func randomPrograms(n int) int {
	if os.Getenv("CODEMODE_LONG") != "" {
		return 1000
	}
	return n
}

// digestsIn makes a test binary a process that prints digests of random programs.
const digestsIn = "CODEMODE_TEST_DIGESTS"

func printDigests() error {
	e, err := New(context.Background(), Options{CacheDir: os.Getenv(digestsIn)})
	if err != nil {
		return err
	}
	for n := range randomPrograms(10) {
		fmt.Println(digest(n, outcome(e.Run(context.Background(), randomRun(n), whenever))))
	}
	return nil
}

// TestTheSameOnARM64 compares random programs here with a process for another processor. It takes minutes.
func TestTheSameOnARM64(t *testing.T) {
	if os.Getenv("CODEMODE_LONG") == "" {
		t.Skip("it compiles the tests and the guest for another processor, and runs them in qemu: make deterministic does")
	}
	qemu, err := exec.LookPath("qemu-aarch64")
	if err != nil {
		t.Skip("this needs qemu-aarch64, which Debian has in the package qemu-user")
	}
	binary := filepath.Join(t.TempDir(), "arm64.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", binary, ".")
	build.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("compiling the tests: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), qemu, binary)
	cmd.Env = append(os.Environ(), digestsIn+"="+t.TempDir())
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("on arm64: %v\n%s", err, problems.String())
	}
	there := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(there) != randomPrograms(0) {
		t.Fatalf("got %d programs on arm64, want %d\n%s", len(there), randomPrograms(0), problems.String())
	}
	var steps int64
	for n, got := range there {
		r, err := testEngine(t).Run(t.Context(), randomRun(n), whenever)
		steps += r.Usage.Steps
		same(t, n, "on arm64", got, digest(n, outcome(r, err)))
	}
	t.Logf("%d programs with %d steps gave the same on arm64", len(there), steps)
}
