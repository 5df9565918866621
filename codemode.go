package codemode

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/approvals/notify"
	"github.com/codemode-project/codemode/internal/config/notifications"
	"github.com/codemode-project/codemode/internal/config/servers"
	"github.com/codemode-project/codemode/internal/protect"
	"github.com/codemode-project/codemode/internal/record/recorder"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/runs/loader"
	"github.com/codemode-project/codemode/internal/runs/owntools"
	"github.com/codemode-project/codemode/internal/runs/preflight"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/tools/pins"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/internal/tools/upstream"
	"github.com/codemode-project/codemode/internal/tools/upstream/login"
)

// Options are the powers of an [Evaluator]. The zero value runs programs that
// can compute and call nothing.
type Options struct {
	// ConfigPath names a configuration file. New reads and watches it: a change reaches the next call of every run.
	// While the file is broken, the rules of its last good version stay in force. "" reads no file.
	ConfigPath string
	// Files are more configuration files: those of the machine's administrator, of a project, of an admin page. New
	// reads and watches all of them.
	Files config.Files
	// Config is the configuration if there is no file. With neither, every call is denied.
	Config *config.Config

	// Servers are Go functions of the embedding program, as tools: see [Func]. The profiles of the configuration decide
	// about their calls like about any other. They stay when the configuration changes.
	Servers []Server

	// Root is the directory of the built-in filesystem server; "" leaves it to
	// the configuration. New refuses a directory that contains one of [Powers], or lies in one.
	Root string
	// Protected are more files and folders that the built-in filesystem must not reach. The key is a path, the value
	// describes it. Everything below a protected folder is protected too.
	Protected map[string]string
	// Env looks up the variables that a configuration refers to, such as os.LookupEnv; nil knows none. The Lookup of
	// [variables.NewSources] also runs the commands and reads the files that the configuration names for its secrets.
	Env func(name string) (string, bool)

	// CacheDir caches the guest's compiled code, so that the first run of the next process starts in milliseconds.
	// Nobody but its owner may have permission to write there. "" caches nothing.
	CacheDir string
	// StateDir holds state that outlives the process: the accepted definitions of tools, and logins at upstreams.
	// Nobody but its owner may have permission to write there. With "" the definitions stay in memory, and there are no
	// logins.
	StateDir string
	// PreflightSecret signs the tokens of checked programs, so that they are valid in other processes too. "" takes it
	// from CODEMODE_PREFLIGHT_SECRET of Env, or makes one for this Evaluator alone. New refuses less than 32 bytes.
	PreflightSecret string
	// Engine runs the programs; nil makes one for this Evaluator alone. Close closes only that one.
	Engine runs.Engine
	// Tenant is the name of this Evaluator among those that share Engine, a [*sandbox.Engine]: see
	// [sandbox.Engine.Tenant]. "" is the only user of Engine.
	Tenant string
	// Worker is a program and its arguments that reads programs for this Evaluator: its main calls [analysis.Work].
	// Then no submitted text can use more of the machine than a worker may. Nil reads programs in this process, within
	// the bound of [analysis.Compile]. A text beyond that bound runs unread, or not at all.
	Worker []string
	// Confine takes rights from the process of a server before it starts, see [upstream.Options]. Nil takes none.
	Confine func(*config.Config, *servers.Server, upstream.Command) (upstream.Command, error)

	// GuestMemory bounds the memory of all programs together, in bytes; zero is a quarter of what the machine or its
	// container has, and 512 MiB at most. One principal gets three quarters of it. It overrides capacity.guestMemory of
	// the configuration. It has no effect if Engine is given.
	GuestMemory int64

	// Channels reach people for every run, beside the channels of its Request. [approvals.Approver] makes one of a
	// function.
	Channels []approvals.Channel

	// Recorder records calls. A call that it cannot record does not happen. With nil, codemode records in RecordDir, or
	// keeps the latest entries in memory; see [recorder.Recorder.Journal].
	Recorder hostfns.Recorder
	// RecordDir is the folder of the record and of all other stored data, unless the configuration names another place;
	// see [recorder.PlaceOf]. Nobody but its owner may have permission to write there. "" keeps no record but
	// Recorder's.
	RecordDir string
	// Observer sees the entries of the record, with or without one: for figures and traces.
	Observer recorder.Observer
	// Trace returns what servers get in _meta about the trace of a call, such as traceparent. Nil passes on what the
	// caller of the run sent.
	Trace func(c *call.Call) map[string]any
	// GoOn lets this Evaluator take over the runs of processes that died: it resumes those that waited for a person, once
	// somebody has answered, and ends those with an idempotency key. Without it, a repeated request for such a run waits
	// until another process does that.
	GoOn bool
	// PagePath is the path of the page below console.origin of the configuration, for links in notifications; "" is
	// [config.ConsolePath].
	PagePath string
	// Log receives what operators need to know; nil discards it.
	Log *slog.Logger

	Version string // the version to tell upstreams; "" is "dev"
}

// Powers lists the files and folders that give power over an Evaluator with these options and its configuration; see
// [loader.Powers].
func Powers(o Options, cfg *config.Config) ([]protect.Place, error) {
	return loader.Powers(o.loading(), cfg)
}

// loading returns the options of the loader.
func (o *Options) loading() loader.Options {
	files := o.Files
	files.User = cmp.Or(o.ConfigPath, files.User)
	return loader.Options{
		Files: files, Config: o.Config, Env: o.Env, Log: o.Log, Root: o.Root, Protected: o.Protected,
		StateDir: o.StateDir, RecordDir: o.RecordDir, CacheDir: o.CacheDir,
	}
}

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
	accepted, err := pins.Open(o.StateDir)
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
func (e *Evaluator) wire(accepted *pins.Pins, own []upstream.Server, secret string) {
	o := &e.options
	e.rules = inforce.NewRules(o.Log, accepted)
	logins := "" // the folder of the tokens of upstreams; "" keeps none
	if o.StateDir != "" {
		logins = filepath.Join(o.StateDir, "logins")
	}
	tools := registry.Options{
		Log: o.Log, Rules: e.rules, Logins: logins, Version: o.Version, Changed: e.news.publish,
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
			Settings: func() *notifications.Notifications { return e.rules.Config().Notified(path) }}),
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
	return owntools.New(owntools.Parts{
		Log: e.log, Life: e.life, Rules: e.rules, Tools: e.tools, People: e.people, Record: e.record,
		Budgets: e.runs.CallBudgets,
	}, o)
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
