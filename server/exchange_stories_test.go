package server_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/server"
)

// POLICY.md C3: a program that asks twelve times one after another comes to its end with a client that gives up after
// nine rounds.
func TestC3NeverMoreThanNineRounds(t *testing.T) {
	const program = `
		const seen = [];
		for (let i = 0; i < 12; i++) {
			try { await codemode.filesystem__write_file({path: i + ".md", content: "x"}); seen.push("ok") } catch (e) { seen.push(e.reason) }
		}
		return seen.join(" ")`
	const config = `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["filesystem__write_file"], "limits": {"asksPerMinute": 100}}}}}`
	agrees := func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return yes, nil }
	for name, connect := range map[string]func(h *house) *client{
		"in memory": func(h *house) *client { return h.connect(agrees, "2026-07-28") },
		"over HTTP": func(h *house) *client { return h.connectHTTPOn(h.listen(), agrees, "2026-07-28") },
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, config, server.Options{})
			c := connect(h)
			text, failed := c.eval("codemode_eval", program)
			want := strings.TrimSpace(strings.Repeat("ok ", approvals.MaxRounds) + strings.Repeat("too_many_asks ",
				12-approvals.MaxRounds))
			if failed || !strings.HasPrefix(below(text), `"`+want+`"`) {
				t.Errorf("got\n%s", text)
			}
			if n := len(c.questions()); n != approvals.MaxRounds {
				t.Errorf("%d questions", n)
			}
		})
	}
}

// What a client cannot show is not sent to it, and what it can is what its last request says.
func TestOnlyWhatTheClientCanShowIsSent(t *testing.T) {
	h := open(t, asksForWrites, server.Options{})
	url := h.listen()
	for name, capability := range map[string]*mcp.ElicitationCapabilities{"nothing": nil,
		"pages alone": {URL: &mcp.URLElicitationCapabilities{}}} {
		w := h.walk(url, "", func(o *mcp.ClientOptions) {
			o.ElicitationHandler = nil
			o.Capabilities = &mcp.ClientCapabilities{Elicitation: capability}
		})
		if l := w.begin(attempt(writeNew)); !strings.Contains(l.text, "elicitation_unsupported") {
			t.Errorf("a client that can show %s: %v", name, l)
		}
	}
	able := h.walk(url, "", nil)
	first := able.begin(attempt(writeNew))
	if first.form == nil {
		t.Fatal(first)
	}
	// The same caller comes back without the answer and without being able to show a form any more.
	unable := h.walk(url, "", func(o *mcp.ClientOptions) { o.ElicitationHandler = nil })
	unable.args = able.args
	if l := unable.back(first, nil); !strings.Contains(l.text, "elicitation_unsupported") || h.holds("new.md") {
		t.Errorf("came back unable: %v", l)
	}
}

// A client that hangs up while a program runs cancels it. One that is away to ask its person does not.
func TestHangingUp(t *testing.T) {
	b := serveBusybody(t, false)
	h := open(t, strings.Replace(asksForWrites, `{"evaluation"`,
		fmt.Sprintf(`{"mcpServers": {"busy": {"url": %q}}, "evaluation"`, b.url), 1), server.Options{})
	url := h.listen()
	const program = `await codemode.filesystem__write_file({path: "new.md", content: "x"}); await codemode.busy__hang({}); return "not reached"`

	w := h.walk(url, "", nil)
	first := w.begin(program)
	w.Close() // between legs: the run waits for its answer
	again := h.walk(url, "", nil)
	again.args = w.args
	ctx, hangUp := context.WithCancel(t.Context())
	go func() {
		soon(t, "the call to begin", b.started)
		hangUp()
	}()
	if l := again.leg(ctx, first.state, yes); l.err == nil || !h.holds("new.md") {
		t.Errorf("the leg that was hung up: %v", l)
	}
	soon(t, "the call to be canceled", b.canceled)
	var last leg
	eventually(t, "the run's end", func() bool {
		last = again.back(first, yes)
		return last.text != ""
	})
	if !strings.Contains(last.text, "canceled") {
		t.Errorf("what is left of it: %v", last)
	}
}

// A profile that is removed while its question is open takes no new calls, and the one that is under way is come back
// to.
func TestARemovedProfileIsComeBackTo(t *testing.T) {
	const with = `{"evaluation": {"profiles": {"q": {}, "p": {"asklist": ["filesystem__write_file"]}}}}`
	h := open(t, with, server.Options{})
	w := h.walk(h.listen(), "", nil)
	w.tool = "codemode_eval_p"
	first := w.begin(attempt(writeNew))
	h.write(`{"evaluation": {"profiles": {"q": {}}}}`)
	names := func() string {
		var names []string
		for tool, err := range w.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, tool.Name)
		}
		return strings.Join(names, " ")
	}
	eventually(t, "the tool to go", func() bool { return !strings.Contains(names(), "codemode_eval_p") })
	if l := w.leg(t.Context(), "", nil); l.err == nil || !strings.Contains(l.err.Error(), "unknown tool") {
		t.Errorf("a new call: %v", l)
	}
	if l := w.back(first, yes); !strings.Contains(l.text, "policy_changed") || h.holds("new.md") {
		t.Errorf("the call that was under way: %v", l)
	}
	h.write(with)
	eventually(t, "the tool to come back", func() bool { return strings.Contains(names(), "codemode_eval_p") })
	if l := w.begin(attempt(writeNew)); l.form == nil {
		t.Errorf("a new call: %v", l)
	}
}

// A question that nobody answers in time is over; the run goes on and what came of it is kept. A late answer changes
// nothing.
func TestC11LateAnswersOverRoundTrips(t *testing.T) {
	h := open(t, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["filesystem__write_file"], "ask": {"timeout": "300ms"}}}}}`, server.Options{})
	w := h.walk(h.listen(), "", nil)
	first := w.begin(attempt(writeNew))
	time.Sleep(time.Second) // longer than the question may wait, over a real connection
	for range 2 {
		if l := w.back(first, yes); !strings.HasPrefix(below(l.text),
			`"ToolCallDeniedError filesystem__write_file timeout false"`) || h.holds("new.md") {
			t.Errorf("after its time: %v", l)
		}
	}
	late := func() (n int) {
		for _, e := range h.evaluator.Record().Journal().Entries() {
			if e.State == "late_answer" {
				n++
			}
		}
		return n
	}
	eventually(t, "the late answer to be recorded", func() bool { return late() > 0 }) // nobody waits for that
	if n := late(); n != 1 {
		t.Errorf("%d late answers in the record", n)
	}
}

// Questions of upstreams take the same way, one at a time with those of codemode, and count as rounds.
func TestUpstreamsAskOverRoundTrips(t *testing.T) {
	for _, version := range []bool{false, true} {
		b := serveBusybody(t, version)
		h := open(t, b.config(), server.Options{})
		w := h.walk(h.listen(), "", nil)
		first := w.begin(`return await codemode.busy__ask({message: "Which colour?"})`)
		if first.form == nil || !strings.Contains(first.form.Message, `The server "busy" asks`) ||
			!strings.Contains(first.form.Message, "Which colour?") {
			t.Fatalf("stateless %v: %v", version, first)
		}
		last := w.back(first, &mcp.ElicitResult{Action: "accept", Content: map[string]any{"colour": "blue"}})
		if !strings.Contains(last.text, "accept blue") {
			t.Errorf("stateless %v: %v", version, last)
		}
	}
}

// POLICY.md C1 over stdio: the client's end ends its calls.
func TestTheEndOfASessionEndsItsCalls(t *testing.T) {
	t.Parallel() // it waits
	b := serveBusybody(t, false)
	h := open(t, b.config(), server.Options{})
	c := h.connect(nil, "2026-07-28")
	go c.CallTool(context.Background(), &mcp.CallToolParams{Name: "codemode_eval",
		Arguments: map[string]any{"code": `await codemode.busy__hang({})`}})
	soon(t, "the call to begin", b.started)
	c.Close()
	soon(t, "the call to be canceled", b.canceled)
}

// Calls begin and end while the tools that are offered change.
func TestCallsWhileToolsChange(t *testing.T) {
	config := func(n int) string {
		return fmt.Sprintf(`{"evaluation": {"profiles": {"p": {"limits": {"cpu": "%dms"}}}}}`, 1000+n)
	}
	h := open(t, config(0), server.Options{})
	var calling sync.WaitGroup
	for range 4 {
		c := h.connect(nil, "")
		calling.Go(func() {
			for range 200 {
				c.want("codemode_eval_p", "return 1", "1")
			}
		})
	}
	done := make(chan struct{})
	go func() { calling.Wait(); close(done) }()
	for n := 1; ; n++ {
		h.write(config(n))
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}
