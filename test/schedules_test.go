package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"github.com/codemode-project/codemode/call"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/internal/approvals/terminal"
	"github.com/codemode-project/codemode/internal/cachetest"
	"github.com/codemode-project/codemode/internal/console"
	"github.com/codemode-project/codemode/internal/record/audit"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/store/storetest"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/sandbox"
)

var (
	schedules = flag.Int("schedules", 12,
		"random schedules after which upstream, record and what was told must agree")
	scheduleSeed = flag.Uint64("seed", 0,
		"the seed of the first schedule, the next one has the next seed; 0 is one by chance")
	schedulesAtOnce = flag.Int("at-once", 2,
		"schedules that are under way at once: most of the time each waits for people")
	scheduleLog = flag.Bool("schedule-log", false, "print what the processes of a schedule log")
)

// Whatever happens around runs: of every call the upstream, the record, and what page, REST, terminal and model were
// told agree.
func TestUpstreamRecordAndWhatIsToldAgree(t *testing.T) {
	seed := *scheduleSeed
	if seed == 0 {
		seed = rand.Uint64N(1 << 48)
	}
	t.Logf("the first seed is %d", seed)
	engine, err := scheduleEngine()
	must(t, err)
	up := newEffects(t)
	var mu sync.Mutex
	happened, next, failed := map[string]int{}, 0, 0
	var all sync.WaitGroup
	for range *schedulesAtOnce {
		all.Go(func() {
			for {
				mu.Lock()
				n := next
				next++
				stop := n >= *schedules || failed >= 5
				mu.Unlock()
				if stop {
					return
				}
				s := newSchedule(engine, up, seed+uint64(n))
				s.run()
				mu.Lock()
				for what, times := range s.happened {
					happened[what] += times
				}
				if len(s.problems) > 0 {
					failed++
					t.Errorf("schedule %d, -seed %d:\n  %s", n+1, s.seed, strings.Join(append(s.problems, s.notes...),
						"\n  "))
				}
				if (n+1)%500 == 0 {
					t.Logf("%d schedules at %v", n+1, time.Now().Format(time.TimeOnly))
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	t.Logf("in %d schedules:", min(next, *schedules))
	for _, what := range slices.Sorted(maps.Keys(happened)) {
		t.Logf("%8d  %s", happened[what], what)
	}
	if *schedules >= 500 {
		for _, what := range mustHappen {
			if happened[what]*200 < *schedules {
				t.Errorf("%s: only %d times", what, happened[what])
			}
		}
	}
}

// mustHappen is what a schedule that leaves it out would not be one.
var mustHappen = []string{
	"call: asked again", "call: done", "call: refused", "call: failed", "call: unknown", "call: not started",
	"answer: form", "answer: form, mixed", "answer: page, REST", "answer: page, batch", "answer: terminal",
	"answer: with other arguments",
	"answer: remembered", "answer: late", "answer: twice", "answer: to another digest",
	"channel: page opened", "channel: page left", "channel: terminal opened", "channel: terminal left",
	"channel: client without a form",
	"restart: SIGTERM", "restart: SIGKILL", "run: parked", "run: went on in another process",
	"run: ended for want of its process",
	"policy: rule", "policy: another digest", "policy: profile removed", "policy: profile back", "policy: broken file",
	"refused: elicitation_declined", "refused: timeout", "refused: policy_changed", "refused: denied",
	"refused: canceled",
	"grant: used", "grant: revoked", "client: left", "client: came back",
}

// scheduleEngine outlives the evaluators, as a process that is started anew has the same key.
var scheduleEngine = sync.OnceValues(func() (*sandbox.Engine, error) {
	return sandbox.New(context.Background(), sandbox.Options{CacheDir: cachetest.Dir()})
})

// scheduledProgram makes calls in steps, those of a step at once, and returns what it was told of each. In a strict
// step the first call that fails ends it.
const scheduledProgram = `const tools = {
		first: a => codemode.up__first(a), second: a => codemode.up__second(a), third: a => codemode.up__third(a)};
	const told = [];
	const make = (c, n) => tools[c.tool]({s: input.s, run: input.run, n, how: c.how}).then(
		r => { told.push({n, ok: r}) },
		e => {
			told.push({n, name: e.name, reason: e.reason ?? "", outcome: e.outcome ?? ""});
			if (input.again && n < 100 && ["policy_changed", "timeout"].includes(e.reason)) return make(c, n + 100);
			if (c.strict) throw e;
		});
	for (const step of input.steps) await Promise.all(step.map(c => make(c, c.n)));
	return told`

// A schedule is what happens around a few runs, by chance: people who answer over several channels, processes that end
// and begin, rules that change, clients that go and come back.
type schedule struct {
	seed   uint64
	engine *sandbox.Engine
	up     *effects
	dir    string
	dice   *rand.Rand // of what happens; people and clients have their own
	ctx    context.Context
	log    *slog.Logger

	// Drawn once.
	clients []*client
	ask     string // the key of the profiles
	limits  string
	slow    time.Duration // how long people think, at most
	others  bool          // profile q wants somebody else to answer than who asked
	away    bool          // the store did not answer in time, as the record tells; it counts in check alone
	eager   atomic.Bool   // from now on people answer all there is, at once

	mu       sync.Mutex
	replicas []*replica
	policy   scheduledPolicy
	absences []absence
	said     []*said
	closed   []string // questions that somebody closed without an answer, by ID
	happened map[string]int
	problems []string
	notes    []string
	closing  sync.WaitGroup
}

// A scheduledPolicy is what the configuration says.
type scheduledPolicy struct {
	version, remark int
	deny            int    // calls with this n; 0 is none
	removed         string // a profile
	broken          bool
	changed         bool // since the beginning
}

// An absence is the time in which every process knew that a profile was removed.
type absence struct {
	profile     string
	known, back time.Time
}

// A client runs one program.
type client struct {
	n         int
	principal string
	profile   string
	form      *formPerson // nil: it shows none
	everyCall bool
	input     json.RawMessage
	dice      *rand.Rand

	leave chan struct{} // closed when it goes away
	over  chan struct{} // closed when it does not wait any more

	// What it was told.
	run  string
	resp *codemode.Response // nil: nothing
	err  error
	left bool
}

func newSchedule(engine *sandbox.Engine, up *effects, seed uint64) *schedule {
	s := &schedule{seed: seed, engine: engine, up: up, dice: rand.New(rand.NewPCG(seed, 0)),
		happened: map[string]int{}, log: slog.New(slog.DiscardHandler)}
	if *scheduleLog {
		s.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return s
}

func (s *schedule) newDice() *rand.Rand { return rand.New(rand.NewPCG(s.dice.Uint64(), s.seed)) }

func (s *schedule) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.happened[what]++
}

func (s *schedule) wrong(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.problems) < 30 {
		s.problems = append(s.problems, fmt.Sprintf(format, args...))
	}
}

// draw makes up the runs and the people's rules.
func (s *schedule) draw() {
	d := draw{s.dice}
	ask := []string{fmt.Sprintf(`"timeout": %q`, d.of("10s", "10s", "10s", "120ms"))}
	if d.chance(70) {
		ask = append(ask, `"edit": true`)
	}
	if d.chance(20) {
		ask = append(ask, `"batch": false`)
	}
	if d.chance(15) {
		ask = append(ask, fmt.Sprintf(`"channels": [%s]`, d.of(`"web"`, `"elicitation", "web"`, `"terminal", "web"`)))
	}
	if d.chance(15) {
		ask = append(ask, `"absent": "refuse"`)
	}
	s.ask, s.others = strings.Join(ask, ", "), d.chance(30)
	s.limits = d.of(`{"refusals": 100}`, `{"refusals": 100}`, `{"refusals": 2}`, `{"refusals": 100, "asks": 4}`)
	s.slow = time.Duration([]int{20, 60, 400, 700}[d.IntN(4)]) * time.Millisecond
	for n := range 1 + d.IntN(3) {
		c := &client{
			n: n + 1, principal: fmt.Sprintf("%s-%d", d.of("anna", "ben"), s.seed), profile: d.of("p", "p", "q"),
			everyCall: d.chance(50), dice: s.newDice(),
			leave: make(chan struct{}), over: make(chan struct{}),
		}
		if d.chance(50) {
			c.form = &formPerson{s: s, dice: s.newDice()}
		} else {
			s.count("channel: client without a form")
		}
		c.input = s.steps(d, c.n)
		s.clients = append(s.clients, c)
	}
}

// steps are what a program is to do.
func (s *schedule) steps(d draw, run int) json.RawMessage {
	type one struct {
		Tool   string `json:"tool"`
		N      int    `json:"n"`
		How    string `json:"how"`
		Strict bool   `json:"strict"`
	}
	input := struct {
		S     uint64  `json:"s"`
		Run   int     `json:"run"`
		Again bool    `json:"again"`
		Steps [][]one `json:"steps"`
	}{S: s.seed % 1e9, Run: run, Again: d.chance(40)}
	n := 0
	for range 1 + d.IntN(3) {
		strict := d.chance(20)
		var step []one
		for range 1 + d.IntN(5) {
			if n++; n > 1 && d.chance(5) {
				n-- // the same call once more
			}
			step = append(step, one{d.of("first", "second", "second", "second", "third"), n, d.of("ok", "ok", "ok",
				"ok", "slow", "fail", "lost"), strict})
		}
		input.Steps = append(input.Steps, step)
	}
	js, _ := json.Marshal(input)
	return js
}

// config is the configuration as the policy is now. The caller holds mu.
func (s *schedule) config() string {
	p := s.policy
	if p.broken {
		return `{"evaluation": {"profiles": {"p": `
	}
	deny := ""
	if p.deny > 0 {
		deny = fmt.Sprintf(`"denylist": [{"tool": "up__second", "when": {"/n": {"eq": %d}}}], `, p.deny)
	}
	named := []string{fmt.Sprintf(`"v%d": {}`, p.version)}
	for _, name := range []string{"p", "q"} {
		if name == p.removed {
			continue
		}
		ask := s.ask
		if name == "q" && s.others {
			ask += `, "approver": "other"`
		}
		named = append(named, fmt.Sprintf(`%q: {"allowlist": ["up__first"], %s
			"asklist": [{"tool": "up__second", "reason": "remark %d"}, {"tool": "up__third", "risk": "high"}],
			"ask": {%s}, "limits": %s, "remember": {"scopes": ["run", "count", "time"], "args": "any"}}`,
			name, deny, p.remark, ask, s.limits))
	}
	return fmt.Sprintf(`{"mcpServers": {"up": {"type": "http", "url": %q}}, "store": "codemode.db",
		"evaluation": {"profiles": {%s}}}`, s.up.url, strings.Join(named, ",\n"))
}

// write changes the policy, and waits until every process knows of it.
func (s *schedule) write(change func(p *scheduledPolicy)) {
	s.mu.Lock()
	before := s.policy
	change(&s.policy)
	s.policy.version++
	now := s.policy
	if now.removed != before.removed {
		for i := range s.absences {
			if s.absences[i].back.IsZero() {
				s.absences[i].back = time.Now()
			}
		}
	}
	path := filepath.Join(s.dir, "codemode.json")
	err := os.WriteFile(path+".new", []byte(s.config()), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	s.mu.Unlock()
	if err != nil {
		s.wrong("writing the configuration: %v", err)
		return
	}
	known := func(r *replica) bool {
		if now.broken {
			return r.e.Rules().Now().Stale != nil
		}
		return r.e.Config().Profile(fmt.Sprintf("v%d", now.version)) != nil
	}
	s.until("every process knows the configuration", func() bool {
		return !slices.ContainsFunc(s.living(),
			func(r *replica) bool { return !known(r) })
	})
	if now.removed != "" && now.removed != before.removed && !now.broken {
		s.mu.Lock()
		s.absences = append(s.absences, absence{profile: now.removed, known: time.Now()})
		s.mu.Unlock()
	}
}

// until waits for what comes by itself.
func (s *schedule) until(what string, so func() bool) bool {
	if !testwait.Holds(so) {
		s.wrong("it never came to pass that %s", what)
		return false
	}
	return true
}

// A replica stands for a process: an Evaluator with the page and the socket that people answer at.
type replica struct {
	e        *codemode.Evaluator
	page     *console.Console
	sockets  string
	listener *terminal.Listener
	dead     atomic.Bool // killed: what it says reaches nobody
}

// recordFor lets a page read the record.
type recordFor struct{ e *codemode.Evaluator }

func (r recordFor) Entries(ctx context.Context, q store.Query, f func(*audit.Entry) error) error {
	db, err := r.e.Record().DB(ctx)
	if err != nil {
		return err
	}
	return audit.Entries(ctx, db, q, f)
}

func (r recordFor) Ends(ctx context.Context) ([]store.End, error) {
	db, err := r.e.Record().DB(ctx)
	if err != nil {
		return nil, err
	}
	return db.Entries.Ends(ctx)
}

// pageOrigin is where the pages say they are; they are reached without a network.
const pageOrigin = "http://127.0.0.1:7391"

// operator answers for everybody.
const operator = "op"

func mayFor(by, principal string) bool { return by == operator || by == principal }

func (s *schedule) newReplica(goOn bool) (*replica, error) {
	web, typists := approvals.NewStrongQueue(console.ChannelName), approvals.NewQueue("terminal")
	web.May, typists.May = mayFor, mayFor
	r := &replica{}
	typists.Outcome = func(ctx context.Context, asked *prompt.Request) string { return r.e.Record().Outcome(ctx, asked) }
	var err error
	if r.e, err = codemode.New(s.ctx, codemode.Options{
		ConfigPath: filepath.Join(s.dir, "codemode.json"), RecordDir: s.dir, Engine: s.engine, GoOn: goOn,
		Channels: []approvals.Channel{web, typists}, Log: s.log,
	}); err != nil {
		return nil, err
	}
	r.page, err = console.New(console.Options{
		Queue: web, Origins: []string{pageOrigin}, May: mayFor, Sees: func(person string) ([]string,
			bool) {
			return nil, person == operator
		},
		Record: recordFor{r.e}, Grants: r.e.People().Grants, Note: r.e.Record().Write,
	})
	if err != nil {
		return nil, err
	}
	if r.sockets, err = os.MkdirTemp(s.dir, "a"); err != nil {
		return nil, err
	}
	r.listener, err = terminal.Listen(r.sockets, typists, operator, nil)
	return r, err
}

func (s *schedule) start() {
	r, err := s.newReplica(true)
	if err != nil {
		s.wrong("starting a process: %v", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas = append(s.replicas, r)
}

func (s *schedule) living() []*replica {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.replicas)
}

// anyReplica is a process that lives; nil if there is none at the moment.
func (s *schedule) anyReplica(dice *rand.Rand) *replica {
	all := s.living()
	if len(all) == 0 {
		return nil
	}
	return all[dice.IntN(len(all))]
}

// take takes a process out of those that live.
func (s *schedule) take() *replica {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.replicas) == 0 {
		return nil
	}
	i := s.dice.IntN(len(s.replicas))
	r := s.replicas[i]
	s.replicas = slices.Delete(s.replicas, i, i+1)
	return r
}

// terminate is what SIGTERM does.
func (s *schedule) terminate(r *replica) {
	r.e.Runs().Drain(s.ctx)
	r.page.Close()
	r.listener.Close()
	if err := r.e.Close(s.ctx); err != nil {
		s.wrong("a process did not end well: %v", err)
	}
}

// database is the database of a process, once it answers: on a busy machine that takes a while.
func (s *schedule) database(r *replica) (db *store.DB) {
	s.until("the store answers", func() bool {
		var err error
		db, err = r.e.Record().DB(s.ctx)
		return err == nil
	})
	return db
}

// kill is what SIGKILL does: from now on nothing that the process does reaches the database, and what it tells reaches
// nobody.
func (s *schedule) kill(r *replica) {
	db, err := r.e.Record().DB(s.ctx)
	if err != nil {
		s.wrong("the store of a process: %v", err)
		return
	}
	r.dead.Store(true)
	if err := db.Close(); err != nil {
		s.wrong("closing the store of a process: %v", err)
	}
	s.closing.Go(func() {
		r.page.Close()
		r.listener.Close()
		_ = r.e.Close(s.ctx) // of course it complains
	})
}

// run is one schedule, with the comparison at its end.
func (s *schedule) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.ctx = ctx
	var err error
	if s.dir, err = os.MkdirTemp(storetest.Memory(), "schedule"); err != nil {
		s.wrong("%v", err)
		return
	}
	defer os.RemoveAll(s.dir)
	s.draw()
	s.write(func(*scheduledPolicy) {})
	for range 1 + s.dice.IntN(2) {
		s.start()
	}
	over, stop := context.WithCancel(ctx)
	var people sync.WaitGroup
	sit := func(at func(ctx context.Context, dice *rand.Rand)) {
		dice := s.newDice()
		people.Go(func() { at(over, dice) })
	}
	sit(func(ctx context.Context, dice *rand.Rand) { s.atPage(ctx, dice, operator) })
	if s.dice.IntN(2) == 0 {
		sit(func(ctx context.Context, dice *rand.Rand) { s.atPage(ctx, dice, s.clients[0].principal) })
	}
	if s.dice.IntN(2) == 0 {
		sit(s.atTerminal)
	}
	for _, c := range s.clients {
		go s.visit(c)
	}
	for range 1 + s.dice.IntN(6) {
		select {
		case <-time.After(time.Duration(s.dice.IntN(350)) * time.Millisecond):
		case <-s.allLeft():
		}
		s.event()
	}
	s.note("settling")
	s.settle()
	stop()
	people.Wait()
	for r := s.take(); r != nil; r = s.take() {
		s.terminate(r)
	}
	s.closing.Wait()
	s.sweep()
	s.check()
}

// sweep has processes begin that find what those that were killed left open in the record: each looks after the chain
// that it takes.
func (s *schedule) sweep() {
	s.start()
	r := s.anyReplica(s.dice)
	if r == nil {
		return
	}
	db := s.database(r)
	if db == nil {
		return
	}
	chains, err := db.Entries.Chains(s.ctx)
	if err != nil {
		s.wrong("the chains: %v", err)
	}
	for range chains {
		s.start()
	}
	for r := s.take(); r != nil; r = s.take() {
		s.until("a process writes to the record", func() bool { // after it has looked at its chain
			return r.e.Record().Write(s.ctx, call.Entry{Kind: audit.Notice, State: "swept"}) == nil
		})
		s.closing.Go(func() { s.terminate(r) })
	}
	s.closing.Wait()
}

func (s *schedule) allLeft() <-chan struct{} {
	left := make(chan struct{})
	go func() {
		for _, c := range s.clients {
			<-c.over
		}
		close(left)
	}()
	return left
}

// note keeps what happens, for whoever reads why a schedule failed.
func (s *schedule) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, time.Now().Format("05.000 ")+fmt.Sprintf(format, args...))
}

// event is one thing that happens.
func (s *schedule) event() {
	d := draw{s.dice}
	what := d.IntN(14)
	s.note("event %d", what)
	defer s.note("event %d is over", what)
	switch what {
	case 0, 1:
		s.awaitParked()
		first := d.chance(50) // the next one is there before the last one goes
		if first {
			s.start()
		}
		if r := s.take(); r != nil {
			s.count("restart: SIGTERM")
			s.terminate(r)
		}
		if !first {
			s.start()
		}
	case 2, 3:
		s.awaitParked()
		if r := s.take(); r != nil {
			s.count("restart: SIGKILL")
			s.kill(r)
		}
		s.start()
	case 4:
		s.count("policy: rule")
		s.write(func(p *scheduledPolicy) { p.deny, p.changed = 1+d.IntN(8), true })
	case 5:
		s.count("policy: another digest")
		s.write(func(p *scheduledPolicy) { p.remark, p.changed = p.remark+1, true })
	case 6, 7:
		s.count("policy: profile removed")
		s.write(func(p *scheduledPolicy) { p.removed, p.changed = d.of("p", "p", "q"), true })
		if d.chance(60) {
			time.Sleep(time.Duration(d.IntN(150)) * time.Millisecond) // another moment of the replicas each time
			s.count("policy: profile back")
			s.write(func(p *scheduledPolicy) { p.removed = "" })
		}
	case 8:
		s.count("policy: profile back")
		s.write(func(p *scheduledPolicy) { p.removed, p.deny, p.changed = "", 0, true })
	case 9:
		s.count("policy: broken file")
		s.write(func(p *scheduledPolicy) { p.broken = true })
		s.write(func(p *scheduledPolicy) { p.broken = false })
	case 10:
		c := s.clients[d.IntN(len(s.clients))]
		s.mu.Lock()
		defer s.mu.Unlock()
		if !c.left {
			s.happened["client: left"]++
			c.left = true
			close(c.leave)
		}
	default:
		s.revoke()
	}
}

// awaitParked waits a little, at times, for a run to be put away: a restart means most then.
func (s *schedule) awaitParked() {
	r := s.anyReplica(s.dice)
	if r == nil || s.dice.IntN(2) == 0 {
		return
	}
	db := s.database(r)
	if db == nil {
		return
	}
	for range testwait.Polls(700 * time.Millisecond) {
		if runs, _, err := db.Runs.Size(s.ctx, "", true); err != nil || runs > 0 {
			return
		}
	}
}

// revoke takes back what people allowed for longer than a call.
func (s *schedule) revoke() {
	r := s.anyReplica(s.dice)
	if r == nil {
		return
	}
	all, err := r.e.People().Grants.All(s.ctx, "")
	if err != nil {
		s.wrong("reading grants: %v", err)
	}
	for _, g := range all {
		if r.e.People().Grants.Revoke(s.ctx, g.ID) == nil {
			s.count("grant: revoked")
		}
	}
}

// settle lets everything come to its end.
func (s *schedule) settle() {
	s.write(func(p *scheduledPolicy) { p.removed, p.broken = "", false })
	if len(s.living()) == 0 {
		s.start()
	}
	s.eager.Store(true)
	for _, c := range s.clients {
		if !s.until(fmt.Sprintf("client %d is told how its run ended", c.n), func() bool {
			select {
			case <-c.over:
				return true
			default:
				return false
			}
		}) {
			s.mu.Lock()
			close(c.leave)
			s.mu.Unlock()
		}
	}
	r := s.anyReplica(s.dice)
	if r == nil {
		return
	}
	db := s.database(r)
	if db == nil {
		return
	}
	s.until("nothing waits any more", func() bool {
		asked, err := db.Approvals.Pending(s.ctx, "")
		if err != nil || len(asked) > 0 {
			return false
		}
		runs, bytes, err := db.Runs.Size(s.ctx, "", true)
		return err == nil && runs == 0 && bytes == 0
	})
}

// visit is a client from its request until it is told what came of it, or gives up.
func (s *schedule) visit(c *client) {
	defer close(c.over)
	ctx, leave := context.WithCancel(s.ctx)
	defer leave()
	go func() {
		select {
		case <-c.leave:
			leave()
		case <-ctx.Done():
		}
	}()
	var channels []approvals.Channel
	if c.form != nil {
		channels = []approvals.Channel{c.form}
	}
	for first := true; ; first = false {
		r := s.anyReplica(c.dice)
		for ; r == nil; r = s.anyReplica(c.dice) {
			time.Sleep(5 * time.Millisecond) // a process is about to start
		}
		var resp *codemode.Response
		var err error
		if first {
			resp, err = r.e.Eval(ctx, codemode.Request{
				Profile: c.profile, Code: scheduledProgram, Input: c.input, Principal: c.principal,
				ClientSession: c.session(), Channels: channels, EveryCall: c.everyCall,
			})
		} else {
			s.count("client: came back")
			resp, err = r.e.Runs().Reattach(ctx, c.run, codemode.Request{Unrestricted: true, Principal: c.principal, Channels: channels})
		}
		s.note("client %d: %v", c.n, err)
		lost := r.dead.Load() || ctx.Err() != nil
		switch {
		case lost, errors.Is(err, approvals.ErrLeaving), !first && resp == nil && !errors.Is(err, codemode.ErrNoRun):
			if resp != nil && resp.Run != "" {
				c.run = resp.Run // a server names it in what it gives the client to come back with
			}
		case !first && errors.Is(err, codemode.ErrNoRun), first && resp.Run == "":
			return // there is nothing to be told
		case resp == nil:
			s.wrong("client %d, at first %v: no answer, and %v", c.n, first, err)
			return
		default:
			c.run, c.resp, c.err = resp.Run, resp, err
			return
		}
		if c.run == "" {
			c.run = s.runOf(c)
		}
		if c.run == "" || c.dice.IntN(3) == 0 {
			return
		}
		if ctx.Err() != nil { // it comes back with another connection, which stays
			ctx, leave = context.WithCancel(s.ctx)
			defer leave()
		}
	}
}

func (c *client) session() string { return fmt.Sprintf("client %d", c.n) }

// runOf finds the run of a client in the record; "" is that it is not there.
func (s *schedule) runOf(c *client) (run string) {
	r := s.anyReplica(c.dice)
	if r == nil {
		return ""
	}
	_ = recordFor{r.e}.Entries(s.ctx, store.Query{Kinds: []string{audit.Run}}, func(e *audit.Entry) error {
		if e.Session == c.session() {
			run = e.Run
		}
		return nil
	})
	return run
}
