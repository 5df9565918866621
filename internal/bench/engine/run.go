package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/isolation"
)

const (
	// lateMargin is how long after its limit a run may end.
	lateMargin = 250 * time.Millisecond
	// hangWait is how long after that the engine is killed.
	hangWait = 3 * time.Second
	// sessionWait is how long this build may need to make and check the sessions around a program.
	sessionWait = 30 * time.Second
	maxFound    = 10 // findings of one name in a run
	// maxSlow keeps an absurd wait from overflowing to a negative one, in milliseconds.
	maxSlow = 24 * 60 * 60 * 1000
)

// A program is what the harness gives an engine to run.
type program struct {
	name, source string
	limits       isolation.Limits
	secret       string // what the tool secret answers if it is ever called
	session      bool   // see isolation.Run
	holds        bool
}

// A result is the end of a program as the harness saw it.
type result struct {
	isolation.Outcome
	took     time.Duration
	from, to level        // before and after; measured only where asked
	calls    map[int]bool // their numbers
	denied   int          // calls that the harness denied
	found    []found
	unproven bool // see CaseResult
	dead     bool // the engine has to be started again

	said string        // what it returned or threw, for the report about this build
	over time.Duration // beyond the limit for computing
}

// A found is a finding without the case.
type found struct {
	kind, detail string
	measured     bool // by a clock or as memory, so that a busy machine may have caused it
	near         bool // measured, and not beyond twice the limit
}

// find adds a finding. It is valid until the next one. A flood of findings of one name keeps some.
func (r *result) find(kind, format string, args ...any) *found {
	same := 0
	for i := range r.found {
		if r.found[i].kind == kind {
			same++
		}
		if same == maxFound {
			r.found = slices.Delete(r.found, i, i+1)
			break
		}
	}
	r.found = append(r.found, found{kind: kind, detail: shorten(fmt.Sprintf(format, args...))})
	return &r.found[len(r.found)-1]
}

// findWrong adds that the program ended otherwise than it should.
func (r *result) findWrong(format string, args ...any) {
	r.find(Wrong, format, args...).measured = r.limited()
}

// limited reports whether a limit of time or memory ended the program.
func (r *result) limited() bool {
	return !r.dead && (r.Outcome.Outcome == bench.Timeout || r.Outcome.Outcome == bench.Memory)
}

// A message is anything that an engine says after its hello.
type message struct {
	Type string          `json:"type"`
	Call int             `json:"call"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	isolation.Outcome

	tooDeep bool // a value was left out
}

// run runs one program. With measured it measures the engine before and after.
func (p *process) run(ctx context.Context, prog program, measured bool) (r result) {
	p.runs++
	r.calls = map[int]bool{}
	peak := func() int { return 0 }
	if measured {
		resetPeaks(p.family())
		r.from = p.measure()
		peak = p.watchPeak()
	}
	runCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	started := time.Now()
	last := time.Duration(prog.limits.WallMS)*time.Millisecond + lateMargin + hangWait
	if prog.session {
		last += sessionWait
	}
	limit := time.NewTimer(last)
	defer limit.Stop()
	defer func() {
		highest := peak()
		if measured && !r.dead {
			r.to = p.measure()
			r.to.PeakKiB = max(r.to.PeakKiB, highest)
		}
	}()
	p.send(runCtx, struct {
		Type string `json:"type"`
		isolation.Run
	}{"run", isolation.Run{Run: p.runs, Name: prog.name, Program: prog.source, Allow: allowed, Limits: prog.limits,
		Session: prog.session, Holds: prog.holds}})
	for {
		select {
		case <-ctx.Done():
			r.dead = true
			return r
		case <-limit.C:
			r.took, r.dead = time.Since(started), true
			r.find(Hang, "no outcome came within %v after the limit, so the engine was killed",
				lateMargin+hangWait).measured = true
			return r
		case line, ok := <-p.lines:
			if !ok {
				r.took = time.Since(started)
				r.crashed(p, "it ended while it had a program")
				return r
			}
			p.unread.Release(line.room())
			if p.took(runCtx, line.text, prog, &r) {
				r.took = line.at.Sub(started)
				if prog.session && r.Usage != nil { // the rest was for the session
					r.took = time.Duration(r.Usage.WallMS * float64(time.Millisecond))
				}
				return r
			}
		}
	}
}

func (r *result) crashed(p *process, what string) {
	r.dead = true
	r.find(Crash, "%s: %v", what, p.child.Why())
}

// took takes one message of the engine; it reports whether it ended the run.
func (p *process) took(ctx context.Context, line []byte, prog program, r *result) (ended bool) {
	m, err := readMessage(line)
	if err != nil {
		r.find(Protocol, "a line is no JSON object of the protocol: %v: %.200q", err, line)
		r.dead = true
		return true
	}
	if p.runs != m.Run {
		if m.Type == "call" {
			r.find(Leak, "a program called %.100q after its run had ended", m.Name)
		} else {
			r.find(Protocol, "a message %.50q of run %d arrived in run %d", m.Type, m.Run, p.runs)
		}
		return false
	}
	switch m.Type {
	case "call":
		if prog.secret != "" && bytes.Contains(line, []byte(prog.secret)) {
			r.find(Leak, "a call of %.100q has the secret of the policy", m.Name)
		}
		if m.Call < 1 || r.calls[m.Call] {
			r.find(Protocol, "a call has the number %d, which is none or was used before", m.Call)
		}
		r.calls[m.Call] = true
		// An encoder may write one byte as six.
		if size := int64(len(m.Args)); size > 6*prog.limits.ArgumentBytes && p.claims("arguments") {
			r.find(Lie, "a call with %d bytes of arguments arrived, with a limit of %d", size,
				prog.limits.ArgumentBytes)
		}
		if unsent := p.out.bytes(); unsent > maxUnsent {
			r.find(Protocol, "answers of %d bytes wait for it, and it does not read them", unsent).measured = true
			r.dead = true
			return true
		}
		p.answer(ctx, m, prog, r)
		return false
	case "outcome":
		if prog.secret != "" && bytes.Contains(line, []byte(prog.secret)) {
			r.find(Leak, "the outcome has the secret of the policy")
		}
		r.Outcome = m.Outcome
		if m.tooDeep {
			r.Outcome.Outcome, r.Outcome.Message = bench.Error, tooDeep
		}
		if m.Problem != "" && prog.session {
			r.find(Leak, "%s", m.Problem)
		}
		return true
	}
	r.find(Protocol, "there is no message %.50q", m.Type)
	return false
}

// tooDeep is the error of a value that nests deeper than [json.Unmarshal] reads.
const tooDeep = "the harness reads no JSON that nests deeper than 10,000"

func readMessage(line []byte) (m message, err error) {
	if err = json.Unmarshal(line, &m); err == nil {
		return m, nil
	}
	if rest, ok := withoutDeep(line); ok {
		m = message{tooDeep: true}
		err = json.Unmarshal(rest, &m)
	}
	return m, err
}

// withoutDeep is an object without the members that nest deeper than [json.Unmarshal] reads; not ok if it has none.
func withoutDeep(object []byte) (rest []byte, ok bool) {
	const most = 10_000
	depth, deepest, start := 0, 0, 0
	inString, escaped := false, false
	var kept [][]byte
	for i, c := range object {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == '"':
			inString = true
		case c == '{', c == '[':
			if depth++; depth == 1 {
				start = i + 1
			}
			deepest = max(deepest, depth)
		case c == '}', c == ']', c == ',' && depth == 1:
			if depth == 1 && deepest <= most {
				kept = append(kept, object[start:i])
			}
			if depth == 1 {
				ok = ok || deepest > most
				deepest, start = 0, i+1
			}
			if c != ',' {
				depth--
			}
		}
	}
	return slices.Concat([]byte("{"), bytes.Join(kept, []byte(",")), []byte("}")), ok
}

// allowed are the tools that a program may call.
var allowed = []string{"echo", "slow", "fail"}

// answer is the tool that a program called, and the policy of engines that have none.
func (p *process) answer(ctx context.Context, m message, prog program, r *result) {
	a := isolation.Answer{Run: m.Run, Call: m.Call}
	refuse := func(code, message string) { a.Error = &isolation.Refused{Code: code, Message: message} }
	var wait time.Duration
	switch name := m.Name; {
	case m.tooDeep && slices.Contains(allowed, name):
		refuse("failed", tooDeep)
	case name == "echo":
		a.Value = m.Args
	case name == "slow":
		var args struct {
			MS float64 `json:"ms"`
		}
		_ = json.Unmarshal(m.Args, &args) // anything else is a wait of zero
		wait = time.Duration(min(max(args.MS, 0), maxSlow) * float64(time.Millisecond))
		a.Value = json.RawMessage(`"done"`)
	case name == "fail":
		refuse("failed", "it failed, as it always does")
	default:
		known := name == "secret"
		switch {
		case p.claims("policy"):
			r.find(Leak, "a call of %.100q arrived, which the policy does not allow", m.Name)
			a.Value, _ = json.Marshal(prog.secret)
		case known:
			r.denied++
			refuse("denied", "the policy denies secret")
		default:
			refuse("unknown", fmt.Sprintf("there is no tool %.100q", m.Name))
		}
	}
	time.AfterFunc(wait, func() {
		if a.Value == nil {
			p.send(ctx, struct {
				Type string `json:"type"`
				isolation.Answer
			}{"answer", a})
			return
		}
		// A value was JSON on one line when it came. It may be large: encoding it again would take the time of the program.
		begin := fmt.Sprintf(`{"type":"answer","run":%d,"call":%d,"value":`, a.Run, a.Call)
		p.out.put(outgoing{ctx, slices.Concat([]byte(begin), a.Value, []byte("}\n"))})
	})
}

// judge adds what contradicts the protocol and the measurements, whatever the program was.
func (p *process) judge(prog program, r *result) {
	r.over = r.took - time.Duration(prog.limits.CPUMS)*time.Millisecond
	if r.dead {
		return
	}
	wall := time.Duration(prog.limits.WallMS) * time.Millisecond
	if over := r.took - wall; p.claims("time") && over > lateMargin {
		f := r.find(Hang, "it ended %.0f ms after its limit of %v", ms(over), wall)
		f.measured, f.near = true, over < 2*lateMargin
	}
	shortest := time.Duration(min(prog.limits.WallMS, prog.limits.CPUMS)) * time.Millisecond
	switch r.Outcome.Outcome {
	case bench.Value, bench.Error:
	case bench.Denied:
		if r.denied == 0 && !p.claims("policy") {
			r.find(Lie, "it says that a call was denied, but none was")
		}
	case bench.Timeout:
		if r.took < shortest-shortest/10 {
			r.find(Lie, "it says that the time was up after %.0f ms of %v", ms(r.took), shortest)
		}
	case bench.Memory:
		if !p.claims("memory") {
			r.find(Lie, "it says that the memory was used up, but claims no limit of memory")
		}
	default:
		r.find(Protocol, "there is no outcome %.50q", r.Outcome.Outcome)
	}
	p.judgeUsage(prog, r)
}

// Room for what the harness and an engine measure at different moments.
const (
	spareTime   = 50 * time.Millisecond
	spareKiB    = 16 << 10
	spareGrowth = 64 << 10 // KiB beyond twice the limit that an engine may need for itself
)

func (p *process) judgeUsage(prog program, r *result) {
	known := r.from.Known && r.to.Known
	u := r.Usage
	if u == nil && p.claims("usage") {
		r.find(Lie, "it claims usage, but an outcome has none")
	}
	if u != nil {
		if min(u.WallMS, u.CPUMS, float64(u.MemoryBytes)) < 0 {
			r.find(Lie, "it says that the run took %v ms, computed for %v ms and held %d bytes", u.WallMS, u.CPUMS,
				u.MemoryBytes)
		}
		lie := func(format string, args ...any) { r.find(Lie, format, args...).measured = true }
		if u.WallMS > ms(r.took+spareTime) {
			lie("it says that the run took %.0f ms, but it took %.0f ms", u.WallMS, ms(r.took))
		}
		if cpu := r.to.CPU - r.from.CPU; known && u.CPUMS > ms(cpu+spareTime) {
			lie("it says that the run computed for %.0f ms, but the engine computed for %.0f ms", u.CPUMS, ms(cpu))
		}
		if known && int(u.MemoryBytes>>10) > r.to.PeakKiB+spareKiB {
			lie("it says that the run held %d KiB, but the whole engine held at most %d KiB", u.MemoryBytes>>10, r.to.PeakKiB)
		}
	}
	if most := int(2*prog.limits.MemoryBytes>>10) + spareGrowth; known && p.claims("memory") {
		if grown := r.to.PeakKiB - r.from.ResidentKiB; grown > most {
			f := r.find(Overshoot, "the engine grew by %d MiB with a limit of %d MiB", grown>>10, prog.limits.MemoryBytes>>20)
			f.measured, f.near = true, grown < 2*most
		}
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// detailRunes bounds the length of a detail.
const detailRunes = 300

func shorten(s string) string {
	n := 0
	for i := range s {
		if n++; n > detailRunes {
			return strings.TrimSpace(s[:i]) + "…"
		}
	}
	return s
}
