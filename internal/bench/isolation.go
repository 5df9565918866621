package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/sandbox"
)

// IsolationOptions are the settings of [Isolation].
type IsolationOptions struct {
	Wasm     []byte // the guest; required
	CacheDir string // as in sandbox.Options
	// Worker is the command that reads programs, as in codemode.Options; nil reads them in this process.
	Worker []string
	// Busy is how many endless programs run beside the suite.
	Busy int
	// CPU is the time a program may compute; zero is 3 s, the value that suites assume.
	CPU time.Duration
	// Once runs each program once. Otherwise each runs twice in a row, and the second run must end like the first: it
	// gets the same guest, which may have leftovers.
	Once bool
	// Parallel is how many cases run at once, among those that test neither time nor memory; zero is one for each
	// processor. With Busy it is one.
	Parallel int
	// Session runs each program in a session of its own that has state before it. The case fails if the program changes
	// or learns what another session has, if its session is wrong afterwards, or if it ends otherwise than without one.
	Session bool
	// Progress is called before each case, by several goroutines; nil is ignored.
	Progress func(done, total int, file string)
}

// wallMargin is how much the limit for a whole run exceeds the limit for computing, so that the latter stops a loop.
const wallMargin = 10 * time.Millisecond

func (o IsolationOptions) limits() sandbox.Limits {
	cpu := o.CPU
	if cpu <= 0 {
		cpu = 3 * time.Second
	}
	return sandbox.Limits{
		CPU:           cpu,
		Wall:          cpu + wallMargin,
		Memory:        64 << 20,
		Calls:         2000, // suites need a thousand
		InFlight:      16,
		ArgumentBytes: 8 << 20,
		ResultBytes:   1 << 20,
	}
}

// Isolation runs a suite against this build, in this process: each program twice in a row unless told otherwise, and
// after each case a program that must answer. First it runs the cases that test neither time nor memory, several at
// once, each in an engine that no other case uses meanwhile. Then it runs alone the other cases, and those of the first
// group that did not end as expected: every failure in the report occurred while the case ran alone. Both groups, and
// the report, keep the order of the manifest. Cases in other languages are left out. The error says what kept the suite
// from running; the report has the results.
func Isolation(ctx context.Context, o IsolationOptions, s *Suite) (*IsolationReport, error) {
	s, err := s.In(JavaScript)
	if err != nil {
		return nil, err
	}
	engine, err := sandbox.New(ctx, sandbox.Options{Wasm: o.Wasm, CacheDir: o.CacheDir})
	if err != nil {
		return nil, err
	}
	defer engine.Close(context.WithoutCancel(ctx))
	r := &isolationRun{
		engine: engine, limits: o.limits(), reader: &analysis.Reader{},
		gate: hostfns.NewGate(hostfns.Deps{Tools: tools{}, Recorder: tools{}, Sender: tools{}}), rounds: 2,
		session: o.Session,
	}
	if o.Once {
		r.rounds = 1
	}
	if len(o.Worker) > 0 {
		r.reader.Workers = analysis.NewWorkers(nil, o.Worker...)
		defer r.reader.Workers.Close()
	}
	if problem := r.probe(ctx); problem != "" {
		return nil, fmt.Errorf("the sandbox does not work even before the first case: %s", problem)
	}
	before, started := levels(), time.Now()
	report := &IsolationReport{Guest: engine.Hash(), Started: started.UTC(), Cases: make([]CaseResult, len(s.Cases))}
	done, err := r.atOnce(ctx, o, s, report.Cases)
	if err != nil {
		return nil, err
	}
	stop := r.keepBusy(ctx, o.Busy)
	for i, c := range s.Cases {
		if report.Cases[i].OK {
			continue
		}
		if o.Progress != nil {
			o.Progress(done, len(s.Cases), c.File)
		}
		done++
		if o.Busy == 0 {
			debug.FreeOSMemory() // so that a case's peak is its own
		}
		resetPeak()
		report.Cases[i] = r.run(ctx, c)
		if ctx.Err() != nil {
			stop()
			return nil, context.Cause(ctx)
		}
		_, report.Cases[i].PeakKiB = resident()
	}
	stop()
	total := time.Since(started)
	if r.reader.Workers != nil {
		_ = r.reader.Workers.Close() // their pipes are not leaks of a program
	}
	report.summarise(total, before, settled(before))
	return report, nil
}

// isolationRun is one run of a suite.
type isolationRun struct {
	engine *sandbox.Engine
	gate   *hostfns.Gate
	limits sandbox.Limits
	reader *analysis.Reader
	rounds int // of each case

	session bool // each program is one of a session
	opened  bool // the last session was opened from its image; every second one is
}

// atOnce runs the cases that can run beside others. It counts those that ended as expected, and stores their results at
// their places.
func (r *isolationRun) atOnce(
	ctx context.Context, o IsolationOptions, s *Suite, results []CaseResult,
) (done int, err error) {
	if o.Parallel == 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	var left []int
	for i, c := range s.Cases {
		if !c.measured() {
			left = append(left, i)
		}
	}
	workers := min(o.Parallel, len(left))
	if workers < 2 || o.Busy > 0 {
		return 0, nil
	}
	var mu sync.Mutex
	next := func() (i int, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(left) == 0 || ctx.Err() != nil {
			return 0, false
		}
		i, left = left[0], left[1:]
		if o.Progress != nil {
			o.Progress(done, len(s.Cases), s.Cases[i].File)
		}
		return i, true
	}
	var wg sync.WaitGroup
	for range workers {
		engine, newErr := sandbox.New(ctx, sandbox.Options{Wasm: o.Wasm, CacheDir: o.CacheDir})
		if newErr != nil {
			err = newErr
			break
		}
		own := *r
		own.engine = engine
		wg.Go(func() {
			defer engine.Close(context.WithoutCancel(ctx))
			for i, ok := next(); ok; i, ok = next() {
				if result := own.run(ctx, s.Cases[i]); result.Exact {
					mu.Lock()
					results[i] = result
					done++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return done, err
}

// run judges one case.
func (r *isolationRun) run(ctx context.Context, c *Case) (result CaseResult) {
	started := time.Now()
	result = CaseResult{File: c.File, Class: c.Class, Expected: c.Outcome, OK: true, Exact: true}
	result.Started = started.UTC()
	defer func() { result.TookMS = ms(time.Since(started)) }()
	for _, earlier := range c.before {
		r.once(ctx, earlier)
	}
	for range r.rounds {
		result.add(c, r.once(ctx, c), r.limits.CPU)
		if ctx.Err() != nil {
			return result
		}
	}
	if problem := r.probe(ctx); problem != "" {
		result.Unhealthy = true
		result.fail("afterwards a plain program did not answer: " + problem)
	}
	return result
}

// A verdict is the outcome of one execution of a program.
type verdict struct {
	outcome Outcome
	value   json.RawMessage
	detail  string
	problem string // what was wrong with sessions afterwards; "" if nothing was
	took    time.Duration
}

// once runs a program like every program: through analysis, the sandbox and the Gate.
func (r *isolationRun) once(ctx context.Context, c *Case) verdict {
	if r.session {
		return r.onceInSession(ctx, c)
	}
	started := time.Now()
	gate := admit(r.gate, r.limits)
	value, err := r.evaluate(ctx, c.File, c.source, gate.call)
	v := verdictOf(value, err, gate, started)
	gate.run.End()
	return v
}

func verdictOf(value json.RawMessage, err error, gate *admission, started time.Time) verdict {
	v := verdict{outcome: outcomeOf(err, gate), value: value, took: time.Since(started)}
	if err != nil {
		v.detail = err.Error()
		if ended, ok := errors.AsType[*sandbox.Error](err); ok && ended.Kind != sandbox.Threw {
			v.detail = ended.Kind.String() + ": " + v.detail
		}
	}
	return v
}

func (r *isolationRun) evaluate(ctx context.Context, name, source string, h sandbox.Host) (json.RawMessage, error) {
	program, err := r.read(ctx, name, source)
	if err != nil {
		return nil, err
	}
	result, err := r.engine.Run(ctx, sandbox.Program{Source: program.JS, Name: name, Limits: r.limits,
		Lookup: program.Lookup}, h)
	return result.Value, err
}

// read reads a program as analysis does.
func (r *isolationRun) read(ctx context.Context, name, source string) (*analysis.Program, error) {
	if limit := sandbox.DefaultLimits().ProgramBytes; len(source) > limit {
		return nil, fmt.Errorf("refused: the program has %d bytes, the limit is %d", len(source), limit)
	}
	program, problems, err := r.reader.Compile(ctx, name, source)
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("refused: %s", problems[0])
	}
	return program, err
}

// outcomeOf judges by what the host observed, not by what a program claims.
func outcomeOf(err error, gate *admission) Outcome {
	if err == nil {
		return Value
	}
	ended, ok := errors.AsType[*sandbox.Error](err)
	switch {
	case !ok:
		return Error
	case ended.Kind == sandbox.TimedOut:
		return Timeout
	case ended.Kind == sandbox.OutOfMemory:
		return Memory
	case gate.ended(ended):
		return Denied
	}
	return Error
}

// probeWait is the time limit of a plain program.
const probeWait = time.Second

// probe runs a plain program; "" means that it answered.
func (r *isolationRun) probe(ctx context.Context) string {
	started := time.Now()
	value, err := r.evaluate(ctx, "probe.js", "return 1", admit(r.gate, r.limits).call)
	switch took := time.Since(started); {
	case err != nil:
		return err.Error()
	case string(value) != "1":
		return fmt.Sprintf("it returned %.100q", value)
	case took > probeWait:
		return fmt.Sprintf("it took %v", took.Round(time.Millisecond))
	}
	return ""
}

// keepBusy runs n endless programs until stop is called.
func (r *isolationRun) keepBusy(ctx context.Context, n int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for ctx.Err() == nil {
				_, _ = r.engine.Run(ctx, sandbox.Program{Source: "for (;;);", Limits: r.limits}, nil)
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// A level is the resources of a process at one moment; -1 is unknown.
type level struct{ goroutines, files, guests, residentKiB int }

func levels() level {
	now, _ := resident()
	return level{runtime.NumGoroutine(), openFiles(), liveGuests(), now}
}

// How much more a process may hold afterwards: the runtime and the pool vary.
const (
	spareGoroutines = 5
	spareFiles      = 2
)

// settleWait is how long goroutines of abandoned calls may take to end.
const settleWait = 5 * time.Second

// settled measures again, when pending work has had time to end.
func settled(before level) level {
	runtime.GC()
	for deadline := time.Now().Add(settleWait); ; time.Sleep(10 * time.Millisecond) {
		if now := levels(); now.goroutines <= before.goroutines || time.Now().After(deadline) {
			return now
		}
	}
}
