package codemode

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/codemode-project/codemode/analysis"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/asking"
	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/catalog/pins"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/preflight"

	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/recorder"
	"github.com/codemode-project/codemode/registry"
	"github.com/codemode-project/codemode/runs"
	"github.com/codemode-project/codemode/store"
	"github.com/codemode-project/codemode/upstream"
)

// Options are the powers of an [Evaluator]. The zero value runs programs that
// can compute and call nothing.
type Options struct {
	// ConfigPath names a configuration file, which is read now and watched: a
	// change reaches the next call of every run. While the file is broken the
	// rules of its last good version hold. "" reads no file.
	ConfigPath string
	// Files are configuration files beside the one of ConfigPath: those of whoever runs the
	// machine, of a project, of an admin page. All of them are watched.
	Files config.Files
	// Config is used when no file is named. With neither, nothing is
	// connected and every call is denied.
	Config *config.Config

	// Root is the directory of the built-in filesystem server; "" leaves it to
	// the configuration. A directory that contains one of [Powers], or lies in one, is refused.
	Root string
	// Protected are more files that the built-in filesystem keeps away from.
	Protected Protected
	// Env looks up the variables that a configuration refers to, such as
	// os.LookupEnv; nil knows none.
	Env func(name string) (string, bool)

	// CacheDir keeps machine code of the guest between processes, which makes
	// the first run start in milliseconds. Only its owner may be able to write there. "" keeps nothing.
	CacheDir string
	// StateDir keeps what has to outlive the process: how tools were defined when
	// they were accepted, and logins at upstreams. Only its owner may be able to write there.
	// "" keeps the former in memory, and there are no logins.
	StateDir string
	// PreflightSecret signs the tokens that say that a program was checked, so
	// that they count in other processes too. "" takes it from
	// CODEMODE_PREFLIGHT_SECRET of Env, or makes one for this Evaluator alone. One of less than 32 bytes is refused.
	PreflightSecret string
	// Engine runs the programs; nil makes one for this Evaluator alone.
	// An Engine that is given is not closed with the Evaluator.
	Engine Engine
	// Worker is a program and its arguments that reads programs for this Evaluator: its main calls [analysis.Work].
	// Then no text that is submitted can take more of the machine than a worker may. Nil reads programs in this
	// process, as far as they are within the bound of [analysis.Compile]; what is beyond runs unread, or not at all.
	Worker []string

	// GuestMemory is what all programs may have together, in bytes; zero is a quarter of what the machine or its container has, and
	// 512 MiB at most. One principal gets three quarters of it. It counts unless Engine is given.
	// It goes before capacity.guestMemory of the configuration.
	GuestMemory int64

	// Channels reach people whoever asks for a run, beside the channels of each Request.
	Channels []approvals.Channel

	// Recorder keeps the record of calls; what it cannot keep does not happen.
	// Nil keeps the latest entries in memory, see [Evaluator.Journal], or in RecordDir.
	Recorder hostfns.Recorder
	// RecordDir is where the record is kept, with everything else that is stored, unless the configuration
	// has another place for it; see [PlaceRecord]. Only its owner may be able to write there. "" keeps no record but Recorder's.
	RecordDir string
	// GoOn has this Evaluator go on with runs that waited for a person in a process that is gone, once somebody has answered.
	GoOn bool
	// Log receives what operators need to know; nil discards it.
	Log *slog.Logger

	Version string // how upstreams are told who we are; "" is "dev"
}

// An Evaluator runs programs against the tools and profiles of each moment.
// Its methods may be called from many goroutines.
type Evaluator struct {
	options Options
	log     *slog.Logger

	life     *runs.Lifetime
	news     news // of changes of the configuration and of the tools
	rules    *inforce.Rules
	loader   *loader
	tools    *registry.Registry
	people   *asking.People
	record   *recorder.Recorder
	checker  *preflight.Checker
	programs *preflight.Programs
	runs     *runs.Executor
}

// New reads the configuration and makes an Evaluator of it. Upstreams are
// started by the first call that needs them. The error of a configuration that
// must not be used is [config.Problems].
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
	if err := cmp.Or(preflight.CheckSecret("Options.PreflightSecret", o.PreflightSecret), preflight.CheckSecret(preflight.SecretVariable, secret)); err != nil {
		return nil, err
	}
	e := &Evaluator{
		options: o, log: o.Log, life: runs.NewLifetime(ctx),
		programs: preflight.NewPrograms(),
	}
	if len(o.Worker) > 0 {
		e.programs.Reader.Workers = analysis.NewWorkers(o.Log, o.Worker...)
		e.life.Background(e.programs.Reader.Workers.Start)
	}
	accepted, err := pins.Open(o.StateDir)
	if err != nil {
		return nil, err
	}
	e.rules = inforce.NewRules(o.Log, accepted)
	e.tools = registry.New(o.Log, e.rules, loginsIn(o.StateDir), o.Version, e.news.publish)
	e.record = recorder.New(o.Log, e.rules, o.Recorder, o.RecordDir)
	e.people = &asking.People{
		Log: o.Log, Rules: e.rules, Tools: e.tools, Record: e.record, Channels: o.Channels,
		Desk:   &approvals.Desk{Late: e.record.Late},
		Grants: asking.NewGrants(),
	}
	e.checker = &preflight.Checker{Rules: e.rules, Tools: e.tools, Programs: e.programs, Tokens: preflight.NewTokens(cmp.Or(o.PreflightSecret, secret))}
	e.runs = runs.New(runs.Options{
		Engine: o.Engine, CacheDir: o.CacheDir, GuestMemory: o.GuestMemory,
		Log: o.Log, Life: e.life, Rules: e.rules, Tools: e.tools, People: e.people, Record: e.record,
		Checker: e.checker, Programs: e.programs,
	})
	e.loader = &loader{
		options: o, log: o.Log, rules: e.rules, ctx: e.life.Ctx, use: e.use, note: e.record.Policy, changed: e.news.publish,
		roots: map[string]*openRoot{}, saved: map[string]*os.Root{},
	}
	if err := e.loader.configure(); err != nil {
		return nil, errors.Join(err, e.Close(ctx))
	}
	e.runs.Fit(e.loader.capacity)
	if o.Recorder == nil && o.RecordDir != "" {
		if err := e.keep(); err != nil {
			return nil, errors.Join(err, e.Close(ctx))
		}
	}
	return e, nil
}

// keep opens the record, and lets the parts keep what outlives the process in its database.
func (e *Evaluator) keep() error {
	e.loader.mu.Lock() // the file is watched already
	defer e.loader.mu.Unlock()
	cfg, k := e.rules.Config(), e.record
	if err := k.Open(e.options.RecordDir, cfg, e.options.Env); err != nil {
		return err
	}
	e.people.Grants.StoreIn(k.DB)
	e.rules.Sessions.Store = k.DB
	e.people.Desk.Store = asking.NewApprovalStore(k.DB)
	k.Policy(e.life.Ctx, "loaded", cfg, nil)
	e.life.Background(func() { k.Clean(e.life.Ctx) })
	for _, c := range e.options.Channels {
		if q, ok := c.(*approvals.Queue); ok {
			e.life.Background(func() { q.Follow(e.life.Ctx, e.people.Desk, e.people.CheckRemoteArgs) })
		}
	}
	if e.options.GoOn {
		e.life.Background(func() { e.runs.Adopt(e.life.Ctx) })
	}
	return nil
}

// Store gives the database of the record, for what else has to outlive the process. It is open until Close.
// An Evaluator without RecordDir has none.
func (e *Evaluator) Store(ctx context.Context) (*store.DB, error) { return e.record.DB(ctx) }

// RecordAccess writes that somebody was let in or turned away. state is "admitted" or why not; detail must hold
// no credential.
func (e *Evaluator) RecordAccess(ctx context.Context, principal, client, state, detail string) {
	e.record.Access(ctx, principal, client, state, detail)
}

// RecordEntry writes an entry of another part, such as the console: grants, answers, changes of overlays.
// It returns when the entry is on the disk, so that what it announces can be left undone.
func (e *Evaluator) RecordEntry(ctx context.Context, entry audit.Entry) error {
	return e.record.Write(ctx, entry)
}

// Capacity is what the configuration says now that the process has for all principals together. The Evaluator goes by what it said
// when it was made.
func (e *Evaluator) Capacity() config.Capacity { return capacityOf(e.rules.Config()) }

// use makes the servers of a configuration those that are connected to.
func (e *Evaluator) use(servers []upstream.Server) {
	e.record.Learn(servers)
	e.tools.Manager.Set(servers)
}

// Warm starts the upstreams and prepares the sandbox without waiting for
// either, so that the first program finds them ready.
func (e *Evaluator) Warm() {
	e.life.Background(func() {
		e.life.Background(func() { e.tools.Manager.Ready(e.life.Ctx) })
		if err := e.runs.Warm(); err != nil {
			e.log.Error("the sandbox cannot be used", "error", err)
		}
	})
}

// Close cancels what runs, waits for it until ctx ends, and stops the
// upstreams: their processes are dead when it returns. It may be called twice.
func (e *Evaluator) Close(ctx context.Context) error {
	if !e.life.End() {
		return nil
	}
	var errs []error
	if e.loader != nil {
		errs = append(errs, e.loader.close())
	}
	errs = append(errs, e.life.Wait(ctx))
	// Children have to be dead even when the time for a quiet end is over.
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopUpstreams)
	defer cancel()
	errs = append(errs, e.tools.Manager.Close(stopping))
	errs = append(errs, e.runs.Close(stopping))
	errs = append(errs, e.people.Grants.EndSessions(stopping), e.record.Close(stopping))
	if e.programs.Reader.Workers != nil {
		errs = append(errs, e.programs.Reader.Workers.Close())
	}
	if e.loader != nil {
		errs = append(errs, e.loader.closeFolders())
	}
	return errors.Join(errs...)
}

// stopUpstreams is how long Close gives upstream processes to end.
const stopUpstreams = 15 * time.Second

// Subscribe has f called after each change of the configuration or of the
// tools, until cancel is called. Calls of f may overlap and must not wait.
func (e *Evaluator) Subscribe(f func()) (cancel func()) { return e.news.subscribe(f) }
