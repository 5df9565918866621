// Command codemode is an engine of the isolation protocol (docs/isolation-protocol.md): an Evaluator of package
// codemode, embedded in this process. The tools of the protocol are functions of this program, and the rules of a
// profile decide about them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/guest/quickjs"
	"github.com/codemode-project/codemode/internal/isolation"
	"github.com/codemode-project/codemode/sandbox"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) == 2 && os.Args[1] == readPrograms {
		if err := analysis.Work(os.Stdin, os.Stdout); err != nil {
			log.Fatal(err)
		}
		return
	}
	s, err := open(context.Background())
	if err == nil {
		err = isolation.Serve(os.Stdin, os.Stdout, hello(), s.run)
		err = errors.Join(err, s.close())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// readPrograms is the argument of the processes that read programs.
const readPrograms = "read-programs"

func hello() isolation.Hello {
	version := "unknown"
	if build, ok := debug.ReadBuildInfo(); ok {
		version = build.Main.Version
	}
	return isolation.Hello{
		Name: "codemode (embedded)", Version: version, Language: "javascript",
		Note:   "https://github.com/codemode-project/codemode/blob/main/docs/embedding.md",
		Claims: isolation.Claims,
	}
}

// A service runs programs. It needs a new Evaluator only when a run has other rules than the last one.
type service struct {
	worker    []string
	engine    *sandbox.Engine
	rules     string
	evaluator *codemode.Evaluator
}

// open compiles the sandbox, so that the first program need not wait for it.
func open(ctx context.Context) (*service, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	engine, err := sandbox.New(ctx, sandbox.Options{Wasm: quickjs.Wasm(), Hash: quickjs.Hash()})
	return &service{worker: []string{self, readPrograms}, engine: engine}, err
}

func (s *service) close() error {
	var err error
	if s.evaluator != nil {
		err = s.evaluator.Close(context.Background())
	}
	return errors.Join(err, s.engine.Close(context.Background()))
}

func (s *service) run(ctx context.Context, r isolation.Run, call isolation.Caller) isolation.Outcome {
	e, err := s.under(ctx, r)
	if err != nil {
		return isolation.Outcome{Outcome: isolation.Error, Message: err.Error()}
	}
	response, err := e.Eval(context.WithValue(ctx, callKey{}, call), codemode.Request{
		Profile: profile, Principal: "harness", Code: r.Program, Name: "program.js",
	})
	o := isolation.Outcome{Outcome: isolation.Value, Value: response.Value}
	switch {
	case err != nil:
		o = isolation.Outcome{Outcome: ending(response, err), Message: err.Error()}
	case int64(len(response.Value)) > r.Limits.ResultBytes: // the rules know no limit below a megabyte
		o = isolation.Outcome{Outcome: isolation.Error, Message: "the result is too large"}
	}
	if response.Run != "" {
		o.Usage = &isolation.Usage{WallMS: ms(response.Usage.Wall), CPUMS: ms(response.Usage.CPU),
			MemoryBytes: response.Usage.Memory}
	}
	return o
}

func millis(n int64) string { return strconv.FormatInt(n, 10) + "ms" }

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// ending says how a program ended, by what the host saw. A program that throws an error which looks like a denial was
// not ended by one.
func ending(r *codemode.Response, err error) string {
	ended, ok := errors.AsType[*sandbox.Error](err)
	switch {
	case !ok:
		return isolation.Error
	case ended.Kind == sandbox.TimedOut:
		return isolation.Timeout
	case ended.Kind == sandbox.OutOfMemory:
		return isolation.Memory
	}
	for _, c := range r.Calls {
		if ended.Kind == sandbox.Threw && c.Call == ended.Call && c.Reason == "denied" {
			return isolation.Denied
		}
	}
	return isolation.Error
}

// under returns the Evaluator for the rules of a run.
func (s *service) under(ctx context.Context, r isolation.Run) (*codemode.Evaluator, error) {
	rules, err := json.Marshal(rulesOf(r))
	if err != nil || s.rules == string(rules) {
		return s.evaluator, err
	}
	cfg, err := config.Parse("rules.json", rules)
	if err != nil {
		return nil, err
	}
	e, err := codemode.New(ctx, codemode.Options{
		Config: cfg, Servers: []codemode.Server{tools()}, Engine: engine{s.engine}, Worker: s.worker,
	})
	if err != nil {
		return nil, err
	}
	if s.evaluator != nil {
		err = s.evaluator.Close(ctx)
	}
	s.evaluator, s.rules = e, string(rules)
	return e, err
}

const profile = "harness"

type object map[string]any

func rulesOf(r isolation.Run) object {
	allow := []string{}
	for _, name := range r.Allow {
		allow = append(allow, known(name))
	}
	l := r.Limits
	return object{
		"results": false, // a program cannot load what an earlier one returned
		"evaluation": object{"profiles": object{profile: object{
			"allowlist": allow,
			"limits": object{
				"wall": millis(l.WallMS), "call": millis(l.WallMS), "cpu": millis(l.CPUMS), "memory": l.MemoryBytes,
				"calls": l.Calls, "inFlight": l.InFlight, "argumentBytes": l.ArgumentBytes + int64(len(wrapped(""))),
				"resultBytes": l.ResultBytes,
			},
		}}},
	}
}

// The tools of the protocol. Programs of codemode call tools as codemode.server__tool, with one object. An engine makes
// that of codemode.tool and any JSON.
const server = "harness"

var names = []string{"echo", "slow", "fail", "secret"}

func known(name string) string { return server + "__" + name }

type argument struct {
	Value json.RawMessage `json:"value"`
}

func wrapped(args string) json.RawMessage { return json.RawMessage(`{"value":` + args + `}`) }

type callKey struct{}

func tools() codemode.Server {
	s := codemode.Server{Name: server}
	for _, name := range names {
		s.Functions = append(s.Functions, codemode.Func(name, "A tool of the harness.",
			func(ctx context.Context, in argument) (json.RawMessage, error) {
				call, ok := ctx.Value(callKey{}).(isolation.Caller)
				if !ok {
					return nil, errors.New("the call belongs to no run")
				}
				return call(ctx, name, in.Value)
			}))
	}
	return s
}

// An engine passes calls of the protocol's tools on under the names of this program's functions.
type engine struct{ *sandbox.Engine }

func (e engine) Start(ctx context.Context, p sandbox.Program, host sandbox.Host) (*sandbox.Run, error) {
	p.Limits.ArgumentBytes -= len(wrapped(""))
	return e.Engine.Start(ctx, p, func(ctx context.Context, c *sandbox.Call) (json.RawMessage, error) {
		if slices.Contains(names, c.Name) {
			renamed := *c
			renamed.Name, renamed.Args = known(c.Name), wrapped(string(c.Args))
			if c.Name != "echo" && string(c.Args) == "null" { // no argument looks the same
				renamed.Args = wrapped("{}")
			}
			c = &renamed
		}
		return host(ctx, c)
	})
}
