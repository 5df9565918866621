package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/codemode-project/codemode/call"
)

// world is everything around a Gate: what crosses its borders is written to log.
type world struct {
	mu    sync.Mutex
	log   []string
	tools map[string]*call.Tool

	decide func(t *call.Tool, args json.RawMessage) call.Decision
	hidden func(t *call.Tool) bool
	answer func(ctx context.Context, q *Question) call.Answer
	record func(e call.Entry) error
	reply  func(ctx context.Context, t *call.Tool, args json.RawMessage) (*Reply, error)

	entries []call.Entry
}

func newWorld() *world {
	w := &world{tools: map[string]*call.Tool{}}
	for _, name := range []string{"fs__read", "fs__write", "pay__send"} {
		server, raw, _ := strings.Cut(name, "__")
		w.tools[name] = &call.Tool{Server: server, Raw: raw, Name: name, Digest: "d1", Trusted: true}
	}
	return w
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *world) Find(_ context.Context, name string) (*call.Tool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.tools[name]; t != nil {
		return t, nil
	}
	return nil, &NotFoundError{Name: name, Nearest: []string{"fs__read"}}
}

func (w *world) Decide(t *call.Tool, frozen call.Arguments, _ Counters) call.Decision {
	if w.decide == nil {
		return call.Decision{Verdict: call.Allow}
	}
	args := frozen.JSON()
	d := w.decide(t, args)
	w.note("decide %s %s: %v", t.Name, args, d.Verdict)
	return d
}

func (w *world) Hidden(t *call.Tool) bool { return w.hidden != nil && w.hidden(t) }

func (w *world) Ask(ctx context.Context, qs []*Question, answered func(int, call.Answer, Use)) {
	for i, q := range qs {
		w.note("ask %s %s", q.Tool.Name, q.Args)
		answered(i, w.answer(ctx, q), nil)
	}
}

func (w *world) Together() bool { return false }

func (w *world) Remembered(context.Context, *Question) (call.Answer, bool) {
	return call.Answer{}, false
}

func (w *world) AskUser(context.Context, *Question) (json.RawMessage, error) {
	return nil, errCannotAsk
}

func (w *world) Connect(context.Context, *Question) call.Answer { return call.Answer{} }

func (w *world) Record(ctx context.Context, e call.Entry) error {
	if e.State == call.Pending || e.Kind == call.KindApproval {
		return nil // these hold nothing up, and have tests of their own
	}
	if w.record != nil {
		if err := w.record(e); err != nil {
			return err
		}
	}
	w.note("record %s", strings.TrimSpace(e.State+" "+e.Reason))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries = append(w.entries, e)
	return nil
}

func (w *world) Send(ctx context.Context, c *call.Call, _ func() func()) (*Reply, error) {
	w.note("send %s %s", c.Tool.Name, c.Args)
	if w.reply == nil {
		return &Reply{Value: json.RawMessage(`"ok"`)}, nil
	}
	return w.reply(ctx, c.Tool, c.Args.JSON())
}

func (w *world) run() *Run {
	return NewGate(Deps{Tools: w, Recorder: w, Sender: w}).Run(RunInfo{ID: "r1", Profile: "safe", Policy: w, Prompter: w})
}

func (w *world) sent() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, line := range w.log {
		if strings.HasPrefix(line, "send ") {
			n++
		}
	}
	return n
}

func verdict(v call.Verdict) func(*call.Tool, json.RawMessage) call.Decision {
	return func(*call.Tool, json.RawMessage) call.Decision {
		return call.Decision{Verdict: v, Risk: call.Medium,
			Reasons: []call.Reason{{Rule: "the-rule", Pos: call.Position{File: "p.json", Line: 3}}}}
	}
}

func answer(a call.Answer) func(context.Context, *Question) call.Answer {
	return func(context.Context, *Question) call.Answer { return a }
}

// allow, refuse: what a person says.
var (
	yes = call.Answer{Allowed: true, How: "person", Channel: "elicitation"}
	no  = call.Answer{How: "person", Channel: "elicitation", Code: call.CodeDeclined, Reason: "not today"}
)

func use(t *testing.T, r *Run, id int, name, args string) (json.RawMessage, *Exception) {
	t.Helper()
	v, err := r.Call(t.Context(), Invocation{ID: id, Name: name, Args: json.RawMessage(args)})
	if err == nil {
		return v, nil
	}
	x, ok := errors.AsType[*Exception](err)
	if !ok {
		t.Fatalf("call of %s: got error %v, want an *Exception", name, err)
	}
	return v, x
}

func wantLog(t *testing.T, w *world, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, w.log); diff != "" {
		t.Errorf("what crossed the gate (-want +got):\n%s", diff)
	}
}

func TestOrderOfAnApprovedCall(t *testing.T) {
	w := newWorld()
	w.decide, w.answer = verdict(call.Ask), answer(yes)
	v, x := use(t, w.run(), 1, "fs__write", `{ "path": "a" }`)
	if x != nil || string(v) != `"ok"` {
		t.Fatalf("got %s, %v; want \"ok\"", v, x)
	}
	wantLog(t, w,
		`decide fs__write {"path":"a"}: ask`,
		`ask fs__write {"path":"a"}`,
		`decide fs__write {"path":"a"}: ask`,
		`record running`,
		`send fs__write {"path":"a"}`,
		`record ok`,
	)
	if e := w.entries[0]; e.DecidedBy.How != "person" || e.DecidedBy.Channel != "elicitation" || e.Verdict != "ask" ||
		e.Args.RawExecuted.String() != `{"path":"a"}` {
		t.Errorf("the running entry says %+v", e)
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name   string
		setup  func(w *world)
		args   string
		reason string
		rule   any
		detail string
		log    []string
	}{
		{
			name:  "a denied call is recorded and not sent",
			setup: func(w *world) { w.decide = verdict(call.Deny) },
			args:  `{}`, reason: "denied", rule: "the-rule",
			log: []string{"decide fs__write {}: deny", "record refused denied"},
		},
		{
			name: "a denial keeps its own code and words",
			setup: func(w *world) {
				w.decide = func(*call.Tool, json.RawMessage) call.Decision {
					return call.Decision{Code: call.CodeLimit, Reasons: []call.Reason{{Text: "20 asks"}}}
				}
			},
			args: `{}`, reason: "limit", detail: "20 asks",
			log: []string{"decide fs__write {}: deny", "record refused limit"},
		},
		{
			name:  "a person's no stops it, in the person's words",
			setup: func(w *world) { w.decide, w.answer = verdict(call.Ask), answer(no) },
			args:  `{}`, reason: "elicitation_declined", rule: "the-rule",
			detail: "a person was asked and refused; the person's words: not today",
			log:    []string{"decide fs__write {}: ask", "ask fs__write {}", "record refused elicitation_declined"},
		},
		{
			name:  "an empty answer is a no by nobody",
			setup: func(w *world) { w.decide, w.answer = verdict(call.Ask), answer(call.Answer{}) },
			args:  `{}`, reason: "no_approver", rule: "the-rule",
			detail: "it needs a person's approval and nobody could be asked",
			log:    []string{"decide fs__write {}: ask", "ask fs__write {}", "record refused no_approver"},
		},
		{
			name:   "arguments with a key twice are decided by nobody",
			args:   `{"a":1,"\u0061":2}`,
			reason: "bad_arguments", detail: "the arguments are not strict JSON: the same key twice in one object, at byte 7",
			log: []string{"record refused bad_arguments"},
		},
		{
			name: "a profile that tightens during the question wins over the yes",
			setup: func(w *world) {
				w.decide = verdict(call.Ask)
				w.answer = func(context.Context, *Question) call.Answer { w.decide = verdict(call.Deny); return yes }
			},
			args: `{}`, reason: "policy_changed", rule: "the-rule",
			detail: "the profile changed while a person was asked and denies it now: rule the-rule, p.json:3",
			log: []string{"decide fs__write {}: ask", "ask fs__write {}", "decide fs__write {}: deny",
				"record refused policy_changed"},
		},
		{
			name: "another tool under the same name is not what the person saw",
			setup: func(w *world) {
				w.decide = verdict(call.Ask)
				w.answer = func(context.Context, *Question) call.Answer {
					w.tools["fs__write"] = &call.Tool{Server: "fs", Raw: "write", Name: "fs__write", Digest: "d2"}
					return yes
				}
			},
			args: `{}`, reason: "policy_changed",
			detail: "the tool's definition changed while the call waited for a person; call it again",
			log:    []string{"decide fs__write {}: ask", "ask fs__write {}", "record refused policy_changed"},
		},
		{
			name: "a tool that goes away during the question is not called",
			setup: func(w *world) {
				w.decide = verdict(call.Ask)
				w.answer = func(context.Context, *Question) call.Answer { delete(w.tools, "fs__write"); return yes }
			},
			args: `{}`, reason: "policy_changed", detail: "the tool disappeared while the call waited for a person",
			log: []string{"decide fs__write {}: ask", "ask fs__write {}", "record refused policy_changed"},
		},
		{
			name: "what cannot be recorded does not happen",
			setup: func(w *world) {
				w.record = func(e call.Entry) error { return errors.New("disk full") }
			},
			args: `{}`, reason: "denied", detail: "it could not be recorded, and what cannot be recorded does not happen",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			if tt.setup != nil {
				tt.setup(w)
			}
			r := w.run()
			_, x := use(t, r, 1, "fs__write", tt.args)
			if x == nil {
				t.Fatal("the call went through")
			}
			if tt.detail == "" {
				tt.detail, _ = x.Props["detail"].(string)
			}
			want := map[string]any{"toolName": "fs__write", "reason": tt.reason, "detail": tt.detail, "retryable": false}
			if tt.rule != nil {
				want["rule"] = tt.rule
			}
			if diff := cmp.Diff(want, x.Props); diff != "" || x.Class != ToolCallDenied {
				t.Errorf("exception %s (-want +got):\n%s", x.Class, diff)
			}
			wantLog(t, w, tt.log...)
			reports := r.End()
			if len(reports) != 1 || reports[0].State != Refused || reports[0].Reason != tt.reason {
				t.Errorf("reports: %+v", reports)
			}
		})
	}
}

func TestGateWithoutPowers(t *testing.T) {
	w := newWorld()
	gate := NewGate(Deps{Tools: w, Recorder: w, Sender: w})
	_, x := use(t, gate.Run(RunInfo{}), 1, "fs__read", `{}`)
	if x == nil || x.Props["reason"] != "denied" {
		t.Errorf("a run without a policy: got %v, want a denial", x)
	}
	w.decide = verdict(call.Ask)
	_, x = use(t, gate.Run(RunInfo{Policy: w}), 1, "fs__read", `{}`)
	if x == nil || x.Props["reason"] != "no_approver" {
		t.Errorf("a run without a prompter: got %v, want no_approver", x)
	}
	if n := w.sent(); n != 0 {
		t.Errorf("%d calls were sent", n)
	}
}

func TestSameCallIsAskedOnceAfterARefusal(t *testing.T) {
	w := newWorld()
	w.decide, w.answer = verdict(call.Ask), answer(no)
	r := w.run()
	for id, args := range []string{`{"n":1}`, `{ "n": 1 }`, `{"n":2}`} {
		if _, x := use(t, r, id+1, "fs__write", args); x.Props["reason"] != "elicitation_declined" {
			t.Errorf("call %d: %v", id+1, x)
		}
	}
	wantLog(t, w,
		`decide fs__write {"n":1}: ask`, `ask fs__write {"n":1}`, `record refused elicitation_declined`,
		`decide fs__write {"n":1}: ask`, `record refused elicitation_declined`,
		`decide fs__write {"n":2}: ask`, `ask fs__write {"n":2}`, `record refused elicitation_declined`,
	)
	w.log = nil
	use(t, w.run(), 1, "fs__write", `{"n":1}`)
	if len(w.log) < 2 || w.log[1] != `ask fs__write {"n":1}` {
		t.Errorf("another run was not asked: %q", w.log)
	}
}

func TestTwoIdenticalCallsNeedTwoAnswers(t *testing.T) {
	w := newWorld()
	var asked, open int
	w.decide = verdict(call.Ask)
	w.answer = func(context.Context, *Question) call.Answer {
		if open++; open > 1 {
			t.Error("two questions of one run are open at once")
		}
		defer func() { open-- }()
		if asked++; asked == 1 {
			return yes
		}
		return no
	}
	r := w.run()
	var wg sync.WaitGroup
	for id := range 3 {
		wg.Go(func() { r.Call(t.Context(), Invocation{ID: id + 1, Name: "fs__write", Args: json.RawMessage(`{}`)}) })
	}
	wg.Wait()
	if asked != 2 || w.sent() != 1 {
		t.Errorf("asked %d times and sent %d calls; want 2 questions (yes, then no) and 1 call", asked, w.sent())
	}
}

func TestSchemaComesAfterDenials(t *testing.T) {
	w := newWorld()
	w.tools["fs__write"].Validate = func(context.Context, call.Arguments) error {
		return &ArgumentError{Path: "/path", Expected: "string", Got: "number"}
	}
	w.decide, w.answer = verdict(call.Ask), answer(yes)
	_, x := use(t, w.run(), 1, "fs__write", `{"path":1}`)
	want := &Exception{Class: InvalidArguments, Message: "fs__write: /path: expected string, got number",
		Props: map[string]any{"toolName": "fs__write", "path": "/path", "expected": "string", "got": "number"}}
	if diff := cmp.Diff(want, x); diff != "" {
		t.Errorf("wrong arguments (-want +got):\n%s", diff)
	}
	w.decide = verdict(call.Deny)
	if _, x = use(t, w.run(), 1, "fs__write", `{"path":1}`); x.Class != ToolCallDenied {
		t.Errorf("a denied tool told its schema: %v", x)
	}
	if n := w.sent(); n != 0 {
		t.Errorf("%d calls were sent", n)
	}
}

func TestUnknownTools(t *testing.T) {
	w := newWorld()
	long := strings.Repeat("a", 100_000)
	for _, name := range []string{"fs__raed", "then", "toJSON", "FS__READ", "fs__read\x00", "fs__read ", "", long,
		"search_tools"} {
		_, x := use(t, w.run(), 1, name, `{}`)
		if x == nil || x.Class != toolNotFound {
			t.Errorf("%.20q: got %v, want %s", name, x, toolNotFound)
		} else if len(x.Message) > 400 {
			t.Errorf("%.20q: the message has %d bytes", name, len(x.Message))
		}
	}
	_, x := use(t, w.run(), 1, "fs__raed", `{}`)
	if diff := cmp.Diff(map[string]any{"toolName": "fs__raed", "nearest": []string{"fs__read"}}, x.Props); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	w.hidden = func(*call.Tool) bool { return true }
	_, x = use(t, w.run(), 1, "fs__raed", `{}`)
	if diff := cmp.Diff(map[string]any{"toolName": "fs__raed", "nearest": []string{}}, x.Props); diff != "" {
		t.Errorf("a denied tool was suggested (-want +got):\n%s", diff)
	}
}

func TestOutcomes(t *testing.T) {
	tests := []struct {
		name    string
		reply   func(ctx context.Context, t *call.Tool, args json.RawMessage) (*Reply, error)
		class   string
		outcome any
		state   State
		entry   string
	}{
		{name: "an answer", state: Done, entry: "ok"},
		{
			name: "the tool says that it failed",
			reply: func(context.Context, *call.Tool, json.RawMessage) (*Reply, error) {
				return nil, &ToolFailure{Message: "no such file", Content: []any{"text"}}
			},
			class: "ToolError", state: Failed, entry: "error",
		},
		{
			name: "the upstream dies in between",
			reply: func(context.Context, *call.Tool, json.RawMessage) (*Reply, error) {
				return nil, &SendError{Message: "connection lost", Unknown: true}
			},
			class: "UpstreamError", outcome: "unknown", state: Unknown, entry: "unknown",
		},
		{
			name: "the upstream is not there",
			reply: func(context.Context, *call.Tool, json.RawMessage) (*Reply, error) {
				return nil, &SendError{Message: "it cannot start"}
			},
			class: "UpstreamError", outcome: "not_sent", state: NotStarted, entry: "not_sent",
		},
		{
			name: "an error nobody knows counts as unknown",
			reply: func(context.Context, *call.Tool, json.RawMessage) (*Reply, error) {
				return nil, errors.New("strange")
			},
			class: "UpstreamError", outcome: "unknown", state: Unknown, entry: "unknown",
		},
		{
			name:  "no answer and no error counts as unknown",
			reply: func(context.Context, *call.Tool, json.RawMessage) (*Reply, error) { return nil, nil },
			class: "UpstreamError", outcome: "unknown", state: Unknown, entry: "unknown",
		},
		{
			name: "no answer in time",
			reply: func(ctx context.Context, _ *call.Tool, _ json.RawMessage) (*Reply, error) {
				<-ctx.Done()
				return nil, &SendError{Message: "gave up", Unknown: true, Err: ctx.Err()}
			},
			class: "UpstreamError", outcome: "unknown", state: Unknown, entry: "unknown",
		},
		{
			name:  "a sender that panics",
			reply: func(context.Context, *call.Tool, json.RawMessage) (*Reply, error) { panic("boom") },
			class: "Error", state: Unknown, entry: "unknown",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.reply = tt.reply
				r := w.run()
				start := time.Now()
				_, x := use(t, r, 1, "pay__send", `{}`)
				if tt.class == "" && x != nil || tt.class != "" && (x == nil || x.Class != tt.class ||
					x.Props["outcome"] != tt.outcome) {
					t.Errorf("got %+v, want class %q and outcome %v", x, tt.class, tt.outcome)
				}
				if waited := time.Since(start); waited > DefaultCallTimeout {
					t.Errorf("took %v", waited)
				}
				if e := w.entries[len(w.entries)-1]; e.Kind != call.KindCall || e.State != tt.entry {
					t.Errorf("the last entry is %+v", e)
				}
				if got := r.End(); len(got) != 1 || got[0].State != tt.state {
					t.Errorf("reports: %+v, want state %q", got, tt.state)
				}
			})
		})
	}
}

func TestWhatAnEndedRunReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.decide = func(tool *call.Tool, _ json.RawMessage) call.Decision {
			switch tool.Name {
			case "fs__write":
				return call.Decision{Verdict: call.Ask}
			case "pay__send":
				return call.Decision{Verdict: call.Allow}
			}
			return call.Decision{Verdict: call.Allow}
		}
		w.answer = func(ctx context.Context, q *Question) call.Answer {
			<-ctx.Done()
			return yes // too late
		}
		w.reply = func(ctx context.Context, tool *call.Tool, _ json.RawMessage) (*Reply, error) {
			if tool.Name == "pay__send" {
				<-ctx.Done()
				return nil, &SendError{Message: "connection lost", Unknown: true}
			}
			return &Reply{Value: json.RawMessage(`1`)}, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		r := w.run()
		for id, name := range []string{"fs__read", "pay__send", "fs__write", "fs__write"} {
			go r.Call(ctx, Invocation{ID: id + 1, Name: name, Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, id))})
		}
		synctest.Wait()
		reports := r.End()
		cancel()
		synctest.Wait()
		want := []Report{
			{Call: 1, Tool: "fs__read", State: Done},
			{Call: 2, Tool: "pay__send", State: Unknown, Detail: "the run ended before the upstream answered"},
			{Call: 3, Tool: "fs__write", State: NotStarted, Detail: RunEnded},
			{Call: 4, Tool: "fs__write", State: NotStarted, Detail: RunEnded},
		}
		for _, got := range [][]Report{reports, r.End()} {
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Report{}, "Took")); diff != "" {
				t.Errorf("reports (-want +got):\n%s", diff)
			}
		}
		if w.sent() != 2 {
			t.Errorf("%d calls were sent, want 2", w.sent())
		}
		if _, err := r.Call(t.Context(), Invocation{ID: 5, Name: "fs__read"}); err == nil {
			t.Error("a call after the end went through")
		}
		outcomes := map[string]string{}
		for _, e := range w.entries {
			if e.State != call.Running && e.State != call.Refused {
				outcomes[e.Tool] = e.State
			}
		}
		if diff := cmp.Diff(map[string]string{"fs__read": "ok", "pay__send": "unknown"}, outcomes); diff != "" {
			t.Errorf("outcomes in the record (-want +got):\n%s", diff)
		}
	})
}

func TestClockStopsWhileAPersonIsAwaited(t *testing.T) {
	w := newWorld()
	w.decide, w.answer = verdict(call.Ask), answer(yes)
	pause := func() func() {
		w.note("pause")
		return func() { w.note("resume") }
	}
	_, err := w.run().Call(t.Context(), Invocation{ID: 1, Name: "fs__write", Args: json.RawMessage("null"), Pause: pause})
	if err != nil {
		t.Fatal(err)
	}
	wantLog(t, w, "decide fs__write {}: ask", "pause", "ask fs__write {}", "decide fs__write {}: ask", "resume",
		"record running", "send fs__write {}", "record ok")
}

func TestNewGatePanicsWithoutItsParts(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a gate without a recorder was built")
		}
	}()
	w := newWorld()
	NewGate(Deps{Tools: w, Sender: w})
}

func TestWhatIsCountedBeforeACall(t *testing.T) {
	w := newWorld()
	var seen []Counters
	policy := counting{w, &seen}
	r := NewGate(Deps{Tools: w, Recorder: w, Sender: w}).Run(RunInfo{Policy: policy, Prompter: w})
	w.answer = answer(no)
	use(t, r, 1, "fs__read", `{}`)
	use(t, r, 2, "fs__read", `{}`)
	use(t, r, 3, "fs__write", `{}`) // asked and refused
	w.answer = answer(yes)
	use(t, r, 4, "fs__write", `{"n":1}`) // asked and allowed: decided twice, with the same numbers
	want := []Counters{
		{},
		{Calls: 1, Repeat: 1},
		{Calls: 2},
		{Calls: 3, Asks: 1, Refusals: 1},
		{Calls: 3, Asks: 1, Refusals: 1, Asked: true},
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// counting is a policy that asks before writing and notes what it is told.
type counting struct {
	*world
	seen *[]Counters
}

func (c counting) Decide(t *call.Tool, _ call.Arguments, n Counters) call.Decision {
	*c.seen = append(*c.seen, n)
	if t.Name == "fs__write" {
		return call.Decision{Verdict: call.Ask}
	}
	return call.Decision{Verdict: call.Allow}
}

// While one question is open a second call waits; the profile changes meanwhile.
func TestQueuedCallIsDecidedAgain(t *testing.T) {
	for _, tt := range []struct {
		name string
		then call.Verdict
		sent int
		log  string
	}{
		{"a profile that denies by then", call.Deny, 0, "record refused denied"},
		{"a profile that allows by then", call.Allow, 1, "record ok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.decide = verdict(call.Ask)
				open := make(chan struct{})
				asked := 0
				w.answer = func(context.Context, *Question) call.Answer {
					asked++
					<-open
					return no
				}
				r := w.run()
				var wg sync.WaitGroup
				wg.Go(func() { r.Call(t.Context(), Invocation{ID: 1, Name: "fs__write", Args: json.RawMessage(`{"n":1}`)}) })
				synctest.Wait()
				wg.Go(func() { r.Call(t.Context(), Invocation{ID: 2, Name: "fs__write", Args: json.RawMessage(`{"n":2}`)}) })
				synctest.Wait()
				w.decide = verdict(tt.then)
				close(open)
				wg.Wait()
				if asked != 1 || w.sent() != tt.sent || !slices.Contains(w.log, tt.log) { // the two calls end in either order
					t.Errorf("asked %d times, sent %d: %q", asked, w.sent(), w.log)
				}
			})
		})
	}
}

func TestRefusalsByPeopleAreReported(t *testing.T) {
	w := newWorld()
	w.decide, w.answer = verdict(call.Ask), answer(no)
	var told []int
	r := NewGate(Deps{Tools: w, Recorder: w, Sender: w}).Run(RunInfo{Policy: w, Prompter: w,
		Refused: func(n int) { told = append(told, n) }})
	use(t, r, 1, "fs__write", `{"n":1}`)
	use(t, r, 2, "fs__write", `{"n":1}`) // the same call: nobody is asked
	use(t, r, 3, "fs__write", `{"n":2}`)
	w.answer = answer(call.Answer{How: "none", Code: call.CodeTimeout})
	use(t, r, 4, "fs__write", `{"n":3}`) // no person said no
	if diff := cmp.Diff([]int{1, 2}, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestManyBlocks(t *testing.T) {
	w := newWorld()
	const size = 3 << 20
	w.reply = func(_ context.Context, _ *call.Tool, args json.RawMessage) (*Reply, error) {
		var a struct{ N int }
		if err := json.Unmarshal(args, &a); err != nil {
			t.Error(err)
		}
		return &Reply{Value: json.RawMessage(`1`), Blocks: map[string]json.RawMessage{
			fmt.Sprintf("H%02d", a.N): json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`),
		}}, nil
	}
	r := w.run()
	for i := range 30 {
		if _, x := use(t, r, i+1, "fs__read", fmt.Sprintf(`{"n":%d}`, i)); x != nil {
			t.Fatal(x)
		}
		if i == 0 {
			if _, x := use(t, r, 99, "emit", `{"$block":"H00"}`); x != nil {
				t.Fatal(x)
			}
		}
	}
	// What came first is gone, but for what was emitted.
	if _, x := use(t, r, 99, "emit", `{"$block":"H01"}`); x == nil || x.Class != InvalidArguments {
		t.Errorf("a block of long ago: got %v", x)
	}
	// One answer has room for five of them.
	for i, want := range []bool{true, true, true, true, false} {
		_, x := use(t, r, 99, "emit", fmt.Sprintf(`{"$block":"H%02d"}`, 29-i))
		if (x == nil) != want {
			t.Errorf("emitting one more: got %v, want that it goes through: %v", x, want)
		}
	}
	blocks, left := r.Blocks(json.RawMessage(`["H24","H25"]`))
	if len(blocks) != 5 || left != 2 {
		t.Errorf("%d blocks and %d left out, want 5 and 2", len(blocks), left)
	}
}

func TestBlocks(t *testing.T) {
	w := newWorld()
	w.reply = func(context.Context, *call.Tool, json.RawMessage) (*Reply, error) {
		return &Reply{Value: json.RawMessage(`[{"$block":"ID1"},{"$block":"ID2"}]`), Blocks: map[string]json.RawMessage{
			"ID1": json.RawMessage(`{"type":"image"}`), "ID2": json.RawMessage(`{"type":"audio"}`),
		}}, nil
	}
	handles := func(blocks []Block, _ int) (out []string) {
		for _, b := range blocks {
			out = append(out, b.Handle)
		}
		return out
	}
	r := w.run()
	if _, x := use(t, r, 1, "emit", `{"$block":"ID1"}`); x == nil || x.Class != InvalidArguments {
		t.Errorf("a handle that no tool gave was emitted: %v", x)
	}
	use(t, r, 2, "fs__read", `{}`)
	if diff := cmp.Diff([]string{"ID2"}, handles(r.Blocks(json.RawMessage(`{"x":[{"$block":"ID2"}]}`)))); diff != "" {
		t.Errorf("returned (-want +got):\n%s", diff)
	}
	for _, args := range []string{`{"$block":"other"}`, `"ID1"`, `null`, `[{"$block":"ID1"},7]`} {
		if _, x := use(t, r, 3, "emit", args); x == nil {
			t.Errorf("emit(%s) went through", args)
		}
	}
	if _, x := use(t, r, 4, "emit", `[{"$block":"ID1"}]`); x != nil {
		t.Fatal(x)
	}
	if diff := cmp.Diff([]string{"ID1"}, handles(r.Blocks(nil))); diff != "" {
		t.Errorf("emitted (-want +got):\n%s", diff)
	}
	if reports := r.End(); len(reports) != 1 {
		t.Errorf("emit was reported as a call: %+v", reports)
	}
	if n := r.Seen(); n != 7 {
		t.Errorf("seen %d invocations, want 7", n)
	}
}

// The document says what each reason means for a program, and that a refusal which comes in a few milliseconds is
// nobody's, for which no fallback stands in.
func TestTheDocumentHasEveryReason(t *testing.T) {
	text, err := os.ReadFile("../docs/reference/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	document := strings.Join(strings.Fields(string(text)), " ")
	for _, reason := range []string{
		call.CodeDenied, call.CodeBadArguments, call.CodeLimit, reasonPolicy, reasonDeclined, reasonUnsupported,
		reasonNoApprover, reasonTimeout, ReasonCanceled,
	} {
		if !strings.Contains(document, "`"+reason+"`") {
			t.Errorf("docs/reference/errors.md does not say what %s is", reason)
		}
	}
	for _, words := range []string{
		"a client that declines by itself, after 5 ms for example, gives `no_approver` and not `elicitation_declined`",
		"A refusal that came too fast is no such case, so the call stays refused",
	} {
		if !strings.Contains(document, words) {
			t.Errorf("docs/reference/errors.md does not say: %s", words)
		}
	}
}

// Rules that change under each yes end in a refusal, not in questions without end; and whoever waits for an approved
// call is not left waiting while the next question is open.
func TestRulesThatChangeUnderEachYes(t *testing.T) {
	w := newWorld()
	n := 0
	w.decide = func(*call.Tool, json.RawMessage) call.Decision {
		return call.Decision{Verdict: call.Ask, Risk: call.Medium, Reasons: []call.Reason{{Text: strconv.Itoa(n)}}}
	}
	var again []string
	w.answer = func(_ context.Context, q *Question) call.Answer { n++; again = append(again, q.Again); return yes }
	_, x := use(t, w.run(), 1, "fs__write", `{}`)
	if x == nil || x.Props["reason"] != reasonPolicy || len(again) != mostQuestions || again[0] != "" ||
		again[1] != "they give other reasons: 1" {
		t.Errorf("got %v after the questions %q", x, again)
	}
	if slices.ContainsFunc(w.log, func(line string) bool { return strings.HasPrefix(line, "send") }) {
		t.Errorf("it was sent: %q", w.log)
	}
}

// Arguments that are no object are the program's mistake, not a refusal, unless the program may not know the tool.
// Nothing is decided in favour of such a call.
func TestArgumentsThatAreNoObject(t *testing.T) {
	for _, args := range []string{`3`, `"a"`, `[1]`, `true`, `"{\"path\":1}"`} {
		for _, test := range []struct {
			hidden bool
			decide call.Verdict
			class  string
		}{
			{false, call.Allow, InvalidArguments},
			{false, call.Deny, InvalidArguments},
			{true, call.Deny, ToolCallDenied},
			{true, call.Allow, ToolCallDenied},
		} {
			w := newWorld()
			w.hidden = func(*call.Tool) bool { return test.hidden }
			w.decide = verdict(test.decide)
			if _, x := use(t, w.run(), 1, "fs__write", args); x == nil || x.Class != test.class {
				t.Errorf("%s, hidden %v: got %v, want %s", args, test.hidden, x, test.class)
			}
			if w.sent() != 0 || len(w.entries) != 1 || w.entries[0].State == call.Running {
				t.Errorf("%s: sent %d, recorded %+v", args, w.sent(), w.entries)
			}
		}
	}
}

// What is left out of the arguments is left out of everything: the decision, the question, the record, the call.
func TestNullsAreLeftOutBeforeTheDecision(t *testing.T) {
	w := newWorld()
	w.decide, w.answer = verdict(call.Ask), answer(yes)
	w.tools["fs__write"].WithoutNulls = func(context.Context, call.Arguments, []string) (json.RawMessage, bool) {
		return json.RawMessage(`{"path":"a"}`), true
	}
	if _, x := use(t, w.run(), 1, "fs__write", `{"path":"a","mode":null}`); x != nil {
		t.Fatal(x)
	}
	wantLog(t, w, `decide fs__write {"path":"a"}: ask`, `ask fs__write {"path":"a"}`, `decide fs__write {"path":"a"}: ask`,
		`record running`, `send fs__write {"path":"a"}`, `record ok`)
	frozen, err := call.Freeze(json.RawMessage(`{"path":"a"}`), 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range w.entries {
		if a := e.Args; a != nil && (a.RawProposed.Digest() != frozen.Digest() || a.RawExecuted.Digest() != frozen.Digest()) {
			t.Errorf("recorded %+v", e.Args)
		}
	}
}
