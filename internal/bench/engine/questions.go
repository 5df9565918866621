package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math/big"
	"time"

	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/isolation"
)

// A question is a test whose right answer an engine cannot know before it has run a program.
type question struct {
	name     string
	needs    []string // claims
	kind     string   // of a failure, as classes of cases have one
	severity string
	ask      func(context.Context, *asking) error
}

// questionClass is the class of the questions in a report.
const questionClass = "questions"

var questions = []question{
	{"programs are run", nil, "spoofed outcome", "critical", askSums},
	{"answers reach the program", []string{"calls"}, "bridge confusion", "high", askEcho},
	{"a wait is a wait", []string{"calls"}, "spoofed outcome", "high", askWait},
	{"a run finds nothing of the one before", nil, "leak between runs", "critical", askPlanted},
	{"a run ends at its limit of time", []string{"time"}, "denial of service", "high", askTime},
	{"nothing computes after a run", []string{"time"}, "denial of service", "high", askAfter},
	{"a program may use its memory, and no more", []string{"memory"}, "resource overshoot", "high", askMemory},
	{"usage is what was used", []string{"usage"}, "spoofed outcome", "medium", askUsage},
	{secretQuestion, []string{"calls"}, "policy bypass", "critical", askSecret},
}

// secretQuestion is the name of the question that runs thousands of programs.
const secretQuestion = "a denied tool is never called"

// An asking is a question that is being asked.
type asking struct {
	*session
	result *CaseResult
}

// asked asks a question.
func (s *session) asked(ctx context.Context, q question) (CaseResult, error) {
	r := CaseResult{Case: q.name, Class: questionClass, Kind: q.kind, Severity: q.severity}
	if err := s.ready(ctx); err != nil {
		return r, err
	}
	if r.Skipped = missing(q.needs, s.process.hello.Claims); len(r.Skipped) > 0 {
		return r, nil
	}
	started := time.Now()
	err := q.ask(ctx, &asking{s, &r})
	r.MS = ms(time.Since(started))
	return r, err
}

// run runs a program of a question, and reports whether it returned a value.
func (a *asking) run(ctx context.Context, source string, l isolation.Limits, measured bool) (result, bool, error) {
	if err := a.ready(ctx); err != nil {
		return result{}, false, err
	}
	prog := program{name: "question", source: source, limits: l, secret: rand.Text()}
	p := a.process
	r := p.run(ctx, prog, measured)
	if ctx.Err() != nil {
		return r, false, context.Cause(ctx)
	}
	p.judge(prog, &r)
	for _, f := range r.found {
		a.add(f)
	}
	if r.dead {
		a.drop()
	}
	return r, !r.dead && r.Outcome.Outcome == bench.Value, nil
}

// maxSaid is how many findings a question has at most: a thousand would say the same.
const maxSaid = 3

func (a *asking) add(f found) {
	same := 0
	for _, old := range a.result.Findings {
		if old.Finding == f.kind && (old.measured || !f.measured) {
			same++
		}
	}
	if same < maxSaid {
		a.result.Findings = append(a.result.Findings, f.of(a.result))
	}
}

func (a *asking) find(kind, format string, args ...any) {
	a.add(found{kind: kind, detail: shorten(fmt.Sprintf(format, args...))})
}

// findWrong adds that a program ended otherwise than it should.
func (a *asking) findWrong(r result, format string, args ...any) {
	a.add(found{kind: Wrong, detail: shorten(fmt.Sprintf(format, args...)), measured: r.limited()})
}

// wants runs a program that has to return a value.
func (a *asking) wants(ctx context.Context, source, want string) error {
	r, ok, err := a.run(ctx, source, limits(wall), false)
	switch {
	case err != nil || r.dead:
		return err
	case !ok:
		a.findWrong(r, "%s ended with %s: %s", source, r.Outcome.Outcome, r.Message)
	case string(r.Value) != want:
		a.find(Lie, "%s returned %s, expected %s", source, shorten(string(r.Value)), want)
	}
	return nil
}

// sum is a program that both languages have.
func sum(a, b, c int64) string { return fmt.Sprintf("return %d * %d + %d", a, b, c) }

// number is a random one, small enough that products are exact.
func number() int64 {
	n, err := rand.Int(rand.Reader, big.NewInt(1<<20))
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	return n.Int64() + 2
}

func askSums(ctx context.Context, a *asking) error {
	for range 20 {
		x, y, z := number(), number(), number()
		if err := a.wants(ctx, sum(x, y, z), fmt.Sprint(x*y+z)); err != nil {
			return err
		}
	}
	return nil
}

func askEcho(ctx context.Context, a *asking) error {
	for range 20 {
		text := rand.Text()
		if err := a.wants(ctx, fmt.Sprintf("return await codemode.echo(%q)", text), fmt.Sprintf("%q", text)); err != nil {
			return err
		}
	}
	return nil
}

func askWait(ctx context.Context, a *asking) error {
	wait := 200 + number()%200
	r, ok, err := a.run(ctx, fmt.Sprintf(`return await codemode.slow({"ms": %d})`, wait), limits(wall), false)
	switch {
	case err != nil || r.dead:
	case !ok || string(r.Value) != `"done"`:
		a.findWrong(r, "a program that waits for a tool ended with %s %s %s", r.Outcome.Outcome, r.Value, r.Message)
	case r.took < time.Duration(wait)*time.Millisecond:
		a.find(Lie, "a program that waits for %d ms ended after %.0f ms", wait, ms(r.took))
	}
	return err
}

// plant and peek are programs that leave and look for a text, by language.
var plant, peek = map[string]string{
	"javascript": `globalThis.planted = %[1]q; Object.prototype.planted2 = %[1]q; Array.prototype.map = () => %[1]q;
try { codemode.planted = codemode.echo.planted = %[1]q } catch {}
return 1`,
	"python": "global planted\nplanted = %q\nreturn 1",
}, map[string]string{
	"javascript": "return `${globalThis.planted} ${({}).planted2} ${[1].map((x) => x)} ${codemode.planted} ` +\n" +
		"  codemode.echo.planted",
	"python": "try:\n    return planted\nexcept Exception:\n    return 0",
}

func askPlanted(ctx context.Context, a *asking) error {
	for range 20 {
		text, language := rand.Text(), a.language()
		if _, _, err := a.run(ctx, fmt.Sprintf(plant[language], text), limits(wall), false); err != nil {
			return err
		}
		r, ok, err := a.run(ctx, peek[language], limits(wall), false)
		if err != nil {
			return err
		}
		if !ok && !r.dead {
			a.findWrong(r, "%s ended with %s: %s", peek[language], r.Outcome.Outcome, r.Message)
		}
		if whole, _ := json.Marshal(r.Outcome); bytes.Contains(whole, []byte(text)) {
			a.find(Leak, "a program found what the one before had left: %s", shorten(string(r.Value)+r.Message))
		}
	}
	return nil
}

func (a *asking) language() string { return a.hello.Language }

// endless computes for ever.
var endless = map[string]string{"javascript": "for (;;);", "python": "while True:\n    pass"}

func askTime(ctx context.Context, a *asking) error {
	for range 3 {
		limit := time.Duration(300+number()%400) * time.Millisecond
		r, _, err := a.run(ctx, endless[a.language()], limits(limit), false)
		if err != nil {
			return err
		}
		if !r.dead && r.Outcome.Outcome != bench.Timeout {
			a.findWrong(r, "an endless loop ended with %s after %.0f ms", r.Outcome.Outcome, ms(r.took))
		}
	}
	return nil
}

// busy are programs that compute for ever, in the program itself and within a built-in function.
var busy = map[string][]string{
	"javascript": {endless["javascript"], "return Array.prototype.reverse.call({ length: 2 ** 53 - 1 })"},
	"python":     {endless["python"]},
}

// askAfter looks whether an engine goes on computing when it has said that the time was up.
func askAfter(ctx context.Context, a *asking) error {
	for _, source := range busy[a.language()] {
		a.replace() // an earlier program may still compute
		if err := a.restsAfter(ctx, source); err != nil {
			return err
		}
	}
	return nil
}

func (a *asking) restsAfter(ctx context.Context, source string) error {
	r, _, err := a.run(ctx, source, limits(300*time.Millisecond), true)
	if err != nil || r.dead {
		return err
	}
	if !r.to.Known {
		a.result.Unproven, a.result.Detail = true, "this system does not tell whether the engine computes"
		return nil
	}
	const pause = 300 * time.Millisecond
	for range 3 { // garbage collections and the like end
		before := active(a.process.family())
		time.Sleep(pause)
		if active(a.process.family()).since(before) < pause/5 {
			return nil
		}
	}
	a.add(found{kind: Lie, measured: true,
		detail: "after it said that the time of " + source + " was up, the engine still computed"})
	return nil
}

// holds is a program that holds some MiB of memory, written to.
var holds = map[string]string{
	"javascript": `const held = [];
for (let i = 0; i < %d; i++) held.push(new Uint8Array(1 << 20).fill(i + 1));
return held.length`,
	"python": "held = []\nfor i in range(%d):\n    held.append('x' * (1048576 - i))\nreturn len(held)",
}

func askMemory(ctx context.Context, a *asking) error {
	const fits, over = 16, 512 // MiB; the limit is 64
	r, ok, err := a.run(ctx, fmt.Sprintf(holds[a.language()], fits), limits(wall), true)
	if err != nil {
		return err
	}
	if !r.dead && (!ok || string(r.Value) != fmt.Sprint(fits)) {
		a.findWrong(r, "a program that holds %d MiB of %d ended with %s %s", fits, 64, r.Outcome.Outcome, r.Message)
	}
	r, ok, err = a.run(ctx, fmt.Sprintf(holds[a.language()], over), limits(wall), true)
	if err == nil && ok {
		a.findWrong(r, "a program held %d MiB with a limit of %d", over, 64)
	}
	return err
}

// askUsage asks for memory of a known size and for a known time.
func askUsage(ctx context.Context, a *asking) error {
	const held = 24
	r, ok, err := a.run(ctx, fmt.Sprintf(holds[a.language()], held), limits(wall), true)
	switch {
	case err != nil || r.dead:
		return err
	case r.Usage == nil: // which is a finding already
		return nil
	case ok && r.Usage.MemoryBytes < held<<20/2:
		a.find(Lie, "it says that a program that held %d MiB held %d KiB", held, r.Usage.MemoryBytes>>10)
	}
	for _, wait := range []time.Duration{400 * time.Millisecond, 2 * time.Second, 10 * time.Second} {
		r, _, err = a.run(ctx, endless[a.language()], limits(wait), true)
		if err != nil || r.dead || r.Usage == nil || r.Outcome.Outcome != bench.Timeout {
			return err
		}
		if r.Usage.WallMS < ms(r.took)/2 {
			a.find(Lie, "it says that a run of %.0f ms took %.0f ms", ms(r.took), r.Usage.WallMS)
		}
		computed := min(ms(r.to.CPU-r.from.CPU), ms(r.took)) // the engine computes besides
		if r.from.Known && r.to.Known && r.Usage.CPUMS+ms(spareTime) < computed/2 {
			a.add(found{kind: Lie, measured: true, detail: fmt.Sprintf(
				"it says that a run computed for %.0f ms, but the engine computed for %.0f ms", r.Usage.CPUMS, computed)})
		}
		if computed > 2*ms(spareTime) { // else the machine is so busy that the run hardly computed
			break
		}
	}
	return nil
}

// tries is a program that calls the denied tool four times, leaves a text, and returns what it found.
var tries = map[string]string{
	"javascript": `const found = [globalThis.before];
globalThis.before = %q;
for (let i = 0; i < 4; i++) try { found.push(await codemode.secret({i})) } catch {}
return found`,
	"python": `found = []
for i in [0, 1, 2, 3]:
    try:
        found.append(await codemode.secret(%q))
    except Exception:
        pass
return found`,
}

// triesTime and triesMost bound askSecret.
const (
	triesTime = 2 * time.Minute
	triesMost = 5000
)

// askSecret runs thousands of programs: an engine may be right most of the time.
func askSecret(ctx context.Context, a *asking) error {
	nothing := map[string]string{"javascript": "[null]", "python": "[]"}
	started, n := time.Now(), 0
	for ; n < cmp.Or(a.o.Programs, triesMost) && time.Since(started) < triesTime; n++ {
		language := a.language()
		r, ok, err := a.run(ctx, fmt.Sprintf(tries[language], rand.Text()), limits(wall), false)
		if err != nil {
			return err
		}
		switch {
		case r.dead:
		case !ok:
			a.findWrong(r, "program %d ended with %s: %s", n+1, r.Outcome.Outcome, r.Message)
		case string(r.Value) != nothing[language]:
			a.find(Leak, "program %d of the same text returned %s, expected %s", n+1, shorten(string(r.Value)),
				nothing[language])
		}
	}
	a.result.Detail = fmt.Sprintf("%d programs", n)
	return nil
}
