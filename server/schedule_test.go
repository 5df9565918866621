package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/runs/inforce"
	"github.com/codemode-project/codemode/server"
)

// A bank is an upstream that counts what was paid.
type bank struct {
	url string

	mu   sync.Mutex
	paid map[string]int
}

func openBank(t *testing.T) *bank {
	t.Helper()
	b := &bank{paid: map[string]int{}}
	s := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "pay", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args struct{ ID string }
			if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
				return nil, err
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			b.paid[args.ID]++
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "paid"}}}, nil
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true}))
	b.url = web.URL
	t.Cleanup(web.Close)
	return b
}

// An errand is one program under way, as its client sees it.
type errand struct {
	name  string
	owner int // among the walkers
	args  map[string]any
	now   leg               // the last leg that counted
	old   []leg             // those before, whose questions were answered
	said  map[string]string // the first answer to the question about each payment
	over  bool
	text  string
}

var paymentIn = regexp.MustCompile(`E\d+-\d+`)

// Random schedules of legs: answers, replays, swaps between callers and calls, states that were changed, legs that are
// hung up, calls that nobody comes back to, and restarts of the listener. Whatever happens, a payment is made once if
// the first answer to its own question that came with the question's own state was a yes, and else not at all.
func TestRandomSchedulesOfLegs(t *testing.T) {
	schedules := 60 // and thousands in TestRandomSchedulesWithHoursBetween
	if os.Getenv("CODEMODE_LONG") != "" {
		schedules = 10_000
	}
	b := openBank(t)
	h := open(t, fmt.Sprintf(`{"mcpServers": {"bank": {"url": %q}},
		"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["bank__*"], "ask": {"minHuman": "1ns", "timeout": "1m"},
			"limits": {"asksPerMinute": 1000000, "pending": 100000, "refusals": 100}}}},
		"http": {"tokens": [{"token": "sha256:%s", "principal": "anna"}, {"token": "sha256:%s", "principal": "bert"}]}}`, b.url,
		strings.TrimPrefix(inforce.Fingerprint(annasToken), "sha256:"), strings.TrimPrefix(inforce.Fingerprint(bertsToken),
			"sha256:")), server.Options{})
	l := &listener{h: h}
	defer l.stop()
	l.start()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	walkers := func() [2]*walker { return [2]*walker{h.walk(l.url, annasToken, nil), h.walk(l.url, bertsToken, nil)} }
	both := walkers()
	executed, refused := 0, 0
	for n := range schedules {
		errands := make([]*errand, 2)
		for i := range errands {
			e := &errand{name: fmt.Sprintf("E%d", 2*n+i), owner: random.IntN(2), said: map[string]string{}}
			e.args = map[string]any{"code": fmt.Sprintf(`
				const told = [], pay = async i => { try { await codemode.bank__pay({id: "%[1]s-" + i}); told.push(i + ":paid") } catch (e) { told.push(i + ":" + e.reason) } };
				await pay(0); await pay(1);
				if (%[2]v) await Promise.all([pay(2), pay(3)]); else await pay(2);
				return told.join(" ")`, e.name, random.IntN(2) == 0)}
			errands[i] = e
		}
		s := schedule{t: t, random: random, both: both, errands: errands}
		for _, e := range errands {
			s.take(e, s.as(e).leg(t.Context(), "", nil), nil)
		}
		for range 8 {
			s.step(errands[random.IntN(len(errands))])
		}
		if n%20 == 19 { // in the middle of everything
			l.restart()
			both = walkers()
			s.both = both
			for _, e := range errands {
				s.lose(e)
			}
		}
		for _, e := range errands {
			for range 8 {
				if !e.over && random.IntN(4) > 0 { // some are never come back to
					s.answer(e)
				}
			}
		}
		b.mu.Lock()
		paid := maps.Clone(b.paid)
		b.mu.Unlock()
		for _, e := range errands {
			for i := range 4 {
				id := fmt.Sprintf("%s-%d", e.name, i)
				switch times := paid[id]; {
				case times > 1, times == 1 && e.said[id] != "allow_once" && e.said[id] != "perhaps":
					t.Fatalf("schedule %d, seed %d: %s was paid %d times, and its question was answered with %q", n, seed, id, times,
						e.said[id])
				case times == 0 && e.said[id] == "allow_once":
					t.Fatalf("schedule %d, seed %d: %s was allowed and not paid: %s", n, seed, id, e.text)
				case times == 1:
					executed++
				case e.said[id] == "deny":
					refused++
				}
			}
		}
	}
	if executed < schedules/2 || refused < schedules/10 {
		t.Errorf("of %d schedules came %d payments and %d refusals: too little happened", schedules, executed, refused)
	}
	t.Logf("%d schedules: %d payments, %d refusals", schedules, executed, refused)
}

// listener is the HTTP side of a house, which can be restarted.
type listener struct {
	h       *house
	handler *server.HTTP
	web     *httptest.Server
	url     string
}

func (l *listener) start() {
	var err error
	if l.handler, err = l.h.server.HTTP(server.HTTPOptions{}); err != nil {
		l.h.t.Fatal(err)
	}
	l.web = httptest.NewServer(l.handler)
	l.url = l.web.URL + server.Path
}

func (l *listener) stop() {
	l.handler.Close()
	l.web.CloseClientConnections()
	l.web.Close()
}

func (l *listener) restart() {
	l.stop()
	l.start()
}

type schedule struct {
	t       *testing.T
	random  *rand.Rand
	both    [2]*walker
	errands []*errand
}

func (s *schedule) as(e *errand) *walker {
	return &walker{t: s.t, ClientSession: s.both[e.owner].ClientSession, tool: "codemode_eval", args: e.args}
}

// decide makes up an answer to a question, and remembers what it says about which payment.
func (s *schedule) decide(e *errand) (*mcp.ElicitResult, map[string]string) {
	content, said := map[string]any{}, map[string]string{}
	schema, err := json.Marshal(e.now.form.RequestedSchema)
	if err != nil {
		s.t.Fatal(err)
	}
	var form struct{ Required []string }
	if err := json.Unmarshal(schema, &form); err != nil {
		s.t.Fatal(err)
	}
	var ids []string // in the order of the calls
	for _, id := range paymentIn.FindAllString(e.now.form.Message, -1) {
		if len(ids) == 0 || ids[len(ids)-1] != id {
			ids = append(ids, id)
		}
	}
	if len(ids) != len(form.Required) {
		s.t.Fatalf("%d decisions about %q:\n%s", len(form.Required), ids, e.now.form.Message)
	}
	for i, field := range form.Required {
		decision := []string{"allow_once", "allow_once", "deny"}[s.random.IntN(3)]
		content[field], said[ids[i]] = decision, decision
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, said
}

// take notes how a leg ended, and what was said with it if that was the first answer.
func (s *schedule) take(e *errand, l leg, said map[string]string) {
	if l.err != nil {
		s.t.Fatalf("%s: %v", e.name, l)
	}
	for id, decision := range said {
		if _, ok := e.said[id]; !ok {
			e.said[id] = decision
		}
	}
	if l.form == nil {
		e.over, e.text = true, l.text
	}
	if e.now.state != "" && l.state != e.now.state {
		e.old = append(e.old, e.now)
	}
	e.now = l
}

// lose comes back to a call that was cut off.
func (s *schedule) lose(e *errand) {
	if e.over {
		return
	}
	e.over = true
	if answer, _ := s.decide(e); e.now.state != "" {
		if l := s.as(e).back(e.now, answer); l.form != nil || !strings.Contains(l.text, "canceled") && !l.refusedAs(notHere) {
			s.t.Fatalf("%s: after a restart: %v", e.name, l)
		}
	}
}

func (s *schedule) answer(e *errand) {
	answer, said := s.decide(e)
	s.take(e, s.as(e).back(e.now, answer), said)
}

// step does one of the things that clients, networks and thieves do.
func (s *schedule) step(e *errand) {
	other := s.errands[0]
	if other == e {
		other = s.errands[1]
	}
	thief := &walker{t: s.t, ClientSession: s.both[1-e.owner].ClientSession, tool: "codemode_eval", args: e.args}
	refuses := func(what string, l leg, reasons ...string) {
		for _, r := range reasons {
			if l.refusedAs(r) {
				return
			}
		}
		s.t.Fatalf("%s: %s: %v", e.name, what, l)
	}
	if e.over || e.now.state == "" {
		return
	}
	answer, said := s.decide(e)
	switch s.random.IntN(10) {
	case 0, 1:
		s.take(e, s.as(e).back(e.now, answer), said)
	case 2: // the client retries at once, because it believes that the response was lost
		before := e.now
		s.take(e, s.as(e).back(before, answer), said)
		if again := s.as(e).back(before, answer); again.state != e.now.state || again.text != e.now.text {
			s.t.Fatalf("%s: the same retry got %v and then %v", e.name, e.now, again)
		}
	case 3: // both at the same time, one with another answer
		before := e.now
		contrary := &mcp.ElicitResult{Action: "decline"}
		legs := make(chan leg, 1)
		go func() { legs <- s.as(e).back(before, contrary) }()
		yes, no := s.as(e).back(before, answer), <-legs
		switch {
		case no.refusedAs(answered):
			s.take(e, yes, said)
		case yes.refusedAs(answered):
			for id := range said {
				said[id] = "deny"
			}
			s.take(e, no, said)
		default:
			s.t.Fatalf("%s: two answers got %v and %v", e.name, yes, no)
		}
	case 4:
		if len(e.old) > 0 {
			refuses("an old state", s.as(e).back(e.old[s.random.IntN(len(e.old))], &mcp.ElicitResult{Action: "cancel"}),
				answered)
		}
	case 5:
		refuses("a thief", thief.back(e.now, answer), foreign)
	case 6:
		swapped := s.as(e)
		swapped.ClientSession = s.both[other.owner].ClientSession
		swapped.args = other.args
		refuses("another call's arguments", swapped.back(e.now, answer), otherArgs, foreign)
	case 7:
		state := []byte(e.now.state)
		state[s.random.IntN(len(state))] ^= 1 << s.random.IntN(8)
		if string(state) != e.now.state {
			refuses("a state that was changed", s.as(e).back(leg{state: string(state)}, answer), forged)
		}
	case 8: // the line is cut, perhaps before the answer is there and perhaps after
		ctx, hangUp := context.WithTimeout(s.t.Context(), time.Duration(s.random.IntN(3000))*time.Microsecond)
		l := s.as(e).leg(ctx, e.now.state, answer)
		hangUp()
		if l.err == nil {
			s.take(e, l, said)
			return
		}
		e.over = true
		for id := range said {
			if e.said[id] == "" && said[id] == "allow_once" {
				e.said[id] = "perhaps"
			}
		}
	case 9:
		s.take(e, s.as(e).back(e.now, nil), nil) // no answer: the question comes again
	}
}
