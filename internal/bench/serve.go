package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"sync"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/internal/isolation"
	"github.com/codemode-project/codemode/sandbox"
)

// ServeOptions are the settings of [Serve].
type ServeOptions struct {
	CacheDir string // as in sandbox.Options
	// Worker is the command that reads programs, as in codemode.Options; nil reads them in this process.
	Worker []string
	// Busy is how many endless programs run beside those of the harness.
	Busy int
}

// Serve is this build as an engine of the isolation protocol: programs run like every program, and the tools are those
// of the harness. It returns when the input ends.
func Serve(ctx context.Context, o ServeOptions, version string, in io.Reader, out io.Writer) error {
	run, end, err := Run(ctx, o)
	if err != nil {
		return err
	}
	defer end()
	return isolation.Serve(in, out, isolation.Hello{
		Name: "codemode", Version: version, Language: JavaScript, Claims: isolation.Claims,
		Note: "https://github.com/codemode-project/codemode/blob/main/docs/security.md",
	}, run)
}

// A Runner runs a program of a harness.
type Runner func(context.Context, isolation.Run, isolation.Caller) isolation.Outcome

// Run is what runs the programs of [Serve], until end is called.
func Run(ctx context.Context, o ServeOptions) (run Runner, end func(), err error) {
	engine, err := sandbox.New(ctx, sandbox.Options{CacheDir: o.CacheDir})
	if err != nil {
		return nil, nil, err
	}
	s := &served{engine: engine, reader: &analysis.Reader{}}
	if len(o.Worker) > 0 {
		s.reader.Workers = analysis.NewWorkers(nil, o.Worker...)
	}
	rest := s.keepBusy(ctx, o.Busy)
	return s.run, func() {
		rest()
		if s.reader.Workers != nil {
			_ = s.reader.Workers.Close() // nothing is left to tell
		}
		_ = engine.Close(context.WithoutCancel(ctx))
	}, nil
}

// served runs the programs of a harness.
type served struct {
	engine *sandbox.Engine
	reader *analysis.Reader
	limits sandbox.Limits
	opened bool // the last session was opened from its image; every second one is
}

func (s *served) run(ctx context.Context, r isolation.Run, harness isolation.Caller) (end isolation.Outcome) {
	s.limits = sandbox.Limits{
		CPU: time.Duration(r.Limits.CPUMS) * time.Millisecond, Wall: time.Duration(r.Limits.WallMS) * time.Millisecond,
		Memory: r.Limits.MemoryBytes, Calls: r.Limits.Calls, InFlight: r.Limits.InFlight,
		ArgumentBytes: int(r.Limits.ArgumentBytes), ResultBytes: int(r.Limits.ResultBytes),
	}
	if r.Session {
		end = s.inSession(ctx, r, harness)
	} else {
		end, _ = s.once(ctx, r, nil, harness)
	}
	if r.Holds {
		end.Holds = holds()
	}
	return end
}

// once runs a program like every program: through analysis, the sandbox and the Gate. It is the next one of a session
// unless that is nil.
func (s *served) once(ctx context.Context, r isolation.Run, in *sandbox.Session, harness isolation.Caller,
) (isolation.Outcome, error) {
	started := time.Now()
	gate := admit(tools{harness, r.Allow}, s.limits)
	defer gate.run.End()
	result, err := s.evaluate(ctx, r.Name, r.Program, in, gate.call)
	end := isolation.Outcome{Outcome: outcomeOf(err, gate)}
	if result == nil { // no guest was started
		end.Usage = &isolation.Usage{WallMS: ms(time.Since(started))}
	} else {
		end.Usage = &isolation.Usage{WallMS: ms(result.Usage.Wall), CPUMS: ms(result.Usage.CPU),
			MemoryBytes: result.Usage.Memory}
	}
	if err == nil {
		end.Value = result.Value
		return end, nil
	}
	end.Message = err.Error()
	if ended, ok := errors.AsType[*sandbox.Error](err); ok && ended.Kind != sandbox.Threw {
		end.Message = ended.Kind.String() + ": " + end.Message
	}
	return end, err
}

func (s *served) evaluate(ctx context.Context, name, source string, in *sandbox.Session, h sandbox.Host,
) (*sandbox.Result, error) {
	if limit := sandbox.DefaultLimits().ProgramBytes; len(source) > limit {
		return nil, fmt.Errorf("refused: the program has %d bytes, the limit is %d", len(source), limit)
	}
	program, problems, err := s.reader.Compile(ctx, name, source)
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("refused: %s", problems[0])
	}
	if err != nil {
		return nil, err
	}
	run := s.engine.Run
	if in != nil {
		// A name that nobody declares is no reason here to refuse the program: what it does then is what the case tests.
		program, _ = program.InSession(name, nil)
		run = in.Run
	}
	return run(ctx, sandbox.Program{Source: program.JS, Name: name, Limits: s.limits, Lookup: program.Lookup}, h)
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

// keepBusy runs n endless programs until stop is called.
func (s *served) keepBusy(ctx context.Context, n int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	endless := sandbox.Program{Source: "for (;;);", Limits: sandbox.Limits{CPU: time.Hour, Wall: time.Hour}}
	for range n {
		wg.Go(func() { _, _ = s.engine.Run(ctx, endless, nil) })
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// holds counts what this process holds, as far as the system tells.
func holds() map[string]int {
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	held := map[string]int{"goroutines": runtime.NumGoroutine(), "file descriptors": openFiles(), "guests": liveGuests(),
		"heap KiB": int(mem.HeapSys >> 10)}
	maps.DeleteFunc(held, func(_ string, n int) bool { return n < 0 })
	return held
}
