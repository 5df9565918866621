package codemode

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/internal/approvals/notify"
	"github.com/codemode-project/codemode/internal/config/process"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/loader"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/tools/catalog"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// An Evaluator runs programs with the tools and profiles of each moment.
// Many goroutines may call its methods.
type Evaluator struct {
	options Options
	log     *slog.Logger

	life     *runs.Lifetime
	news     news // of changes of the configuration and of the tools
	rules    *inforce.Rules
	loader   *loader.Loader
	tools    *registry.Registry
	people   *asking.People
	record   *recorder.Recorder
	checker  *preflight.Checker
	programs *preflight.Programs
	runs     *runs.Executor
}

// New reads the configuration and makes an Evaluator of it. The first call that needs an upstream starts it. The error
// for an invalid configuration is [config.Problems].
func New(ctx context.Context, o Options) (*Evaluator, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
	secret, ok := o.Env(preflight.SecretVariable)
	if !ok {
		secret = ""
	}
	err := cmp.Or(preflight.CheckSecret("Options.PreflightSecret", o.PreflightSecret),
		preflight.CheckSecret(preflight.SecretVariable, secret), approvals.CheckChannels("Options.Channels", o.Channels))
	if err != nil {
		return nil, err
	}
	own, err := ownServers(o.Servers)
	if err != nil {
		return nil, err
	}
	accepted, err := catalog.OpenPins(o.StateDir)
	if err != nil {
		return nil, err
	}
	e := &Evaluator{options: o, log: o.Log, life: runs.NewLifetime(ctx), programs: preflight.NewPrograms()}
	if len(o.Worker) > 0 {
		e.programs.Reader.Workers = analysis.NewWorkers(o.Log, o.Worker...)
		e.life.Background(e.programs.Reader.Workers.Start)
	}
	e.wire(accepted, own, cmp.Or(o.PreflightSecret, secret))
	if err := e.loader.Start(); err != nil {
		return nil, errors.Join(err, e.Close(ctx))
	}
	e.runs.Fit(e.loader.Capacity())
	if o.Recorder == nil && o.RecordDir != "" {
		if err := e.openRecord(); err != nil {
			return nil, errors.Join(err, e.Close(ctx))
		}
	}
	return e, nil
}

// wire makes the parts, each from the parts that it needs.
func (e *Evaluator) wire(accepted *catalog.Pins, own []upstream.Server, secret string) {
	o := &e.options
	e.rules = inforce.NewRules(o.Log, accepted)
	var logins, descriptions string // the folders of what upstreams have: tokens, and descriptions of APIs; "" keeps none
	if o.StateDir != "" {
		logins, descriptions = filepath.Join(o.StateDir, "logins"), filepath.Join(o.StateDir, "descriptions")
	}
	tools := registry.Options{
		Log: o.Log, Rules: e.rules, Logins: logins, Descriptions: descriptions, Version: o.Version, Changed: e.news.publish,
		Principals: login.Options{
			DB: func(ctx context.Context) (*store.DB, error) { return e.record.DB(ctx) },
			Expired: func(ctx context.Context, principal, server string) {
				e.record.Access(ctx, principal, "", "login_expired", "at the server "+server)
			},
		},
	}
	if o.Confine != nil {
		tools.Confine = func(s *servers.Server, c upstream.Command) (upstream.Command, error) {
			return o.Confine(e.rules.Config(), s, c)
		}
	}
	e.tools = registry.New(tools)
	e.tools.Trace = o.Trace
	e.record = recorder.New(o.Log, e.rules, o.Recorder, o.RecordDir, o.Observer)
	e.record.Tools = e.tools.Catalog.Mentions
	path := cmp.Or(o.PagePath, config.ConsolePath)
	e.people = &asking.People{
		Log: o.Log, Rules: e.rules, Tools: e.tools, Record: e.record, Channels: o.Channels,
		Desk: &approvals.Desk{Late: e.record.Late}, Grants: asking.NewGrants(),
		Notifier: notify.New(notify.Options{Log: o.Log, Env: o.Env, Version: cmp.Or(o.Version, "dev"),
			Settings: func() *process.Notifications { return e.rules.Config().Notified(path) }}),
	}
	e.people.Desk.Opened = e.people.Notifier.Opened
	e.checker = &preflight.Checker{
		Rules: e.rules, Tools: e.tools, Programs: e.programs, Tokens: preflight.NewTokens(secret),
	}
	e.runs = runs.New(runs.Options{
		Engine: o.Engine, Tenant: o.Tenant, CacheDir: o.CacheDir, GuestMemory: o.GuestMemory,
		Log: o.Log, Life: e.life, Rules: e.rules, Tools: e.tools, People: e.people, Record: e.record,
		Checker: e.checker, Programs: e.programs,
	})
	loading := o.loading()
	loading.Servers = own
	loading.Rules, loading.Note, loading.Changed = e.rules, e.record.Policy, e.news.publish
	loading.Use = func(servers []upstream.Server) {
		e.record.Learn(servers)
		e.tools.Manager.Set(servers)
	}
	e.loader = loader.New(e.life.Ctx, loading)
}

// openRecord opens the record, and gives the parts its database for state that outlives the process.
func (e *Evaluator) openRecord() error {
	err := e.loader.Hold(func(cfg *config.Config) error { // a reload may come at any time
		if err := e.record.Open(e.options.RecordDir, cfg, e.options.Env); err != nil {
			return err
		}
		e.people.Grants.StoreIn(e.record.DB)
		e.rules.Sessions.Store = e.record.DB
		e.people.Desk.Store = asking.NewApprovalStore(e.record.DB)
		e.record.Policy(e.life.Ctx, "loaded", cfg, nil)
		return nil
	})
	if err != nil {
		return err
	}
	e.life.Background(func() { e.record.Clean(e.life.Ctx) })
	for _, c := range e.options.Channels {
		if q, ok := c.(*approvals.Queue); ok {
			e.life.Background(func() { q.Follow(e.life.Ctx, e.people.Desk, e.people.CheckRemoteArgs) })
		}
	}
	if e.options.GoOn {
		e.life.Background(func() { e.runs.TakeOver(e.life.Ctx) })
	}
	return nil
}

// Eval runs a program. The Response is never nil, and its Text describes the outcome for every error:
// [analysis.Problems] say why the program did not start, a [*sandbox.Error] says how it ended. With any other error no
// run began, and Response.Run is "".
func (e *Evaluator) Eval(ctx context.Context, r Request) (*Response, error) {
	if err := e.life.Enter(); err != nil {
		return &Response{}, err
	}
	defer e.life.Running.Done()
	response, err := e.runs.Eval(ctx, r)
	if response == nil {
		response = &Response{}
	}
	return response, err
}

// Eval runs a program and stores the value that it returns in a T, as [Response.Decode] does. The error is that of
// [Evaluator.Eval], or a [*ValueError] for a value that does not fit. The Response is never nil.
func Eval[T any](ctx context.Context, e *Evaluator, r Request) (T, *Response, error) {
	var value, none T
	response, err := e.Eval(ctx, r)
	if err == nil {
		err = response.Decode(&value)
	}
	if err != nil {
		return none, response, err
	}
	return value, response, nil
}

// Prepare reads a program once, for many runs with [Prepared.Run]: a batch, or an endpoint of a service. Problems of
// the program are errors here, [analysis.Problems] as with Eval. Nothing runs, and nothing is recorded.
func (e *Evaluator) Prepare(ctx context.Context, r Request) (*Prepared, error) {
	if err := e.life.Enter(); err != nil {
		return nil, err
	}
	defer e.life.Running.Done()
	return e.runs.Prepare(ctx, r)
}

// Check says what a program would do under a profile, and in Request.Session. It runs nothing and asks nobody.
func (e *Evaluator) Check(ctx context.Context, r Request) (*preflight.Plan, error) {
	if err := e.life.Enter(); err != nil {
		return nil, err
	}
	defer e.life.Running.Done()
	policy, saved, err := runs.Prepare(e.life.Ctx, e.rules, &r)
	if err != nil {
		return nil, err
	}
	submission, err := e.runs.Submission(ctx, &r, policy)
	if err != nil {
		return nil, err
	}
	plan, err := e.checker.Check(ctx, submission, policy, saved)
	if err == nil {
		if risk, asks := plan.Asks(); asks && policy.Profile() != nil {
			if where := e.people.Places(risk, policy.Profile().Ask().Channels); len(where) > 0 {
				plan.Answers = approvals.WhoAnswers(where, risk)
			}
		}
	}
	return plan, err
}

// Gate begins a run of tools that the embedding program executes itself; the [Gate]
// decides each call, and asks about and records it.
func (e *Evaluator) Gate(o GateOptions) (*Gate, error) {
	return runs.NewGate(e.runs, o)
}

// Warm starts the upstreams and prepares the sandbox in the background, so that the first program finds them ready.
func (e *Evaluator) Warm() {
	e.life.Background(func() {
		e.life.Background(func() { e.tools.Manager.Ready(e.life.Ctx) })
		if err := e.runs.Warm(); err != nil {
			e.log.Error("the sandbox cannot be used", "error", err)
		}
	})
}

// Subscribe calls f after each change of the configuration or of the tools, until cancel. Calls of f may overlap and
// must not block.
func (e *Evaluator) Subscribe(f func()) (cancel func()) { return e.news.subscribe(f) }

// Close cancels running programs, waits for them until ctx ends, and stops the upstreams: their processes are dead when
// it returns. Callers may call it twice.
func (e *Evaluator) Close(ctx context.Context) error {
	if !e.life.End() {
		return nil
	}
	errs := []error{e.loader.Close(), e.life.Wait(ctx)}
	// The child processes must end, even if ctx has already ended.
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopUpstreams)
	defer cancel()
	telling, told := context.WithTimeout(stopping, lastMessages)
	e.people.Notifier.Close(telling)
	told()
	errs = append(errs, e.tools.Manager.Close(stopping))
	errs = append(errs, e.runs.Close(stopping))
	errs = append(errs, e.people.Grants.EndSessions(stopping), e.record.Close(stopping))
	if e.programs.Reader.Workers != nil {
		errs = append(errs, e.programs.Reader.Workers.Close())
	}
	return errors.Join(append(errs, e.loader.CloseFolders())...)
}

// lastMessages bounds how long Close waits for messages about questions that other processes take over.
const lastMessages = 5 * time.Second

// stopUpstreams bounds the end of upstream processes in Close.
const stopUpstreams = 15 * time.Second

// Each of these returns a part of the Evaluator. New makes the parts, and Close ends them.

// Config is the configuration in force; nil when there is none.
func (e *Evaluator) Config() *config.Config { return e.rules.Config() }

// Loader loads the configuration, and takes overlays from people's tools.
func (e *Evaluator) Loader() *loader.Loader { return e.loader }

// Rules has the basis of decisions: the configuration in force, saved programs, sessions made for a role, and the
// definitions of tools that people accepted.
func (e *Evaluator) Rules() *inforce.Rules { return e.rules }

// Tools has the connections to upstreams, and their tools.
func (e *Evaluator) Tools() *registry.Registry { return e.tools }

// Discovery tells which tools and servers programs of a profile can use.
func (e *Evaluator) Discovery() *registry.Directory {
	return &registry.Directory{Rules: e.rules, Tools: e.tools}
}

// People asks people, and has their grants.
func (e *Evaluator) People() *asking.People { return e.people }

// Record has the record of calls and its database.
func (e *Evaluator) Record() *recorder.Recorder { return e.record }

// Checker has the tokens of checks and their notes.
func (e *Evaluator) Checker() *preflight.Checker { return e.checker }

// Runs has the runs in progress, the runs that wait for people, and the results of runs that ended without their
// client.
func (e *Evaluator) Runs() *runs.Executor { return e.runs }

// news calls subscribers when something has changed.
type news struct {
	mu          sync.Mutex
	subscribers map[int]func()
	next        int
}

func (n *news) subscribe(f func()) (cancel func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subscribers == nil {
		n.subscribers = map[int]func(){}
	}
	id := n.next
	n.next++
	n.subscribers[id] = f
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.subscribers, id)
	}
}

func (n *news) publish() {
	n.mu.Lock()
	subscribers := slices.Collect(maps.Values(n.subscribers))
	n.mu.Unlock()
	for _, f := range subscribers {
		f()
	}
}
