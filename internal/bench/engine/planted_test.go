package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode/internal/bench"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/isolation"
	"github.com/codemode-project/codemode/internal/testwait"
)

// The tests start their own binary as an engine: "engine", the folder of the compiled guest and the ways in which it is
// to cheat, or "own", a folder, and the flags of this build as an engine.
func TestMain(m *testing.M) {
	var err error
	switch args := append(os.Args, ""); args[1] {
	case "engine":
		err = planted(os.Args[2], os.Args[3:])
	case "own":
		busy, _ := strconv.Atoi(strings.TrimPrefix(args[4], "--busy="))
		err = bench.Serve(context.Background(), bench.ServeOptions{CacheDir: args[2], Busy: busy}, "1", os.Stdin, os.Stdout)
	default:
		maxUnsent = 4 << 20
		testwait.Parallel(4)
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// plantedEngine is the command of an engine that cheats.
func plantedEngine(t *testing.T, cheats ...string) Engine {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Engine{Command: append([]string{binary, "engine", cachetest.Dir()}, cheats...)}
}

// A cheat is a way to be a bad engine: it replaces or changes what an honest one does.
type cheat func(context.Context, isolation.Run, isolation.Caller, honest) isolation.Outcome

type honest = bench.Runner

// said is a cheat that changes what an honest engine says.
func said(change func(*isolation.Outcome)) cheat {
	return func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		end := do(ctx, r, c)
		change(&end)
		return end
	}
}

// before is a cheat that does something before a run, and is honest then.
func before(act func(ctx context.Context, r *isolation.Run)) cheat {
	return func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		act(ctx, &r)
		return do(ctx, r, c)
	}
}

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
	"reports memory it does not use": said(func(end *isolation.Outcome) { end.Usage.MemoryBytes = 4 << 30 }),
	"reports no memory":              said(func(end *isolation.Outcome) { end.Usage.MemoryBytes = 0 }),
	"reports no computing":           said(func(end *isolation.Outcome) { end.Usage.CPUMS = 0 }),
	"reports less than nothing":      said(func(end *isolation.Outcome) { end.Usage.CPUMS = -1 }),
	"reports nothing":                said(func(end *isolation.Outcome) { end.Usage = nil }),
	"says error for a time-out": said(func(end *isolation.Outcome) {
		if end.Outcome == "timeout" {
			end.Outcome = "error"
		}
	}),
	"swallows time-outs": before(func(_ context.Context, r *isolation.Run) {
		r.Limits.WallMS, r.Limits.CPUMS = 1e6, 1e6
	}),
	"says time-out at once": func(ctx context.Context, r isolation.Run, c isolation.Caller, do honest) isolation.Outcome {
		if runs.Load() == 1 { // which has to be right, however busy the machine is
			return do(ctx, r, c)
		}
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
	"says time-out and goes on": said(func(end *isolation.Outcome) {
		if end.Outcome == "timeout" {
			go func() {
				for end := time.Now().Add(time.Hour); time.Now().Before(end); {
					continue
				}
			}()
		}
	}),
	"leaks a global": before(func(_ context.Context, r *isolation.Run) {
		leaks := kept
		kept = strings.Join(globals.FindAllString(r.Program, -1), "\n")
		r.Program = leaks + "\n" + r.Program
	}),
	"lets secret through once in a thousand": before(func(_ context.Context, r *isolation.Run) {
		if runs.Load()%1000 == 999 {
			r.Allow = append(slices.Clone(r.Allow), "secret")
		}
	}),
	"dies at the third program": before(func(context.Context, *isolation.Run) {
		if runs.Load() == 3 {
			fmt.Fprintln(os.Stderr, "no more")
			os.Exit(3)
		}
	}),
	"leaves a file once": before(func(_ context.Context, r *isolation.Run) {
		if r.Name == "two.js" { // which only the first process runs
			_ = os.WriteFile(filepath.Join(os.TempDir(), "once"), nil, 0o600)
		}
	}),
	"leaves daemons": before(func(ctx context.Context, _ *isolation.Run) {
		if runs.Load() == 2 {
			for range 3 {
				_ = exec.CommandContext(ctx, "setsid", "-f", "sleep", "60").Run()
			}
		}
	}),
	"lets a child hold memory": before(func(ctx context.Context, _ *isolation.Run) {
		if runs.Load() > 1 {
			_ = exec.CommandContext(ctx, "sh", "-c", "dd if=/dev/zero bs=300M count=1 2>/dev/null | sleep 1").Run()
		}
	}),
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
	"numbers all calls alike": before(func(_ context.Context, r *isolation.Run) {
		for i := 0; i < 2 && r.Run > 1; i++ {
			fmt.Printf(`{"type":"call","run":%d,"call":7,"name":"fail"}`+"\n", r.Run)
		}
	}),
	"ends no line": before(func(context.Context, *isolation.Run) {
		for runs.Load() > 1 {
			fmt.Print(strings.Repeat("x", 1<<20))
		}
	}),
	"says what nobody asked": before(func(context.Context, *isolation.Run) {
		if runs.Load() > 1 {
			for range 100_000 {
				fmt.Println(`{"type":"hi","run":0}`)
			}
		}
	}),
	"is another after a restart": said(func(*isolation.Outcome) {}), // see its version
	"leaves a file": before(func(context.Context, *isolation.Run) {
		if f, err := os.CreateTemp("", "run-"); err == nil {
			f.Close()
		}
	}),
}

// kept are the globals that the program before has set.
var (
	kept    string
	globals = regexp.MustCompile(`globalThis\.\w+ = "\w+";`)
)

// planted is an engine on our own sandbox, with the policy, that cheats.
func planted(cache string, names []string) error {
	ctx := context.Background()
	do, end, err := bench.Run(ctx, bench.ServeOptions{CacheDir: cache})
	if err != nil {
		return err
	}
	defer end()
	version := "1"
	for _, name := range names {
		if name == "is another after a restart" {
			version = time.Now().String()
		}
		cheat, as := cheats[name], do
		if cheat == nil {
			return fmt.Errorf("there is no cheat %q", name)
		}
		do = func(ctx context.Context, r isolation.Run, c isolation.Caller) isolation.Outcome {
			runs.Add(1)
			return cheat(ctx, r, c, as)
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
