package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/isolation"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// An Engine is a command that speaks the isolation protocol.
type Engine struct {
	Name    string   // how reports call it; "" is the name in its hello
	Command []string // of at least one word
	Dir     string   // where it starts; "" is our working directory

	own bool // it is this build: it gets our environment
}

// Options are the settings of [Isolation].
type Options struct {
	// Once runs each case once; otherwise each runs twice in a row, and the second run must end like the first.
	Once bool
	// Programs is how many programs that call a denied tool the harness runs beside the cases; zero is 5,000, less than
	// zero none. It stops after two minutes.
	Programs int
	// Baseline is an earlier board; nil is none. A finding that it has counts if one of six runs has it; a measurement
	// that it does not have must exceed twice its limit in each of six.
	Baseline *Scoreboard
	// Progress is called before each case, by several goroutines; nil is ignored.
	Progress func(done, total int, what string)

	ask  func(question) bool // which questions; nil is all
	own  *OwnOptions         // of this build; nil is another engine
	wall time.Duration       // the limit of a case; zero is the usual one
}

const (
	// wall is the limit of a case; shortWall that of a case that should use it up.
	wall      = 3 * time.Second
	shortWall = time.Second
	// wallMargin is how much the limit for a whole run exceeds the limit for computing, so that the latter stops a loop.
	wallMargin = 10 * time.Millisecond
)

func limits(wall time.Duration) isolation.Limits {
	return isolation.Limits{
		WallMS: (wall + wallMargin).Milliseconds(), CPUMS: wall.Milliseconds(), MemoryBytes: 64 << 20,
		Calls: 2000, InFlight: 16, ArgumentBytes: 8 << 20, ResultBytes: 1 << 20,
	}
}

// Isolation runs a suite and the questions of the harness against each engine, and several engines at once. What a
// busy machine may have caused, such as a late end, counts only if it happens again while nothing else runs. The error
// is that of ctx; an engine that did not start, or did not start again, has it in its report.
func Isolation(ctx context.Context, engines []Engine, o Options, suite *bench.Suite) (*Scoreboard, error) {
	board := &Scoreboard{Engines: make([]*Report, len(engines))}
	var alone sync.RWMutex
	var names sync.Map
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i, e := range engines {
		work.Go(func() error {
			report, err := one(ctx, e, o, suite, &alone, &names)
			if err != nil && ctx.Err() == nil {
				report.Failed, err = err.Error(), nil
			}
			board.Engines[i] = report
			return err
		})
	}
	return board, work.Wait()
}

// one runs everything against one engine. names are those of the engines so far.
func one(ctx context.Context, e Engine, o Options, suite *bench.Suite, alone *sync.RWMutex, names *sync.Map,
) (*Report, error) {
	starter := upstream.NewStarter()
	defer starter.Close()
	s := &session{engine: e, starter: starter, o: o, alone: alone, grown: growth{}}
	defer s.end()
	report := &Report{Name: e.Name, Command: e.Command, Started: time.Now().UTC()}
	if report.Name == "" {
		report.Name = strings.Join(e.Command, " ")
	}
	defer func() {
		report.Starts, report.grown, report.memory, report.left = s.starts, s.grown, s.memory, s.left
		report.finish()
	}()
	if err := s.ready(ctx); err != nil {
		return report, err
	}
	hello := s.process.hello
	report.Engine, report.Measured = hello, s.process.at.Known
	name := cmp.Or(e.Name, hello.Name)
	if _, taken := names.LoadOrStore(name, true); taken {
		return report, fmt.Errorf("another engine of this run is called %q; a file for --engines gives them names",
			name)
	}
	report.Name = name
	known := o.Baseline.names(report.Name)
	mine, err := suite.In(hello.Language)
	if err != nil {
		return report, err
	}
	cases := mine.Cases
	ask := slices.DeleteFunc(slices.Clone(questions), func(q question) bool {
		return o.ask != nil && !o.ask(q) || q.name == secretQuestion && o.Programs < 0
	})
	var done atomic.Int64
	progress := func(what string) {
		if o.own == nil {
			what = report.Name + " " + what
		}
		if o.Progress != nil {
			o.Progress(int(done.Load()), len(cases)+len(ask), what)
		}
	}
	results := make([]*CaseResult, len(cases))
	if o.own != nil {
		if err := s.atOnce(ctx, cases, results, &done, progress); err != nil {
			return report, err
		}
	}
	decide := func(what string, do func() (CaseResult, error)) error {
		progress(what)
		r, err := s.decided(known, do)
		if err == nil {
			report.add(r)
			done.Add(1)
		}
		return err
	}
	for i, c := range cases {
		if results[i] != nil {
			report.add(*results[i])
		} else if err := decide(c.File, func() (CaseResult, error) { return s.judged(ctx, c) }); err != nil {
			return report, err
		}
	}
	for _, q := range ask {
		if err := decide(q.name, func() (CaseResult, error) { return s.asked(ctx, q) }); err != nil {
			return report, err
		}
	}
	s.end()
	s.left = append(s.left, s.grown.leaks()...)
	report.add(s.leftovers(report.Measured))
	return report, nil
}

// A session is an engine that is started again when it ends.
type session struct {
	engine  Engine
	starter *upstream.Starter
	o       Options
	alone   *sync.RWMutex // held for writing by a session that must not be disturbed

	process *process         // nil if none is alive
	hello   *isolation.Hello // of the first start
	starts  int
	left    []string // by processes that have ended since

	// Of those, if the engine is this build.
	grown  growth
	memory ownMemory
}

// ready starts the engine unless it runs.
func (s *session) ready(ctx context.Context) error {
	if s.process != nil {
		return nil
	}
	p, err := start(ctx, s.starter, s.engine)
	if err != nil {
		return err
	}
	s.process = p
	s.starts++
	if s.hello == nil {
		s.hello = &p.hello
	} else if !reflect.DeepEqual(*s.hello, p.hello) {
		s.drop()
		return errors.New("when it was started again, it said another hello than at its first start")
	}
	// The first program may take longer: an engine may compile itself.
	r := p.run(ctx, program{name: "first", source: sum(1, 2, 3), limits: limits(helloWait), holds: s.o.own != nil}, false)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case r.dead || r.Outcome.Outcome != bench.Value || string(r.Value) != "5" || len(r.found) > 0:
		err := fmt.Errorf("its first program, %q, ended with %q %s %s", sum(1, 2, 3), r.Outcome.Outcome, r.Value, r.Message)
		if len(r.found) > 0 {
			err = fmt.Errorf("%w: %s", err, r.found[0].detail)
		}
		s.drop()
		return err
	}
	p.started(r.Holds)
	return nil
}

// drop kills an engine that cannot go on. The next program gets another process.
func (s *session) drop() {
	if s.process != nil {
		s.process.kill()
		s.process = nil
	}
}

// replace is drop for an engine that could go on: first it looks for what the engine left behind.
func (s *session) replace() {
	if s.process != nil {
		s.leave()
		s.drop()
	}
}

// end looks for what the engine left behind, and ends it.
func (s *session) end() {
	if s.process != nil {
		s.leave()
		s.process.stop()
		s.process = nil
	}
}

// leftovers is the result of what the processes left behind. It has the first things: a thousand would say the same.
func (s *session) leftovers(measured bool) CaseResult {
	r := CaseResult{Case: "nothing is left behind", Class: questionClass, Kind: "leak between runs", Severity: "medium"}
	if !measured {
		r.Unproven, r.Detail = true, "this system does not tell what a process holds"
	}
	for _, what := range s.left[:min(len(s.left), maxSaid)] {
		r.Findings = append(r.Findings, found{kind: Leak, detail: "after the programs of a process: " + what}.of(&r))
	}
	return r
}

// decided does something that ends in a result, and again, in another process and while nothing else runs, until the
// findings are decided.
func (s *session) decided(known knownNames, do func() (CaseResult, error)) (CaseResult, error) {
	s.alone.RLock()
	first, err := do()
	s.alone.RUnlock()
	runs := repeats{known: known}
	runs.add(first)
	if err != nil || runs.decided() {
		return runs.result(), err
	}
	s.alone.Lock()
	defer s.alone.Unlock()
	for !runs.decided() {
		s.replace()
		r, err := do()
		if err != nil {
			return r, err
		}
		runs.add(r)
	}
	return runs.result(), nil
}

// judged runs a case in each round, with the cases that have to run before it.
func (s *session) judged(ctx context.Context, c *bench.Case) (r CaseResult, err error) {
	r = CaseResult{Case: c.File, Class: c.Class, Kind: c.Kind, Severity: c.Severity, Expected: c.Outcome}
	r.own.Started = time.Now()
	defer func() { r.own.TookMS = bench.Round(ms(time.Since(r.own.Started))) }()
	if err := s.ready(ctx); err != nil {
		return r, err
	}
	if missing := missing(c.Needs, s.process.hello.Claims); len(missing) > 0 {
		r.Skipped = missing
		return r, nil
	}
	for _, earlier := range c.Before() {
		if err := s.ready(ctx); err != nil {
			return r, err
		}
		if end := s.process.run(ctx, s.program(earlier), false); end.dead {
			s.drop()
		}
	}
	rounds := 2
	if s.o.Once {
		rounds = 1
	}
	for round := range rounds {
		if err := s.ready(ctx); err != nil {
			return r, err
		}
		prog := s.program(c)
		end := s.process.run(ctx, prog, true)
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		s.process.judge(prog, &end)
		s.process.compare(c, &end)
		r.add(end, round)
		if end.dead {
			s.drop()
			return r, nil
		}
	}
	err = s.alive(ctx, &r)
	return r, err
}

// alive checks that a plain program is answered after a case, by a process that does nothing else.
func (s *session) alive(ctx context.Context, r *CaseResult) error {
	a, b, c := number(), number(), number()
	end := s.process.run(ctx, program{name: "probe", source: sum(a, b, c), limits: limits(shortWall)}, false)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	want := fmt.Sprint(a*b + c)
	if !end.dead && (end.Outcome.Outcome != bench.Value || string(end.Value) != want) {
		end.findWrong("afterwards a plain program ended with %q %.100s, expected %s", end.Outcome.Outcome, end.Value, want)
	}
	for _, f := range end.found {
		r.find(f)
		r.own.Unhealthy, r.own.Detail = true, f.detail
	}
	switch {
	case end.dead:
		s.drop()
	case len(end.found) > 0:
		s.replace()
	}
	return nil
}

func (s *session) program(c *bench.Case) program {
	prog := program{name: c.File, source: c.Program(), limits: limits(cmp.Or(s.o.wall, wall)), secret: rand.Text()}
	if c.Outcome == bench.Timeout {
		prog.limits = limits(min(cmp.Or(s.o.wall, shortWall), shortWall))
	}
	prog.session = s.o.own != nil && s.o.own.Session
	return prog
}

// compare judges the outcome of a case.
func (p *process) compare(c *bench.Case, r *result) {
	if r.dead {
		return
	}
	r.said = r.Message
	got := r.Outcome.Outcome
	if got == bench.Error && r.denied > 0 && !p.claims("policy") && c.Accepts(bench.Denied) {
		got = bench.Denied // the protocol does not ask an engine without a policy to tell
	}
	if got == bench.Value {
		r.said = "value " + shorten(string(r.Value))
	}
	switch {
	case got == bench.Error && !c.Accepts(got) && p.holds == nil: // this build has all that its suite needs
		r.unproven = true
	case !c.Accepts(got):
		detail := r.Message
		if got == bench.Value {
			detail = string(r.Value)
		}
		r.findWrong("it ended with %s, expected %s: %s", got, c.Outcome, shorten(detail))
	case got == bench.Value && !c.Fits(r.Value):
		r.findWrong("it returned %s, expected %s", shorten(string(r.Value)), shorten(string(c.Expect)))
		r.said += ", expected " + shorten(string(c.Expect))
	}
}

// missing lists what a case needs and an engine does not claim.
func missing(needs, claims []string) (missing []string) {
	for _, need := range needs {
		if !slices.Contains(claims, need) {
			missing = append(missing, need)
		}
	}
	return missing
}
