package codemode

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/profiles"
	"github.com/codemode-project/codemode/sandbox"
	"github.com/codemode-project/codemode/store"
	"github.com/codemode-project/codemode/upstream"
)

// A keeper writes what an Evaluator does into a record of package audit.
type keeper struct {
	e       *Evaluator
	record  *audit.Record
	otlp    *audit.OTLP // nil without a collector
	place   RecordPlace
	key     *audit.Key // nil without a record
	given   []byte     // what the configuration said about the store when it was opened
	secrets atomic.Pointer[[]string]
	parkKey []byte // authenticates what parked runs are resumed from
}

// keep opens the record, if there is a place for one. The database is opened beside the first program.
func (e *Evaluator) keep() error {
	if e.options.RecordDir == "" {
		return nil
	}
	cfg := e.rules.config()
	place, err := PlaceRecord(e.options.RecordDir, cfg, e.options.Env)
	if err != nil {
		return err
	}
	key, err := place.Prepare()
	if err != nil {
		return err
	}
	e.loader.mu.Lock() // the file is watched already
	defer e.loader.mu.Unlock()
	k := e.keeper
	k.place, k.key = place, key
	if cfg != nil {
		k.given = cfg.Store
	}
	place.Store.Log, place.Store.SealKey = e.log, key.Derive(sealPurpose)
	o := audit.Options{Open: place.Open, Key: key, Redact: k.redaction, Secrets: k.known, Publish: place.publishers(e.log), Log: e.log}
	if place.Collector != "" {
		k.otlp = audit.NewOTLP(place.Collector, nil, &http.Client{}, e.log)
		o.Export = k.otlp.Emit
	}
	k.record = audit.New(o)
	k.parkKey = key.Derive("park runs")
	e.grants.stored, e.rules.sessions.store = k.record.DB, k.record.DB
	e.desk.Book = StoredQuestions(k.record.DB)
	e.recordPolicy(e.life.ctx, "loaded", cfg, nil)
	e.life.background(func() { k.clean(e.life.ctx) })
	for _, c := range e.options.Channels {
		if q, ok := c.(*approvals.Queue); ok {
			e.life.background(func() { q.Follow(e.life.ctx, e.desk, e.checkFar) })
		}
	}
	if e.options.GoOn {
		e.life.background(func() { e.adopt(e.life.ctx) })
	}
	return nil
}

// close writes what is left. It is called once, when nothing runs any more.
func (k *keeper) close(ctx context.Context) error {
	if k.record == nil {
		return nil
	}
	err := k.record.Close(ctx)
	if k.otlp != nil {
		k.otlp.Close(ctx)
	}
	return err
}

// Record keeps an entry of the Gate. It returns when the running entry of a call is on the disk; how a call ended
// goes with the next ones.
func (k *keeper) Record(ctx context.Context, e hostfns.Entry) error {
	entry := auditEntry(e)
	if e.Kind == hostfns.KindRunning {
		return k.record.Write(ctx, entry)
	}
	return k.record.Add(ctx, entry)
}

// noteWait bounds how long an entry waits for room in the queue.
const noteWait = 5 * time.Second

// auditEntry says in the record's words what the Gate says.
func auditEntry(e hostfns.Entry) audit.Entry {
	a := audit.Entry{
		Time: e.Time, Kind: audit.Call, Run: e.Run, Call: e.Call, Principal: e.Principal, Client: e.Client, Session: e.Session, Role: e.Role, Script: e.Script,
		Profile: e.Profile, ProfileDigest: e.ProfileDigest, Server: e.Server, Tool: e.Tool, ToolDefinition: e.ToolDefinition,
		Verdict: e.Verdict, Risk: e.Risk, Reason: e.Reason, Detail: e.Detail,
		DecidedBy: &audit.DecidedBy{How: e.DecidedBy, Channel: e.Channel, Principal: e.By, Grant: e.Grant, Scope: e.Scope, LatencyMS: e.Waited.Milliseconds()},
	}
	if e.Layer == "floor" && e.DecidedBy == "rule" {
		a.DecidedBy.How = "floor"
	}
	if e.Rule != "" || e.At != "" {
		a.Rules = []audit.Rule{{ID: e.Rule, At: e.At, Layer: e.Layer, Result: "true"}}
	}
	if e.Proposed != nil {
		a.Args = &audit.Args{RawProposed: e.Proposed, RawShown: e.Shown, RawAuthorised: e.Authorised, RawExecuted: e.Executed}
	}
	switch e.Kind {
	case hostfns.KindRefused:
		a.State = audit.Refused
	case hostfns.KindRunning:
		a.State = audit.Running
	case hostfns.KindAsked:
		a.State = audit.Pending
		a.DecidedBy = nil
	case hostfns.KindAnswer:
		a.Kind, a.State = audit.Approval, cmp.Or(e.Reason, audit.Allowed)
		a.Detail = e.Words
		if e.Result != nil { // of a question of the program itself
			a.Result = &audit.Result{Raw: e.Result}
		}
	case hostfns.KindLate:
		a.Kind, a.State = audit.Approval, hostfns.KindLate
		a.Detail = e.Words
	case hostfns.KindOutcome:
		a.State, a.MS = e.Outcome, float64(e.Took.Microseconds())/1000
		a.Args = nil // they are those of the running entry
		if e.Result != nil {
			a.Result = &audit.Result{Raw: e.Result}
		}
	}
	return a
}

// redaction is what a profile says must not be stored.
func (k *keeper) redaction(profile string) audit.Redaction {
	cfg := k.e.rules.config()
	if cfg == nil {
		return audit.Redaction{}
	}
	p := cfg.Profile(profile)
	if p == nil {
		if p = cfg.Profile(""); p == nil {
			return audit.Redaction{}
		}
	}
	r := p.Redact()
	return audit.Redaction{Keys: r.Keys, Pointers: r.Pointers, NoDetect: r.NoDetect && !r.Detect}
}

func (k *keeper) known() []string {
	if s := k.secrets.Load(); s != nil {
		return *s
	}
	return nil
}

// learn notes the secrets of a configuration. Those of one that held before stay: programs may still have them.
func (k *keeper) learn(servers []upstream.Server) {
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

// random reports whether a value looks as if a machine had made it up: long, without blanks, not a path,
// with letters and digits.
func random(s string) bool {
	return len(s) >= 12 && !strings.ContainsAny(s, " \t/\\") && strings.ContainsFunc(s, unicode.IsDigit) && strings.ContainsFunc(s, unicode.IsLetter)
}

// clean removes from the store what ended long ago, and says so in the record.
func (k *keeper) clean(ctx context.Context) {
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
		c, err := db.Clean(ctx, k.place.Keep)
		if err != nil {
			k.e.log.Warn("what ended long ago could not be removed from the store", "error", err)
		}
		if c.Any() {
			data, _ := json.Marshal(map[string]any{ // numbers always can be
				"approvals": c.Approvals, "grants": c.Grants, "parked": c.Parked, "overlays": c.Overlays,
				"outcomes": c.Outcomes, "keys": c.Keys, "keep": k.place.Keep.String(),
			})
			_ = k.record.Add(ctx, audit.Entry{Kind: audit.Notice, State: "cleaned", Detail: "what ended long ago was removed from the store", Data: data})
		}
	}
}

// Store gives the database of the record, for what else has to outlive the process. It is open until Close.
// An Evaluator without RecordDir has none.
func (e *Evaluator) Store(ctx context.Context) (*store.DB, error) {
	if e.keeper.record == nil {
		return nil, errors.New("this evaluator keeps its record in memory; give it a RecordDir")
	}
	return e.keeper.record.DB(ctx)
}

// RecordAccess writes that somebody was let in or turned away. state is "admitted" or why not; detail must hold
// no credential.
func (e *Evaluator) RecordAccess(ctx context.Context, principal, client, state, detail string) {
	e.add(ctx, audit.Entry{Kind: audit.Access, State: state, Principal: principal, Client: client, Detail: detail})
}

// RecordEntry writes an entry of another part, such as the console: grants, answers, changes of overlays.
// It returns when the entry is on the disk, so that what it announces can be left undone.
func (e *Evaluator) RecordEntry(ctx context.Context, entry audit.Entry) error {
	if e.keeper.record == nil {
		return nil
	}
	return e.keeper.record.Write(ctx, entry)
}

// recordNotStarted writes that a program was refused before it became a run, which has an ID in the record alone.
func (e *Evaluator) recordNotStarted(ctx context.Context, r *Request, p *policy, why error) {
	if e.keeper.record == nil {
		return
	}
	entry := e.runEntry(&Response{Run: newRunID()}, r, p)
	entry.State, entry.Reason, entry.Program = audit.Refused, "not started", &audit.Program{Name: cmp.Or(r.Name, "program.ts"), Text: r.Code}
	entry.Detail, _, _ = strings.Cut(why.Error(), "\n") // below it is told what the caller may do
	if unchecked, ok := errors.AsType[*PreflightError](why); ok {
		entry.Reason, entry.Detail = unchecked.Code, unchecked.Detail
	}
	e.add(ctx, entry)
}

func (e *Evaluator) add(ctx context.Context, entry audit.Entry) {
	if e.keeper.record == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWait)
	defer cancel()
	if err := e.keeper.record.Add(ctx, entry); err != nil {
		e.log.Error("an entry could not be recorded", "kind", entry.Kind, "run", entry.Run, "error", err)
	}
}

// recordPolicy writes which rules hold from now on, or that a change was rejected.
func (e *Evaluator) recordPolicy(ctx context.Context, state string, cfg *profiles.Config, problem error) {
	if e.keeper.record == nil {
		return
	}
	entry := audit.Entry{Kind: audit.Policy, State: state}
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
		data := map[string]any{"file": cfg.Path, "digest": cfg.Digest, "default": cfg.Default, "floor": cfg.Floor, "profiles": digests}
		entry.Data, _ = json.Marshal(data) // strings always can be
		if k := e.keeper; state == "changed" && !bytes.Equal(k.given, cfg.Store) {
			e.log.Warn(`the key "store" was changed; the record goes on where it is until codemode is started again`)
		}
	}
	e.add(ctx, entry)
}

// recordBegin writes that a program begins.
func (e *Evaluator) recordBegin(ctx context.Context, resp *Response, r *Request, p *policy) {
	if e.keeper.record == nil {
		return
	}
	entry := e.runEntry(resp, r, p)
	entry.State = audit.Running
	// The text comes with the end, when it is known which of the values in it are secrets.
	entry.Program = &audit.Program{Name: resp.name, Text: r.Code, DigestOnly: true}
	e.add(ctx, entry)
}

// recordParked writes that a run is put away or taken out again.
func (e *Evaluator) recordParked(x *execution, state, detail string) {
	if e.keeper.record == nil {
		return
	}
	entry := e.runEntry(x.resp, &x.request, x.policy)
	entry.State, entry.Detail = state, detail
	e.add(x.ctx, entry)
}

func (e *Evaluator) runEntry(resp *Response, r *Request, p *policy) audit.Entry {
	return audit.Entry{
		Kind: audit.Run, Run: resp.Run, Principal: r.Principal, Client: r.Client, Session: r.Session, Role: r.Role, Script: r.Script,
		Profile: cmp.Or(r.Profile, profileName(p)), ProfileDigest: p.digest(),
	}
}

// recordEnd writes how a program ended. When it called anything, the end of its calls and of itself are on the
// disk before anybody is told.
func (e *Evaluator) recordEnd(ctx context.Context, resp *Response, r *Request, p *policy, started time.Time, failure error) {
	if e.keeper.record == nil {
		return
	}
	entry := e.runEntry(resp, r, p)
	entry.State, entry.Reason = audit.OK, resp.Outcome(failure)
	entry.Program = &audit.Program{Name: resp.name, Text: r.Code}
	if !started.IsZero() {
		entry.MS = float64(time.Since(started).Microseconds()) / 1000
	}
	if failure != nil {
		entry.State, entry.Detail = audit.Failed, failure.Error()
		if _, ran := errors.AsType[*sandbox.Error](failure); !ran || started.IsZero() {
			entry.State = audit.Refused
		}
	}
	if resp.Value != nil {
		entry.Result = &audit.Result{Raw: resp.Value}
	}
	counts := map[hostfns.State]int{}
	for _, c := range resp.Calls {
		counts[c.State]++
	}
	if len(counts) > 0 {
		entry.Data, _ = json.Marshal(map[string]any{"calls": counts}) // numbers always can be
	}
	if len(resp.Calls) == 0 {
		e.add(ctx, entry)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWait)
	defer cancel()
	if err := e.keeper.record.AddSynced(ctx, entry); err != nil {
		e.log.Error("the end of a run is not recorded yet", "run", resp.Run, "error", err)
	}
}

var _ hostfns.Recorder = (*keeper)(nil)
