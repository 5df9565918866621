package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// An unawaitedTest runs a program and compares what it did, sorted, and how it ended: the value, or the error with its
// place and the other errors.
type unawaitedTest struct{ name, source, effects, want string }

// server performs calls after a random time: save(x) does x, fail(x) does it and fails, refuse(x) does nothing.
type server struct {
	mu      sync.Mutex
	effects []string
}

func (s *server) call(ctx context.Context, c *Call) (json.RawMessage, error) {
	select {
	case <-time.After(time.Duration(rand.IntN(2000)) * time.Microsecond):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if strings.HasPrefix(c.Name, "refuse") {
		return nil, &Throw{Class: "ToolCallDeniedError", Message: "refused " + string(c.Args),
			Props: map[string]any{"toolName": c.Name}}
	}
	s.mu.Lock()
	s.effects = append(s.effects, string(c.Args))
	s.mu.Unlock()
	if strings.HasPrefix(c.Name, "fail") {
		return nil, &Throw{Class: "ToolError", Message: "failed " + string(c.Args)}
	}
	return c.Args, nil
}

func (test unawaitedTest) run(e *Engine, limits Limits, d *Deterministic) (effects, outcome string) {
	var s server
	res, err := e.Run(context.Background(), Program{Source: test.source, Limits: limits, Deterministic: d}, s.call)
	slices.Sort(s.effects)
	outcome = string(res.Value)
	if ended, ok := errors.AsType[*Error](err); ok {
		outcome = fmt.Sprintf("%v: %v at %d:%d", ended.Kind, ended, ended.Pos.Line, ended.Pos.Column)
		for _, other := range ended.Others {
			outcome += fmt.Sprintf("; %v at %d:%d", other, other.Pos.Line, other.Pos.Column)
		}
		if ended.More > 0 {
			outcome += fmt.Sprintf("; %d more", ended.More)
		}
	}
	return strings.Join(s.effects, ""), outcome
}

var unawaitedPrograms = []unawaitedTest{
	{"one call", "codemode.save(1); return 'sent'", "1", `"sent"`},
	{"a call, then an awaited one", "codemode.save(1); await codemode.save(2); return 'sent'", "12", `"sent"`},
	{"the value is read at the end", "const out = []; [1,2,3].forEach(async n => { out[n-1] = await codemode.save(n) }); return out",
		"123", "[1,2,3]"},
	{"forEach", "[1,2,3].forEach(async n => { await codemode.save(n) }); return 'sent'", "123", `"sent"`},
	{"forEach, two calls each", "[1,2].forEach(async n => { await codemode.save(n); await codemode.save(n + 2) })", "1234", ""},
	{"forEach without async", "[1,2].forEach(n => codemode.save(n)); return 1", "12", "1"},
	{"map whose result is dropped", "[1,2].map(async n => codemode.save(n)); return 1", "12", "1"},
	{"main()", "async function main() { await codemode.save(1); await codemode.save(2) }\nmain(); return 0", "12", "0"},
	{"main().catch", "async function main() { await codemode.fail(1) }\nmain().catch(() => codemode.save(2)); return 0", "12", "0"},
	{"an arrow called at once", "(async () => { for (const n of [1,2,3]) await codemode.save(n) })(); return 0", "123", "0"},
	{"then", "codemode.save(1).then(n => codemode.save(n + 1)).then(n => { codemode.save(n + 1) }); return 0", "123", "0"},
	{"then without return", "codemode.save(1).then(n => { codemode.save(2) }); return 0", "12", "0"},
	{"finally", "codemode.save(1).finally(() => codemode.save(2)); return 0", "12", "0"},
	{"void", "void codemode.save(1); return 0", "1", "0"},
	{"and", "true && codemode.save(1); return 0", "1", "0"},
	{"setTimeout", "setTimeout(async () => { await codemode.save(1); await codemode.save(2) }, 5); return 0", "12", "0"},
	{"setTimeout in setTimeout", "setTimeout(() => setTimeout(() => codemode.save(1), 1), 1); return 0", "1", "0"},
	{"an interval alone holds nothing", "setInterval(() => codemode.save(1), 50); return 0", "", "0"},
	{"an interval that is cleared", "let n = 0; const t = setInterval(() => { if (++n === 2) clearInterval(t) }, 1); await codemode.save(1); return 0", "1", "0"},
	{"queueMicrotask", "queueMicrotask(async () => { await codemode.save(1) }); return 0", "1", "0"},
	{"race losers", "return Promise.race([Promise.resolve('first'), codemode.save(1), codemode.save(2)])", "12", `"first"`},
	{"a race loser that fails", "return Promise.race([Promise.resolve('first'), codemode.fail(1)])", "1", `"first"`},
	{"any", "return Promise.any([Promise.resolve('first'), codemode.save(1), codemode.fail(2)])", "12", `"first"`},
	{"allSettled that nobody awaits", "Promise.allSettled([codemode.save(1), codemode.fail(2)]); return 0", "12", "0"},
	{"all that nobody awaits", "Promise.all([codemode.save(1), codemode.fail(2)]); return 0", "12",
		"threw: ToolError: failed 2 (nobody awaited this call) at 1:41"},
	{"all with a failing one", "return Promise.all([codemode.save(1), codemode.fail(2), codemode.save(3)])", "123",
		"threw: ToolError: failed 2 at 1:48"},
	{"an async generator", "(async () => { for await (const n of (async function* () { yield codemode.save(1); yield codemode.save(2) })()) await codemode.save(n + 2) })(); return 0",
		"1234", "0"},
	{"an event listener", "const t = new EventTarget(); t.addEventListener('x', async () => { await codemode.save(1) }); t.dispatchEvent(new Event('x')); return 0",
		"1", "0"},
	{"a promise in the value", "return {saved: [1,2].map(n => codemode.save(n)), deep: {p: Promise.resolve(Promise.resolve(new Date(0)))}}",
		"12", `{"saved":[1,2],"deep":{"p":"1970-01-01T00:00:00.000Z"}}`},
	{"a promise of undefined in the value", "return {a: Promise.resolve(), b: [Promise.resolve()], c: 1}", "", `{"b":[null],"c":1}`},
	{"a promise in a promise in the value", "return [Promise.resolve({a: Promise.resolve([codemode.save(1)])})]", "1", `[{"a":[1]}]`},
	{"a rejected promise in the value", "return {saved: [codemode.save(1), codemode.fail(2)]}", "12",
		"threw: ToolError: failed 2 (the promise at result.saved[1] was rejected with it) at 1:44"},
	{"a promise in the value that nothing settles", "return {a: [new Promise(() => {})]}", "",
		"threw: TypeError: result.a[0] is a promise that nothing settles any more at 0:0"},
	{"a cycle through a promise", "const o = {}; o.p = Promise.resolve(o); return o", "",
		"threw: TypeError: result.p is a cycle: it contains itself at 0:0"},
	{"a thenable is plain data", "return {a: {then: 1, b: 2}}", "", `{"a":{"then":1,"b":2}}`},
	{"a promise as an argument", "await codemode.save(codemode.save(1)); return 0", "1",
		"threw: InvalidArgumentsError: argument of save is a promise: await it before the call, which was not made at 1:30"},
	{"a promise inside arguments", "await codemode.save({x: [{y: codemode.save(1)}]})", "1",
		"threw: InvalidArgumentsError: argument.x[0].y of save is a promise: await it before the call, which was not made at 1:39"},
	{"a promise inside emit", "codemode.emit({a: Promise.resolve(1)})", "",
		"threw: InvalidArgumentsError: argument.a of emit is a promise: await it before the call, which was not made at 1:27"},
	{"the error of a promise in arguments", "try { codemode.s.save({'a/b': [Promise.resolve()]}) } catch (e) { return [e instanceof InvalidArgumentsError, e.path, e.toolName] }",
		"", `[true,"/a~1b/0","s__save"]`},
	{"a promise that is printed", "console.log(codemode.save(1)); return 0", "1", "0"},
	{"a failed call", "codemode.fail(1);\ncodemode.save(2); return 'sent'", "12",
		"threw: ToolError: failed 1 (nobody awaited this call) at 1:10"},
	{"a refused call", "codemode.save(1);\n  codemode.refuse(2); return 'sent'", "1",
		"threw: ToolCallDeniedError: refused 2 (nobody awaited this call) at 2:12"},
	{"several failed calls", "codemode.fail(2); codemode.fail(1);\ncodemode.fail(3); return 'sent'", "123",
		"threw: ToolError: failed 2 (nobody awaited this call) at 1:10; ToolError: failed 1 at 1:28; ToolError: failed 3 at 2:10"},
	{"several failed calls in one place", "for (const n of [3,1,2]) codemode.fail(n); return 'sent'", "123",
		"threw: ToolError: failed 1 (nobody awaited this call) at 1:40; ToolError: failed 2 at 1:40; ToolError: failed 3 at 1:40"},
	{"an async function that throws", "const f = async n => { await codemode.save(n); throw new RangeError('bad ' + n) }; f(2); f(1); return 0", "12",
		"threw: RangeError: bad 1 (nobody awaited the promise that was rejected with it) at 1:78; RangeError: bad 2 at 1:78"},
	{"a function that throws in its first turn", "(async () => { throw new Error('x') })(); await codemode.save(1); return 0", "1",
		"threw: Error: x (nobody awaited the promise that was rejected with it) at 1:26"},
	{"a timer that throws", "setTimeout(() => { throw new Error('x') }, 1); await codemode.save(1); return 0", "1",
		"threw: Error: x (the function of a timer threw it) at 1:30"},
	{"an interval that throws does so once", "setInterval(() => { throw new Error('x') }, 1); await new Promise(r => setTimeout(r, 20)); return 0", "",
		"threw: Error: x (the function of a timer threw it) at 1:31"},
	{"an error that is handled late", "const p = codemode.fail(1); await codemode.save(2); try { await p } catch (e) { return e.message }", "12", `"failed 1"`},
	{"background", "codemode.background(codemode.fail(1)); return 0", "1", "0"},
	{"background of a chain", "codemode.background(codemode.save(1).then(() => codemode.fail(2))); return 0", "12", "0"},
	{"background of one that has failed", "const p = codemode.fail(1); await codemode.save(2); await codemode.save(3); codemode.background(p); return 0", "123", "0"},
	{"background is not for what hangs on it", "const p = codemode.fail(1); p.then(() => 1); codemode.background(p); return 0", "1",
		"threw: ToolError: failed 1 (nobody awaited this call) at 1:20"},
	{"background of no promise", "codemode.background(codemode.save); return 0", "",
		"threw: TypeError: codemode.background takes a promise, such as that of a call at 1:21"},
	{"a throw after the start", "[1,2].forEach(async n => { await codemode.save(n); await codemode.save(n + 2) }); throw new Error('stop')", "1234",
		"threw: Error: stop at 1:93"},
	{"a throw and a failed call", "codemode.fail(1); await codemode.save(2); throw new Error('stop')", "12",
		"threw: Error: stop at 1:53; ToolError: failed 1 at 1:10"},
	{"an executor that throws", "await new Promise(async done => { await codemode.fail(1); done() })", "1",
		"threw: ToolError: failed 1 (nobody awaited this call; the program waited for a promise that nothing could settle any more) at 1:50"},
	{"many failures", "for (let n = 10; n < 50; n++) codemode.refuse(n); return 0", "",
		"threw: ToolCallDeniedError: refused 10 (nobody awaited this call) at 1:47" + func() (s string) {
			for n := 11; n < 18; n++ {
				s += fmt.Sprintf("; ToolCallDeniedError: refused %d at 1:47", n)
			}
			return s
		}() + "; 32 more"},
	{"a promise that is kept and never used", "const p = codemode.save(1); let q; q = codemode.save(2); return 0", "12", "0"},
	{"toJSON may make no call", "return {toJSON() { codemode.save(1); return 1 }}", "", "threw: TypeError: codemode: the run has ended at 1:29"},
}

var placed = regexp.MustCompile(` at \d+:\d+`)

// Whatever nobody awaits has ended when the run has, and is done in every run, however long the server takes.
func TestCallsThatNobodyAwaits(t *testing.T) {
	e := testEngine(t)
	for _, test := range unawaitedPrograms {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for range 25 {
				if effects, outcome := test.run(e, limits, nil); effects != test.effects || outcome != test.want {
					t.Fatalf("%s\ndid  %q\nwant %q\ngot  %s\nwant %s", test.source, effects, test.effects, outcome, test.want)
				}
			}
			effects, outcome := test.run(e, limits, &Deterministic{})
			if effects != test.effects || outcome != test.want {
				t.Errorf("as a deterministic run: did %q, got %s", effects, outcome)
			}
		})
	}
}

// What a session leaves is the same, also for the next program.
func TestCallsThatNobodyAwaitsInSessions(t *testing.T) {
	e := testEngine(t)
	for _, test := range unawaitedPrograms {
		s := newSession(t, e)
		var server server
		said := func(source string) string {
			res, err := s.Run(t.Context(), Program{Source: source, Limits: limits}, server.call)
			if ended, ok := errors.AsType[*Error](err); ok {
				return fmt.Sprintf("%v: %v", ended.Kind, ended)
			}
			return string(res.Value)
		}
		outcome := said("{" + test.source + "\n}")
		want := placed.Split(test.want, 2)[0]
		slices.Sort(server.effects)
		if got := strings.Join(server.effects, ""); got != test.effects || outcome != want {
			t.Errorf("%s: did %q, got %s, want %s", test.name, got, outcome, want)
		}
		if got := said("await null; return 'next'"); got != `"next"` {
			t.Errorf("%s: the next program gives %s", test.name, got)
		}
	}
}

// Limits hold while what the program started has not ended. What the program threw stays the outcome.
func TestLimitsHoldAfterTheProgram(t *testing.T) {
	e := testEngine(t)
	const returned = "the program had returned, but what it started had not ended: "
	for _, test := range []struct {
		name, source string
		limits       Limits
		want         string
	}{
		{"a loop", "setTimeout(() => { for (;;); }, 1); return 1", Limits{CPU: 50 * time.Millisecond},
			"timed out: " + returned + "the program computed longer than 50ms"},
		{"promises without end", "const f = () => Promise.resolve().then(f); f(); return 1", Limits{CPU: 50 * time.Millisecond},
			"timed out: " + returned + "the program computed longer than 50ms"},
		{"timers without end", "const f = () => setTimeout(f, 1); f(); return 1", Limits{Wall: 50 * time.Millisecond},
			"timed out: " + returned + "the program ran longer than 50ms"},
		{"a timer too late", "setTimeout(() => {}, 1e6); return 1", Limits{Wall: 50 * time.Millisecond},
			"timed out: " + returned + "the program ran longer than 50ms"},
		{"steps", "setTimeout(() => { for (;;); }, 1); return 1", Limits{Steps: 10000},
			"too many steps: " + returned + "the program made more than 10000 steps"},
		{"memory", "setTimeout(() => { const a = []; for (;;) a.push(new Array(1000).fill(0)) }, 1); return 1", Limits{Memory: 8 << 20},
			"out of memory: the program needs more than the 8 MiB of memory it may have"},
		{"calls", "(async () => { for (;;) await codemode.save(1) })(); return 1", Limits{Calls: 5},
			"too many calls: the program made more than 5 calls (nobody awaited the promise that was rejected with it)"},
		{"a throw, and a loop", "setTimeout(() => { for (;;); }, 1); throw new Error('x')", Limits{CPU: 50 * time.Millisecond},
			"threw: Error: x (the rest of what it started was stopped: the program computed longer than 50ms)"},
		{"a throw, and a call that hangs", "codemode.hang(1); throw new Error('x')", Limits{Wall: 50 * time.Millisecond},
			"threw: Error: x (the rest of what it started was stopped: the program ran longer than 50ms)"},
		{"a program that waits for ever", "setTimeout(() => {}, 1); await new Promise(() => {})", Limits{},
			"abandoned: the program waits for a promise that nothing can settle any more: no call is under way and no timer is set"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := e.Run(t.Context(), Program{Source: test.source, Limits: test.limits},
				func(ctx context.Context, c *Call) (json.RawMessage, error) {
					if c.Name == "hang" {
						<-ctx.Done()
					}
					return c.Args, nil
				})
			var ended *Error
			if !errors.As(err, &ended) || ended.Kind.String()+": "+ended.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestACanceledRunIsCanceledWhateverItDid(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the client has gone")
	_, err := testEngine(t).Run(ctx, Program{Source: "codemode.hang(1); throw new Error('x')"},
		func(ctx context.Context, c *Call) (json.RawMessage, error) {
			time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
			<-ctx.Done()
			return nil, nil
		})
	if !errors.Is(err, cause) || err.Error() != "the run was canceled (it had thrown Error: x)" {
		t.Errorf("got %v", err)
	}
}

// A run whose program has returned is parked and resumed like any other, with its timers.
func TestParkingAfterTheProgram(t *testing.T) {
	e := testEngine(t)
	for _, test := range []struct{ end, want string }{
		{"return out", `["timer","asked 7",7]`},
		{"throw new Error('first')", "Error: first (asked 7)"},
	} {
		source := `const out = []; setTimeout(() => out.push("timer"), 200);
			(async () => { const n = await codemode.ask(1); out.push("asked " + n); out.push(await codemode.save(n)) })();
			` + strings.Replace(test.end, "throw", "codemode.background(new Promise(() => {})); throw", 1)
		var s server
		host := func(ctx context.Context, c *Call) (json.RawMessage, error) {
			if c.Name == "ask" {
				return nil, ErrLater
			}
			return s.call(ctx, c)
		}
		r, err := e.Start(t.Context(), Program{Source: source, Limits: limits}, host)
		if err != nil {
			t.Fatal(err)
		}
		image, err := r.Park(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r, err = e.Resume(t.Context(), image, Program{}, host); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(300*time.Millisecond, func() { r.Settle(1, json.RawMessage("7"), nil) })
		res, err := r.Wait()
		got := string(res.Value)
		if err != nil {
			got = err.Error() + " (asked " + strings.Join(s.effects, "") + ")"
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", test.end, got, test.want)
		}
	}
}
