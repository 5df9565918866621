package codemode_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codemode-project/codemode/audit"
	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/sandbox"
	"github.com/codemode-project/codemode/store"
)

// replicaOf has what a copy of the test program needs to be one replica of a fleet: its role, the URL of the
// database and the folder with the key and the log of the calls, with spaces between them.
const replicaOf = "CODEMODE_TEST_REPLICA"

// A replica is as much of a server as the store has to do with: it runs programs, parks those that wait for a
// person, and goes on with those that others parked.
type replica struct {
	name   string
	dir    string
	db     *store.DB
	record *audit.Record
	engine *sandbox.Engine
}

// fleetProgram calls twice and is parked at the second call, with a value that only its memory holds.
const fleetProgram = `const kept = new Map([["first", (await codemode.up__first({n: 1})).n]]);
	const add = x => kept.get("first") * 100 + x;
	return add((await codemode.up__second({n: 2})).n)`

func newReplica(ctx context.Context, name, url, dir string) (*replica, error) {
	key, err := audit.LoadKey(filepath.Join(dir, "record.key"))
	if err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile("quickjs.wasm")
	if err != nil {
		return nil, err
	}
	engine, err := sandbox.New(ctx, sandbox.Options{Wasm: wasm, CacheDir: cacheDir(), ParkKey: key.Derive("park runs")})
	if err != nil {
		return nil, err
	}
	record := audit.New(audit.Options{Key: key, Open: func(ctx context.Context) (*store.DB, error) { return store.Open(ctx, store.Options{URL: url}) }})
	db, err := record.DB(ctx)
	return &replica{name, dir, db, record, engine}, err
}

// perform makes a call: it is recorded first, and what was done is written to a file.
func (r *replica) perform(ctx context.Context, run string, call int, name string, args json.RawMessage) (json.RawMessage, error) {
	entry := audit.Entry{Kind: audit.Call, State: audit.Running, Run: run, Call: call, Tool: name, Client: r.name, Args: &audit.Args{RawExecuted: args}}
	if err := r.record.Write(ctx, entry); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(r.dir, "performed"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%s %d %s\n", run, call, name); err != nil {
		return nil, err
	}
	entry.State = audit.OK
	return args, r.record.Add(ctx, entry)
}

// begin runs the program until it is parked.
func (r *replica) begin(ctx context.Context, run string) error {
	asked := make(chan *sandbox.Call, 1)
	started, err := r.engine.Start(ctx, sandbox.Program{Source: fleetProgram}, func(ctx context.Context, c *sandbox.Call) (json.RawMessage, error) {
		if c.Name != "up__second" {
			return r.perform(ctx, run, c.ID, c.Name, c.Args)
		}
		asked <- c
		return nil, sandbox.ErrLater
	})
	if err != nil {
		return err
	}
	c := <-asked
	ends := time.Now().Add(time.Hour)
	err = r.db.Propose(ctx, &store.Approval{ID: "ask_" + run, Run: run, Call: c.ID, Digest: "sha256:of what is asked", Question: c.Args, Expires: ends})
	if err != nil {
		return err
	}
	image, err := started.Park(ctx)
	if err != nil {
		return err
	}
	return r.db.Park(ctx, &store.ParkedRun{Run: run, Guest: r.engine.Hash(), State: json.RawMessage(fmt.Sprintf(`{"ask":%q,"call":%d}`, "ask_"+run, c.ID)), Image: image, Expires: ends})
}

// serve goes on with parked runs that have been approved, whoever parked them, until ctx ends.
func (r *replica) serve(ctx context.Context, finished func(run string, value json.RawMessage)) error {
	changed, stop := r.db.Watch(store.Approvals, store.Parked)
	defer stop()
	for {
		runs, err := r.db.ParkedRuns(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		for _, p := range runs {
			var state struct {
				Ask  string
				Call int
			}
			if err := json.Unmarshal(p.State, &state); err != nil {
				return err
			}
			a, err := r.db.Approval(ctx, state.Ask)
			if err != nil {
				return err
			}
			if a.Validated == nil || !*a.Validated {
				continue
			}
			value, err := r.resume(ctx, p.Run, state.Call, a)
			if errors.Is(err, store.ErrTaken) {
				continue // another replica has it
			}
			if err != nil {
				return err
			}
			finished(p.Run, value)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *replica) resume(ctx context.Context, run string, call int, a *store.Approval) (json.RawMessage, error) {
	p, err := r.db.Unpark(ctx, run, r.name)
	if err != nil {
		return nil, err
	}
	if err := r.db.Use(ctx, a.ID, a.Digest); err != nil {
		return nil, err
	}
	resumed, err := r.engine.Resume(ctx, p.Image, nil, func(context.Context, *sandbox.Call) (json.RawMessage, error) {
		return nil, errors.New("there is no third call")
	})
	if err != nil {
		return nil, err
	}
	value, err := r.perform(ctx, run, call, "up__second", a.Question)
	resumed.Settle(call, value, err)
	result, err := resumed.Wait()
	if err != nil {
		return nil, err
	}
	return result.Value, errors.Join(r.db.Forget(ctx, run), r.record.Flush(ctx))
}

// TestReplica is no test: it is a replica that the next one starts.
func TestReplica(t *testing.T) {
	role, rest, ok := strings.Cut(os.Getenv(replicaOf), " ")
	if !ok {
		t.Skip("it is started by TestFleet")
	}
	url, dir, _ := strings.Cut(rest, " ")
	r, err := newReplica(t.Context(), role, url, dir)
	if err != nil {
		t.Fatal(err)
	}
	if role == "parks" {
		for i := range 5 {
			if err := r.begin(t.Context(), fmt.Sprint("r_", i)); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Println("\nparked")
		select {} // until it is killed
	}
	fmt.Println("\nready")
	if err := r.serve(t.Context(), func(run string, value json.RawMessage) { fmt.Printf("\nfinished %s %s\n", run, value) }); err != nil {
		t.Fatal(err)
	}
}

// TestFleet kills a replica whose runs are parked. Of the others, which all hear of the approvals, one goes on with
// each run and performs the approved call, once.
func TestFleet(t *testing.T) {
	server := pgtest.Start(t)
	url, dir := server.URL("fleet"), t.TempDir()
	first := startReplica(t, "parks", url, dir)
	first.until(t, "parked")
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	others := []*process{startReplica(t, "second", url, dir), startReplica(t, "third", url, dir)}
	for _, o := range others {
		o.until(t, "ready")
	}
	db, err := store.Open(t.Context(), store.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	pending, err := db.Pending(t.Context(), "")
	if err != nil || len(pending) != 5 {
		t.Fatalf("%d approvals are pending for another replica, want 5 (%v)", len(pending), err)
	}
	for _, a := range pending[:4] {
		if err := db.Answer(t.Context(), a.ID, a.Digest, true, "local:anna", nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Answer(t.Context(), pending[4].ID, pending[4].Digest, false, "local:anna", nil); err != nil {
		t.Fatal(err)
	}
	done := map[string]int{}
	for deadline := time.Now().Add(time.Minute); len(done) < 4 && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		clear(done)
		for _, o := range others {
			for _, line := range o.said() {
				if run, ok := strings.CutPrefix(line, "finished "); ok {
					done[run]++
				}
			}
		}
	}
	for run, times := range done {
		if !strings.HasSuffix(run, " 102") || times != 1 {
			t.Errorf("%s: %d times", run, times)
		}
	}
	if len(done) != 4 {
		t.Errorf("%d runs were finished, want the 4 that were approved", len(done))
	}
	performed, err := os.ReadFile(filepath.Join(dir, "performed"))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for line := range strings.Lines(string(performed)) {
		count[line]++
		if count[line] > 1 {
			t.Errorf("performed twice: %s", line)
		}
	}
	if len(count) != 5+4 {
		t.Errorf("%d calls were performed, want 5 before and 4 after approval:\n%s", len(count), performed)
	}
	// One record, of all replicas.
	recorded := map[string]int{}
	if err := audit.Entries(t.Context(), db, store.Query{States: []string{audit.Running}}, func(e *audit.Entry) error {
		recorded[fmt.Sprintf("%s %d %s\n", e.Run, e.Call, e.Tool)]++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for line := range count {
		if recorded[line] != 1 {
			t.Errorf("%s was performed and is recorded %d times", strings.TrimSpace(line), recorded[line])
		}
	}
	v := &audit.Verifier{}
	if err := v.Database(t.Context(), "the database", db); err != nil {
		t.Fatal(err)
	}
	if verdict := v.Finish(); len(verdict.Problems) > 0 || len(verdict.Chains) < 2 {
		t.Errorf("verifying %d chains: %v", len(verdict.Chains), verdict.Problems)
	}
}

// A process is a replica, and what it says.
type process struct {
	cmd *exec.Cmd

	mu    sync.Mutex
	lines []string
}

func startReplica(t *testing.T, role, url, dir string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], "-test.run=^TestReplica$", "-test.timeout=5m")}
	p.cmd.Env = append(os.Environ(), replicaOf+"="+role+" "+url+" "+dir)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		in := bufio.NewScanner(out)
		for in.Scan() {
			p.mu.Lock()
			p.lines = append(p.lines, in.Text())
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-read
		_ = p.cmd.Wait()
	})
	return p
}

func (p *process) said() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.lines...)
}

func (p *process) until(t *testing.T, line string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		for _, said := range p.said() {
			if said == line {
				return
			}
			if strings.HasPrefix(said, "--- FAIL") || said == "FAIL" {
				t.Fatalf("the replica failed: %s", strings.Join(p.said(), "\n"))
			}
		}
	}
	t.Fatalf("the replica never said %q: %s", line, strings.Join(p.said(), "\n"))
}
