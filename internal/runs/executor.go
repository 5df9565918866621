package runs

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/fair"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/runs/results"
	"github.com/codemode-project/codemode/internal/runs/sessions"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/sandbox"
)

// Options are the parts that an Executor needs. All but the first three are required.
type Options struct {
	Engine      Engine // nil makes one
	Tenant      string // the name among those that share Engine; "" is none
	CacheDir    string // of machine code of the guest; "" keeps none
	GuestMemory int64  // of all programs together, in bytes; zero uses the configuration

	Log      *slog.Logger
	Life     *Lifetime
	Rules    *inforce.Rules
	Tools    *registry.Registry
	People   *asking.People
	Record   *recorder.Recorder
	Checker  *preflight.Checker
	Programs *preflight.Programs
}

// An Executor runs programs, each from its start to its end, over as many guests and processes as necessary.
type Executor struct {
	log      *slog.Logger
	life     *Lifetime
	rules    *inforce.Rules
	tools    *registry.Registry
	gate     *hostfns.Gate // for runs without a caller
	people   *asking.People
	record   *recorder.Recorder
	recorded runRecord
	checker  *preflight.Checker
	programs *preflight.Programs

	engine      lazyEngine
	parked      *waitingRuns
	Results     *results.Keeper  // what did not fit into the replies of runs
	Sessions    *sessions.Keeper // in which programs go on where others ended
	CallBudgets *inforce.Budgets // which bound what all runs use
	UnderWay    UnderWay
}

// New makes an Executor. Call [Executor.Fit] before it runs anything.
func New(o Options) *Executor {
	e := &Executor{
		log: o.Log, life: o.Life, rules: o.Rules, tools: o.Tools, gate: o.Tools.Gate(nil, "", o.Record.To),
		people: o.People, record: o.Record, recorded: runRecord{o.Record}, checker: o.Checker, programs: o.Programs,
		UnderWay: UnderWay{record: o.Record, executions: map[*execution]bool{}},
	}
	e.Results = &results.Keeper{Record: o.Record}
	e.CallBudgets = &inforce.Budgets{Record: o.Record, Config: o.Rules.Config, Log: o.Log}
	e.Sessions = &sessions.Keeper{Record: o.Record, Engine: func() (sessions.Engine, error) { return e.engine.get() }}
	e.engine.options, e.engine.makeRoom = o, e.Sessions.MakeRoom
	e.engine.get = sync.OnceValues(e.engine.make)
	return e
}

// An execution is one run from its start to its end, over as many guests as necessary. While it waits only for people
// it is parked, and has no guest.
type execution struct {
	e       *Executor
	request Request
	policy  *inforce.Policy
	program *analysis.Program
	resp    *Response
	limits  sandbox.Limits
	asking  *asking.Prompter
	run     *hostfns.Run
	engine  Engine
	use     *sessions.Use // of the request's session; nil without one
	started time.Time
	events  *feed
	parts   *preflight.Parts
	// begun is run, for other goroutines, once run and started are set.
	begun atomic.Pointer[hostfns.Run]

	ctx    context.Context // of the run; its cause says why it ended
	cancel context.CancelCauseFunc
	calls  context.Context // of its calls: ends when the program does
	ended  context.CancelCauseFunc
	// carried is the context of calls that a person has allowed: it outlives the program, but not the clients that
	// wait.
	carried context.Context

	parking sync.Mutex       // one attempt to park, or one claim, at a time; guards row and kept
	row     *store.ParkedRun // the run as the database has it; nil if it does not
	kept    bool             // the database had an image of it

	given atomic.Bool // another process has the run, or may take it

	seat  seat
	slots chan struct{} // one for each open call that does not wait for a person

	order order // of its calls
}

// Close ends the engine, if it is the executor's own.
func (e *Executor) Close(ctx context.Context) error {
	e.Sessions.Close()
	if engine := e.engine.own.Load(); engine != nil {
		return engine.Close(ctx)
	}
	return nil
}

// Warm prepares the sandbox, so that the first program finds it ready.
func (e *Executor) Warm() error {
	_, err := e.engine.get()
	return err
}

// Fit sets the capacity.
func (e *Executor) Fit(c config.Capacity) {
	e.parked, e.engine.memory = newWaitingRuns(c), c.GuestMemory
}

// Budgets returns what programs share and use at this moment: memory, turns to be read, room for runs that wait.
func (e *Executor) Budgets() []fair.Use {
	all := []fair.Use{e.programs.Reading(), e.parked.count.Use(), e.parked.bytes.Use()}
	if engine := e.engine.own.Load(); engine != nil {
		all = append(all, engine.Budgets()...)
	}
	return all
}

// A lazyEngine makes the engine when it is first needed.
type lazyEngine struct {
	options  Options
	makeRoom func(owner string) bool // see [sandbox.Options.MakeRoom]
	memory   int64                   // of all programs together, as the configuration said at the start
	get      func() (Engine, error)
	own      atomic.Pointer[sandbox.Engine] // the one that was made here
}

func (l *lazyEngine) make() (Engine, error) {
	o := &l.options
	if shared, ok := o.Engine.(*sandbox.Engine); ok && o.Tenant != "" {
		return shared.Tenant(o.Tenant, o.Record.ParkKey, l.makeRoom), nil
	}
	if o.Engine != nil {
		return o.Engine, nil
	}
	engine, err := sandbox.New(o.Life.Ctx, sandbox.Options{
		CacheDir: o.CacheDir, MakeRoom: l.makeRoom, Compiling: l.compiling, ParkKey: o.Record.ParkKey,
		Memory: cmp.Or(o.GuestMemory, l.memory)})
	if err != nil {
		return nil, fmt.Errorf("preparing the sandbox: %w", err)
	}
	l.own.Store(engine)
	return engine, nil
}

// compiling logs why a start takes a second.
func (l *lazyEngine) compiling(reason string) {
	if l.options.CacheDir == "" {
		l.options.Log.Info("compiling the sandbox, which takes about a second: Options.CacheDir would keep the result")
		return
	}
	l.options.Log.Warn("compiling the sandbox, which takes about a second", "reason", reason,
		"directory", l.options.CacheDir)
}

// hash identifies the guest of this process; "" if there is none.
func (l *lazyEngine) hash() string {
	engine, err := l.get()
	if err != nil {
		return ""
	}
	return engine.Hash()
}

// An Engine runs the JavaScript of programs, each in a guest of its own. [*sandbox.Engine] is one.
type Engine interface {
	Start(ctx context.Context, p sandbox.Program, h sandbox.Host) (*sandbox.Run, error)
	// Resume continues with the image that [sandbox.Run.Park] gave, in this process or another.
	Resume(ctx context.Context, image []byte, p sandbox.Program, h sandbox.Host) (*sandbox.Run, error)
	// Hash identifies the guest: an image can only be resumed in the guest that made it.
	Hash() string

	sessions.Engine
}

var _ Engine = (*sandbox.Engine)(nil)
