package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/sandbox"
	"github.com/codemode-project/codemode/store"
)

// scheduledProgram asks for three calls at once and then for two, one after the other.
const scheduledProgram = `const one = n => codemode.up__second({run: input, n}).then(r => r.n, e => e.reason);
	const all = await Promise.all([1, 2, 3].map(one));
	all.push(await one(4), await one(5));
	return all`

// A schedule is what happens around one run, by chance: answers of several people, right ones and wrong ones, twice and too
// late, with other arguments; restarts, a client that goes away, a profile that changes.
type schedule struct {
	t    *testing.T
	dice *rand.Rand
	dir  string
	up   *performed

	e *codemode.Evaluator
	q *approvals.Queue
}

func (s *schedule) open() {
	engine, err := scheduleEngine()
	if err != nil {
		s.t.Fatal(err)
	}
	s.e, s.q = newReplica(s.t, s.dir, func(o *codemode.Options) { o.Engine = engine })
}

// scheduleEngine outlives the evaluators, as a process that is started anew has the same key.
var scheduleEngine = sync.OnceValues(func() (*sandbox.Engine, error) {
	wasm, err := os.ReadFile("quickjs.wasm")
	if err != nil {
		return nil, err
	}
	return sandbox.New(context.Background(), sandbox.Options{Wasm: wasm, CacheDir: cacheDir()})
})

func (s *schedule) close() {
	if err := s.e.Close(context.WithoutCancel(s.t.Context())); err != nil {
		s.t.Errorf("closing: %v", err)
	}
}

// write changes the configuration. What is said beside the rules changes nothing but the digest.
func (s *schedule) write(extra, remark string) {
	config := fmt.Sprintf(`{"mcpServers": {"up": {"type": "http", "url": %q}}, "store": "codemode.db", "evaluation": {"defaultProfile": "p", "profiles": {
		"p": {"asklist": [{"tool": "up__second", "reason": %q}]%s, "ask": {"edit": true, "timeout": "20s"}}}}}`, s.up.url, remark, extra)
	if err := os.WriteFile(filepath.Join(s.dir, "codemode.json"), []byte(config), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// people answer until ctx ends, as it comes.
func (s *schedule) people(ctx context.Context, dice *rand.Rand) {
	seat := s.q.Sit(fmt.Sprint("local:", dice.IntN(1000)))
	defer seat.Leave()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(dice.IntN(60)) * time.Millisecond):
		}
		open := seat.Pending()
		if len(open) == 0 {
			continue
		}
		o := open[dice.IntN(len(open))]
		r, reply := o.Request, approvals.Reply{Decision: approvals.AllowOnce, Typed: true}
		id, digest := r.ID, r.Digest
		switch dice.IntN(12) {
		case 0:
			reply = approvals.Reply{Reason: "no", Typed: true}
		case 1:
			digest = "sha256:" + strings.Repeat("0", 64)
		case 2: // the answer to another question
			id = open[dice.IntN(len(open))].Request.ID
		case 3:
			var args map[string]any
			_ = json.Unmarshal(r.Args, &args)
			args["edited"] = true
			reply.Args, _ = json.Marshal(args)
		case 4: // nobody answers this time
			continue
		}
		_ = seat.Answer(id, digest, r.Code, reply) // whether it counts is found out below
		if dice.IntN(3) == 0 {
			_ = seat.Answer(id, digest, r.Code, approvals.Reply{Decision: approvals.AllowOnce})
		}
	}
}

// one runs a program while things happen.
func (s *schedule) one(run int) {
	s.write("", "a remark")
	ctx, disconnect := context.WithCancel(s.t.Context())
	defer disconnect()
	over := make(chan error, 1)
	e := s.e
	go func() {
		_, err := e.Eval(ctx, codemode.Request{Code: scheduledProgram, Input: json.RawMessage(strconv.Itoa(run)), Principal: "local:" + strconv.Itoa(run)})
		over <- err
	}()
	people := func() (stop func()) {
		ctx, cancel := context.WithCancel(s.t.Context())
		var all sync.WaitGroup
		for range 2 {
			dice := rand.New(rand.NewPCG(s.dice.Uint64(), 1))
			all.Go(func() { s.people(ctx, dice) })
		}
		return func() { cancel(); all.Wait() }
	}
	stop := people()
	defer func() { stop() }()
	var left error
	ended := false
	for range 1 + s.dice.IntN(4) {
		select {
		case left = <-over:
			ended = true
		case <-time.After(time.Duration(s.dice.IntN(500)) * time.Millisecond):
		}
		switch s.dice.IntN(6) {
		case 0:
			disconnect()
		case 1:
			s.write(`, "denylist": [{"tool": "up__second", "when": {"/n": {"eq": 5}}}]`, "a remark")
		case 2:
			s.write("", "another remark")
		case 3:
			stop()
			s.e.Drain(s.t.Context())
			s.close()
			s.open()
			stop = people()
		}
	}
	if !ended {
		select {
		case left = <-over:
		case <-time.After(longWait):
			s.t.Fatal("the run did not end")
		}
	}
	if errors.Is(left, approvals.ErrLeaving) { // it goes on; let it
		db, err := s.e.Store(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for deadline := time.Now().Add(longWait); ; time.Sleep(5 * time.Millisecond) {
			asked, err := db.Pending(s.t.Context(), "local:"+strconv.Itoa(run))
			if err != nil {
				s.t.Fatal(err)
			}
			runs, err := db.ParkedRuns(s.t.Context())
			if err != nil {
				s.t.Fatal(err)
			}
			if len(asked) == 0 && len(runs) == 0 {
				break
			}
			if time.Now().After(deadline) {
				s.t.Fatalf("run %d is still there: %d questions, %d parked", run, len(asked), len(runs))
			}
		}
	}
}

// check compares what was done, what was allowed and what is on record.
func (s *schedule) check() {
	db, err := s.e.Store(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	allowed := map[string]int{} // by arguments: answers that were used
	runs := map[string]bool{}
	if err := audit.Entries(s.t.Context(), db, store.Query{Kinds: []string{audit.Run}}, func(e *audit.Entry) error { runs[e.Run] = true; return nil }); err != nil {
		s.t.Fatal(err)
	}
	for run := range runs {
		asked, err := db.ApprovalsOf(s.t.Context(), run)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, a := range asked {
			if a.UsedAt.IsZero() {
				continue
			}
			if a.Validated == nil || !*a.Validated {
				s.t.Errorf("the answer to %s was used, and was no yes", a.ID)
			}
			r, err := approvals.ReadPending(&approvals.Pending{ID: a.ID, Run: a.Run, Call: a.Call, Principal: a.Principal, Digest: a.Digest, Question: a.Question, Expires: a.Expires})
			if err != nil {
				s.t.Fatal(err)
			}
			allowed[canonical(s.t, r.Args)]++
		}
	}
	recorded, other := 0, 0 // begun; of those, how many ended otherwise than with their answer
	count := func(n *int, states ...string) {
		if err := audit.Entries(s.t.Context(), db, store.Query{Kinds: []string{audit.Call}, States: states}, func(*audit.Entry) error { *n++; return nil }); err != nil {
			s.t.Fatal(err)
		}
	}
	count(&recorded, audit.Running)
	count(&other, "unknown", "not_sent", "error") // the client went away between the entry and the call, or during it
	did, total := s.up.times(), 0
	for what, n := range did {
		_, args, _ := strings.Cut(what, " ")
		if total += n; n != 1 || allowed[canonical(s.t, json.RawMessage(args))] != 1 {
			s.t.Errorf("%s was done %d times and allowed %d times", what, n, allowed[canonical(s.t, json.RawMessage(args))])
		}
	}
	if recorded < total || recorded-other > total {
		s.t.Errorf("%d calls were done, %d are on record, %d of them with another end", total, recorded, other)
	}
}

func canonical(t *testing.T, args json.RawMessage) string {
	t.Helper()
	b, err := approvals.Canonical(args)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Whatever happens around runs, no call is made without exactly one yes to it, and each is in the record.
func TestNothingHappensWithoutOneYes(t *testing.T) {
	schedules, seed := 8, rand.Uint64()
	if os.Getenv("CODEMODE_LONG") != "" {
		schedules = 1000
	}
	t.Logf("seed %d", seed)
	s := &schedule{t: t, dice: rand.New(rand.NewPCG(seed, 0)), dir: t.TempDir(), up: newPerformed(t)}
	s.write("", "a remark")
	s.open()
	for run := range schedules {
		s.one(run)
		if t.Failed() {
			break
		}
	}
	s.check()
	s.close()
	t.Logf("%d calls were made in %d runs", len(s.up.times()), schedules)
}
