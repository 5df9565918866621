package recorder

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/record/otlp"
	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/tools/upstream"
)

// A Recorder writes the record of an Evaluator, which is one of package audit.
type Recorder struct {
	log     *slog.Logger
	rules   *inforce.Rules
	To      hostfns.Recorder // records calls: the Recorder itself, unless package audit keeps no record
	ends    audit.Ends
	record  *audit.Record              // nil without a directory for it
	export  *otlp.Sender[*audit.Entry] // nil without a collector
	place   Place
	Key     *audit.Key     // nil without a record
	given   *config.Config // the configuration when the store was opened; may be nil
	secrets atomic.Pointer[[]string]
	ParkKey []byte // authenticates the images of parked runs
	// Tools reports whether a definition of a tool contains a text; nil knows none.
	Tools func(text string) bool

	observer Observer
}

// An Observer sees what happens, as the entries that a Recorder gets. Its functions must be fast: calls wait for them.
// Many goroutines call them. They must not change an entry or keep its values: arguments, results and texts have their
// secrets still in them. A nil function is ignored.
type Observer struct {
	// Entry sees an entry before it is written, whether or not that succeeds. The context is that of the run or call.
	Entry func(ctx context.Context, e *call.Entry)
	// Written sees how long a call waited until its entry was on disk, and the error if it was not.
	Written func(took time.Duration, err error)
}

// Observers is an Observer of several.
func Observers(all ...Observer) (o Observer) {
	for _, one := range all {
		switch entry := o.Entry; {
		case entry == nil:
			o.Entry = one.Entry
		case one.Entry != nil:
			o.Entry = func(ctx context.Context, e *call.Entry) { entry(ctx, e); one.Entry(ctx, e) }
		}
		switch written := o.Written; {
		case written == nil:
			o.Written = one.Written
		case one.Written != nil:
			o.Written = func(took time.Duration, err error) { written(took, err); one.Written(took, err) }
		}
	}
	return o
}

// New makes a Recorder without a record. It records calls with to; if to is nil, in a record in dir; if dir is "" too,
// in memory.
func New(log *slog.Logger, r *inforce.Rules, to hostfns.Recorder, dir string, o Observer) *Recorder {
	k := &Recorder{log: log, rules: r, To: to, observer: o}
	k.ends.Entries = k.Entries
	switch {
	case k.To != nil:
	case dir != "":
		k.To = k
	default:
		k.To = &Journal{log: log}
	}
	if k.To != k && o.Entry != nil {
		k.To = observed{k.To, o}
	}
	return k
}

// observed is another recorder of calls, whose entries the observer sees too.
type observed struct {
	hostfns.Recorder
	observer Observer
}

func (o observed) Record(ctx context.Context, e call.Entry) error {
	o.observer.Entry(ctx, &e)
	return o.Recorder.Record(ctx, e)
}

// observe shows an entry to the observer.
func (k *Recorder) observe(ctx context.Context, e *call.Entry) {
	if k.observer.Entry != nil {
		k.observer.Entry(ctx, e)
	}
}

// Open prepares the place of the record. The database itself is opened on first use.
func (k *Recorder) Open(dir string, cfg *config.Config, env func(string) (string, bool)) error {
	place, err := PlaceOf(dir, cfg, env)
	if err == nil {
		err = store.HasDriver(place.Store.URL)
	}
	if err != nil {
		return err
	}
	key, err := place.Prepare()
	if err != nil {
		return err
	}
	k.place, k.Key = place, key
	k.given = cfg
	place.Store.Log, place.Store.SealKey = k.log, place.SealKey(key)
	o := audit.Options{Open: place.Open, Key: key, Share: place.Share, Redact: k.redaction, Secrets: k.known, Word: k.word,
		Publish: place.Publishers(k.log), Log: k.log}
	if place.Collector != "" {
		k.export = newExport(otlp.Collector{URL: place.Collector}, k.log)
		o.Export = k.export.Add
	}
	k.record = audit.New(o)
	k.ParkKey = key.Derive("park runs")
	return nil
}

// Close writes the entries that are queued. It is called once, after the last run has ended.
func (k *Recorder) Close(ctx context.Context) error {
	if k.record == nil {
		return nil
	}
	err := k.record.Close(ctx)
	if k.export != nil {
		k.export.Close(ctx)
	}
	return err
}

// Record writes an entry of the Gate. It returns when the running entry of a call is on disk; other entries are written
// with the next ones.
func (k *Recorder) Record(ctx context.Context, e call.Entry) error {
	k.observe(ctx, &e)
	if e.Kind != call.KindCall || e.State != call.Running {
		return limited(k.record.Add(ctx, e))
	}
	if k.observer.Written == nil {
		return limited(k.record.Write(ctx, e))
	}
	began := time.Now()
	err := k.record.Write(ctx, e)
	k.observer.Written(time.Since(began), err)
	return limited(err)
}

// Full returns a [*hostfns.LimitError] if an owner has used up its share of the record: nothing of it may begin.
func (k *Recorder) Full(owner string) error {
	if k.record == nil {
		return nil
	}
	return limited(k.record.Full(owner))
}

// limited returns the limit that programs know for a share that is used up, and other errors as they are.
func limited(err error) error {
	if full, ok := errors.AsType[*audit.ShareError](err); ok {
		return &hostfns.LimitError{Budget: "record", Limit: full.Error(), Until: full.Until}
	}
	return err
}

// NoteWait bounds how long an entry waits for room in the queue.
const NoteWait = 5 * time.Second

// redaction returns what a profile keeps out of the record, of the calls of a tool.
func (k *Recorder) redaction(profile, tool string) audit.Redaction {
	cfg := k.rules.Config()
	if cfg == nil {
		return audit.Redaction{}
	}
	p := cfg.Profile(profile)
	if p == nil {
		if p = cfg.Profile(""); p == nil {
			return audit.Redaction{}
		}
	}
	r := p.Redact().Of(tool)
	return audit.Redaction{Keys: r.Keys, Pointers: r.Pointers, NoDetect: r.NoDetect && !r.Detect}
}

// Mask returns a function that masks the secrets in a text about a run as the record does, until the run's end is
// recorded. Nil means that there is no record.
func (k *Recorder) Mask(profile, run string) func(text string) string {
	if k.record == nil {
		return nil
	}
	return k.record.Mask(profile, run)
}

// word reports whether the configuration or a tool contains a text.
func (k *Recorder) word(text string) bool {
	return k.rules.Config().Mentions(text) || k.Tools != nil && k.Tools(text)
}

func (k *Recorder) known() []string {
	if s := k.secrets.Load(); s != nil {
		return *s
	}
	return nil
}

// Learn adds the secrets of a configuration. The secrets of earlier configurations stay: programs may still hold them.
func (k *Recorder) Learn(servers []upstream.Server) {
	all := slices.Clone(k.known())
	for i := range servers {
		values := servers[i].Secrets()
		for _, v := range servers[i].Env {
			if random(v) {
				values = append(values, v)
			}
		}
		for _, v := range values {
			if !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
	}
	k.secrets.Store(&all)
}

// random reports whether a value looks machine-made: long, without blanks, not a path, with letters and digits.
func random(s string) bool {
	return len(s) >= 12 && !strings.ContainsAny(s, " \t/\\") && strings.ContainsFunc(s, unicode.IsDigit) &&
		strings.ContainsFunc(s, unicode.IsLetter)
}

// Clean removes expired rows from the store every hour, and records that.
func (k *Recorder) Clean(ctx context.Context) {
	for wait := time.Minute; ; wait = time.Hour {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		db, err := k.record.DB(ctx)
		if err != nil {
			continue
		}
		removed, err := db.Clean(ctx, k.place.Keep)
		if err != nil {
			k.log.Warn("removing expired rows from the store failed", "error", err)
		}
		said, any := map[string]any{"keep": k.place.Keep.String()}, false
		for table, n := range removed {
			said[table], any = n, any || n > 0
		}
		if any {
			data, _ := json.Marshal(said) // numbers always encode
			_ = k.record.Add(ctx, call.Entry{Kind: audit.Notice, State: "cleaned",
				Detail: "what ended long ago was removed from the store", Data: data})
		}
	}
}

// DB returns the database of the record, for other data that must outlive the process. It is open until
// [Recorder.Close].
func (k *Recorder) DB(ctx context.Context) (*store.DB, error) {
	if k.record == nil {
		return nil, errors.New("this evaluator keeps its record in memory; give it a RecordDir")
	}
	return k.record.DB(ctx)
}

// Access records that a caller was admitted or refused. state is "admitted" or the reason; detail must not contain a
// credential.
func (k *Recorder) Access(ctx context.Context, principal, client, state, detail string) {
	k.Add(ctx, call.Entry{Kind: audit.Access, State: state, Principal: principal, Client: client, Detail: detail})
}

// Write writes an entry of another part, such as the console: grants, answers, changes of overlays. If it returns
// without an error, the entry is on disk; otherwise the announced action must not happen.
func (k *Recorder) Write(ctx context.Context, entry call.Entry) error {
	k.observe(ctx, &entry)
	if k.record == nil {
		return nil
	}
	return limited(k.record.Write(ctx, entry))
}

// AddSynced adds an entry and returns when it is on disk.
func (k *Recorder) AddSynced(ctx context.Context, entry call.Entry) {
	k.observe(ctx, &entry)
	if k.record == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), NoteWait)
	defer cancel()
	if err := k.record.AddSynced(ctx, entry); err != nil {
		k.log.Error("recording the end of a run failed", "run", entry.Run, "error", err)
	}
}

// Flush returns when all entries added before are on disk.
func (k *Recorder) Flush(ctx context.Context) error { return k.record.Flush(ctx) }

// Keeps reports whether package audit keeps a record.
func (k *Recorder) Keeps() bool { return k.record != nil }

// Wants reports whether entries about runs reach anybody: a record, or an observer.
func (k *Recorder) Wants() bool { return k.record != nil || k.observer.Entry != nil }

// Reachable returns nil if the record can write at this moment and its database answers, or if there is no record. The
// error's text is for a person who looks after the process; a method Reason() string says it without names.
func (k *Recorder) Reachable(ctx context.Context) error {
	if k.record == nil {
		return nil
	}
	if err := k.record.Away(); err != nil {
		return err
	}
	db, err := k.record.DB(ctx)
	if err != nil {
		return err
	}
	return db.Ping(ctx)
}

// Add adds an entry. It waits for room in the queue, and not for the disk.
func (k *Recorder) Add(ctx context.Context, entry call.Entry) {
	k.observe(ctx, &entry)
	if k.record == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), NoteWait)
	defer cancel()
	if err := k.record.Add(ctx, entry); err != nil {
		k.log.Error("recording an entry failed", "kind", entry.Kind, "run", entry.Run, "error", err)
	}
}

// Policy records which rules are now in force, or that a change was rejected.
func (k *Recorder) Policy(ctx context.Context, state string, cfg *config.Config, problem error) {
	if k.record == nil {
		return
	}
	entry := call.Entry{Kind: audit.Policy, State: state}
	if problem != nil {
		entry.Detail, _, _ = strings.Cut(problem.Error(), "\n") // the lines below show the file, which may hold secrets
	}
	if cfg != nil {
		digests := map[string]string{}
		for _, name := range append(cfg.All(), "") {
			if p := cfg.Profile(name); p != nil {
				digests[cmp.Or(name, "(base tool)")] = p.Digest()
			}
		}
		data := map[string]any{"file": cfg.Path, "digest": cfg.Digest, "default": cfg.Default, "floor": cfg.Floor,
			"profiles": digests}
		entry.Data, _ = json.Marshal(data) // strings always encode
		if state == "changed" && !cfg.SameStore(k.given) {
			k.log.Warn(`the key "store" was changed; the record goes on where it is until codemode is started again`)
		}
	}
	k.Add(ctx, entry)
}

// Entries reads the record.
func (k *Recorder) Entries(ctx context.Context, q store.Query, f func(*audit.Entry) error) error {
	db, err := k.DB(ctx)
	if err != nil {
		return err
	}
	return audit.Entries(ctx, db, q, f)
}

// Ends are the last entries of all chains.
func (k *Recorder) Ends(ctx context.Context) ([]store.End, error) {
	db, err := k.DB(ctx)
	if err != nil {
		return nil, err
	}
	return db.Entries.Ends(ctx)
}

// Late records an answer that came after its question was decided.
func (k *Recorder) Late(r *prompt.Request, a call.Answer) {
	ctx, cancel := context.WithTimeout(context.Background(), NoteWait)
	defer cancel()
	entry := call.Entry{
		Time: time.Now(), Kind: call.KindApproval, State: call.Late, Run: r.Run, Call: r.Call, Principal: r.Principal,
		Session: r.Session, Profile: r.Profile, ProfileDigest: r.ProfileDigest, Server: r.Server, Tool: r.Name,
		ToolDefinition: r.Definition, Verdict: call.Ask.String(), Risk: string(r.Risk),
		DecidedBy: &call.DecidedBy{How: call.ByPerson, Channel: a.Channel, Principal: a.By, Proof: a.Proof,
			LatencyMS: a.Took.Milliseconds()},
		Reason: call.Late, Detail: prompt.Words(a.Reason),
	}
	if r.Rule != "" {
		entry.Rules = []call.EntryRule{{ID: r.Rule, Result: "true"}}
	}
	err := k.To.Record(ctx, entry)
	if err != nil {
		k.log.Error("recording a late answer failed", "run", r.Run, "call", r.Call, "error", err)
	}
}
