package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/inforce"
	"github.com/codemode-project/codemode/store"
)

// A run that waits for nothing but people is taken out of its guest, and kept in the database of the record, if there is one,
// as what its guest's memory was and what the Gate knows of it. There it belongs to the process that it began in, while that
// lives. When a person has answered and nobody has the run, another process goes on with it, see adopt.go.

// storeWait bounds how long parking and claiming wait for the database.
const storeWait = 10 * time.Second

// errPutAway ends a run in a process that stops, for another one to go on with it.
var errPutAway = fmt.Errorf("%w: %w", ErrClosed, approvals.ErrLeaving)

// parkingWait bounds how long a run that ends waits until it is known whether it was kept.
const parkingWait = 2 * time.Second

// errElsewhere ends a run in a process that another process has taken it from.
var errElsewhere = fmt.Errorf("this process was taken for dead: %w", approvals.ErrLeaving)

// park takes the run out of its guest, if it comes to wait for nothing but people.
func (x *execution) park() {
	x.parking.Lock()
	defer x.parking.Unlock()
	x.mu.Lock()
	x.expected = false
	guest := x.guest
	if guest == nil || len(x.waits) == 0 || x.calls.Err() != nil {
		x.mu.Unlock()
		return
	}
	ctx, cancel := context.WithCancel(x.calls)
	defer cancel()
	x.unpark = cancel
	x.mu.Unlock()
	image, err := guest.Park(ctx)

	x.mu.Lock()
	x.unpark = nil
	if err != nil {
		x.expect() // an answer came first; others are awaited yet, perhaps
		x.mu.Unlock()
		return
	}
	x.guest, x.image = nil, image
	for p := range x.pauses {
		p.resume = nil
	}
	open := guest.Open()
	for _, c := range open {
		if !x.waits[c.ID] {
			open = nil // it has its answer already: what would be stored is not how it is
			break
		}
	}
	x.mu.Unlock()
	if x.e.parked.enter(x, int64(len(image))) && len(open) > 0 {
		x.keep(image)
	}
}

// savedRun is what another process needs to know of a run beside its image.
type savedRun struct {
	V       int             `json:"v"`
	Request savedRequest    `json:"request"`
	Started time.Time       `json:"started"`
	Waited  time.Duration   `json:"waited"`
	Under   savedRules      `json:"under"`
	Gate    json.RawMessage `json:"gate"`
}

const savedVersion = 1

// savedRules are what calls are decided by and where they go. A process goes on with a run only if they are the same there: it may be
// one that shares the database and was started with another configuration.
type savedRules struct {
	Digest  string            `json:"digest"`            // of the profile
	File    string            `json:"file,omitempty"`    // of the configuration; the profile in it may change while a run waits
	Servers map[string]string `json:"servers,omitempty"` // which is which
}

func (e *Executor) savedRules(p *inforce.Policy) savedRules {
	r := savedRules{Digest: p.Digest(), Servers: e.rules.Now().Identities()}
	if cfg := e.rules.Config(); cfg != nil {
		r.File = cfg.Path
	}
	return r
}

// same reports whether a run under r goes on under now as it would have.
func (r savedRules) same(now savedRules) bool {
	return (r.Digest == now.Digest || r.File == now.File && r.File != "") && maps.Equal(r.Servers, now.Servers)
}

type savedRequest struct {
	Profile   string          `json:"profile,omitempty"`
	Code      string          `json:"code,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Name      string          `json:"name,omitempty"`
	Script    string          `json:"script,omitempty"`
	Bound     bool            `json:"bound,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Local     bool            `json:"local,omitempty"`
	Principal string          `json:"principal,omitempty"`
	Session   string          `json:"session,omitempty"`
	Client    string          `json:"client,omitempty"`
	Token     string          `json:"token,omitempty"` // its fingerprint
	Role      string          `json:"role,omitempty"`
	Unchecked bool            `json:"unchecked,omitempty"`
	EveryCall bool            `json:"everyCall,omitempty"`
}

func saveRequest(r *Request) savedRequest {
	return savedRequest{
		Profile: r.Profile, Code: r.Code, Input: r.Input, Name: r.Name, Script: r.Script, Bound: r.Bound, Tool: r.Tool, Local: r.Local,
		Principal: r.Principal, Session: r.Session, Client: r.Client, Token: r.Fingerprint, Role: r.Role, Unchecked: r.Unchecked,
		EveryCall: r.EveryCall,
	}
}

// request is the request as it was, without its channels and its caller, which were the other process's.
func (s savedRequest) request() Request {
	return Request{
		Profile: s.Profile, Code: s.Code, Input: s.Input, Name: s.Name, Script: s.Script, Bound: s.Bound, Tool: s.Tool, Local: s.Local,
		Principal: s.Principal, Session: s.Session, Client: s.Client, Fingerprint: s.Token, Role: s.Role, Unchecked: s.Unchecked,
		EveryCall: s.EveryCall,
	}
}

// keep puts the parked run into the database. A run that cannot be put there waits in this process alone.
func (x *execution) keep(image []byte) {
	if !x.e.record.Keeps() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.calls), storeWait)
	defer cancel()
	// A program that ends meanwhile does not cut the writing off, for then nobody would know whether the run is kept.
	defer context.AfterFunc(x.calls, func() { time.AfterFunc(parkingWait, cancel) })()
	row, err := x.saved(ctx, image)
	if err == nil { // whoever goes on with the run takes the ends of its calls from the record
		err = x.e.record.Flush(ctx)
	}
	var db *store.DB
	if err == nil {
		db, err = x.e.record.DB(ctx)
	}
	defer x.e.parked.turn(x.request.Owner())()
	if err == nil {
		err = x.makeRoom(ctx, db, row)
	}
	if err == nil {
		x.e.parked.large.Lock()
		err = db.Park(ctx, row)
		x.e.parked.large.Unlock()
	}
	if err != nil {
		if x.calls.Err() == nil {
			x.e.log.Warn("a run that waits for a person could not be kept, so it would end with this process", "run", x.resp.Run, "error", err)
		}
		if db != nil && !errors.Is(err, store.ErrTaken) && !x.unkept(db) {
			x.goElsewhere()
		}
		return
	}
	x.row, x.kept = row, true
	if x.calls.Err() != nil {
		return // it has ended meanwhile, and drops what is kept of it
	}
	x.e.recordParked(x, audit.Parked, fmt.Sprintf("it waits for a person; %d bytes", len(image)))
	x.follow(row)
}

// roomWait bounds how long a run that is to be kept waits until earlier ones of its principal are gone from the database.
const roomWait = time.Second

var errNoRoom = errors.New("too many runs of this principal wait in other processes")

// makeRoom has the database hold no more of one principal than one process may. Runs of processes that are gone end, the oldest first.
func (x *execution) makeRoom(ctx context.Context, db *store.DB, row *store.ParkedRun) error {
	ctx, cancel := context.WithTimeoutCause(ctx, roomWait, errNoRoom)
	defer cancel()
	all := x.request.Unchecked
	for {
		runs, bytes, err := db.ParkedSize(ctx, row.Principal, all)
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		bytes += int64(len(row.Image) + len(row.State))
		if x.kept || runs < x.e.parked.count.Total() && bytes <= x.e.parked.bytes.Total() {
			return nil // one that is there already takes its own place
		}
		if x.e.endOldest(ctx, db, row.Principal, all) {
			continue
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(roomWait / 20): // others of this process are on their way out
		}
	}
}

// endOldest ends the run that was kept longest ago, of those of a principal that no living process has. It reports whether there was one.
func (e *Executor) endOldest(ctx context.Context, db *store.DB, principal string, all bool) bool {
	for _, from := range []struct {
		list func(context.Context) ([]*store.ParkedRun, error)
		take func(ctx context.Context, run, by string) (*store.ParkedRun, error)
	}{{db.Orphans, db.Reap}, {db.ParkedRuns, db.Unpark}} {
		rows, err := from.list(ctx)
		if err != nil {
			continue
		}
		for _, row := range rows {
			if row.Principal != principal && !all {
				continue
			}
			if taken, err := from.take(ctx, row.Run, holder()); err == nil {
				e.bury(ctx, db, taken, waited+errWaitedLongest.Error())
				return true
			}
		}
	}
	return false
}

// unkept reports whether it is certain, after a failure, that no other process can find the run in the database.
func (x *execution) unkept(db *store.DB) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), storeWait)
	defer cancel()
	absent := func() bool {
		now, err := db.ParkedRun(ctx, x.resp.Run)
		if x.row == nil {
			return errors.Is(err, store.ErrNotFound)
		}
		return err == nil && now.Claim == x.row.Claim && now.Round == x.row.Round
	}
	if !absent() {
		return false
	}
	select { // a database that answers again after a while may have what was sent before yet to do
	case <-time.After(lateWrite):
	case <-ctx.Done():
	}
	return absent()
}

// lateWrite is longer than a database takes that answers again to perform what it received when it did not.
const lateWrite = time.Second

func (x *execution) saved(ctx context.Context, image []byte) (*store.ParkedRun, error) {
	gate, err := x.run.Save()
	if err != nil {
		return nil, err
	}
	r := x.request
	state, err := json.Marshal(savedRun{
		V: savedVersion, Request: saveRequest(&r), Started: x.started, Waited: x.asking.Patience.Used(), Gate: gate, Under: x.e.savedRules(x.policy),
	})
	if err != nil {
		return nil, err
	}
	row := &store.ParkedRun{
		Run: x.resp.Run, Principal: r.Principal, Profile: cmp.Or(r.Profile, x.policy.ProfileName()), Guest: x.engine.Hash(),
		State: state, Image: image, Holder: holder(), Expires: time.Now().Add(approvals.DefaultTimeout),
	}
	if x.row != nil {
		row.Claim, row.Round = x.row.Claim, x.row.Round
	}
	db, err := x.e.record.DB(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := db.ApprovalsOf(ctx, row.Run)
	for _, a := range asked {
		if a.Validated == nil && a.Expires.After(row.Expires) {
			row.Expires = a.Expires
		}
	}
	return row, err
}

// holder names this process to those who look at what it has.
func holder() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s/%d", cmp.Or(host, "?"), os.Getpid())
}

// claim has calls of the run go on in this process and in no other. It is asked
// before anything is done with people's answers to them.
func (x *execution) claim(ctx context.Context, calls []int) error {
	x.goesOn(calls) // ends an attempt to park
	x.parking.Lock()
	defer x.parking.Unlock()
	x.goesOn(calls)
	if x.row == nil || x.row.Phase != store.Claimed {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	db, err := x.e.record.DB(ctx)
	if err == nil {
		err = db.Begin(ctx, x.row)
	}
	if errors.Is(err, store.ErrTaken) {
		x.goElsewhere()
	}
	return err
}

// goElsewhere ends what this process does with the run, which another one goes on with. Here it has no end then, also
// if it was canceled before.
func (x *execution) goElsewhere() {
	x.given.Store(true)
	x.cancel(errElsewhere)
}

// leaving reports whether another process goes on with the run. Its calls may hear of that later.
func (x *execution) leaving() bool {
	return x.given.Load() || errors.Is(context.Cause(x.ctx), approvals.ErrLeaving)
}

// leave gives the run up, for another process to go on with it. False means that it has to end here.
func (x *execution) leave() bool {
	x.park() // now, if it is about to be
	x.parking.Lock()
	defer x.parking.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), storeWait)
	defer cancel()
	if x.row == nil || x.row.Phase != store.Claimed {
		return false
	}
	db, err := x.e.record.DB(ctx)
	if err == nil {
		x.bindName(ctx, db)
		err = db.GiveBack(ctx, x.row)
	}
	if err != nil {
		x.e.log.Warn("a run that waits for a person could not be given up, so it ends with this process", "run", x.resp.Run, "error", err)
		return false
	}
	row := x.row
	x.row = nil
	x.cancel(errPutAway)
	if x.leaving() {
		return true
	}
	if back, err := db.Unpark(ctx, row.Run, holder()); err == nil { // its client went away at that moment, so it ends here
		x.row = back
	}
	return false
}

func (e *Executor) Drain(ctx context.Context) {
	e.mu.Lock()
	if !e.draining() {
		close(e.life.drain)
	}
	var leaving sync.WaitGroup
	for x := range e.executions {
		leaving.Go(func() {
			x.mu.Lock()
			waits := len(x.waits) > 0
			x.mu.Unlock()
			if waits {
				x.leave()
			}
		})
	}
	e.mu.Unlock()
	done := make(chan struct{})
	go func() {
		leaving.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// draining reports whether [Evaluator.Drain] was called.
func (e *Executor) draining() bool {
	select {
	case <-e.life.drain:
		return true
	default:
		return false
	}
}

// finish drops what was kept of the run, with its open questions, and keeps how it ended, for a client that comes back for it.
func (x *execution) finish(failure error) {
	x.parking.Lock()
	defer x.parking.Unlock()
	if !x.e.record.Keeps() || x.row == nil && !x.asking.Put.Load() || x.leaving() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), storeWait)
	defer cancel()
	db, err := x.e.record.DB(ctx)
	if err == nil && x.asking.Put.Load() {
		err = db.WithdrawRun(ctx, x.resp.Run) // those who see its questions elsewhere need not answer any more
	}
	if err == nil && x.row != nil {
		err = db.Finish(ctx, x.row, x.outcome(failure))
	}
	if err != nil {
		x.e.log.Error("the end of a run could not be kept for those who wait for it", "run", x.resp.Run, "error", err)
		if row := x.row; row != nil && !errors.Is(err, store.ErrTaken) {
			o := x.outcome(failure)
			x.e.life.Background(func() { x.e.finishLater(row, o) })
		}
	}
	x.row = nil
}

// finishAgain is how often it is tried to keep how a run ended.
const finishAgain = time.Second

// finishLater keeps how a run ended when the database can be had again, or leaves it to another process to end the run.
func (e *Executor) finishLater(row *store.ParkedRun, o *store.Outcome) {
	for {
		select {
		case <-e.life.Ctx.Done():
			return
		case <-time.After(finishAgain):
		}
		db, err := e.record.DB(e.life.Ctx)
		if err == nil {
			err = db.Finish(e.life.Ctx, row, o)
		}
		if err == nil || errors.Is(err, store.ErrTaken) {
			return
		}
	}
}

// An Ended is how a run ended that had been parked: what its client would have been told.
type Ended struct {
	Run    string            `json:"run"`
	Failed bool              `json:"failed"`
	Text   string            `json:"text"`
	Blocks []json.RawMessage `json:"blocks,omitempty"` // content of MCP, for after the text
}

// endedKeep is how long that is kept.
const endedKeep = 24 * time.Hour

func (x *execution) outcome(failure error) *store.Outcome {
	ended := Ended{Run: x.resp.Run, Failed: failure != nil, Text: x.resp.Text(failure)}
	for _, b := range x.resp.Blocks {
		ended.Blocks = append(ended.Blocks, b.JSON)
	}
	body, err := json.Marshal(ended)
	if err != nil { // a block that is no JSON
		ended.Blocks = nil
		body, _ = json.Marshal(ended)
	}
	return &store.Outcome{Run: x.resp.Run, Principal: x.request.Principal, State: x.resp.Outcome(failure), Body: body,
		Expires: time.Now().Add(endedKeep), Shared: x.request.Unchecked}
}
