package codemode_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/pgtest"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
)

// replicaOf has what a copy of the test program needs to be one replica of a fleet: its role, and the folder with the
// configuration and the key, with a space between them.
const replicaOf = "CODEMODE_TEST_REPLICA"

// fleetProgram makes a call, waits for two at once, and then for another one, with values that only its memory holds.
const fleetProgram = `const kept = new Map([["first", (await codemode.up__first({run: input, n: 1})).n]]);
	console.log("before");
	const [a, b] = await Promise.all([codemode.up__second({run: input, n: 2}), codemode.up__second({run: input, n: 3})]);
	const c = await codemode.up__third({run: input, n: 4}).catch(e => ({n: e.reason}));
	return [kept.get("first"), a.n, b.n, c.n].join(" ")`

// performed counts what an upstream did, by tool and arguments.
type performed struct {
	url   string
	takes time.Duration // for each call

	mu        sync.Mutex
	each      map[string]int
	now, most int    // calls under way
	held      string // the tool of which calls are not answered
}

// hold has calls of a tool never be answered.
func (p *performed) hold(tool string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = tool
}

// until waits until a tool was called.
func (p *performed) until(t *testing.T, tool string) {
	t.Helper()
	for range testwait.Polls(longWait) {
		for what := range p.times() {
			if strings.HasPrefix(what, tool+" ") {
				return
			}
		}
	}
	t.Fatalf("%s was never called: %v", tool, p.times())
}

// atOnce is how many calls were under way at once, at most.
func (p *performed) atOnce() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

func (p *performed) times() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]int{}
	for what, n := range p.each {
		all[what] = n
	}
	return all
}

func newPerformed(t *testing.T) *performed {
	p := &performed{each: map[string]int{}, takes: 5 * time.Millisecond}
	ended := make(chan struct{})
	s := mcp.NewServer(&mcp.Implementation{Name: "up", Version: "1"}, nil)
	for _, name := range []string{"first", "second", "third"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				p.mu.Lock()
				p.each[name+" "+string(r.Params.Arguments)]++
				p.now++
				p.most = max(p.most, p.now)
				held := p.held == name
				p.mu.Unlock()
				if held {
					<-ended
				}
				time.Sleep(p.takes) // a server that takes so long
				p.mu.Lock()
				defer p.mu.Unlock()
				p.now--
				return &mcp.CallToolResult{StructuredContent: r.Params.Arguments}, nil
			})
	}
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ended) }) // before the server waits for its handlers
	p.url = server.URL
	return p
}

// fleetFolder is what the replicas of a fleet share: configuration and key.
func fleetFolder(t *testing.T, up *performed, where string) string {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf(`{"mcpServers": {"up": {"type": "http", "url": %q}}, "store": %s,
		"evaluation": {"defaultProfile": "p", "profiles": {
			"p": {"allowlist": ["up__first"], "asklist": ["up__second", "up__third"]},
			"q": {"allowlist": ["up__*"]}}}}`, up.url, where)
	must(t, os.WriteFile(filepath.Join(dir, "codemode.json"), []byte(config), 0o600))
	return dir
}

func newReplica(t *testing.T, dir string, change ...func(*codemode.Options)) (*codemode.Evaluator, *approvals.Queue) {
	t.Helper()
	q := approvals.NewQueue("people")
	o := codemode.Options{ConfigPath: filepath.Join(dir, "codemode.json"), RecordDir: dir, CacheDir: cachetest.Dir(),
		GoOn: true, Channels: []approvals.Channel{q}}
	for _, f := range change {
		f(&o)
	}
	e, err := codemode.New(t.Context(), o)
	must(t, err)
	return e, q
}

const fleetRuns = 3

// longWait is for what happens at once where nothing else is going on.
const longWait = 3 * time.Minute

// TestReplica is no test: it is a replica that others start.
func TestReplica(t *testing.T) {
	role, dir, ok := strings.Cut(os.Getenv(replicaOf), " ")
	if !ok {
		t.Skip("it is started by the tests of what a replica leaves behind")
	}
	e, q := newReplica(t, dir)
	switch role {
	case "waits-in-session", "works-in-session":
		defer q.Sit("local:nobody").Leave() // who does not answer
		go programsOfASession(t, e, role)
	case "keyed":
		go e.Eval(t.Context(), keyedRequest())
	case "answers": // and so goes on with what its predecessors left
		go func() {
			for {
				time.Sleep(time.Duration(rand.IntN(600)) * time.Millisecond) // long enough for most to be parked
				ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
				answer(ctx, t, q, "")
				stop()
			}
		}()
		fallthrough
	case "runs":
		defer q.Sit("local:nobody").Leave() // who does not answer
		for i := range fleetRuns {
			if role == "answers" {
				i = rand.Int()
			}
			go e.Eval(t.Context(), codemode.Request{Code: fleetProgram, Input: json.RawMessage(fmt.Sprint(i)),
				Principal: fmt.Sprint("local:", i)})
		}
	}
	fmt.Println("\nready")
	select {} // until it is killed
}

// parked waits until runs are kept in the database, and returns them by who they are for.
func parked(t *testing.T, e *codemode.Evaluator, want int) map[string]string {
	t.Helper()
	db, err := e.Record().DB(t.Context())
	must(t, err)
	for range testwait.Polls(longWait) {
		runs := map[string]string{}
		asked, err := db.Approvals.Pending(t.Context(), "")
		must(t, err)
		for _, a := range asked {
			if p, err := db.Runs.Get(t.Context(), a.Run); err == nil && p.Phase != store.Going {
				runs[a.Principal] = a.Run
			}
		}
		if len(runs) == want {
			return runs
		}
	}
	t.Fatalf("there never were %d parked runs", want)
	return nil
}

// answer says yes to all questions that come, but no to those of one principal, until ctx ends.
func answer(ctx context.Context, t *testing.T, q *approvals.Queue, not string) {
	seat := q.Sit("local:anna")
	defer seat.Leave()
	for {
		select {
		case <-ctx.Done():
			return
		case <-seat.News():
		}
		for _, o := range seat.Pending() {
			reply := call.Answer{Allowed: true}
			if o.Request.Principal == not {
				reply = call.Answer{Reason: "not for you"}
			}
			if err := seat.Answer(o.Request.ID, o.Request.Digest, o.Request.Code, reply); err != nil &&
				!errors.Is(err, approvals.ErrTaken) {
				t.Errorf("answering: %v", err)
			}
		}
	}
}

func ended(t *testing.T, e *codemode.Evaluator, run string) *runs.Ended {
	t.Helper()
	for range testwait.Polls(longWait) {
		if o, err := e.Runs().Ended(t.Context(), run, ""); err == nil {
			return o
		}
	}
	t.Fatalf("run %s never ended", run)
	return nil
}

// sharedStores are the stores that processes share, as the configuration names them.
var sharedStores = []struct {
	name  string
	store func(*testing.T) string
}{
	{"on one machine", func(*testing.T) string { return `"codemode.db"` }},
	{"in a fleet", func(t *testing.T) string { return fmt.Sprintf("%q", pgtest.Start(t).URL("fleet")) }},
}

// A process is killed while its runs wait for people. They answer elsewhere, and the runs go on in another process:
// with what they held in memory, and without a call made twice.
func TestRunsOutliveTheirProcess(t *testing.T) {
	t.Parallel() // it waits
	for _, row := range sharedStores {
		t.Run(row.name, func(t *testing.T) {
			up := newPerformed(t)
			dir := fleetFolder(t, up, row.store(t))
			me, q := newReplica(t, dir, func(o *codemode.Options) { o.GoOn = false })
			defer me.Close(context.WithoutCancel(t.Context()))
			first, others := startReplica(t, "runs", dir), []*process{startReplica(t, "waits", dir),
				startReplica(t, "waits", dir)}
			for _, o := range others {
				o.until(t, "ready")
			}
			runs := parked(t, me, fleetRuns)
			must(t, first.cmd.Process.Kill())
			ctx, stop := context.WithCancel(t.Context())
			var answering sync.WaitGroup
			answering.Go(func() { answer(ctx, t, q, "local:2") })
			defer answering.Wait()
			defer stop()
			for i, want := range []string{"1 2 3 4", "1 2 3 4", "not for you"} {
				got := ended(t, me, runs[fmt.Sprint("local:", i)])
				if !strings.Contains(got.Text, want) || !strings.Contains(got.Text, "before") {
					t.Errorf("run %d ended so, want %q:\n%s", i, want, got.Text)
				}
			}
			did := up.times()
			for what, n := range did {
				if n != 1 {
					t.Errorf("%s was done %d times", what, n)
				}
			}
			if len(did) != 4+4+1 {
				t.Errorf("%d calls were made, want four of each run that was approved and the first of the other: %v", len(did),
					did)
			}
			db, err := me.Record().DB(t.Context())
			must(t, err)
			recorded := 0
			if err := audit.Entries(t.Context(), db, store.Query{Kinds: []string{audit.Call}, States: []string{audit.Running}},
				func(*audit.Entry) error {
					recorded++
					return nil
				}); err != nil || recorded != len(did) {
				t.Errorf("%d calls are recorded (%v), %d were made", recorded, err, len(did))
			}
			if left, _, err := db.Runs.List(t.Context()); err != nil || len(left) > 0 {
				t.Errorf("still parked: %v (%v)", left, err)
			}
		})
	}
}

// A process is a replica, and what it says.
type process struct {
	cmd *exec.Cmd

	mu    sync.Mutex
	lines []string
}

func startReplica(t *testing.T, role, dir string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], "-test.run=^TestReplica$", "-test.timeout=5m")}
	p.cmd.Env = append(os.Environ(), replicaOf+"="+role+" "+dir)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	must(t, p.cmd.Start())
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
	for range testwait.Polls(longWait) {
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

// Somebody at a queue of one process is there for what another process asks.
func TestPeopleAreThereForOtherProcesses(t *testing.T) {
	up := newPerformed(t)
	dir := fleetFolder(t, up, `"codemode.db"`)
	path := filepath.Join(dir, "codemode.json")
	config, err := os.ReadFile(path)
	must(t, err)
	config = bytes.Replace(config, []byte(`"up__third"]`), []byte(`"up__third"], "ask": {"absent": "refuse"}`), 1)
	must(t, os.WriteFile(path, config, 0o600))
	asks, _ := newReplica(t, dir)
	defer asks.Close(context.WithoutCancel(t.Context()))
	run := func() string {
		r, err := asks.Eval(t.Context(),
			codemode.Request{Code: `return await codemode.up__third({}).then(() => "done", e => e.reason)`})
		must(t, err)
		return string(r.Value)
	}
	if got := run(); got != `"no_approver"` && got != `"elicitation_unsupported"` {
		t.Errorf("with nobody anywhere it is %s", got)
	}
	other, q := newReplica(t, dir)
	defer other.Close(context.WithoutCancel(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	var answering sync.WaitGroup
	answering.Go(func() { answer(ctx, t, q, "local:mallory") })
	got := ""
	for deadline := time.Now().Add(longWait); got != `"done"` && time.Now().Before(deadline); {
		got = run() // until it is known there that somebody has come here
	}
	if got != `"done"` {
		t.Errorf("with somebody at the other process it is %s", got)
	}
	stop()
	answering.Wait()
	for deadline := time.Now().Add(longWait); got == `"done"` && time.Now().Before(deadline); {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		r, err := asks.Eval(ctx, codemode.Request{Code: `return await codemode.up__third({}).then(() => "done", e => e.reason)`})
		cancel()
		if err == nil {
			got = string(r.Value)
		}
	}
	if got == `"done"` {
		t.Error("nobody is there any more, and the call was made")
	}
}
