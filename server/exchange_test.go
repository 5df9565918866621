package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode/internal/mcptest"
	"github.com/codemode-project/codemode/server"
)

// asksForWrites is a configuration whose profile asks before anything is written.
const asksForWrites = `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["filesystem__write_file"]}}}}`

// A walker is a client on MCP 2026-07-28 that goes each leg of a call by itself.
type walker struct {
	t *testing.T
	*mcp.ClientSession
	tool string
	args map[string]any
}

// walk connects such a client; token "" sends none.
func (h *house) walk(url, token string, change func(*mcp.ClientOptions)) *walker {
	h.t.Helper()
	_, sdk := newClient(h.t, says("accept", nil), func(o *mcp.ClientOptions) {
		o.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
		if change != nil {
			change(o)
		}
	})
	session, err := sdk.Connect(h.t.Context(), &mcp.StreamableClientTransport{Endpoint: url,
		HTTPClient: mcptest.Bearer(token)}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { session.Close() })
	return &walker{t: h.t, ClientSession: session, tool: "codemode_eval"}
}

// A leg is how a request ended.
type leg struct {
	text   string // of the result; "" if there is a question
	failed bool
	form   *mcp.ElicitParams
	state  string
	err    error
}

func (l leg) String() string {
	return fmt.Sprintf("text %q, question %v, error %v", l.text, l.form != nil, l.err)
}

// go1 goes one leg; state and answer are "" and nil in the first.
func (w *walker) leg(ctx context.Context, state string, answer *mcp.ElicitResult) leg {
	w.t.Helper()
	p := &mcp.CallToolParams{Name: w.tool, Arguments: w.args, RequestState: state}
	if answer != nil {
		p.InputResponses = mcp.InputResponseMap{"answer": answer}
	}
	res, err := w.CallTool(ctx, p)
	if err != nil {
		return leg{err: err}
	}
	l := leg{state: res.RequestState, failed: res.IsError}
	if res.NeedsInput() {
		if len(res.InputRequests) != 1 {
			w.t.Fatalf("%d questions at once, which clients show as that many dialogs", len(res.InputRequests))
		}
		l.form, _ = res.InputRequests["answer"].(*mcp.ElicitParams)
		return l
	}
	l.text = res.Content[0].(*mcp.TextContent).Text
	return l
}

// begin sends a program and returns the first leg.
func (w *walker) begin(code string) leg {
	w.t.Helper()
	w.args = map[string]any{"code": code}
	return w.leg(w.t.Context(), "", nil)
}

// back comes back with an answer.
func (w *walker) back(l leg, answer *mcp.ElicitResult) leg {
	w.t.Helper()
	return w.leg(w.t.Context(), l.state, answer)
}

func says1(decision string) *mcp.ElicitResult {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision}}
}

var yes = says1("allow_once")

// refusedAs reports whether a leg ended as one with a state that is not accepted, for a reason.
func (l leg) refusedAs(reason string) bool {
	wire, ok := errors.AsType[*jsonrpc.Error](l.err)
	return ok && wire.Code == jsonrpc.CodeInvalidParams && strings.Contains(wire.Message, "requestState: "+reason)
}

// The reasons for which a state is not accepted.
const (
	forged    = "it was not made by this server"
	foreign   = "it belongs to somebody else"
	otherTool = "it belongs to a call of another tool"
	otherArgs = "it belongs to a call with other arguments"
	answered  = "its question was answered before"
	notHere   = "the run that it belongs to is not here any more"
)

const writeTwice = `
	await codemode.filesystem__write_file({path: "1.md", content: "x"});
	const told = [];
	try { await codemode.filesystem__write_file({path: "2.md", content: "x"}) } catch (e) { told.push(e.reason) }
	return ["done", ...told].join(" ")`

// A question ends the request; the retry goes on with the very run, and so on until the result.
func TestRoundTrips(t *testing.T) {
	h := open(t, asksForWrites, server.Options{})
	w := h.walk(h.listen(), "", nil)
	first := w.begin(writeTwice)
	if first.form == nil || !strings.Contains(first.form.Message, "1.md") || first.text != "" {
		t.Fatalf("the first leg: %v", first)
	}
	if h.holds("1.md") {
		t.Fatal("it was written before anybody answered")
	}
	second := w.back(first, yes)
	if second.form == nil || !strings.Contains(second.form.Message, "2.md") || !h.holds("1.md") {
		t.Fatalf("the second leg: %v", second)
	}
	time.Sleep(350 * time.Millisecond) // a faster no would count as nobody's
	last := w.back(second, says1("deny"))
	if !strings.HasPrefix(below(last.text), `"done elicitation_declined"`) || last.failed || h.holds("2.md") {
		t.Fatalf("the last leg: %v", last)
	}
}

// POLICY.md C17: the same retry sent again, because its response was lost, gets the same; nothing happens twice.
func TestC17TheSameRetryTwice(t *testing.T) {
	h := open(t, asksForWrites, server.Options{})
	w := h.walk(h.listen(), "", nil)
	const counted = `
		await codemode.filesystem__write_file({path: "1.md", content: "x"});
		await codemode.filesystem__move_file({source: "1.md", destination: "moved.md"}); // fails the second time
		await codemode.filesystem__write_file({path: "2.md", content: "x"});
		return "done"`
	first := w.begin(counted)
	both := make(chan leg, 2)
	for range 2 {
		go func() { both <- w.back(first, yes) }()
	}
	second, again := <-both, <-both
	if second.form == nil || second.state != again.state {
		t.Fatalf("the retries got %v and %v", second, again)
	}
	if once := w.back(first, yes); once.state != second.state {
		t.Errorf("a third time: %v", once)
	}
	for range 2 {
		if last := w.back(second, yes); !strings.HasPrefix(last.text, `"done"`) {
			t.Errorf("the last leg: %v", last)
		}
	}
	// The first state is two rounds old by now, and another answer to the second is one too many.
	if l := w.back(first, yes); !l.refusedAs(answered) {
		t.Errorf("an old state: %v", l)
	}
	if l := w.back(second, says1("deny")); !l.refusedAs(answered) {
		t.Errorf("another answer: %v", l)
	}
}

// THREATS.md A22: a state that was changed, or that belongs to another caller, tool or call, does nothing, and the
// rightful retry works afterwards.
func TestA22StatesThatAreNotAccepted(t *testing.T) {
	h := open(t, `{"evaluation": {"defaultProfile": "p", "profiles": {"p": {"asklist": ["filesystem__write_file"]}, "q": {}}},
		"http": {"tokens": [{"token": "${ANNA}", "principal": "anna"}, {"token": "${BERT}", "principal": "bert"}]}}`, server.Options{})
	h.variables = map[string]string{"ANNA": "the token of anna", "BERT": "the token of bert"}
	h.variables["ANNA"], h.variables["BERT"] = strings.ReplaceAll(h.variables["ANNA"], " ", "-"),
		strings.ReplaceAll(h.variables["BERT"], " ", "-")
	url := h.listen()
	anna, bert := h.walk(url, h.variables["ANNA"], nil), h.walk(url, h.variables["BERT"], nil)
	first := anna.begin(writeTwice)
	bert.args = anna.args

	changed := func(at int) leg {
		state := []byte(first.state)
		state[at] ^= 1
		return leg{state: string(state)}
	}
	other := anna.begin(writeTwice)
	splice := leg{state: first.state[:len(first.state)/2] + other.state[len(other.state)/2:]}
	for name, test := range map[string]struct {
		got    leg
		reason string
	}{
		"made up":              {anna.back(leg{state: "v1.AAAA"}, yes), forged},
		"of another form":      {anna.back(leg{state: "run-1"}, yes), forged},
		"changed at the start": {anna.back(changed(5), yes), forged},
		"changed at the end":   {anna.back(changed(len(first.state)-1), yes), forged},
		"cut":                  {anna.back(leg{state: first.state[:len(first.state)-1]}, yes), forged},
		"longer":               {anna.back(leg{state: first.state + "A"}, yes), forged},
		"of two":               {anna.back(splice, yes), forged},
		"somebody else's":      {bert.back(first, yes), foreign},
		"of another tool": {(&walker{t: t, ClientSession: anna.ClientSession, tool: "codemode_eval_q",
			args: anna.args}).back(first, yes), otherTool},
		"of another program": {(&walker{t: t, ClientSession: anna.ClientSession, tool: "codemode_eval",
			args: map[string]any{"code": "return 1"}}).back(first, yes), otherArgs},
		"of none": {(&walker{t: t, ClientSession: anna.ClientSession, tool: "codemode_eval"}).back(first, yes),
			otherArgs},
	} {
		if !test.got.refusedAs(test.reason) {
			t.Errorf("%s: %v", name, test.got)
		}
	}
	if h.holds("1.md") {
		t.Fatal("it was written")
	}
	if log := h.log.String(); !strings.Contains(log, "not accepted") {
		t.Errorf("the log does not say so:\n%s", log)
	}
	if second := anna.back(first, yes); second.form == nil || !h.holds("1.md") {
		t.Errorf("the rightful retry: %v", second)
	}
}

// A retry without an answer is asked again, and may be repeated with its arguments written in another way.
func TestAMissingAnswerIsAskedForAgain(t *testing.T) {
	h := open(t, asksForWrites, server.Options{})
	w := h.walk(h.listen(), "", nil)
	first := w.begin(writeTwice)
	//lint:ignore SA1019 it is an answer of another kind
	for _, answer := range []mcp.InputResponseMap{nil, {"another": yes}, {"answer": &mcp.ListRootsResult{}}} {
		res, err := w.CallTool(t.Context(), &mcp.CallToolParams{Name: w.tool, Arguments: w.args, RequestState: first.state,
			InputResponses: answer})
		if err != nil || !res.NeedsInput() || res.RequestState != first.state {
			t.Fatalf("answered with %v: %+v, %v", answer, res, err)
		}
	}
	w.args = nil
	spaced := json.RawMessage("{ \"code\" :\n" + quoted(writeTwice) + "}")
	res, err := w.CallTool(t.Context(), &mcp.CallToolParams{Name: w.tool, Arguments: spaced, RequestState: first.state,
		InputResponses: mcp.InputResponseMap{"answer": yes}})
	if err != nil || !res.NeedsInput() || !h.holds("1.md") {
		t.Errorf("with an answer: %+v, %v", res, err)
	}
}

func quoted(s string) string {
	js, _ := json.Marshal(s) // a text always can be
	return string(js)
}
