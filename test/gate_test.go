package codemode_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codemode-project/codemode"
	"github.com/codemode-project/codemode/approvals"
	"github.com/codemode-project/codemode/approvals/prompt"
	"github.com/codemode-project/codemode/call"
	"github.com/codemode-project/codemode/config"
	"github.com/codemode-project/codemode/hostfns"
	"github.com/codemode-project/codemode/internal/checktest"
	"github.com/codemode-project/codemode/internal/runs"
	"github.com/codemode-project/codemode/internal/runs/asking"
	"github.com/codemode-project/codemode/internal/store"
	"github.com/codemode-project/codemode/internal/testwait"
	"github.com/codemode-project/codemode/internal/tools/registry"
	"github.com/codemode-project/codemode/profiles"
)

const gateRules = `{"evaluation": {"profiles": {"p": {
	"allowlist": ["bank__balance"], "asklist": [{"id": "pay", "tool": "bank__pay"}], "denylist": [{"id": "no-etc", "tool": "*", "when": {"/path": {"under": ["/etc"], "ifMissing": "noMatch"}}}],
	"unmatched": "deny", "ask": {"edit": true}, "remember": {"scopes": ["run"]}%s}}}}`

// decides is an approver that always says the same.
func decides(reply call.Answer, err error) approvals.Channel {
	return approvals.Approver("chat", func(context.Context, *prompt.Request) (call.Answer, error) { return reply, err })
}

// executor notes what it was told to do.
type executor struct {
	mu   sync.Mutex
	args []string
}

func (x *executor) do(_ context.Context, args json.RawMessage) (json.RawMessage, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.args = append(x.args, string(args))
	return json.RawMessage(`"paid"`), nil
}

// S3.1, S3.4: a call of a Go program's own tool is executed only with a clear yes, and with what was allowed.
func TestGateOfOnesOwnTools(t *testing.T) {
	const pay = `{"to":"anna","amount":5}`
	tests := []struct {
		why    string
		tool   string
		args   string
		people []approvals.Channel
		ran    string // with these arguments; "" is not at all
		reason string
		is     error
	}{
		{"allowed by a rule", "balance", ``, nil, `{}`, "", nil},
		{"denied by the lack of one", "close", `{}`, []approvals.Channel{decides(call.Answer{Allowed: true}, nil)}, "",
			"denied", nil},
		{"denied by a condition", "balance", `{"path":"/etc/x"}`, nil, "", "denied", nil},
		{"approved", "pay", pay, []approvals.Channel{decides(call.Answer{Allowed: true}, nil)}, pay, "", nil},
		{"approved with other arguments", "pay", pay,
			[]approvals.Channel{decides(call.Answer{Allowed: true, Args: json.RawMessage(`{"to": "anna", "amount": 1}`)}, nil)},
			`{"to":"anna","amount":1}`, "", nil},
		{"other arguments that a rule denies", "pay", pay,
			[]approvals.Channel{decides(call.Answer{Allowed: true, Args: json.RawMessage(`{"path":"/etc/x"}`)}, nil)}, "",
			"no_approver", nil},
		{"refused", "pay", pay, []approvals.Channel{decides(call.Answer{}, nil)}, "", "elicitation_declined", nil},
		{"refused with a reason", "pay", pay, []approvals.Channel{decides(call.Answer{Reason: "too much"}, nil)}, "",
			"elicitation_declined", nil},
		{"an invalid decision", "pay", pay, []approvals.Channel{decides(call.Answer{Args: json.RawMessage(`{}`)}, nil)}, "",
			"invalid_decision", runs.ErrInvalidDecision},
		{"an approver that fails", "pay", pay, []approvals.Channel{decides(call.Answer{Allowed: true},
			errors.New("the chat is down"))}, "", "no_approver", nil},
		{"nobody to ask", "pay", pay, nil, "", "no_approver", nil},
		{"arguments that are read in two ways", "balance", `{"a":1,"a":2}`, nil, "", "bad_arguments", nil},
		{"arguments that are no JSON", "balance", `{"a":`, nil, "", "bad_arguments", nil},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			e := open(t, fmt.Sprintf(gateRules, ""))
			g, err := e.Gate(runs.GateOptions{Profile: "p", Channels: tt.people, Principal: "local:anna"})
			must(t, err)
			defer g.Close()
			x := &executor{}
			out, err := g.Execute(t.Context(), runs.GateCall{Server: "bank", Tool: tt.tool, Args: json.RawMessage(tt.args)},
				x.do)
			if got := strings.Join(x.args, " "); got != tt.ran {
				t.Errorf("executed with %q, want %q", got, tt.ran)
			}
			var denied *runs.DeniedError
			switch {
			case tt.reason == "":
				if err != nil || string(out) != `"paid"` {
					t.Errorf("got %s, %v", out, err)
				}
			case !errors.As(err, &denied) || denied.Reason != tt.reason || denied.Tool != "bank__"+tt.tool:
				t.Errorf("got %v, want %s", err, tt.reason)
			case errors.Is(err, runs.ErrInvalidDecision) != (tt.is != nil):
				t.Errorf("invalid decision: %v", err)
			}
			for _, entry := range e.Record().Journal().Entries() {
				if entry.Run != g.Run() || entry.Principal != "local:anna" {
					t.Errorf("recorded as %s of %q", entry.Run, entry.Principal)
				}
			}
			if n := len(e.Record().Journal().Entries()); n == 0 {
				t.Error("nothing was recorded")
			}
		})
	}
}

// S3.1: it is the same way that calls of programs take: what is refused is remembered, the third refusal ends the run,
// grants end with it, and what cannot be recorded does not happen.
func TestGateIsTheOneOfPrograms(t *testing.T) {
	payment := func(n int) runs.GateCall {
		return runs.GateCall{Server: "bank", Tool: "pay", Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}
	}
	reason := func(err error) string {
		var denied *runs.DeniedError
		if errors.As(err, &denied) {
			return denied.Reason
		}
		return fmt.Sprint(err)
	}
	e := open(t, fmt.Sprintf(gateRules, ""))
	asked := 0
	person := approvals.Approver("chat", func(context.Context, *prompt.Request) (call.Answer, error) {
		asked++
		return call.Answer{}, nil
	})
	g, err := e.Gate(runs.GateOptions{Profile: "p", Channels: []approvals.Channel{person}})
	must(t, err)
	x := &executor{}
	var got []string
	for _, n := range []int{1, 1, 2, 3, 4} {
		_, err := g.Execute(t.Context(), payment(n), x.do)
		got = append(got, reason(err))
	}
	want := []string{"elicitation_declined", "elicitation_declined", "elicitation_declined", "elicitation_declined",
		"too_many_refusals"}
	if diff := cmp.Diff(want, got); diff != "" || asked != 3 || len(x.args) > 0 {
		t.Errorf("asked %d times, executed %v (-want +got):\n%s", asked, x.args, diff)
	}
	if reports := g.Close(); len(reports) != 4 {
		t.Errorf("reports: %+v", reports)
	}

	remembers := decides(call.Answer{Allowed: true, Scope: call.ForRun}, nil)
	g, err = e.Gate(runs.GateOptions{Profile: "p", Principal: "local:anna", Channels: []approvals.Channel{remembers}})
	must(t, err)
	for n := range 3 {
		if _, err := g.Execute(t.Context(), payment(n), x.do); err != nil {
			t.Error(err)
		}
	}
	if grants, err := e.People().Grants.All(t.Context(), ""); err != nil || len(grants) != 1 {
		t.Errorf("grants: %v, %v", grants, err)
	}
	g.Close()
	g.Close()
	if grants, err := e.People().Grants.All(t.Context(), ""); err != nil || len(grants) != 0 {
		t.Errorf("grants after the run: %v, %v", grants, err)
	}
	if _, err := g.Execute(t.Context(), payment(1), x.do); reason(err) != "canceled" {
		t.Errorf("after Close: %v", err)
	}

	x = &executor{}
	unrecorded := open(t, fmt.Sprintf(gateRules, ""), func(o *codemode.Options) { o.Recorder = full{} })
	g, err = unrecorded.Gate(runs.GateOptions{Profile: "p"})
	must(t, err)
	defer g.Close()
	if _, err := g.Execute(t.Context(), runs.GateCall{Server: "bank", Tool: "balance"}, x.do); reason(err) != "denied" ||
		len(x.args) > 0 {
		t.Errorf("without a record: %v, %v", err, x.args)
	}
}

// S3.1: what the executor says comes back as it is, and is on record.
func TestGateErrorsOfTheExecutor(t *testing.T) {
	e := open(t, fmt.Sprintf(gateRules, ""))
	g, err := e.Gate(runs.GateOptions{Profile: "p", Tools: []runs.GateTool{{
		Server: "bank", Tool: "balance",
		Input: json.RawMessage(`{"type":"object","properties":{"account":{"type":"string"}},"required":["account"]}`),
	}}})
	must(t, err)
	defer g.Close()
	broken := errors.New("the bank is closed")
	fails := func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return nil, fmt.Errorf("asking: %w", broken)
	}
	call := runs.GateCall{Server: "bank", Tool: "balance", Args: json.RawMessage(`{"account":"1"}`)}
	if _, err := g.Execute(t.Context(), call, fails); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	var outcome string
	for _, entry := range e.Record().Journal().Entries() {
		if entry.State != "running" {
			outcome = entry.State + " " + entry.Detail
		}
	}
	if !strings.Contains(outcome, "error") || !strings.Contains(outcome, "the bank is closed") {
		t.Errorf("recorded: %q", outcome)
	}
	call.Args = json.RawMessage(`{"account":1}`)
	var wrong *hostfns.ArgumentError
	if _, err := g.Execute(t.Context(), call, fails); !errors.As(err, &wrong) || wrong.Path != "/account" {
		t.Errorf("arguments that do not fit: %v", err)
	}
	panics := func(context.Context, json.RawMessage) (json.RawMessage, error) { panic("oh") }
	call.Args = json.RawMessage(`{"account":"1"}`)
	if _, err := g.Execute(t.Context(), call, panics); err == nil {
		t.Error("a crash is no error")
	}
	if _, err := e.Gate(runs.GateOptions{Profile: "none"}); err == nil {
		t.Error("a profile that there is not")
	}
}

// S3.5: what a person is shown of arguments is narrowed by tool, and no log has them raw.
func TestGateShowsAndLogsNoSecrets(t *testing.T) {
	var log testwait.Buffer
	e := open(t, fmt.Sprintf(gateRules, ""), func(o *codemode.Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	var shown string
	person := approvals.Approver("chat", func(_ context.Context, r *prompt.Request) (call.Answer, error) {
		shown = prompt.Text(r, prompt.RenderOptions{}) + prompt.Summary(r)
		if r.Run == "" || r.Time.IsZero() || time.Since(r.Time) > time.Hour {
			t.Errorf("a request of run %q at %v", r.Run, r.Time)
		}
		return call.Answer{}, nil
	})
	g, err := e.Gate(runs.GateOptions{Profile: "p", Channels: []approvals.Channel{person}, Tools: []runs.GateTool{{
		Server: "bank", Tool: "pay", Title: "Pay", Display: prompt.Display{Keys: []string{"pin"}, String: 40},
	}}})
	must(t, err)
	defer g.Close()
	args := `{"to":"anna","pin":"4711-4712","api_key":"0123456789abcdef","note":"` + strings.Repeat("n", 400) + `"}`
	if _, err := g.Execute(t.Context(), runs.GateCall{Server: "bank", Tool: "pay", Args: json.RawMessage(args)},
		(&executor{}).do); err == nil {
		t.Error("it was refused")
	}
	for where, text := range map[string]string{"the question": shown, "the log": log.String()} {
		if !strings.Contains(text, "anna") {
			t.Errorf("%s does not say what it is about:\n%s", where, text)
		}
		for _, raw := range []string{"4711-4712", "0123456789abcdef", strings.Repeat("n", 200)} {
			if strings.Contains(text, raw) {
				t.Errorf("%s has %q:\n%s", where, raw, text)
			}
		}
	}
}

// Many goroutines pass one Gate at once, each with its own arguments.
func TestGateFromManyGoroutines(t *testing.T) {
	e := open(t, fmt.Sprintf(gateRules, `, "limits": {"refusals": 1000}`))
	person := approvals.Approver("chat", func(_ context.Context, r *prompt.Request) (call.Answer, error) {
		if strings.Contains(string(r.Args), `7}`) {
			return call.Answer{}, nil
		}
		return call.Answer{Allowed: true}, nil
	})
	g, err := e.Gate(runs.GateOptions{Profile: "p", Channels: []approvals.Channel{person}})
	must(t, err)
	defer g.Close()
	var wg sync.WaitGroup
	for n := range 40 {
		wg.Go(func() {
			args := fmt.Sprintf(`{"n":%d}`, n)
			out, err := g.Execute(t.Context(), runs.GateCall{Server: "bank", Tool: "pay", Args: json.RawMessage(args)},
				func(_ context.Context, got json.RawMessage) (json.RawMessage, error) { return got, nil })
			if refused := n%10 == 7; refused != (err != nil) || !refused && string(out) != args {
				t.Errorf("call %d: %s, %v", n, out, err)
			}
		})
	}
	wg.Wait()
}

// A call that an ask rule asks about, and that is tainted or marked besides, is put to a person each time: neither a
// yes for the whole run answers it, nor the fallback.
func TestP39_2NoGrantAndNoFallbackAnswersAFirmQuestion(t *testing.T) {
	trusted, untrusted := newStranger(t), newStranger(t)
	untrusted.define("read", "reads mail")
	for name, meta := range map[string]mcp.Meta{"send": nil, "pay": {"codemode/approval": true}} {
		trusted.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Meta: meta},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "words of anybody"}}}, nil
			})
	}
	e := open(t, fmt.Sprintf(`{"mcpServers": {"t": {"type": "http", "url": %q, "trustAnnotations": true},
		"u": {"type": "http", "url": %q}}, "evaluation": {"profiles": {"p": {
		"allowlist": ["u__read"], "asklist": ["t__send", "t__pay"], "elicitationFallback": "allow",
		"remember": {"scopes": ["run"], "args": "any"}, "raise": {"tainted": "ask"}}}}}`, trusted.url, untrusted.url))
	const send, read, pay = `await codemode.t__send({to: k("a")})`, `await codemode.u__read({})`, `await codemode.t__pay({})`
	for _, row := range []struct {
		title, code    string
		people, nobody string // how each call was allowed
		asked          int    // questions to the person
	}{
		{"untainted", send + ";" + send, "person grant", "fallback fallback", 1},
		{"tainted after a yes for the run", send + ";" + send + ";" + read + ";" + send + ";" + send,
			"person grant  person person", "fallback fallback  - -", 3},
		{"marked", pay + ";" + pay, "person person", "- -", 2},
	} {
		for _, there := range []bool{true, false} {
			p, r := generous(), codemode.Request{Profile: "p", Code: "const k = x => x;" + row.code}
			if there {
				r.Channels = []approvals.Channel{p}
			} else {
				r.Code = strings.ReplaceAll(r.Code, "await codemode", "try { await codemode")
				r.Code = strings.ReplaceAll(r.Code, "})", "}) } catch (e) {}")
			}
			ran, err := e.Eval(t.Context(), r)
			if err != nil {
				t.Fatal(ran.Text(err))
			}
			var got []string
			for _, c := range ran.Calls {
				how, _, _ := strings.Cut(c.Approved, ",")
				if c.Approved == "" && c.Reason != "" {
					how = "-"
				}
				got = append(got, how)
			}
			want := map[bool]string{true: row.people, false: row.nobody}[there]
			if strings.Join(got, " ") != want || there && len(p.asked) != row.asked {
				t.Errorf("%s, somebody is there: %t: allowed by %q, %d asked, want %q", row.title, there,
					strings.Join(got, " "), len(p.asked), want)
			}
			for _, asked := range p.asked {
				if asked.Firm && len(asked.Terms.Scopes) > 0 {
					t.Errorf("%s: a firm question offers %v", row.title, asked.Terms.Scopes)
				}
			}
		}
	}
}

// A Keeper in a database behaves like the one in memory.
func TestKeepers(t *testing.T) {
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "codemode.db")})
	must(t, err)
	defer db.Close()
	for name, k := range map[string]approvals.GrantStore{"memory": approvals.NewGrantStore(time.Now),
		"database": asking.GrantsIn(db)} {
		t.Run(name, func(t *testing.T) {
			r := &prompt.Request{
				Server: "fs", Tool: "write", Name: "fs__write", Profile: "p", ProfileDigest: "d", Rule: "r", Principal: "anna",
				Run: "r1", Risk: call.Medium,
				Args:  json.RawMessage(`{"path":"/a"}`),
				Terms: prompt.Terms{Scopes: []call.Scope{call.ForTime, call.ForCount}, Pointers: []string{"/path"}},
			}
			draft := func(scope call.Scope, uses int) *prompt.Grant {
				g, err := r.Draft(call.Answer{Scope: scope}, time.Now())
				must(t, err)
				g.Uses = uses
				must(t, k.Give(t.Context(), g))
				return g
			}
			list := func() int {
				t.Helper()
				all, err := k.All(t.Context(), "anna")
				must(t, err)
				return len(all)
			}
			twice := draft(call.ForCount, 2)
			if found, err := k.For(t.Context(), r.Key()); err != nil || len(found) != 1 || found[0].Text() != twice.Text() ||
				!found[0].Covers(r, time.Now()) {
				t.Fatalf("got %+v, %v", found, err)
			}
			for i, want := range []error{nil, nil, approvals.ErrTaken, approvals.ErrTaken} {
				if err := k.Spend(t.Context(), twice.ID); !errors.Is(err, want) {
					t.Errorf("use %d: %v, want %v", i+1, err, want)
				}
			}
			always := draft(call.ForTime, 0)
			for range 5 {
				if err := k.Spend(t.Context(), always.ID); err != nil {
					t.Error(err)
				}
			}
			if n := list(); n != 1 {
				t.Errorf("%d are listed, want the one that is not used up", n)
			}
			other := *r
			other.Principal = "ben"
			if found, err := k.For(t.Context(), other.Key()); err != nil || len(found) != 0 {
				t.Errorf("for somebody else: %+v, %v", found, err)
			}
			if err := k.Revoke(t.Context(), always.ID); err != nil {
				t.Error(err)
			}
			for what, err := range map[string]error{
				"spent after it was revoked": k.Spend(t.Context(), always.ID), "revoked twice": k.Revoke(t.Context(), always.ID),
				"no such grant": k.Spend(t.Context(), "g_none"),
			} {
				if !errors.Is(err, approvals.ErrTaken) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if n := list(); n != 0 {
				t.Errorf("%d are listed", n)
			}
		})
	}
}

// A grant for a time is good in the next process too, and ends there when it is revoked anywhere.
func TestGrantsForATimeOutliveTheProcess(t *testing.T) {
	const config = `{"evaluation": {"profiles": {"p": {"asklist": [{"id": "w", "tool": "filesystem__write_file", "when": {"/path": {"exists": true}}}], "remember": {"scopes": ["time"]}}}}}`
	dir := t.TempDir()
	start := func() *codemode.Evaluator { return open(t, config, func(o *codemode.Options) { o.RecordDir = dir }) }
	asked := func(e *codemode.Evaluator) int {
		t.Helper()
		d := &desk{answer: remembering(call.ForTime)}
		if _, err := e.Eval(t.Context(), codemode.Request{Profile: "p", Code: attempts(false, "a.md"),
			Channels: []approvals.Channel{d}, Principal: "anna"}); err != nil {
			t.Fatal(err)
		}
		return len(d.forms)
	}
	first, second := start(), start()
	if asked(first) != 1 || asked(first) != 0 || asked(second) != 0 {
		t.Error("what was allowed for a time is asked again")
	}
	for _, g := range checktest.Must(second.People().Grants.All(t.Context(), "anna")) {
		if err := second.People().Grants.Revoke(t.Context(), g.ID); err != nil {
			t.Error(err)
		}
	}
	if asked(first) != 1 {
		t.Error("it was revoked in the other process, and answers on")
	}
}

// A server's mark on a tool, in its _meta or its annotations, has a person asked; one that says no changes nothing.
func TestAServersMarkAsksAPerson(t *testing.T) {
	s := newStranger(t)
	var want, program []string
	for i, tt := range []struct {
		meta string
		hint bool
		want string
	}{
		{`{"codemode/approval": "ask"}`, false, "ask"},
		{`{"codemode/approval": true}`, false, "ask"},
		{`{"codemode/approval": "whatever"}`, false, "ask"},
		{`{"codemode/approval": {"by": "anna"}}`, false, "ask"},
		{`{"anthropic/requiresUserInteraction": true}`, false, "ask"},
		{`{"requires_confirmation": true}`, false, "ask"},
		{`{"com.example/require_approval": "always"}`, false, "ask"},
		{`{"requiresApproval": 1}`, false, "ask"},
		{`{"codemode/approval": false, "x": true}`, false, "allow"},
		{`{"codemode/approval": "never"}`, false, "allow"},
		{`{"codemode/approval": null}`, false, "allow"},
		{`{"approved": true, "require_approval": "never"}`, false, "allow"},
		{`{"vendor/size": 3}`, false, "allow"},
		{`{}`, true, "allow"},
	} {
		var meta mcp.Meta
		must(t, json.Unmarshal([]byte(tt.meta), &meta))
		name := fmt.Sprintf("t%d", i)
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Meta: meta,
			Annotations: &mcp.ToolAnnotations{DestructiveHint: &tt.hint}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}}, nil
			})
		want = append(want, name+" "+tt.want)
		program = append(program, fmt.Sprintf("await codemode.s__%s({})", name))
	}
	for _, trust := range []bool{false, true} {
		for _, rules := range []string{`"allowlist": ["*"]`, `"unmatched": "allow"`} {
			rules := fmt.Sprintf(`{"mcpServers": {"s": {"type": "http", "url": %q, "trustAnnotations": %t}}, "evaluation": {"profiles": {"p": {%s}}}}`, s.url, trust, rules)
			state := t.TempDir()
			e := open(t, rules, func(o *codemode.Options) { o.StateDir = state })
			code := strings.Join(program, ";\n")
			var predicted, explained []string
			cfg, err := config.Parse("codemode.json", []byte(rules))
			must(t, err)
			for i, c := range check(t, e, "p", code).Calls {
				predicted = append(predicted, strings.TrimPrefix(c.Tool, "s__")+" "+c.Verdict)
				name := fmt.Sprintf("t%d", i)
				seen, ok := registry.SeenTool(state, cfg, "s", name)
				if !ok {
					t.Fatalf("%s was not seen in %s", name, filepath.Base(state))
				}
				d := cfg.Profile("p").Explain(profiles.Call{Server: "s", Tool: name, Annotations: seen.Annotations}).Decision
				explained = append(explained, name+" "+d.Verdict.String())
			}
			got := verdicts(t, e, says(yes, nil), code)
			for what, list := range map[string]string{"the Gate": got, "check": strings.Join(predicted, ", "),
				"explain": strings.Join(explained, ", ")} {
				if list != strings.Join(want, ", ") {
					t.Errorf("%s, trusted %t: %s says %s\nwant %s", rules, trust, what, list, strings.Join(want, ", "))
				}
			}
		}
	}
}

// A profile may deny what a server marks, and nothing that a server says makes a call milder.
func TestAMarkOnlyTightens(t *testing.T) {
	cfg, err := config.Parse("codemode.json", []byte(`{"evaluation": {"profiles": {
		"strict": {"unmatched": "allow", "raise": {"approval": "deny"}},
		"asks": {"asklist": ["*"]}, "denies": {"denylist": ["*"]}}}}`))
	must(t, err)
	for _, tt := range []struct {
		profile string
		value   any
		want    call.Verdict
	}{
		{"strict", "ask", call.Deny}, {"strict", "never", call.Allow},
		{"asks", "never", call.Ask}, {"asks", "ask", call.Ask}, {"denies", "ask", call.Deny}, {"denies", false, call.Deny},
	} {
		d := cfg.Profile(tt.profile).Decide(profiles.Call{Server: "s", Tool: "t",
			Annotations: map[string]any{"codemode/approval": tt.value}})
		if d.Verdict != tt.want {
			t.Errorf("%s, %v: got %s, want %s", tt.profile, tt.value, d.Verdict, tt.want)
		}
	}
}

// Whoever is asked is told what the server says of its tool.
func TestAQuestionNamesTheServersHints(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"asklist": ["*"]}}}}`)
	var reasons []string
	p := says(yes, nil)
	if got := verdicts(t, e, p,
		`await codemode.filesystem__delete_file({path: "a.md"})`); got != "filesystem__delete_file ask" {
		t.Fatal(got)
	}
	for i := range p.asked {
		q := &p.asked[i]
		reasons = append(reasons, q.Reasons...)
		if text := prompt.Text(q, prompt.RenderOptions{}); !strings.Contains(text, "destructiveHint") {
			t.Errorf("the question does not say it:\n%s", text)
		}
	}
	if !strings.Contains(strings.Join(reasons, "\n"), "its server says that it destroys or overwrites (destructiveHint)") {
		t.Errorf("got %q", reasons)
	}
}

// The tests of this file are checks of POLICY.md section 8 that need a running program,
// by name. testdata/profiles/checks.txt lists where the others are.

// TestB3WhatWasDecidedIsWhatIsSent: an argument that is another thing at each reading is
// read once, before the decision.
func TestB3WhatWasDecidedIsWhatIsSent(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {
		"denylist": [{"id": "not-b", "tool": "filesystem__*", "when": {"/path": {"suffix": "b.md"}}}]}}}}`)
	for name, argument := range map[string]string{
		"a getter":  `{ get path() { return reads++ ? "b.md" : "a.md" } }`,
		"a Proxy":   `new Proxy({ path: "a.md" }, { get: (o, k) => k === "path" && reads++ ? "b.md" : o[k] })`,
		"a toJSON":  `{ toJSON: () => ({ path: reads++ ? "b.md" : "a.md" }) }`,
		"a changed": `(() => { const o = { path: "a.md" }; Promise.resolve().then(() => { o.path = "b.md" }); return o })()`,
	} {
		t.Run(name, func(t *testing.T) {
			got := value[any](t, e, "p", `let reads = 0; return await codemode.filesystem__read_text_file(`+argument+`);`)
			if text := fmt.Sprint(got); !strings.Contains(text, "alpha") || strings.Contains(text, "beta") {
				t.Fatalf("got %s, want the note a.md", text)
			}
			entries := e.Record().Journal().Entries()
			sum := sha256.Sum256([]byte(`{"path":"a.md"}`))
			sent, last := entries[len(entries)-2], entries[len(entries)-1]
			if sent.Args.RawExecuted.Digest() != "sha256:"+hex.EncodeToString(sum[:]) || last.State != "ok" {
				t.Errorf("the record has %+v and %+v", sent, last)
			}
		})
	}
}

// TestB4OneGateForEveryRoute: whichever way a program calls, the same call is denied, and
// each attempt is in the record. It is failure 18 of POLICY.md section 7.1 too.
func TestB4OneGateForEveryRoute(t *testing.T) {
	e := open(t, `{"evaluation": {"profiles": {"p": {"denylist": ["filesystem__delete_file"]}}}}`)
	got := value[[]string](t, e, "p", `
		const args = { path: "a.md" }, reasons = [];
		const attempt = async f => { try { await f(); reasons.push("passed"); } catch (e) { reasons.push(e.reason ?? String(e)); } };
		const alias = codemode.filesystem__delete_file, { filesystem__delete_file: taken } = codemode;
		await attempt(() => codemode.filesystem__delete_file(args));
		await attempt(() => alias(args));
		await attempt(() => taken.call(null, args));
		await attempt(() => Promise.all([1].map(() => codemode["filesystem__" + "delete_file"](args))));
		await attempt(() => codemode.filesystem.delete_file(args));
		await attempt(() => new Promise((ok, no) => setTimeout(() => alias(args).then(ok, no), 1)));
		await attempt(() => Reflect.apply(alias, undefined, [args]));
		await attempt(() => (async () => { for await (const f of [alias]) await f(args); })());
		return reasons;`)
	for i, reason := range got {
		if reason != "denied" {
			t.Errorf("route %d: got %q, want denied", i, reason)
		}
	}
	refused := 0
	for _, entry := range e.Record().Journal().Entries() {
		if entry.State == call.Refused && entry.Reason == "denied" && entry.Rules[0].ID == "filesystem__delete_file" {
			refused++
		}
	}
	if refused != 8 || len(got) != 8 {
		t.Errorf("got %d entries for %d attempts, want 8", refused, len(got))
	}
}

// TestH5AShadowProfileIsOnlyLogged: what it would decide otherwise is in the log, once for
// each call, and changes nothing.
func TestH5AShadowProfileIsOnlyLogged(t *testing.T) {
	var log testwait.Buffer
	e := open(t, `{"evaluation": {"profiles": {
		"live": {"allowlist": ["filesystem__*"], "shadow": "next"},
		"next": {"allowlist": ["filesystem__list_*"], "asklist": [{"id": "reads", "tool": "filesystem__read_*"}]}}}}`,
		func(o *codemode.Options) { o.Log = log.Logger() })
	value[any](t, e, "live", `
		await codemode.filesystem__list_directory({ path: "." });
		await codemode.filesystem__read_text_file({ path: "a.md" });
		return 1;`)
	text := log.String()
	if n := strings.Count(text, "the shadow profile would decide otherwise"); n != 1 {
		t.Errorf("%d differences are logged, want 1:\n%s", n, text)
	}
	for _, want := range []string{"profile=live", "shadow=next", "tool=filesystem__read_text_file",
		`ask instead of allow: the rule \"reads\"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the log does not have %q:\n%s", want, text)
		}
	}
}
