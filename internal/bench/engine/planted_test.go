package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/internal/isolation"
	"github.com/codemode-project/codemode/sandbox"
)

// The tests start their own binary as an engine: "engine" and the ways in which it is to cheat.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "engine" {
		if err := planted(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	maxUnsent = 4 << 20
	os.Exit(m.Run())
}

// plantedEngine is the command of an engine that cheats.
func plantedEngine(t *testing.T, cheats ...string) Engine {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Engine{Command: append([]string{binary, "engine"}, cheats...)}
}

// A cheat is a way to be a bad engine: it replaces or changes what a correct one does.
type cheat func(ctx context.Context, run isolation.Run, call isolation.Caller,
	honest func(context.Context, isolation.Run, isolation.Caller) isolation.Outcome) isolation.Outcome

type honest = func(context.Context, isolation.Run, isolation.Caller) isolation.Outcome

var runs atomic.Int64

var cheats = map[string]cheat{
	"answers 2": func(context.Context, isolation.Run, isolation.Caller, honest) isolation.Outcome {
		return isolation.Outcome{Outcome: "value", Value: json.RawMessage("2")}
	},
	"answers 2 after it has run the first": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		if runs.Load() == 1 {
			return do(ctx, r, c)
		}
		return isolation.Outcome{Outcome: "value", Value: json.RawMessage("2"), Usage: &isolation.Usage{}}
	},
	"reports memory it does not use": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		end := do(ctx, r, c)
		end.Usage.MemoryBytes = 4 << 30
		return end
	},
	"reports no memory": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		end := do(ctx, r, c)
		end.Usage.MemoryBytes = 0
		return end
	},
	"says error for a time-out": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		end := do(ctx, r, c)
		if end.Outcome == "timeout" {
			end.Outcome = "error"
		}
		return end
	},
	"swallows time-outs": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		r.Limits.WallMS, r.Limits.CPUMS = 1e6, 1e6
		return do(ctx, r, c)
	},
	"says time-out at once": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		end := make(chan isolation.Outcome, 1)
		go func() {
			r.Limits.WallMS, r.Limits.CPUMS = 1e6, 1e6
			end <- do(context.WithoutCancel(ctx), r, c)
		}()
		select {
		case o := <-end:
			return o
		case <-time.After(100 * time.Millisecond):
			return isolation.Outcome{Outcome: "timeout", Usage: &isolation.Usage{}}
		}
	},
	"says time-out and goes on": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		end := do(ctx, r, c)
		if end.Outcome == "timeout" {
			go func() {
				for end := time.Now().Add(time.Hour); time.Now().Before(end); {
					continue
				}
			}()
		}
		return end
	},
	"leaks a global": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		leaks := kept
		kept = strings.Join(globals.FindAllString(r.Program, -1), "\n")
		r.Program = leaks + "\n" + r.Program
		return do(ctx, r, c)
	},
	"lets secret through once in a thousand": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		if runs.Load()%1000 == 999 {
			r.Allow = append(slices.Clone(r.Allow), "secret")
		}
		return do(ctx, r, c)
	},
	"dies at the third program": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		if runs.Load() == 3 {
			fmt.Fprintln(os.Stderr, "no more")
			os.Exit(3)
		}
		return do(ctx, r, c)
	},
	"leaves a file once": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		if r.Name == "two.js" { // which only the first process runs
			_ = os.WriteFile(filepath.Join(os.TempDir(), "once"), nil, 0o600)
		}
		return do(ctx, r, c)
	},
	"leaves daemons": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		if runs.Load() == 2 {
			for range 3 {
				_ = exec.CommandContext(ctx, "setsid", "-f", "sleep", "60").Run()
			}
		}
		return do(ctx, r, c)
	},
	"lets a child hold memory": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest,
	) isolation.Outcome {
		if runs.Load() > 1 {
			_ = exec.CommandContext(ctx, "sh", "-c", "dd if=/dev/zero bs=300M count=1 2>/dev/null | sleep 1").Run()
		}
		return do(ctx, r, c)
	},
	"makes calls and reads no answers": func(ctx context.Context, r isolation.Run, _ isolation.Caller, do honest,
	) isolation.Outcome {
		if runs.Load() == 1 {
			return do(ctx, r, nil)
		}
		deaf.Store(true)
		text := strings.Repeat("x", 100_000)
		for i := 1; ; i++ {
			fmt.Printf(`{"type":"call","run":%d,"call":%d,"name":"echo","args":"%s"}`+"\n", r.Run, i, text)
		}
	},
	"numbers all calls alike": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest,
	) isolation.Outcome {
		for i := 0; i < 2 && r.Run > 1; i++ {
			fmt.Printf(`{"type":"call","run":%d,"call":7,"name":"fail"}`+"\n", r.Run)
		}
		return do(ctx, r, c)
	},
	"ends no line": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		for runs.Load() > 1 {
			fmt.Print(strings.Repeat("x", 1<<20))
		}
		return do(ctx, r, c)
	},
	"says what nobody asked": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest,
	) isolation.Outcome {
		if runs.Load() > 1 {
			for range 100_000 {
				fmt.Println(`{"type":"hi","run":0}`)
			}
		}
		return do(ctx, r, c)
	},
	"reports no computing": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		end := do(ctx, r, c)
		end.Usage.CPUMS = 0
		return end
	},
	"reports less than nothing": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest,
	) isolation.Outcome {
		end := do(ctx, r, c)
		end.Usage.CPUMS = -1
		return end
	},
	"reports nothing": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		end := do(ctx, r, c)
		end.Usage = nil
		return end
	},
	"is another after a restart": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest,
	) isolation.Outcome {
		return do(ctx, r, c) // see its version
	},
	"leaves a file": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		if f, err := os.CreateTemp("", "run-"); err == nil {
			f.Close()
		}
		return do(ctx, r, c)
	},
}

// kept are the globals that the program before has set.
var (
	kept    string
	globals = regexp.MustCompile(`globalThis\.\w+ = "\w+";`)
)

// planted is an engine on our own sandbox, with the policy, that cheats.
func planted(names []string) error {
	ctx := context.Background()
	engine, err := sandbox.New(ctx, sandbox.Options{CacheDir: os.TempDir()})
	if err != nil {
		return err
	}
	defer engine.Close(ctx)
	e := &plantedSandbox{engine: engine}
	do, version := e.run, "1"
	for _, name := range names {
		if name == "is another after a restart" {
			version = time.Now().String()
		}
		cheat, before := cheats[name], do
		if cheat == nil {
			return fmt.Errorf("there is no cheat %q", name)
		}
		do = func(ctx context.Context, r isolation.Run, c isolation.Caller) isolation.Outcome {
			runs.Add(1)
			return cheat(ctx, r, c, before)
		}
	}
	return isolation.Serve(input{}, os.Stdout, isolation.Hello{
		Name: "planted", Version: version, Language: "javascript",
		Claims: []string{"time", "memory", "calls", "parallel", "policy", "timers", "usage"},
	}, do)
}

// input is the standard input, which nobody reads any more once the engine is deaf.
type input struct{}

var deaf atomic.Bool

func (input) Read(b []byte) (int, error) {
	if deaf.Load() {
		select {}
	}
	return os.Stdin.Read(b)
}

type plantedSandbox struct {
	engine *sandbox.Engine
	reader analysis.Reader
}

func (e *plantedSandbox) run(ctx context.Context, r isolation.Run, call isolation.Caller) isolation.Outcome {
	started := time.Now()
	usage := &isolation.Usage{}
	value, err := e.evaluate(ctx, r, call, usage)
	usage.WallMS = ms(time.Since(started))
	end := isolation.Outcome{Outcome: "value", Value: value, Usage: usage}
	if err == nil {
		return end
	}
	end = isolation.Outcome{Outcome: "error", Message: err.Error(), Usage: usage}
	if ended, ok := errors.AsType[*sandbox.Error](err); ok {
		switch ended.Kind {
		case sandbox.TimedOut:
			end.Outcome = "timeout"
		case sandbox.OutOfMemory:
			end.Outcome = "memory"
		}
	}
	return end
}

func (e *plantedSandbox) evaluate(ctx context.Context, r isolation.Run, call isolation.Caller, usage *isolation.Usage,
) (json.RawMessage, error) {
	program, problems, err := e.reader.Compile(ctx, r.Name, r.Program)
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("refused: %s", problems[0])
	}
	if err != nil {
		return nil, err
	}
	l := sandbox.DefaultLimits()
	l.Wall, l.CPU = time.Duration(r.Limits.WallMS)*time.Millisecond, time.Duration(r.Limits.CPUMS)*time.Millisecond
	l.Memory = r.Limits.MemoryBytes
	result, err := e.engine.Run(ctx, sandbox.Program{Source: program.JS, Name: r.Name, Limits: l, Lookup: program.Lookup},
		func(ctx context.Context, c *sandbox.Call) (json.RawMessage, error) {
			if !slices.Contains(r.Allow, c.Name) {
				return nil, &sandbox.Throw{Class: "ToolCallDeniedError", Message: "denied"}
			}
			value, err := call(ctx, c.Name, c.Args)
			if refused, ok := errors.AsType[*isolation.Refused](err); ok {
				return nil, &sandbox.Throw{Class: "ToolError", Message: refused.Message}
			}
			return value, err
		})
	usage.CPUMS, usage.MemoryBytes = ms(result.Usage.CPU), result.Usage.Memory
	return result.Value, err
}
