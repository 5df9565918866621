package bench

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/isolation"
	"github.com/codemode-project/codemode/sandbox"
)

// Serve is this build as an engine of the isolation protocol: programs run as they do in [Isolation], and the tools are
// those of the harness. It returns when the input ends.
func Serve(ctx context.Context, o IsolationOptions, version string, in io.Reader, out io.Writer) error {
	engine, err := sandbox.New(ctx, sandbox.Options{Wasm: o.Wasm, CacheDir: o.CacheDir})
	if err != nil {
		return err
	}
	defer engine.Close(context.WithoutCancel(ctx))
	s := &served{isolationRun{engine: engine, reader: &analysis.Reader{}}}
	if len(o.Worker) > 0 {
		s.reader.Workers = analysis.NewWorkers(nil, o.Worker...)
		defer s.reader.Workers.Close()
	}
	return isolation.Serve(in, out, isolation.Hello{
		Name: "codemode", Version: version, Language: "javascript", Claims: isolation.Claims,
		Note: "https://github.com/codemode-project/codemode/blob/main/docs/security.md",
	}, s.run)
}

type served struct{ isolationRun }

func (s *served) run(ctx context.Context, r isolation.Run, harness isolation.Caller) isolation.Outcome {
	s.limits = sandbox.Limits{
		CPU: time.Duration(r.Limits.CPUMS) * time.Millisecond, Wall: time.Duration(r.Limits.WallMS) * time.Millisecond,
		Memory: r.Limits.MemoryBytes, Calls: r.Limits.Calls, InFlight: r.Limits.InFlight,
		ArgumentBytes: int(r.Limits.ArgumentBytes), ResultBytes: int(r.Limits.ResultBytes),
	}
	theirs := &harnessTools{call: harness}
	gate := admit(hostfns.NewGate(hostfns.Deps{Tools: theirs, Recorder: tools{}, Sender: theirs}), s.limits)
	started := time.Now()
	end := isolation.Outcome{Outcome: string(Error)}
	program, err := s.read(ctx, r.Name, r.Program)
	if err != nil {
		end.Message, end.Usage = err.Error(), &isolation.Usage{WallMS: ms(time.Since(started))} // no guest was started
		return end
	}
	result, err := s.engine.Run(ctx, sandbox.Program{Source: program.JS, Name: r.Name, Limits: s.limits,
		Lookup: program.Lookup}, gate.call)
	v := verdictOf(result.Value, err, gate, started)
	gate.run.End()
	end.Outcome, end.Message = string(v.outcome), v.detail
	if v.outcome == Value {
		end.Value = v.value
	}
	end.Usage = &isolation.Usage{WallMS: ms(result.Usage.Wall), CPUMS: ms(result.Usage.CPU),
		MemoryBytes: result.Usage.Memory}
	return end
}

// harnessTools are the tools of a harness behind a real Gate.
type harnessTools struct{ call isolation.Caller }

// Find knows the tools of the protocol, as [tools] does.
func (t *harnessTools) Find(ctx context.Context, name string) (*call.Tool, error) {
	return tools{}.Find(ctx, name)
}

func (t *harnessTools) Send(ctx context.Context, c *call.Call, _ func() func()) (*hostfns.Reply, error) {
	value, err := t.call(ctx, c.Tool.Name, c.Args.JSON())
	if refused, ok := errors.AsType[*isolation.Refused](err); ok {
		return nil, &hostfns.ToolFailure{Message: refused.Message}
	}
	if err != nil {
		return nil, &hostfns.SendError{Message: "canceled", Unknown: true, Err: err}
	}
	return &hostfns.Reply{Value: value}, nil
}
